"""Why somebody cannot read, people who come and go, teams that are removed: errands in a real browser, agents over real MCP."""

from __future__ import annotations

import json
import re
import urllib.request
from typing import Any
from urllib.error import HTTPError

from playwright.sync_api import expect

from memscope.model.audience import Scope
from memscope.model.audit import Act
from memscope.model.organization import GroupRole
from memscope.organizations.connections import create_token

VERSION = "2026-07-28"


def _token(site: Any, name: str) -> str:
    organization, person = site.organization.organization.id, site.organization.people[name].id
    return create_token(site.app.core, site.app.identities.tokens, organization, person, "planner", actor=person)[1]


def _call(site: Any, token: str, tool: str, **arguments: Any) -> tuple[int, dict[str, Any]]:
    """An agent's call over MCP: the status, and what was answered."""
    meta = {"io.modelcontextprotocol/protocolVersion": VERSION, "io.modelcontextprotocol/clientCapabilities": {}}
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    headers |= {"MCP-Protocol-Version": VERSION, "Mcp-Method": "tools/call", "Mcp-Name": tool}
    params = {"name": tool, "arguments": arguments, "_meta": meta}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(f"{site.url}/mcp", body, headers), timeout=30) as answer:
            return answer.status, json.loads(answer.read())["result"]["structuredContent"]
    except HTTPError as error:
        return error.code, {}


def _finds(site: Any, token: str, words: str) -> list[int]:
    return [result["number"] for result in _call(site, token, "recall", query=words)[1]["results"]]


def _join(site: Any, slug: str, name: str) -> None:
    group, person = site.organization.groups[slug].id, site.organization.people[name].id
    with site.app.core.storage.begin(site.organization.operator, Act("group.member")) as transaction:
        transaction.write_membership(group, person, GroupRole.MEMBER)


def _expected(site: Any) -> None:
    """Pages that refuse are console messages of the browser's own."""
    site.complaints[:] = [text for text in site.complaints if "status of 4" not in text]


def test_why_can_bo_not_read_it(site: Any) -> None:
    _join(site, "people-ops", "Ada")
    number = site.remember("Di", "The salary of the cook", scope=Scope.ORGANIZATION)
    secret = site.remember("Bo", "A secret of mine")
    ada, bo = _token(site, "Ada"), _token(site, "Bo")
    page = site.page("Ada")
    page.goto(f"{site.url}/admin/memories/{number}")
    page.get_by_role("link", name="Who can read this").click()
    page.get_by_label("Person").select_option(label="Bo (bo@harbor.example)")
    page.get_by_role("button", name="Explain").click()
    why = page.url
    expect(page.locator("[data-t=answer]")).to_have_text(f"Bo cannot read #{number}, because they are in no guard team of HR.")
    failed = page.locator("[data-t=rule][data-passed=false]").first
    assert failed.get_attribute("data-rule") == "guard_team"
    failed.get_by_role("link").click()
    page.wait_for_url("**/topics/hr")
    page.goto(why)
    # The smallest remedy, as a draft first.
    before = site.app.core.rosters.current(site.organization.organization.id)
    remedy = page.locator("[data-t=remedy]").first
    expect(remedy).to_contain_text("put them into the team People Ops")
    expect(remedy).to_contain_text("Nobody else would read it.")
    remedy.get_by_role("link", name="Try this as a draft").click()
    expect(page.locator("[data-t=answer]")).to_contain_text(f"In this draft Bo can read #{number}")
    expect(page.locator("[data-t=draft]")).to_contain_text("nothing is stored")
    assert site.app.core.rosters.current(site.organization.organization.id) is before
    assert number not in _finds(site, bo, "salary of the cook")
    # Then really.
    page.locator("[data-t=draft]").get_by_role("link", name="put them into the team People Ops").click()
    expect(page.locator("[data-t=consequence]")).to_contain_text("Bo will read 1 memory more")
    page.get_by_role("button", name="Make member").click()
    page.get_by_role("status").get_by_text("Bo is member of People Ops").wait_for()
    assert _finds(site, bo, "salary of the cook")[0] == number
    page.goto(why)
    expect(page.locator("[data-t=answer]")).to_contain_text(f"Bo can read #{number}")
    told = _call(site, ada, "explain_memory", memory_id=str(number), person="bo@harbor.example")[1]["rules"]
    shown = [(one.get_attribute("data-rule"), one.get_attribute("data-passed") == "true") for one in page.locator("[data-t=rule]").all()]
    assert shown == [(rule["rule"], rule["passed"]) for rule in told]
    for one, rule in zip(page.locator("[data-t=rule]").all(), told, strict=True):
        assert rule["text"] in one.inner_text()
    assert re.search(
        r"last changed \d{4}-\d\d-\d\d \d\d:\d\d: member of People Ops, by Ada", page.locator("[data-t=last-change]").inner_text()
    )
    # Everybody, and what Bo sees.
    page.get_by_role("link", name="One memory, everybody").click()
    expect(page.locator("[data-t=answer]")).to_contain_text("3 people whom you may ask about")
    page.get_by_role("link", name="What somebody sees").click()
    expect(page.locator("[data-t=seen]")).to_have_count(1)
    assert page.goto(f"{site.url}/admin/access?memory={secret}&person=bo@harbor.example").status == 404
    expect(page.locator("[data-t=rule]")).to_have_count(0)
    _expected(site)


