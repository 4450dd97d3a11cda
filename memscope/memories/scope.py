"""Changing who a memory is for: moving it to another place."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from memscope.approvals.consent import Consent
from memscope.approvals.needs import Asks
from memscope.contracts.storage import Transaction
from memscope.core import Core
from memscope.errors import Conflict
from memscope.guarding.examine import Examination, Setting, examine
from memscope.guarding.route import Inherited, route
from memscope.memories.changes import Change, Done, Plan, Situation, carry_out, labels
from memscope.memories.open import open_memory
from memscope.memories.places import refuse_place, resolve_place
from memscope.memories.texts import provenance
from memscope.memories.view import MemoryAnswer, ReadersAnswer, ReviewAnswer, reader_count, review_answer, show
from memscope.model.audience import Permission, Place, Scope
from memscope.model.memory import Memory, Version
from memscope.model.organization import Roster
from memscope.model.principal import Principal
from memscope.model.review import Flag
from memscope.policy.draft import SETTLED
from memscope.policy.permissions import may_move_into
from memscope.work import read


@dataclass(frozen=True, slots=True)
class ChangeScope:
    """The arguments of `change_scope`."""

    memory_id: str
    scope: Scope
    team: str | None = None
    project: str | None = None
    reason: str | None = None
    expected_version: int | None = None
    agent: str | None = None
    run_id: str | None = None


@dataclass(frozen=True, slots=True)
class Changed:
    """The answer of `change_scope` and `change_sensitivity`."""

    memory: MemoryAnswer
    changed: bool
    readers: ReadersAnswer
    review: ReviewAnswer | None
    redacted: bool
    """Whether credentials were replaced by their types because the memory left its author's sight."""


def change_scope(core: Core, principal: Principal, wanted: ChangeScope, consent: Consent) -> Changed:
    """Move a memory. The first time it leaves personal scope, it is judged as if it were saved there now."""
    roster = core.rosters.current(principal.organization)
    leaving = examine_leaving(core, principal, roster, wanted.memory_id, Permission.MOVE, wanted.scope, wanted.agent)
    setting = Setting.of(principal, roster, wanted.scope, None, wanted.agent)
    made, reason = provenance(core, roster, principal, setting, wanted.agent, wanted.run_id, wanted.reason)

    def plan(situation: Situation) -> Plan:
        memory = situation.memory
        place = target(situation.roster, principal, memory, wanted.scope, wanted.team, wanted.project)
        if not may_move_into(situation.roster.readers[principal.person], memory, place):
            raise refuse_place(situation.roster, place)
        if place == memory.place:
            return Plan(memory, Asks.BY_EFFECT)
        kept = tuple(review for review in memory.reviews if review.flag not in SETTLED)
        moved = replace(memory, place=place, reviews=kept, version=memory.version + 1, updated_at=situation.now)
        after = judged(moved, memory, leaving, situation.roster, situation.now)
        version = None
        if after.content != memory.content:
            version = Version(after.version, after.content, None, made, situation.now, reason)
        return Plan(after, Asks.BY_EFFECT, version, detail=labels(after))

    change = Change(
        "change_scope",
        "memory.change_scope",
        wanted.memory_id,
        Permission.MOVE,
        {},
        plan,
        wanted.expected_version,
        wanted.agent,
        wanted.run_id,
        reason,
        doubtful=made.doubtful,
    )
    return carry_out(core, principal, change, consent, lambda transaction, done: changed_answer(core, transaction, principal, done))


def target(roster: Roster, principal: Principal, memory: Memory, scope: Scope, team: str | None, project: str | None) -> Place:
    """The place meant; personal means the author's."""
    place = resolve_place(roster, principal.person, scope, team, project)
    return Place.personal(memory.author) if place.scope is Scope.PERSONAL else place


def examine_leaving(
    core: Core, principal: Principal, roster: Roster, reference: str, permission: Permission, scope: Scope | None, agent: str | None
) -> tuple[int, Examination] | None:
    """The judgement of a personal memory that is about to be shared, with the version judged; None when none is.

    Slow, so it comes before the transaction of the change, which checks the version.
    """
    if scope is None or scope is Scope.PERSONAL:
        return None
    memory = read(
        core, principal, lambda transaction, current, _: open_memory(core, transaction, principal, current, reference, permission)
    )
    if memory.place.shared:
        return None
    # Credentials are replaced first: what leaves its author's sight is the text without them.
    setting = Setting.of(principal, roster, scope, memory.kind, agent)
    text = memory.open_text
    examination = examine(core, roster, text, setting)
    if examination.holds_credentials:
        examination = examine(core, roster, examination.open_text, setting)
    return memory.version, examination


def judged(
    moved: Memory,
    before: Memory,
    leaving: tuple[int, Examination] | None,
    roster: Roster,
    now: datetime,
    flags: frozenset[Flag] = frozenset(Flag),
) -> Memory:
    """A moved memory as routing decides when it leaves personal scope; as it is otherwise. `flags` may be raised newly."""
    if before.place.shared or not moved.place.shared:
        return moved
    if leaving is None or leaving[0] != before.version:
        raise Conflict("The memory was changed meanwhile. Nothing was changed; try again.", current_version=before.version)
    routed = route(leaving[1], replace(moved, content=leaving[1].text, masked=None), roster, Inherited())
    raised = replace(routed, raised=tuple(item for item in routed.raised if item[0] in flags))
    return replace(
        moved,
        content=routed.content,
        masked=None,
        sensitivity=routed.sensitivity,
        topics=routed.topics,
        reviews=raised.reviews(now, moved.version, moved.reviews),
    )


def changed_answer(core: Core, transaction: Transaction, principal: Principal, done: Done) -> Changed:
    """The answer of a change of place or level."""
    return Changed(
        show(core, transaction, done.roster, principal, [done.after])[0],
        done.changed,
        readers_answer(done, principal),
        review_answer(done.after, done.roster),
        redacted=done.before.masked is not None and done.after.masked is None,
    )


def readers_answer(done: Done, principal: Principal) -> ReadersAnswer:
    """How many people read it before and after."""
    before = reader_count(done.before, done.effect, done.roster, principal, before=True)
    after = reader_count(done.after, done.effect, done.roster, principal)
    return ReadersAnswer(before.count, after.count)
