"""Consequences: who gains and who loses reading by a change that is only shown, as far as the person may know it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from memscope.approvals.consent import Consent
from memscope.contracts.storage import Transaction
from memscope.core import Core
from memscope.errors import NotFound
from memscope.memories.changes import Previewed
from memscope.memories.open import open_memory
from memscope.model.audience import Reach
from memscope.model.memory import Memory
from memscope.model.organization import Roster
from memscope.model.principal import Principal
from memscope.policy.effect import readers_of
from memscope.policy.explain import Detail, counted, explains_to
from memscope.text.normalise import safe
from memscope.work import read


@dataclass(frozen=True, slots=True)
class People:
    """Some people, named where the person may ask `explain_memory` about each of them, else counted."""

    count: int
    exact: bool
    names: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Consequence:
    """What a change would do."""

    changed: bool
    before: Memory
    after: Memory
    readers: People
    """Who reads it afterwards."""
    gains: People
    loses: People


def preview(principal: Principal, use: Callable[[Consent], object]) -> Consequence:
    """What a changing use would do with this very memory now: the same rights, plan and effect, and nothing written.

    Raises what the use raises before it would ask for consent.
    """
    try:
        use(Consent(preview=True))
    except Previewed as shown:
        before, after, roster = shown.before, shown.after, shown.roster
        forgotten = after.forgotten_at is not None
        have = frozenset[str]() if forgotten else readers_of(after, roster)
        return Consequence(
            after != before,
            before,
            after,
            people(have, after, roster, principal),
            people(shown.effect.gains, after, roster, principal),
            people(readers_of(before, roster) - have, before, roster, principal),
        )
    raise TypeError("the use is no change of a memory")


def readers(memory: Memory, roster: Roster, principal: Principal) -> People:
    """Who reads a memory now."""
    return people(readers_of(memory, roster), memory, roster, principal)


def gaining(core: Core, principal: Principal, memory_id: str, persons: Iterable[str]) -> People | None:
    """Who would gain reading a memory by a change that waits for approval; None when the person can no longer read it."""

    def use(transaction: Transaction, roster: Roster, _: Reach) -> People:
        memory = open_memory(core, transaction, principal, roster, memory_id)
        return people((person for person in persons if person in roster.people), memory, roster, principal)

    try:
        return read(core, principal, use)
    except NotFound:
        return None


def people(persons: Iterable[str], memory: Memory, roster: Roster, principal: Principal) -> People:
    """Some people with an interest in a memory, as far as the principal may know them."""
    found = [roster.people[person] for person in persons]
    asker = roster.readers[principal.person]
    if all(explains_to(asker, roster.readers[person.id], memory) is not Detail.NOTHING for person in found):
        return People(len(found), True, tuple(sorted(safe(person.name)[0] for person in found)))
    count = counted(len(found), memory.audience, asker)
    return People(count.count, count.exact, None)
