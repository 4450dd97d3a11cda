"""Signing in and out."""

from __future__ import annotations

from collections.abc import Sequence

from flask import Blueprint, flash, redirect, render_template, request, session, url_for
from werkzeug.wrappers import Response

from memscope.model.organization import Organization, Person
from memscope.organizations.signing_in import note_sign_in
from memscope_admin.errors import back
from memscope_admin.forms.accounts import SignInForm
from memscope_admin.navigation import signed_in
from memscope_admin.sessions import app, core, sign_in, sign_out
from memscope_admin.texts import several
from memscope_admin.throttle import Throttle

pages = Blueprint("sign_in", __name__)
WRONG = "The address and password do not go together, or this person may not sign in."


@pages.get("/login")
def form() -> str:
    """Ask who it is."""
    return _page(SignInForm())


@pages.post("/login")
def check() -> tuple[str, int] | Response:
    """Check the password; the same answer, as fast, for unknown addresses, wrong passwords and disabled people."""
    form = SignInForm()
    if not form.validate():
        return _page(form), 422
    organizations = core().storage.organizations()
    if not organizations:
        form.password.errors = [WRONG]
        return _page(form), 422
    organization = _chosen(organizations, form.organization.data)
    kept_in = (organization or organizations[0]).id
    throttle = Throttle(core(), kept_in, f"{form.organization.data or ''} {form.email.data}", request.remote_addr or "")
    if wait := throttle.wait_s():
        form.password.errors = [f"Too many tries. Wait {several(wait, 'second')}, then try again."]
        answer = _page(form)
        return answer, 429
    person = _person(organization, form.email.data)
    # The hash is computed whoever it is, so that the time tells nothing.
    right = app().identities.passwords.check_password(kept_in, person.id if person else "nobody", form.password.data)
    if organization is None or person is None or not right or not person.active:
        throttle.failed()
        reason = "unknown" if person is None else "disabled" if right else "password"
        note_sign_in(core(), kept_in, "sign_in_failed", person.id if person else None, reason=reason)
        form.password.errors = [WRONG]
        return _page(form), 422
    throttle.succeeded()
    target = back(request.args.get("next"))
    sign_in(organization, person)
    return redirect(target)


@pages.post("/logout")
def leave() -> Response:
    """Sign out."""
    if signed_in() is None:
        sign_out()
    session.clear()
    flash("You are signed out.")
    return redirect(url_for("sign_in.form"))


def _page(form: SignInForm) -> str:
    several_organizations = len(core().storage.organizations()) > 1
    return render_template("sign_in/form.html", form=form, several=several_organizations, next=request.args.get("next", ""))


def _chosen(known: Sequence[Organization], slug: str | None) -> Organization | None:
    if len(known) == 1:
        return known[0]
    wanted = (slug or "").strip().casefold()
    return next((organization for organization in known if organization.slug == wanted), None)


def _person(organization: Organization | None, email: str) -> Person | None:
    if organization is None:
        return None
    wanted = email.strip().casefold()
    people = core().rosters.current(organization.id).people.values()
    return next((person for person in people if person.email == wanted), None)
