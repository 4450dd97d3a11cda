"""Teams and projects, and who is in them."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, abort, flash, redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from memscope.errors import Conflict, InvalidArgument, MemScopeError
from memscope.model.organization import Group, GroupKind, GroupRole
from memscope.organizations.groups import add_group, change_group, remove_group, set_member
from memscope_admin.forms.fields import blame, choose, lines
from memscope_admin.forms.people import GroupForm, MemberForm
from memscope_admin.navigation import owners_only
from memscope_admin.sessions import core, principal, visitor
from memscope_admin.stale import CHANGED, stale, stamp

pages = Blueprint("groups", __name__, url_prefix="/groups")
pages.before_request(owners_only)
Answer = str | tuple[str, int] | Response


@pages.get("")
def listed() -> str:
    """The teams and projects that the person manages: all for administrators."""
    here = visitor()
    found = [group for group in here.roster.groups.values() if here.admin or group.id in here.reader.owns]
    found.sort(key=lambda group: (group.kind is GroupKind.PROJECT, group.name.casefold()))
    return render_template("groups/list.html", groups=found, roster=here.roster)


@pages.route("/new/<kind>", methods=["GET", "POST"])
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
        except Conflict as error:
            form.slug.errors = [error.message]
        else:
            flash("Added.")
            return redirect(url_for("groups.show", group_id=group.id))
    return render_template("groups/add.html", form=form, kind=kind), 422 if form.errors else 200


@pages.route("/<group_id>", methods=["GET", "POST"])
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


@pages.post("/<group_id>/members")
def member(group_id: str) -> Response:
    """Somebody in, out, or made owner or member."""
    group = _group(group_id)
    person = visitor().roster.people.get(request.form.get("person", ""))
    role = request.form.get("role", "")
    if person is None or role not in ("member", "owner", "none"):
        abort(404)
    try:
        changed = set_member(core(), principal(), group.id, person.id, None if role == "none" else GroupRole(role))
    except Conflict as error:
        flash(error.message)
    else:
        done = f"{person.name} is no longer in {group.name}." if role == "none" else f"{person.name} is {role} of {group.name}."
        flash(done if changed else f"Nothing changed: {done}")
    if not visitor().admin and person.id == principal().person and role == "none":
        return redirect(url_for("dashboard.show"))
    return redirect(url_for("groups.show", group_id=group.id))


@pages.post("/<group_id>/remove")
def remove(group_id: str) -> Response:
    """Remove a group that holds no memories."""
    group = _group(group_id)
    if not visitor().admin:
        abort(404)
    try:
        remove_group(core(), principal(), group.id)
    except MemScopeError as error:
        flash(f"{error.message} Move or forget them first." if isinstance(error, Conflict) else error.message)
        return redirect(url_for("groups.show", group_id=group.id))
    flash(f"{group.name} is removed.")
    return redirect(url_for("groups.listed"))


def _group(group_id: str) -> Group:
    here = visitor()
    group = here.roster.groups.get(group_id)
    if group is None or not (here.admin or group.id in here.reader.owns):
        abort(404)
    return group


def _form(kind: GroupKind, data: dict[str, str]) -> Any:
    form = GroupForm(data=data)
    teams = [group for group in visitor().roster.groups.values() if group.kind is GroupKind.TEAM]
    choose(form.team, [("", "No team"), *sorted(((team.id, team.name) for team in teams), key=lambda choice: choice[1].casefold())])
    if kind is GroupKind.TEAM:
        del form.team
    return form


def _team(form: Any, kind: str) -> str | None:
    return (form.team.data or None) if kind == "project" else None


def _page(group: Group, form: Any) -> str:
    roster = visitor().roster
    members = roster.memberships.get(group.id, {})
    inside = sorted(((roster.people[person], role) for person, role in members.items()), key=lambda pair: pair[0].name.casefold())
    adding = MemberForm(formdata=None)
    outside = sorted((one for one in roster.people.values() if one.active and one.id not in members), key=lambda one: one.name.casefold())
    choose(adding.person, [(one.id, f"{one.name} ({one.email})") for one in outside])
    guarded = sorted(topic.name for topic in roster.topics.values() if group.id in topic.teams)
    return render_template(
        "groups/group.html",
        group=group,
        seen=stamp(group),
        form=form,
        members=inside,
        adding=adding if outside else None,
        guarded=guarded,
        roster=roster,
    )
