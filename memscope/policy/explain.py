"""Explain: the rules that decided, told to a person; and how many people read something."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from itertools import cycle

from memscope.model.audience import Audience, Permission, Place, Scope, Sensitivity, Standing
from memscope.model.memory import Kind, Memory
from memscope.model.organization import Reader, Role, Roster
from memscope.policy.effect import readers_of
from memscope.policy.permissions import RULES, acting_standings, allows, may
from memscope.policy.rules import clearance, guarding, in_place


@dataclass(frozen=True, slots=True)
class RuleResult:
    """One rule, whether it held, and what that means in words."""

    rule: str
    passed: bool
    text: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a memory is or is not visible to a person."""

    visible: bool
    """Whether the person reads it, if only by id as a reviewer."""
    in_default_recall: bool
    """Whether recall without filters can return it."""
    rules: tuple[RuleResult, ...]
    """Those that decide on reading first; after them those that decide on recall alone."""
    summary: str


class Detail(Enum):
    """How much somebody is told about another person's reading."""

    RULES = "rules"
    VISIBLE = "visible"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class ReaderCount:
    """How many people read something; "at most" when not exact."""

    count: int
    exact: bool


@dataclass(frozen=True, slots=True)
class _Fact:
    """A condition on the memory alone."""

    name: str
    holds: Callable[[Memory, datetime], bool]
    yes: str
    no: str

    def result(self, memory: Memory, now: datetime) -> RuleResult:
        passed = self.holds(memory, now)
        return RuleResult(self.name, passed, self.yes if passed else self.no)


_NOT_FORGOTTEN = _Fact(
    "not_forgotten",
    lambda memory, now: memory.forgotten_at is None,
    "It is not forgotten.",
    "It is forgotten: only those who may restore it find it, among the forgotten.",
)
_RECALL = (
    _Fact(
        "not_instructions",
        lambda memory, now: not memory.tainted,
        "It does not wait as possible instructions to an AI.",
        "It reads like instructions to an AI and stays out of recall until somebody approves it.",
    ),
    _Fact(
        "not_expired",
        lambda memory, now: not memory.expired(now),
        "It has not expired.",
        "It is past its valid_until; recall returns it with include_expired.",
    ),
    _Fact(
        "not_superseded",
        lambda memory, now: not memory.superseded,
        "No newer memory replaces it.",
        "A newer memory replaces it; recall returns it with include_superseded.",
    ),
    _Fact(
        "not_handoff",
        lambda memory, now: memory.kind is not Kind.HANDOFF,
        "It is no handoff note.",
        "It is a handoff note; recall returns it with kind=handoff.",
    ),
)

#: The plainest first: the rules are told for the first of these under which the person reads.
_ORDER = (Standing.AUTHOR, Standing.COAUTHOR, Standing.ANYBODY, Standing.REVIEWING_AUTHOR, Standing.REVIEWER)


def explain(reader: Reader, memory: Memory, now: datetime, roster: Roster | None = None) -> Explanation:
    """Say why a person does or does not read a memory, from the very rules that filter.

    A roster lets the texts name the place and the topics.
    """
    standing = _standing(reader, memory)
    facts = _facts(reader, memory.audience, roster)
    reading = [_NOT_FORGOTTEN.result(memory, now)]
    for rule in RULES[Permission.READ]:
        passed = rule.holds(reader, memory.audience, standing)
        reading.append(RuleResult(rule.name, passed, (rule.yes if passed else rule.no).format(**facts)))
    visible = all(result.passed for result in reading)
    listed = may(reader, Permission.READ, memory, by_id=False)
    recall = [fact.result(memory, now) for fact in _RECALL]
    if visible and not listed:
        recall.insert(0, RuleResult("not_only_reviewing", False, "They read it as a reviewer only: by id and in the review queue."))
    in_recall = visible and all(result.passed for result in recall)
    return Explanation(visible, in_recall, (*reading, *recall), _summary(visible, in_recall, reading, recall))


def reads_as(reader: Reader, memory: Memory) -> Standing | None:
    """The standing under which a person reads a memory, the plainest first; None when they do not."""
    held_by = acting_standings(reader, Permission.READ, memory, by_id=True)
    return next((one for one in _ORDER if one in held_by and allows(reader, Permission.READ, memory.audience, one)), None)


def _standing(reader: Reader, memory: Memory) -> Standing:
    """The standing under which a person reads a memory; when there is none, the one to explain it by."""
    if (standing := reads_as(reader, memory)) is not None:
        return standing
    if memory.author != reader.person:
        return Standing.ANYBODY
    return Standing.AUTHOR if memory.own else Standing.COAUTHOR


def _facts(reader: Reader, audience: Audience, roster: Roster | None) -> dict[str, str]:
    missing = sorted(guarding(reader, audience) - reader.guards_for)
    names = [roster.topics[topic].name if roster is not None and topic in roster.topics else "a guarded topic" for topic in missing]
    return {
        "place": _place(audience.place, roster),
        "sensitivity": _level(audience.sensitivity),
        "clearance": _level(clearance(reader, audience)),
        "topics": ", ".join(names),
    }


def _place(place: Place, roster: Roster | None) -> str:
    if place.scope is Scope.ORGANIZATION:
        return "the organization"
    if place.scope is Scope.PERSONAL:
        return "its author alone"
    group = roster.groups.get(place.group or "") if roster is not None else None
    return f"the {place.scope.value} {group.name}" if group is not None else f"a {place.scope.value}"


def _level(level: Sensitivity) -> str:
    return level.label.replace("_", " ")


def _summary(visible: bool, in_recall: bool, reading: list[RuleResult], recall: list[RuleResult]) -> str:
    failed = next((result.text for result in (*reading, *recall) if not result.passed), "")
    if not visible:
        return f"Not visible. {failed}"
    return "Visible, and in default recall." if in_recall else f"Visible, but not in default recall. {failed}"


def explains_to(asker: Reader, person: Reader, memory: Memory) -> Detail:
    """How much the asker, who reads the memory, is told about another person's reading of it.

    Everything about oneself; admins about anybody; owners about people in a group of theirs; the author, about people
    who share the memory's group, only whether they read it.
    """
    if asker.person == person.person or asker.role is Role.ADMIN or asker.owns & person.groups:
        return Detail.RULES
    group = memory.place.group
    shared = group is not None and group in asker.groups and group in person.groups
    return Detail.VISIBLE if shared and memory.author == asker.person else Detail.NOTHING


def readers(memory: Memory, roster: Roster, viewer: Reader) -> ReaderCount:
    """How many people read a memory, as far as a person may know it."""
    return counted(len(readers_of(memory, roster)), memory.audience, viewer)


def counted(count: int, audience: Audience, viewer: Reader) -> ReaderCount:
    """A number of readers as far as a person may know it: exact where no topic guards and the person is in the place.

    Else rounded up to 1, 5, 20, 100, 500, 2000, ..., so that it tells nothing of a guard team's size.
    """
    if in_place(viewer, audience) and not guarding(viewer, audience):
        return ReaderCount(count, True)
    bound, factors = 1, cycle((5, 4, 5))
    while bound < count:
        bound *= next(factors)
    return ReaderCount(bound, False)
