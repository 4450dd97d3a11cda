"""Who is asking, and through what."""

from __future__ import annotations

from dataclasses import dataclass

from memscope.model.organization import ConnectionKind


@dataclass(frozen=True, slots=True)
class Principal:
    """A person on a connection. What the person may do is never kept here: it is looked up in the current roster."""

    organization: str
    person: str
    connection: str
    kind: ConnectionKind
    client: str
    """The name shown at consent or given to the token."""
    client_version: str | None = None
    read_only: bool = False
    """Whether the person allowed this connection to read and nothing else."""