def test_somebody_comes_goes_and_comes_back(site: Any) -> None:
    page = site.page("Ada")
    page.get_by_role("link", name="People", exact=True).click()
    page.get_by_role("link", name="Add somebody").click()
    page.get_by_label("E-mail address").fill("fay@harbor.example")
    page.get_by_label("Name").fill("Fay")
    page.get_by_role("button", name="Add, and make").click()
    guest = site.page()
    guest.goto(page.locator("[data-t=token-once]").inner_text())
    guest.get_by_label("New password").fill("an entirely new word")
    guest.get_by_role("button", name="Set it").click()
    guest.get_by_role("heading", name="Overview").wait_for()
    # An administrator stays one.
    people = site.organization.people
    page.goto(f"{site.url}/admin/people/{people['Ada'].id}")
    page.get_by_label("Role").select_option("Member")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("[data-t=error-summary]")).to_contain_text("Nobody lowers their own role")
    # Bo loses a tab and a token at once.
    token, bo = _token(site, "Bo"), site.page("Bo")
    assert _call(site, token, "list_teams")[0] == 200
    page.goto(f"{site.url}/admin/people/{people['Bo'].id}")
    expect(page.locator("[data-t=consequence]")).to_contain_text("1 session, 2 tokens and 0 grants")
    page.get_by_role("button", name="Disable Bo").click()
    page.get_by_role("status").get_by_text("Bo is disabled. Ended: 1 session, 2 tokens and 0 grants.").wait_for()
    assert _call(site, token, "list_teams")[0] == 401
    bo.get_by_role("link", name="Memories", exact=True).click()
    bo.get_by_role("heading", name="Sign in").wait_for()
    page.get_by_role("button", name="Enable").click()
    page.get_by_role("status").get_by_text("stay ended").wait_for()
    assert _call(site, token, "list_teams")[0] == 401
    _expected(site)


def test_a_team_gains_loses_and_goes(site: Any) -> None:
    _join(site, "people-ops", "Ada")
    number = site.remember("Di", "The cook comes on Monday", team="people-ops")
    bo = _token(site, "Bo")
    page = site.page("Ada")
    page.goto(f"{site.url}/admin/teams")
    page.get_by_role("link", name="People Ops").click()
    team = page.url
    page.get_by_label("Person").select_option(label="Bo (bo@harbor.example)")
    page.get_by_role("button", name="Put in").click()
    consequence = page.locator("[data-t=consequence]")
    expect(consequence).to_contain_text("Bo will read 1 memory more")
    expect(consequence).to_contain_text("The cook comes on Monday")
    page.get_by_role("button", name="Make member").click()
    page.get_by_role("status").get_by_text("Bo is member of People Ops").wait_for()
    assert _finds(site, bo, "when the cook comes") == [number]
    page.get_by_role("link", name="Take out Bo").click()
    expect(consequence).to_contain_text("Bo will no longer read 1 memory")
    page.get_by_role("button", name="Take out").click()
    page.get_by_role("status").get_by_text("Bo is no longer in People Ops").wait_for()
    assert _finds(site, bo, "when the cook comes") == []
    # A team with memories goes only with a choice for them.
    page.get_by_role("link", name="Remove the team").click()
    with page.expect_response(re.compile("/remove$")) as answered:
        page.get_by_role("button", name="Show what that does").click()
    assert answered.value.status == 422
    expect(page.locator("[data-t=error-summary]")).to_contain_text("Choose what becomes of its memories")
    page.get_by_label("What becomes of its memories?").select_option("Each goes back to its author alone")
    page.get_by_role("button", name="Show what that does").click()
    expect(consequence).to_contain_text("Nobody gains reading")
    page.get_by_role("button", name="Remove the team").click()
    page.get_by_role("status").get_by_text("People Ops is removed.").wait_for()
    assert _finds(site, _token(site, "Di"), "when the cook comes") == [number]
    assert _finds(site, _token(site, "Ada"), "when the cook comes") == []
    assert page.goto(team).status == 404
    # Ed owns apollo and nothing else.
    page = site.page("Ed")
    groups = site.organization.groups
    page.goto(f"{site.url}/admin/groups/{groups['apollo'].id}")
    page.get_by_label("Person").select_option(label="Bo (bo@harbor.example)")
    page.get_by_role("button", name="Put in").click()
    page.get_by_role("button", name="Make member").click()
    page.get_by_role("status").get_by_text("Bo is member of Apollo").wait_for()
    assert page.goto(f"{site.url}/admin/groups/{groups['engineering'].id}").status == 404
    _expected(site)
