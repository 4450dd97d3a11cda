"""Checking the audit log a few seconds at a time: how far it was verified is remembered, so that a check can go on."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memscope.contracts.storage import Operator
from memscope.core import Core
from memscope.model.audit import NO_ROW
from memscope.upkeep.audit_verify import BATCH, wrong

RECORDS = "audit"
BUDGET_S = 4.0
"""How long one step goes on."""
_KEY = "check"


@dataclass(frozen=True, slots=True)
class Check:
    """How far a check has come."""

    rows: int
    """Rows that are whole, from the first on."""
    at: datetime
    finished: bool
    """Whether it reached the newest row, or one that is broken."""
    broken: int | None = None
    """Position of the first row that is not as it was written."""
    what: str = ""


def check_on(core: Core, organization: str, *, afresh: bool, budget_s: float = BUDGET_S) -> Check:
    """Work the chain out anew from its start, or on from where the last check stopped, for `budget_s` seconds.

    Going on trusts what was verified before; only a check from the start finds what has been changed in it since.
    """
    records = core.storage.records(RECORDS)
    before = None if afresh else records.get(organization, _KEY)
    previous, position = (NO_ROW, 0) if before is None or before["broken"] is not None else (before["digest"], before["rows"])
    until = time.monotonic() + budget_s
    broken, what, finished = None, "", False
    while not finished and time.monotonic() < until:
        with core.storage.begin(Operator("audit check", organization)) as transaction:
            rows = transaction.audit_rows(position, BATCH)
        for row in rows:
            if what := wrong(row, previous, position):
                broken, finished = position + 1, True
                break
            previous, position = row.digest, row.position
        finished = finished or len(rows) < BATCH
    found = {"rows": position, "digest": previous, "at": core.clock().isoformat(), "finished": finished, "broken": broken, "what": what}
    records.put(organization, _KEY, found)
    return _read(found)


def last_check(core: Core, organization: str) -> Check | None:
    """The last one; None when there was none."""
    found = core.storage.records(RECORDS).get(organization, _KEY)
    return None if found is None else _read(found)


def _read(found: Mapping[str, Any]) -> Check:
    return Check(found["rows"], datetime.fromisoformat(found["at"]), found["finished"], found["broken"], found["what"])
