"""What one did oneself, through whatever connection; and what one is told about."""

from __future__ import annotations

from flask import Blueprint, redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from memscope.memories.audit_log import own_activity
from memscope.memories.notices import Notice, dismiss, notices
from memscope_admin.errors import back
from memscope_admin.navigation import signed_in
from memscope_admin.sessions import core, principal, visitor
from memscope_admin.views.audit import described

pages = Blueprint("activity", __name__, url_prefix="/me")
pages.before_request(signed_in)


@pages.app_context_processor
def _told() -> dict[str, object]:
    def mine() -> tuple[Notice, ...]:
        return notices(core(), principal())

    return {"notices": mine}


@pages.get("/activity")
def listed() -> str:
    """One's own rows of the audit log, newest first."""
    page = own_activity(core(), principal(), before=request.args.get("from", type=int))
    return render_template("me/activity.html", page=page, names=described(visitor().roster))


@pages.post("/notices/<notice>")
def seen(notice: str) -> Response:
    """Show a notice no more."""
    dismiss(core(), principal(), notice)
    return redirect(back(request.form.get("next")) if request.form.get("next") else url_for("activity.listed"))
