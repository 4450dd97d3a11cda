"""How often one connection may call: token buckets in a table of fixed size, which worker processes can share."""

from __future__ import annotations

import hashlib
import math
import mmap
import os
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from memscope.errors import RateLimited

_BUCKET = struct.Struct("<Qdd")
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
        self._lock = threading.Lock()
        size = _BUCKET.size * _BUCKETS
        # Open for as long as the process lives.
        self._file = -1 if file is None else os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
        if file is not None:
            os.truncate(self._file, size)
        self._table = mmap.mmap(self._file, size)

    def take(self, key: str) -> None:
        """Count one call; RateLimited, with the seconds until the next may come, when there were too many."""
        owner = int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8).digest()) or 1
        with self._alone():
            now = self._clock()
            offset, left = self._find(owner, now)
            allowed = left >= 1
            _BUCKET.pack_into(self._table, offset, owner, left - 1 if allowed else left, now)
        if not allowed:
            raise RateLimited(math.ceil((1 - left) / self._rate))

    def _find(self, owner: int, now: float) -> tuple[int, float]:
        """Where a caller's bucket lies or may be made, and the calls left in it."""
        fullest, most = 0, -1.0
        for probe in range(_PROBES):
            offset = (owner + probe) % _BUCKETS * _BUCKET.size
            known, left, since = _BUCKET.unpack_from(self._table, offset)
            left = min(self._full, left + (now - since) * self._rate)
            if known == owner:
                return offset, left
            if known == 0:
                return offset, self._full
            # A full bucket says nothing that a new one would not; where all are in use, the fullest loses least.
            if left > most:
                fullest, most = offset, left
        return fullest, self._full

    @contextmanager
    def _alone(self) -> Iterator[None]:
        with self._lock:
            if self._file == -1:
                yield
                return
            import fcntl

            fcntl.lockf(self._file, fcntl.LOCK_EX)
            try:
                yield
            finally:
                fcntl.lockf(self._file, fcntl.LOCK_UN)
