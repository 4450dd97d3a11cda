"""How far a job is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """A step of a job, after which it may be stopped: what was done until here stands."""

    text: str
    """What is being done, to be followed by "3 of 7"."""
    done: int
    total: int
    """As known now; it may grow while others write."""
    found: tuple[str, ...] = ()
    """Lines worth keeping: what was changed or would be."""
