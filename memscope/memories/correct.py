"""Correcting a memory: a new version of its text."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from memscope.approvals.consent import Consent
from memscope.approvals.needs import Asks
from memscope.contracts.storage import Transaction
from memscope.core import Core
from memscope.errors import InvalidArgument
from memscope.guarding.examine import Setting, examine
from memscope.guarding.route import Routed, route
from memscope.memories.changes import Change, Done, Plan, Situation, carry_out, labels
from memscope.memories.indexing import index_entry, passage_vectors
from memscope.memories.open import open_memory
from memscope.memories.related import Near, inherited, near
from memscope.memories.remember import MODEL_PATIENCE_S, settled
from memscope.memories.texts import clean, provenance
from memscope.memories.times import parse_handoff_until, parse_valid_until
from memscope.memories.view import FindingAnswer, MemoryAnswer, ReviewAnswer, finding_answers, review_answer, show
from memscope.model.audience import Permission
from memscope.model.memory import CONTENT_MAX, Kind, Memory, Version
from memscope.model.organization import Roster, SecretsPolicy
from memscope.model.principal import Principal
from memscope.model.review import GRAVITY, Flag, Review
from memscope.policy.effect import effect
from memscope.work import read

CLEAR = "none"


@dataclass(frozen=True, slots=True)
class Correct:
    """The arguments of `correct_memory`. `kind` and `valid_until` are as written; "none" clears, None carries over."""

    memory_id: str
    new_content: str
    reason: str | None = None
    kind: str | None = None
    valid_until: str | None = None
    expected_version: int | None = None
    agent: str | None = None
    run_id: str | None = None


@dataclass(frozen=True, slots=True)
class Corrected:
    """The answer of `correct_memory`."""

    memory: MemoryAnswer
    version: int
    review: ReviewAnswer | None
    findings: tuple[FindingAnswer, ...]
    redacted: tuple[str, ...] = ()
    """Types of credentials that were replaced before storing."""


def correct_memory(core: Core, principal: Principal, wanted: Correct, consent: Consent = Consent()) -> Corrected:  # noqa: B008 - frozen
    """Save a corrected text. It keeps the level, topics and flags that the memory had, and may add to them."""
    content = clean("new_content", wanted.new_content, CONTENT_MAX)
    before = read(core, principal, lambda transaction, roster, _: _opened(core, transaction, principal, roster, wanted.memory_id))
    roster = core.rosters.current(principal.organization)
    setting = Setting.of(principal, roster, before.place.scope, before.kind, wanted.agent)
    made, reason = provenance(core, roster, principal, setting, wanted.agent, wanted.run_id, wanted.reason)
    core.embedding.settle(MODEL_PATIENCE_S)
    examination = examine(core, roster, content, setting)
    others = before.author != principal.person and examination.holds_credentials and roster.organization.secrets is SecretsPolicy.HOLD
    redacted = examination.credentials if others or roster.organization.secrets is SecretsPolicy.REDACT else ()
    if others:
        # A raw credential is kept for its author alone, and this text's author is not the memory's: it is not kept at all.
        content = examination.open_text
        examination = examine(core, roster, content, setting)
    vectors = passage_vectors(core, examination.open_text, roster.people[before.author].name, before.created_at)
    found = near(core, principal, examination.open_text, vectors)

    def plan(situation: Situation) -> Plan:
        memory, now = situation.memory, situation.now
        kind, valid_until = _kind_and_end(wanted, memory, situation.roster, now)
        if content == memory.content and (kind, valid_until) == (memory.kind, memory.valid_until):
            return Plan(memory, Asks.NOTHING)
        fresh = situation.transaction.memories([item.memory.id for item in found])
        like = [Near(fresh[item.memory.id], item.similarity) for item in found if item.memory.id in fresh and item.memory.id != memory.id]
        changed = replace(
            memory,
            content=content,
            kind=kind,
            valid_until=valid_until,
            version=memory.version + 1,
            updated_at=now,
            own=memory.own and principal.person == memory.author,
        )
        routed = route(examination, changed, situation.roster, inherited(like, memory))
        after = _flag_widening(memory, settled(changed, routed, now, standing=True), situation.roster, routed, now)
        version = Version(after.version, after.content, after.masked, made, now, reason)
        return Plan(after, Asks.NOTHING, version, index_entry(core, after, situation.roster, vectors), labels(after))

    change = Change(
        "correct_memory",
        "memory.correct",
        wanted.memory_id,
        Permission.CORRECT,
        {},
        plan,
        wanted.expected_version,
        wanted.agent,
        wanted.run_id,
        wanted.reason,
        doubtful=made.doubtful,
    )

    def answer(transaction: Transaction, done: Done) -> Corrected:
        findings = finding_answers(done.after.reviews[0].findings if done.after.reviews else examination.findings)
        shown = show(core, transaction, done.roster, principal, [done.after])[0]
        return Corrected(shown, done.after.version, review_answer(done.after, done.roster), findings, redacted)

    return carry_out(core, principal, change, consent, answer)


def _opened(core: Core, transaction: Transaction, principal: Principal, roster: Roster, reference: str) -> Memory:
    return open_memory(core, transaction, principal, roster, reference, Permission.CORRECT)


def _kind_and_end(wanted: Correct, memory: Memory, roster: Roster, now: datetime) -> tuple[Kind | None, datetime | None]:
    timezone = roster.organization.timezone
    kind = memory.kind if wanted.kind is None else None if wanted.kind == CLEAR else Kind(wanted.kind)
    if (kind is Kind.HANDOFF) != (memory.kind is Kind.HANDOFF):
        raise InvalidArgument("kind", "A memory does not become a handoff note or stop being one; save another with remember.")
    if kind is Kind.HANDOFF and wanted.valid_until is not None:
        return kind, parse_handoff_until(None if wanted.valid_until == CLEAR else wanted.valid_until, timezone, now)
    if wanted.valid_until is None:
        return kind, None if memory.expired(now) and kind is not Kind.HANDOFF else memory.valid_until
    return kind, None if wanted.valid_until == CLEAR else parse_valid_until(wanted.valid_until, timezone, now)


def _flag_widening(before: Memory, after: Memory, roster: Roster, routed: Routed, now: datetime) -> Memory:
    """A correction asks nobody: where it would add a reader it is held instead."""
    # Flags apart: that a review opens lets its reviewers look, which is what it is for.
    if not effect(replace(before, reviews=()), replace(after, reviews=()), roster).widens:
        return after
    review = Review(Flag.AUDIENCE, "With this correction more people could read it.", now, after.version, None, routed.findings)
    reviews = {review.flag: review, **{known.flag: known for known in after.reviews}}
    return replace(after, reviews=tuple(reviews[flag] for flag in GRAVITY if flag in reviews))
