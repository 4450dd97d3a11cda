"""Set-up gaps: which memories wait because no team guards their topic, and what a team would make of them."""

from __future__ import annotations

from dataclasses import dataclass

from memscope.contracts.storage import Browse, Listing, Transaction
from memscope.core import Core
from memscope.memories.consequence import People, people
from memscope.model.audience import Permission
from memscope.model.memory import Memory
from memscope.model.organization import Roster, Topic
from memscope.model.principal import Principal
from memscope.model.review import Flag
from memscope.policy.draft import Map, Settle, drafted_memory, drafted_roster
from memscope.policy.effect import readers_of
from memscope.policy.permissions import may
from memscope.work import read

MOST = 500
"""Memories that are let go on at once."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A memory that waits for a team to guard a topic, and what a team would make of it."""

    memory: Memory
    readers: People
    """Who reads it afterwards."""
    gains: People
    stays: bool
    """Whether it waits on: the team has nobody in its place, or it waits for something else too."""


def gaps(memory: Memory, roster: Roster) -> tuple[Topic, ...]:
    """The topics of a memory that no team guards and that it therefore waits for."""
    if not any(review.flag is Flag.SETUP_GAP for review in memory.reviews):
        return ()
    return tuple(
        topic
        for topic in sorted(roster.topics.values(), key=lambda topic: topic.name)
        if topic.id in memory.topics and topic.id not in roster.guards.guarding and topic.sensitivity <= memory.sensitivity
    )


def waiting_for(core: Core, principal: Principal, topic: Topic, team: str | None) -> tuple[Waiting, ...]:
    """The memories that wait because nobody guards a topic, as far as the person reviews them; with what a team (an id) would do."""

    def use(transaction: Transaction, roster: Roster, _: object) -> tuple[Waiting, ...]:
        reader = roster.readers[principal.person]
        found = [
            memory
            for memory in transaction.browse(Browse(Listing.REVIEW, MOST, core.clock(), oldest_first=True))
            if topic.id in memory.topics
            and Flag.SETUP_GAP in memory.flags
            and not memory.tainted
            and may(reader, Permission.REVIEW, memory)
        ]
        drafted = roster if team is None else drafted_roster(roster, principal.person, [Map(topic.id, team)])
        return tuple(_waiting(memory, roster, drafted, principal) for memory in found)

    return read(core, principal, use)


def _waiting(memory: Memory, roster: Roster, drafted: Roster, principal: Principal) -> Waiting:
    after = drafted_memory(memory, [Settle()])
    have = readers_of(after, drafted)
    stays = memory.flags - {Flag.FYI} != {Flag.SETUP_GAP} or bool(gaps(memory, drafted)) or not have - {memory.author}
    if stays:
        have = readers_of(memory, drafted)
    return Waiting(
        memory,
        people(have, after, roster, principal),
        people(have - readers_of(memory, roster), after, roster, principal),
        stays,
    )
