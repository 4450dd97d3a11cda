"""What callers are shown of a memory. Field names are those of the answers (DESIGN section 5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memscope.approvals.accept import console_url
from memscope.contracts.storage import Transaction
from memscope.core import Core
from memscope.model.audience import Audience, Permission, Place
from memscope.model.memory import Memory
from memscope.model.organization import ConnectionKind, Roster
from memscope.model.principal import Principal
from memscope.model.review import GRAVITY, Finding, Review, Suggestion
from memscope.policy.effect import Effect
from memscope.policy.explain import ReaderCount, counted
from memscope.policy.permissions import may
from memscope.text.normalise import safe


@dataclass(frozen=True, slots=True)
class Named:
    """A person as others see one."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class ClientName:
    """The program that saved: its name as shown at consent or given to the token, its version as last stated."""

    name: str
    version: str | None


@dataclass(frozen=True, slots=True)
class Suggested:
    """Where a reviewer might send a memory."""

    scope: str | None
    team: str | None
    project: str | None
    sensitivity: str | None


@dataclass(frozen=True, slots=True)
class MemoryAnswer:
    """A memory, as far as the principal may see it."""

    id: str
    number: int
    content: str | None
    kind: str | None
    scope: str
    team: str | None
    project: str | None
    sensitivity: str
    topics: tuple[str, ...]
    importance: float
    version: int
    created_at: datetime
    updated_at: datetime
    valid_until: datetime | None
    expired: bool
    author: Named
    client: ClientName | None
    agent: str | None
    run_id: str | None
    held: bool
    flagged: bool
    review_kind: str | None
    review_state: str
    superseded: bool
    superseded_by: str | None
    forgotten_at: datetime | None
    withheld: bool
    """Whether the text is kept back because it waits for review as instructions."""
    console_url: str | None
    removed_characters: int
    """How many invisible tag and text-direction characters the answer leaves out."""


@dataclass(frozen=True, slots=True)
class FindingAnswer:
    """A piece of evidence; never the secret."""

    type: str
    source: str
    confidence: float
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ReviewAnswer:
    """An open review."""

    review_kind: str
    reason: str
    suggested: Suggested | None


@dataclass(frozen=True, slots=True)
class ReadersAnswer:
    """How many people read a memory before and after a change."""

    before: int
    after: int


def group_slugs(place: Place, roster: Roster) -> tuple[str | None, str | None]:
    """(team, project): slugs or None."""
    if place.group is None or place.group not in roster.groups:
        return None, None
    group = roster.groups[place.group]
    return (group.slug, None) if group.kind.value == "team" else (None, group.slug)


def topic_keys(topics: frozenset[str], roster: Roster) -> tuple[str, ...]:
    """Keys of topics, in order; topics taken out of the list have none."""
    return tuple(sorted(roster.topics[topic].key for topic in topics if topic in roster.topics))


def withheld(memory: Memory, principal: Principal, roster: Roster) -> bool:
    """Whether a memory's text is kept back: over MCP while it waits as instructions, from everybody but its author; and
    from somebody who has just ended their own reading of it."""
    if memory.author == principal.person:
        return False
    if memory.tainted and principal.kind is not ConnectionKind.CONSOLE:
        return True
    restores = memory.forgotten_at is not None
    return not may(roster.readers[principal.person], Permission.RESTORE if restores else Permission.READ, memory)


def visible_successors(transaction: Transaction, roster: Roster, principal: Principal, memories: Sequence[Memory]) -> dict[str, str]:
    """Memory id → id of the replacement, where the link acts and the principal may read the replacement."""
    links = {memory.id: memory.superseded_by for memory in memories if memory.superseded and memory.superseded_by}
    reader = roster.readers[principal.person]
    newer = transaction.memories(sorted(set(links.values()))) if links else {}
    return {older: link for older, link in links.items() if link in newer and may(reader, Permission.READ, newer[link], by_id=False)}


def show(
    core: Core,
    transaction: Transaction,
    roster: Roster,
    principal: Principal,
    memories: Sequence[Memory],
    *,
    raw: bool = False,
) -> list[MemoryAnswer]:
    """The answers for memories that the principal may read. `raw` shows authors the credentials that they saved."""
    successors = visible_successors(transaction, roster, principal, memories)
    return [_show(core, roster, principal, memory, successors.get(memory.id), raw) for memory in memories]


