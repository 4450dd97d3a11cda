"""The organization's settings."""

from __future__ import annotations

from flask import Blueprint, Response, flash, redirect, render_template, request, url_for
from werkzeug.wrappers import Response as BaseResponse

from memscope.errors import Conflict, InvalidArgument
from memscope.organizations.file import write
from memscope.organizations.settings import change_organization
from memscope_admin.forms.fields import blame
from memscope_admin.forms.organization import OrganizationForm
from memscope_admin.navigation import admins_only
from memscope_admin.sessions import core, principal, visitor
from memscope_admin.stale import CHANGED, stale, stamp
from memscope_admin.views.setup import settled, values

pages = Blueprint("settings", __name__, url_prefix="/settings")
pages.before_request(admins_only)


@pages.route("", methods=["GET", "POST"])
def edit() -> str | tuple[str, int] | BaseResponse:
    """What the organization chose."""
    known = visitor().organization
    form = OrganizationForm(data=values(known))
    if request.method == "POST" and stale(known):
        form.name.errors = [CHANGED]
        return render_template("settings/edit.html", form=form, seen=stamp(known)), 409
    if request.method == "POST" and form.validate():
        try:
            change_organization(core(), principal(), known, settled(known, form))
        except InvalidArgument as error:
            blame(form, error)
        except Conflict as error:
            form.slug.errors = [error.message]
        else:
            flash("Saved.")
            return redirect(url_for("settings.edit"))
    return render_template("settings/edit.html", form=form, seen=stamp(known)), 422 if form.errors else 200


@pages.get("/organization.toml")
def export() -> Response:
    """The organization as a file that `memscope org apply` takes."""
    roster = core().rosters.current(principal().organization)
    headers = {"Content-Disposition": f'attachment; filename="{roster.organization.slug}.toml"'}
    return Response(write(roster), mimetype="application/toml", headers=headers)
