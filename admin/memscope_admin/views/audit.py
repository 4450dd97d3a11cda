"""The audit log."""

from __future__ import annotations

import csv
import io
import json
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from flask import Blueprint, Response, render_template, request

from memscope.memories.audit_log import AuditFilter, audit_page
from memscope.model.audit import AuditRow
from memscope.organizations.signing_in import note_sign_in
from memscope_admin.navigation import admins_only
from memscope_admin.sessions import core, principal, visitor

pages = Blueprint("audit", __name__, url_prefix="/audit")
pages.before_request(admins_only)
EXPORT_MAX = 10_000
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@pages.get("")
def listed() -> str | tuple[str, int]:
    """A page of the log, newest first."""
    where, problems = _filter()
    page = audit_page(core(), principal(), where, before=request.args.get("from", type=int))
    people = visitor().roster.people
    names = {person: one.name for person, one in people.items()}
    given = {key: value for key, value in request.args.items() if key != "from" and value}
    everybody = sorted(people.values(), key=lambda one: one.name.casefold())
    html = render_template("audit/list.html", page=page, names=names, given=given, problems=problems, people=everybody, text=_text)
    return html, 422 if problems else 200


@pages.get("/export.csv")
def export() -> Response:
    """The rows of the filter as CSV, newest first."""
    where, _ = _filter()
    page = audit_page(core(), principal(), where, limit=EXPORT_MAX)
    here = visitor()
    note_sign_in(core(), here.principal.organization, "audit_exported", here.person.id, rows=len(page.rows))
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(["position", "at", "action", "actor", "target", "connection", "approved_via", "agent", "run_id", "detail"])
    emails = {person: one.email for person, one in here.roster.people.items()}
    for row in page.rows:
        act = row.act
        actor = emails.get(act.actor or "", act.actor or "")
        cells = [str(row.position), row.at.isoformat(), act.action, actor, act.target or "", act.connection or "", act.approved_via.value]
        cells += [act.agent or "", act.run_id or "", _text(row)]
        writer.writerow([f"'{cell}" if cell.startswith(_FORMULA) else cell for cell in cells])
    headers = {"Content-Disposition": 'attachment; filename="audit.csv"'}
    return Response(file.getvalue(), mimetype="text/csv", headers=headers)


def _filter() -> tuple[AuditFilter, list[str]]:
    given, problems = request.args, []
    zone = ZoneInfo(visitor().organization.timezone)
    days: list[datetime | None] = []
    for name in ("since", "until"):
        try:
            days.append(datetime.fromisoformat(given[name]).replace(tzinfo=zone) if given.get(name) else None)
        except ValueError:
            days.append(None)
            problems.append(f"{given[name]} is no day; write it as 2026-01-31.")
    actor = None
    if given.get("actor"):
        person = visitor().roster.find_person(given["actor"])
        if person is None:
            problems.append(f"Nobody is called {given['actor']}.")
        else:
            actor = person.id
    until = days[1] + timedelta(days=1) if days[1] is not None else None
    return AuditFilter(actor, given.get("action", "").strip() or None, given.get("target", "").strip() or None, days[0], until), problems


def _text(row: AuditRow) -> str:
    return json.dumps(dict(row.act.detail), ensure_ascii=False) if row.act.detail else ""
