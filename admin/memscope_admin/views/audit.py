"""The audit log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from flask import Blueprint, Response, flash, redirect, render_template, request, stream_with_context, url_for
from werkzeug.wrappers import Response as Answered

from memscope.errors import Conflict, InvalidArgument
from memscope.memories.audit_files import header, lines
from memscope.memories.audit_log import KEYS, RESULTS, AuditFilter, TooMany, audit_export, audit_page
from memscope.memories.names import handles
from memscope.model.organization import Group, Person, Roster, Topic
from memscope.organizations.signing_in import note_sign_in
from memscope.text.normalise import safe
from memscope.upkeep import audit_exports
from memscope.upkeep.audit_check import check_on, last_check
from memscope_admin import partial
from memscope_admin.filterline import Pick, asked
from memscope_admin.navigation import admins_only
from memscope_admin.sessions import core, principal, recently_authenticated, visitor

pages = Blueprint("audit", __name__, url_prefix="/audit")
pages.before_request(admins_only)
MOST_OPTIONS = 200
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
    files = audit_exports.exports(core(), principal())
    html = render_template("audit/list.html", problems=problems, picks=picks(roster), check=check, exports=files, **shared)
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
    except TooMany as error:
        return render_template("audit/large.html", problem=error.message, values=line.values, format=format)
    except InvalidArgument as error:
        flash(error.message)
        return redirect(url_for("audit.listed", **dict[str, Any](line.values)))
    note_sign_in(core(), here.principal.organization, "audit_exported", here.person.id, rows=count, by=",".join(line.values), format=format)
    emails = {person: one.email for person, one in here.roster.people.items()}
    return _file(chain((header(format),), lines(format, entries, emails)), format)


@pages.post("/exports")
@recently_authenticated
def start_export() -> Answer:
    """Have the server write the rows of the filter to a file."""
    given = {key: request.form[key] for key in KEYS if request.form.get(key) and "\0" not in request.form[key]}
    try:
        audit_exports.start(core(), principal(), AuditFilter(**given), request.form.get("format", ""))
    except InvalidArgument as error:
        flash(error.message)
    except Conflict as error:
        flash(error.message)
    else:
        flash("The server is writing the file. You may leave this page.")
    return redirect(url_for("audit.listed", _anchor="exports", **dict[str, Any](given)))


@pages.get("/exports")
def exports() -> str:
    """The person's exports that the server writes or has written, as a page or as the part that htmx asked for."""
    found = audit_exports.exports(core(), principal())
    return render_template("audit/exports_part.html" if partial.asked() else "audit/exports.html", exports=found)


@pages.get("/exports/<export_id>")
@recently_authenticated
def fetch_export(export_id: str) -> Answer:
    """An export that is written."""
    try:
        found, parts = audit_exports.fetch(core(), principal(), export_id)
    except Conflict as error:
        flash(error.message)
        return redirect(url_for("audit.exports"))
    return _file(parts, found.format)


@pages.post("/exports/<export_id>/discard")
def discard_export(export_id: str) -> Answer:
    """Drop an export."""
    audit_exports.discard(core(), principal(), export_id)
    flash("The export was discarded.")
    return redirect(url_for("audit.listed"))


def _file(parts: Iterator[bytes] | Iterator[str], format: str) -> Response:
    headers = {"Content-Disposition": f'attachment; filename="audit.{format}"'}
    return Response(stream_with_context(parts), mimetype="text/csv" if format == "csv" else "application/jsonl", headers=headers)


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
