"""Saving a memory."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from datetime import datetime
from enum import Enum
from typing import Any

from memscope.approvals.consent import Consent
from memscope.contracts.embedding import Vectors
from memscope.contracts.storage import Claim, NumberTaken, Transaction
from memscope.core import Core
from memscope.errors import Conflict, InvalidArgument, NotFound, Unavailable
from memscope.guarding.examine import Examination, Setting, examine
from memscope.guarding.route import Inherited, Routed, route
from memscope.memories import noting
from memscope.memories.changes import announce, labels
from memscope.memories.indexing import index_entry, passage_vectors
from memscope.memories.open import open_memory
from memscope.memories.places import refuse_place, resolve_place
from memscope.memories.related import Near, Related, inherited, near, related
from memscope.memories.texts import clean, provenance
from memscope.memories.times import parse_handoff_until, parse_valid_until
from memscope.memories.view import FindingAnswer, MemoryAnswer, ReviewAnswer, finding_answers, review_answer, show
from memscope.model.audience import Permission, Place, Scope, Sensitivity
from memscope.model.audit import Act
from memscope.model.ids import new_id, new_number
from memscope.model.memory import CONTENT_MAX, KEY_MAX, Kind, Memory, Provenance, Version
from memscope.model.organization import Roster
from memscope.model.principal import Principal
from memscope.policy.explain import readers
from memscope.policy.permissions import may, may_save_into
from memscope.work import at_current_epoch, read

MODEL_PATIENCE_S = 10.0
"""How long a save waits for a model that is just loading: without vectors it could not find what it repeats."""


@dataclass(frozen=True, slots=True)
class Remember:
    """The arguments of `remember`."""

    content: str
    scope: Scope | None = None
    team: str | None = None
    project: str | None = None
    importance: float = 0.5
    idempotency_key: str | None = None
    kind: Kind | None = None
    valid_until: str | None = None
    supersedes: str | None = None
    agent: str | None = None
    run_id: str | None = None


@dataclass(frozen=True, slots=True)
class Remembered:
    """The answer of `remember`."""

    memory: MemoryAnswer
    created: bool
    replayed: bool
    review: ReviewAnswer | None
    related: tuple[Related, ...]
    superseded: str | None
    readers: int
    readers_exact: bool
    findings: tuple[FindingAnswer, ...]
    redacted: tuple[str, ...] = ()
    """Types of credentials that were replaced before storing."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A memory about to be saved, judged and embedded; nothing is stored yet."""

    wanted: Remember
    valid_until: datetime | None
    provenance: Provenance
    examination: Examination
    vectors: Vectors | None
    near: tuple[Near, ...]


def remember(core: Core, principal: Principal, wanted: Remember, consent: Consent = Consent()) -> Remembered:  # noqa: B008 - frozen
    """Save a memory where the person asked, as far as the judgement of its text allows.

    Raises InvalidArgument, UnknownTeam, UnknownProject, Forbidden, NotFound (`supersedes`), Conflict, SecretRejected.
    """
    content = clean("content", wanted.content, CONTENT_MAX)
    key = clean("idempotency_key", wanted.idempotency_key, KEY_MAX, shortest=0) if wanted.idempotency_key is not None else None
    wanted = replace(wanted, content=content, idempotency_key=key)
    if key is not None:
        # Before anything is judged: what was saved once is not refused because its day or its group has passed since.
        earlier = read(core, principal, lambda transaction, roster, _: _earlier(core, transaction, principal, roster, wanted, key))
        if earlier is not None:
            return earlier
    roster = core.rosters.current(principal.organization)
    draft = _draft(core, principal, roster, wanted)
    memory_id = new_id()
    labels_told = not draft.provenance.doubtful

    def attempt(roster: Roster) -> tuple[Remembered, Memory | None]:
        reach = core.rosters.reach(principal, roster, Permission.READ)
        act = Act("memory.remember", principal.person, principal.connection, memory_id)
        if labels_told:
            act = replace(act, agent=wanted.agent, run_id=wanted.run_id)
        with core.storage.begin(reach, act) as transaction:
            if key is not None:
                claim = transaction.claim(core.keys.digest("idempotency-key", key), _digest(core, wanted), memory_id)
                if not claim.fresh:
                    transaction.describe(replace(act, action="memory.remember_again", target=claim.memory))
                    return _replay(core, transaction, principal, roster, wanted, claim), None
            return _store(core, transaction, principal, roster, draft, memory_id, act)

    for _ in range(8):
        try:
            answer, memory = at_current_epoch(core, principal, attempt)
        except NumberTaken:
            continue
        if memory is not None:
            announce(core, principal, "memory.remember", memory)
            noting.saved(core, principal, memory, answer.related, answer.superseded is not None)
        return answer
    raise Unavailable("No free number was found for the memory. Nothing was saved; try again.")


