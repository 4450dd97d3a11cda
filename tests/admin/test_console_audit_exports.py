"""Exports of the audit log that the server writes: whole, in parts, for who asked alone, and for a day."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from memscope.memories import audit_log
from memscope.model.audience import Scope
from memscope.model.audit import Act
from memscope.model.organization import Role
from memscope.upkeep import audit_exports
from memscope.upkeep.runner import run_due


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exports of more than two rows are written by the server, in parts of three."""
    monkeypatch.setattr(audit_log, "EXPORT_MAX", 2)
    monkeypatch.setattr(audit_exports, "PART", 3)


def _ask(browser: Any, address: str = "/audit/export.csv") -> Any:
    page = browser.get(address)
    assert "more than 2 rows" in page.text
    fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', page.html))
    return browser.post("/audit/exports", **{name: value for name, value in fields.items() if name != "csrf_token"})


def _file(page: Any) -> str:
    found = re.search(r'href="/admin(/audit/exports/[^"/]+)">Save the file', page.html)
    assert found is not None, page.text
    return found[1]


def _write(console: Any) -> None:
    audit_exports.run_waiting(console.app.core)


def _records(console: Any) -> list[str]:
    records = console.app.core.storage.records(audit_exports.RECORDS)
    return list(records.keys(console.organization.organization.id, ""))


def _change(console: Any, name: str, **fields: Any) -> None:
    with console.app.core.storage.begin(console.organization.operator, Act("person.change")) as transaction:
        transaction.write_person(replace(console.organization.people[name], **fields))


def test_a_long_export_is_written_by_the_server_with_its_progress(console: Any) -> None:
    for number in range(7):
        console.remember("Ada", f"Harbour rule {number}", scope=Scope.ORGANIZATION, agent="=cmd")
    console.remember("Bo", "A secret of mine", agent="planner")
    browser = console.as_("Ada")
    page = _ask(browser, "/audit/export.csv?action=memory.*")
    assert "The server is writing the file" in page.element("toast")
    assert page.element("export").startswith("CSV, asked for")
    assert "action:memory.* 0 %" in page.element("export")
    assert 'hx-get="/admin/audit/exports"' in page.html
    console.remember("Ada", "It came later", scope=Scope.ORGANIZATION)
    core = console.app.core
    steps = audit_exports._write(core, console.organization.organization.id, _records(console)[0])
    assert next(steps).percent == 37
    assert "37 %" in browser.get("/audit/exports").element("export")
    # A restart in between: it goes on where it stopped.
    _write(console)
    page = browser.get("/audit/exports")
    assert "8 rows, there until" in page.element("export")
    assert "hx-get" not in page.html
    answer = browser.get(_file(page))
    assert answer.headers["content-type"].startswith("text/csv")
    assert answer.headers["content-disposition"] == 'attachment; filename="audit.csv"'
    rows = list(csv.DictReader(io.StringIO(answer.html)))
    assert [row["agent"] for row in rows] == ["", *["'=cmd"] * 7]
    assert len({row["position"] for row in rows}) == 8
    assert "planner" not in answer.html
    assert [action for action in console.audit() if "export" in action] == ["console.audit_export_started", "console.audit_exported"]


def test_json_lines_hold_what_the_direct_export_holds(console: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(4):
        console.remember("Ada", f"Harbour rule {number}", scope=Scope.ORGANIZATION, agent="planner")
    console.remember("Bo", "A secret of mine", agent="planner")
    browser = console.as_("Ada")
    assert "under way" in _ask(browser, "/audit/export.jsonl?agent=planner").element("export")
    _write(console)
    written = browser.get(_file(browser.get("/audit"))).html
    monkeypatch.setattr(audit_log, "EXPORT_MAX", 100)
    assert written == browser.get("/audit/export.jsonl?agent=planner").html
    assert len([json.loads(line) for line in written.splitlines()]) == 4


def test_what_may_no_longer_be_read_is_left_out_as_of_the_writing(console: Any) -> None:
    from memscope.memories.scope import ChangeScope, change_scope

    numbers = [console.remember("Bo", f"Rule {number}", scope=Scope.ORGANIZATION, agent="planner") for number in range(3)]
    browser = console.as_("Ada")
    _ask(browser, "/audit/export.jsonl?action=memory.remember")
    from memscope.approvals.consent import Consent

    change_scope(console.app.core, console.agent("Bo"), ChangeScope(str(numbers[0]), Scope.PERSONAL), Consent(True, True))
    _write(console)
    lines = [json.loads(line) for line in browser.get(_file(browser.get("/audit"))).html.splitlines()]
    assert [line["agent"] for line in lines] == ["planner", "planner", None]


def test_only_who_asked_may_fetch_it_and_only_as_an_administrator(console: Any) -> None:
    browser = console.as_("Ada")
    _ask(browser)
    _change(console, "Di", role=Role.ADMIN)
    di = console.as_("Di")
    _write(console)
    file = _file(browser.get("/audit"))
    assert "Save the file" not in di.get("/audit").html
    assert di.get(file).status == 404
    di.get("/audit")
    assert di.post(f"{file}/discard").status == 404
    assert browser.get("/audit/exports/0").status == 404
    _change(console, "Ada", role=Role.MEMBER)
    assert browser.get(file).status == 404
    assert console.audit().count("console.audit_exported") == 0


def test_fetching_asks_for_the_password_again_after_a_while(console: Any) -> None:
    browser = console.as_("Ada")
    _ask(browser)
    _write(console)
    file = _file(browser.get("/audit"))
    console.clock.ahead = timedelta(minutes=30)
    assert "position,at" not in browser.get(file).html
    assert "console.audit_exported" not in console.audit()


def test_who_is_no_administrator_any_more_gets_no_file_written(console: Any) -> None:
    browser = console.as_("Ada")
    _ask(browser)
    _change(console, "Di", role=Role.ADMIN)
    _change(console, "Ada", active=False)
    _write(console)
    assert _records(console) == []


def test_it_is_gone_after_a_day(console: Any) -> None:
    browser = console.as_("Ada")
    _ask(browser)
    _write(console)
    assert len(_records(console)) > 2
    console.clock.ahead = timedelta(hours=24)
    assert "Save the file" not in console.as_("Ada").get("/audit").html
    run_due(console.app.core)
    assert _records(console) == []


def test_one_at_a_time_is_written_for_a_person_and_three_are_kept(console: Any) -> None:
    browser = console.as_("Ada")
    page = _ask(browser)
    assert "An export of yours is still being written" in _ask(browser).element("toast")
    discard = re.search(r'action="/admin(/audit/exports/[^"]+/discard)"', page.html)
    assert discard is not None
    assert "The export was discarded" in browser.post(discard[1]).element("toast")
    assert _records(console) == []
    for _ in range(4):
        _ask(browser)
        _write(console)
    assert browser.get("/audit").html.count("Save the file") == 3


def test_one_export_that_fails_keeps_no_other_waiting(console: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    browser = console.as_("Ada")
    _ask(browser)
    _change(console, "Di", role=Role.ADMIN)
    di = console.as_("Di")
    _ask(di)
    asked = audit_exports._next_part
    ada = console.organization.people["Ada"].id

    def failing(core: Any, organization: str, one: audit_exports.Export) -> audit_exports.Export:
        if one.person == ada:
            raise OSError("away")
        return asked(core, organization, one)

    with monkeypatch.context() as patched:
        patched.setattr(audit_exports, "_next_part", failing)
        with pytest.raises(OSError, match="away"):
            _write(console)
    assert "Save the file" in di.get("/audit").html
    _write(console)
    assert "Save the file" in browser.get("/audit").html
