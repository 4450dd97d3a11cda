"""Purge: erasing for good what has been in the trash long enough."""

from __future__ import annotations

from collections.abc import Generator
from datetime import timedelta

from memscope.contracts.storage import Operator
from memscope.core import Core
from memscope.memories.bench_texts import drop_texts_of
from memscope.model.audit import Act
from memscope.model.memory import Memory
from memscope.upkeep.progress import Progress

BATCH = 100


class _NotDue(Exception):
    """It was restored or erased meanwhile."""


def purge(core: Core, organization: str, *, dry_run: bool = False) -> Generator[Progress, None, int]:
    """Erase the memories forgotten longer ago than the organization keeps its trash; returns how many.

    Each is a transaction of its own, whose audit row is the receipt: counts, and nothing that the text could be guessed from.
    """
    days = core.rosters.current(organization).organization.trash_days
    moment = core.clock() - timedelta(days=days)
    operator = Operator("purge", organization)
    if dry_run:
        with core.storage.begin(operator) as transaction:
            due = transaction.forgotten_before(moment, 1_000_000)
        yield Progress("Due to be erased: memory", len(due), len(due), tuple(f"would erase {id_}" for id_ in due))
        return len(due)
    erased = 0
    while True:
        with core.storage.begin(operator) as transaction:
            due = transaction.forgotten_before(moment, BATCH)
        before = erased
        for id_ in due:
            act = Act("memory.erase", target=id_)
            try:
                with core.storage.begin(operator, act) as transaction:
                    memory = transaction.memory(id_, lock=True)
                    if memory is None or not _due(memory, core, days):
                        raise _NotDue
                    transaction.describe(Act("memory.erase", target=id_, detail=dict(transaction.erase(id_))))
            except _NotDue:
                continue
            core.usage.drop(organization, id_)
            drop_texts_of(core, organization, id_)
            erased += 1
            yield Progress("Erasing: memory", erased, before + len(due), (f"erased {id_}",))
        if erased == before:
            return erased


def _due(memory: Memory, core: Core, days: int) -> bool:
    return memory.forgotten_at is not None and memory.forgotten_at < core.clock() - timedelta(days=days)
