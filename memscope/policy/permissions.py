"""Permissions, each made of the one list of rules."""

from __future__ import annotations

from collections.abc import Mapping

from memscope.model.audience import Audience, Permission, Place, Scope, Standing
from memscope.model.memory import Memory, Version
from memscope.model.organization import Reader, Role
from memscope.policy.rules import AUTHORS, EDITS, READING, REVIEWERS, REVIEWS, Rule

RULES: Mapping[Permission, tuple[Rule, ...]] = {
    Permission.READ: READING,
    Permission.REVIEW: (*READING, REVIEWS),
    **{permission: (*READING, EDITS) for permission in Permission if permission not in (Permission.READ, Permission.REVIEW)},
}


def allows(reader: Reader, permission: Permission, audience: Audience, standing: Standing) -> bool:
    """Whether every rule of a permission holds."""
    return all(rule.holds(reader, audience, standing) for rule in RULES[permission])


def standings(person: str, memory: Memory) -> frozenset[Standing]:
    """What a person is to a memory; being a reviewer is for the rules to grant, and only possible while a flag is open."""
    mine = memory.author == person
    found = {Standing.ANYBODY}
    if mine:
        found.add(Standing.AUTHOR if memory.own else Standing.COAUTHOR)
    if memory.flagged:
        found |= REVIEWERS if mine else {Standing.REVIEWER}
    return frozenset(found)


def may(reader: Reader, permission: Permission, memory: Memory, *, by_id: bool = True) -> bool:
    """Whether a person has a permission on a memory, whatever state it is in.

    `by_id` False is how recall, lists and counts of memories read: there being a reviewer does not count. A forgotten
    memory allows nothing but restoring, and what somebody else forgot its author cannot restore as its author.
    """
    return any(allows(reader, permission, memory.audience, standing) for standing in acting_standings(reader, permission, memory, by_id))


def acting_standings(reader: Reader, permission: Permission, memory: Memory, by_id: bool) -> frozenset[Standing]:
    """The standings that count for a permission on a memory as it is now."""
    found = standings(reader.person, memory)
    if memory.forgotten_at is None:
        return found if by_id else found - REVIEWERS
    if permission is not Permission.RESTORE:
        return frozenset()
    # Forgotten memories are found in a list. The reviewers of a held one are among those who may restore it.
    found -= {Standing.REVIEWING_AUTHOR} if memory.held else REVIEWERS
    return found if memory.forgotten_by == reader.person else found - AUTHORS


def may_read_version(reader: Reader, memory: Memory, version: Version) -> bool:
    """Whether a person may read one text of a memory's past: the memory now, and under the audience this text had."""
    if not may(reader, Permission.READ, memory):
        return False
    if version.replaced_under is None:
        return True
    found = standings(reader.person, memory)
    if version.replaced_under.held:  # a flag was open then, so that its reviewers could read it
        found |= {Standing.REVIEWER}
    return any(allows(reader, Permission.READ, version.replaced_under, standing) for standing in found)


def may_save_into(reader: Reader, place: Place) -> bool:
    """Whether a person may save into a place: their own, groups they are in, and the organization unless a guest."""
    if not reader.active:
        return False
    if place.scope is Scope.ORGANIZATION:
        return reader.role is not Role.GUEST
    return place.person == reader.person if place.scope is Scope.PERSONAL else place.group in reader.groups


def may_move_into(reader: Reader, memory: Memory, place: Place, *, reviewing: bool = False, suggested: Place | None = None) -> bool:
    """Whether an editor of a memory may move it to a place; a reviewer also into the suggested group, an admin into any.

    Whoever may edit a memory may give it back to its author alone.
    """
    if place.scope is Scope.PERSONAL:
        return reader.active and place.person == memory.author
    if may_save_into(reader, place):
        return True
    return reviewing and reader.active and place.group is not None and (reader.role is Role.ADMIN or place == suggested)


def may_reveal(reader: Reader, memory: Memory) -> bool:
    """Whether a person may open a memory in the console for an hour, against the rules: admins, never a personal one."""
    return reader.active and reader.role is Role.ADMIN and memory.place.shared and memory.forgotten_at is None
