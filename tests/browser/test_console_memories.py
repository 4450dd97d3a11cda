"""Errands with memories, the audit log and one's own pages, agents' calls over MCP included."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import anyio.from_thread
import httpx2
import pytest
from anyio.from_thread import BlockingPortal
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from playwright.sync_api import expect

from memscope.model.audience import Scope
from memscope.model.audit import Act
from memscope.model.organization import Confirmation
from memscope.organizations.connections import create_token


@dataclass
class Agent:
    """An agent of somebody's, which calls tools over MCP."""

    portal: BlockingPortal
    url: str
    token: str

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """What a call answers: the answer, or the error."""
        found = self.portal.call(self._call, tool, arguments)
        return dict(found.get("error", found))

    async def _call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {self.token}"}, timeout=30) as http,
            Client(streamable_http_client(f"{self.url}/mcp", http_client=http)) as client,
        ):
            answer = await client.call_tool(tool, arguments)
            assert answer.structured_content is not None
            return dict(answer.structured_content)


@contextmanager
def _agent(site: Any, name: str) -> Iterator[Agent]:
    organization = site.organization.organization.id
    person = site.organization.people[name].id
    _, token = create_token(site.app.core, site.app.identities.tokens, organization, person, "planner", actor=person)
    with anyio.from_thread.start_blocking_portal() as portal:
        yield Agent(portal, site.url, token)


def _body(page: Any) -> str:
    return re.sub(r'value="[^"]{40,}"|X-CSRFToken[^}]+', "", page.content())


def _ask(page: Any, name: str) -> None:
    """Press a link that asks in a dialog once the page's script is there; before that it leads to a page, as without script."""
    page.wait_for_load_state()
    page.get_by_role("link", name=name).click()


def test_a_memory_is_found_corrected_moved_forgotten_and_restored(site: Any) -> None:
    number = site.remember("Ada", "The crane at pier one is blue", team=None)
    hidden = site.remember("Ada", "Mine alone")
    page = site.page("Ada")
    page.goto(f"{site.url}/admin/memories/{number}")
    page.get_by_role("link", name="Correct").click()
    text = page.get_by_label("Text")
    text.fill("x" * 8001)
    expect(page.get_by_text("8,001 of 8,000 characters: 1 too many")).to_be_visible()
    text.fill("The crane at pier two is red")
    expect(page.get_by_text("28 of 8,000 characters")).to_be_visible()
    page.get_by_role("button", name="Save").click()
    page.get_by_role("status").get_by_text("version 2").wait_for()
    assert [one.inner_text()[1:] for one in page.locator("[data-t=diff] del").all()] == ["one", "blue"]
    assert [one.inner_text()[1:] for one in page.locator("[data-t=diff] ins").all()] == ["two", "red"]

    _ask(page, "Move")
    dialog = page.get_by_role("dialog", name=f"Move memory {number}")
    dialog.get_by_label("Who it is for").select_option("Everybody in the organization")
    dialog.get_by_role("button", name="Show who reads it there").click()
    dialog.get_by_text("Will be able to read it").wait_for()
    expect(dialog.locator("[data-t=consequence]")).to_contain_text("Bo")
    dialog.get_by_role("link", name="Cancel").click()
    expect(dialog).not_to_be_visible()
    page.reload()
    expect(page.locator("[data-t=readers]")).to_have_text("Ada")
    _ask(page, "Move")
    dialog.get_by_label("Who it is for").select_option("Everybody in the organization")
    dialog.get_by_role("button", name="Show who reads it there").click()
    dialog.get_by_role("button", name="Move it").click()
    page.get_by_role("status").get_by_text("Moved.").wait_for()
    expect(page.locator("[data-t=readers]")).to_contain_text("Bo")

    bo = site.page("Bo")
    bodies = []
    for one in (hidden, 123456789):
        answer = bo.goto(f"{site.url}/admin/memories/{one}")
        assert answer is not None
        assert answer.status == 404
        bodies.append(_body(bo))
    assert bodies[0] == bodies[1]
    bo.context.close()
    site.complaints[:] = [text for text in site.complaints if "status of 404" not in text]

    _ask(page, "Forget")
    dialog = page.get_by_role("dialog", name=f"Forget memory {number}?")
    expect(dialog.locator("[data-t=consequence]")).to_contain_text("Nobody gains reading")
    dialog.get_by_role("button", name="Forget it").click()
    page.get_by_role("status").get_by_text("Forgotten.").wait_for()
    page.get_by_role("button", name=f"Restore memory {number}").click()
    page.get_by_role("status").get_by_text("Restored").wait_for()
    expect(page.locator("[data-t=empty]")).to_be_visible()
    page.goto(f"{site.url}/admin/audit")
    for action in ("memory.correct", "memory.change_scope", "memory.forget", "memory.restore"):
        expect(page.locator("[data-t=audit-row]", has_text=action)).to_have_count(1)

    # Typed as picked, and found as recall finds it.
    page.get_by_role("link", name="Memories", exact=True).click()
    page.keyboard.press("/")
    page.keyboard.type("crane author:me scope:organization")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="The crane at pier two is red").wait_for()
    address = page.url
    page.goto(f"{site.url}/admin/memories")
    page.get_by_text("Pick filters").click()
    page.get_by_label("Words").fill("crane")
    page.get_by_label("Scope").select_option("organization")
    page.get_by_label("Author").fill("me")
    page.get_by_role("button", name="Set these").click()
    page.wait_for_url(address)
    page.get_by_label("Search as recall does").check()
    page.get_by_role("button", name="Show", exact=True).click()
    page.get_by_text("score").first.wait_for()


