"""People, groups, topics, connections, plugins, settings and one's own pages."""

from __future__ import annotations

import re
from typing import Any

import pytest

from memscope.memories.recall import Recall, recall
from memscope.organizations.signing_in import authenticate


def _id(console: Any, name: str) -> str:
    found: str = console.organization.people[name].id
    return found


def test_somebody_is_added_and_comes_in_by_their_link(console: Any) -> None:
    browser = console.as_("Ada")
    browser.get("/people/new")
    page = browser.post("/people/new", email="fay@harbor.example", name="Fay", role="member", clearance="restricted")
    link = page.element("token-once").split()[0].split("/admin", 1)[1]
    guest = console.browser()
    guest.get(link)
    assert "Sign out" in guest.post("/welcome", password="an entirely new word").text
    assert "restricted" in browser.get("/people?q=fay").text
    page = browser.post("/people/new", email="FAY@harbor.example", name="Fay", role="member", clearance="")
    assert page.status == 422
    assert "is here already" in page.element("error-summary")
    assert browser.post("/people/new", email="no address", name="Fay", role="member", clearance="").status == 422


def test_nobody_lowers_their_own_role_and_guests_stay_at_public(console: Any) -> None:
    browser = console.as_("Ada")
    path = f"/people/{_id(console, 'Ada')}"
    browser.get(path)
    page = browser.post(path, email="ada@harbor.example", name="Ada", role="member", clearance="")
    assert page.status == 422
    assert "Nobody lowers their own role" in page.element("error-summary")
    path = f"/people/{_id(console, 'Cy')}"
    browser.get(path)
    page = browser.post(path, email="cy@harbor.example", name="Cy", role="guest", clearance="restricted")
    assert "never gets above public" in page.element("error-summary")
    page = browser.post(path, email="cy@harbor.example", name="Cyrus", role="member", clearance="")
    assert "gains none" in page.element("consequence")
    assert "person.change" not in console.audit()
    page = browser.post(path, email="cy@harbor.example", name="Cyrus", role="member", clearance="", shown="member ")
    assert "Saved" in page.element("toast")


def test_disabling_ends_sessions_and_tokens_at_once_and_enabling_brings_none_back(console: Any) -> None:
    bo = console.as_("Bo")
    bo.get("/connections/new")
    token = bo.post("/connections/new", client="claude-code", days="90").element("token-once").split()[0]
    assert authenticate(console.app.core, console.app.identities, token) is not None
    browser = console.as_("Ada")
    path = f"/people/{_id(console, 'Bo')}"
    browser.get(path)
    assert "Bo is disabled" in browser.post(f"{path}/active", active="no").element("toast")
    assert "Sign in" in bo.get("/").text
    assert authenticate(console.app.core, console.app.identities, token) is None
    browser.post(f"{path}/active", active="yes")
    assert authenticate(console.app.core, console.app.identities, token) is None
    assert "Overview" in console.as_("Bo").get("/").text
    page = browser.post(f"/people/{_id(console, 'Ada')}/active", active="no")
    assert page.status == 422
    assert "Nobody disables themselves" in page.element("error-summary")


def test_members_come_and_go_with_their_reading(console: Any) -> None:
    console.remember("Di", "The cook comes on Monday", team="people-ops")
    browser = console.as_("Ada")
    path = f"/groups/{console.organization.groups['people-ops'].id}"
    assert "Guards HR" in browser.get(path).text

    def found() -> int:
        return len(recall(console.app.core, console.agent("Bo"), Recall("when the cook comes")).results)

    assert found() == 0
    browser.post(f"{path}/members", person=_id(console, "Bo"), role="member")
    assert found() == 1
    assert "Nothing changed" in browser.post(f"{path}/members", person=_id(console, "Bo"), role="member").element("toast")
    browser.post(f"{path}/members", person=_id(console, "Bo"), role="none")
    assert found() == 0
    page = browser.post(f"{path}/members", person=_id(console, "Di"), role="none")
    assert page.status == 422
    assert "last owner" in page.element("error-summary")


def test_owners_manage_their_own_group_alone(console: Any) -> None:
    browser = console.as_("Ed")
    mine, other = console.organization.groups["apollo"].id, console.organization.groups["people-ops"].id
    page = browser.get("/groups")
    assert "Apollo" in page.text
    assert "People Ops" not in page.text
    browser.get(f"/groups/{mine}")
    assert "Bo is member" in browser.post(f"/groups/{mine}/members", person=_id(console, "Bo"), role="member").element("toast")
    assert browser.post(f"/groups/{other}/members", person=_id(console, "Bo"), role="member").status == 404
    assert browser.post(f"/groups/{mine}", slug="apollo", name="Mine", aliases="").status == 404


def test_groups_are_added_under_names_that_are_free(console: Any) -> None:
    browser = console.as_("Ada")
    browser.get("/groups/new/project")
    team = console.organization.groups["engineering"].id
    page = browser.post("/groups/new/project", slug="gemini", name="Gemini", aliases="twin\ntwins", team=team)
    assert "belongs to Engineering" in page.text
    page = browser.post("/groups/new/project", slug="twin", name="Other", aliases="", team="")
    assert page.status == 422
    assert "goes by twin already" in page.element("error-summary")
    assert browser.post("/groups/new/team", slug="No Slug", name="x", aliases="").status == 422


