"""A topic is taught: bench, preview, judging again what is stored, and a second administrator at the same time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from playwright.sync_api import expect

from memscope.memories.recall import Recall, recall
from memscope.model.audit import Act
from memscope.model.ids import new_id
from memscope.model.organization import ConnectionKind, Group, GroupKind, GroupRole
from memscope.model.principal import Principal
from memscope.serving.upkeep import upkeep

EARLIER = "Q3 revenue was 4 million"
LATER = "The cash runway is nine months"


def _harbour(site: Any) -> tuple[int, int]:
    """Ed alone is in the treasury; he, Ada and Bo are in engineering, where two memories of Ada's lie: numbers of both."""
    organization = site.organization
    finance = replace(organization.topics["Finance"], phrases=("revenue was", "quarterly forecast"))
    treasury = Group(new_id(), GroupKind.TEAM, "treasury", "Treasury")
    engineering = organization.groups["engineering"].id
    with site.app.core.storage.begin(organization.operator, Act("organization.apply")) as transaction:
        transaction.write_topic(finance)
        transaction.write_group(treasury)
        transaction.write_membership(treasury.id, organization.people["Ed"].id, GroupRole.OWNER)
        for name in ("Ada", "Ed"):
            transaction.write_membership(engineering, organization.people[name].id, GroupRole.MEMBER)
    earlier, later = (site.remember("Ada", text, team="engineering") for text in (EARLIER, LATER))
    with site.app.core.storage.begin(organization.operator) as transaction:
        memory = transaction.memory(earlier)
    # On Finance since before it was reviewed here: as an import leaves it.
    organization.change(site.app.core.storage, memory, reviews=(), review_state="none")
    return earlier, later


def _found(site: Any) -> set[int]:
    """Numbers of what Bo recalls of the two."""
    connection = site.organization.connections["Bo"]
    bo = Principal(site.organization.organization.id, connection.person, connection.id, ConnectionKind.TOKEN, connection.client)
    return {result.number for query in ("revenue", "runway") for result in recall(site.app.core, bo, Recall(query)).results}


def test_a_topic_is_taught_with_hindsight(site: Any) -> None:
    earlier, later = _harbour(site)
    assert _found(site) == {earlier, later}
    page = site.page("Ada")
    page.goto(f"{site.url}/admin/topics")
    expect(page.get_by_role("row", name="Finance")).to_contain_text("not mapped: texts on it are held")
    page.get_by_role("link", name="Finance").click()
    expect(page.locator("[data-t=phrase-hits]")).to_contain_text("“revenue was” 1 hit in the last 90 days")

    # Mapped to a team of one: who loses is named.
    page.get_by_label("Treasury").check()
    page.get_by_role("button", name="Show who would gain and lose").click()
    expect(page.locator("[data-t=preview-done]")).to_contain_text("2 memories that you may read")
    expect(page.locator("[data-t=preview-lose]").first).to_contain_text("Bo (1 memory)")

    # The bench follows the typing.
    page.locator("[data-t=bench-text]").press_sequentially(EARLIER)
    draft, now = page.locator("[data-t=bench-draft]"), page.locator("[data-t=bench-now]")
    expect(draft).to_contain_text("Finance")
    expect(draft).to_contain_text("restricted")
    expect(draft).to_contain_text("Shared as asked")
    expect(draft).to_contain_text("Ada and Ed")
    expect(draft).to_contain_text("the phrase “revenue was”")
    expect(draft.locator("mark")).to_contain_text("revenue was")
    expect(now).to_contain_text("Held")
    page.get_by_text("Keep this text").click()
    page.get_by_role("button", name="Keep it").click()
    expect(page.locator("[data-t=bench-kept]")).to_have_attribute("data-passed", "yes")

    # Other phrases: the verdicts differ, and the kept text says so.
    page.get_by_label("Phrases that speak of it, one a line").fill("cash runway")
    expect(draft).to_contain_text("no topic")
    expect(now).to_contain_text("Finance")
    expect(page.locator("[data-t=bench-kept]")).to_have_attribute("data-passed", "no")
    page.get_by_role("button", name="Take away the kept text 1").click()
    expect(page.locator("[data-t=bench-kept]")).to_have_count(0)
    page.get_by_role("button", name="Show who would gain and lose").click()
    expect(page.locator("[data-t=preview-lose]").nth(1)).to_contain_text("Bo (2 memories)")
    expect(page.locator("[data-t=preview-gain]").nth(1)).to_contain_text("nobody")
    expect(page.locator("#preview")).to_contain_text("they go to the review queue")

    # Saved, the server judges what is stored again.
    with upkeep(site.app):
        page.get_by_role("button", name="Save, and judge again what is stored").click()
        expect(page.locator("[data-t=job-percent]")).to_have_text("100 %", timeout=15_000)
    expect(page.locator("[data-t=job]")).to_contain_text("2 were changed by it")
    assert site.violations(page) == []
    assert _found(site) == set(), "as the preview said"
    page.get_by_role("link", name="1 waits for review").click()
    expect(page.locator("[data-t=review-item]")).to_contain_text(EARLIER)
    expect(page.get_by_text("Judged again, it would not be about Finance.")).to_be_visible()

    # Undone where it can be, Bo reads what the job took from him, and not what the mapping took.
    page.go_back()
    expect(page.locator("[data-t=consequence]")).to_contain_text("Will be able to read some of them again: Bo")
    page.get_by_role("button", name="Undo it").click()
    page.get_by_role("status").get_by_text("Put back as they were: 2 memories.").wait_for()
    assert _found(site) == {later}

    # Two at once: the second sees both versions.
    second = site.page("Ada")
    for one in (page, second):
        one.goto(f"{site.url}/admin/topics/finance")
    page.get_by_label("What it is about").fill("Money in the bank")
    page.get_by_role("button", name="Save from now on").click()
    page.get_by_role("status").get_by_text("Saved").wait_for()
    second.get_by_label("What it is about").fill("Money in the chest")
    with second.expect_response(lambda response: response.request.method == "POST" and response.url.endswith("/finance")) as answer:
        second.get_by_role("button", name="Save from now on").click()
    assert answer.value.status == 409
    expect(second.get_by_role("heading", name="Somebody was faster")).to_be_visible()
    expect(second.get_by_role("row", name="What it is about")).to_contain_text("Money in the bank")
    expect(second.get_by_role("row", name="What it is about")).to_contain_text("Money in the chest")
    assert site.violations(second) == []
    second.get_by_role("button", name="Save mine in its place").click()
    second.get_by_role("status").get_by_text("Saved").wait_for()
    # The browser itself notes that a page came with 409.
    assert [text for text in site.complaints if "409" not in text] == []
    site.complaints.clear()