def test_an_administrator_reads_the_audit_log(site: Any, tmp_path: Any) -> None:
    number = site.remember("Ada", "Harbour rules", scope=Scope.ORGANIZATION, agent="=1+1")
    site.remember("Bo", "The crane is blue")
    page = site.page("Ada")
    page.goto(f"{site.url}/admin/memories/{number}")
    _ask(page, "Forget")
    page.get_by_role("dialog").get_by_role("button", name="Forget it").click()
    page.get_by_role("status").get_by_text("Forgotten.").wait_for()
    page.goto(f"{site.url}/admin/audit")
    row = page.locator("[data-t=audit-row]", has_text="memory.forget")
    expect(row).to_contain_text("the person, in the console")
    row.locator("summary").click()
    assert row.get_by_role("link", name="Same request").is_visible()
    page.get_by_label("Filter the audit log").fill("actor:ada action:memory.*")
    page.keyboard.press("Enter")
    page.locator("[data-t=audit-row]").first.wait_for()
    typed, shown = page.url, page.locator("[data-t=audit-row] > th").all_inner_texts()
    page.goto(f"{site.url}/admin/audit")
    page.get_by_text("Pick filters").click()
    page.get_by_label("Who").select_option("Ada")
    page.get_by_label("Did what").fill("memory.*")
    page.get_by_role("button", name="Set these").click()
    page.wait_for_url(typed)
    page.reload()
    assert page.locator("[data-t=audit-row] > th").all_inner_texts() == shown
    with page.expect_download() as download:
        page.get_by_role("link", name="Export these as CSV").click()
    download.value.save_as(tmp_path / "audit.csv")
    rows = list(csv.DictReader((tmp_path / "audit.csv").read_text().splitlines()))
    assert [row["position"] for row in rows] == [text.replace(",", "") for text in shown]
    assert "'=1+1" in [row["agent"] for row in rows]

    page.goto(f"{site.url}/admin/audit?live=yes")
    before = page.locator("[data-t=audit-row]").count()
    site.remember("Bo", "The kettle is full")
    page.locator("[data-t=audit-row]").nth(before).wait_for()

    page.get_by_role("button", name="Check from the first row").click()
    page.locator("[data-t=chain]", has_text="Verified to row").wait_for()
    tenant = site.app.core.storage._tenants[site.organization.organization.id]
    rows_there = list(tenant.audit)
    rows_there[1] = replace(rows_there[1], act=replace(rows_there[1].act, action="memory.nothing"))
    tenant.audit = tuple(rows_there)
    page.get_by_role("button", name="Check from the first row").click()
    page.locator("[data-t=chain]", has_text="Row 2 is not as it was written").wait_for()

    bo = site.page("Bo")
    answer = bo.goto(f"{site.url}/admin/audit")
    assert answer is not None
    assert answer.status == 404
    bo.goto(f"{site.url}/admin/me/activity")
    expect(bo.locator("[data-t=audit-row]", has_text="memory.remember")).to_have_count(2)
    expect(bo.locator("[data-t=audit-row]", has_text="memory.forget")).to_have_count(0)
    site.complaints[:] = [text for text in site.complaints if "status of 404" not in text]


@pytest.fixture
def strict(site: Any) -> Any:
    """The site of an organization that confirms in the console."""
    with site.app.core.storage.begin(site.organization.operator, Act("organization.change")) as transaction:
        transaction.write_organization(replace(site.organization.organization, confirmation=Confirmation.CONSOLE))
    return site


