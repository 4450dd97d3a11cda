"""People: added, changed, disabled, invited."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, abort, flash, redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from memscope.errors import Conflict, InvalidArgument
from memscope.model.audience import Sensitivity
from memscope.model.organization import Person, Role
from memscope.organizations.connections import connections
from memscope.organizations.invitations import invite
from memscope.organizations.people import add_person, change_person, set_active
from memscope_admin.forms.fields import blame
from memscope_admin.forms.people import PersonForm
from memscope_admin.navigation import admins_only
from memscope_admin.sessions import app, core, end_sessions, principal, sessions, visitor
from memscope_admin.stale import CHANGED, stale, stamp
from memscope_admin.texts import several

pages = Blueprint("people", __name__, url_prefix="/people")
pages.before_request(admins_only)
A_PAGE = 50
Answer = str | tuple[str, int] | Response


@pages.get("")
def listed() -> str:
    """Everybody, found by a part of name or address."""
    question = request.args.get("q", "").strip().casefold()
    roster = visitor().roster
    found = [one for one in roster.people.values() if question in one.name.casefold() or question in one.email]
    found.sort(key=lambda one: (not one.active, one.name.casefold()))
    first = max(request.args.get("from", 0, type=int), 0)
    after = first + A_PAGE if len(found) > first + A_PAGE else None
    return render_template(
        "people/list.html", people=found[first : first + A_PAGE], total=len(found), after=after, roster=roster, question=question
    )


@pages.route("/new", methods=["GET", "POST"])
def add() -> Answer:
    """Somebody new, with the link by which they come in."""
    form = PersonForm(data={"role": "member"})
    if request.method == "POST" and form.validate():
        try:
            if form.role.data == "guest" and form.clearance.data not in ("", "public"):
                raise InvalidArgument("clearance", "A guest never gets above public.")
            person = add_person(core(), principal(), form.email.data, form.name.data, Role(form.role.data))
            if form.clearance.data:
                level = Sensitivity.parse(form.clearance.data)
                change_person(core(), principal(), person.id, person, name=person.name, role=person.role, clearance=level)
        except InvalidArgument as error:
            blame(form, error)
        except Conflict as error:
            form.email.errors = [error.message]
        else:
            return _link(person)
    return render_template("people/add.html", form=form), 422 if form.errors else 200


@pages.route("/<person_id>", methods=["GET", "POST"])
def show(person_id: str) -> Answer:
    """One person: name, role, clearance, groups, connections, sessions."""
    person = _person(person_id)
    level = person.clearance.label if person.clearance is not None else ""
    form = PersonForm(data={"email": person.email, "name": person.name, "role": person.role.value, "clearance": level})
    form.email.render_kw = {"readonly": True}
    if request.method == "POST" and stale(person):
        form.name.errors = [CHANGED]
        return _page(person, form), 409
    if request.method == "POST" and form.validate():
        try:
            change_person(
                core(),
                principal(),
                person.id,
                person,
                name=form.name.data,
                role=Role(form.role.data),
                clearance=Sensitivity.parse(form.clearance.data) if form.clearance.data else None,
            )
        except InvalidArgument as error:
            blame(form, error)
        except Conflict as error:
            form.role.errors = [error.message]
        else:
            flash("Saved.")
            return redirect(url_for("people.show", person_id=person.id))
    return _page(person, form), 422 if form.errors else 200


@pages.post("/<person_id>/active")
def active(person_id: str) -> Response:
    """Disable or enable somebody."""
    person = _person(person_id)
    enable = request.form.get("active") == "yes"
    try:
        ended = set_active(core(), principal(), person.id, enable)
    except Conflict as error:
        flash(error.message)
        return redirect(url_for("people.show", person_id=person.id))
    if enable:
        flash(f"{person.name} may sign in again. Connections that were ended stay ended.")
    else:
        for one in connections(core(), principal().organization, person.id):
            app().identities.tokens.drop_token(principal().organization, one.id)
        end_sessions(principal().organization, person.id)
        flash(f"{person.name} is disabled; {several(ended, 'connection')} ended.")
    return redirect(url_for("people.show", person_id=person.id))


@pages.post("/<person_id>/link")
def link(person_id: str) -> Answer:
    """A one-time link by which the person sets a new password."""
    person = _person(person_id)
    try:
        return _link(person)
    except Conflict as error:
        flash(error.message)
        return redirect(url_for("people.show", person_id=person.id))


@pages.post("/<person_id>/sessions")
def sign_out(person_id: str) -> Response:
    """End somebody's sessions of the console."""
    person = _person(person_id)
    ended = end_sessions(principal().organization, person.id)
    flash(f"{several(ended, 'session')} ended.")
    return redirect(url_for("people.show", person_id=person.id))


def _person(person_id: str) -> Person:
    person = visitor().roster.people.get(person_id)
    if person is None:
        abort(404)
    return person


def _link(person: Person) -> str:
    token = invite(core(), principal(), person.id)
    return render_template("people/link.html", person=person, link=url_for("setup.welcome", token=token, _external=True))


def _page(person: Person, form: Any) -> str:
    organization = principal().organization
    live = [one for one in connections(core(), organization, person.id) if one.revoked_at is None]
    return render_template(
        "people/person.html",
        person=person,
        seen=stamp(person),
        form=form,
        roster=visitor().roster,
        groups=visitor().roster.groups_of(person.id),
        connections=live,
        sessions=sessions(organization, person),
    )
