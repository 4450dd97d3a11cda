"""Effect: who gains and who loses reading by a change, and whether anybody possible could."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product

from memscope.model.audience import Permission, Sensitivity
from memscope.model.memory import Memory
from memscope.model.organization import ROLE_CLEARANCE, GroupRole, Reader, Role, Roster
from memscope.policy.permissions import may
from memscope.policy.rules import view


@dataclass(frozen=True, slots=True)
class Effect:
    """What a change of one memory does to reading. Reviewing counts as reading: it is reading by id."""

    gains: frozenset[str]
    """Person ids of those who read it after the change and not before."""
    loses: frozenset[str]
    readers_before: int
    readers_after: int
    widens: bool
    """Whether somebody gains, or somebody possible would (any role, clearance, membership), or the sensitivity falls."""
    narrows: bool
    """Whether nobody possible gains, and, open flags apart, somebody possible loses or the sensitivity rises."""


def effect(before: Memory | None, after: Memory, roster: Roster) -> Effect:
    """Compare the readers of a memory before and after a change; before is None for a new memory.

    A memory that is forgotten before the change counts as the memory it was, so that restoring it to the same audience
    gives nothing to anybody; a change that forgets takes reading from everybody.
    """
    then = replace(before, forgotten_at=None, forgotten_by=None) if before is not None else None
    now = replace(after, forgotten_at=None, forgotten_by=None) if before is not None and before.forgotten_at is not None else after
    had = readers_of(then, roster) if then is not None else frozenset()
    have = readers_of(now, roster) if then is None or _differ(then, now) else had
    gains, loses = have - had, had - have
    if then is None:
        widens, narrows = True, False
    else:
        lowers, raises = now.sensitivity < then.sensitivity, now.sensitivity > then.sensitivity
        widens = bool(gains) or lowers or _possible(then, now, roster)
        narrows = not widens and (raises or _possible(_settled(now), _settled(then), roster))
    return Effect(gains, loses, len(had), len(have), widens, narrows)


def readers_of(memory: Memory, roster: Roster) -> frozenset[str]:
    """Ids of the people who read a memory, reviewers included."""
    audience, author = memory.audience, memory.author
    verdicts: dict[Hashable, bool] = {}
    found: set[str] = set()
    for reader in _candidates(memory, roster):
        key = (view(reader, audience), reader.person == author)
        verdict = verdicts.get(key)
        if verdict is None:
            verdict = verdicts[key] = may(reader, Permission.READ, memory)
        if verdict:
            found.add(reader.person)
    return frozenset(found)


def _candidates(memory: Memory, roster: Roster) -> Iterable[Reader]:
    """The readers that might read a memory: those in its place, its author, and reviewers."""
    place, readers = memory.place, roster.readers
    if not place.shared:
        return (readers[person] for person in {memory.author, place.person or ""} if person in readers)
    if memory.flagged or place.group is None:
        return readers.values()
    return (readers[person] for person in {memory.author, *roster.memberships.get(place.group, ())} if person in readers)


def _differ(before: Memory, after: Memory) -> bool:
    """Whether two states of a memory differ in anything that policy looks at."""
    return _looked_at(before) != _looked_at(after)


def _looked_at(memory: Memory) -> Hashable:
    return memory.audience, memory.flagged, memory.own, memory.forgotten_at


def _settled(memory: Memory) -> Memory:
    return replace(memory, reviews=())


def _possible(before: Memory, after: Memory, roster: Roster) -> bool:
    """Whether somebody possible reads a memory as it is after, and not as it is before."""
    return _differ(before, after) and any(
        may(reader, Permission.READ, after) and not may(reader, Permission.READ, before)
        for reader in _possible_readers(before, after, roster)
    )


def _possible_readers(before: Memory, after: Memory, roster: Roster) -> Iterator[Reader]:
    """One reader of each kind that policy could tell apart on either state of a memory, its author apart.

    The author is somebody actual: giving a memory back widens only for an author who could not read it. Clearances
    run from what the role gives upwards: somebody with a lowered one counts only when there is such a person, or else
    moving an internal memory from the organization into a group would always count as widening.
    """
    groups = sorted({memory.place.group for memory in (before, after) if memory.place.group is not None})
    topics = {frozenset[str](), before.topics, after.topics, before.topics | after.topics}
    for role, ranks, guarded in product(Role, product((None, *GroupRole), repeat=len(groups)), topics):
        joined = frozenset(group for group, rank in zip(groups, ranks, strict=True) if rank is not None)
        owned = frozenset(group for group, rank in zip(groups, ranks, strict=True) if rank is GroupRole.OWNER)
        by_group = {topic.id for topic in roster.topics.values() if not joined.isdisjoint(topic.teams)}
        for level in Sensitivity:
            if level >= ROLE_CLEARANCE[role] and (role is not Role.GUEST or level is Sensitivity.PUBLIC):
                yield Reader("", role, True, level, joined, owned, guarded | by_group, roster.guards)
