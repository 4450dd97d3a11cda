"""The audit log as an administrator reads it: newest first, filtered, and silent about memories that they may not read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from memscope.contracts.storage import Operator, Transaction
from memscope.core import Core
from memscope.errors import Forbidden
from memscope.model.audience import Reach
from memscope.model.audit import Act, AuditRow
from memscope.model.organization import Role, Roster
from memscope.model.principal import Principal
from memscope.work import read

BATCH = 500
LOOKED_AT = 20_000
"""Rows that one page looks through at most for those that match."""
_OF_MEMORIES = ("memory.", "review.")


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """Which rows; None: any."""

    actor: str | None = None
    """Person id."""
    action: str | None = None
    """The action, or its beginning with a `*` at the end."""
    target: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    def takes(self, row: AuditRow) -> bool:
        """Whether a row matches."""
        act = row.act
        prefix = self.action is not None and self.action.endswith("*")
        return (
            self.actor in (None, act.actor)
            and (self.action is None or (act.action.startswith(self.action[:-1]) if prefix else act.action == self.action))
            and self.target in (None, act.target)
            and (self.since is None or row.at >= self.since)
            and (self.until is None or row.at < self.until)
        )


@dataclass(frozen=True, slots=True)
class AuditPage:
    """Rows, newest first."""

    rows: tuple[AuditRow, ...]
    before: int | None
    """Give this to read on; None: there are no older ones."""


def audit_page(core: Core, principal: Principal, where: AuditFilter, *, before: int | None = None, limit: int = 50) -> AuditPage:
    """A page of the log. Forbidden for all but administrators.

    Of what was done to a memory that they may not read they learn who, what and when.
    """
    roster = core.rosters.current(principal.organization)
    if roster.people[principal.person].role is not Role.ADMIN:
        raise Forbidden("The audit log is for administrators.")
    found: list[AuditRow] = []
    position = _newest(core, principal.organization) + 1 if before is None else before
    looked = 0
    for row in _backwards(core, principal.organization, position):
        if len(found) == limit or looked == LOOKED_AT:
            break
        position, looked = row.position, looked + 1
        if where.takes(row):
            found.append(row)
    readable = _readable(core, principal, found)
    rows = [row if readable(row) else replace(row, act=Act(row.act.action, row.act.actor)) for row in found]
    # A filter on the target must not tell that a hidden memory is there.
    shown = tuple(row for row in rows if where.target is None or row.act.target == where.target)
    return AuditPage(shown, position if position > 1 else None)


def _backwards(core: Core, organization: str, before: int) -> Iterator[AuditRow]:
    while before > 1:
        after = max(0, before - 1 - BATCH)
        with core.storage.begin(Operator("audit log", organization)) as transaction:
            rows = transaction.audit_rows(after, before - 1 - after)
        yield from reversed(rows)
        before = after + 1


def _newest(core: Core, organization: str) -> int:
    """The position of the newest row; positions have no gaps, so that it is found by doubling and halving."""
    with core.storage.begin(Operator("audit log", organization)) as transaction:
        low, step = 0, 1
        while transaction.audit_rows(low + step - 1, 1):
            low, step = low + step, step * 2
        while step > 1:
            step //= 2
            if transaction.audit_rows(low + step - 1, 1):
                low += step
        return low


def _readable(core: Core, principal: Principal, rows: list[AuditRow]) -> Callable[[AuditRow], bool]:
    targets = sorted({row.act.target for row in rows if row.act.target and row.act.action.startswith(_OF_MEMORIES)})

    def use(transaction: Transaction, roster: Roster, _: Reach) -> frozenset[str]:
        return frozenset(transaction.memories(targets))

    found = read(core, principal, use) if targets else frozenset()
    return lambda row: not row.act.action.startswith(_OF_MEMORIES) or row.act.target in found
