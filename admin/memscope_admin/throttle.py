"""How often somebody may try to sign in. Kept in storage, so that all workers count together and a restart forgets nothing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from memscope.core import Core

FREE = 5
"""Failures of one account from one address before a wait begins; then 1, 2, 4, ... seconds."""
LONGEST_S = 900
ADDRESS_MAX = 30
"""Failures from one address, whatever the account, in `ADDRESS_WINDOW`."""
ADDRESS_WINDOW = timedelta(minutes=5)
FORGOTTEN_AFTER = timedelta(days=1)
RECORDS = "admin"


class Throttle:
    """Counts the failures of one account from one address. `organization` is where it is kept."""

    def __init__(self, core: Core, organization: str, account: str, address: str) -> None:
        self._records = core.storage.records(RECORDS)
        self._organization = organization
        self._now = core.clock()
        self._pair = f"throttle/{core.keys.digest('throttle', [account.strip().casefold(), address])}"
        self._address = f"throttle/{core.keys.digest('throttle', address)}"

    def wait_s(self) -> int:
        """Seconds to wait before the next try; 0: go on."""
        return max(self._wait(self._pair), self._wait(self._address))

    def failed(self) -> None:
        """Count a failure."""
        self._records.change(self._organization, self._pair, self._one_more)
        self._records.change(self._organization, self._address, self._within_window)

    def succeeded(self) -> None:
        """Forget the failures of this account from this address."""
        self._records.change(self._organization, self._pair, lambda _: None)

    def _wait(self, key: str) -> int:
        record = self._records.get(self._organization, key)
        if record is None:
            return 0
        return max(0, math.ceil((datetime.fromisoformat(record["until"]) - self._now).total_seconds()))

    def _one_more(self, known: Mapping[str, Any] | None) -> Mapping[str, Any]:
        if known is None or self._now - datetime.fromisoformat(known["last"]) >= FORGOTTEN_AFTER:
            known = {"failures": 0}
        failures = known["failures"] + 1
        wait = min(LONGEST_S, 2 ** min(failures - FREE, 16)) if failures >= FREE else 0
        return {"failures": failures, "last": self._now.isoformat(), "until": (self._now + timedelta(seconds=wait)).isoformat()}

    def _within_window(self, known: Mapping[str, Any] | None) -> Mapping[str, Any]:
        if known is None or self._now - datetime.fromisoformat(known["first"]) >= ADDRESS_WINDOW:
            known = {"failures": 0, "first": self._now.isoformat()}
        failures = known["failures"] + 1
        first = datetime.fromisoformat(known["first"])
        until = first + ADDRESS_WINDOW if failures >= ADDRESS_MAX else self._now
        return {"failures": failures, "first": known["first"], "until": until.isoformat()}
