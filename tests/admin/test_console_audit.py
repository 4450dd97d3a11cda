"""The audit log: filtered, silent about what one may not read, followed, exported, checked."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from memscope.memories.remember import Remember, remember
from memscope.model.audience import Scope
from memscope.model.audit import Act


def _rows(page: Any) -> list[str]:
    return [row.split("</tr>\n<tr data-t")[0] for row in page.html.split('<tr data-t="audit-row">')[1:]]


def _numbers(page: Any) -> list[int]:
    return [int(number.replace(",", "")) for number in re.findall(r'audit-row">\s*<th scope="row">([\d,]+)</th>', page.html)]


def test_the_log_is_filtered_and_silent_about_what_one_may_not_read(console: Any) -> None:
    shared = console.remember("Ada", "Harbour rules", scope=Scope.ORGANIZATION, run_id="r1")
    console.remember("Bo", "A secret of mine", agent="planner", run_id="r1")
    browser = console.as_("Ada")
    page = browser.get("/audit?action=memory.*")
    assert len(_rows(page)) == 2
    page = browser.get("/audit?actor=bo@harbor.example&action=memory.*")
    (row,) = _rows(page)
    assert "memory.remember" in row
    for told in ("target", "planner", "r1", "personal", "approved"):
        assert told not in row, "only who, what and when"
    # What is not shown of a row is no filter that finds it.
    with console.app.core.storage.begin(console.organization.operator) as transaction:
        hidden = next(row for row in transaction.audit_rows(0, 100) if row.act.actor == console.organization.people["Bo"].id)
    for query in ("agent=planner", f"target={hidden.act.target}", f"connection={hidden.act.connection}", "result=none&actor=bo"):
        assert not _rows(browser.get(f"/audit?{query}")), query
    assert len(_rows(browser.get("/audit?run=r1"))) == 1
    assert len(_rows(browser.get(f"/audit?target={shared}"))) == 1, "by the memory's number"


def test_a_row_opens_to_labels_before_and_after_and_to_its_request(console: Any) -> None:
    number = console.remember("Bo", "The crane is blue", team="engineering")
    browser = console.as_("Bo")
    browser.get(f"/memories/{number}/move")
    browser.post(f"/memories/{number}/move", place="organization", version="1")
    browser = console.as_("Ada")
    page = browser.get("/audit?action=memory.change_scope")
    (row,) = _rows(page)
    assert "<dt>scope</dt><dd>before: team · after: <strong>organization</strong>" in row
    assert "<dt>group</dt><dd>before: Engineering · after: <strong>–</strong>" in row
    assert "the person, in the console" in row
    assert "crane" not in row
    same = re.search(r'href="/admin(/audit\?request=[^"]+)"', row)
    assert same is not None
    assert len(_rows(browser.get(same[1]))) == 1


def test_what_was_forgotten_stays_told_to_who_may_restore_it(console: Any) -> None:
    number = console.remember("Ada", "Harbour rules", scope=Scope.ORGANIZATION)
    browser = console.as_("Ada")
    browser.get(f"/memories/{number}/forget")
    browser.post(f"/memories/{number}/forget", version="1")
    (row,) = _rows(browser.get("/audit", f="actor:ada action:memory.forget"))
    assert "the person, in the console" in row
    assert f"memory {number}" in row


def test_typed_and_picked_are_one_address(console: Any) -> None:
    browser = console.as_("Ada")
    typed = browser.get("/audit", f="action:memory.* actor:ada")
    picked = browser.get("/audit", actor="ada", action="memory.*", target="", result="")
    assert typed.url == picked.url == browser.get(typed.url.split("/admin")[1]).url
    assert 'value="actor:ada action:memory.*"' in picked.html
    assert "Nothing matches." in picked.element("empty")
    assert 'class="chip"' in picked.html.split('data-t="empty"')[1]


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("since:yesterday", "There is no filter since"),
        ("memory.forget", "belongs to no filter"),
        ("after:yesterday", "after: must be an ISO date"),
        ("before:2026-02-30", "before: must be an ISO date"),
        ("after:2026-02-01 before:2026-01-01", "must come after after:"),
        ("after:2020-01-01", "at most two years"),
        ("after:2020-01-01 before:2023-01-01", "at most two years"),
        ("actor:nobody", "nobody is called nobody"),
        ("result:maybe", "there is no result maybe"),
        ("action:*.forget", "takes one * at its end"),
    ],
)
def test_wrong_keys_and_values_are_named(console: Any, line: str, text: str) -> None:
    page = console.as_("Ada").get("/audit", f=line)
    assert text in page.element("error-summary")
    named_only = line in ("since:yesterday", "memory.forget")
    assert page.status == (200 if named_only else 422)
    assert bool(_rows(page)) == ("two years" not in text), "too long a range finds nothing"


def test_a_place_in_the_log_that_is_none_harms_nothing(console: Any) -> None:
    browser = console.as_("Ada")
    for place in ("x", "-5", "0", "9" * 30):
        assert browser.get(f"/audit?from={place}").status == 200


def test_older_rows_are_pages_away(console: Any) -> None:
    for number in range(60):
        console.remember("Bo", f"Note {number}")
    browser = console.as_("Ada")
    seen: list[int] = []
    path = "/audit?action=memory.*"
    while path:
        page = browser.get(path)
        seen += _numbers(page)
        older = re.search(r'class="button" href="/admin(/audit[^"]+)">Older', page.html)
        path = older[1].replace("&amp;", "&") if older else ""
    assert len(seen) == len(set(seen)) == 60
    assert seen == sorted(seen, reverse=True)


def test_exports_hold_the_rows_of_the_filter_and_defuse_formulas(console: Any) -> None:
    remember(console.app.core, console.agent("Ada"), Remember("Harbour rules", scope=Scope.ORGANIZATION, agent="=cmd"))
    console.remember("Bo", "A secret of mine", agent="planner")
    browser = console.as_("Ada")
    shown = _numbers(browser.get("/audit?action=memory.*"))
    page = browser.get("/audit/export.csv?action=memory.*")
    assert page.headers["content-type"].startswith("text/csv")
    rows = list(csv.DictReader(io.StringIO(page.html)))
    assert [int(row["position"]) for row in rows] == shown
    assert [row["agent"] for row in rows] == ["", "'=cmd"]
    assert rows[0]["actor"] == "bo@harbor.example"
    assert "planner" not in page.html
    lines = [json.loads(line) for line in browser.get("/audit/export.jsonl?action=memory.*").html.splitlines()]
    assert [line["position"] for line in lines] == shown
    assert [line["agent"] for line in lines] == [None, "=cmd"]
    assert lines[0]["target"] is None
    assert console.audit().count("console.audit_exported") == 2


def test_a_wrong_or_too_large_export_says_what_to_do(console: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from memscope.memories import audit_log

    browser = console.as_("Ada")
    page = browser.get("/audit/export.csv?after=yesterday")
    assert "must be an ISO date" in page.element("toast")
    monkeypatch.setattr(audit_log, "EXPORT_MAX", 1)
    console.remember("Bo", "One")
    assert "The server can write them to a file" in browser.get("/audit/export.csv").text
    assert not {"console.audit_exported", "console.audit_export_started"} & set(console.audit())


def test_exporting_asks_for_the_password_again_after_a_while(console: Any) -> None:
    browser = console.as_("Ada")
    console.clock.ahead = timedelta(minutes=30)
    page = browser.get("/audit/export.csv")
    assert "position,at" not in page.html
    assert "console.audit_exported" not in console.audit()


def test_following_asks_for_the_rows_alone(console: Any) -> None:
    console.remember("Ada", "Harbour rules", scope=Scope.ORGANIZATION)
    browser = console.as_("Ada")
    page = browser.get("/audit?live=yes&action=memory.*")
    address = re.search(r'hx-get="/admin([^"]+)" hx-trigger="every 3s"', page.html)
    assert address is not None
    part = browser.get(address[1].replace("&amp;", "&"))
    assert part.html.startswith('<div id="rows">')
    assert len(_rows(part)) == 1


def test_the_chain_is_checked_and_a_changed_row_named(console: Any) -> None:
    for number in range(5):
        console.remember("Bo", f"Note {number}")
    browser = console.as_("Ada")
    assert "not checked here yet" in browser.get("/audit").element("chain")
    count = len(console.audit())
    assert f"Verified to row {count}" in browser.post("/audit/check").element("chain")
    console.remember("Bo", "Another")
    assert f"Verified to row {count + 1}" in browser.post("/audit/check", **{"from": "last"}).element("chain")
    storage = console.app.core.storage
    tenant = storage._tenants[console.organization.organization.id]
    rows = list(tenant.audit)
    rows[2] = replace(rows[2], act=replace(rows[2].act, action="memory.nothing"))
    tenant.audit = tuple(rows)
    page = browser.post("/audit/check")
    assert "Row 3 is not as it was written" in page.element("chain")
    assert "Rows up to 2 are whole" in page.element("chain")


def test_a_check_goes_on_where_it_stopped(console: Any) -> None:
    from memscope.upkeep import audit_check

    for number in range(5):
        console.remember("Bo", f"Note {number}")
    organization = console.organization.organization.id
    started = audit_check.check_on(console.app.core, organization, afresh=True, budget_s=0)
    assert not started.finished
    assert "so far" in console.as_("Ada").get("/audit").element("chain")
    assert audit_check.check_on(console.app.core, organization, afresh=False).finished


def test_everybody_sees_what_they_did_themselves(console: Any) -> None:
    console.remember("Bo", "The crane is blue", team="engineering", agent="planner")
    console.remember("Di", "The kettle is full")
    browser = console.as_("Bo")
    page = browser.get("/me/activity")
    assert "memory.remember" in page.text
    assert "planner" in page.text
    assert page.text.count("memory.remember") == 1
    assert browser.get("/audit").status == 404
    # Of a memory that one may no longer read, one's own row tells no more than anybody's.
    with console.app.core.storage.begin(console.organization.operator, Act("person.change")) as transaction:
        team = console.organization.groups["engineering"].id
        transaction.write_membership(team, console.organization.people["Bo"].id, None)
    page = browser.get("/me/activity")
    assert "memory.remember" in page.text
    assert "about a memory that you may not read" in page.text
    assert "planner" not in page.text
