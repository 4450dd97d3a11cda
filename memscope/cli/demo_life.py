"""What happens in the sample organization of `memscope demo` once its memories are there: saves, corrections, decisions, recalls."""

from __future__ import annotations

import json
import tomllib
from datetime import timedelta
from importlib import resources
from typing import TYPE_CHECKING, Any

from memscope import usage
from memscope.approvals.consent import Consent
from memscope.contracts.storage import Operator
from memscope.errors import Conflict, Forbidden, NotFound
from memscope.memories.correct import Correct, correct_memory
from memscope.memories.recall import Recall, recall
from memscope.memories.remember import Remember, remember
from memscope.memories.review import ReviewMemory, review_memory
from memscope.memories.trash import Forget, forget_memory
from memscope.model.audience import Scope
from memscope.model.memory import Kind
from memscope.model.organization import Connection, Organization
from memscope.model.principal import Principal
from memscope.organizations.connections import create_token
from memscope.organizations.signing_in import console_connection

if TYPE_CHECKING:
    from memscope.app import MemScope

DAYS = 30
"""For how long before the first run figures of use are made up."""
_AGREED = Consent(confirm_widen=True, confirm_human=True)


def live(app: MemScope, organization: Organization, memories: str) -> None:
    """Let it all happen, once. `memories` are the lines of demo_memories.jsonl, which later steps name."""
    records = app.core.storage.records("demo")
    if records.get(organization.id, "lived") is not None:
        return
    life = _Life(app, organization, memories)
    steps = tomllib.loads(resources.files("memscope.cli").joinpath("demo_life.toml").read_text(encoding="utf-8"))["step"]
    for number, step in enumerate(steps):
        life.step(number, step)
    life.figures()
    app.core.usage.flush()
    records.put(organization.id, "lived", {"done": True})


class _Life:
    def __init__(self, app: MemScope, organization: Organization, memories: str) -> None:
        self.app, self.core, self.organization = app, app.core, organization
        self.people = {person.email.partition("@")[0]: person for person in app.core.rosters.current(organization.id).people.values()}
        self.connections: dict[tuple[str, str], Connection] = {}
        self.named: dict[str, str] = {}
        self.lines = [json.loads(line) for line in memories.splitlines()]
        ids = {line["content"]: line["id"] for line in self.lines}
        with self.core.storage.begin(Operator("demo", organization.id)) as transaction:
            stored = transaction.all_memories(None, 1000)
        self.named |= {ids[memory.content]: memory.id for memory in stored if memory.content in ids}

    def agent(self, by: str, client: str = "Claude Code") -> Principal:
        """An agent of a person's, on a connection of its own."""
        person = self.people[by]
        if (by, client) not in self.connections:
            connection, _ = create_token(self.core, self.app.identities.tokens, self.organization.id, person.id, client)
            self.connections[by, client] = connection
        found = self.connections[by, client]
        return Principal(self.organization.id, person.id, found.id, found.kind, client)

    def in_console(self, by: str) -> Principal:
        """The person in the console."""
        found = console_connection(self.core, self.organization.id, self.people[by].id)
        return Principal(self.organization.id, found.person, found.id, found.kind, found.client)

    def step(self, number: int, step: dict[str, Any]) -> None:
        """One step. What depends on how a text was judged is left out where it was judged otherwise, as other plugins may."""
        try:
            self._step(number, step)
        except (Conflict, Forbidden, NotFound):
            if "review" not in step:
                raise

    def _step(self, number: int, step: dict[str, Any]) -> None:
        by = step["by"]
        if "save" in step:
            wanted = Remember(
                step["save"],
                scope=Scope(step["scope"]) if "scope" in step else None,
                team=step.get("team"),
                project=step.get("project"),
                idempotency_key=f"demo-{number}",
                kind=Kind(step["kind"]) if "kind" in step else None,
                agent=step.get("agent"),
                run_id=step.get("run_id"),
            )
            self.named[step["as"]] = remember(self.core, self.agent(by, step["client"]), wanted).memory.id
        elif "correct" in step:
            wanted_text = Correct(self.named[step["correct"]], step["text"], step.get("reason"))
            correct_memory(self.core, self.agent(by), wanted_text, _AGREED)
        elif "forget" in step:
            forget_memory(self.core, self.agent(by), Forget(self.named[step["forget"]], step["reason"]), _AGREED)
        elif "review" in step:
            decision = ReviewMemory(self.named[step["review"]], step["action"], team=step.get("team"))
            review_memory(self.core, self.in_console(by), decision, Consent())
        else:
            for query in step["recall"]:
                recall(self.core, self.agent(by), Recall(query))

    def figures(self) -> None:
        """Figures of the days before, as if the organization had worked with it all the time: fewer at the weekend, more lately."""
        note, today = self.core.usage.note, self.core.usage.today(self.organization.id)
        for back in range(1, DAYS + 1):
            day = today - timedelta(days=back)
            work = 1 if day.weekday() >= 5 else 3 + (DAYS - back) // 10
            found = work * 3 + back * 7 % 5
            note(self.organization.id, usage.RECALLED, "found", found, day=day)
            note(self.organization.id, usage.RECALLED, "empty", back * 5 % 3, day=day)
            note(self.organization.id, usage.OPENED, count=found * 2 // 5, day=day)
            for kind in ("fact", "decision", "none")[: 1 + back % 3]:
                note(self.organization.id, usage.SAVED, kind, work // 2 + back % 2, day=day)
            if day.weekday() < 5 and back % 2:
                note(self.organization.id, usage.DECIDED, ("approved", "tightened", "rerouted")[back % 3], day=day)
                note(self.organization.id, usage.WAITED, "seconds", 3600 * (1 + back % 7), day=day)
                note(self.organization.id, usage.WAITED, "in_time", day=day)
            for connection in self.connections.values():
                note(self.organization.id, usage.CALLS, connection.id, work * 2 + back % 4, day=day)
        for place, memory in enumerate(self.named.values()):
            if place % 3 == 0:
                note(self.organization.id, usage.MET, memory, 1 + place * 5 % 17)
