"""Taking a review decision back: hold, place, level and open reviews as they were before it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from memscope.approvals.consent import Consent
from memscope.approvals.needs import Asks
from memscope.contracts.storage import Transaction
from memscope.core import Core
from memscope.memories.changes import Change, Done, Plan, Situation, carry_out, labels
from memscope.memories.view import MemoryAnswer, show
from memscope.model.audience import Permission, Place, Scope, Sensitivity
from memscope.model.memory import Memory
from memscope.model.principal import Principal
from memscope.model.review import Finding, Flag, Review, Suggestion


def kept(before: Memory, after: Memory) -> dict[str, Any] | None:
    """What must be known to take a decision back, as plain JSON values; None when its text changed, which nothing brings back."""
    if before.content != after.content:
        return None
    return {
        "version": after.version,
        "scope": before.place.scope.value,
        "group": before.place.group,
        "person": before.place.person,
        "sensitivity": before.sensitivity.label,
        "topics": sorted(before.topics),
        "reviews": [
            {
                "flag": review.flag.value,
                "reason": review.reason,
                "opened_at": review.opened_at.isoformat(),
                "opened_version": review.opened_version,
                "suggested": None
                if review.suggested is None
                else [review.suggested.scope, review.suggested.group, review.suggested.sensitivity],
                "findings": [[f.type, f.source, f.confidence, f.start, f.end, f.excerpt] for f in review.findings],
            }
            for review in before.reviews
        ],
    }


def undo_review(core: Core, principal: Principal, memory_id: str, before: Mapping[str, Any]) -> MemoryAnswer:
    """Put a memory back as it was before a decision, as `kept` said.

    Conflict when anything about it changed since; NotFound and Forbidden when the person may no longer move it.
    """

    def plan(situation: Situation) -> Plan:
        memory = situation.memory
        after = replace(
            memory,
            place=Place(Scope(before["scope"]), before["group"], before["person"]),
            sensitivity=Sensitivity.parse(before["sensitivity"]),
            topics=frozenset(before["topics"]),
            reviews=tuple(_review(review) for review in before["reviews"]),
            review_state="open",
            version=memory.version + 1,
            updated_at=situation.now,
        )
        return Plan(after, Asks.BY_EFFECT, detail=labels(after) | {"resolution": "undone"})

    change = Change("review_memory", "review.undo", memory_id, Permission.MOVE, {"undo": before["version"]}, plan, before["version"])

    def answer(transaction: Transaction, done: Done) -> MemoryAnswer:
        return show(core, transaction, done.roster, principal, [done.after])[0]

    return carry_out(core, principal, change, Consent(), answer)


def _review(value: Mapping[str, Any]) -> Review:
    return Review(
        Flag(value["flag"]),
        value["reason"],
        datetime.fromisoformat(value["opened_at"]),
        value["opened_version"],
        None if value["suggested"] is None else Suggestion(*value["suggested"]),
        tuple(Finding(*finding) for finding in value["findings"]),
    )
