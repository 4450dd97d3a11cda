"""Flags and the reviews that they open."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import Enum


class Flag(Enum):
    """Why a memory waits for a person, gravest first."""

    INSTRUCTIONS = "instructions"
    AUDIENCE = "audience"
    SETUP_GAP = "setup_gap"
    FYI = "fyi"


GRAVITY: tuple[Flag, ...] = tuple(Flag)


class Resolution(Enum):
    """How a review ended."""

    APPROVED = "approved"
    REROUTED = "rerouted"
    TIGHTENED = "tightened"


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Where a reviewer might send the memory."""

    scope: str | None = None
    group: str | None = None
    """Group id."""
    sensitivity: str | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """A piece of evidence kept with a memory, with its source; never the secret itself."""

    type: str
    source: str
    """The plugin that said so."""
    confidence: float
    start: int
    end: int
    """Half-open range of code points in the memory's text."""
    excerpt: str = ""
    """Masked and short; empty when the span says enough."""


@dataclass(frozen=True, slots=True)
class Review:
    """An open flag."""

    flag: Flag
    reason: str
    opened_at: datetime
    opened_version: int
    """The memory's version when it opened or was last shown to a reviewer."""
    suggested: Suggestion | None = None
    findings: tuple[Finding, ...] = ()
