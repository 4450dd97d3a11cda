"""What the uses count (`memscope.usage`): numbers by kind, place and topic; never a text or a query.

Work in the console is not counted as recalling or opening: those figures say how agents use memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from memscope import usage
from memscope.core import Core
from memscope.memories.related import Related
from memscope.model.memory import Memory
from memscope.model.organization import ConnectionKind, GroupKind, Roster
from memscope.model.principal import Principal

DECIDE_WITHIN_S = 24 * 3600
"""The target: a review is decided within a day."""


def saved(core: Core, principal: Principal, memory: Memory, related: Iterable[Related], superseding: bool) -> None:
    """Count a memory that was saved."""
    organization, note = principal.organization, core.usage.note
    note(organization, usage.SAVED, memory.kind.value if memory.kind else "none")
    group = memory.place.group
    if group is None:
        note(organization, usage.SAVED_IN, memory.place.scope.value)
    elif usage.big_enough(core.rosters.known(organization), group):
        note(organization, usage.SAVED_IN, group)
    if memory.flagged:
        note(organization, usage.FLAGGED_SAVES, principal.connection)
    relations = {item.relation for item in related}
    for relation in ("duplicate", "update"):
        if relation in relations:
            note(organization, usage.RELATED, relation)
            break
    if superseding:
        note(organization, usage.RELATED, "superseding")


def recalled(
    core: Core,
    principal: Principal,
    query: str,
    memories: Iterable[str],
    *,
    teams: Iterable[str | None] = (),
    projects: Iterable[str | None] = (),
    topics: Iterable[str] | None = None,
) -> None:
    """Count a recall: what it returned, the teams and projects that it named or met, and the topics an empty one was about."""
    if principal.kind is ConnectionKind.CONSOLE:
        return
    organization, note = principal.organization, core.usage.note
    roster = core.rosters.known(organization)
    returned = tuple(memories)
    note(organization, usage.RECALLED, "found" if returned else "empty")
    named = [(name, GroupKind.TEAM) for name in {*teams} - {None}] + [(name, GroupKind.PROJECT) for name in {*projects} - {None}]
    groups = {found.id for name, kind in named if name is not None and (found := roster.find_group(name, kind)) is not None}
    for group in groups:
        if usage.big_enough(roster, group):
            note(organization, usage.RECALLED_IN, group)
    if returned:
        core.usage.recalled(organization, principal.connection, returned)
        return
    about = {topic.id for name in topics or () if (topic := roster.find_topic(name)) is not None} | _topics_in(query, roster)
    for topic_id in about or {"none"}:
        note(organization, usage.EMPTY_ABOUT, topic_id)


def _topics_in(query: str, roster: Roster) -> set[str]:
    """Topics whose name, alias or phrase stands in the words of a query."""
    folded = query.casefold()
    return {
        topic.id
        for topic in roster.topics.values()
        if any(re.search(rf"\b{re.escape(word.casefold())}\b", folded) for word in (topic.name, *topic.aliases, *topic.phrases))
    }


def opened(core: Core, principal: Principal, memory: str) -> None:
    """Count a memory that was opened by its id after a recall returned it."""
    if principal.kind is not ConnectionKind.CONSOLE:
        core.usage.opened(principal.organization, principal.connection, memory)


def decided(core: Core, principal: Principal, action: str, before: Memory, after: Memory) -> None:
    """Count a review that a decision settled, and how long it had waited."""
    settled = [review for review in before.reviews if review.flag not in after.flags]
    if not action.startswith("review.") or not settled:
        return
    waited = max(0, int((core.clock() - min(review.opened_at for review in settled)).total_seconds()))
    organization, note = principal.organization, core.usage.note
    note(organization, usage.DECIDED, after.review_state)
    note(organization, usage.WAITED, "seconds", waited)
    if waited <= DECIDE_WITHIN_S:
        note(organization, usage.WAITED, "in_time")
