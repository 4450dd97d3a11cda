"""The audit log."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from typing import Any

from flask import Blueprint, Response, flash, redirect, render_template, request, stream_with_context, url_for
from werkzeug.wrappers import Response as Answered

from memscope.errors import InvalidArgument
from memscope.memories.audit_log import KEYS, RESULTS, AuditFilter, Entry, audit_export, audit_page
from memscope.memories.names import handles
from memscope.model.organization import Group, Person, Roster, Topic
from memscope.organizations.signing_in import note_sign_in
from memscope.text.normalise import safe
from memscope.upkeep.audit_check import check_on, last_check
from memscope_admin.filterline import Pick, asked
from memscope_admin.navigation import admins_only
from memscope_admin.sessions import core, principal, recently_authenticated, visitor

pages = Blueprint("audit", __name__, url_prefix="/audit")
pages.before_request(admins_only)
MOST_OPTIONS = 200
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
COLUMNS = ("position", "at", "action", "actor", "target", "connection", "approved_via", "agent", "run_id", "detail")
Answer = str | tuple[str, int] | Answered


@pages.get("")
def listed() -> Answer:
    """A page of the log, newest first; `rows=only` is its rows alone."""
    line = asked(KEYS, kept=("live",), passing=("from", "rows"))
    if isinstance(line, Answered):
        return line
    page = audit_page(core(), principal(), AuditFilter(**line.values), before=request.args.get("from", type=int))
    roster = visitor().roster
    shared: dict[str, Any] = {"page": page, "names": described(roster), "asked": line}
    if request.args.get("rows") == "only":
        return render_template("audit/rows.html", **shared)
    problems = [*line.problems, *(problem.text for problem in page.problems)]
    check = last_check(core(), principal().organization)
    html = render_template("audit/list.html", problems=problems, picks=picks(roster), check=check, **shared)
    return html, 422 if page.problems else 200


def picks(roster: Roster) -> list[Pick]:
    """The filters to pick from."""
    people = sorted(roster.people.values(), key=lambda one: one.name.casefold())
    short = handles(roster)
    actors = [(short[one.id], one.name) for one in people] if len(people) <= MOST_OPTIONS else []
    return [
        Pick("actor", "Who", actors, hint="" if actors else "a name or an e-mail address"),
        Pick("action", "Did what", hint="memory.* is all about memories"),
        Pick("target", "To what", hint="an id, or the number of a memory"),
        Pick("connection", "Connection"),
        Pick("agent", "Agent"),
        Pick("run", "Run"),
        Pick("result", "Approved by", [(result, result) for result in RESULTS]),
        Pick("after", "From", kind="date"),
        Pick("before", "Before", kind="date"),
    ]


def described(roster: Roster) -> Mapping[str, str]:
    """Id → name of everybody and every group and topic that a row may speak of."""
    named: list[Person | Group | Topic] = [*roster.people.values(), *roster.groups.values(), *roster.topics.values()]
    return {one.id: safe(one.name)[0] for one in named}


@pages.get("/export.<any(csv, jsonl):format>")
@recently_authenticated
def export(format: str) -> Answer:
    """The rows of the filter as CSV or JSON lines, newest first, as they are read."""
    line = asked(KEYS)
    if isinstance(line, Answered):
        return line
    here = visitor()
    try:
        count, entries = audit_export(core(), principal(), AuditFilter(**line.values))
    except InvalidArgument as error:
        flash(error.message)
        return redirect(url_for("audit.listed", **dict[str, Any](line.values)))
    note_sign_in(core(), here.principal.organization, "audit_exported", here.person.id, rows=count, by=",".join(line.values), format=format)
    emails = {person: one.email for person, one in here.roster.people.items()}
    rows = _csv(entries, emails) if format == "csv" else _json_lines(entries, emails)
    headers = {"Content-Disposition": f'attachment; filename="audit.{format}"'}
    return Response(stream_with_context(rows), mimetype="text/csv" if format == "csv" else "application/jsonl", headers=headers)


def _cells(entry: Entry, emails: Mapping[str, str]) -> dict[str, Any]:
    act = entry.row.act
    return {
        "position": entry.row.position,
        "at": entry.row.at.isoformat(),
        "action": act.action,
        "actor": emails.get(act.actor or "", act.actor),
        "target": act.target,
        "connection": act.connection,
        "approved_via": None if entry.hidden else act.approved_via.value,
        "agent": act.agent,
        "run_id": act.run_id,
        "detail": dict(act.detail),
    }


def _csv(entries: Iterator[Entry], emails: Mapping[str, str]) -> Iterator[str]:
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(COLUMNS)
    for entry in entries:
        cells = _cells(entry, emails)
        cells["detail"] = json.dumps(cells["detail"], ensure_ascii=False) if cells["detail"] else ""
        texts = ["" if cells[column] is None else str(cells[column]) for column in COLUMNS]
        # What a spreadsheet would take for a formula arrives as text.
        writer.writerow([f"'{text}" if text.startswith(_FORMULA) else text for text in texts])
        if file.tell() > 32_000:
            yield file.getvalue()
            file.seek(0)
            file.truncate()
    yield file.getvalue()


def _json_lines(entries: Iterator[Entry], emails: Mapping[str, str]) -> Iterator[str]:
    for entry in entries:
        yield json.dumps(_cells(entry, emails), ensure_ascii=False) + "\n"


@pages.post("/check")
def check() -> Answered:
    """Check the chain of the log: from the start, or on from where the last check stopped."""
    found = check_on(core(), principal().organization, afresh=request.form.get("from") != "last")
    if found.broken is not None:
        flash(f"Row {found.broken:,} is not as it was written: {found.what}.")
    elif not found.finished:
        flash(f"Verified to row {found.rows:,} so far.")
    else:
        flash(f"Verified to row {found.rows:,}.")
    return redirect(url_for("audit.listed"))
