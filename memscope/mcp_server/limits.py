"""How often one connection may call: token buckets in a table of fixed size, which worker processes can share."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable
from pathlib import Path

from memscope.errors import RateLimited
from memscope.mcp_server.table import Table

_BUCKET = "<Qdd"
"""Whose it is (64 bits of a hash), calls left, and when that was so."""
_BUCKETS = 16_384
_PROBES = 16


class Limits:
    """A full minute's calls at once, then at the even rate. Thread-safe.

    Processes given the same `file` count together. The clock must then be one that they share, as the monotonic one is.
    """

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic, file: Path | None = None) -> None:
        self._full = float(per_minute)
        self._rate = per_minute / 60
        self._clock = clock
        self._buckets = Table(_BUCKET, _BUCKETS, file)

    def take(self, key: str) -> None:
        """Count one call; RateLimited, with the seconds until the next may come, when there were too many."""
        owner = int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8).digest()) or 1
        with self._buckets.alone():
            now = self._clock()
            bucket, left = self._find(owner, now)
            allowed = left >= 1
            self._buckets[bucket] = (owner, left - 1 if allowed else left, now)
        if not allowed:
            raise RateLimited(math.ceil((1 - left) / self._rate))

    def _find(self, owner: int, now: float) -> tuple[int, float]:
        """Which bucket a caller has or may have, and the calls left in it."""
        fullest, most = 0, -1.0
        for probe in range(_PROBES):
            bucket = (owner + probe) % _BUCKETS
            known, left, since = self._buckets[bucket]
            left = min(self._full, left + (now - since) * self._rate)
            if known == owner:
                return bucket, left
            if known == 0:
                return bucket, self._full
            # A full bucket says nothing that a new one would not; where all are in use, the fullest loses least.
            if left > most:
                fullest, most = bucket, left
        return fullest, self._full
