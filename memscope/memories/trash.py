"""Forgetting, and bringing back from the trash."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from memscope.approvals.consent import Consent
from memscope.approvals.needs import Asks
from memscope.contracts.storage import Transaction
from memscope.core import Core
from memscope.errors import Conflict, Forbidden, InvalidArgument, NotFound
from memscope.memories.bench_texts import drop_texts_of
from memscope.memories.browse import Line, line
from memscope.memories.changes import Change, Done, Plan, Situation, carry_out
from memscope.memories.find import Wanted, find_memories
from memscope.memories.open import open_memory
from memscope.memories.texts import clean
from memscope.memories.view import MemoryAnswer, show
from memscope.model.audience import Permission
from memscope.model.audit import Act, ApprovedVia
from memscope.model.memory import REASON_MAX, Memory
from memscope.model.organization import Roster
from memscope.model.principal import Principal
from memscope.policy.permissions import may
from memscope.work import at_current_epoch, read


@dataclass(frozen=True, slots=True)
class Forget:
    """The arguments of `forget_memory`."""

    memory_id: str
    reason: str | None = None
    expected_version: int | None = None
    agent: str | None = None
    run_id: str | None = None


@dataclass(frozen=True, slots=True)
class Restore:
    """The arguments of `restore_memory`."""

    memory_id: str
    expected_version: int | None = None
    agent: str | None = None
    run_id: str | None = None


@dataclass(frozen=True, slots=True)
class Forgotten:
    """The answer of `forget_memory`."""

    memory_id: str
    forgotten_at: datetime
    restorable_until: datetime


@dataclass(frozen=True, slots=True)
class Restored:
    """The answer of `restore_memory`."""

    memory: MemoryAnswer


def restorable_until(memory: Memory | Line, roster: Roster) -> datetime:
    """When a forgotten memory is erased for good."""
    assert memory.forgotten_at is not None
    return memory.forgotten_at + timedelta(days=roster.organization.trash_days)


def forget_memory(core: Core, principal: Principal, wanted: Forget, consent: Consent) -> Forgotten:
    """Put a memory into the trash, with the person's approval. Forgetting it again is NotFound."""
    reason = clean("reason", wanted.reason, REASON_MAX, shortest=0) if wanted.reason is not None else None

    def plan(situation: Situation) -> Plan:
        memory, now = situation.memory, situation.now
        after = replace(memory, forgotten_at=now, forgotten_by=principal.person, version=memory.version + 1, updated_at=now)
        return Plan(after, Asks.FORGETTING)

    change = Change(
        "forget_memory",
        "memory.forget",
        wanted.memory_id,
        Permission.FORGET,
        {},
        plan,
        wanted.expected_version,
        wanted.agent,
        wanted.run_id,
        reason,
    )

    def answer(_: Transaction, done: Done) -> Forgotten:
        assert done.after.forgotten_at is not None
        return Forgotten(done.after.id, done.after.forgotten_at, restorable_until(done.after, done.roster))

    return carry_out(core, principal, change, consent, answer)


def restore_memory(core: Core, principal: Principal, wanted: Restore, consent: Consent = Consent()) -> Restored:  # noqa: B008 - frozen
    """Bring a memory back to the audience it had; its flags are still open. Conflict when it is not forgotten."""

    def plan(situation: Situation) -> Plan:
        memory, now = situation.memory, situation.now
        if memory.forgotten_at is None:
            raise Conflict("The memory is not forgotten: there is nothing to restore.")
        if restorable_until(memory, situation.roster) <= now:
            raise NotFound
        return Plan(replace(memory, forgotten_at=None, forgotten_by=None, version=memory.version + 1, updated_at=now), Asks.NOTHING)

    change = Change(
        "restore_memory",
        "memory.restore",
        wanted.memory_id,
        Permission.RESTORE,
        {},
        plan,
        wanted.expected_version,
        wanted.agent,
        wanted.run_id,
    )

    def answer(transaction: Transaction, done: Done) -> Restored:
        return Restored(show(core, transaction, done.roster, principal, [done.after])[0])

    try:
        return carry_out(core, principal, change, consent, answer)
    except NotFound:
        # Within the reach for restoring nothing was found: it is an active memory, or does not exist for this person.
        raise read(
            core, principal, lambda transaction, roster, _: _why_not(core, transaction, principal, roster, wanted.memory_id)
        ) from None


def _why_not(core: Core, transaction: Transaction, principal: Principal, roster: Roster, reference: str) -> Conflict | Forbidden:
    memory = open_memory(core, transaction, principal, roster, reference)
    if not may(roster.readers[principal.person], Permission.FORGET, memory):
        return Forbidden("Only those who may edit a memory can restore it.")
    return Conflict("The memory is not forgotten: there is nothing to restore.")


@dataclass(frozen=True, slots=True)
class Discarded:
    """A forgotten memory in the list."""

    memory: Line
    days_left: int
    """Whole days until it is erased for good."""


@dataclass(frozen=True, slots=True)
class Trash:
    """A page of the trash."""

    memories: tuple[Discarded, ...]
    next_cursor: str | None


def trash(core: Core, principal: Principal, *, cursor: str | None = None) -> Trash:
    """The forgotten memories that the person may restore, newest first. InvalidArgument for a cursor of another list."""
    found = find_memories(core, principal, Wanted(state="forgotten"), cursor=cursor)
    roster = core.rosters.current(principal.organization)
    return Trash(tuple(_discarded(core, roster, memory) for memory in found.lines), found.next_cursor)


def discarded(core: Core, principal: Principal, memory_id: str) -> Discarded:
    """One forgotten memory that the person may restore, by id or number. NotFound."""

    def use(transaction: Transaction, roster: Roster, _: object) -> Discarded:
        memory = open_memory(core, transaction, principal, roster, memory_id, Permission.RESTORE)
        if memory.forgotten_at is None:
            raise NotFound
        return _discarded(core, roster, line(show(core, transaction, roster, principal, [memory])[0]))

    return read(core, principal, use, Permission.RESTORE)


def _discarded(core: Core, roster: Roster, memory: Line) -> Discarded:
    return Discarded(memory, max(0, (restorable_until(memory, roster) - core.clock()).days))


def erase_for_good(core: Core, principal: Principal, memory_id: str, number: str) -> None:
    """Erase a forgotten memory now and for good: by whoever may restore it, who types its number.

    Texts, index, vectors and open approvals go with it, and links to it end; what is left is the audit row with
    counts. NotFound for what is not in the person's trash, InvalidArgument for another number.
    """

    def attempt(roster: Roster) -> str:
        act = Act("memory.erase", principal.person, principal.connection, approved_via=ApprovedVia.PERSON)
        with core.storage.begin(core.rosters.reach(principal, roster, Permission.RESTORE), act) as transaction:
            # Before any memory is locked, as every change of links: else two would wait for each other.
            transaction.lock_links()
            memory = open_memory(core, transaction, principal, roster, memory_id, Permission.RESTORE, lock=True)
            if memory.forgotten_at is None:
                raise NotFound
            if number.strip() != str(memory.number):
                raise InvalidArgument("number", "This is not its number. Type the number of the memory to erase it.")
            transaction.describe(replace(act, target=memory.id, detail=dict(transaction.erase_forgotten(memory.id))))
            return memory.id

    erased = at_current_epoch(core, principal, attempt)
    core.usage.drop(principal.organization, erased)
    drop_texts_of(core, principal.organization, erased)
