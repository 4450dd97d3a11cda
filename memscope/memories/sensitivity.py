"""Changing how sensitive a memory is."""

from __future__ import annotations

from dataclasses import dataclass, replace

from memscope.approvals.consent import Consent
from memscope.approvals.needs import Asks
from memscope.core import Core
from memscope.memories.changes import Change, Plan, Situation, carry_out, labels
from memscope.memories.scope import Changed, changed_answer
from memscope.memories.texts import clean
from memscope.model.audience import Permission, Sensitivity
from memscope.model.memory import REASON_MAX
from memscope.model.principal import Principal


@dataclass(frozen=True, slots=True)
class ChangeSensitivity:
    """The arguments of `change_sensitivity`."""

    memory_id: str
    sensitivity: Sensitivity
    reason: str | None = None
    expected_version: int | None = None
    agent: str | None = None
    run_id: str | None = None


def change_sensitivity(core: Core, principal: Principal, wanted: ChangeSensitivity, consent: Consent) -> Changed:
    """Set the level. Lowering widens, whoever reads it now, and needs the person's confirmation."""
    reason = clean("reason", wanted.reason, REASON_MAX, shortest=0) if wanted.reason is not None else None

    def plan(situation: Situation) -> Plan:
        memory = situation.memory
        if wanted.sensitivity is memory.sensitivity:
            return Plan(memory, Asks.BY_EFFECT)
        after = replace(memory, sensitivity=wanted.sensitivity, version=memory.version + 1, updated_at=situation.now)
        return Plan(after, Asks.BY_EFFECT, detail=labels(after) | {"sensitivity_before": memory.sensitivity.label})

    change = Change(
        "change_sensitivity",
        "memory.change_sensitivity",
        wanted.memory_id,
        Permission.RECLASSIFY,
        {},
        plan,
        wanted.expected_version,
        wanted.agent,
        wanted.run_id,
        reason,
    )
    return carry_out(core, principal, change, consent, lambda transaction, done: changed_answer(core, transaction, principal, done))
