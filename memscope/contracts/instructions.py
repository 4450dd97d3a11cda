"""Instructions to an AI: a detector's verdict."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reason:
    """One piece of evidence, understandable to the person who reviews."""

    rule: str
    """The family that fired, such as `override`, `hidden_text` or `model`."""
    weight: float
    """0..1: how much it added."""
    start: int
    end: int
    """Half-open range of code points in the text that was handed to the hook."""
    excerpt: str
    """At most 80 characters of the text, invisible characters written as U+XXXX."""
    decoded: str | None = None
    """What an encoded or hidden part says, at most 80 characters."""


@dataclass(frozen=True, slots=True)
class InstructionVerdict:
    """What one detector says of one text. Any flag flags the memory."""

    flag: bool
    score: float
    """0..1, calibrated so that the detector's own threshold is .5."""
    reasons: tuple[Reason, ...] = ()
