"""One's own security: password, passkeys, one-time codes, recovery codes, sessions."""

from __future__ import annotations

from typing import Any

import segno
from flask import Blueprint, abort, flash, redirect, render_template, request, url_for
from markupsafe import Markup
from werkzeug.wrappers import Response

from memscope.contracts.identity import BadFactor
from memscope.organizations.passwords import names_of
from memscope_admin import factors
from memscope_admin.admission import device
from memscope_admin.errors import back
from memscope_admin.forms.accounts import ChangePasswordForm, CodesForm, PasskeyForm
from memscope_admin.navigation import signed_in
from memscope_admin.sessions import (
    app,
    authenticated_again,
    core,
    current_session,
    end_sessions,
    note,
    recently_authenticated,
    sessions,
    visitor,
)
from memscope_admin.texts import several
from memscope_admin.throttle import Throttle
from memscope_admin.views.sign_in import too_many

pages = Blueprint("security", __name__, url_prefix="/me/security")
pages.before_request(signed_in)
Answer = str | tuple[str, int] | Response
QR_SCALE = 5


@pages.get("")
def show() -> str:
    """Everything on one page."""
    return _page(ChangePasswordForm(formdata=None))


@pages.get("/enrol")
def enrol() -> Answer:
    """Where somebody is led who must have a second factor by now."""
    due = factors.enrol_by()
    if due is None:
        return redirect(url_for("security.show"))
    forced = due <= core().clock()
    return render_template("security/enrol.html", due=due, forced=forced, form=PasskeyForm(formdata=None), site=factors.site(), next="/")


@pages.post("/password")
def password() -> Answer:
    """Change one's password, which ends one's other sessions."""
    here, form = visitor(), ChangePasswordForm()
    passwords, organization, person = app().identities.passwords, here.principal.organization, here.person
    if form.validate():
        throttle = Throttle(core(), organization, f"again {person.id}", request.remote_addr or "", device(organization, person.id))
        if wait := throttle.enter():
            form.old.errors = [too_many(wait)]
        elif not passwords.check_password(organization, person.id, form.old.data):
            note(organization, "authentication_failed", person.id, why="password", address=request.remote_addr)
            form.old.errors = ["This is not your password."]
        else:
            throttle.succeeded()
            try:
                passwords.refuse_weak(form.password.data, names_of(here.organization, person.name, person.email))
            except ValueError as error:
                form.password.errors = [str(error)]
            else:
                note(organization, "password_changed", person.id, address=request.remote_addr)
                passwords.set_password(organization, person.id, form.password.data)
                factors.tell(organization, person.id, "Your password was changed.")
                ended = end_sessions(organization, person.id, but=current_session())
                flash(f"Your password is changed. {several(ended, 'other session')} ended.")
                return redirect(url_for("security.show"))
    return _page(form), 422


@pages.post("/sessions")
@recently_authenticated
def end() -> Response:
    """End one of one's sessions, or all but this."""
    here = visitor()
    only = request.form.get("session") or None
    ended = end_sessions(here.principal.organization, here.person.id, only=only, but=current_session())
    flash(f"{several(ended, 'session')} ended.")
    return redirect(url_for("security.show"))


# one-time codes
@pages.route("/codes", methods=["GET", "POST"])
@recently_authenticated
def codes() -> Answer:
    """Turn one-time codes on: the secret for an app, and its first code as the proof that the app has it."""
    here, form = visitor(), CodesForm()
    organization, person, now = here.principal.organization, here.person, core().clock()
    sealed = form.sealed.data or None
    if request.method == "POST" and form.validate():
        throttle = Throttle(core(), organization, f"second {person.id}", request.remote_addr or "", device(organization, person.id))
        if wait := throttle.enter():
            form.code.errors = [too_many(wait)]
        else:
            had = factors.mine()
            try:
                factors.keeper().turn_codes_on(organization, person.id, sealed or "", form.code.data, now)
            except BadFactor as error:
                note(organization, "enrolment_failed", person.id, factor="one-time codes", why=str(error))
                form.code.errors = ["This is not the code that the app shows now. Check that the clock of the device is right."]
            else:
                throttle.succeeded()
                return _enrolled("one-time codes", "One-time codes were turned on.", had, "code")
    try:
        enrolment = factors.keeper().begin_codes(organization, person.id, person.email, now, sealed)
    except BadFactor:
        flash("That took too long. This is a new secret; remove the one that you put into the app.")
        return redirect(url_for("security.codes", next=request.args.get("next")))
    page = render_template(
        "security/codes.html", form=form, enrolment=enrolment, picture=_picture(enrolment.uri), next=request.args.get("next", "")
    )
    return page, 422 if form.errors else 200


@pages.post("/codes/off")
@recently_authenticated
def codes_off() -> Answer:
    """Turn one-time codes off."""
    here = visitor()
    factors.keeper().turn_codes_off(here.principal.organization, here.person.id)
    return _removed("one-time codes", "One-time codes were turned off.")


