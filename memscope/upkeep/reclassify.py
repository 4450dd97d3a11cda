"""Judging stored memories again, with the plugins and topics of today.

It only ever tightens: levels rise, topics are added, flags are raised. What it would lower is left as it is and flagged
`fyi` for a person, once: what a review has settled is not put up again. Nobody is asked, so a change that would add a
reader is held instead.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from memscope.contracts.events import Event
from memscope.contracts.storage import IndexEntry, Operator, UnknownAudience
from memscope.core import Core
from memscope.errors import Unavailable
from memscope.guarding.examine import Examination, Setting, examine
from memscope.guarding.route import Inherited, Routed, route
from memscope.memories.changes import labels
from memscope.memories.indexing import index_entry, passage_vectors
from memscope.model.audience import Sensitivity
from memscope.model.audit import Act
from memscope.model.memory import Memory, Version
from memscope.model.organization import Roster, SecretsPolicy
from memscope.model.review import GRAVITY, Flag, Review
from memscope.policy.effect import Effect, effect
from memscope.upkeep.progress import Progress

RECORDS = "upkeep"
BATCH = 50
ATTEMPTS = 8
NAMED_MAX = 5
"""How many of those who gain or lose are named."""


@dataclass
class Reclassified:
    """What going over an organization's memories came to."""

    looked_at: int = 0
    changed: int = 0
    failed: int = 0
    """Memories that no plugin of some kind could judge; they are as they were."""
    gaining: set[str] = field(default_factory=set)
    """Ids of people who gain reading of some memory. Always empty where nothing was held to prevent it."""
    losing: set[str] = field(default_factory=set)


class _Meanwhile(Exception):
    """The memory or the organization was changed since it was judged."""


def reclassify(
    core: Core, organization: str, *, topic: str | None = None, dry_run: bool = False
) -> Generator[Progress, None, Reclassified]:
    """Go over all memories of an organization, forgotten ones too; `topic` (an id): only what is or would be on it.

    Where it stopped is kept, and it goes on from there as long as plugins and topics are the same; a dry run begins at
    the first memory and writes nothing.
    """
    core.embedding.load()
    done = Reclassified()
    records, key = core.storage.records(RECORDS), f"reclassify/{topic or 'all'}"
    state = judging(core, organization)
    cursor = None if dry_run else records.get(organization, key)
    after: str | None = None
    if cursor is not None and cursor["state"] == state:
        after, done.looked_at = cursor["after"], cursor["looked_at"]
    while True:
        with core.storage.begin(Operator("reclassify", organization)) as transaction:
            memories, total = transaction.all_memories(after, BATCH), transaction.count_memories()
        if not memories:
            break
        found: list[str] = []
        for memory in memories:
            line = _one(core, organization, memory, topic, dry_run, done)
            found += [line] if line else []
        after = memories[-1].id
        done.looked_at += len(memories)
        if not dry_run:
            records.put(organization, key, {"after": after, "state": state, "looked_at": done.looked_at})
        yield Progress("Judging again: memory", done.looked_at, max(total, done.looked_at), tuple(found))
    if not dry_run:
        records.change(organization, key, lambda _: None)
    return done


def judging(core: Core, organization: str) -> str:
    """A digest of what judges: plugins and topics."""
    roster = core.rosters.current(organization)
    plugins = [[info.name, info.version, info.state] for info in core.hooks.report]
    topics = [
        [topic.id, topic.key, topic.name, topic.aliases, topic.description, topic.phrases, topic.sensitivity, sorted(topic.teams)]
        for topic in sorted(roster.topics.values(), key=lambda topic: topic.id)
    ]
    return core.keys.digest("reclassify", [plugins, topics])


@dataclass(frozen=True, slots=True)
class Judged:
    """What follows for a memory from judging it now."""

    after: Memory
    """Equal to the memory as it is when nothing follows."""
    lower: str
    """What a judgement from nothing would be lower in, in words; empty when in nothing."""


@dataclass(frozen=True, slots=True)
class Change:
    """A memory before and after it was judged again."""

    before: Memory
    after: Memory


def judge(core: Core, roster: Roster, memory: Memory, topic: str | None, *, noted: bool = True) -> Judged | None:
    """Judge a memory as a roster, which may be a draft, says; None when no plugin of some kind could. Slow; writes nothing.

    `noted` False keeps what shadow plugins say out of their counts.
    """
    setting = Setting(memory.place.scope, memory.kind, roster.people[memory.author].role, memory.provenance.client, memory.provenance.agent)
    examination = examine(core, roster, memory.content, setting, noted=noted)
    if examination.failed:
        return None
    about = _about(examination, topic, memory)
    lower = _lower(memory, about, examination, topic, _holding(roster))
    return Judged(_judged(memory, about, lower, roster, core.clock()), lower)


