"""A small table of numbers that the threads of a process, and worker processes given the same file, keep together."""

from __future__ import annotations

import mmap
import os
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


class Table:
    """Rows of one format, all zero at first. Read and write them inside `alone`."""

    def __init__(self, format_: str, rows: int, file: Path | None = None) -> None:
        self._row = struct.Struct(format_)
        self._lock = threading.Lock()
        size = self._row.size * rows
        # Open for as long as the process lives.
        self._file = -1 if file is None else os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
        if file is not None:
            os.truncate(self._file, size)
        self._bytes = mmap.mmap(self._file, size)

    def __getitem__(self, row: int) -> tuple[Any, ...]:
        """The numbers of a row."""
        return self._row.unpack_from(self._bytes, row * self._row.size)

    def __setitem__(self, row: int, numbers: tuple[Any, ...]) -> None:
        """Write a row."""
        self._row.pack_into(self._bytes, row * self._row.size, *numbers)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Nobody else reads or writes inside."""
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
