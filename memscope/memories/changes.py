"""The one door: plan, compute the effect, see what consent it needs, accept it, write. Once the epoch rose, from the start."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, TypeVar

from memscope.approvals.accept import Proposal, TicketNeeded, accept
from memscope.approvals.consent import Consent
from memscope.approvals.needs import Asks, needs, saved_here
from memscope.contracts.events import Event
from memscope.contracts.storage import IndexEntry, Transaction
from memscope.core import Core
from memscope.errors import Conflict
from memscope.memories import noting
from memscope.memories.open import open_memory
from memscope.memories.texts import doubtful_labels
from memscope.memories.view import change_answer
from memscope.model.audience import Permission
from memscope.model.audit import Act, ApprovedVia
from memscope.model.memory import Memory, Version
from memscope.model.organization import Roster
from memscope.model.principal import Principal
from memscope.policy.effect import Effect, effect
from memscope.work import at_current_epoch

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Situation:
    """What a planner looks at: the memory as it is, locked, and everything at one epoch."""

    memory: Memory
    roster: Roster
    principal: Principal
    now: datetime
    transaction: Transaction


@dataclass(frozen=True, slots=True)
class Plan:
    """What a change would make of a memory."""

    after: Memory
    """Equal to the memory as it is when there is nothing to do."""
    asks: Asks
    version: Version | None = None
    """The new text, when the content changes."""
    index: IndexEntry | None = None
    detail: Mapping[str, str | int | bool | None] = field(default_factory=dict)
    """For the audit row: labels and ids."""
    also: tuple[Memory, Memory] | None = None
    """Another memory, before and after, that changes with it: a successor that inherits a flag."""


@dataclass(frozen=True, slots=True)
class Change:
    """A change that a caller asked for."""

    tool: str
    action: str
    """`area.verb` of the audit row."""
    reference: str
    permission: Permission
    arguments: Mapping[str, Any]
    """What consent is bound to beside the place and level that the change leads to and the agent's words."""
    plan: Callable[[Situation], Plan]
    expected_version: int | None = None
    agent: str | None = None
    run_id: str | None = None
    reason: str | None = None
    links: bool = False
    """Whether it changes a supersede link: those wait for each other before any memory is locked."""
    doubtful: bool | None = None
    """Whether the labels hold a secret or read like orders, where that is known already: then no audit row repeats them."""


@dataclass(frozen=True, slots=True)
class Done:
    """What became of a change."""

    before: Memory
    after: Memory
    changed: bool
    effect: Effect
    roster: Roster
    approved_via: ApprovedVia


class Previewed(Exception):
    """What a change would do, raised in place of doing it: the same plan, rolled back."""

    def __init__(self, before: Memory, after: Memory, effect: Effect, roster: Roster) -> None:
        super().__init__("only shown")
        self.before = before
        self.after = after
        self.effect = effect
        self.roster = roster


def carry_out(core: Core, principal: Principal, change: Change, consent: Consent, answer: Callable[[Transaction, Done], T]) -> T:
    """Carry out a change of one memory, or raise and leave everything as it was.

    `answer` shapes the reply inside the same transaction. Raises NotFound, Forbidden, Conflict, ConfirmRequired, AskPerson.
    """

    doubtful = doubtful_labels(core, principal, change.agent, change.run_id) if change.doubtful is None else change.doubtful
    agent, run_id = (None, None) if doubtful else (change.agent, change.run_id)

    def attempt(roster: Roster) -> tuple[Done, T]:
        restoring = change.permission is Permission.RESTORE
        reach = core.rosters.reach(principal, roster, Permission.RESTORE if restoring else Permission.READ)
        act = Act(change.action, principal.person, principal.connection, agent=agent, run_id=run_id)
        with core.storage.begin(reach, act) as transaction:
            if change.links:
                transaction.lock_links()
            memory = open_memory(core, transaction, principal, roster, change.reference, change.permission, lock=True)
            if change.expected_version is not None and change.expected_version != memory.version:
                raise Conflict(
                    f"The memory is at version {memory.version}, not {change.expected_version}: somebody changed it. Nothing was changed.",
                    hint="Read it again with get_memory and decide anew.",
                    current_version=memory.version,
                )
            plan = change.plan(Situation(memory, roster, principal, transaction.now, transaction))
            outcome = effect(memory, plan.after, roster)
            if consent.preview:
                raise Previewed(memory, plan.after, outcome, roster)
            via = _accept(core, transaction, principal, roster, change, memory, plan, outcome, consent)
            changed = plan.after != memory
            if changed:
                transaction.update(memory, plan.after, plan.version, plan.index)
                if plan.also is not None:
                    transaction.update(*plan.also)
            detail = {**plan.detail, "changed": changed, **_changes(memory, plan.after)}
            transaction.describe(replace(act, target=memory.id, approved_via=via, detail=detail))
            done = Done(memory, plan.after, changed, outcome, roster, via)
            return done, answer(transaction, done)

    try:
        done, reply = at_current_epoch(core, principal, attempt)
    except TicketNeeded as needed:
        _write_ticket(core, principal, needed)
        raise needed.error from None
    if done.changed:
        announce(core, principal, change.action, done.after)
        noting.decided(core, principal, change.action, done.before, done.after)
    return reply