def _one(core: Core, organization: str, memory: Memory, topic: str | None, dry_run: bool, done: Reclassified) -> str | None:
    """Judge one memory and, unless it is a dry run, write what follows; a line that says what, or None."""
    for _ in range(ATTEMPTS):
        roster = core.rosters.current(organization)
        judged = judge(core, roster, memory, topic)
        if judged is None:
            done.failed += 1
            return None
        after = judged.after
        if after == memory:
            return None
        if not dry_run:
            act = Act("memory.reclassify", target=memory.id, detail=labels(after) | {"sensitivity_before": memory.sensitivity.label})
            try:
                written = _write(core, organization, [Change(memory, after)], act, roster)
            except _Meanwhile:
                written = []
            if not written:
                fresh = _fresh(core, organization, memory.id)
                if fresh is None:
                    return None
                memory = fresh
                continue
        done.changed += 1
        gaining, losing = _gaining_and_losing(memory, after, roster)
        done.gaining |= gaining
        done.losing |= losing
        return _line(memory, after, gaining, losing, roster)
    raise Unavailable("The organization is being changed too fast. Run reclassify again: it goes on where it stopped.")


def reclassify_batch(
    core: Core, organization: str, memories: Sequence[Memory], topic: str, act: Act, note: Callable[[Sequence[Change]], None]
) -> bool:
    """Judge some memories by one topic and write what follows in one transaction, with one audit row; whether all could be judged.

    The row is written where nothing follows, too: who may not read a memory would learn from one that its text is on the topic.

    `note` is told what will be written before it is, and told again when that was not what became of it: a memory that
    somebody changed meanwhile is judged once more and written in a row of its own.
    """
    pending, whole, noted = {memory.id: memory for memory in memories}, True, list[Change]()
    for _ in range(ATTEMPTS):
        roster = core.rosters.current(organization)
        changes = []
        for memory in pending.values():
            judged = judge(core, roster, memory, topic)
            whole = whole and judged is not None
            if judged is not None and judged.after != memory:
                changes.append(Change(memory, judged.after))
        if not changes:
            if not noted:
                with core.storage.begin(Operator("reclassify", organization), act):
                    pass
            return whole
        note([*noted, *changes])
        try:
            written = _write(core, organization, changes, act, roster)
        except _Meanwhile:
            note(noted)
            continue
        noted += written
        missed = [change.before.id for change in changes if change not in written]
        if not missed:
            return whole
        note(noted)
        fresh = [_fresh(core, organization, memory) for memory in missed]
        pending = {memory.id: memory for memory in fresh if memory is not None}
    raise Unavailable("The organization is being changed too fast. It goes on where it stopped.")


def _fresh(core: Core, organization: str, memory_id: str) -> Memory | None:
    with core.storage.begin(Operator("reclassify", organization)) as transaction:
        return transaction.memory(memory_id)


def _holding(roster: Roster) -> Roster:
    """What is stored cannot be refused or unsaid any more; a credential found now is held back."""
    return replace(roster, organization=replace(roster.organization, secrets=SecretsPolicy.HOLD))


def _about(examination: Examination, topic: str | None, memory: Memory) -> Examination:
    """The judgement as far as it is about one topic; whole when none is named."""
    if topic is None:
        return examination
    return replace(
        examination,
        open_text=memory.open_text,
        sensitivity=Sensitivity.PUBLIC,
        topics=examination.topics & {topic} | memory.topics - {topic},
        implying=examination.implying & {topic},
        low_confidence=False,
        instructions=False,
        credentials=(),
    )


def _judged(memory: Memory, examination: Examination, lower: str, roster: Roster, now: datetime) -> Memory:
    """The memory as it should be; equal to what it is when nothing follows."""
    routed = route(examination, memory, _holding(roster), Inherited())
    reviewed = memory.review_state != "none"
    masked = routed.masked if examination.holds_credentials else memory.masked
    moved = replace(
        memory,
        place=routed.place if masked != memory.masked else memory.place,
        sensitivity=routed.sensitivity,
        topics=routed.topics,
        masked=masked,
    )
    tightened = moved != memory
    # What a review has settled is not put up again, unless there is something new about it.
    fresh = {
        Flag.INSTRUCTIONS: not (reviewed or memory.tainted),
        Flag.AUDIENCE: tightened or not reviewed,
        Flag.SETUP_GAP: tightened or not reviewed,
        Flag.FYI: tightened,
    }
    raised = [item for item in routed.raised if fresh[item[0]]]
    if lower and memory.place.shared and not (reviewed or tightened or memory.flagged):
        raised.append((Flag.FYI, lower, None))
    reviews = replace(routed, raised=tuple(raised)).reviews(now, memory.version + 1, memory.reviews)
    after = replace(moved, reviews=reviews)
    if after == memory:
        return memory
    after = replace(after, version=memory.version + 1, updated_at=now)
    return _held(after, routed, now) if _flags_apart(memory, after, roster).widens else after


