"""What a draft of a topic would mean for what is stored, judged before it is saved: only over memories that the person may read.

Judging takes a plugin some ten milliseconds a memory, so that a preview is made in portions: each call goes on for some
seconds where the last one stopped, and begins anew when the draft or the organization changed.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from memscope.contracts.storage import Browse, Listing, Transaction
from memscope.core import Core
from memscope.errors import NotFound
from memscope.memories.open import open_memory
from memscope.memories.view import show
from memscope.model.audience import Permission, Reach, Sensitivity
from memscope.model.memory import Memory
from memscope.model.organization import Roster, Topic
from memscope.model.principal import Principal
from memscope.organizations.topics import with_draft
from memscope.policy.effect import readers_of
from memscope.policy.permissions import may
from memscope.text.normalise import preview as one_line
from memscope.text.normalise import safe
from memscope.upkeep.reclassify import judge
from memscope.work import read

RECORDS = "topic_preview"
SAMPLE = 2000
"""How many memories are judged, the newest first; beside them, as many of those that wait for review."""
COUNTED = 20_000
"""How far the memories beyond the sample are counted."""
PAGE = 50
PAGE_COUNTING = 500
EXAMPLES = 5


@dataclass(frozen=True, slots=True)
class Somebody:
    """A person who gains or loses."""

    name: str
    memories: int


@dataclass(frozen=True, slots=True)
class Example:
    """A memory that changes hands."""

    number: int
    preview: str
    loses: tuple[str, ...]
    """Names, at most five; `losing` says of how many."""
    losing: int
    gains: tuple[str, ...]
    gaining: int


@dataclass(frozen=True, slots=True)
class Side:
    """What one way of saving would do."""

    guarded: int
    """Memories that the topic would newly guard."""
    loses: tuple[Somebody, ...]
    """Who would no longer read something, by how much, the most first."""
    gains: tuple[Somebody, ...]
    examples: tuple[Example, ...]
    """Those that most people lose first."""


@dataclass(frozen=True, slots=True)
class Preview:
    """What a draft would mean."""

    looked_at: int
    readable: int
    """How many memories the person may read, as far as they were counted."""
    counted_all: bool
    done: bool
    percent: int
    dropped: int
    """Memories that the draft would no longer guard: judged again, they stay as they are and go to review."""
    unjudged: int
    saving: Side
    """By saving alone: guard teams take effect at once."""
    stored: Side
    """By saving and judging again what is stored."""


def go_on(core: Core, principal: Principal, draft: Topic, seconds: float) -> Preview:
    """Judge some more memories with a draft, for about so many seconds and at least one, and say what is known so far."""
    roster = core.rosters.current(principal.organization)
    records, key = core.storage.records(RECORDS), f"{principal.person}/{draft.key}"
    digest = _digest(core, roster, draft)
    known = records.get(principal.organization, key)
    state: dict[str, Any] = dict(known) if known is not None and known["digest"] == digest else _fresh(digest)
    until = time.monotonic() + seconds
    begun = False
    while state["part"] != "done" and not (begun and time.monotonic() >= until):
        begun = True
        _PARTS[state["part"]](core, principal, draft, state, until)
    records.put(principal.organization, key, state)
    return _shown(core, principal, state)


def seen(core: Core, principal: Principal, draft: Topic) -> bool:
    """Whether the person has looked at a preview of this very draft, and nothing that decides who reads changed since."""
    known = core.storage.records(RECORDS).get(principal.organization, f"{principal.person}/{draft.key}")
    return known is not None and known["digest"] == _digest(core, core.rosters.current(principal.organization), draft)


def _digest(core: Core, roster: Roster, draft: Topic) -> str:
    """Of the draft and of every fact that decides who reads; a new topic has another id each time."""
    facts = [
        sorted([person.id, person.role.value, str(person.clearance), person.active] for person in roster.people.values()),
        sorted([group, sorted((person, role.value) for person, role in people.items())] for group, people in roster.memberships.items()),
        sorted(
            [topic.key, topic.name, topic.aliases, topic.description, topic.phrases, topic.sensitivity, sorted(topic.teams), topic.guarding]
            for topic in [*roster.topics.values(), draft]
        ),
    ]
    return core.keys.digest("topic preview", facts)


def _fresh(digest: str) -> dict[str, Any]:
    side: dict[str, Any] = {"guarded": 0, "loses": {}, "gains": {}, "examples": []}
    return {
        "digest": digest,
        "part": "counted",
        "more": False,
        "sample": 1,
        "after": None,
        "looked_at": 0,
        "readable": 0,
        "dropped": 0,
        "unjudged": 0,
        "saving": side,
        "stored": {**side, "loses": {}, "gains": {}, "examples": []},
    }


# -- the parts, each going on from `state` -------------------------------------------------------------------------------


def _counted(core: Core, principal: Principal, draft: Topic, state: dict[str, Any], until: float) -> None:
    found, _, whole = _page(core, principal, Listing.ALL, state, PAGE_COUNTING)
    state["readable"] += len(found)
    if not whole or state["readable"] >= COUNTED:
        state |= {"part": "listed", "after": None, "more": whole, "sample": min(SAMPLE, state["readable"])}


def _listed(core: Core, principal: Principal, draft: Topic, state: dict[str, Any], until: float) -> None:
    found, roster, whole = _page(core, principal, Listing.ALL, state, PAGE)
    for index, memory in enumerate(found):
        state["after"] = [memory.created_at.isoformat(), memory.id]
        _look_at(core, roster, draft, memory, state)
        if state["looked_at"] >= SAMPLE or (index == len(found) - 1 and not whole):
            break
        if time.monotonic() >= until:
            return
    if state["looked_at"] >= SAMPLE or not whole:
        state |= {"part": "waiting", "after": None}


def _waiting(core: Core, principal: Principal, draft: Topic, state: dict[str, Any], until: float) -> None:
    """What waits for the person's review is in no list of theirs, but they read it."""
    found, roster, whole = _page(core, principal, Listing.REVIEW, state, PAGE)
    reader = roster.readers[principal.person]
    for index, memory in enumerate(found):
        state["after"] = [min(review.opened_at for review in memory.reviews).isoformat(), memory.id]
        if not may(reader, Permission.READ, memory, by_id=False):
            state["readable"] += 1
            _look_at(core, roster, draft, memory, state)
        if state["looked_at"] >= 2 * SAMPLE:
            state |= {"part": "done", "more": True}
            return
        if time.monotonic() >= until and index < len(found) - 1:
            return
    if not whole:
        state["part"] = "done"


