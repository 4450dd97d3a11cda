"""Notices: what a person is told in the console until they have seen it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from memscope.contracts.storage import Transaction
from memscope.core import Core
from memscope.model.audience import Reach
from memscope.model.ids import new_id
from memscope.model.organization import Roster
from memscope.model.principal import Principal
from memscope.text.normalise import safe
from memscope.work import read

RECORDS = "notices"


@dataclass(frozen=True, slots=True)
class Notice:
    """An administrator was shown a memory against the rules."""

    id: str
    at: datetime
    by: str
    """Name of the administrator."""
    reason: str
    yours: bool
    """Whether the person wrote it; else they own a team that guards one of its topics."""
    number: int | None
    """The memory's number, when the person may read it."""


def tell_of_reveal(core: Core, organization: str, persons: frozenset[str], *, by: str, memory: str, author: str, reason: str) -> None:
    """Leave people a notice that a memory was revealed to `by`."""
    for person in sorted(persons):
        told = {"at": core.clock().isoformat(), "by": by, "memory": memory, "author": author, "reason": reason}
        core.storage.records(RECORDS).put(organization, f"{person}/{new_id()}", told)


def notices(core: Core, principal: Principal) -> tuple[Notice, ...]:
    """What the person has not dismissed yet, oldest first."""
    prefix = f"{principal.person}/"
    found = core.storage.records(RECORDS).items(principal.organization, prefix)
    if not found:
        return ()

    def use(transaction: Transaction, roster: Roster, _: Reach) -> tuple[Notice, ...]:
        readable = transaction.memories([told["memory"] for told in found.values()])
        return tuple(
            Notice(
                key.removeprefix(prefix),
                datetime.fromisoformat(told["at"]),
                safe(roster.people[told["by"]].name)[0],
                safe(told["reason"])[0],
                told["author"] == principal.person,
                readable[told["memory"]].number if told["memory"] in readable else None,
            )
            for key, told in found.items()
        )

    return read(core, principal, use)


def dismiss(core: Core, principal: Principal, notice: str) -> None:
    """Show one of the person's notices no more; nothing happens when there is none."""
    core.storage.records(RECORDS).change(principal.organization, f"{principal.person}/{notice}", lambda _: None)
