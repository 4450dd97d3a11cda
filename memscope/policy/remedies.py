"""Remedies: the fewest changes that would let a person read a memory."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from memscope.model.audience import Permission, Place, Sensitivity
from memscope.model.memory import Memory
from memscope.model.organization import Reader, Role, Roster
from memscope.policy.draft import Change, Clear, Join, Move, OfPerson, Set, Settle, drafted_memory, drafted_reader
from memscope.policy.permissions import may
from memscope.policy.rules import guarding

MOST_STEPS = 3

Remedy = tuple[Change, ...]


def remedies(reader: Reader, memory: Memory, roster: Roster) -> tuple[Remedy, ...]:
    """The smallest sets of changes to the person, or of its review, after which they read the memory.

    None when they read it now, or nothing of that kind would do. Nothing here is carried out. A personal memory, a
    forgotten one and a disabled person have no remedy.
    """
    return _smallest(reader, memory, roster, _steps(reader, memory, roster)) if _helpable(reader, memory) else ()


def memory_remedies(reader: Reader, memory: Memory, roster: Roster) -> tuple[Remedy, ...]:
    """The smallest sets of changes to the memory after which the person reads it: another place where they are, a lower level."""
    if not _helpable(reader, memory):
        return ()
    places = [Place.organization(), *(Place(roster.groups[group].scope, group=group) for group in sorted(reader.groups))]
    steps: list[Change] = [Move(place) for place in places if place != memory.place]
    if memory.held:
        steps.append(Settle())
    found = [_smallest(reader, memory, roster, steps)]
    # The highest level that does is enough.
    for level in sorted((level for level in Sensitivity if level < memory.sensitivity), reverse=True):
        found.append(_smallest(reader, memory, roster, [*steps, Set(level)]))
    return min((some for some in found if some), key=lambda some: len(some[0]), default=())


def _helpable(reader: Reader, memory: Memory) -> bool:
    return not may(reader, Permission.READ, memory) and reader.active and memory.forgotten_at is None and memory.place.shared


def _smallest(reader: Reader, memory: Memory, roster: Roster, steps: Sequence[Change]) -> tuple[Remedy, ...]:
    for size in range(1, MOST_STEPS + 1):
        found = tuple(chosen for chosen in combinations(steps, size) if _reads(reader, memory, roster, chosen))
        if found:
            return found
    return ()


def _steps(reader: Reader, memory: Memory, roster: Roster) -> list[Change]:
    missing = guarding(reader, memory.audience) - reader.guards_for
    groups = {memory.place.group} | {team for topic in missing if topic in roster.topics for team in roster.topics[topic].teams}
    steps: list[Change] = [Join(group) for group in sorted(groups - {None} - reader.groups, key=str) if group is not None]
    if reader.role is not Role.GUEST and reader.clearance < memory.sensitivity:
        steps.append(Clear(memory.sensitivity))
    if memory.held:
        steps.append(Settle())
    return steps


def _reads(reader: Reader, memory: Memory, roster: Roster, steps: Sequence[Change]) -> bool:
    of_person = [step for step in steps if isinstance(step, OfPerson)]
    drafted = drafted_reader(roster, reader.person, of_person) if of_person else reader
    return may(drafted, Permission.READ, drafted_memory(memory, steps), by_id=False)
