"""Teams and projects, and who is in them."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, abort, flash, redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from memscope.errors import Conflict, InvalidArgument
from memscope.memories.difference import member_difference
from memscope.model.organization import Group, GroupKind, GroupRole, Person
from memscope.organizations.groups import add_group, change_group, set_member
from memscope.organizations.people import named
from memscope.upkeep.emptying import AUTHORS, ask_removal, removal, removal_effect, remove_for
from memscope_admin.forms.fields import blame, choose, lines
from memscope_admin.forms.people import GroupForm
from memscope_admin.navigation import owners_only
from memscope_admin.sessions import core, principal, visitor
from memscope_admin.stale import CHANGED, stale, stamp

pages = Blueprint("groups", __name__)
pages.before_request(owners_only)
Answer = str | tuple[str, int] | Response
A_PAGE = 50
TO_CHOOSE = 100
"""People to choose from in a list; where there are more, one types."""
REMOVING_S = 2.0
"""How long a request itself works on a removal; the rest is done in the background."""


@pages.get("/groups")
def listed() -> str:
    """The teams and projects that the person manages: all for administrators."""
    return _list(None)


@pages.get("/teams")
def teams() -> str:
    """The teams alone."""
    return _list(GroupKind.TEAM)


@pages.get("/projects")
def projects() -> str:
    """The projects alone."""
    return _list(GroupKind.PROJECT)


@pages.route("/groups/new/<kind>", methods=["GET", "POST"])
def add(kind: str) -> Answer:
    """A new team or project."""
    if not visitor().admin or kind not in ("team", "project"):
        abort(404)
    form = _form(GroupKind(kind), {})
    if request.method == "POST" and form.validate():
        try:
            group = add_group(
                core(), principal(), GroupKind(kind), form.slug.data, form.name.data, lines(form.aliases.data), _team(form, kind)
            )
        except InvalidArgument as error:
            blame(form, error)
        else:
            flash("Added.")
            return redirect(url_for("groups.show", group_id=group.id))
    return render_template("groups/add.html", form=form, kind=kind), 422 if form.errors else 200


@pages.route("/groups/<group_id>", methods=["GET", "POST"])
def show(group_id: str) -> Answer:
    """One group: its people and, for administrators, its names."""
    group = _group(group_id)
    here = visitor()
    form = _form(group.kind, {"slug": group.slug, "name": group.name, "aliases": "\n".join(group.aliases), "team": group.team or ""})
    form.slug.render_kw = {"readonly": True}
    if request.method == "POST":
        if not here.admin:
            abort(404)
        if stale(group):
            form.name.errors = [CHANGED]
            return _page(group, form), 409
        if form.validate():
            try:
                change_group(
                    core(), principal(), group, name=form.name.data, aliases=lines(form.aliases.data), team=_team(form, group.kind.value)
                )
            except InvalidArgument as error:
                blame(form, error)
            except Conflict as error:
                form.name.errors = [error.message]
            else:
                flash("Saved.")
                return redirect(url_for("groups.show", group_id=group.id))
    return _page(group, form), 422 if form.errors else 200


@pages.route("/groups/<group_id>/members", methods=["GET", "POST"])
def member(group_id: str) -> Answer:
    """Somebody in, out, or made owner or member: what that does to their reading, then doing it."""
    group, given = _group(group_id), request.values
    role = given.get("role", "" if request.method == "POST" else "member")
    if role not in ("member", "owner", "none"):
        abort(404)
    wanted = None if role == "none" else GroupRole(role)
    page: dict[str, Any] = {"group": group, "role": role, "person": None, "difference": None, "several": (), "error": None}
    question = given.get("person", "").strip()
    found = named(visitor().roster, question)
    if len(found) != 1:
        if not found and (question or request.method == "POST"):
            page["error"] = "Nobody of this organization has this name, e-mail address or id."
        page["all"] = len(visitor().roster.people)
        return render_template("groups/member.html", **(page | {"several": found, "question": question})), 422 if page["error"] else 200
    person = found[0]
    try:
        if request.method == "POST":
            changed = set_member(core(), principal(), group.id, person.id, wanted)
            return _told(group, person, role, changed)
        shown = member_difference(core(), principal(), group.id, person.id, wanted)
    except Conflict as error:
        return render_template("groups/member.html", **(page | {"person": person, "error": error.message})), 422
    return render_template("groups/member.html", **(page | {"person": person, "difference": shown}))


@pages.route("/groups/<group_id>/remove", methods=["GET", "POST"])
def remove(group_id: str) -> Answer:
    """Remove a group: what becomes of its memories is chosen, shown, then done."""
    group = _group(group_id)
    here, organization = visitor(), principal().organization
    if not here.admin:
        abort(404)
    to = request.values.get("to", "")
    choices = [one for one in here.roster.groups.values() if one.id != group.id]
    choices.sort(key=lambda one: (one.kind.value, one.name.casefold()))
    page: dict[str, Any] = {"group": group, "choices": choices, "to": to, "authors": AUTHORS, "error": None, "effect": None}
    page["guarded"] = _guarded(group)
    if to not in (AUTHORS, *(one.id for one in choices)):
        if request.method == "GET" and not to:
            return render_template("groups/remove.html", **page)
        error = "Choose what becomes of its memories: back to their authors, or into another team or project."
        return render_template("groups/remove.html", **(page | {"error": error})), 422
    if request.method == "GET" or request.form.get("shown") != to:
        return render_template("groups/remove.html", **(page | {"effect": removal_effect(core(), principal(), group.id, to)}))
    if removal(core(), organization, group.id) is None:
        ask_removal(core(), principal(), group.id, to)
    if remove_for(core(), organization, group.id, REMOVING_S):
        flash(f"{group.name} is removed.")
        return redirect(url_for("groups.listed"))
    return redirect(url_for("groups.show", group_id=group.id))


@pages.post("/groups/<group_id>/remove/on")
def go_on(group_id: str) -> Response:
    """Go on with a removal now, rather than wait for the background."""
    group = _group(group_id)
    if not visitor().admin:
        abort(404)
    if remove_for(core(), principal().organization, group.id, REMOVING_S):
        flash(f"{group.name} is removed.")
        return redirect(url_for("groups.listed"))
    return redirect(url_for("groups.show", group_id=group.id))


def _list(kind: GroupKind | None) -> str:
    here = visitor()
    found = [group for group in here.roster.groups.values() if (here.admin or group.id in here.reader.owns) and kind in (None, group.kind)]
    found.sort(key=lambda group: (group.kind is GroupKind.PROJECT, group.name.casefold()))
    first = max(request.args.get("from", 0, type=int), 0)
    return render_template(
        "groups/list.html",
        groups=found[first : first + A_PAGE],
        kind=kind.value if kind else None,
        after=first + A_PAGE if len(found) > first + A_PAGE else None,
        roster=here.roster,
    )


def _told(group: Group, person: Person, role: str, changed: bool) -> Response:
    done = f"{person.name} is no longer in {group.name}." if role == "none" else f"{person.name} is {role} of {group.name}."
    flash(done if changed else f"Nothing changed: {done}")
    if not visitor().admin and person.id == principal().person and role != "owner":
        return redirect(url_for("dashboard.show"))
    return redirect(url_for("groups.show", group_id=group.id))


def _group(group_id: str) -> Group:
    here = visitor()
    group = here.roster.groups.get(group_id)
    if group is None or not (here.admin or group.id in here.reader.owns):
        abort(404)
    return group


def _form(kind: GroupKind, data: dict[str, str]) -> Any:
    form = GroupForm(data=data)
    known = [group for group in visitor().roster.groups.values() if group.kind is GroupKind.TEAM]
    choose(form.team, [("", "No team"), *sorted(((team.id, team.name) for team in known), key=lambda choice: choice[1].casefold())])
    if kind is GroupKind.TEAM:
        del form.team
    elif request.method == "POST" and form.team.data not in ("", None, *(team.id for team in known)):
        abort(404)
    return form


def _team(form: Any, kind: str) -> str | None:
    return (form.team.data or None) if kind == "project" else None


def _guarded(group: Group) -> list[str]:
    return sorted(topic.name for topic in visitor().roster.topics.values() if group.id in topic.teams)


def _page(group: Group, form: Any) -> str:
    roster = visitor().roster
    members = roster.memberships.get(group.id, {})
    question = request.args.get("q", "").strip()
    folded = question.casefold()
    inside = [(roster.people[person], role) for person, role in members.items()]
    inside = [pair for pair in inside if folded in pair[0].name.casefold() or folded in pair[0].email]
    inside.sort(key=lambda pair: pair[0].name.casefold())
    first = max(request.args.get("from", 0, type=int), 0)
    outside = sorted((one for one in roster.people.values() if one.active and one.id not in members), key=lambda one: one.name.casefold())
    return render_template(
        "groups/group.html",
        group=group,
        seen=stamp(group),
        form=form,
        members=inside[first : first + A_PAGE],
        total=len(members),
        question=question,
        after=first + A_PAGE if len(inside) > first + A_PAGE else None,
        outside=len(outside),
        choices=outside if len(outside) <= TO_CHOOSE else (),
        guarded=_guarded(group),
        removal=removal(core(), principal().organization, group.id),
        roster=roster,
    )
