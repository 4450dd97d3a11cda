"""Audit: what a transaction does, said before it begins."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum


class ApprovedVia(Enum):
    """How the person's consent was given (DESIGN section 4); NONE where none was needed."""

    NONE = "none"
    FLAG = "flag"
    CLIENT = "client"
    PERSON = "person"


@dataclass(frozen=True, slots=True)
class Act:
    """What a writing transaction does; becomes its audit row at commit. Free of content and secrets.

    `detail` holds labels, ids, numbers and booleans only.
    """

    action: str
    """`area.verb`, such as `memory.forget` or `person.disable`."""
    actor: str | None = None
    """Person id; None for an operator, whose reason stands in `detail`."""
    connection: str | None = None
    target: str | None = None
    """Id of what it is done to."""
    approved_via: ApprovedVia = ApprovedVia.NONE
    agent: str | None = None
    run_id: str | None = None
    detail: Mapping[str, str | int | bool | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AuditRow:
    """One link of an organization's chain."""

    position: int
    """1, 2, 3, ... without gaps."""
    at: datetime
    act: Act
    previous: str
    """Hex digest of the row before; of zeros for the first."""
    digest: str
    """Hex SHA-256 of the lines `previous`, `position` and `canonical(at, act)`, joined by newlines, in UTF-8."""

    @property
    def intact(self) -> bool:
        """Whether the digest is that of the row's own content."""
        return self.digest == link(self.previous, self.position, canonical(self.at, self.act))


NO_ROW = "0" * 64
"""`previous` of an organization's first row."""


def canonical(at: datetime, act: Act) -> str:
    """What of a row is hashed beside its place in the chain: JSON with sorted keys and no spaces, the time in UTC."""
    return json.dumps(
        {
            "action": act.action,
            "actor": act.actor,
            "agent": act.agent,
            "approved_via": act.approved_via.value,
            "at": at.astimezone(UTC).isoformat(timespec="microseconds"),
            "connection": act.connection,
            "detail": dict(act.detail),
            "run_id": act.run_id,
            "target": act.target,
        },
        sort_keys=True,
        separators=(",", ":"),
        ensure_ascii=False,
    )


def link(previous: str, position: int, content: str) -> str:
    """The digest of a row from the digest before it, its position and its `canonical` content."""
    return hashlib.sha256(f"{previous}\n{position}\n{content}".encode()).hexdigest()