# recovery codes
@pages.post("/recovery")
@recently_authenticated
def recovery() -> Answer:
    """New recovery codes, shown this once, in place of those before."""
    here = visitor()
    if not factors.mine().any:
        flash("Recovery codes stand in for a second factor: set one up first.")
        return redirect(url_for("security.show"))
    note(here.principal.organization, "recovery_codes_made", here.person.id)
    factors.tell(here.principal.organization, here.person.id, "Recovery codes were made anew; those before no longer work.")
    return _recovery()


# passkeys
@pages.get("/passkey/options")
def passkey_options() -> Response:
    """What a browser needs to make a passkey, for its script."""
    here, site = visitor(), factors.site()
    if site is None:
        abort(404)
    person = here.person
    options = factors.keeper().begin_passkey(here.principal.organization, person.id, person.email, person.name, site, core().clock())
    return factors.offered(options)


@pages.route("/passkey", methods=["GET", "POST"])
@recently_authenticated
def passkey() -> Answer:
    """Add a passkey."""
    here, form, site = visitor(), PasskeyForm(), factors.site()
    if request.method == "POST" and form.validate():
        organization, person, had = here.principal.organization, here.person, factors.mine()
        answer = form.credential.data or ""
        try:
            if site is None:
                raise BadFactor("passkeys do not work here")
            challenge = factors.answered(answer)
            made = factors.keeper().add_passkey(organization, person.id, form.name.data or "", answer, challenge, site, core().clock())
        except BadFactor as error:
            note(organization, "enrolment_failed", person.id, factor="passkey", why=str(error))
            form.name.errors = ["The browser made no passkey that can be used here. Try again."]
        else:
            return _enrolled("passkey", f"The passkey {made.name} was added.", had, "passkey")
    page = render_template("security/passkey.html", form=form, site=site, next=request.args.get("next", ""))
    return page, 422 if form.errors else 200


@pages.post("/passkey/<passkey_id>/name")
@recently_authenticated
def rename(passkey_id: str) -> Answer:
    """Give a passkey another name."""
    here = visitor()
    name = request.form.get("name", "")
    if " ".join(name.split()):
        factors.keeper().rename_passkey(here.principal.organization, here.person.id, passkey_id, name)
        note(here.principal.organization, "passkey_renamed", here.person.id)
        flash("Saved.")
    else:
        flash("A passkey needs a name.")
    return redirect(url_for("security.show"))


@pages.post("/passkey/<passkey_id>/remove")
@recently_authenticated
def remove(passkey_id: str) -> Answer:
    """Remove a passkey."""
    here = visitor()
    known = next((one for one in factors.mine().passkeys if one.id == passkey_id), None)
    if known is None or not factors.keeper().drop_passkey(here.principal.organization, here.person.id, passkey_id):
        flash("This passkey was removed before.")
        return redirect(url_for("security.show"))
    return _removed("passkey", f"The passkey {known.name} was removed. Your device may still offer it; it works no longer.")


def _enrolled(factor: str, text: str, had: Any, proof: str) -> Answer:
    """After a factor was added: told and noted, and recovery codes with the first one."""
    here = visitor()
    organization, person = here.principal.organization, here.person.id
    note(organization, "factor_enrolled", person, factor=factor, address=request.remote_addr)
    factors.tell(organization, person, text)
    factors.end_grace(organization, person)
    authenticated_again(proof)
    if not had.any:
        return _recovery(first=True)
    flash(f"{text} Other sessions of yours go on; end them below if you doubt them.")
    return redirect(back(request.args.get("next")) if request.args.get("next") else url_for("security.show"))


def _removed(factor: str, text: str) -> Answer:
    here = visitor()
    organization, person = here.principal.organization, here.person.id
    note(organization, "factor_removed", person, factor=factor, address=request.remote_addr)
    factors.tell(organization, person, text)
    flash(f"{text} Other sessions of yours go on; end them below if you doubt them.")
    return redirect(url_for("security.show"))


def _recovery(*, first: bool = False) -> str:
    here = visitor()
    made = factors.keeper().new_recovery_codes(here.principal.organization, here.person.id)
    target = back(request.args.get("next")) if request.args.get("next") else url_for("security.show")
    return render_template("security/recovery.html", codes=made, first=first, target=target)


def _picture(uri: str) -> Markup:
    """A QR code as inline SVG; black on white in both themes, since cameras want it so."""
    svg = segno.make(uri, error="m").svg_inline(
        scale=QR_SCALE, border=4, light="#fff", dark="#000", omitsize=True, svgclass="qr", lineclass=None
    )
    return Markup(svg)  # noqa: S704 - segno writes numbers and colours alone


def _page(change: Any) -> str:
    here = visitor()
    organization, person = here.principal.organization, here.person
    return render_template(
        "security/show.html",
        change=change,
        factors=factors.mine(),
        required=factors.required(person.role),
        due=factors.enrol_by(),
        site=factors.site(),
        sessions=sessions(organization, person),
        notices=factors.notices(organization, person.id),
    )
