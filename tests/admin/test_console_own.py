"""One's own pages: memories, trash, approvals."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from memscope.approvals.consent import Consent
from memscope.errors import ConfirmRequired, Forbidden
from memscope.memories.trash import Forget, forget_memory
from memscope.model.audit import Act
from memscope.model.organization import Confirmation


def _forgotten(console: Any, name: str, content: str, **more: Any) -> int:
    number = console.remember(name, content, **more)
    forget_memory(console.app.core, console.agent(name), Forget(str(number)), Consent(confirm_human=True))
    assert isinstance(number, int)
    return number


def test_my_memories_are_mine_alone(console: Any) -> None:
    mine = console.remember("Bo", "The crane is blue", team="engineering")
    held = console.remember("Bo", "The quarterly forecast is bleak", team="engineering")
    late = console.remember("Bo", "A visit", valid_until=(console.clock() + timedelta(days=3)).date().isoformat())
    other = console.remember("Ada", "The kettle is full", scope=_organization())
    browser = console.as_("Bo")
    for query, expected in (
        ("", {mine, held, late}),
        ("?list=held", {held}),
        ("?list=expiring", {late}),
        ("?list=odd", {mine, held, late}),
    ):
        page = browser.get(f"/me/memories{query}")
        assert {number for number in (mine, held, late, other) if f'/memories/{number}"' in page.html} == expected, query
    assert f"/memories/{mine}/correct" in page.html
    assert f"/memories/{mine}/forget" in page.html
    for query in ("", "?list=held", "?list=expiring"):
        assert console.as_("Di").get(f"/me/memories{query}").element("empty")


def test_the_trash_restores_and_erases_for_good(console: Any) -> None:
    number = _forgotten(console, "Bo", "The crane is blue")
    browser = console.as_("Bo")
    page = browser.get("/me/trash")
    assert "29 days" in page.text
    assert "Restored" in browser.post(f"/me/trash/{number}/restore").element("toast")
    assert "The trash is empty" in browser.get("/me/trash").element("empty")
    assert "The crane is blue" in browser.get(f"/memories/{number}").text
    assert browser.post(f"/me/trash/{number}/restore").status == 409

    number = _forgotten(console, "Bo", "Nothing to keep")
    page = browser.get(f"/me/trash/{number}/erase")
    assert "Nobody can bring it back" in page.element("consequence")
    for wrong in ("", "1", f"{number}0"):
        page = browser.post(f"/me/trash/{number}/erase", number=wrong)
        assert page.status == 422
    assert "This is not its number" in page.element("error-summary")
    page = browser.post(f"/me/trash/{number}/erase", number=f" {number} ")
    assert "erased for good" in page.element("toast")
    assert console.audit()[-1] == "memory.erase"
    assert browser.get(f"/me/trash/{number}/erase").status == 404
    assert browser.post(f"/me/trash/{number}/restore").status == 404


def test_erasing_leaves_no_trace_of_the_text(console: Any) -> None:
    old = console.remember("Bo", "An older crane")
    number = _forgotten(console, "Bo", "Peculiar crane", supersedes=str(old), idempotency_key="k")
    browser = console.as_("Bo")
    browser.get(f"/me/trash/{number}/erase")
    browser.post(f"/me/trash/{number}/erase", number=str(number))
    storage = console.app.core.storage
    assert "Peculiar" not in repr(storage._tenants)
    assert "Peculiar" not in repr([records._values for records in storage._records.values()])
    with storage.begin(console.organization.operator) as transaction:
        (left,) = transaction.all_memories(None, 10)
        row = transaction.audit_rows(0, 100)[-1]
    assert left.number == old
    assert left.superseded_by is None
    assert row.act.action == "memory.erase"
    assert set(row.act.detail) == {"versions", "vectors", "request"}


def test_one_erases_what_one_may_restore_and_nothing_else(console: Any) -> None:
    number = _forgotten(console, "Bo", "The crane is blue", team="engineering")
    live = console.remember("Bo", "The kettle is full")
    for name in ("Di", "Cy", "Ed"):
        browser = console.as_(name)
        browser.get("/me/trash")
        for path in (f"/me/trash/{number}/erase", f"/me/trash/{live}/erase", "/me/trash/123/erase"):
            assert browser.get(path).status == 404
            assert browser.post(path, number=str(number)).status == 404
    browser = console.as_("Bo")
    assert browser.get(f"/me/trash/{live}/erase").status == 404
    assert browser.post(f"/me/trash/{live}/erase", number=str(live)).status == 404
    assert browser.post(f"/me/trash/{number}/erase", number=str(number)).status == 200


def test_what_an_administrator_forgot_its_author_cannot_erase(console: Any) -> None:
    number = console.remember("Bo", "The crane is blue", scope=_organization())
    forget_memory(console.app.core, console.agent("Ada"), Forget(str(number)), Consent(confirm_human=True))
    browser = console.as_("Bo")
    browser.get("/me/trash")
    assert browser.post(f"/me/trash/{number}/erase", number=str(number)).status == 404
    assert "The crane is blue" in console.as_("Ada").get("/me/trash").text


def test_erasing_asks_for_the_password_again_after_a_while(console: Any) -> None:
    number = _forgotten(console, "Bo", "The crane is blue")
    browser = console.as_("Bo")
    browser.get(f"/me/trash/{number}/erase")
    console.clock.ahead = timedelta(minutes=30)
    browser.post(f"/me/trash/{number}/erase", number=str(number))
    assert "memory.erase" not in console.audit()


@pytest.fixture
def asked(console: Any) -> tuple[int, str]:
    """A memory that Bo's agent asks to forget: its number, and the path of the question."""
    with console.app.core.storage.begin(console.organization.operator, Act("organization.change")) as transaction:
        transaction.write_organization(replace(console.organization.organization, confirmation=Confirmation.CONSOLE))
    number = console.remember("Bo", "The crane is blue")
    with pytest.raises(ConfirmRequired) as error:
        _forget(console, number)
    return number, error.value.details["approval_url"].split("/admin")[1]