def test_a_token_is_shown_once_used_and_ended(console: Any) -> None:
    browser = console.as_("Bo")
    browser.get("/connections/new")
    assert browser.post("/connections/new", client="", days="90").status == 422
    assert browser.post("/connections/new", client="claude-code", days="1000").status == 422
    token = browser.post("/connections/new", client="claude-code", days="90").element("token-once").split()[0]
    page = browser.get("/connections")
    assert token not in page.html
    principal = authenticate(console.app.core, console.app.identities, token)
    assert principal is not None
    assert "Ended" in browser.post(f"/connections/{principal.connection}/revoke").element("toast")
    assert authenticate(console.app.core, console.app.identities, token) is None
    assert "before" in browser.post(f"/connections/{principal.connection}/revoke").element("toast")
    other = console.organization.connections["Ada"].id
    assert browser.post(f"/connections/{other}/revoke").status == 404


def test_settings_are_saved_checked_and_exported(console: Any) -> None:
    browser = console.as_("Ada")
    browser.get("/settings")
    fields = {
        "name": "Harbor",
        "slug": "harbor",
        "timezone": "Europe/Berlin",
        "default_scope": "personal",
        "default_sensitivity": "internal",
        "confirmation": "console",
        "secrets": "hold",
    }
    assert browser.post("/settings", **fields, trash_days="0").status == 422
    assert browser.post("/settings", **(fields | {"timezone": "Mars/Base"}), trash_days="20").status == 422
    assert "Saved" in browser.post("/settings", **fields, trash_days="20", confirm="yes").element("toast")
    assert console.app.core.rosters.current(console.organization.organization.id).organization.trash_days == 20
    assert "trash_days = 20" in browser.get("/settings/organization.toml").html


def test_plugins_are_shown_with_how_they_do(console: Any) -> None:
    console.remember("Bo", "The crane is blue")
    page = console.as_("Ada").get("/plugins")
    assert page.html.count('data-t="plugin-card"') >= 8
    assert "plain_guards" in page.text
    assert re.search(r"Calls\s+[1-9]", page.text)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_preferences_hold_from_the_next_page_on(console: Any, theme: str) -> None:
    browser = console.as_("Bo")
    browser.get("/me")
    page = browser.post("/me/preferences", theme=theme)
    assert f'data-theme="{theme}"' in page.html
    assert 'data-keys="off"' in page.html


def test_a_changed_password_ends_other_sessions_and_asks_for_the_old_one(console: Any) -> None:
    other, browser = console.as_("Bo"), console.as_("Bo")
    assert browser.get("/me/security").html.count("End it") == 1
    assert browser.post("/me/security/password", old="wrong", password="an entirely new word").status == 422
    assert browser.post("/me/security/password", old="a long password of Bo", password="short").status == 422
    assert "1 other session ended" in browser.post(
        "/me/security/password", old="a long password of Bo", password="an entirely new word"
    ).element("toast")
    assert "Sign in" in other.get("/").text
    fresh = console.browser()
    fresh.get("/login")
    assert fresh.post("/login", email="bo@harbor.example", password="a long password of Bo").status == 422


def test_many_people_are_pages_of_fifty(console: Any) -> None:
    from memscope.model.audit import Act
    from memscope.model.ids import new_id
    from memscope.model.organization import Person

    with console.app.core.storage.begin(console.organization.operator, Act("person.add")) as transaction:
        for number in range(60):
            transaction.write_person(Person(new_id(), f"p{number}@harbor.example", f"Person {number:02}"))
    browser = console.as_("Ada")
    page = browser.get("/people")
    assert page.html.count('<tr><th scope="row">') == 50
    assert "65 people in all" in page.text
    assert browser.get("/people?from=50").html.count('<tr><th scope="row">') == 15


def test_two_administrators_at_once_do_not_overwrite_each_other_silently(console: Any) -> None:
    browser = console.as_("Ada")
    person = f"/people/{_id(console, 'Bo')}"
    group = f"/groups/{console.organization.groups['apollo'].id}"
    settings = {"slug": "harbor", "timezone": "UTC", "default_scope": "personal", "default_sensitivity": "internal"}
    settings |= {"confirmation": "ask", "secrets": "hold", "trash_days": "30"}
    topic = {"key": "legal", "aliases": "", "description": "", "sensitivity": "restricted", "phrases": ""}
    for path, fields in (
        (person, {"email": "bo@harbor.example", "role": "member", "clearance": ""}),
        (group, {"slug": "apollo", "aliases": "", "team": console.organization.groups["engineering"].id}),
        ("/topics/legal", topic),
        ("/settings", settings),
    ):
        seen = re.search(r'name="seen" value="(\w+)"', browser.get(path).html)
        assert seen is not None, path
        assert "Saved" in browser.post(path, **fields, name="First", seen=seen[1]).element("toast"), path
        page = browser.post(path, **fields, name="Second", seen=seen[1])
        assert page.status == 409, path
        assert "Somebody else changed this" in page.element("error-summary")
        assert 'value="Second"' in page.html
        again = re.search(r'name="seen" value="(\w+)"', page.html)
        assert again is not None
        assert "Saved" in browser.post(path, **fields, name="Second", seen=again[1]).element("toast"), path


def test_many_connections_are_pages_of_fifty(console: Any) -> None:
    from datetime import UTC, datetime

    from memscope.model.audit import Act
    from memscope.model.ids import new_id
    from memscope.model.organization import Connection, ConnectionKind

    with console.app.core.storage.begin(console.organization.operator, Act("token.create")) as transaction:
        for number in range(60):
            made = Connection(new_id(), _id(console, "Bo"), ConnectionKind.TOKEN, f"agent {number}", datetime.now(UTC))
            transaction.write_connection(made)
    browser = console.as_("Ada")
    page = browser.get("/connections?all=yes")
    assert page.html.count("/revoke") == 50
    older = re.search(r'class="button" href="/admin(/connections[^"]+from=50)"', page.html)
    assert older is not None
    assert browser.get(older[1].replace("&amp;", "&")).html.count("/revoke") == 16
