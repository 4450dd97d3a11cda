"""Everything of one organization, as plain collections of frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from memscope.contracts.embedding import Vectors
from memscope.contracts.storage import Claim, IndexEntry, Ticket
from memscope.model.audience import Audience
from memscope.model.audit import NO_ROW, Act, AuditRow, canonical, link
from memscope.model.memory import Memory, Version
from memscope.model.organization import Connection, Group, GroupRole, Organization, Person, Roster, Topic


@dataclass(frozen=True, slots=True)
class Stored:
    """A memory with what belongs to it."""

    memory: Memory
    versions: tuple[Version, ...]
    """Oldest first."""
    terms: tuple[str, ...]
    vectors: Mapping[str, Vectors]
    """Model identity → one row per passage."""

    def indexed(self, index: IndexEntry) -> Stored:
        """The same under another index entry."""
        has_vectors = index.model is not None and index.vectors is not None
        return replace(self, terms=index.terms, vectors={index.model: index.vectors} if has_vectors else {})  # type: ignore[dict-item]


@dataclass
class Tenant:
    """One organization. A writing transaction changes a copy, which replaces the original at commit."""

    organization: Organization
    epoch: int = 1
    people: dict[str, Person] = field(default_factory=dict)
    groups: dict[str, Group] = field(default_factory=dict)
    topics: dict[str, Topic] = field(default_factory=dict)
    removed_topics: frozenset[str] = frozenset()
    memberships: dict[str, dict[str, GroupRole]] = field(default_factory=dict)
    audiences: frozenset[Audience] = frozenset()
    connections: dict[str, Connection] = field(default_factory=dict)
    memories: dict[str, Stored] = field(default_factory=dict)
    numbers: dict[int, str] = field(default_factory=dict)
    claims: dict[tuple[str, str], Claim] = field(default_factory=dict)
    """(person, key) → claim."""
    tickets: dict[str, Ticket] = field(default_factory=dict)
    audit: tuple[AuditRow, ...] = ()
    roster_cache: Roster | None = None

    def copy(self) -> Tenant:
        """A copy to change; the values are shared, for they are frozen."""
        return replace(
            self,
            people=dict(self.people),
            groups=dict(self.groups),
            topics=dict(self.topics),
            memberships={group: dict(members) for group, members in self.memberships.items()},
            connections=dict(self.connections),
            memories=dict(self.memories),
            numbers=dict(self.numbers),
            claims=dict(self.claims),
            tickets=dict(self.tickets),
        )

    def roster(self) -> Roster:
        """What policy knows of it, made once per epoch."""
        if self.roster_cache is None or self.roster_cache.epoch != self.epoch:
            self.roster_cache = Roster(
                self.organization,
                self.epoch,
                dict(self.people),
                dict(self.groups),
                dict(self.topics),
                {group: dict(members) for group, members in self.memberships.items()},
                self.audiences,
                self.removed_topics,
            )
        return self.roster_cache

    def append(self, at: datetime, act: Act) -> None:
        """Chain an audit row."""
        position = len(self.audit) + 1
        previous = self.audit[-1].digest if self.audit else NO_ROW
        self.audit += (AuditRow(position, at, act, previous, link(previous, position, canonical(at, act))),)
