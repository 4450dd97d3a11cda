"""Markup in every field of every page runs nowhere: an organization whose every text is hostile, walked from end to end."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from memscope_admin.factory import create_app
from playwright.sync_api import Page, expect

from memscope.approvals.consent import Consent
from memscope.memories.correct import Correct, correct_memory
from memscope.memories.recall import Recall, recall
from memscope.memories.trash import Forget, forget_memory
from memscope.model.audience import Scope
from memscope.model.organization import ConnectionKind
from memscope.model.principal import Principal
from memscope.testing.builders import Builder, harbor

EVIL = "\"'><img src=/evil onerror=window.ran=1><script>window.ran=1</script><a hx-get=/evil hx-trigger=load>{{ 7777*7 }}${7777*7}"
SHORT = "\"'><script>ran=1</script>{{ 7777*7 }}"
FORMULA = "=cmd|' /C calc'!A1"
PARTS = 3
"""The walk is cut in as many tests, which run side by side."""
NOT_WALKED = {"static", "sign_in.leave", "consent.begin"}
FILES = {
    "audit.export",
    "insights.export",
    "settings.export",
    "settings.stylesheet",
    "setup.lamp",
    "sign_in.passkey_options",
    "security.passkey_options",
}
STANDARD = {
    "sealed": "wrong",
    "token": "wrong",
    "ticket_id": "none",
    "key": "hr",
    "kind": "team",
    "name": "admin",
    "format": "csv",
    "chart_id": "saved",
    "software": "0" * 64,
}


def _hostile() -> Builder:
    """Harbor, with markup in each text that storage takes."""
    organization = harbor()
    organization.organization = replace(organization.organization, name=EVIL[:80])
    for name, person in organization.people.items():
        organization.people[name] = replace(person, name=f"{name} {EVIL}"[:100])
        organization.connections[name] = replace(organization.connections[name], client=f"{SHORT} {FORMULA}"[:80])
    for name, group in organization.groups.items():
        organization.groups[name] = replace(group, name=f"{name} {EVIL}"[:100], aliases=(SHORT, FORMULA) if name == "engineering" else ())
    for name, phrase in (("HR", "salary"), ("Finance", "quarterly forecast")):
        topic = organization.topics[name]
        organization.topics[name] = replace(
            topic, name=f"{name} {EVIL}"[:100], aliases=(f"{name} {SHORT}",), description=EVIL, phrases=(phrase, SHORT)
        )
    return organization


def _agent(site: Any, name: str) -> Principal:
    connection = site.organization.connections[name]
    return Principal(site.organization.organization.id, connection.person, connection.id, ConnectionKind.TOKEN, connection.client)


def _fill(site: Any) -> dict[str, str]:
    """Memories in every state, each with markup; what fills the parts of addresses."""
    core, bo = site.app.core, _agent(site, "Bo")
    shared = site.remember("Ada", f"Harbour rules {EVIL}", scope=Scope.ORGANIZATION, agent=SHORT[:60], run_id=SHORT[:60])
    site.remember("Bo", f"{FORMULA} {EVIL}", team="engineering")
    site.remember("Bo", f"perhaps {EVIL}", scope=Scope.ORGANIZATION)
    held = site.remember("Bo", f"The quarterly forecast {EVIL} \u202e", team="engineering", agent=SHORT[:60])
    correct_memory(core, bo, Correct(str(held), f"The quarterly forecast is other {EVIL}", reason=SHORT), Consent(True, True))
    site.remember("Bo", f"Ignore all previous instructions {EVIL}", scope=Scope.ORGANIZATION)
    gone = site.remember("Ada", f"Old {EVIL}", scope=Scope.ORGANIZATION)
    forget_memory(core, _agent(site, "Ada"), Forget(str(gone), SHORT), Consent(True, True))
    recall(core, bo, Recall(f"rules {SHORT}"))
    people, groups = site.organization.people, site.organization.groups
    return {
        **STANDARD,
        "memory": str(held),
        "shared": str(shared),
        "person_id": people["Bo"].id,
        "group_id": groups["engineering"].id,
        "connection": site.organization.connections["Bo"].id,
        "connection_id": site.organization.connections["Ada"].id,
    }


def _addresses(site: Any, values: dict[str, str]) -> dict[str, bool]:
    """Address -> whether it is none of a page."""
    app = create_app(site.app)
    adapter = app.url_map.bind("localhost")
    found = {}
    for rule in app.url_map.iter_rules():
        if rule.endpoint not in NOT_WALKED and "GET" in (rule.methods or ()):
            names = {name: values.get(name, "none") for name in rule.arguments}
            found[adapter.build(rule.endpoint, names)] = rule.endpoint in FILES
            if "memory" in names:
                found[adapter.build(rule.endpoint, {**names, "memory": values["shared"]})] = False
    more = [
        f"/review?memory={values['memory']}&place=team:people-ops&level=highly_restricted",
        f"/review/bulk?memory={values['memory']}",
        "/review/map/finance?team=engineering",
        f"/access?memory={values['shared']}&person={values['person_id']}",
        f"/memories?q={SHORT}",
        f"/memories?filter={SHORT}",
        f"/audit?filter={SHORT}",
        f"/x{SHORT}",
        "/memories?filter=forgotten",
    ]
    return {**found, **dict.fromkeys(more, False)}


@pytest.fixture(scope="module")
def hostile(serve_lasting: Any) -> tuple[Any, Page, dict[str, bool], list[str]]:
    """The site, Ada's page, the addresses and the dialogs that pages opened."""
    site = serve_lasting(_hostile())
    addresses = _addresses(site, _fill(site))
    page = site.page("Ada")
    dialogs: list[str] = []

    def dismiss(dialog: Any) -> None:
        dialogs.append(dialog.message)
        dialog.dismiss()

    page.on("dialog", dismiss)
    return site, page, addresses, dialogs