def _show(core: Core, roster: Roster, principal: Principal, memory: Memory, successor: str | None, raw: bool) -> MemoryAnswer:
    team, project = group_slugs(memory.place, roster)
    hidden = withheld(memory, principal, roster)
    mine = memory.author == principal.person
    content, removed = (None, 0) if hidden else safe(memory.content if raw and mine else memory.open_text)
    labels = mine or not memory.provenance.doubtful
    return MemoryAnswer(
        id=memory.id,
        number=memory.number,
        content=content,
        kind=memory.kind.value if memory.kind else None,
        scope=memory.place.scope.value,
        team=team,
        project=project,
        sensitivity=memory.sensitivity.label,
        topics=topic_keys(memory.topics, roster),
        importance=memory.importance,
        version=memory.version,
        created_at=memory.created_at,
        updated_at=memory.updated_at,
        valid_until=memory.valid_until,
        expired=memory.expired(core.clock()),
        author=named(memory.author, roster),
        client=client_of(memory),
        agent=memory.provenance.agent if labels else None,
        run_id=memory.provenance.run_id if labels else None,
        held=memory.held,
        flagged=memory.flagged,
        review_kind=gravest(memory.reviews),
        review_state="open" if memory.flagged else memory.review_state,
        superseded=memory.superseded,
        superseded_by=successor,
        forgotten_at=memory.forgotten_at,
        withheld=hidden,
        console_url=review_url(core, memory) if hidden else None,
        removed_characters=removed,
    )


def named(person: str, roster: Roster) -> Named:
    """A person by id."""
    return Named(person, safe(roster.people[person].name)[0])


def client_of(memory: Memory) -> ClientName | None:
    """The program that saved a memory."""
    provenance = memory.provenance
    return ClientName(provenance.client, provenance.client_version) if provenance.client else None


def gravest(reviews: Sequence[Review]) -> str | None:
    """The gravest open flag."""
    return min((review.flag for review in reviews), key=GRAVITY.index).value if reviews else None


def review_url(core: Core, memory: Memory) -> str:
    """Where a flagged memory is decided."""
    return f"{console_url(core)}/review?memory={memory.number}"


def review_answer(memory: Memory, roster: Roster) -> ReviewAnswer | None:
    """The gravest open review of a memory, with the reasons of all."""
    if not memory.reviews:
        return None
    first = min(memory.reviews, key=lambda review: GRAVITY.index(review.flag))
    reason = " ".join(review.reason for review in memory.reviews)
    suggestion = next((review.suggested for review in memory.reviews if review.suggested), None)
    return ReviewAnswer(first.flag.value, reason, suggested(suggestion, roster))


def suggested(suggestion: Suggestion | None, roster: Roster) -> Suggested | None:
    """A suggestion with slugs for ids."""
    if suggestion is None:
        return None
    group = roster.groups.get(suggestion.group or "")
    team, project = (None, None) if group is None else (group.slug, None) if group.kind.value == "team" else (None, group.slug)
    return Suggested(suggestion.scope, team, project, suggestion.sensitivity)


def finding_answers(findings: Sequence[Finding]) -> tuple[FindingAnswer, ...]:
    """Evidence for an answer: types, sources and spans."""
    return tuple(FindingAnswer(f.type, f.source, round(f.confidence, 3), f.start, f.end) for f in findings)


def reader_count(memory: Memory, effect: Effect, roster: Roster, principal: Principal, *, before: bool = False) -> ReaderCount:
    """How many read a memory, as far as the principal may know."""
    return counted(effect.readers_before if before else effect.readers_after, memory.audience, roster.readers[principal.person])


def change_answer(before: Memory, after: Memory, effect: Effect, roster: Roster, principal: Principal) -> dict[str, Any]:
    """What a change would do: audiences before and after, and how many people gain."""
    reader = roster.readers[principal.person]
    then, now = counted(effect.readers_before, before.audience, reader), counted(effect.readers_after, after.audience, reader)
    gains = counted(len(effect.gains), after.audience, reader)
    return {
        "before": _audience(before.audience, roster) | {"readers": then.count, "readers_exact": then.exact},
        "after": _audience(after.audience, roster) | {"readers": now.count, "readers_exact": now.exact},
        "gains": gains.count if effect.gains else 0,
        "gains_exact": gains.exact or not effect.gains,
    }


def _audience(audience: Audience, roster: Roster) -> dict[str, Any]:
    team, project = group_slugs(audience.place, roster)
    return {
        "scope": audience.place.scope.value,
        "team": team,
        "project": project,
        "sensitivity": audience.sensitivity.label,
        "topics": list(topic_keys(audience.topics, roster)),
        "held": audience.held,
    }
