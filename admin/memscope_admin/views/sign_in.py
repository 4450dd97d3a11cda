"""Signing in and out, by password and second factor or by passkey; and proving anew who one is."""

from __future__ import annotations

from datetime import datetime

from flask import Blueprint, abort, flash, redirect, render_template, request, session, url_for
from werkzeug.wrappers import Response

from memscope.contracts.identity import BadFactor
from memscope.model.organization import Organization, Person
from memscope_admin import factors
from memscope_admin.admission import admit, device, enter, pending
from memscope_admin.errors import back
from memscope_admin.forms.accounts import AgainForm, SecondForm, SignInForm
from memscope_admin.navigation import signed_in
from memscope_admin.sessions import FORM_KEPT, again_page, app, authenticated_again, core, note, sign_out, visitor
from memscope_admin.texts import several
from memscope_admin.throttle import Throttle

pages = Blueprint("sign_in", __name__)
WRONG = "The address and password do not go together, or this person may not sign in."
WRONG_CODE = "This code is wrong or was used before."
WRONG_PASSKEY = "This passkey was not accepted. Try again, or sign in with your password."
AGAIN = "That took longer than ten minutes. Sign in again."
Answer = str | tuple[str, int] | Response


@pages.get("/login")
def form() -> str:
    """Ask who it is."""
    return _page(SignInForm())


@pages.post("/login")
def check() -> Answer:
    """Check the password; the same answer, as fast, for unknown addresses, wrong passwords and disabled people."""
    form = SignInForm()
    if not form.validate():
        return _page(form), 422
    first = core().storage.any_organization()
    if first is None:
        form.password.errors = [WRONG]
        return _page(form), 422
    organization, person = _found(first, form.organization.data, form.email.data)
    kept_in = organization.id if organization else first[0]
    known = device(kept_in, person.id if person else None)
    # Counted by what was found, not by what was typed: nobody begins anew with another spelling.
    account = f"{organization.id if organization else ''} {form.email.data.strip()}"
    throttle = Throttle(core(), kept_in, account, request.remote_addr or "", known)
    if wait := throttle.enter():
        form.password.errors = [too_many(wait)]
        return _page(form), 429
    # The hash is computed whoever it is, so that the time tells nothing.
    right = app().identities.passwords.check_password(kept_in, person.id if person else "nobody", form.password.data)
    if organization is None or person is None or not right or not person.active:
        why = "unknown" if person is None else "disabled" if right else "password"
        note(kept_in, "sign_in_failed", person.id if person else None, why=why, address=request.remote_addr)
        form.password.errors = [WRONG]
        return _page(form), 422
    throttle.succeeded()
    return admit(organization, person, "password", request.args.get("next"))


@pages.route("/login/second", methods=["GET", "POST"])
def second() -> Answer:
    """Ask for the second factor of somebody whose password was right."""
    owing = pending()
    if owing is None:
        flash(AGAIN)
        session.pop("second", None)
        return redirect(url_for("sign_in.form"))
    form = SecondForm()
    if request.method == "GET":
        return _second(form, owing.organization, owing.person)
    organization, person = owing.organization.id, owing.person.id
    throttle = _second_throttle(organization, person)
    field = form.recovery if form.recovery.data else form.code
    if not field.data:
        field.errors = ["This is needed."]
    elif wait := throttle.enter():
        field.errors = [too_many(wait)]
        return _second(form, owing.organization, owing.person), 429
    else:
        try:
            proof = factors.use_code(organization, person, field.data)
        except BadFactor as error:
            note(organization, "sign_in_failed", person, why="second factor", problem=str(error), address=request.remote_addr)
            field.errors = [WRONG_CODE]
        else:
            throttle.succeeded()
            enter(owing.organization, owing.person, owing.proof, proof)
            return redirect(back(request.args.get("next")))
    return _second(form, owing.organization, owing.person), 422


@pages.get("/login/passkey")
def passkey_options() -> Response:
    """What a browser needs to ask for a passkey, for its script."""
    here = factors.site()
    if here is None:
        abort(404)
    return factors.offered(factors.keeper().begin_passkey_sign_in(here, core().clock()))


