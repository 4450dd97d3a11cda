"""Drafts: a reader, a roster and a memory as they would be after changes that nobody has made."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from memscope.model.audience import Place, Sensitivity
from memscope.model.memory import Memory
from memscope.model.organization import GroupRole, Reader, Role, Roster
from memscope.model.review import Flag

SETTLED = frozenset({Flag.AUDIENCE, Flag.SETUP_GAP, Flag.FYI})
"""What moving a memory settles; `instructions` is settled by a review alone."""


@dataclass(frozen=True, slots=True)
class Join:
    """Becoming a member of a group; an owner stays one."""

    group: str
    """Group id."""


@dataclass(frozen=True, slots=True)
class Own:
    """Becoming an owner of a group."""

    group: str
    """Group id."""


@dataclass(frozen=True, slots=True)
class Demote:
    """Being a member of a group, whatever one was in it."""

    group: str
    """Group id."""


@dataclass(frozen=True, slots=True)
class Leave:
    """Being no longer in a group."""

    group: str
    """Group id."""


@dataclass(frozen=True, slots=True)
class Become:
    """Having a role."""

    role: Role


@dataclass(frozen=True, slots=True)
class Clear:
    """Being cleared up to a level; None: as the role says."""

    level: Sensitivity | None


@dataclass(frozen=True, slots=True)
class Map:
    """That a team guards a topic."""

    topic: str
    """Topic id."""
    team: str
    """Group id."""


@dataclass(frozen=True, slots=True)
class Unmap:
    """That a team guards a topic no more; the topic goes on guarding."""

    topic: str
    """Topic id."""
    team: str
    """Group id."""


@dataclass(frozen=True, slots=True)
class Move:
    """That the memory lies elsewhere; None: with its author alone."""

    place: Place | None


@dataclass(frozen=True, slots=True)
class Set:
    """That the memory has a level."""

    level: Sensitivity


@dataclass(frozen=True, slots=True)
class Settle:
    """That the memory's open reviews are approved."""


OfPerson = Join | Own | Demote | Leave | Become | Clear
OfMemory = Move | Set | Settle
Change = OfPerson | Map | Unmap | OfMemory


def drafted_roster(roster: Roster, person: str, changes: Iterable[Change]) -> Roster:
    """The roster after the changes, those of memberships, role and clearance made to one person (an id)."""
    memberships = {group: dict(members) for group, members in roster.memberships.items()}
    people, topics = dict(roster.people), dict(roster.topics)
    for change in changes:
        match change:
            case Join(group):
                memberships.setdefault(group, {}).setdefault(person, GroupRole.MEMBER)
            case Own(group):
                memberships.setdefault(group, {})[person] = GroupRole.OWNER
            case Demote(group):
                memberships.setdefault(group, {})[person] = GroupRole.MEMBER
            case Leave(group):
                memberships.get(group, {}).pop(person, None)
            case Become(role):
                people[person] = replace(people[person], role=role)
            case Clear(level):
                people[person] = replace(people[person], clearance=level)
            case Map(topic, team):
                topics[topic] = replace(topics[topic], teams=topics[topic].teams | {team}, guarding=True)
            case Unmap(topic, team):
                known = topics[topic]
                topics[topic] = replace(known, teams=known.teams - {team}, guarding=known.guarding or bool(known.teams))
    return replace(roster, people=people, topics=topics, memberships=memberships)


def drafted_reader(roster: Roster, person: str, changes: Iterable[Change]) -> Reader:
    """What policy would know of one person (an id) after the changes."""
    alone = replace(
        roster,
        people={person: roster.people[person]},
        memberships={group: {person: members[person]} for group, members in roster.memberships.items() if person in members},
    )
    return drafted_roster(alone, person, changes).readers[person]


def drafted_memory(memory: Memory, changes: Iterable[Change]) -> Memory:
    """The memory after the changes. How its text would be judged when it is first shared is not known here."""
    for change in changes:
        match change:
            case Move(wanted):
                place = wanted or Place.personal(memory.author)
                if place != memory.place:
                    kept = tuple(review for review in memory.reviews if review.flag not in SETTLED)
                    memory = replace(memory, place=place, reviews=kept)
            case Set(level):
                memory = replace(memory, sensitivity=level)
            case Settle():
                memory = replace(memory, reviews=())
    return memory