def _forget(console: Any, number: int) -> None:
    forget_memory(console.app.core, console.agent("Bo"), Forget(str(number)), Consent(confirm_human=True))


def test_an_approval_that_is_used_says_so(console: Any, asked: tuple[int, str]) -> None:
    number, path = asked
    browser = console.as_("Bo")
    browser.get(path)
    browser.post(path, decision="approve")
    _forget(console, number)
    assert "used up" in browser.get(path).element("answer")
    page = browser.post(path, decision="refuse")
    assert page.status == 409
    assert "decided already" in page.element("toast")
    assert "You approved this" in page.element("answer")


def test_an_approval_that_has_expired_says_so(console: Any, asked: tuple[int, str]) -> None:
    _, path = asked
    browser = console.as_("Bo")
    browser.get(path)
    console.clock.ahead = timedelta(minutes=11)
    assert "This question has expired" in browser.get(path).element("answer")
    page = browser.post(path, decision="approve")
    assert page.status == 409
    assert "has expired" in page.element("toast")
    assert "No agent of yours waits" in browser.get("/me/confirmations").element("empty")


def test_a_refusal_reaches_the_agent(console: Any, asked: tuple[int, str]) -> None:
    number, path = asked
    browser = console.as_("Bo")
    browser.get(path)
    assert browser.post(path, decision="perhaps").status == 422
    browser.post(path, decision="refuse")
    with pytest.raises(Forbidden, match="The person said no"):
        _forget(console, number)


def test_somebody_elses_question_does_not_exist(console: Any, asked: tuple[int, str]) -> None:
    _, path = asked
    for name in ("Di", "Ada"):
        browser = console.as_(name)
        browser.get("/")
        assert browser.get(path).status == 404
        assert browser.post(path, decision="approve").status == 404


def test_own_connections_are_a_link_away(console: Any) -> None:
    page = console.as_("Bo").get("/me/connections")
    assert page.status == 200
    assert page.url.endswith("/admin/connections")


def _organization() -> Any:
    from memscope.model.audience import Scope

    return Scope.ORGANIZATION