def _digest(core: Core, wanted: Remember) -> str:
    arguments = {
        name: value.value if isinstance(value, Enum) else value for name, value in asdict(wanted).items() if name != "idempotency_key"
    }
    return core.keys.digest("remember", arguments)


def _draft(core: Core, principal: Principal, roster: Roster, wanted: Remember) -> Draft:
    now = core.clock()
    timezone = roster.organization.timezone
    if wanted.kind is Kind.HANDOFF:
        valid_until: datetime | None = parse_handoff_until(wanted.valid_until, timezone, now)
    else:
        valid_until = parse_valid_until(wanted.valid_until, timezone, now) if wanted.valid_until is not None else None
    setting = Setting.of(principal, roster, _place(roster, principal, wanted).scope, wanted.kind, wanted.agent)
    made, _ = provenance(core, roster, principal, setting, wanted.agent, wanted.run_id)
    core.embedding.settle(MODEL_PATIENCE_S)
    examination = examine(core, roster, wanted.content, setting)
    vectors = passage_vectors(core, examination.open_text, roster.people[principal.person].name, now)
    found = near(core, principal, examination.open_text, vectors)
    return Draft(wanted, valid_until, made, examination, vectors, found)


def _place(roster: Roster, principal: Principal, wanted: Remember) -> Place:
    """Where the person asked to save. Raises InvalidArgument, UnknownTeam, UnknownProject, and Forbidden where they may not."""
    scope = _handoff_scope(wanted) if wanted.kind is Kind.HANDOFF else wanted.scope
    place = resolve_place(roster, principal.person, scope, wanted.team, wanted.project)
    if not may_save_into(roster.readers[principal.person], place):
        raise refuse_place(roster, place)
    return place


def _handoff_scope(wanted: Remember) -> Scope:
    if wanted.run_id is None:
        raise InvalidArgument("run_id", "A handoff note needs run_id: it is a note for another agent of the same run.")
    if wanted.team is not None or wanted.scope not in (None, Scope.PROJECT):
        raise InvalidArgument(
            "scope", "A handoff note is shared with one project; give project, or nothing when the person is in only one."
        )
    return Scope.PROJECT