def _changes(before: Memory, after: Memory) -> dict[str, str | int | bool | None]:
    """What the audit row says of labels that changed: each as it is now, and as `..._before`."""
    had, have = _labels(before), _labels(after)
    changed = [label for label in have if had[label] != have[label]]
    return {label: have[label] for label in changed} | {f"{label}_before": had[label] for label in changed}


def labels(memory: Memory) -> dict[str, str | int | bool | None]:
    """What the audit row says of a memory."""
    return {
        "scope": memory.place.scope.value,
        "group": memory.place.group,
        "sensitivity": memory.sensitivity.label,
        "held": memory.held,
        "flags": ",".join(sorted(flag.value for flag in memory.flags)),
    }


def _labels(memory: Memory) -> dict[str, str | int | bool | None]:
    return labels(memory) | {"forgotten": memory.forgotten_at is not None, "version": memory.version}


def _accept(
    core: Core,
    transaction: Transaction,
    principal: Principal,
    roster: Roster,
    change: Change,
    memory: Memory,
    plan: Plan,
    outcome: Effect,
    consent: Consent,
) -> ApprovedVia:
    if plan.asks is Asks.NOTHING or plan.after == memory:
        return ApprovedVia.NONE
    here = memory.flagged and saved_here(principal, transaction.versions(memory.id))
    quoted = {name: text for name, text in (("reason", change.reason), ("agent", change.agent), ("run_id", change.run_id)) if text}
    proposal = Proposal(
        change.tool,
        memory,
        core.keys.digest("arguments", [change.tool, dict(change.arguments), quoted, _destination(plan.after)]),
        outcome,
        change_answer(memory, plan.after, outcome, roster, principal),
        quoted,
    )
    return accept(
        core, transaction, principal, roster.organization.confirmation, needs(plan.asks, memory, outcome, here), proposal, consent
    )


def _destination(after: Memory) -> list[str | None]:
    """Where a change leads, in ids: names of groups may come to mean others before the consent is used."""
    return [after.place.scope.value, after.place.group, after.place.person, after.sensitivity.label]


def _write_ticket(core: Core, principal: Principal, needed: TicketNeeded) -> None:
    def attempt(roster: Roster) -> None:
        act = Act("approval.request", principal.person, principal.connection, target=needed.ticket.id, detail={"tool": needed.ticket.tool})
        with core.storage.begin(core.rosters.reach(principal, roster, Permission.READ), act) as transaction:
            transaction.write_ticket(needed.ticket)

    at_current_epoch(core, principal, attempt)


def announce(core: Core, principal: Principal, action: str, memory: Memory) -> None:
    """Tell plugins, after the commit, what happened: ids and labels."""
    detail: dict[str, str | int | bool | None] = {
        "scope": memory.place.scope.value,
        "sensitivity": memory.sensitivity.label,
        "held": memory.held,
    }
    core.hooks.event(Event(action, principal.organization, core.clock(), principal.person, memory.id, detail))
