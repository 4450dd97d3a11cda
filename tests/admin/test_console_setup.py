"""From nothing to a first call: the set-up link, the wizard, invitations."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest

from memscope.errors import Conflict
from memscope.memories.remember import Remember, remember
from memscope.organizations.setting_up import first_organization, make_link
from memscope.organizations.signing_in import authenticate

GOOD = "a quiet harbour at six"


def _link(fresh: Any) -> str:
    organization = first_organization(fresh.app.core)
    assert organization is not None
    return f"/setup/{make_link(fresh.app.core, organization.id)}"


def test_nobody_can_sign_in_before_the_set_up(fresh: Any) -> None:
    browser = fresh.browser()
    browser.get("/login")
    assert browser.post("/login", email="admin@example.com", password="admin").status == 422


def test_the_wizard_leads_from_the_link_to_a_first_call(fresh: Any) -> None:
    link = _link(fresh)
    browser = fresh.browser()
    page = browser.get(link)
    assert page.url.endswith("/admin/setup/account"), "the token is out of the address"

    page = browser.post("/setup/account", name="Ada", email="ada@quay.example", password="short")
    assert page.status == 422
    assert "12 to 256 characters" in page.element("error-summary")
    assert 'value="ada@quay.example"' in page.html

    page = browser.post("/setup/account", name="Ada", email="ada@quay.example", password=GOOD)
    assert page.url.endswith("/admin/setup/factor")
    assert "Later: skip this step" in page.text
    page = browser.post(
        "/setup/organization",
        name="Quay",
        slug="quay",
        timezone="Europe/Berlin",
        default_scope="personal",
        default_sensitivity="internal",
        confirmation="console",
        secrets="hold",
        trash_days="30",
    )
    assert page.url.endswith("/admin/setup/people")

    page = browser.post("/setup/people", people="bo@quay.example, Bo, Deck Crew\nno address\ndi@quay.example, Di, deck crew")
    assert page.status == 422
    assert "Line 2" in page.element("error-summary")
    assert page.html.count('data-t="token-once"') == 2
    assert ">no address</textarea>" in page.html.replace("\r\n", ""), "the bad line is kept, the good ones are done"
    (organization,) = fresh.app.core.storage.organizations()
    roster = fresh.app.core.rosters.current(organization.id)
    assert organization.slug == "quay"
    assert [group.slug for group in roster.groups.values()] == ["deck-crew"]
    assert len(roster.people) == 3

    page = browser.get("/setup/topics")
    hr = roster.find_topic("hr")
    page = browser.post("/setup/topics", **{hr.id: next(iter(roster.groups))})
    assert page.url.endswith("/admin/setup/connect")
    assert fresh.app.core.rosters.current(organization.id).find_topic("hr").teams

    page = browser.post("/setup/connect", client="claude-code")
    token = page.element("token-once").split()[0]
    assert token in page.html.split("connect-lines")[1]
    lamp = re.search(r'data-lamp="/admin([^"]+)"', page.html)
    assert lamp is not None
    assert browser.get(lamp[1]).html == "waiting"
    principal = authenticate(fresh.app.core, fresh.app.identities, token)
    assert principal is not None
    remember(fresh.app.core, principal, Remember("The first memory"))
    assert browser.get(lamp[1]).html == "received"
    assert token not in browser.get("/setup/connect").html

    assert fresh.browser().get(link).status == 410
    with fresh.app.core.storage.begin(_operator(organization.id)) as transaction:
        assert "setup.completed" in [row.act.action for row in transaction.audit_rows(0, 100)]


def test_looking_at_the_link_does_not_use_it_up_and_the_first_account_does(fresh: Any) -> None:
    link = _link(fresh)
    first, second = fresh.browser(), fresh.browser()
    assert first.get(link).status == second.get(link).status == 200
    assert "Overview" not in second.post("/setup/account", name="Eve", email="no address", password=GOOD).text
    first.post("/setup/account", name="Ada", email="ada@quay.example", password=GOOD)
    page = second.post("/setup/account", name="Eve", email="eve@quay.example", password=GOOD)
    assert page.status == 410
    assert "memscope org setup-link" in page.text


def test_wrong_expired_and_replaced_links_get_one_page(fresh: Any) -> None:
    link = _link(fresh)
    organization = fresh.app.core.storage.organizations()[0].id
    newer = f"/setup/{make_link(fresh.app.core, organization)}"
    pages = [fresh.browser().get(path) for path in (link, "/setup/nonsense", f"/setup/{organization.replace('-', '')}.wrong")]
    fresh.clock.ahead += timedelta(hours=24)
    pages.append(fresh.browser().get(newer))
    assert {page.status for page in pages} == {410}
    assert len({page.html for page in pages}) == 1


def test_a_link_is_refused_once_there_is_an_administrator_but_for_recovering(console: Any) -> None:
    organization = console.organization.organization.id
    with pytest.raises(Conflict):
        make_link(console.app.core, organization)
    link = make_link(console.app.core, organization, recover=True)
    browser = console.browser()
    browser.get(f"/setup/{link}")
    page = browser.post("/setup/account", name="Bo", email="bo@harbor.example", password=GOOD)
    assert "Sign out" in page.text
    assert console.app.core.rosters.current(organization).find_person("bo@harbor.example").role.value == "admin"


def test_an_invitation_works_once_and_lets_the_person_in(fresh: Any) -> None:
    browser = fresh.browser()
    browser.get(_link(fresh))
    browser.post("/setup/account", name="Ada", email="ada@quay.example", password=GOOD)
    browser.get("/setup/people")
    page = browser.post("/setup/people", people="bo@quay.example, Bo")
    link = page.element("token-once").split()[0].split("/admin", 1)[1]
    guest = fresh.browser()
    page = guest.get(link)
    assert page.url.endswith("/admin/welcome")
    assert guest.post("/welcome", password="short").status == 422
    assert "Sign out" in guest.post("/welcome", password=GOOD).text
    assert fresh.browser().get(link).status == 410


def _operator(organization: str) -> Any:
    from memscope.contracts.storage import Operator

    return Operator("look", organization)
