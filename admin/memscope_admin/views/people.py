"""People: added, changed, disabled, invited."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flask import Blueprint, abort, flash, redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from memscope.errors import Conflict, InvalidArgument
from memscope.memories.difference import Difference, rights_difference
from memscope.model.audience import Sensitivity
from memscope.model.organization import Person, Role, Roster
from memscope.organizations.invitations import HOURS, RESET_HOURS, invite
from memscope.organizations.people import Ended, add_person, change_person, set_active, ways_in
from memscope.organizations.second_factors import remove_second_factor
from memscope_admin import factors
from memscope_admin.forms.accounts import ReasonForm
from memscope_admin.forms.fields import blame
from memscope_admin.forms.people import ROLES, PersonForm
from memscope_admin.navigation import admins_only
from memscope_admin.sessions import app, ask_again, core, end_sessions, principal, recently_authenticated, sessions, visitor
from memscope_admin.stale import CHANGED, stale, stamp
from memscope_admin.texts import listing, several

pages = Blueprint("people", __name__, url_prefix="/people")
pages.before_request(admins_only)
A_PAGE = 50
Answer = str | tuple[str, int] | Response
COLUMNS = {"name": "Person", "role": "Role", "clearance": "Cleared up to", "groups": "Groups", "state": "State"}
_COLUMNS: dict[str, Callable[[Roster], Callable[[Person], Any]]] = {
    "name": lambda roster: lambda one: one.name.casefold(),
    "role": lambda roster: lambda one: list(Role).index(one.role),
    "clearance": lambda roster: lambda one: roster.readers[one.id].clearance,
    "groups": lambda roster: lambda one: len(roster.readers[one.id].groups),
    "state": lambda roster: lambda one: not one.active,
}


@pages.get("")
def listed() -> str:
    """Everybody, found by name or address, role, state and group; sorted by a column."""
    roster, given = visitor().roster, request.args
    question, role, state = given.get("q", "").strip(), given.get("role", ""), given.get("state", "")
    group = next((one for one in roster.groups.values() if f"{one.kind.value}:{one.slug}" == given.get("group")), None)
    column, falling = given.get("sort", "").removeprefix("-"), given.get("sort", "").startswith("-")
    folded = question.casefold()
    inside = roster.memberships.get(group.id, {}) if group is not None else roster.people
    found = [
        one
        for one in roster.people.values()
        if (folded in one.name.casefold() or folded in one.email)
        and role in ("", one.role.value)
        and state in ("", "active" if one.active else "disabled")
        and one.id in inside
    ]
    found.sort(key=lambda one: one.name.casefold())
    found.sort(key=_COLUMNS[column](roster) if column in _COLUMNS else lambda one: not one.active, reverse=falling)
    first = max(given.get("from", 0, type=int), 0)
    kept = {name: given[name] for name in ("q", "role", "state", "group", "sort") if given.get(name)}
    return render_template(
        "people/list.html",
        people=found[first : first + A_PAGE],
        total=len(found),
        first=first,
        after=first + A_PAGE if len(found) > first + A_PAGE else None,
        before=max(first - A_PAGE, 0) if first else None,
        roster=roster,
        kept=kept,
        columns=COLUMNS,
        column=column,
        falling=falling,
        roles=ROLES,
        groups=sorted(roster.groups.values(), key=lambda one: (one.kind.value, one.name.casefold())),
    )


@pages.route("/new", methods=["GET", "POST"])
def add() -> Answer:
    """Somebody new, with the link by which they come in."""
    form = PersonForm(data={"role": "member"})
    if request.method == "POST" and (asked := ask_again()) is not None:
        return asked
    if request.method == "POST" and form.validate():
        try:
            clearance = Sensitivity.parse(form.clearance.data) if form.clearance.data else None
            person = add_person(core(), principal(), form.email.data, form.name.data, Role(form.role.data), clearance)
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
    form = _form(person)
    if request.method == "POST" and form.role.data != person.role.value and (asked := ask_again()) is not None:
        return asked
    if request.method == "POST" and stale(person):
        form.name.errors = [CHANGED]
        return _page(person, form), 409
    if request.method == "POST" and form.validate():
        role = Role(form.role.data)
        clearance = Sensitivity.parse(form.clearance.data) if form.clearance.data else None
        rights = f"{role.value} {form.clearance.data}"
        try:
            if (role, clearance) != (person.role, person.clearance) and request.form.get("shown") != rights:
                return _page(person, form, rights_difference(core(), principal(), person, role, clearance), rights)
            change_person(core(), principal(), person.id, person, name=form.name.data, role=role, clearance=clearance)
        except InvalidArgument as error:
            blame(form, error)
        except Conflict as error:
            form.role.errors = [error.message]
        else:
            flash("Saved.")
            return redirect(url_for("people.show", person_id=person.id))
    return _page(person, form), 422 if form.errors else 200


@pages.post("/<person_id>/active")
def active(person_id: str) -> Answer:
    """Disable or enable somebody."""
    person = _person(person_id)
    enable = request.form.get("active") == "yes"
    try:
        ended = set_active(core(), app().identities.tokens, principal(), person.id, enable)
    except Conflict as error:
        form = _form(person)
        form.role.errors = [error.message]
        return _page(person, form), 422
    if enable:
        flash(f"{person.name} may sign in again. Sessions, tokens and grants that were ended stay ended.")
    else:
        count = end_sessions(principal().organization, person.id)
        flash(f"{person.name} is disabled. Ended: {_ways_in(count, ended)}.")
    return redirect(url_for("people.show", person_id=person.id))


@pages.post("/<person_id>/link")
@recently_authenticated
def link(person_id: str) -> Answer:
    """A one-time link by which the person sets a new password."""
    person = _person(person_id)
    try:
        return _link(person)
    except Conflict as error:
        flash(error.message)
        return redirect(url_for("people.show", person_id=person.id))


@pages.route("/<person_id>/factor", methods=["GET", "POST"])
@recently_authenticated
def factor(person_id: str) -> Answer:
    """Take somebody's second factor away, with a reason; that ends their sessions."""
    person, form = _person(person_id), ReasonForm()
    keeper, organization = app().identities.second_factors, principal().organization
    if request.method == "POST" and form.validate():
        try:
            remove_second_factor(core(), keeper, principal(), person.id, form.reason.data)
        except InvalidArgument as error:
            blame(form, error)
        except Conflict as error:
            flash(error.message)
            return redirect(url_for("people.show", person_id=person.id))
        else:
            ended = end_sessions(organization, person.id)
            why = " ".join(form.reason.data.split())
            factors.tell(organization, person.id, f"{visitor().person.name} took your second factor away: {why}")
            flash(f"{person.name} signs in with the password alone now; {several(ended, 'session')} ended.")
            return redirect(url_for("people.show", person_id=person.id))
    page = render_template("people/factor.html", person=person, form=form, factors=keeper.factors(organization, person.id))
    return page, 422 if form.errors else 200


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
    hours = RESET_HOURS if app().identities.passwords.has_password(principal().organization, person.id) else HOURS
    token = invite(core(), principal(), person.id, hours)
    return render_template("people/link.html", person=person, hours=hours, link=url_for("setup.welcome", token=token, _external=True))


def _form(person: Person) -> Any:
    level = person.clearance.label if person.clearance is not None else ""
    form = PersonForm(data={"email": person.email, "name": person.name, "role": person.role.value, "clearance": level})
    form.email.render_kw = {"readonly": True}
    return form


def _ways_in(count: int, ended: Ended) -> str:
    others = [several(ended.others, "connection on the server's machine", "connections on the server's machine")] if ended.others else []
    return listing([several(count, "session"), several(ended.tokens, "token"), several(ended.grants, "grant"), *others])


def _page(person: Person, form: Any, difference: Difference | None = None, rights: str = "") -> str:
    organization = principal().organization
    open_sessions = sessions(organization, person)
    return render_template(
        "people/person.html",
        person=person,
        seen=stamp(person),
        form=form,
        roster=visitor().roster,
        groups=visitor().roster.groups_of(person.id),
        sessions=open_sessions,
        ways_in=_ways_in(len(open_sessions), ways_in(core(), organization, person.id)),
        factors=app().identities.second_factors.factors(organization, person.id),
        known=app().identities.passwords.has_password(organization, person.id),
        difference=difference,
        rights=rights,
    )