def test_axe_finds_nothing_while_a_topic_is_taught(site: Any) -> None:
    _harbour(site)
    page = site.page("Ada")
    page.goto(f"{site.url}/admin/topics/finance")
    page.get_by_label("Treasury").check()
    page.locator("[data-t=bench-text]").fill(EARLIER)
    page.get_by_text("Keep this text").click()
    page.get_by_role("button", name="Keep it").click()
    page.get_by_role("button", name="Show who would gain and lose").click()
    page.locator("[data-t=preview-done]").wait_for()
    page.get_by_role("button", name="Try it", exact=True).click()
    page.locator("[data-t=bench-draft]").wait_for()
    assert site.violations(page) == []
    page.get_by_role("button", name="Save, and judge again what is stored").click()
    page.get_by_role("button", name="Pause").click()
    page.get_by_text("paused", exact=True).wait_for()
    assert site.violations(page) == []


def test_the_editor_works_without_script(site: Any) -> None:
    _harbour(site)
    page = site.page("Ada", java_script_enabled=False)
    page.goto(f"{site.url}/admin/topics/finance")
    page.get_by_label("Treasury").check()
    page.locator("[data-t=bench-text]").fill(EARLIER)
    page.get_by_role("button", name="Try it", exact=True).click()
    expect(page.locator("[data-t=bench-draft]")).to_contain_text("Shared as asked")
    page.get_by_role("button", name="Count the phrases").click()
    expect(page.locator("[data-t=phrase-hits]")).to_contain_text("1 hit")
    page.get_by_role("button", name="Show who would gain and lose").click()
    expect(page.locator("[data-t=preview-lose]").first).to_contain_text("Bo (1 memory)")
    page.get_by_role("button", name="Save, and judge again what is stored").click()
    expect(page.locator("[data-t=job-percent]")).to_have_text("0 %")
    with upkeep(site.app):
        for _ in range(100):
            page.get_by_role("link", name="Look again").click()
            if page.locator("[data-t=job-percent]").inner_text() == "100 %":
                break
    expect(page.locator("[data-t=job]")).to_contain_text("done")
