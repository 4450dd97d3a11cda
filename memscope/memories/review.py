"""The review queue, and settling a review."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from memscope.approvals.consent import Consent
from memscope.approvals.needs import Asks
from memscope.contracts.storage import Browse, Listing, Transaction
from memscope.core import Core
from memscope.errors import Conflict, InvalidArgument
from memscope.guarding.examine import Examination
from memscope.memories.changes import Change, Done, Plan, Situation, carry_out, labels
from memscope.memories.places import refuse_place
from memscope.memories.scope import examine_leaving, judged, readers_answer, target
from memscope.memories.texts import clean
from memscope.memories.view import FindingAnswer, MemoryAnswer, ReadersAnswer, Suggested, finding_answers, review_answer, review_url, show
from memscope.model.audience import Permission, Place, Scope, Sensitivity
from memscope.model.memory import REASON_MAX, Memory, Version
from memscope.model.organization import Roster
from memscope.model.principal import Principal
from memscope.model.review import GRAVITY, Flag, Resolution, Review
from memscope.policy.draft import SETTLED
from memscope.policy.permissions import may, may_move_into
from memscope.work import read

ACTIONS = {"approve": Resolution.APPROVED, "reroute": Resolution.REROUTED, "tighten": Resolution.TIGHTENED}


@dataclass(frozen=True, slots=True)
class QueueItem:
    """A memory that waits for a decision."""

    memory: MemoryAnswer
    review_kind: str
    reason: str
    suggested: Suggested | None
    findings: tuple[FindingAnswer, ...]
    opened_at: datetime
    console_url: str


@dataclass(frozen=True, slots=True)
class Queue:
    """The answer of `review_queue`."""

    items: tuple[QueueItem, ...]
    total: int


def review_queue(core: Core, principal: Principal, limit: int = 20) -> Queue:
    """What waits for the person to review, oldest first, and how much in all."""

    def use(transaction: Transaction, roster: Roster, _: object) -> Queue:
        found = transaction.browse(Browse(Listing.REVIEW, limit, core.clock(), oldest_first=True))
        reader = roster.readers[principal.person]
        memories = [memory for memory in found if may(reader, Permission.REVIEW, memory)]
        return Queue(queue_items(core, principal, transaction, roster, memories), transaction.count_reviews())

    return read(core, principal, use)


def queue_items(
    core: Core, principal: Principal, transaction: Transaction, roster: Roster, memories: Sequence[Memory]
) -> tuple[QueueItem, ...]:
    """Memories that wait, as the queue shows them."""
    shown = show(core, transaction, roster, principal, memories)
    return tuple(_item(core, memory, answer, roster) for memory, answer in zip(memories, shown, strict=True))


def _item(core: Core, memory: Memory, answer: MemoryAnswer, roster: Roster) -> QueueItem:
    review = review_answer(memory, roster)
    assert review is not None
    findings = [finding for open_review in memory.reviews for finding in open_review.findings]
    return QueueItem(
        memory=answer,
        review_kind=review.review_kind,
        reason=review.reason,
        suggested=review.suggested,
        findings=finding_answers(tuple(dict.fromkeys(findings))),
        opened_at=min(open_review.opened_at for open_review in memory.reviews),
        console_url=review_url(core, memory),
    )


@dataclass(frozen=True, slots=True)
class ReviewMemory:
    """The arguments of `review_memory`."""

    memory_id: str
    action: str
    scope: Scope | None = None
    team: str | None = None
    project: str | None = None
    sensitivity: Sensitivity | None = None
    reason: str | None = None
    expected_version: int | None = None
    agent: str | None = None
    run_id: str | None = None


@dataclass(frozen=True, slots=True)
class Reviewed:
    """The answer of `review_memory`."""

    memory: MemoryAnswer
    resolution: str
    readers: ReadersAnswer
    redacted: bool
    """Whether credentials were replaced by their types because the memory left its author's sight."""