def _store(
    core: Core, transaction: Transaction, principal: Principal, roster: Roster, draft: Draft, memory_id: str, act: Act
) -> tuple[Remembered, Memory]:
    wanted, now = draft.wanted, transaction.now
    older = _superseded(core, transaction, principal, roster, wanted.supersedes)
    # The memories found before the wait count only as far as they can still be read and as they are now.
    fresh = transaction.memories([item.memory.id for item in draft.near])
    reader = roster.readers[principal.person]
    found = [
        Near(fresh[item.memory.id], item.similarity)
        for item in draft.near
        if item.memory.id in fresh and may(reader, Permission.READ, fresh[item.memory.id], by_id=False)
    ]
    memory = Memory(
        id=memory_id,
        number=new_number(),
        content=wanted.content,
        place=_place(roster, principal, wanted),
        sensitivity=Sensitivity.PUBLIC,
        topics=frozenset(),
        provenance=draft.provenance,
        created_at=now,
        updated_at=now,
        kind=wanted.kind,
        importance=wanted.importance,
        valid_until=draft.valid_until,
    )
    routed = route(draft.examination, memory, roster, _inherit(found, older))
    memory = settled(memory, routed, now)
    transaction.insert(
        memory, Version(1, memory.content, memory.masked, draft.provenance, now, None), index_entry(core, memory, roster, draft.vectors)
    )
    if older is not None:
        transaction.update(
            older, replace(older, superseded_by=memory.id, superseded=not memory.held, version=older.version + 1, updated_at=now)
        )
    transaction.describe(replace(act, detail=labels(memory) | ({"supersedes": older.id} if older is not None else {})))
    count = readers(memory, roster, reader)
    answer = Remembered(
        memory=show(core, transaction, roster, principal, [memory])[0],
        created=True,
        replayed=False,
        review=review_answer(memory, roster),
        related=related(found, wanted.content, frozenset({older.id}) if older is not None else frozenset()),
        superseded=older.id if older is not None else None,
        readers=count.count,
        readers_exact=count.exact,
        findings=finding_answers(routed.findings),
        redacted=draft.examination.credentials if memory.masked is None else (),
    )
    return answer, memory


def _inherit(found: list[Near], older: Memory | None) -> Inherited:
    return inherited(found, older) if older is not None else inherited(found)


def _superseded(core: Core, transaction: Transaction, principal: Principal, roster: Roster, reference: str | None) -> Memory | None:
    if reference is None:
        return None
    transaction.lock_links()
    older = open_memory(core, transaction, principal, roster, reference, Permission.SUPERSEDE, lock=True)
    if older.superseded_by is not None:
        raise Conflict(
            "The memory to be replaced has a replacement already. Nothing was saved.",
            hint="Supersede the newest one, or undo the earlier link with supersede_memory.",
        )
    return older


def settled(memory: Memory, routed: Routed, now: datetime, *, standing: bool = False) -> Memory:
    """The memory as routing decided; `standing` keeps the reviews that were open."""
    return replace(
        memory,
        content=routed.content,
        masked=routed.masked,
        place=routed.place,
        sensitivity=routed.sensitivity,
        topics=routed.topics,
        reviews=routed.reviews(now, memory.version, memory.reviews if standing else ()),
    )


def _earlier(core: Core, transaction: Transaction, principal: Principal, roster: Roster, wanted: Remember, key: str) -> Remembered | None:
    claim = transaction.claimed(core.keys.digest("idempotency-key", key))
    return None if claim is None else _replay(core, transaction, principal, roster, wanted, claim)


def _replay(core: Core, transaction: Transaction, principal: Principal, roster: Roster, wanted: Remember, claim: Claim) -> Remembered:
    """The answer of the earlier save as the person reads it now. Conflict for other arguments and for what they no longer read."""
    used = Conflict(
        "This idempotency_key was used before, for something else or something that can no longer be read. Nothing was saved.",
        hint="Use a new key for a new memory.",
    )
    if claim.digest != _digest(core, wanted):
        raise used
    try:
        memory = open_memory(core, transaction, principal, roster, claim.memory)
    except NotFound:
        raise used from None
    count = readers(memory, roster, roster.readers[principal.person])
    answer: dict[str, Any] = {
        "superseded": _linked(core, transaction, principal, roster, wanted.supersedes, memory),
        "related": (),
        "findings": finding_answers(memory.reviews[0].findings if memory.reviews else ()),
    }
    return Remembered(
        memory=show(core, transaction, roster, principal, [memory])[0],
        created=False,
        replayed=True,
        review=review_answer(memory, roster),
        readers=count.count,
        readers_exact=count.exact,
        **answer,
    )


def _linked(core: Core, transaction: Transaction, principal: Principal, roster: Roster, reference: str | None, newer: Memory) -> str | None:
    """The id of the older memory, while the person still reads it and the link still stands."""
    if reference is None:
        return None
    try:
        older = open_memory(core, transaction, principal, roster, reference)
    except NotFound:
        return None
    return older.id if older.superseded_by == newer.id else None
