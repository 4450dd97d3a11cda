"""The one fetch by id: nothing is fetched by id except here, and here it is checked."""

from __future__ import annotations

from memscope.contracts.storage import Transaction
from memscope.core import Core
from memscope.errors import Forbidden, NotFound
from memscope.model.audience import Permission
from memscope.model.ids import parse_reference
from memscope.model.memory import Memory
from memscope.model.organization import Roster
from memscope.model.principal import Principal
from memscope.policy.permissions import may, may_reveal

_WHO = {
    Permission.REVIEW: "Only the author, an owner of its group or an administrator can settle this review.",
    Permission.RESTORE: "Only those who may edit it can restore this memory, and its author only what the author forgot.",
}


def open_memory(
    core: Core,
    transaction: Transaction,
    principal: Principal,
    roster: Roster,
    reference: str,
    permission: Permission = Permission.READ,
    *,
    lock: bool = False,
    listed: bool = False,
) -> Memory:
    """The memory that an id or number means, if the principal has the permission on it.

    NotFound, always the same, for what does not exist and what the person may not read; Forbidden for what they may read
    and not act on. `listed` leaves reviewers out: it is how recall and lists read. The policy decides on the very values
    read, whatever storage let through.
    """
    parsed = parse_reference(reference)
    memory = None if parsed is None else transaction.memory(parsed, lock=lock)
    reader = roster.readers[principal.person]
    reading = Permission.RESTORE if permission is Permission.RESTORE else Permission.READ
    if memory is None or not may(reader, reading, memory, by_id=not listed):
        raise NotFound
    if not may(reader, permission, memory):
        raise Forbidden(_WHO.get(permission, "Only the author, an owner of its group or an administrator can change this memory."))
    return memory


def open_to_reveal(transaction: Transaction, principal: Principal, roster: Roster, reference: str) -> Memory:
    """The memory that an administrator may be shown against the rules: in the transaction of an operator, who records that it
    is, or within a reach that holds it as revealed.

    NotFound, as ever, for what does not exist, and for personal and forgotten memories.
    """
    parsed = parse_reference(reference)
    memory = None if parsed is None else transaction.memory(parsed)
    if memory is None or not may_reveal(roster.readers[principal.person], memory):
        raise NotFound
    return memory