def review_memory(core: Core, principal: Principal, wanted: ReviewMemory, consent: Consent) -> Reviewed:
    """Approve, reroute or tighten a flagged memory. Settling one flag leaves the others, but for what a move settles."""
    _check_arguments(wanted)
    reason = clean("reason", wanted.reason, REASON_MAX, shortest=0) if wanted.reason is not None else None
    roster = core.rosters.current(principal.organization)
    scope = wanted.scope or (Scope.TEAM if wanted.team else Scope.PROJECT if wanted.project else None)
    leaving = None
    if wanted.action == "reroute":
        leaving = examine_leaving(core, principal, roster, wanted.memory_id, Permission.REVIEW, scope, wanted.agent)

    def plan(situation: Situation) -> Plan:
        if not situation.memory.flagged:
            raise Conflict("The memory waits for no review: there is nothing to settle.")
        after = _settle(situation, wanted, scope, leaving)
        tainted = situation.memory.tainted and wanted.action != "tighten"
        if wanted.action != "tighten":
            _refuse_newer(situation, wanted)
        version = None
        if after.content != situation.memory.content:
            version = Version(after.version, after.content, None, situation.memory.provenance, situation.now, None)
        return Plan(
            after, Asks.APPROVING_INSTRUCTIONS if tainted else Asks.BY_EFFECT, version, detail=labels(after) | {"resolution": wanted.action}
        )

    change = Change(
        "review_memory",
        f"review.{wanted.action}",
        wanted.memory_id,
        Permission.REVIEW,
        {"action": wanted.action},
        plan,
        wanted.expected_version,
        wanted.agent,
        wanted.run_id,
        reason,
    )

    def answer(transaction: Transaction, done: Done) -> Reviewed:
        shown = show(core, transaction, done.roster, principal, [done.after])[0]
        redacted = done.before.masked is not None and done.after.masked is None
        return Reviewed(shown, ACTIONS[wanted.action].value, readers_answer(done, principal), redacted)

    return carry_out(core, principal, change, consent, answer)


def _check_arguments(wanted: ReviewMemory) -> None:
    placed = wanted.scope is not None or wanted.team is not None or wanted.project is not None
    if wanted.action == "reroute" and (not placed or wanted.scope is Scope.PERSONAL):
        raise InvalidArgument("scope", "reroute needs a scope: team, project or organization; to keep it to its author use tighten.")
    if wanted.action != "reroute" and placed:
        raise InvalidArgument("scope", f"scope, team and project belong to reroute, not to {wanted.action}.")
    if wanted.action != "tighten" and wanted.sensitivity is not None:
        raise InvalidArgument("sensitivity", f"sensitivity belongs to tighten, not to {wanted.action}.")


def _settle(situation: Situation, wanted: ReviewMemory, scope: Scope | None, leaving: tuple[int, Examination] | None) -> Memory:
    """The memory as the decision leaves it."""
    memory, roster = situation.memory, situation.roster
    gravest = min(memory.flags, key=GRAVITY.index)
    changed = replace(memory, version=memory.version + 1, updated_at=situation.now, review_state=ACTIONS[wanted.action].value)
    if wanted.action == "approve":
        return replace(changed, reviews=_without(memory, {gravest}))
    if wanted.action == "tighten":
        if wanted.sensitivity is not None:
            # Text that may be orders to an AI is never settled by tightening alone.
            return replace(changed, sensitivity=wanted.sensitivity, reviews=_without(memory, {gravest} - {Flag.INSTRUCTIONS}))
        return replace(changed, place=Place.personal(memory.author), reviews=_without(memory, SETTLED))
    place = target(roster, situation.principal, memory, scope or Scope.TEAM, wanted.team, wanted.project)
    reader = roster.readers[situation.principal.person]
    suggested = next((suggested_place(review, roster) for review in memory.reviews if review.suggested), None)
    if not may_move_into(reader, memory, place, reviewing=True, suggested=suggested):
        raise refuse_place(roster, place)
    # The reviewer chose the place, so only a new suspicion of instructions is raised by judging the text there.
    moved = replace(changed, place=place, reviews=())
    return judged(
        moved, memory, leaving, roster, situation.now, flags=frozenset({Flag.INSTRUCTIONS}) if not memory.tainted else frozenset()
    )


def _without(memory: Memory, settled: frozenset[Flag] | set[Flag]) -> tuple[Review, ...]:
    return tuple(review for review in memory.reviews if review.flag not in settled)


def suggested_place(review: Review, roster: Roster) -> Place | None:
    """The group that a review suggests, as a place; None when it suggests none that is still there."""
    suggestion = review.suggested
    if suggestion is None or suggestion.group is None or suggestion.group not in roster.groups:
        return None
    return Place(roster.groups[suggestion.group].scope, group=suggestion.group)


def _refuse_newer(situation: Situation, wanted: ReviewMemory) -> None:
    """Approving and rerouting act on text no newer than when the review opened or was last shown to this reviewer.

    Naming the current version in `expected_version` is how a caller says that it was shown; the person's own text was.
    """
    if wanted.expected_version is not None:
        return
    newest = situation.transaction.versions(situation.memory.id)[0]
    # Approving settles the gravest flag, rerouting all of them.
    settled = situation.memory.reviews if wanted.action == "reroute" else situation.memory.reviews[:1]
    opened = min(review.opened_version for review in settled)
    if newest.number > opened and newest.provenance.person != situation.principal.person:
        raise Conflict(
            "The text was changed after the review opened. Nothing was changed.",
            hint="Read it with get_memory, and repeat the call with expected_version.",
            current_version=situation.memory.version,
        )
