"""Events: what happened, told to plugins after the commit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened. Holds ids and labels, no text of a memory."""

    action: str
    """As in the audit row, such as `memory.remember` or `review.opened`."""
    organization: str
    at: datetime
    actor: str | None = None
    """Person id."""
    target: str | None = None
    """Id of what it happened to."""
    detail: Mapping[str, str | int | bool | None] = field(default_factory=dict)