_PARTS = {"counted": _counted, "listed": _listed, "waiting": _waiting}


def _page(core: Core, principal: Principal, listing: Listing, state: dict[str, Any], size: int) -> tuple[list[Memory], Roster, bool]:
    """The next memories, the roster that they were read under, and whether there may be more."""
    after = (datetime.fromisoformat(state["after"][0]), state["after"][1]) if state["after"] else None

    def use(transaction: Transaction, roster: Roster, _: Reach) -> tuple[list[Memory], Roster, bool]:
        found = transaction.browse(Browse(listing, size, core.clock(), after=after))
        if found and listing is Listing.ALL:
            state["after"] = [found[-1].created_at.isoformat(), found[-1].id]
        reader = roster.readers[principal.person]
        readable = [memory for memory in found if may(reader, Permission.READ, memory, by_id=listing is Listing.REVIEW)]
        return readable, roster, len(found) == size

    return read(core, principal, use)


def _look_at(core: Core, roster: Roster, draft: Topic, memory: Memory, state: dict[str, Any]) -> None:
    state["looked_at"] += 1
    drafted = with_draft(roster, draft)
    judged = judge(core, drafted, memory, draft.id, noted=False)
    before = readers_of(memory, roster)
    already = _guarded(memory, draft, roster)
    if judged is None:
        state["unjudged"] += 1
    elif judged.lower:
        state["dropped"] += 1
    for name, after in (("saving", memory), ("stored", memory if judged is None else judged.after)):
        side, have = state[name], readers_of(after, drafted)
        if not already and _guarded(after, draft, drafted):
            side["guarded"] += 1
        loses = sorted(before - have)
        # Who gains because a review opens looks at it to decide: that is what reviewers are for.
        held = after.held and not memory.held
        gains = [] if held else sorted(readers_of(replace(after, reviews=memory.reviews), drafted) - before)
        for persons, counts in ((loses, side["loses"]), (gains, side["gains"])):
            for person in persons:
                counts[person] = counts.get(person, 0) + 1
        if loses or gains:
            example = {
                "memory": memory.id,
                "loses": loses[:EXAMPLES],
                "losing": len(loses),
                "gains": gains[:EXAMPLES],
                "gaining": len(gains),
            }
            ranked = sorted([*side["examples"], example], key=lambda one: (-one["losing"], -one["gaining"]))
            side["examples"] = ranked[:EXAMPLES]


def _guarded(memory: Memory, topic: Topic, roster: Roster) -> bool:
    return topic.id in memory.topics and memory.sensitivity >= Sensitivity.RESTRICTED and topic.id in roster.guards.guarding


# -- showing -------------------------------------------------------------------------------------------------------------


def _shown(core: Core, principal: Principal, state: Mapping[str, Any]) -> Preview:
    """What the state says, in names; examples are fetched anew, so that only what the person reads now is shown."""
    wanted = {example["memory"] for name in ("saving", "stored") for example in state[name]["examples"]}

    def use(transaction: Transaction, roster: Roster, _: Reach) -> tuple[dict[str, tuple[int, str]], Roster]:
        found = []
        for memory in wanted:
            with suppress(NotFound):
                found.append(open_memory(core, transaction, principal, roster, memory))
        answers = show(core, transaction, roster, principal, found)
        return {answer.id: (answer.number, one_line(answer.content or "", 120)) for answer in answers}, roster

    examples, roster = read(core, principal, use)
    done = state["part"] == "done"
    return Preview(
        looked_at=state["looked_at"],
        readable=state["readable"],
        counted_all=not state["more"],
        done=done,
        percent=100 if done else min(99, state["looked_at"] * 100 // max(state["sample"], 1)),
        dropped=state["dropped"],
        unjudged=state["unjudged"],
        saving=_side(state["saving"], examples, roster),
        stored=_side(state["stored"], examples, roster),
    )


def _side(side: Mapping[str, Any], examples: Mapping[str, tuple[int, str]], roster: Roster) -> Side:
    def people(counts: Mapping[str, int]) -> tuple[Somebody, ...]:
        found = [Somebody(safe(roster.people[person].name)[0], count) for person, count in counts.items() if person in roster.people]
        return tuple(sorted(found, key=lambda one: (-one.memories, one.name.casefold())))

    def names(persons: Sequence[str]) -> tuple[str, ...]:
        return tuple(sorted(safe(roster.people[person].name)[0] for person in persons if person in roster.people))

    shown = tuple(
        Example(*examples[one["memory"]], names(one["loses"]), one["losing"], names(one["gains"]), one["gaining"])
        for one in side["examples"]
        if one["memory"] in examples
    )
    return Side(side["guarded"], people(side["loses"]), people(side["gains"]), shown)
