"""One memory as the console shows it: text with its evidence marked, history, who reads it, what the person may do with it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from memscope.contracts.storage import Browse, Listing, Transaction
from memscope.core import Core
from memscope.errors import NotFound
from memscope.memories.browse import VersionAnswer, version_answer
from memscope.memories.consequence import People, readers
from memscope.memories.open import open_memory
from memscope.memories.related import Related, near, related
from memscope.memories.review import suggested_place
from memscope.memories.view import MemoryAnswer, Suggested, review_answer, show, withheld
from memscope.model.audience import Permission, Place, Reach
from memscope.model.memory import Memory
from memscope.model.organization import Reader, Roster
from memscope.model.principal import Principal
from memscope.policy.permissions import may, may_move_into, may_read_version
from memscope.text.normalise import preview, safe
from memscope.work import read

LINKS = 20
"""Of the memories that one replaces, how many are shown."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A piece of evidence where it stands in the text that is shown."""

    start: int
    end: int
    type: str
    source: str
    confidence: float


@dataclass(frozen=True, slots=True)
class OpenReview:
    """A flag that waits."""

    flag: str
    reason: str
    opened_at: datetime


@dataclass(frozen=True, slots=True)
class Linked:
    """Another memory, at the other end of a link."""

    number: int
    preview: str


@dataclass(frozen=True, slots=True)
class Item:
    """What the console shows of a memory."""

    memory: MemoryAnswer
    text: str
    """As stored, invisible characters too: the page makes them visible. Credentials are masked but for their author."""
    marks: tuple[Mark, ...]
    """In order of place, without overlaps."""
    other_findings: tuple[Mark, ...]
    """Evidence that has no place in the text shown."""
    versions: tuple[VersionAnswer, ...]
    readers: People
    reviews: tuple[OpenReview, ...]
    suggested: Suggested | None
    may: frozenset[Permission]
    moves_to: tuple[Place, ...]
    """Where the person may move it, but for where it lies; nothing when they may not move it."""
    reroutes_to: tuple[Place, ...]
    """Where they may reroute it in a review."""
    older: tuple[Linked, ...]
    """Readable memories that this one replaces."""
    newer: Linked | None
    """The readable memory that replaces this one, while it does."""


def open_item(core: Core, principal: Principal, memory_id: str) -> Item:
    """One memory that the person may read, by id or number. NotFound."""

    def use(transaction: Transaction, roster: Roster, _: Reach) -> Item:
        memory = open_memory(core, transaction, principal, roster, memory_id)
        reader = roster.readers[principal.person]
        if withheld(memory, principal, roster):
            raise NotFound
        answer = show(core, transaction, roster, principal, [memory], raw=True)[0]
        text = memory.content if memory.author == principal.person else memory.open_text
        placed, loose = _marks(memory, text)
        review = review_answer(memory, roster)
        allowed = frozenset(permission for permission in Permission if may(reader, permission, memory))
        return Item(
            answer,
            text,
            placed,
            loose,
            tuple(
                version_answer(version, principal, roster, hidden=False)
                for version in transaction.versions(memory.id)
                if may_read_version(reader, memory, version)
            ),
            readers(memory, roster, principal),
            tuple(OpenReview(review.flag.value, review.reason, review.opened_at) for review in memory.reviews),
            review.suggested if review else None,
            allowed,
            _places(memory, roster, reader, reviewing=False) if Permission.MOVE in allowed else (),
            _places(memory, roster, reader, reviewing=True) if Permission.REVIEW in allowed and memory.flagged else (),
            tuple(
                _linked(older)
                for older in transaction.browse(Browse(Listing.ALL, LINKS, core.clock(), replaced_by=memory.id))
                if may(reader, Permission.READ, older, by_id=False)
            ),
            next((_linked(newer) for newer in transaction.memories([answer.superseded_by or ""]).values()), None),
        )

    return read(core, principal, use)


def related_to(core: Core, principal: Principal, memory_id: str) -> tuple[Related, ...] | None:
    """Memories like one that the person may read; None while the model is not there. NotFound."""

    def use(transaction: Transaction, roster: Roster, _: Reach) -> Memory:
        memory = open_memory(core, transaction, principal, roster, memory_id)
        if withheld(memory, principal, roster):
            raise NotFound
        return memory

    memory = read(core, principal, use)
    vectors = core.embedding.texts([memory.open_text])
    if vectors is None:
        return None
    return related(near(core, principal, memory.open_text, vectors), memory.open_text, frozenset({memory.id}))


def _linked(memory: Memory) -> Linked:
    return Linked(memory.number, preview(safe(memory.open_text)[0]) if not memory.tainted else "Waits as possible instructions")


def _places(memory: Memory, roster: Roster, reader: Reader, *, reviewing: bool) -> tuple[Place, ...]:
    groups = sorted(roster.groups.values(), key=lambda group: (group.kind.value, group.name.casefold()))
    candidates = [Place.organization(), *(Place(group.scope, group=group.id) for group in groups)]
    suggested = next((place for review in memory.reviews if (place := suggested_place(review, roster))), None)
    if not reviewing:
        candidates.append(Place.personal(memory.author))
    return tuple(
        place
        for place in candidates
        if place != memory.place and may_move_into(reader, memory, place, reviewing=reviewing, suggested=suggested)
    )


def _marks(memory: Memory, text: str) -> tuple[tuple[Mark, ...], tuple[Mark, ...]]:
    """Evidence of the open reviews: (placed in the text shown, without a place in it).

    Spans are of the text as saved; where that is masked, a piece is found again by its own characters, and a credential
    by the type that stands in its place.
    """
    found = {(f.start, f.end, f.type, f.source): f for review in memory.reviews for f in review.findings}
    candidates: list[Mark] = []
    loose: list[Mark] = []
    for finding in found.values():
        start, end = finding.start, finding.end
        if text != memory.content:
            piece = memory.content[start:end]
            start = text.find(piece) if piece and piece in text else text.find(f"[{finding.type}]")
            end = start + (len(piece) if piece and piece in text else len(finding.type) + 2)
        mark = Mark(start, end, finding.type, finding.source, finding.confidence)
        (candidates if 0 <= start < end <= len(text) else loose).append(mark)
    placed: list[Mark] = []
    for mark in sorted(candidates, key=lambda mark: (mark.start, -mark.end)):
        (placed if not placed or placed[-1].end <= mark.start else loose).append(mark)
    return tuple(placed), tuple(loose)
