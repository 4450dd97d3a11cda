"""One's own pages: the way in, and preferences."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, flash, redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from memscope.errors import InvalidArgument
from memscope.organizations.file import check_zone
from memscope_admin import factors
from memscope_admin.forms.accounts import PreferencesForm
from memscope_admin.forms.fields import blame
from memscope_admin.navigation import signed_in
from memscope_admin.sessions import my_preferences, set_preferences, visitor

pages = Blueprint("me", __name__, url_prefix="/me")
pages.before_request(signed_in)
Answer = str | tuple[str, int] | Response


@pages.get("")
def show() -> str:
    """Who one is here, and the way to one's own pages."""
    here = visitor()
    return render_template("me/show.html", groups=here.roster.groups_of(here.person.id), due=factors.enrol_by())


@pages.route("/preferences", methods=["GET", "POST"])
def prefer() -> Answer:
    """The console's looks, keys and times."""
    here, chosen = visitor(), my_preferences()
    data: dict[str, Any] = {"theme": chosen.get("theme", "auto"), "keys": chosen.get("keys", True), "zone": chosen.get("zone", "")}
    form = PreferencesForm(data=data)
    if request.method == "POST" and form.validate():
        try:
            zone = check_zone(form.zone.data.strip()) if (form.zone.data or "").strip() else ""
        except InvalidArgument as error:
            blame(form, InvalidArgument("zone", error.message))
        else:
            set_preferences(
                here.principal.organization, here.person.id, {"theme": form.theme.data, "keys": bool(form.keys.data), "zone": zone}
            )
            flash("Saved.")
            return redirect(url_for("me.prefer"))
    return render_template("me/preferences.html", form=form), 422 if form.errors else 200