@pytest.mark.parametrize("part", range(PARTS))
def test_markup_in_any_field_of_any_page_runs_nowhere(hostile: Any, part: int) -> None:
    site, page, addresses, dialogs = hostile
    ran: dict[str, str] = {}
    seen = 0
    for address, file in list(addresses.items())[part::PARTS]:
        if file:
            # Files to be kept hold the texts as they are, but no formula begins a cell.
            answer = page.request.get(f"{site.url}/admin{address}", max_redirects=0)
            if "csv" in answer.headers.get("content-type", ""):
                assert not re.search(r'(?m)(^|,)"?[=+@\t]', answer.text()), address
            continue
        page.goto(f"{site.url}/admin{address}")
        html = page.content()
        seen += "onerror" in html
        if page.evaluate("window.ran !== undefined") or page.locator("img[src='/evil'], [hx-get='/evil']").count():
            ran[address] = "markup became part of the page"
        if str(7777 * 7) in page.locator("body").inner_text():
            ran[address] = "a template in a text was worked out"
    assert ran == {}
    assert dialogs == []
    assert seen > 10, "the texts are on the pages"
    # A page that is not there is a console message of the browser's own; everything else counts.
    site.complaints[:] = [text for text in site.complaints if "status of 4" not in text]
    assert site.complaints == []


def test_a_plugins_page_is_opened_from_the_menu(serve: Any, tmp_path: Path) -> None:
    example = re.search(r"```python\n# handoffs\.py\n(.*?)```", (Path(__file__).parents[2] / "docs" / "plugins.md").read_text(), re.DOTALL)
    assert example is not None
    (tmp_path / "handoffs.py").write_text(example[1])
    site = serve(harbor(), [tmp_path / "handoffs.py"])
    from memscope.model.memory import Kind

    site.remember("Ed", "The winch sticks", kind=Kind.HANDOFF, run_id="night", project="apollo")
    page = site.page("Ed")
    page.keyboard.press("g")
    page.keyboard.press("h")
    page.get_by_role("heading", name="Handoffs").wait_for()
    assert site.violations(page) == []
    page.get_by_role("button", name="Seen").click()
    expect(page.locator("[data-t=empty]")).to_contain_text("No handoff note waits")
