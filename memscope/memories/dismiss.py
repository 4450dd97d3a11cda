"""Settling a review by saying that the text is not sensitive after all."""

from __future__ import annotations

from dataclasses import replace

from memscope.approvals.consent import Consent
from memscope.approvals.needs import Asks
from memscope.contracts.storage import Transaction
from memscope.core import Core
from memscope.errors import Conflict, Forbidden, SecretRejected
from memscope.memories.bench_texts import drop_text, keep_text
from memscope.memories.changes import Change, Done, Plan, Situation, carry_out, labels
from memscope.memories.view import MemoryAnswer, show
from memscope.model.audience import Permission, Scope, Sensitivity
from memscope.model.memory import Memory
from memscope.model.organization import Role, Roster
from memscope.model.principal import Principal
from memscope.model.review import Resolution
from memscope.organizations.topics import BENCH_RECORDS
from memscope.policy.draft import SETTLED
from memscope.policy.permissions import may


def judged_harmless(memory: Memory, roster: Roster) -> Memory | None:
    """The memory without its sensitive topics, at the organization's default level and settled; None where that is no answer.

    It is none for what may be orders to an AI or holds a credential, and for a memory that nothing sensitive was found in.
    """
    topics = frozenset(
        topic for topic in memory.topics if topic in roster.topics and roster.topics[topic].sensitivity < Sensitivity.RESTRICTED
    )
    level = min(memory.sensitivity, roster.organization.default_sensitivity)
    if memory.tainted or memory.masked is not None or (topics, level) == (memory.topics, memory.sensitivity):
        return None
    reviews = tuple(review for review in memory.reviews if review.flag not in SETTLED)
    return replace(memory, topics=topics, sensitivity=level, reviews=reviews)


def not_sensitive(core: Core, principal: Principal, memory_id: str, expected_version: int, consent: Consent) -> MemoryAnswer:
    """Settle a review: the judgement was wrong, the text is as harmless as any. Lowering, so it asks as lowering does.

    NotFound, Forbidden to reviewers who may not change its level, Conflict when it was changed meanwhile or this is no answer to it.
    """

    def plan(situation: Situation) -> Plan:
        memory, roster = situation.memory, situation.roster
        if not memory.flagged:
            raise Conflict("The memory waits for no review: there is nothing to settle.")
        if not may(roster.readers[principal.person], Permission.RECLASSIFY, memory):
            raise Forbidden("Only those who may change how sensitive it is can say that it is not.")
        after = judged_harmless(memory, roster)
        if after is None:
            raise Conflict("Its review is not about how sensitive it is.")
        after = replace(after, version=memory.version + 1, updated_at=situation.now, review_state=Resolution.APPROVED.value)
        detail = labels(after) | {"resolution": "not_sensitive", "sensitivity_before": memory.sensitivity.label}
        return Plan(after, Asks.BY_EFFECT, detail=detail)

    change = Change("review_memory", "review.approve", memory_id, Permission.REVIEW, {"action": "not_sensitive"}, plan, expected_version)

    def answer(transaction: Transaction, done: Done) -> MemoryAnswer:
        return show(core, transaction, done.roster, principal, [done.after])[0]

    return carry_out(core, principal, change, consent, answer)


def teach(core: Core, principal: Principal, before: Memory, after: Memory) -> tuple[str, ...]:
    """Keep a text that was judged harmless on the bench of each topic it lost, as one that is not on the topic; names of those topics.

    Only what everybody in the organization may read: every administrator sees the bench. Only for administrators, and only while
    there is room on the bench.
    """
    roster = core.rosters.current(principal.organization)
    everybodys = after.place.scope is Scope.ORGANIZATION and not after.held and after.sensitivity <= Sensitivity.INTERNAL
    if not everybodys or roster.people[principal.person].role is not Role.ADMIN:
        return ()
    taught = []
    for topic in (roster.topics[one] for one in before.topics - after.topics if one in roster.topics):
        try:
            keep_text(core, principal, topic, after.open_text, on_topic=False, level=None, memory=after.id)
            taught.append(topic.name)
        except (Conflict, SecretRejected):
            # The bench is full, or has this text.
            continue
    return tuple(sorted(taught))


def unteach(core: Core, principal: Principal, text: str) -> None:
    """Take a text that `teach` kept off every bench again: the decision behind it was taken back. Only for administrators."""
    roster = core.rosters.current(principal.organization)
    if roster.people[principal.person].role is not Role.ADMIN:
        return
    for topic in roster.topics.values():
        record = core.storage.records(BENCH_RECORDS).get(principal.organization, topic.id)
        for one in record["texts"] if record else ():
            if one["text"] == text and not one["on_topic"] and one["person"] == principal.person:
                drop_text(core, principal, topic, one["id"])
