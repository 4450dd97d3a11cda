"""Removing a group: what lies in it is placed elsewhere first, memory by memory, then the group goes.

An administrator decided it in the console, and where to. What that administrator may move goes to the group they chose;
everything else goes back to its author alone, so that nothing they may not read comes before new eyes. Where others wrote
into it since and its author reads it no longer, it goes to whoever wrote what stands there now. Flags stay open in a
group; with one person alone a memory needs no audience decided. Each memory is a transaction with an audit row of its own,
so the job may be stopped anywhere and goes on where it was: nothing is lost, and nothing is moved twice.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime
from time import monotonic
from typing import Any

from memscope.approvals.needs import Asks, needs
from memscope.contracts.events import Event
from memscope.contracts.storage import Browse, Listing, Operator, Transaction, UnknownAudience
from memscope.core import Core
from memscope.errors import InvalidArgument, NotFound, Unavailable
from memscope.memories.changes import labels
from memscope.memories.difference import Some, lying_in, some
from memscope.model.audience import Permission, Place
from memscope.model.audit import Act, ApprovedVia
from memscope.model.memory import Memory, Provenance
from memscope.model.organization import Roster
from memscope.model.principal import Principal
from memscope.organizations.changes import Outcome, admins, carry_out
from memscope.policy.draft import Move, drafted_memory
from memscope.policy.effect import effect, readers_of
from memscope.policy.permissions import may
from memscope.upkeep.progress import Progress

RECORDS = "upkeep"
BATCH = 100
ATTEMPTS = 8
SAMPLED = 100
AUTHORS = "authors"
"""Where to: back to each author."""


class _Meanwhile(Exception):
    """The memory changed since it was looked at: it is met again."""


def ask_removal(core: Core, principal: Principal, group: str, to: str) -> None:
    """Decide that a group (an id) goes, and where its memories go: `AUTHORS` or the id of another group.

    NotFound, Forbidden for all but administrators, InvalidArgument. `empty_group` then does it.
    """

    def write(transaction: Transaction, roster: Roster) -> Outcome:
        if group not in roster.groups:
            raise NotFound
        if to != AUTHORS and (to == group or to not in roster.groups):
            raise InvalidArgument("to", "Choose what becomes of its memories: back to their authors, or into another team or project.")
        return Outcome(group, {"slug": roster.groups[group].slug, "to": to})

    carry_out(core, principal, "group.ask_removal", admins, write)
    core.storage.records(RECORDS).put(principal.organization, _key(group), {"actor": principal.person, "to": to, "moved": 0})


def removal(core: Core, organization: str, group: str) -> Mapping[str, Any] | None:
    """How far the removal of a group is: `to`, `moved`; None when none was decided or it is done."""
    return core.storage.records(RECORDS).get(organization, _key(group))


@dataclass(frozen=True, slots=True)
class RemovalEffect:
    """What becomes of a group's memories, as far as the principal may read them. Names are of people."""

    memories: Some
    gains: tuple[str, ...]
    """Who would read some of them who does not now."""
    loses: tuple[str, ...]
    sampled: bool
    """Whether people are told by some of the memories alone."""


def removal_effect(core: Core, principal: Principal, group: str, to: str) -> RemovalEffect:
    """What removing a group (an id) would do, shown before it is decided. `to` as for `ask_removal`."""
    memories, exact = lying_in(core, principal, group)
    roster = core.rosters.current(principal.organization)
    gains: set[str] = set()
    loses: set[str] = set()
    # Who reads it depends on nothing else.
    distinct = {(memory.audience, memory.author, memory.own, memory.flagged): memory for memory in memories}
    for memory in list(distinct.values())[:SAMPLED]:
        after = placed(memory, roster, principal.person, to, core.clock())
        had, has = readers_of(memory, roster), readers_of(after, roster)
        gains |= has - had
        loses |= had - has
    return RemovalEffect(some(memories, exact), _names(gains, roster), _names(loses, roster), len(distinct) > SAMPLED)


def removals(core: Core, organization: str) -> list[str]:
    """Ids of the groups that are being removed."""
    return [key.removeprefix(_key("")) for key in core.storage.records(RECORDS).keys(organization, _key(""))]


def remove_for(core: Core, organization: str, group: str, seconds: float) -> bool:
    """Go on with a removal for about so long; returns whether the group is gone."""
    until = monotonic() + seconds
    with closing(empty_group(core, organization, group)) as steps:
        for _ in steps:
            if monotonic() > until:
                break
    return removal(core, organization, group) is None


