"""How often somebody may try to sign in. Kept in storage, so that all workers count together and a restart forgets nothing.

A try is counted before it is checked and taken back when it was right: of many at once no more are checked than of one by one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from memscope.core import Core

FREE = 5
"""Failures of one account from one place before a wait begins; then 1, 2, 4, ... seconds."""
LONGEST_S = 900
ADDRESS_MAX = 30
"""Failures from one address, whatever the account, in `ADDRESS_WINDOW`."""
ADDRESS_WINDOW = timedelta(minutes=5)
ACCOUNT_MAX = 100
"""Failures of one account in `ACCOUNT_WINDOW` from devices that it never signed in from."""
ACCOUNT_WINDOW = timedelta(days=1)
FORGOTTEN_AFTER = timedelta(days=1)
RECORDS = "admin"
PREFIX = "throttle/"
PRUNED = 500
"""Records of past days that one sign-in clears away at most."""
Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Counter:
    key: str
    most: int
    window: timedelta


class Throttle:
    """Counts the failures of one account from one place. `organization` is where it is kept.

    `device` is one that the account signed in from before: it has an allowance of its own, so that nobody who fails on purpose,
    from the same address or elsewhere, keeps somebody out of their own account.
    """

    def __init__(self, core: Core, organization: str, account: str, address: str, device: str | None = None) -> None:
        def key(kind: str, *of: str) -> str:
            return f"{PREFIX}{kind}/{core.keys.digest('throttle', [kind, *of])}"

        self._records = core.storage.records(RECORDS)
        self._organization = organization
        self._now = core.clock()
        account = account.strip().casefold()
        self._pair = key("pair", account, device or address)
        self._counters = (
            ()
            if device is not None
            else (
                _Counter(key("address", address), ADDRESS_MAX, ADDRESS_WINDOW),
                _Counter(key("account", account), ACCOUNT_MAX, ACCOUNT_WINDOW),
            )
        )

    def enter(self) -> int:
        """Begin a try: 0, and it counts as failed until it has `succeeded`; or the seconds to wait, and it must not be checked."""
        if wait := max(self._wait(key) for key in (self._pair, *(counter.key for counter in self._counters))):
            return wait
        waits = [self._take(self._pair, self._one_more)]
        for counter in self._counters:
            waits.append(self._take(counter.key, partial(self._within, counter)))
        return max(waits)

    def succeeded(self) -> None:
        """The try was right: forget the failures of this account from this place, and take it back elsewhere."""
        self._records.change(self._organization, self._pair, lambda _: None)
        for counter in self._counters:
            self._records.change(self._organization, counter.key, self._one_less)

    def prune(self) -> None:
        """Clear away what is too old to count."""
        old = [
            key
            for key, record in self._records.items(self._organization, PREFIX).items()
            if self._now - datetime.fromisoformat(record["last"]) >= FORGOTTEN_AFTER
        ]
        for key in old[:PRUNED]:
            self._records.change(self._organization, key, lambda _: None)

    def _wait(self, key: str) -> int:
        record = self._records.get(self._organization, key)
        return 0 if record is None else self._left(record)

    def _left(self, record: Record) -> int:
        return max(0, math.ceil((datetime.fromisoformat(record["until"]) - self._now).total_seconds()))

    def _take(self, key: str, more: Callable[[Record | None], Record]) -> int:
        wait = 0

        def change(known: Record | None) -> Record:
            nonlocal wait
            # Somebody else's try may have come between the look and now.
            wait = 0 if known is None else self._left(known)
            return known if known is not None and wait else more(known)

        self._records.change(self._organization, key, change)
        return wait

    def _one_more(self, known: Record | None) -> Record:
        if known is None or self._now - datetime.fromisoformat(known["last"]) >= FORGOTTEN_AFTER:
            known = {"failures": 0}
        failures = known["failures"] + 1
        wait = min(LONGEST_S, 2 ** min(failures - FREE, 16)) if failures >= FREE else 0
        return {"failures": failures, "last": self._now.isoformat(), "until": (self._now + timedelta(seconds=wait)).isoformat()}

    def _within(self, counter: _Counter, known: Record | None) -> Record:
        if known is None or self._now - datetime.fromisoformat(known["first"]) >= counter.window:
            known = {"failures": 0, "first": self._now.isoformat()}
        failures, first = known["failures"] + 1, datetime.fromisoformat(known["first"])
        until = first + counter.window if failures >= counter.most else self._now
        return {"failures": failures, "first": known["first"], "last": self._now.isoformat(), "until": until.isoformat()}

    def _one_less(self, known: Record | None) -> Record | None:
        if known is None or known["failures"] <= 1:
            return None
        return {**known, "failures": known["failures"] - 1, "until": self._now.isoformat()}
