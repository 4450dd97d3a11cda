"""Reveal: an administrator reads in the console, for an hour, what the rules keep out. Reading only, said why, and told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from memscope.contracts.storage import Operator
from memscope.core import Core
from memscope.errors import Conflict, InvalidArgument, NotFound
from memscope.guarding.examine import Setting, doubtful
from memscope.memories.notices import tell_of_reveal
from memscope.memories.open import open_memory, open_to_reveal
from memscope.memories.texts import clean
from memscope.memories.view import Named, group_slugs, named, topic_keys
from memscope.model.audience import Permission, Scope
from memscope.model.audit import Act, ApprovedVia
from memscope.model.memory import REASON_MAX, Memory
from memscope.model.organization import ConnectionKind, GroupRole, Roster
from memscope.model.principal import Principal
from memscope.policy.rules import guarding
from memscope.work import at_current_epoch, read

RECORDS = "reveal"
LASTS = timedelta(hours=1)
REASON_LEAST = 10
"""Characters of a reason that says something."""


@dataclass(frozen=True, slots=True)
class Revealed:
    """A memory as an administrator is shown it: its text and labels now. No history, no links, nothing to do with it."""

    id: str
    number: int
    text: str
    """Credentials are masked."""
    kind: str | None
    scope: str
    team: str | None
    project: str | None
    sensitivity: str
    topics: tuple[str, ...]
    author: Named
    created_at: datetime
    held: bool
    reason: str
    until: datetime


def reveal(core: Core, principal: Principal, reference: str, reason: str) -> Revealed:
    """Open a memory to an administrator for an hour.

    NotFound for whatever they may not open so: what does not exist, personal and forgotten memories. InvalidArgument for a
    reason that is too short, too long, or holds a credential or orders. Conflict when they may read it anyway.
    """
    roster = core.rosters.current(principal.organization)
    cleaned = " ".join(clean("reason", reason, REASON_MAX, shortest=0).split())
    if len(cleaned) < REASON_LEAST:
        raise InvalidArgument("reason", f"Say in a few words why, in at least {REASON_LEAST} characters: the author is told.")
    if doubtful(core, roster, cleaned, Setting.of(principal, roster, Scope.ORGANIZATION, None, None)):
        raise InvalidArgument("reason", "Say it without a password or key, and not as an instruction: other people are shown it.")
    if principal.kind is not ConnectionKind.CONSOLE:
        raise NotFound
    if _readable(core, principal, reference):
        raise Conflict("You may read this memory as it is: there is nothing to reveal.")
    until = core.clock() + LASTS
    act = Act("memory.reveal", principal.person, principal.connection, approved_via=ApprovedVia.PERSON)
    with core.storage.begin(Operator("reveal", principal.organization), act) as transaction:
        # The organization's epoch stands still until the commit: this roster is the current one.
        roster = core.rosters.current(principal.organization)
        memory = open_to_reveal(transaction, principal, roster, reference)
        detail = {"why": cleaned, "until": until.isoformat(timespec="seconds")}
        transaction.describe(replace(act, target=memory.id, detail=detail))
    record = {"until": until.isoformat(), "reason": cleaned}
    core.storage.records(RECORDS).put(principal.organization, f"{principal.person}/{memory.id}", record)
    told = _told(memory, roster) - {principal.person}
    tell_of_reveal(core, principal.organization, told, by=principal.person, memory=memory.id, author=memory.author, reason=cleaned)
    return _shown(memory, roster, record)


def revealed(core: Core, principal: Principal, reference: str) -> Revealed:
    """A memory that is open to the administrator now, by id or number. NotFound, too, once the hour is over."""
    lasting = _lasting(core, principal)
    if not lasting:
        raise NotFound

    def attempt(roster: Roster) -> Revealed:
        reach = replace(core.rosters.reach(principal, roster, Permission.READ), revealed=frozenset(lasting))
        with core.storage.begin(reach) as transaction:
            memory = open_to_reveal(transaction, principal, roster, reference)
            if memory.id not in lasting:
                raise NotFound
            return _shown(memory, roster, lasting[memory.id])

    return at_current_epoch(core, principal, attempt)


def all_revealed(core: Core, principal: Principal) -> tuple[Revealed, ...]:
    """What is open to the administrator now, longest first."""
    found = []
    for memory in _lasting(core, principal):
        try:
            found.append(revealed(core, principal, memory))
        except NotFound:  # it became personal or was forgotten meanwhile
            continue
    return tuple(sorted(found, key=lambda one: one.until))


def close(core: Core, principal: Principal, memory: str) -> None:
    """End what was opened, before its hour is over."""
    core.storage.records(RECORDS).change(principal.organization, f"{principal.person}/{memory}", lambda _: None)


def _readable(core: Core, principal: Principal, reference: str) -> bool:
    try:
        read(core, principal, lambda transaction, roster, _: open_memory(core, transaction, principal, roster, reference))
    except NotFound:
        return False
    return True


def _lasting(core: Core, principal: Principal) -> Mapping[str, Mapping[str, Any]]:
    """Memory id → record of what is open now; records of what has ended go."""
    if principal.kind is not ConnectionKind.CONSOLE:
        return {}
    prefix = f"{principal.person}/"
    now = core.clock()
    found = {}
    for key, record in core.storage.records(RECORDS).items(principal.organization, prefix).items():
        if datetime.fromisoformat(record["until"]) > now:
            found[key.removeprefix(prefix)] = record
        else:
            close(core, principal, key.removeprefix(prefix))
    return found


def _told(memory: Memory, roster: Roster) -> frozenset[str]:
    """The author, and the owners of the teams that guard its topics."""
    reader = roster.readers[memory.author]
    teams = {team for topic in guarding(reader, memory.audience) if topic in roster.topics for team in roster.topics[topic].teams}
    owners = {person for team in teams for person, role in roster.memberships.get(team, {}).items() if role is GroupRole.OWNER}
    return frozenset({memory.author, *owners})


def _shown(memory: Memory, roster: Roster, record: Mapping[str, Any]) -> Revealed:
    team, project = group_slugs(memory.place, roster)
    return Revealed(
        memory.id,
        memory.number,
        memory.open_text,
        memory.kind.value if memory.kind else None,
        memory.place.scope.value,
        team,
        project,
        memory.sensitivity.label,
        topic_keys(memory.topics, roster),
        named(memory.author, roster),
        memory.created_at,
        memory.held,
        record["reason"],
        datetime.fromisoformat(record["until"]),
    )
