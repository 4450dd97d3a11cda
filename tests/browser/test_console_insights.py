"""An administrator's morning: the overview, a broken plugin, what memory was used for, and a setting."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

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


def look(page: Any, name: str) -> None:
    """A picture for whoever wants one: CONSOLE_PICTURES names the folder."""
    if folder := os.environ.get("CONSOLE_PICTURES"):
        page.screenshot(path=str(Path(folder) / f"{name}.png"), full_page=True)


def test_the_overview_counts_what_its_pages_list(site: Any) -> None:
    site.remember("Bo", "The quarterly forecast is grim", scope=Scope.ORGANIZATION)
    site.remember("Bo", "The quarterly forecast is late", scope=Scope.ORGANIZATION)
    site.remember("Bo", "The crane is blue", scope=Scope.ORGANIZATION)
    ada = site.page("Ada")
    tile = ada.locator("[data-t=tile-review]")
    count = int(tile.locator("strong").inner_text())
    look(ada, "overview")
    assert site.violations(ada) == []
    tile.click()
    assert ada.locator(".waiting li").count() == count == 2
    bo = site.page("Bo")
    menu = bo.get_by_role("navigation", name="Pages")
    assert menu.get_by_role("link", name="Review").count() == 1
    for name in ("People", "Plugins", "Settings", "Insights"):
        assert menu.get_by_role("link", name=name, exact=True).count() == 0
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
    assert "1 plugin is unwell" in " ".join(ada.locator("[data-t=tile-plugins]").inner_text().split())


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
    look(ada, "plugins")
    card.get_by_role("link", name="Shadow").click()
    look(ada, "plugin-shadow")
    ada.get_by_role("button", name="Put in shadow mode").click()
    broken.remember("Bo", "The garden is open", scope=Scope.ORGANIZATION)
    assert not held(broken)
    ada.reload()
    assert card.get_attribute("data-state") == "shadow"
    assert "LookupError" in ada.locator("[data-t=differences]").inner_text()
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
    look(ada, "insights")
    ada.get_by_role("link", name="7 days").click()
    assert ada.url.endswith("/admin/insights?days=7")
    charts = ada.locator("[data-t=chart]")
    assert charts.count() == 9
    for chart in charts.all():
        figure = chart.locator("[data-t=figure]")
        if figure.count() and figure.get_attribute("data-total") is not None:
            sums = [float(text.replace(",", "")) for text in chart.locator("[data-sum]").all_text_contents()]
            assert sum(sums) == float((figure.get_attribute("data-total") or "").replace(",", "")), chart.inner_text()
    assert charts.filter(has_text="too few people to show").count() == 1
    assert "Engineering: too few people to show" in ada.locator("#groups").inner_text()
    for summary in ada.locator("summary").all():
        summary.click()
    for theme in ("light", "dark"):
        ada.emulate_media(color_scheme=theme)
        for width in (360, 1280):
            ada.set_viewport_size({"width": width, "height": 900})
            assert site.violations(ada) == []
    ada.reload()
    look(ada, "insights-7-dark")
    ada.set_viewport_size({"width": 360, "height": 800})
    assert not ada.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
    look(ada, "insights-phone-dark")


def _back(core: Any, principal: Principal, days: int) -> Any:
    from datetime import timedelta

    return core.usage.today(principal.organization) - timedelta(days=days)


def test_a_setting_is_saved_exported_and_fixed(broken: Any) -> None:
    keep_fixed(broken.app.core)
    ada = broken.page("Ada")
    ada.goto(f"{broken.url}/admin/settings")
    locked = ada.locator("#secrets[data-t=locked]")
    assert "fixed by the variable MEMSCOPE_ORGANIZATION_SECRETS" in locked.inner_text()
    assert ada.locator("[name=secrets]").count() == 0
    look(ada, "settings")
    ada.get_by_label("Days in the trash").fill("45")
    ada.get_by_role("button", name="Save Keeping").click()
    assert "Keeping ✓ saved" in " ".join(ada.locator("#keeping h2").inner_text().split())
    with ada.expect_download() as download:
        ada.get_by_role("link", name="Export").click()
    exported = Path(download.value.path()).read_text()
    assert "trash_days = 45" in exported
    core, passwords = broken.app.core, broken.app.identities.passwords
    assert apply(core, passwords, parse(exported), dry_run=True).steps == ()
    ada.get_by_label("Where a memory goes when the agent names no place").select_option("organization")
    ada.get_by_role("button", name="Save Saving").click()
    assert "everybody in the organization" in ada.locator("[data-t=consequence]").inner_text()
    ada.get_by_role("link", name="Leave it as it is").click()
    ada.get_by_label("Accent colour on light ground").fill("#ffcc00")
    ada.get_by_role("button", name="Save Looks").click()
    told = ada.locator("#accent-error").inner_text()
    ada.get_by_label("Accent colour on light ground").fill(told[-8:-1])
    ada.get_by_role("button", name="Save Looks").click()
    assert "Looks ✓ saved" in " ".join(ada.locator("#branding h2").inner_text().split())
    look(ada, "settings-branded")
    broken.complaints[:] = [text for text in broken.complaints if "422" not in text]
    for theme in ("light", "dark"):
        ada.emulate_media(color_scheme=theme)
        for width in (360, 1280):
            ada.set_viewport_size({"width": width, "height": 900})
            assert broken.violations(ada) == []
