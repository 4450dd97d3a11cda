"""Checking the audit log: one gap-free chain of digests for each organization."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

from memscope.contracts.storage import Operator
from memscope.core import Core
from memscope.model.audit import NO_ROW, AuditRow
from memscope.upkeep.progress import Progress

BATCH = 1000


@dataclass(frozen=True, slots=True)
class Verified:
    """What a check of one chain found."""

    rows: int
    """Rows that are whole, from the first on."""
    broken: int | None = None
    """Position of the first row that is not as it was written."""
    what: str = ""


def verify(core: Core, organization: str) -> Generator[Progress, None, Verified]:
    """Work the chain out anew and name the first row that was changed, removed or slipped in.

    Rows cut off at the end leave a chain that is whole: compare the number of rows with an earlier check or a backup.
    """
    previous, position = NO_ROW, 0
    while True:
        with core.storage.begin(Operator("audit verify", organization)) as transaction:
            rows = transaction.audit_rows(position, BATCH)
        for row in rows:
            if what := wrong(row, previous, position):
                return Verified(position, position + 1, what)
            previous, position = row.digest, row.position
        if not rows:
            return Verified(position)
        yield Progress("Checking the audit log: row", position, position)


def wrong(row: AuditRow, previous: str, position: int) -> str:
    """What is wrong with a row after the one at a position with a digest; empty when nothing is."""
    if row.position != position + 1:
        return f"it is missing; the next row has position {row.position}"
    if row.previous != previous:
        return "it does not follow from the row before"
    return "" if row.intact else "its content is not what was written"