def empty_group(core: Core, organization: str, group: str) -> Generator[Progress, None, None]:
    """Place what lies in a group as was decided, then remove it. Does nothing while another process is at it."""
    records = core.storage.records(RECORDS)
    with core.storage.lead(f"emptying/{group}") as leading:
        record = records.get(organization, _key(group))
        if not leading or record is None:
            return
        moved = int(record["moved"])
        try:
            for _ in range(ATTEMPTS):
                while memories := _lying(core, organization, group):
                    before = moved
                    for memory in memories:
                        moved += _place(core, organization, memory, record)
                        yield Progress("Placing: memory", moved, before + len(memories))
                    if moved == before:
                        raise Unavailable("The group is being changed too fast. Its removal goes on in a moment.")
                if _remove(core, organization, group, record, moved):
                    records.change(organization, _key(group), lambda _: None)
                    return
        finally:
            records.change(organization, _key(group), lambda kept: None if kept is None else {**kept, "moved": moved})
    raise Unavailable("Memories are being saved into the group too fast. Its removal goes on in a moment.")


def placed(memory: Memory, roster: Roster, actor: str, to: str, now: datetime, newest: Provenance | None = None) -> Memory:
    """The memory where it goes. The actor is a person's id; `to` is as decided; `newest` says who wrote the text as it stands.

    What its author forgot goes back to the author, who alone would restore it.
    """
    permission = Permission.MOVE if memory.forgotten_at is None else Permission.RESTORE
    target, reader = roster.groups.get(to), roster.readers[actor]
    moves = may(reader, permission, memory)
    if target is not None and memory.forgotten_by != memory.author and moves:
        after = replace(memory, place=Place(target.scope, group=target.id))
    elif newest is not None and not moves and not memory.own and not _read_by(roster, memory.author, memory):
        # Nobody who could decide it reads it: what others wrote does not come before the author's eyes by the way.
        after = drafted_memory(replace(memory, provenance=newest), [Move(None)])
    else:
        after = drafted_memory(memory, [Move(None)])
    return replace(after, version=memory.version + 1, updated_at=now)


def _read_by(roster: Roster, person: str, memory: Memory) -> bool:
    """Whether somebody reads a memory, or would if it was not forgotten."""
    return may(roster.readers[person], Permission.READ, replace(memory, forgotten_at=None, forgotten_by=None))


def _names(people: Iterable[str], roster: Roster) -> tuple[str, ...]:
    return tuple(sorted((roster.people[one].name for one in people), key=str.casefold))


def _lying(core: Core, organization: str, group: str) -> list[Memory]:
    """Some of what lies in the group; what is forgotten last."""
    within = frozenset(audience for audience in core.rosters.current(organization).audiences if audience.place.group == group)
    operator = Operator("remove group", organization)
    if not within:
        return []
    with core.storage.begin(operator) as transaction:
        found = transaction.browse(Browse(Listing.ALL, BATCH, core.clock(), within=within))
    after: tuple[datetime, str] | None = None
    while not found:
        with core.storage.begin(operator) as transaction:
            page = Browse(Listing.FORGOTTEN, BATCH, core.clock(), after=after)
            batch = transaction.browse(page)
        if not batch:
            break
        found, after = [memory for memory in batch if memory.place.group == group], page.position(batch[-1])
    return found


def _place(core: Core, organization: str, memory: Memory, record: Mapping[str, Any]) -> bool:
    """Write where a memory goes; False when it changed meanwhile."""
    newest = None
    if not memory.own:
        with core.storage.begin(Operator("remove group", organization)) as transaction:
            versions = transaction.versions(memory.id)
        newest = versions[0].provenance if versions else None
    for _ in range(ATTEMPTS):
        roster = core.rosters.current(organization)
        after = placed(memory, roster, record["actor"], record["to"], core.clock(), newest)
        asked = needs(Asks.BY_EFFECT, memory, effect(memory, after, roster), saved_here=False)
        act = Act(
            "memory.change_scope",
            record["actor"],
            target=memory.id,
            # The person decided it in the console.
            approved_via=ApprovedVia.PERSON if asked else ApprovedVia.NONE,
            detail=labels(after) | {"group_removed": True},
        )
        try:
            with core.storage.begin(Operator("remove group", organization), act) as transaction:
                fresh = transaction.memory(memory.id, lock=True)
                if fresh is None or fresh.version != memory.version or not roster.same_facts(core.rosters.current(organization)):
                    raise _Meanwhile
                transaction.update(fresh, after)
        except UnknownAudience as unknown:
            core.storage.intern(organization, unknown.audience)
        except _Meanwhile:
            return False
        else:
            core.hooks.event(Event(act.action, organization, core.clock(), act.actor, memory.id, act.detail))
            return True
    raise Unavailable("The organization is being changed too fast. The removal of the group goes on in a moment.")


def _remove(core: Core, organization: str, group: str, record: Mapping[str, Any], moved: int) -> bool:
    """Remove the group itself; False when something was saved into it meanwhile."""
    known = core.rosters.current(organization).groups.get(group)
    if known is None:
        return True
    act = Act("group.remove", record["actor"], target=group, approved_via=ApprovedVia.PERSON, detail={"slug": known.slug, "moved": moved})
    try:
        with core.storage.begin(Operator("remove group", organization), act) as transaction:
            transaction.remove_group(group)
    except ValueError:
        return False
    core.hooks.event(Event(act.action, organization, core.clock(), act.actor, group, act.detail))
    return True


def _key(group: str) -> str:
    return f"emptying/{group}"
