"""Judging what is stored again by one topic, as a job that an administrator starts in the console and the server runs.

A job goes on where it stopped after a pause or a restart, and begins anew when its topic or a plugin changed. Each batch is
one transaction with one audit row. What each memory was labelled before is kept, so that the job can be undone by somebody
who may change those memories: giving reading back is a change of sensitivity like any other.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from enum import Enum
from typing import Any

from memscope.approvals.consent import Consent
from memscope.approvals.needs import Asks
from memscope.contracts.storage import Operator, Records, Transaction
from memscope.core import Core
from memscope.errors import Conflict, Forbidden, NotFound
from memscope.memories.changes import Change, Done, Plan, Situation, carry_out, labels
from memscope.model.audience import Permission, Reach, Sensitivity
from memscope.model.audit import Act
from memscope.model.ids import new_id
from memscope.model.memory import Memory
from memscope.model.organization import Roster, Topic
from memscope.model.principal import Principal
from memscope.model.review import Flag
from memscope.organizations import changes as organization_changes
from memscope.organizations.changes import Outcome, admins
from memscope.policy.effect import effect
from memscope.policy.permissions import may
from memscope.upkeep import reclassify
from memscope.upkeep.jobs import run_each
from memscope.work import read

log = logging.getLogger(__name__)
RECORDS = "reclassify"
BATCH = 50
REMEMBERED = 10
"""Jobs by one topic that can be looked at and undone, the newest."""
SHOWN = 500
"""Changed memories that a summary looks at, newest batches first."""


class State(Enum):
    """What a job is doing."""

    RUNNING = "running"
    """Under way, or waiting for the server to begin or go on with it."""
    PAUSED = "paused"
    DONE = "done"
    UNDOING = "undoing"
    """What it changed is being put back; stopped in between, that goes on when somebody asks."""
    UNDONE = "undone"


class _Stopped(Exception):
    """The job was paused while a batch was judged: nothing of it is written."""


@dataclass(frozen=True, slots=True)
class Job:
    """A run over what is stored."""

    id: str
    topic: str
    """Topic id."""
    person: str
    """Who started it."""
    started_at: str
    """RFC 3339."""
    state: State = State.RUNNING
    judging: str = ""
    """Digest of the topics and plugins that it judges with."""
    after: str | None = None
    """The last memory looked at."""
    looked_at: int = 0
    total: int = 0
    """As known at the last batch. Nobody is told: it counts memories that they may not read."""
    batches: int = 0
    whole: bool = True
    """Whether every memory could be judged."""

    @property
    def percent(self) -> int:
        """How far it is, 0 to 100; 100 only when it is done."""
        if self.state in (State.DONE, State.UNDOING, State.UNDONE):
            return 100
        return min(99, self.looked_at * 100 // self.total) if self.total else 0

    @property
    def started(self) -> datetime:
        """When it was started."""
        return datetime.fromisoformat(self.started_at)

    @property
    def undoable(self) -> bool:
        """Whether it stands still, so that what it did can be put back."""
        return self.state in (State.PAUSED, State.DONE, State.UNDOING)


# -- in the console --------------------------------------------------------------------------------------------------------


def start(core: Core, principal: Principal, topic: Topic) -> Job:
    """Have the server judge what is stored again by a topic. Forbidden but for administrators in the console.

    A job that runs already by this topic begins anew by itself when the topic changed, and is the answer.
    """
    running = next((job for job in jobs(core, principal.organization, topic.id) if job.state is State.RUNNING), None)
    if running is None:
        running = Job(new_id(), topic.id, principal.person, core.clock().isoformat())
        _said(core, principal, "topic.reclassify_start", running)
        _records(core).put(principal.organization, _key(running.id), _kept(running))
        _forget(core, principal.organization, jobs(core, principal.organization, topic.id)[REMEMBERED:])
    core.wake.set()
    return running


def _forget(core: Core, organization: str, old: Sequence[Job]) -> None:
    """Forget jobs that are over, and what their memories were labelled before them."""
    records = _records(core)
    for job in old:
        if job.state in (State.DONE, State.UNDONE):
            for key in (*records.keys(organization, f"batch/{job.id}/"), _key(job.id)):
                records.change(organization, key, lambda _: None)


def pause(core: Core, principal: Principal, job: Job) -> None:
    """Stop after the batch that is being judged."""
    _turn(core, principal, "topic.reclassify_pause", job, (State.RUNNING,), State.PAUSED)


def resume(core: Core, principal: Principal, job: Job) -> None:
    """Go on where a paused job stopped."""
    _turn(core, principal, "topic.reclassify_resume", job, (State.PAUSED,), State.RUNNING)
    core.wake.set()


def jobs(core: Core, organization: str, topic: str) -> list[Job]:
    """The jobs by one topic, newest first."""
    found = _records(core).items(organization, "job/").values()
    return sorted((_job(value) for value in found if value["topic"] == topic), key=lambda job: job.started_at, reverse=True)


def job(core: Core, organization: str, job_id: str) -> Job | None:
    """One job."""
    value = _records(core).get(organization, _key(job_id))
    return None if value is None else _job(value)


def _turn(core: Core, principal: Principal, action: str, job: Job, allowed: Sequence[State], state: State) -> None:
    _said(core, principal, action, job)

    def turned(known: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        return known if known is None or State(known["state"]) not in allowed else {**known, "state": state.value}

    _records(core).change(principal.organization, _key(job.id), turned)


def _said(core: Core, principal: Principal, action: str, job: Job) -> None:
    """The audit row of what an administrator decides about a job; Forbidden to others."""
    organization_changes.carry_out(core, principal, action, admins, lambda _, __: Outcome(job.topic, {"job": job.id}))


# -- in the server ---------------------------------------------------------------------------------------------------------


def run_waiting(core: Core, stopping: Callable[[], bool] = lambda: False) -> None:
    """Run every job that waits, one after the other. The caller leads: `storage.lead("reclassify")`.

    What one job raises is raised when all others had their turn.
    """

    def waiting(organization: str) -> list[str]:
        found = (_job(value) for value in _records(core).items(organization, "job/").values())
        return [job.id for job in sorted(found, key=lambda job: job.started_at) if job.state is State.RUNNING]

    run_each(core, waiting, lambda organization, job_id: run(core, organization, job_id), stopping)


def run(core: Core, organization: str, job_id: str) -> Iterator[Job]:
    """Run one job batch by batch, as long as nobody pauses it; may be stopped after any of them."""
    core.embedding.load()
    while (known := job(core, organization, job_id)) is not None and known.state is State.RUNNING:
        yield _batch(core, organization, known)


def _batch(core: Core, organization: str, job: Job) -> Job:
    judging = reclassify.judging(core, organization)
    if judging != job.judging:
        job = replace(job, judging=judging, after=None, looked_at=0, whole=True)
    with core.storage.begin(Operator("reclassify", organization)) as transaction:
        memories, total = transaction.all_memories(job.after, BATCH), transaction.count_memories()
    if not memories or job.topic not in core.rosters.current(organization).topics:
        return _advanced(core, organization, replace(job, state=State.DONE, total=total))
    number = job.batches + 1
    act = Act("topic.reclassify", job.person, target=job.topic, detail={"job": job.id, "batch": number})
    key = f"batch/{job.id}/{number:08}"
    records = _records(core)

    written = False

    def note(changes: Sequence[reclassify.Change]) -> None:
        nonlocal written
        records.put(organization, key, {"changes": [_labels(change) for change in changes]})
        if not written and State(records.get(organization, _key(job.id))["state"]) is not State.RUNNING:  # type: ignore[index]
            raise _Stopped
        written = True

    try:
        whole = reclassify.reclassify_batch(core, organization, memories, job.topic, act, note)
    except _Stopped:
        records.change(organization, key, lambda _: None)
        return replace(job, state=State.PAUSED)
    return _advanced(
        core,
        organization,
        replace(
            job,
            after=memories[-1].id,
            looked_at=job.looked_at + len(memories),
            total=max(total, job.looked_at + len(memories)),
            batches=number,
            whole=job.whole and whole,
        ),
    )


def _advanced(core: Core, organization: str, job: Job) -> Job:
    """Keep how far a job is; a pause that came meanwhile stands."""

    def moved(known: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        if known is None:
            return None
        state = State(known["state"])
        stopped = state in (State.UNDOING, State.UNDONE) or (state is State.PAUSED and job.state is State.RUNNING)
        return _kept(replace(job, state=state) if stopped else job)

    value = _records(core).change(organization, _key(job.id), moved)
    return job if value is None else _job(value)


# -- undoing ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Summary:
    """What of a job somebody may know: only memories that they read are counted."""

    changed: int
    """Memories that it changed and that are still as it left them."""
    waiting: int
    """Those of them that it put up for review."""
    restorable: int
    """Those of them that the person may put back as they were."""
    gains: frozenset[str]
    """Ids of the people who would read some of those again."""
    more: bool
    """Whether it changed more memories than were looked at."""


def summary(core: Core, principal: Principal, job: Job) -> Summary:
    """What became of a job's memories, as far as the person reads them; the newest SHOWN alone."""
    keys = _records(core).keys(principal.organization, f"batch/{job.id}/")[::-1]
    changes: list[Mapping[str, Any]] = []
    more = False
    for key in keys:
        if more := len(changes) >= SHOWN:
            break
        changes += (_records(core).get(principal.organization, key) or {"changes": []})["changes"]

    def use(transaction: Transaction, roster: Roster, _: Reach) -> Summary:
        by_id = {change["memory"]: change for change in changes}
        reader = roster.readers[principal.person]
        found = transaction.memories(list(by_id))
        left = [memory for memory in found.values() if may(reader, Permission.READ, memory) and _unchanged(memory, by_id[memory.id])]
        restorable = [memory for memory in left if may(reader, Permission.RECLASSIFY, memory)]
        gains = [effect(memory, _restored(memory, by_id[memory.id], memory.updated_at), roster).gains for memory in restorable]
        waiting = sum(1 for memory in left if memory.flagged and not set(by_id[memory.id]["before"]["flags"]) >= _flags(memory))
        return Summary(len(left), waiting, len(restorable), frozenset[str]().union(*gains), more)

    return read(core, principal, use)


