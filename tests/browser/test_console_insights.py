"""An administrator's morning: the overview, a broken plugin, what memory was used for, and a setting."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from playwright.sync_api import expect

from memscope.memories.browse import ListMemories, get_memory, list_memories
from memscope.memories.recall import Recall, recall
from memscope.model.audience import Scope
from memscope.model.memory import Kind
from memscope.model.organization import ConnectionKind
from memscope.model.principal import Principal
from memscope.organizations.apply import apply
from memscope.organizations.file import parse
from memscope.organizations.settings import keep_fixed
from memscope.upkeep.census import census


def agent(site: Any, name: str) -> Principal:
    """Somebody's agent."""
    connection = site.organization.connections[name]
    return Principal(site.organization.organization.id, connection.person, connection.id, ConnectionKind.TOKEN, connection.client)


def held(site: Any) -> bool:
    """Whether Bo's newest memory is held."""
    return bool(list_memories(site.app.core, agent(site, "Bo"), ListMemories(filter="mine", limit=1)).memories[0].held)


def test_the_overview_counts_what_its_pages_list(site: Any) -> None:
    site.remember("Bo", "The quarterly forecast is grim", scope=Scope.ORGANIZATION)
    site.remember("Bo", "The quarterly forecast is late", scope=Scope.ORGANIZATION)
    site.remember("Bo", "The crane is blue", scope=Scope.ORGANIZATION)
    ada = site.page("Ada")
    tile = ada.locator("[data-t=tile-review]")
    count = int(tile.locator("strong").inner_text())
    assert site.violations(ada) == []
    tile.click()
    expect(ada.locator(".waiting li")).to_have_count(count)
    assert count == 2
    bo = site.page("Bo")
    menu = bo.get_by_role("navigation", name="Pages")
    expect(menu.get_by_role("link", name="Review")).to_have_count(1)
    for name in ("People", "Plugins", "Settings", "Insights"):
        expect(menu.get_by_role("link", name=name, exact=True)).to_have_count(0)
    with bo.expect_response(lambda response: response.url.endswith("/admin/people")) as response:
        bo.goto(f"{site.url}/admin/people")
    assert response.value.status == 404
    site.complaints.clear()  # the browser tells of the 404

    class Stopped:
        ready = True
        model = site.app.core.embedding.model

        def embed_query(self, text: str) -> Any:
            raise OSError("stopped")

        def close(self) -> None:
            """Nothing to let go of."""

    site.app.core.embedding._embedder = Stopped()
    recall(site.app.core, agent(site, "Bo"), Recall("crane"))
    ada.goto(f"{site.url}/admin/")
    expect(ada.locator("[data-t=tile-plugins]")).to_contain_text("1 plugin is unwell")


def test_a_broken_plugin_is_found_and_taken_out(broken: Any) -> None:
    ada = broken.page("Ada")
    broken.remember("Bo", "The office has new chairs", scope=Scope.ORGANIZATION)
    assert held(broken)
    ada.goto(f"{broken.url}/admin/review")
    ada.get_by_text("raising_guard failed or took too long").first.wait_for()
    ada.goto(f"{broken.url}/admin/plugins")
    card = ada.locator("[data-t=plugin-card][data-plugin=raising_guard]")
    assert "unwell" in (card.get_attribute("class") or "")
    errors = int(card.locator("[data-t=errors]").inner_text())
    broken.remember("Bo", "The kitchen is painted", scope=Scope.ORGANIZATION)
    ada.reload()
    assert int(card.locator("[data-t=errors]").inner_text()) == errors + 1
    card.get_by_role("link", name="Shadow").click()
    ada.get_by_role("button", name="Put in shadow mode").click()
    broken.remember("Bo", "The garden is open", scope=Scope.ORGANIZATION)
    assert not held(broken)
    ada.reload()
    assert card.get_attribute("data-state") == "shadow"
    expect(ada.locator("[data-t=differences]")).to_contain_text("LookupError")
    assert broken.violations(ada) == []
    card.get_by_role("link", name="Turn off").click()
    ada.get_by_role("button", name="Turn off").click()
    calls = card.locator("[data-t=calls]").inner_text()
    broken.remember("Bo", "The roof is mended", scope=Scope.ORGANIZATION)
    ada.reload()
    assert card.locator("[data-t=calls]").inner_text() == calls
    assert card.get_attribute("data-state") == "off"


