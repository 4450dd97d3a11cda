"""Approvals: what agents of the signed-in person wait for."""

from __future__ import annotations

from flask import Blueprint, abort, flash, redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from memscope.approvals.accept import describe
from memscope.approvals.tickets import decide, pending, ticket
from memscope.contracts.storage import Ticket
from memscope.errors import Conflict
from memscope.memories.consequence import gaining
from memscope_admin.navigation import signed_in
from memscope_admin.sessions import core, principal, visitor

pages = Blueprint("confirmations", __name__, url_prefix="/me/confirmations")
pages.before_request(signed_in)
TOOLS = {
    "forget_memory": "forget a memory",
    "change_scope": "show a memory to other people",
    "change_sensitivity": "change how sensitive a memory is",
    "review_memory": "settle the review of a memory",
}


@pages.get("")
def listed() -> str:
    """What waits."""
    here = principal()
    waiting = pending(core(), here.organization, here.person)
    return render_template("me/confirmations.html", tickets=waiting, tools=TOOLS)


@pages.get("/<ticket_id>")
def show(ticket_id: str) -> str:
    """One of them: what would change, and who would gain; of one that is over, how it ended."""
    return _page(_mine(ticket_id))


@pages.post("/<ticket_id>")
def settle(ticket_id: str) -> Response | tuple[str, int]:
    """Approve or refuse it, once."""
    found = _mine(ticket_id)
    verdict = request.form.get("decision")
    if verdict not in ("approve", "refuse"):
        abort(422)
    here = visitor().principal
    try:
        decide(core(), here.organization, here.person, found.id, verdict == "approve")
    except Conflict as error:
        # Used up or expired: the page says which.
        flash(error.message)
        return _page(_mine(ticket_id)), 409
    if verdict == "approve":
        flash(f"Approved. Tell {found.summary['client']} to go on: it has until the approval expires.")
    else:
        flash(f"Refused. {found.summary['client']} will be told that you said no.")
    return redirect(url_for("confirmations.listed"))


def _page(found: Ticket) -> str:
    change = found.summary["change"]
    forgets = found.tool == "forget_memory"
    return render_template(
        "me/confirmation.html",
        ticket=found,
        title=TOOLS.get(found.tool, found.tool),
        before=describe(change["before"]),
        after="nobody reads it; it can be restored from the trash" if forgets else describe(change["after"]),
        change=change,
        gains=gaining(core(), principal(), found.memory, found.gaining),
        expired=found.expires_at <= core().clock(),
    )


def _mine(ticket_id: str) -> Ticket:
    here = principal()
    found = ticket(core(), here.organization, here.person, ticket_id)
    if found is None:
        abort(404)
    return found
