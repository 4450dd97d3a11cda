"""Why a memory is or is not visible."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from memscope.contracts.storage import Transaction
from memscope.core import Core
from memscope.errors import Forbidden, InvalidArgument, NotFound
from memscope.memories.open import open_memory
from memscope.model.audience import Permission, Reach
from memscope.model.memory import Memory
from memscope.model.organization import Reader, Roster
from memscope.model.principal import Principal
from memscope.policy.explain import Detail, RuleResult, explain, explains_to
from memscope.work import read

NOT_TOLD = "Administrators may ask about anybody, owners about people of their group, authors about people who share the memory's group."


@dataclass(frozen=True, slots=True)
class Explained:
    """The answer of `explain_memory`."""

    memory_id: str
    visible: bool
    in_default_recall: bool | None
    rules: tuple[RuleResult, ...]
    summary: str


def explain_memory(core: Core, principal: Principal, memory_id: str, person: str | None = None) -> Explained:
    """The rules that decide for the person asking or, as far as they may know it, for somebody else.

    NotFound for what the asker may not read; Forbidden about people whom they may not ask about.
    """
    try:
        return _explain(core, principal, memory_id, person, Permission.READ)
    except NotFound:
        # Who may restore a forgotten memory may ask why it is gone from sight.
        return _explain(core, principal, memory_id, person, Permission.RESTORE)


def _explain(core: Core, principal: Principal, memory_id: str, person: str | None, permission: Permission) -> Explained:
    def use(transaction: Transaction, roster: Roster, _: Reach) -> Explained:
        memory = open_memory(core, transaction, principal, roster, memory_id, permission)
        asker = roster.readers[principal.person]
        about = roster.find_person(person) if person is not None else roster.people[principal.person]
        if about is None:
            raise InvalidArgument("person", "Nobody of this organization has this e-mail address or id.")
        reader = roster.readers[about.id]
        detail = explains_to(asker, reader, memory)
        if detail is Detail.NOTHING:
            raise Forbidden(NOT_TOLD)
        return explained(reader, memory, detail, core.clock(), roster)

    return read(core, principal, use, permission)


def explained(reader: Reader, memory: Memory, detail: Detail, now: datetime, roster: Roster) -> Explained:
    """The rules that decide for a reader, as far as whoever asks is told them."""
    found = explain(reader, memory, now, roster)
    if detail is Detail.VISIBLE:
        return Explained(memory.id, found.visible, None, (), "Visible." if found.visible else "Not visible.")
    return Explained(memory.id, found.visible, found.in_default_recall, found.rules, found.summary)