def undo(core: Core, principal: Principal, job: Job, seconds: float) -> tuple[Job, int]:
    """Put back the labels that memories had before a job, as long as `seconds` last; the job as it then is, and how many were put back.

    As the person in the console, with the rights and the record of a change of sensitivity. What they may not change, and what
    was changed since, stays as it is.
    """
    if not job.undoable:
        raise Conflict("Pause the job first: it is still running.")
    if job.state is not State.UNDOING:
        _turn(core, principal, "topic.reclassify_undo", job, (State.PAUSED, State.DONE), State.UNDOING)
    records, until, restored = _records(core), time.monotonic() + seconds, 0
    for key in records.keys(principal.organization, f"batch/{job.id}/")[::-1]:
        for change in (records.get(principal.organization, key) or {"changes": []})["changes"]:
            restored += _undo_one(core, principal, change)
        records.change(principal.organization, key, lambda _: None)
        if time.monotonic() >= until:
            break
    if not records.keys(principal.organization, f"batch/{job.id}/"):
        ended = records.change(principal.organization, _key(job.id), lambda known: known and {**known, "state": State.UNDONE.value})
        return _job(ended) if ended else job, restored
    return replace(job, state=State.UNDOING), restored


def _undo_one(core: Core, principal: Principal, change: Mapping[str, Any]) -> bool:
    def plan(situation: Situation) -> Plan:
        memory = situation.memory
        if not _unchanged(memory, change):
            raise Conflict("The memory was changed since.")
        after = _restored(memory, change, situation.now)
        detail = labels(after) | {"sensitivity_before": memory.sensitivity.label}
        return Plan(after, Asks.BY_EFFECT, detail=detail)

    wanted = Change(
        "change_sensitivity",
        "memory.reclassify_undo",
        change["memory"],
        Permission.RECLASSIFY,
        {"undo": change["version"]},
        plan,
        change["version"],
    )
    try:
        return carry_out(core, principal, wanted, Consent(), _changed)
    except (Conflict, Forbidden, NotFound):
        return False


