"""Remedies: the fewest changes to a person's memberships, clearance or the memory's review that would let them read it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from memscope.model.audience import Permission, Sensitivity
from memscope.model.memory import Memory
from memscope.model.organization import Reader, Role, Roster
from memscope.policy.permissions import may
from memscope.policy.rules import guarding

MOST_STEPS = 3


@dataclass(frozen=True, slots=True)
class Join:
    """Becoming a member of a group."""

    group: str
    """Group id."""


@dataclass(frozen=True, slots=True)
class Clear:
    """Being cleared up to a level."""

    level: Sensitivity


@dataclass(frozen=True, slots=True)
class Settle:
    """That the memory's open review is approved."""


Step = Join | Clear | Settle
Remedy = tuple[Step, ...]


def remedies(reader: Reader, memory: Memory, roster: Roster) -> tuple[Remedy, ...]:
    """The smallest sets of steps after which the person reads the memory; none when they read it now, or nothing would do.

    Nothing here is carried out. A personal memory, a forgotten one and a disabled person have no remedy.
    """
    if may(reader, Permission.READ, memory) or not reader.active or memory.forgotten_at is not None or not memory.place.shared:
        return ()
    steps = _steps(reader, memory, roster)
    for size in range(1, MOST_STEPS + 1):
        found = tuple(chosen for chosen in combinations(steps, size) if _reads(reader, memory, roster, chosen))
        if found:
            return found
    return ()


def _steps(reader: Reader, memory: Memory, roster: Roster) -> list[Step]:
    missing = guarding(reader, memory.audience) - reader.guards_for
    groups = {memory.place.group} | {team for topic in missing if topic in roster.topics for team in roster.topics[topic].teams}
    steps: list[Step] = [Join(group) for group in sorted(groups - {None} - reader.groups, key=str) if group is not None]
    if reader.role is not Role.GUEST and reader.clearance < memory.sensitivity:
        steps.append(Clear(memory.sensitivity))
    if memory.held:
        steps.append(Settle())
    return steps


def _reads(reader: Reader, memory: Memory, roster: Roster, steps: Sequence[Step]) -> bool:
    for step in steps:
        match step:
            case Join(group):
                guarded = frozenset(topic.id for topic in roster.topics.values() if group in topic.teams)
                reader = replace(reader, groups=reader.groups | {group}, guards_for=reader.guards_for | guarded)
            case Clear(level):
                reader = replace(reader, clearance=level)
            case Settle():
                memory = replace(memory, reviews=())
    return may(reader, Permission.READ, memory, by_id=False)