def _flags_apart(memory: Memory, after: Memory, roster: Roster) -> Effect:
    """What a change does but for opening reviews, which let their reviewers look: that is what they are for."""
    return effect(replace(memory, reviews=()), replace(after, reviews=()), roster)


def _gaining_and_losing(memory: Memory, after: Memory, roster: Roster) -> tuple[frozenset[str], frozenset[str]]:
    gaining = frozenset[str]() if after.held else _flags_apart(memory, after, roster).gains
    return gaining, effect(memory, after, roster).loses


def _lower(memory: Memory, about: Examination, whole: Examination, topic: str | None, roster: Roster) -> str:
    """What a judgement from nothing would be lower in, in words; empty when in nothing.

    By one topic the level counts only where the memory is guarded by it and, judged as a whole, would not be any more.
    """
    bare = replace(memory, sensitivity=Sensitivity.PUBLIC, topics=frozenset())
    dropped = sorted(
        roster.topics[one].name for one in memory.topics - route(about, bare, roster, Inherited()).topics if one in roster.topics
    )
    level = route(whole, bare, roster, Inherited()).sensitivity
    falls = level < memory.sensitivity if topic is None else topic in memory.topics and level < Sensitivity.RESTRICTED <= memory.sensitivity
    parts = []
    if falls and (topic is None or not dropped):
        parts.append(f"it would be {_level(level)} rather than {_level(memory.sensitivity)}")
    if dropped:
        parts.append(f"it would not be about {', '.join(dropped)}")
    return f"Judged again, {' and '.join(parts)}. It was left as it is." if parts else ""


def _held(after: Memory, routed: Routed, now: datetime) -> Memory:
    review = Review(Flag.AUDIENCE, "Judged again, more people could read it.", now, after.version, None, routed.findings)
    reviews = {review.flag: review, **{known.flag: known for known in after.reviews}}
    return replace(after, reviews=tuple(reviews[flag] for flag in GRAVITY if flag in reviews))


def _write(core: Core, organization: str, changes: Sequence[Change], act: Act, roster: Roster) -> list[Change]:
    """Store changes in one transaction, but for those of memories that changed meanwhile; returns the ones stored.

    _Meanwhile when the organization changed. The index is made anew where the open text changed.
    """
    texts = {change.before.id: _masked_now(core, change, roster) for change in changes if change.after.masked != change.before.masked}
    for _ in range(ATTEMPTS):
        written: list[Change] = []
        try:
            with core.storage.begin(Operator("reclassify", organization), act) as transaction:
                if not roster.same_facts(core.rosters.current(organization)):
                    raise _Meanwhile
                for change in changes:
                    fresh = transaction.memory(change.before.id, lock=True)
                    if fresh is not None and fresh.version == change.before.version:
                        transaction.update(fresh, change.after, *texts.get(change.before.id, (None, None)))
                        written.append(change)
                if not written:
                    raise _Meanwhile
        except UnknownAudience as unknown:
            core.storage.intern(organization, unknown.audience)
        else:
            for change in written:
                detail = labels(change.after) | {"sensitivity_before": change.before.sensitivity.label}
                core.hooks.event(Event("memory.reclassify", organization, core.clock(), None, change.after.id, detail))
            return written
    raise Unavailable("The organization is being changed too fast. Run reclassify again: it goes on where it stopped.")


def _masked_now(core: Core, change: Change, roster: Roster) -> tuple[Version, IndexEntry]:
    after = change.after
    reason = "Judged again: it holds a credential."
    version = Version(after.version, after.content, after.masked, change.before.provenance, after.updated_at, reason)
    return version, _index(core, after, roster)


def _index(core: Core, after: Memory, roster: Roster) -> IndexEntry:
    vectors = passage_vectors(core, after.open_text, roster.people[after.author].name, after.created_at)
    return index_entry(core, after, roster, vectors)


def _line(before: Memory, after: Memory, gaining: frozenset[str], losing: frozenset[str], roster: Roster) -> str:
    parts = []
    if after.sensitivity is not before.sensitivity:
        parts.append(f"{_level(before.sensitivity)} -> {_level(after.sensitivity)}")
    if added := sorted(roster.topics[topic].key for topic in after.topics - before.topics if topic in roster.topics):
        parts.append(f"on {', '.join(added)}")
    if after.masked != before.masked:
        parts.append("holds a credential, kept to its author")
    if flags := [flag.value for flag in GRAVITY if flag in after.flags - before.flags]:
        parts.append(f"flagged {', '.join(flags)}")
    for verb, people in (("loses", losing), ("gains", gaining)):
        if people:
            names = sorted(roster.people[person].email for person in people)
            more = f" and {len(names) - NAMED_MAX} more" if len(names) > NAMED_MAX else ""
            parts.append(f"{len(names)} {verb[:-1] if len(names) > 1 else verb} reading: {', '.join(names[:NAMED_MAX])}{more}")
    return f"{before.number}: {'; '.join(parts)}"


def _level(level: Sensitivity) -> str:
    return level.label.replace("_", " ")