def _changed(_: Transaction, done: Done) -> bool:
    return done.changed


def _unchanged(memory: Memory, change: Mapping[str, Any]) -> bool:
    """Whether a memory is just as the job left it."""
    after = change["after"]
    now = [memory.version, memory.sensitivity.label, sorted(memory.topics), sorted(_flags(memory))]
    return now == [change["version"], after["sensitivity"], after["topics"], after["flags"]]


def _restored(memory: Memory, change: Mapping[str, Any], now: datetime) -> Memory:
    before = change["before"]
    return replace(
        memory,
        sensitivity=Sensitivity.parse(before["sensitivity"]),
        topics=frozenset(before["topics"]),
        reviews=tuple(review for review in memory.reviews if review.flag.value in before["flags"]),
        review_state=before["review_state"],
        version=memory.version + 1,
        updated_at=now,
    )


# -- records ---------------------------------------------------------------------------------------------------------------


def _labels(change: reclassify.Change) -> dict[str, Any]:
    """Labels before and after; no text, and nothing made of one."""

    def of(memory: Memory) -> dict[str, Any]:
        return {
            "sensitivity": memory.sensitivity.label,
            "topics": sorted(memory.topics),
            "flags": sorted(_flags(memory)),
            "review_state": memory.review_state,
        }

    return {"memory": change.before.id, "version": change.after.version, "before": of(change.before), "after": of(change.after)}


def _flags(memory: Memory) -> set[str]:
    return {flag.value for flag in Flag if flag in memory.flags}


def _records(core: Core) -> Records:
    return core.storage.records(RECORDS)


def _key(job_id: str) -> str:
    return f"job/{job_id}"


def _kept(job: Job) -> dict[str, Any]:
    return {**asdict(job), "state": job.state.value}


def _job(value: Mapping[str, Any]) -> Job:
    return Job(**{**value, "state": State(value["state"])})
