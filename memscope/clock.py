"""Time, passed in so that tests can choose it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

#: Returns the current moment, aware, in UTC.
Clock = Callable[[], datetime]


def system_clock() -> datetime:
    """The machine's time in UTC."""
    return datetime.now(UTC)
