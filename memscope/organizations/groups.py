"""Teams and projects, and who is in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from memscope.contracts.storage import Transaction
from memscope.core import Core
from memscope.errors import Conflict, InvalidArgument, NotFound
from memscope.model.ids import new_id
from memscope.model.organization import Group, GroupKind, GroupRole, Roster
from memscope.model.principal import Principal
from memscope.organizations.changes import Outcome, admins, carry_out, owners_of
from memscope.organizations.file import check_name, check_slug


def add_group(
    core: Core, principal: Principal, kind: GroupKind, slug: str, name: str, aliases: Sequence[str] = (), team: str | None = None
) -> Group:
    """Add a team or project; a project may name the id of its team. InvalidArgument when a name is taken."""
    group = Group(new_id(), kind, check_slug(slug), check_name(name), tuple(check_name(alias) for alias in aliases), team)

    def write(transaction: Transaction, roster: Roster) -> Outcome:
        _check(roster, group)
        transaction.write_group(group)
        return Outcome(group.id, {"kind": kind.value, "slug": group.slug})

    carry_out(core, principal, "group.add", admins, write)
    return group


def change_group(core: Core, principal: Principal, expected: Group, *, name: str, aliases: Sequence[str], team: str | None) -> Group:
    """Rename a group or move it under another team, as long as it is still as `expected`."""
    after = replace(expected, name=check_name(name), aliases=tuple(check_name(alias) for alias in aliases), team=team)

    def write(transaction: Transaction, roster: Roster) -> Outcome:
        if roster.groups.get(after.id) != expected:
            raise Conflict("Somebody else changed this group meanwhile. Look at it again.")
        _check(roster, after)
        transaction.write_group(after)
        return Outcome(after.id, {"slug": after.slug})

    carry_out(core, principal, "group.change", admins, write)
    return after


def set_member(core: Core, principal: Principal, group_id: str, person_id: str, role: GroupRole | None) -> bool:
    """Put somebody into a group, change what they are in it or, with None, take them out; returns whether anything changed.

    Conflict when it would take the last owner.
    """
    changed = False

    def write(transaction: Transaction, roster: Roster) -> Outcome:
        nonlocal changed
        changed = check_member(roster, group_id, person_id, role)
        if changed:
            transaction.write_membership(group_id, person_id, role)
        return Outcome(group_id, {"person": person_id, "role": role.value if role is not None else None, "changed": changed})

    carry_out(core, principal, "group.member", owners_of(group_id), write)
    return changed


def check_member(roster: Roster, group_id: str, person_id: str, role: GroupRole | None) -> bool:
    """Whether somebody's place in a group would change. NotFound; Conflict when it would take the last owner."""
    if group_id not in roster.groups or person_id not in roster.people:
        raise NotFound
    members = roster.memberships.get(group_id, {})
    owners = [person for person, held in members.items() if held is GroupRole.OWNER]
    if owners == [person_id] and role is not GroupRole.OWNER:
        raise Conflict("This is the group's last owner; make somebody else one first.")
    return members.get(person_id) is not role


def _check(roster: Roster, group: Group) -> None:
    if group.team is not None:
        team = roster.groups.get(group.team)
        if group.kind is not GroupKind.PROJECT or team is None or team.kind is not GroupKind.TEAM:
            raise InvalidArgument("team", "Only a project belongs to a team, and to one of this organization.")
    for field, names in (("slug", (group.slug,)), ("aliases", group.aliases)):
        for name in names:
            other = roster.find_group(name, group.kind)
            if other is not None and other.id != group.id:
                raise InvalidArgument(field, f"The {group.kind.value} {other.slug} goes by {name} already.")
