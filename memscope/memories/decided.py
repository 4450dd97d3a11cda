"""Decisions of reviews made before: of one memory, and of memories like it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from memscope.contracts.storage import AuditSearch, Operator, Transaction
from memscope.core import Core
from memscope.memories.item import open_item
from memscope.model.audience import Permission
from memscope.model.memory import Memory
from memscope.model.organization import Roster
from memscope.model.principal import Principal
from memscope.model.review import Resolution
from memscope.policy.permissions import may
from memscope.text.normalise import preview, safe
from memscope.work import read

ALIKE = 0.45
"""Cosine from which texts are about the same thing; stored vectors hold author and date too, which lowers it a little."""
LOOKED_AT = 40
_DECIDED = frozenset(resolution.value for resolution in Resolution)


@dataclass(frozen=True, slots=True)
class Settled:
    """Who did the last thing to a memory, what and when: what everybody may know who could act on it before."""

    who: str
    action: str
    """As in the audit log, such as `review.tighten`."""
    at: datetime


@dataclass(frozen=True, slots=True)
class Similar:
    """A memory like the one that waits, and what was decided about it."""

    number: int
    preview: str
    memory: Memory
    decided: Settled | None


def last_change(core: Core, organization: str, memory_id: str) -> Settled | None:
    """The newest row of the audit log about a memory (its id); None when nobody changed it or the row names no person."""
    return _last(core, core.rosters.current(organization), memory_id, None)


def similar_decisions(core: Core, principal: Principal, memory_id: str, limit: int = 3) -> Sequence[Similar]:
    """Memories that the person reads, like one that waits, whose review was decided; most alike first. NotFound.

    Empty while no embedding model is loaded.
    """
    item = open_item(core, principal, memory_id)
    vectors = core.embedding.texts([item.memory.content or ""])
    if vectors is None:
        return ()
    roster = core.rosters.current(principal.organization)

    def use(transaction: Transaction, current: Roster, _: object) -> list[Memory]:
        found = transaction.nearest(vectors[0], core.embedding.model.identity, LOOKED_AT)
        ids = [memory for memory, cosine in found if cosine >= ALIKE and memory != item.memory.id]
        memories = transaction.memories(ids)
        reader = current.readers[principal.person]
        return [
            memory
            for one in ids
            if (memory := memories.get(one)) is not None
            and memory.review_state in _DECIDED
            and not memory.flagged
            and may(reader, Permission.READ, memory, by_id=False)
        ][:limit]

    return tuple(
        Similar(memory.number, preview(memory.open_text), memory, _last(core, roster, memory.id, "review.*"))
        for memory in read(core, principal, use)
    )


def _last(core: Core, roster: Roster, memory_id: str, action: str | None) -> Settled | None:
    # Of any memory everybody concerned may know who acted, how and when (DESIGN section 9), which is all that leaves here.
    with core.storage.begin(Operator("who decided", roster.organization.id)) as transaction:
        rows = transaction.find_audit(AuditSearch(1, target=memory_id, action=action))
    who = roster.people.get(rows[0].act.actor or "") if rows else None
    return None if who is None else Settled(safe(who.name)[0], rows[0].act.action, rows[0].at)