def test_insights_are_picked_by_days_and_sum_up(site: Any) -> None:
    for content, kind in (("Boats leave at nine", Kind.FACT), ("We paint the pier blue", Kind.DECISION), ("The pier has a lamp", None)):
        site.remember("Bo", content, kind=kind, scope=Scope.ORGANIZATION)
    site.remember("Bo", "The quarterly forecast is grim", scope=Scope.ORGANIZATION)
    core, bo = site.app.core, agent(site, "Bo")
    for day in range(1, 30):
        core.usage.note(bo.organization, "saved", ("note", "fact", "decision", "procedure")[day % 4], day % 7, day=_back(core, bo, day))
        core.usage.note(bo.organization, "recalled", "found", day % 9, day=_back(core, bo, day))
        core.usage.note(bo.organization, "waited", "seconds", day * 7000, day=_back(core, bo, day))
        core.usage.note(bo.organization, "decided", "approved", 1 + day % 3, day=_back(core, bo, day))
    get_memory(core, bo, recall(core, bo, Recall("pier")).results[0].id)
    recall(core, bo, Recall("salary of the captain"))
    census(core, bo.organization)
    ada = site.page("Ada")
    ada.goto(f"{site.url}/admin/insights")
    ada.get_by_role("link", name="7 days").click()
    ada.wait_for_url("**/admin/insights?days=7")
    charts = ada.locator("[data-t=chart]")
    expect(charts).to_have_count(9)
    for chart in charts.all():
        figure = chart.locator("[data-t=figure]")
        if figure.count() and figure.get_attribute("data-total") is not None:
            sums = [float(text.replace(",", "")) for text in chart.locator("[data-sum]").all_text_contents()]
            assert sum(sums) == float((figure.get_attribute("data-total") or "").replace(",", "")), chart.inner_text()
    expect(charts.filter(has_text="too few people to show")).to_have_count(1)
    expect(ada.locator("#groups")).to_contain_text("Engineering: too few people to show")
    for summary in ada.locator("summary").all():
        summary.click()
    assert site.violations(ada) == []


def _back(core: Any, principal: Principal, days: int) -> Any:
    from datetime import timedelta

    return core.usage.today(principal.organization) - timedelta(days=days)


def test_a_setting_is_saved_exported_and_fixed(broken: Any) -> None:
    keep_fixed(broken.app.core)
    ada = broken.page("Ada")
    ada.goto(f"{broken.url}/admin/settings")
    locked = ada.locator("#secrets[data-t=locked]")
    expect(locked).to_contain_text("fixed by the variable MEMSCOPE_ORGANIZATION_SECRETS")
    expect(ada.locator("[name=secrets]")).to_have_count(0)
    ada.get_by_label("Days in the trash").fill("45")
    ada.get_by_role("button", name="Save Keeping").click()
    expect(ada.locator("#keeping h2")).to_contain_text("Keeping ✓ saved")
    with ada.expect_download() as download:
        ada.get_by_role("link", name="Export").click()
    exported = Path(download.value.path()).read_text()
    assert "trash_days = 45" in exported
    core, passwords = broken.app.core, broken.app.identities.passwords
    assert apply(core, passwords, parse(exported), dry_run=True).steps == ()
    ada.get_by_label("Where a memory goes when the agent names no place").select_option("organization")
    ada.get_by_role("button", name="Save Saving").click()
    expect(ada.locator("[data-t=consequence]")).to_contain_text("everybody in the organization")
    ada.get_by_role("link", name="Leave it as it is").click()
    ada.get_by_label("Accent colour on light ground").fill("#ffcc00")
    ada.get_by_role("button", name="Save Looks").click()
    told = ada.locator("#accent-error").inner_text()
    ada.get_by_label("Accent colour on light ground").fill(told[-8:-1])
    ada.get_by_role("button", name="Save Looks").click()
    expect(ada.locator("#branding h2")).to_contain_text("Looks ✓ saved")
    broken.complaints[:] = [text for text in broken.complaints if "422" not in text]
    assert broken.violations(ada) == []
