"""Closing a set-up gap: a team begins to guard a topic, and the memories that waited for just that are let go on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from memscope.contracts.storage import Operator, UnknownAudience
from memscope.core import Core
from memscope.errors import InvalidArgument
from memscope.memories import noting
from memscope.memories.changes import announce, labels
from memscope.memories.gaps import waiting_for
from memscope.model.audit import Act, ApprovedVia
from memscope.model.memory import Memory
from memscope.model.organization import GroupKind, Topic
from memscope.model.principal import Principal
from memscope.model.review import Flag, Resolution
from memscope.organizations.topics import save_topic
from memscope.work import ATTEMPTS


@dataclass(frozen=True, slots=True)
class Closed:
    """What became of the memories that waited."""

    settled: int
    left: int


def close_gap(core: Core, principal: Principal, topic: Topic, team: str, shown: Iterable[tuple[int, int]]) -> Closed:
    """Let a team guard a topic, and settle that flag of the memories that were shown as (number, version) and wait for nothing else.

    What they waited for has happened, and who reads them then was shown; so they are settled in the name of the administrator,
    although reviewing them is up to the team from now on. Forbidden but for administrators; InvalidArgument for a team that is none;
    Conflict when the topic was changed meanwhile.
    """
    roster = core.rosters.current(principal.organization)
    if team not in roster.groups or roster.groups[team].kind is not GroupKind.TEAM:
        raise InvalidArgument("team", "Choose a team from the list.")
    versions = dict(shown)
    waiting = waiting_for(core, principal, topic, team)
    save_topic(core, principal, topic, replace(topic, teams=topic.teams | {team}, guarding=True))
    going = [one.memory for one in waiting if not one.stays and versions.get(one.memory.number) == one.memory.version]
    settled = sum(_settle(core, principal, memory, topic) for memory in going)
    return Closed(settled, len(waiting) - settled)


def _settle(core: Core, principal: Principal, memory: Memory, topic: Topic) -> bool:
    """Whether the flag could be settled: not when the memory was changed since it was shown."""
    organization = principal.organization
    for _ in range(ATTEMPTS):
        reviews = tuple(review for review in memory.reviews if review.flag is not Flag.SETUP_GAP)
        after = replace(
            memory, reviews=reviews, review_state=Resolution.APPROVED.value, version=memory.version + 1, updated_at=core.clock()
        )
        act = Act(
            "review.approve",
            principal.person,
            principal.connection,
            target=memory.id,
            approved_via=ApprovedVia.PERSON,
            detail=labels(after) | {"resolution": "mapped", "topic": topic.key},
        )
        try:
            with core.storage.begin(Operator("a team guards its topic", organization), act) as transaction:
                if transaction.memory(memory.id, lock=True) != memory:
                    return False
                transaction.update(memory, after)
        except UnknownAudience as unknown:
            core.storage.intern(organization, unknown.audience)
            continue
        announce(core, principal, act.action, after)
        noting.decided(core, principal, act.action, memory, after)
        return True
    return False
