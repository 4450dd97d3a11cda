"""Texts kept on a topic's bench with what should come of them: tests that every later edit of the topic is held against."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memscope.contracts.storage import Transaction
from memscope.core import Core
from memscope.errors import Conflict, Forbidden, InvalidArgument, SecretRejected
from memscope.guarding.examine import Setting, examine
from memscope.memories.texts import clean
from memscope.memories.trial import try_text
from memscope.model.audience import Permission, Reach, Scope, Sensitivity
from memscope.model.ids import new_id
from memscope.model.memory import CONTENT_MAX
from memscope.model.organization import Role, Roster, SecretsPolicy, Topic
from memscope.model.principal import Principal
from memscope.organizations.changes import Outcome, admins, carry_out
from memscope.organizations.topics import BENCH_RECORDS
from memscope.policy.permissions import may
from memscope.work import read

MAX = 20


@dataclass(frozen=True, slots=True)
class BenchText:
    """A text that was kept, and what should come of it."""

    id: str
    text: str | None
    """None where it may hold orders to an AI or could not be judged, and the viewer is not who kept it; and where it is of a
    memory that the viewer does not read now."""
    on_topic: bool
    level: str | None
    """The level that it should get; None: any."""
    person: str
    """Who kept it."""
    kept_at: datetime


@dataclass(frozen=True, slots=True)
class Result:
    """What comes of a kept text, and whether that is what should."""

    text: BenchText
    on_topic: bool
    level: str
    passed: bool


def keep_text(
    core: Core, principal: Principal, topic: Topic, text: str, *, on_topic: bool, level: Sensitivity | None, memory: str | None = None
) -> bool:
    """Keep a text on the bench; True when a credential in it was replaced by its type. Forbidden but for administrators.

    `memory` is the id of the memory whose text it is: who does not read that is not shown the text, and it goes when that is erased.
    InvalidArgument for an empty or over-long text, Conflict when MAX are kept or this one is, SecretRejected as for a memory.
    """
    content = clean("bench", text, CONTENT_MAX)
    roster = core.rosters.current(principal.organization)
    judged = examine(core, roster, content, Setting.of(principal, roster, Scope.ORGANIZATION, None, None), noted=False)
    if judged.credentials and roster.organization.secrets is SecretsPolicy.REJECT:
        raise SecretRejected("The text holds a credential, and this organization stores none. It was not kept.")
    if len(judged.open_text) > CONTENT_MAX:
        raise InvalidArgument("bench", f"With its credentials replaced the text is longer than {CONTENT_MAX} characters.")
    value = {
        "id": new_id(),
        "text": judged.open_text,
        "on_topic": on_topic,
        "level": None if level is None else level.label,
        "person": principal.person,
        "kept_at": core.clock().isoformat(),
        # Told to nobody else, like every text that reads like orders or could not be judged.
        "doubtful": judged.instructions or bool(judged.failed),
        "memory": memory,
    }

    def added(known: Mapping[str, Any] | None) -> Mapping[str, Any]:
        texts = list(known["texts"]) if known else []
        if len(texts) >= MAX:
            raise Conflict(f"{MAX} texts are kept already. Take one away first.")
        if any(one["text"] == value["text"] for one in texts):
            raise Conflict("This text is kept already.")
        return {"texts": [*texts, value]}

    records = core.storage.records(BENCH_RECORDS)
    added(records.get(principal.organization, topic.id))
    _said(core, principal, "topic.bench_keep", topic)
    records.change(principal.organization, topic.id, added)
    return bool(judged.credentials)


def drop_text(core: Core, principal: Principal, topic: Topic, text_id: str) -> None:
    """Take a text off the bench. Forbidden but for administrators."""
    _said(core, principal, "topic.bench_drop", topic)

    def without(known: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        left = [one for one in known["texts"] if one["id"] != text_id] if known else []
        return {"texts": left} if left else None

    core.storage.records(BENCH_RECORDS).change(principal.organization, topic.id, without)


def kept(core: Core, principal: Principal, topic: Topic) -> int:
    """How many texts are kept for a topic."""
    record = core.storage.records(BENCH_RECORDS).get(principal.organization, topic.id)
    return len(record["texts"]) if record else 0


def run_bench(core: Core, principal: Principal, roster: Roster, topic: Topic) -> tuple[Result, ...]:
    """Judge what is kept for a topic under a roster, which may hold a draft of it. Forbidden but for administrators."""
    if core.rosters.known(principal.organization).readers[principal.person].role is not Role.ADMIN:
        raise Forbidden("The bench is for administrators.")
    record = core.storage.records(BENCH_RECORDS).get(principal.organization, topic.id)
    results = []
    texts = record["texts"] if record else ()
    read_now = _read_now(core, principal, [one["memory"] for one in texts if one.get("memory")])
    for one in texts:
        trial = try_text(core, roster, principal, one["text"])
        on_topic = any(found == topic.id for found, _ in trial.topics)
        hidden = (one["doubtful"] and one["person"] != principal.person) or (one.get("memory") or "") not in read_now
        text = BenchText(
            one["id"],
            None if hidden else one["text"],
            one["on_topic"],
            one["level"],
            one["person"],
            datetime.fromisoformat(one["kept_at"]),
        )
        passed = on_topic == text.on_topic and text.level in (None, trial.sensitivity)
        results.append(Result(text, on_topic, trial.sensitivity, passed))
    return tuple(results)


def drop_texts_of(core: Core, organization: str, memory: str) -> None:
    """Take the texts of an erased memory (its id) off every bench."""
    records = core.storage.records(BENCH_RECORDS)

    def without(known: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        left = [one for one in known["texts"] if one.get("memory") != memory] if known else []
        return {"texts": left} if left else None

    for topic, record in records.items(organization, "").items():
        if any(one.get("memory") == memory for one in record["texts"]):
            records.change(organization, topic, without)


def _read_now(core: Core, principal: Principal, memories: Sequence[str]) -> frozenset[str]:
    """Those of some memories (ids) that the person reads; and the empty one, of texts that are of no memory."""

    def use(transaction: Transaction, roster: Roster, _: Reach) -> frozenset[str]:
        reader = roster.readers[principal.person]
        return frozenset(one.id for one in transaction.memories(memories).values() if may(reader, Permission.READ, one))

    return (read(core, principal, use) if memories else frozenset()) | {""}


def _said(core: Core, principal: Principal, action: str, topic: Topic) -> None:
    carry_out(core, principal, action, admins, lambda _, __: Outcome(topic.id, {"key": topic.key}))
