"""Marking a memory as replaced by a newer one, and taking that back."""

from __future__ import annotations

from dataclasses import dataclass, replace

from memscope.approvals.consent import Consent
from memscope.approvals.needs import Asks
from memscope.contracts.storage import Transaction
from memscope.core import Core
from memscope.errors import Conflict, Forbidden, InvalidArgument
from memscope.memories.changes import Change, Done, Plan, Situation, carry_out
from memscope.memories.open import open_memory
from memscope.model.audience import Permission
from memscope.model.memory import Memory
from memscope.model.principal import Principal
from memscope.model.review import GRAVITY, Flag, Review
from memscope.policy.permissions import may


@dataclass(frozen=True, slots=True)
class Supersede:
    """The arguments of `supersede_memory`."""

    memory_id: str
    replaced_by: str
    undo: bool = False
    expected_version: int | None = None
    agent: str | None = None
    run_id: str | None = None


@dataclass(frozen=True, slots=True)
class Superseded:
    """The answer of `supersede_memory`."""

    memory_id: str
    replaced_by: str | None
    undone: bool


def supersede_memory(core: Core, principal: Principal, wanted: Supersede, consent: Consent = Consent()) -> Superseded:  # noqa: B008 - frozen
    """Link an older memory, which the person may edit, to one that replaces it, which they may read.

    Conflict for a memory that has a replacement already, for a circle, and for undoing a link that is not there.
    """

    def plan(situation: Situation) -> Plan:
        older = situation.memory
        newer = open_memory(core, situation.transaction, principal, situation.roster, wanted.replaced_by, lock=True)
        link = None if wanted.undo else newer.id
        if wanted.undo and older.superseded_by != newer.id:
            raise Conflict("The memory is not replaced by that one: there is no such link to undo.")
        if not wanted.undo:
            _refuse(situation.transaction, older, newer)
        acts = link is not None and not newer.held and newer.forgotten_at is None and not newer.expired(situation.now)
        after = replace(older, superseded_by=link, superseded=acts, version=older.version + 1, updated_at=situation.now)
        also = _tainted_along(situation, older, newer) if link is not None else None
        return Plan(after, Asks.NOTHING, detail={"replaced_by": newer.id, "undo": wanted.undo}, also=also)

    change = Change(
        "supersede_memory",
        "memory.supersede",
        wanted.memory_id,
        Permission.SUPERSEDE,
        {},
        plan,
        wanted.expected_version,
        wanted.agent,
        wanted.run_id,
        links=True,
    )

    def answer(_: Transaction, done: Done) -> Superseded:
        return Superseded(done.after.id, done.after.superseded_by, wanted.undo)

    return carry_out(core, principal, change, consent, answer)


def _refuse(transaction: Transaction, older: Memory, newer: Memory) -> None:
    if older.id == newer.id:
        raise InvalidArgument("replaced_by", "A memory cannot replace itself.")
    if older.superseded_by is not None:
        raise Conflict("The memory has a replacement already.", hint="Undo that link first, or supersede the replacement instead.")
    if transaction.leads_to(newer.id, older.id):
        raise Conflict("That memory is itself replaced, in the end, by this one: the link would close a circle.")


def _tainted_along(situation: Situation, older: Memory, newer: Memory) -> tuple[Memory, Memory] | None:
    """A successor inherits the suspicion of instructions; so it must be one that the person may edit."""
    if not older.tainted or newer.tainted:
        return None
    if not may(situation.roster.readers[situation.principal.person], Permission.CORRECT, newer):
        raise Forbidden("A memory that waits as possible instructions can only be replaced by one that the person may edit.")
    reason = "It comes from a memory that reads like instructions to an AI."
    version = newer.version + 1
    review = Review(Flag.INSTRUCTIONS, reason, situation.now, version)
    reviews = sorted((*newer.reviews, review), key=lambda item: GRAVITY.index(item.flag))
    return newer, replace(newer, reviews=tuple(reviews), version=version, updated_at=situation.now)
