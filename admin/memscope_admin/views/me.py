"""One's own pages: password, sessions, preferences."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, flash, redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from memscope.organizations.signing_in import note_sign_in
from memscope_admin.forms.accounts import ChangePasswordForm, PreferencesForm
from memscope_admin.navigation import signed_in
from memscope_admin.sessions import app, core, current_session, end_sessions, preferences, sessions, set_preferences, visitor
from memscope_admin.texts import several
from memscope_admin.throttle import Throttle

pages = Blueprint("me", __name__, url_prefix="/me")
pages.before_request(signed_in)
Answer = str | tuple[str, int] | Response


@pages.get("")
def show() -> str:
    """Who one is here."""
    here = visitor()
    chosen = preferences(here.principal.organization, here.person.id)
    data = {"theme": chosen.get("theme", "auto"), "keys": chosen.get("keys", True)}
    return _page(ChangePasswordForm(formdata=None), PreferencesForm(formdata=None, data=data))


@pages.post("/password")
def password() -> Answer:
    """Change one's password, which ends one's other sessions."""
    here = visitor()
    form = ChangePasswordForm()
    passwords, organization = app().identities.passwords, here.principal.organization
    if form.validate():
        throttle = Throttle(core(), organization, f"change {here.person.id}", request.remote_addr or "")
        if wait := throttle.wait_s():
            form.old.errors = [f"Too many tries. Wait {several(wait, 'second')}, then try again."]
        elif not passwords.check_password(organization, here.person.id, form.old.data):
            throttle.failed()
            form.old.errors = ["This is not your password."]
        else:
            throttle.succeeded()
            try:
                passwords.refuse_weak(form.password.data)
            except ValueError as error:
                form.password.errors = [str(error)]
            else:
                note_sign_in(core(), organization, "password_changed", here.person.id)
                passwords.set_password(organization, here.person.id, form.password.data)
                ended = end_sessions(organization, here.person.id, but=current_session())
                flash(f"Your password is changed. {several(ended, 'other session')} ended.")
                return redirect(url_for("me.show"))
    return _page(form, PreferencesForm(formdata=None)), 422


@pages.post("/preferences")
def prefer() -> Response:
    """Choose the console's looks."""
    here = visitor()
    form = PreferencesForm()
    if form.validate():
        set_preferences(here.principal.organization, here.person.id, {"theme": form.theme.data, "keys": bool(form.keys.data)})
        flash("Saved.")
    return redirect(url_for("me.show"))


@pages.post("/sessions")
def end() -> Response:
    """End one of one's sessions, or all but this."""
    here = visitor()
    only = request.form.get("session") or None
    ended = end_sessions(here.principal.organization, here.person.id, only=only, but=current_session())
    flash(f"{several(ended, 'session')} ended.")
    return redirect(url_for("me.show"))


def _page(change: Any, looks: Any) -> str:
    here = visitor()
    mine = sessions(here.principal.organization, here.person)
    return render_template("me/show.html", change=change, looks=looks, sessions=mine, groups=here.roster.groups_of(here.person.id))
