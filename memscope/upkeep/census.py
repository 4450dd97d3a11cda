"""The daily census: how many shared memories there are, are replaced, are stale and are held, as numbers alone.

It looks at every memory as an operator, and keeps counts: of the whole organization, of groups with enough people, and of held ones
by topic. Personal memories are in none of them.
"""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

from memscope.contracts.storage import Operator
from memscope.core import Core
from memscope.model.memory import Memory
from memscope.usage import ALL, STALE_AFTER, Census, big_enough

BATCH = 500


def census(core: Core, organization: str) -> Census:
    """Count, keep the counts, and drop figures that are past their time or of memories that are gone."""
    roster = core.rosters.current(organization)
    now, today = core.clock(), core.usage.today(organization)
    met = core.usage.met(organization)
    big = {group for group in roster.groups if big_enough(roster, group)}
    live: Counter[str] = Counter()
    superseded: Counter[str] = Counter()
    stale: Counter[str] = Counter()
    held: Counter[str] = Counter()
    alive: set[str] = set()

    def add(memory: Memory) -> None:
        alive.add(memory.id)
        if not memory.place.shared or memory.forgotten_at is not None:
            return
        places = {ALL} | ({memory.place.group} & big if memory.place.group else set())
        if memory.held:
            held.update(memory.topics or {"none"})
            return
        live.update(places)
        if memory.superseded:
            superseded.update(places)
        elif now - memory.created_at >= STALE_AFTER and not memory.expired(now):
            last = met[memory.id].last if memory.id in met else None
            if last is None or last <= today - timedelta(days=STALE_AFTER.days):
                stale.update(places)

    after: str | None = None
    while True:
        with core.storage.begin(Operator("census", organization)) as transaction:
            batch = transaction.all_memories(after, BATCH)
        for memory in batch:
            add(memory)
        if len(batch) < BATCH:
            break
        after = batch[-1].id
    found = Census(now, dict(live), dict(superseded), dict(stale), dict(held))
    core.usage.keep_census(organization, found)
    core.usage.prune(organization, alive)
    return found