@pages.post("/login/passkey")
def passkey() -> Answer:
    """Sign in with a passkey: alone, or as the second factor."""
    first, owing = core().storage.any_organization(), pending()
    if first is None:
        abort(404)
    # An allowance of its own: a passkey is not guessed, and failing with passwords must not keep its owner out.
    place = f"passkey {request.remote_addr}"
    throttle = Throttle(core(), first[0], place, place)
    if wait := throttle.enter():
        flash(too_many(wait))
        return redirect(url_for("sign_in.form", next=request.args.get("next")))
    try:
        owner = factors.owner_of(request.form.get("credential", ""))
        roster = core().rosters.current(owner.organization)
        person = roster.people.get(owner.person)
        if person is None or not person.active or (owing is not None and owing.person.id != owner.person):
            note(owner.organization, "sign_in_failed", owner.person, why="disabled or another", address=request.remote_addr)
            raise BadFactor("not this person")
    except BadFactor as error:
        if str(error) != "not this person":
            note(first[0], "sign_in_failed", None, why="passkey", problem=str(error), address=request.remote_addr)
        flash(WRONG_PASSKEY)
        return redirect(url_for("sign_in.second" if owing else "sign_in.form", next=request.args.get("next")))
    throttle.succeeded()
    enter(roster.organization, person, *([owing.proof] if owing else []), "passkey")
    return redirect(back(request.args.get("next")))


@pages.route("/again", methods=["GET", "POST"])
def again() -> Answer:
    """Prove anew who one is, and go on with what asked for it."""
    if (refused := signed_in()) is not None:
        return refused
    form, here = AgainForm(), visitor()
    if request.method == "GET":
        return again_page(AgainForm(formdata=None))
    organization, person = here.principal.organization, here.person.id
    throttle = Throttle(core(), organization, f"again {person}", request.remote_addr or "", device(organization, person))
    if wait := throttle.enter():
        form.password.errors = [too_many(wait)]
        return again_page(form), 429
    try:
        proofs = _proofs(form, organization, person)
    except BadFactor as error:
        note(organization, "authentication_failed", person, why=str(error), address=request.remote_addr)
        if not form.errors:
            form.password.errors = [WRONG_PASSKEY]
        return again_page(form), 422
    throttle.succeeded()
    authenticated_again(*proofs)
    return _go_on(form.kept.data or "", person) or redirect(back(request.args.get("next")))


def _proofs(form: AgainForm, organization: str, person: str) -> list[str]:
    """What somebody signed in proved anew; BadFactor, with the form's field saying why."""
    if form.credential.data:
        owner = factors.owner_of(form.credential.data)
        if (owner.organization, owner.person) != (organization, person):
            raise BadFactor("passkey of another")
        return ["passkey"]
    if not app().identities.passwords.check_password(organization, person, form.password.data or ""):
        form.password.errors = ["This is not your password."]
        raise BadFactor("password")
    if not factors.mine().any:
        return ["password"]
    try:
        return ["password", factors.use_code(organization, person, form.code.data or "")]
    except BadFactor:
        form.code.errors = [WRONG_CODE]
        raise


def _go_on(kept: str, person: str) -> str | None:
    """The page that sends a form again which was interrupted by the question; None when there was none."""
    try:
        form = core().keys.unseal("console/again", kept)
    except ValueError:
        return None
    if form["person"] != person:
        return None
    if core().clock() - datetime.fromisoformat(form["at"]) >= FORM_KEPT:
        flash("What you had typed was kept for an hour. Do it once more.")
        return None
    return render_template("sign_in/go_on.html", action=back(form["path"]), fields=form["fields"])


@pages.post("/logout")
def leave() -> Response:
    """Sign out."""
    if signed_in() is None:
        sign_out()
    session.clear()
    flash("You are signed out.")
    return redirect(url_for("sign_in.form"))


def too_many(wait: int) -> str:
    """How long to wait, in words."""
    span = several(wait, "second") if wait < 120 else several(-(-wait // 60), "minute")
    return f"Too many tries. Wait {span}, then try again."


def _page(form: SignInForm) -> str:
    first = core().storage.any_organization()
    several_organizations = first is not None and not first[1]
    return render_template(
        "sign_in/form.html", form=form, several=several_organizations, next=request.args.get("next", ""), site=factors.site()
    )


def _second(form: SecondForm, organization: Organization, person: Person) -> str:
    had = factors.keeper().factors(organization.id, person.id)
    return render_template(
        "sign_in/second.html", form=form, person=person, factors=had, next=request.args.get("next", ""), site=factors.site()
    )


def _second_throttle(organization: str, person: str) -> Throttle:
    return Throttle(core(), organization, f"second {person}", request.remote_addr or "", device(organization, person))


def _found(first: tuple[str, bool], slug: str | None, email: str) -> tuple[Organization | None, Person | None]:
    """The organization with a short name, or the only one; and its person with an address."""
    found = first[0] if first[1] else core().storage.find_organization((slug or "").strip().casefold())
    if found is None:
        return None, None
    roster, wanted = core().rosters.current(found), email.strip().casefold()
    return roster.organization, next((person for person in roster.people.values() if person.email == wanted), None)