def test_an_agents_question_is_approved_and_the_memory_restored(strict: Any) -> None:
    site = strict
    site.page("Bo").context.close()
    with _agent(site, "Bo") as agent:
        memory = agent.call("remember", content="The crane is blue")["memory"]

        def forget(**more: Any) -> dict[str, Any]:
            return agent.call("forget_memory", memory_id=memory["id"], confirm_human=True, **more)

        asked = forget()
        assert asked["code"] == "confirm_required"
        link = site.url + "/admin" + asked["approval_url"].split("/admin")[1]
        page = site.page()
        page.goto(link)
        page.get_by_label("E-mail address").fill("bo@harbor.example")
        page.get_by_label("Password").fill("a long password of Bo")
        page.get_by_role("button", name="Sign in").click()
        page.get_by_role("heading", name="planner wants to forget a memory").wait_for()
        assert page.url == link
        expect(page.locator("[data-t=consequence]")).to_contain_text("Nobody gains reading")
        page.get_by_role("button", name="Approve").click()
        page.get_by_role("status").get_by_text("Approved.").wait_for()
        assert forget()["memory_id"] == memory["id"]
        assert forget()["code"] == "not_found", "it is in the trash, and the approval is used up"
        page.goto(link)
        page.get_by_text("the approval is used up").wait_for()

        di = site.page("Di")
        answer = di.goto(link)
        assert answer is not None
        assert answer.status == 404

        page.goto(f"{site.url}/admin/me/trash")
        page.get_by_role("button", name="Restore").click()
        page.get_by_role("status").get_by_text("Restored").wait_for()
        expect(page.locator("[data-t=empty]")).to_be_visible()
        assert forget(reason="other words")["code"] == "confirm_required", "an approval is for its arguments alone"
        page.goto(f"{site.url}/admin/me/confirmations")
        page.get_by_role("link", name="planner wants to forget a memory").click()
        page.get_by_role("button", name="Refuse").click()
        page.get_by_role("status").get_by_text("Refused.").wait_for()
        refused = forget(reason="other words")
        assert refused["code"] == "forbidden"
        assert "The person said no" in refused["message"]
    site.complaints[:] = [text for text in site.complaints if "status of 404" not in text]


def test_what_is_thrown_away_is_erased_by_typing_its_number(site: Any) -> None:
    number = site.remember("Bo", "The crane is blue")
    page = site.page("Bo")
    page.goto(f"{site.url}/admin/me/memories")
    page.get_by_role("link", name=f"Forget memory {number}").click()
    page.get_by_role("button", name="Forget it").click()
    page.get_by_role("link", name=f"Erase… memory {number} for good").click()
    page.get_by_label("Number of the memory").fill("1")
    page.get_by_role("button", name="Erase it for good").click()
    page.locator("[data-t=error-summary]").get_by_text("This is not its number").wait_for()
    page.get_by_label("Number of the memory").fill(str(number))
    page.get_by_role("button", name="Erase it for good").click()
    page.get_by_role("status").get_by_text("erased for good").wait_for()
    expect(page.locator("[data-t=empty]")).to_be_visible()
    page.get_by_role("link", name="Activity").click()
    page.locator("[data-t=audit-row]", has_text="memory.erase").wait_for()
    site.complaints[:] = [text for text in site.complaints if "status of 422" not in text]


def test_a_guarded_memory_is_revealed_for_an_hour(site: Any) -> None:
    number = site.remember("Di", "The salary of the cook", scope=Scope.ORGANIZATION)
    page = site.page("Ada")
    page.get_by_role("link", name="Memories", exact=True).click()
    page.get_by_role("link", name="Reveal one that you may not read").click()
    page.get_by_label("Number or id of the memory").fill(str(number))
    page.get_by_label("Why").fill("A court asks for it")
    page.get_by_role("button", name="Reveal it for an hour").click()
    page.get_by_text("The salary of the cook").wait_for()
    expect(page.get_by_role("link", name="Correct")).to_have_count(0)
    di = site.page("Di")
    notice = di.locator("[data-t=notice]")
    expect(notice).to_contain_text("Ada was shown a memory of yours")
    notice.get_by_role("button").click()
    di.get_by_role("heading", name="Overview").wait_for()
    expect(notice).to_have_count(0)
    page.get_by_role("button", name="Close it now").click()
    page.get_by_role("status").get_by_text("Closed.").wait_for()


def test_memories_are_handled_without_script(site: Any) -> None:
    number = site.remember("Bo", "The crane is blue", team="engineering")
    page = site.page("Bo", java_script_enabled=False)
    page.goto(f"{site.url}/admin/memories?text=crane")
    page.get_by_role("link", name="The crane is blue").click()
    page.get_by_role("link", name="Move").click()
    page.get_by_label("Who it is for").select_option("Everybody in the organization")
    page.get_by_role("button", name="Show who reads it there").click()
    page.get_by_role("button", name="Move it").click()
    page.get_by_role("status").get_by_text("Moved.").wait_for()
    page.goto(f"{site.url}/admin/memories/{number}")
    page.get_by_role("link", name="Forget").click()
    page.get_by_role("button", name="Forget it").click()
    page.get_by_role("button", name="Restore").click()
    page.get_by_role("status").get_by_text("Restored").wait_for()
