"""Rows of the memory tables and the domain's types, both ways."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Protocol

from memscope.model.audience import Audience
from memscope.model.memory import Kind, Memory, Provenance, Version
from memscope.model.review import GRAVITY, Finding, Flag, Review, Suggestion

MEMORY = """m.memory_id, m.number, m.audience_id, m.author, m.own, m.content, m.has_secret, m.kind, m.importance, m.version,
m.created_at, m.updated_at, m.valid_until, m.connection_id, m.client, m.client_version, m.agent, m.run_id, m.doubtful, m.reviews, m.review_state,
m.superseded_by,
m.link_acts AND (m.link_until IS NULL OR m.link_until > now()), m.forgotten_at, m.forgotten_by"""
"""What `memory` reads, from `memscope.memory m`."""

VERSION = """v.version, v.content, v.masked, v.person_id, v.connection_id, v.client, v.client_version, v.agent, v.run_id, v.doubtful,
v.changed_at, v.reason, v.replaced_under"""
"""What `version` reads, from `memscope.memory_version v`."""


class Values(Protocol):
    """Turns an audience id into its value."""

    def __call__(self, number: int, /) -> Audience:
        """The audience with this id."""


def utc(moment: datetime | None) -> datetime | None:
    """The same moment with the zone UTC, whatever zone the database session has."""
    return None if moment is None else moment.astimezone(UTC)


def memory(row: tuple[Any, ...], audience: Values) -> Memory:
    """A memory from a row of `MEMORY`. Of one with a secret, `content` is still the masked text: `with_secret`."""
    (
        id_,
        number,
        audience_id,
        author,
        own,
        content,
        has_secret,
        kind,
        importance,
        version_,
        created_at,
        updated_at,
        valid_until,
        connection,
        client,
        client_version,
        agent,
        run_id,
        doubtful,
        reviews,
        review_state,
        superseded_by,
        superseded,
        forgotten_at,
        forgotten_by,
    ) = row
    who = audience(audience_id)
    return Memory(
        id=id_,
        number=number,
        content=content,
        masked=content if has_secret else None,
        place=who.place,
        sensitivity=who.sensitivity,
        topics=who.topics,
        provenance=Provenance(author, connection, client, client_version, agent, run_id, doubtful),
        created_at=created_at.astimezone(UTC),
        updated_at=updated_at.astimezone(UTC),
        kind=None if kind is None else Kind(kind),
        importance=importance,
        version=version_,
        valid_until=utc(valid_until),
        reviews=tuple(map(_review, reviews)) if reviews else (),
        review_state=review_state,
        superseded_by=superseded_by,
        superseded=superseded,
        forgotten_at=utc(forgotten_at),
        forgotten_by=forgotten_by,
        own=own,
    )


def version(row: tuple[Any, ...], audience: Values) -> Version:
    """A version from a row of `VERSION`."""
    number, content, masked, person, connection, client, client_version, agent, run_id, doubtful, changed_at, reason, replaced_under = row
    return Version(
        number=number,
        content=content,
        masked=masked,
        provenance=Provenance(person, connection, client, client_version, agent, run_id, doubtful),
        changed_at=changed_at.astimezone(UTC),
        reason=reason,
        replaced_under=None if replaced_under is None else audience(replaced_under),
    )


def _review(item: dict[str, Any]) -> Review:
    suggested = item["suggested"]
    return Review(
        flag=Flag(item["flag"]),
        reason=item["reason"],
        opened_at=datetime.fromisoformat(item["opened_at"]),
        opened_version=item["opened_version"],
        suggested=None if suggested is None else Suggestion(*suggested),
        findings=tuple(Finding(*finding) for finding in item["findings"]),
    )


def review_items(reviews: tuple[Review, ...]) -> list[dict[str, Any]] | None:
    """The JSON that `_review` reads, gravest first; None for no reviews."""
    if not reviews:
        return None
    return [
        {
            "flag": review.flag.value,
            "reason": review.reason,
            "opened_at": review.opened_at.astimezone(UTC).isoformat(),
            "opened_version": review.opened_version,
            "suggested": None
            if review.suggested is None
            else [review.suggested.scope, review.suggested.group, review.suggested.sensitivity],
            "findings": [[f.type, f.source, f.confidence, f.start, f.end, f.excerpt] for f in review.findings],
        }
        for review in sorted(reviews, key=lambda review: GRAVITY.index(review.flag))
    ]


def memory_values(memory: Memory, audience_id: int) -> dict[str, Any]:
    """The columns of a memory row by name, but for `org_id` and what the database keeps itself."""
    from psycopg.types.json import Jsonb

    reviews = review_items(memory.reviews)
    who = memory.provenance
    return {
        "memory_id": memory.id,
        "number": memory.number,
        "audience_id": audience_id,
        "author": who.person,
        "own": memory.own,
        "content": memory.open_text,
        "has_secret": memory.masked is not None,
        "kind": None if memory.kind is None else memory.kind.value,
        "importance": memory.importance,
        "version": memory.version,
        "created_at": memory.created_at,
        "updated_at": memory.updated_at,
        "valid_until": memory.valid_until,
        "connection_id": who.connection,
        "client": who.client,
        "client_version": who.client_version,
        "agent": who.agent,
        "run_id": who.run_id,
        "doubtful": who.doubtful,
        "reviews": None if reviews is None else Jsonb(reviews),
        "review_state": memory.review_state,
        "opened_at": min((review.opened_at for review in memory.reviews), default=None),
        "tainted": memory.tainted,
        "superseded_by": memory.superseded_by,
        "forgotten_at": memory.forgotten_at,
        "forgotten_by": memory.forgotten_by,
    }


def version_values(memory_id: str, version: Version) -> dict[str, Any]:
    """The columns of a version row by name, but for `org_id` and `replaced_under`."""
    who = version.provenance
    return {
        "memory_id": memory_id,
        "version": version.number,
        "content": version.content,
        "masked": version.masked,
        "person_id": who.person,
        "connection_id": who.connection,
        "client": who.client,
        "client_version": who.client_version,
        "agent": who.agent,
        "run_id": who.run_id,
        "doubtful": who.doubtful,
        "changed_at": version.changed_at,
        "reason": version.reason,
    }


TERM_BYTES = 512
"""A longer term is left out of the index and found by no query: PostgreSQL takes at most 2046 bytes."""


def usable(term: str) -> bool:
    """Whether the word index takes a term."""
    return bool(term) and "\0" not in term and len(term.encode()) <= TERM_BYTES


def quoted(term: str) -> str:
    """A term as text of a tsvector or tsquery."""
    return "'" + term.replace("\\", "\\\\").replace("'", "''") + "'"


def tsvector(terms: Iterable[str]) -> str:
    """The text of a tsvector that holds each term once."""
    return " ".join(quoted(term) for term in dict.fromkeys(terms) if usable(term))
