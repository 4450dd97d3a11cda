"""From the names that callers use to places."""

from __future__ import annotations

from memscope.errors import Forbidden, InvalidArgument, UnknownProject, UnknownTeam
from memscope.model.audience import Place, Scope
from memscope.model.organization import Group, GroupKind, Roster

_KIND = {Scope.TEAM: GroupKind.TEAM, Scope.PROJECT: GroupKind.PROJECT}


def find_group(roster: Roster, kind: GroupKind, name: str) -> Group:
    """The group that a name means; UnknownTeam or UnknownProject, never a new one."""
    group = roster.find_group(name, kind)
    if group is None:
        error = UnknownTeam if kind is GroupKind.TEAM else UnknownProject
        raise error(f"This organization has no {kind.value} of that name.", hint="list_teams shows the names that exist.")
    return group


def resolve_place(roster: Roster, person: str, scope: Scope | None, team: str | None, project: str | None) -> Place:
    """The place that scope, team and project name for a person; nothing given means the organization's default.

    Scope follows from a given team or project. A team or project scope without a name means the only one the person is
    in. Whether the person may save or move there is for the caller to decide.
    """
    if team is not None and project is not None:
        raise InvalidArgument("project", "Give a team or a project, not both: a memory lies in one place.")
    implied = Scope.TEAM if team is not None else Scope.PROJECT if project is not None else None
    if implied is not None and scope not in (None, implied):
        raise InvalidArgument(
            "scope", f"scope {scope.value if scope else ''} contradicts the {implied.value} given; leave one of them out."
        )
    wanted = implied or scope or roster.organization.default_scope
    if wanted is Scope.ORGANIZATION:
        return Place.organization()
    if wanted is Scope.PERSONAL:
        return Place.personal(person)
    kind = _KIND[wanted]
    name = team if kind is GroupKind.TEAM else project
    group = find_group(roster, kind, name) if name is not None else _only(roster, person, kind)
    return Place(wanted, group=group.id)


def _only(roster: Roster, person: str, kind: GroupKind) -> Group:
    mine = roster.groups_of(person, kind)
    if len(mine) == 1:
        return mine[0]
    if not mine:
        raise InvalidArgument(kind.value, f"The signed-in person is in no {kind.value}.", hint="Choose another scope.")
    names = [group.slug for group in mine]
    raise InvalidArgument(kind.value, f"Name the {kind.value}: the signed-in person is in several ({', '.join(names)}).", options=names)


def refuse_place(roster: Roster, place: Place) -> Forbidden:
    """The error for a place that the person may not save into."""
    if place.group is not None:
        group = roster.groups[place.group]
        return Forbidden(
            f"The signed-in person is not in the {group.kind.value} {group.slug}.", hint="list_teams shows where they are a member."
        )
    return Forbidden("Guests cannot save for the whole organization.", hint="Use a team or project they are in, or scope personal.")
