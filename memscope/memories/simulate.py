"""The access simulator: who reads what and why, as things are or after changes that nobody has made. Nothing is stored.

What whoever asks may not read does not exist here: no rules, no counts, no lines about it, under a draft or without one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar

from memscope.contracts.storage import AuditSearch, Browse, Listing, Operator, Transaction
from memscope.core import Core
from memscope.errors import Forbidden, InvalidArgument, NotFound
from memscope.guarding.examine import Examination
from memscope.memories.browse import open_cursor, seal_cursor
from memscope.memories.consequence import People, people
from memscope.memories.difference import Difference, difference_within
from memscope.memories.explain import NOT_TOLD, Explained, explained
from memscope.memories.open import open_memory
from memscope.memories.scope import examine_leaving, judged
from memscope.memories.view import MemoryAnswer, show
from memscope.model.audience import Audience, Permission, Reach, Scope, Standing
from memscope.model.memory import Memory
from memscope.model.organization import Group, Person, Reader, Role, Roster
from memscope.model.principal import Principal
from memscope.policy.draft import Change, Move, OfMemory, drafted_memory, drafted_reader, drafted_roster
from memscope.policy.effect import readers_of
from memscope.policy.explain import Detail, explain, explains_to, reads_as
from memscope.policy.permissions import allows, may
from memscope.policy.remedies import Remedy, memory_remedies, remedies
from memscope.policy.rules import guarding, view
from memscope.work import read

REMEDY_LOOKS_AT = 100
"""How many memories are looked at for what a remedy would open besides."""
MOST_REMEDIES = 5
PAGES_LOOKED_AT = 10
"""How many pages of the principal's list one page of somebody else's looks through."""
CHANGES_TOGETHER = 500
"""How many changes of memberships are read at a time, looking for the last one of a person."""

Leaving = tuple[int, Examination] | None
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Fact:
    """What a rule looked at, and where that is changed."""

    text: str
    kind: str | None = None
    """`person`, `group`, `topic`, `memory`, `review` or `trash`."""
    target: str | None = None
    """Id of the person or group, key of the topic, number of the memory."""


@dataclass(frozen=True, slots=True)
class Joined:
    """A change of somebody's membership."""

    at: datetime
    group: str
    """Group id."""
    role: str | None
    """None: taken out."""
    by: str | None
    """Person id."""


@dataclass(frozen=True, slots=True)
class Help:
    """A remedy, and what else it would do."""

    steps: Remedy
    others: People
    """Who else would read this memory."""
    besides: Difference | None
    """What else the person would read or no longer read; None where only the memory changes."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Why somebody does or does not read a memory."""

    about: Person
    explained: Explained
    memory: MemoryAnswer
    facts: Mapping[str, tuple[Fact, ...]]
    """By rule."""
    readers: People
    helps: tuple[Help, ...]
    flips: bool
    """Whether a draft changes the answer."""


@dataclass(frozen=True, slots=True)
class Heap:
    """People with the same answer for the same reason."""

    rule: str
    """The standing under which they read, or the first rule that keeps them out."""
    text: str
    people: tuple[Person, ...]


@dataclass(frozen=True, slots=True)
class Everybody:
    """Who reads a memory and by which rule, and who does not, of those whom the principal may ask about."""

    memory: MemoryAnswer
    readers: People
    read: tuple[Heap, ...]
    kept_out: tuple[Heap, ...]
    gains: tuple[Person, ...]
    """Who reads it under the draft alone."""
    loses: tuple[Person, ...]


@dataclass(frozen=True, slots=True)
class Seen:
    """A memory in somebody's list."""

    memory: MemoryAnswer
    change: str
    """What a draft does to it: `stays`, `gains`, `loses`."""


@dataclass(frozen=True, slots=True)
class SeenPage:
    """A page of what somebody sees, as far as the principal reads it too."""

    about: Person
    memories: tuple[Seen, ...]
    next_cursor: str | None


def ask(core: Core, principal: Principal, reference: str, person: str, draft: Sequence[Change] = ()) -> Asked:
    """Why a person (id or address) does or does not read a memory, now or under a draft.

    NotFound, InvalidArgument and Forbidden as `explain_memory`; a draft is for those who are told the rules.
    """
    leaving = _leaving(core, principal, reference, draft)

    def use(transaction: Transaction, roster: Roster, memory: Memory) -> Asked:
        about = _person(roster, person)
        reader = roster.readers[about.id]
        detail = explains_to(roster.readers[principal.person], reader, memory)
        if detail is Detail.NOTHING or (draft and detail is not Detail.RULES):
            raise Forbidden(NOT_TOLD)
        changed, then = drafted_reader(roster, about.id, draft) if draft else reader, _after(core, roster, memory, draft, leaving)
        answer = explained(changed, then, detail, core.clock(), roster)
        told = detail is Detail.RULES
        helping = told and not draft and not answer.visible and memory.forgotten_at is None
        return Asked(
            about,
            answer,
            show(core, transaction, roster, principal, [memory])[0],
            _facts(about, changed, then, roster) if told else {},
            people(readers_of(then, drafted_roster(roster, about.id, draft) if draft else roster), then, roster, principal),
            tuple(_helps(core, transaction, roster, principal, reader, memory)) if helping else (),
            bool(draft) and answer.visible is not explained(reader, memory, detail, core.clock(), roster).visible,
        )

    return _opened(core, principal, reference, use)


def everybody(core: Core, principal: Principal, reference: str, person: str, draft: Sequence[Change] = ()) -> Everybody:
    """Who reads a memory, now or under a draft, whose changes of memberships, role and clearance are made to `person`."""
    leaving = _leaving(core, principal, reference, draft)

    def use(transaction: Transaction, roster: Roster, memory: Memory) -> Everybody:
        about, asker = _person(roster, person), roster.readers[principal.person]
        if draft and explains_to(asker, roster.readers[about.id], memory) is not Detail.RULES:
            raise Forbidden(NOT_TOLD)
        after = drafted_roster(roster, about.id, draft) if draft else roster
        then = _after(core, roster, memory, draft, leaving)
        told = [one for one in roster.readers.values() if explains_to(asker, one, memory) is Detail.RULES]
        heaps: dict[tuple[bool, str, str], list[Person]] = {}
        verdicts: dict[Hashable, tuple[bool, str, str]] = {}
        gains: list[Person] = []
        loses: list[Person] = []
        for now in told:
            reader = after.readers[now.person]
            key = (view(reader, then.audience), now.person == then.author, guarding(reader, then.audience) - reader.guards_for)
            if key not in verdicts:
                verdicts[key] = _verdict(reader, then, after, core.clock())
            verdict = verdicts[key]
            heaps.setdefault(verdict, []).append(roster.people[now.person])
            if draft and verdict[0] is not may(now, Permission.READ, memory):
                (gains if verdict[0] else loses).append(roster.people[now.person])
        made = [(visible, Heap(rule, text, _named(found))) for (visible, rule, text), found in heaps.items()]
        return Everybody(
            show(core, transaction, roster, principal, [memory])[0],
            people(readers_of(then, after), then, roster, principal),
            tuple(heap for visible, heap in made if visible),
            tuple(heap for visible, heap in made if not visible),
            _named(gains),
            _named(loses),
        )

    return _opened(core, principal, reference, use)


def sees(
    core: Core, principal: Principal, person: str, draft: Sequence[Change] = (), *, cursor: str | None = None, limit: int = 50
) -> SeenPage:
    """The list of memories as a person (id or address) has it, newest first, but for what the principal may not read.

    Forbidden about people whose rules the principal is not told.
    """
    sealed_to = [principal.person, person, str(draft)]
    after = open_cursor(core, cursor, sealed_to) if cursor else None
    changes = [change for change in draft if not isinstance(change, OfMemory)]

    def use(transaction: Transaction, roster: Roster, _: Reach) -> SeenPage:
        about, asker = _person(roster, person), roster.readers[principal.person]
        now = roster.readers[about.id]
        if not (asker.person == about.id or asker.role is Role.ADMIN or asker.owns & now.groups):
            raise Forbidden(NOT_TOLD)
        then = drafted_reader(roster, about.id, changes) if changes else now
        within = frozenset(audience for audience in roster.audiences if _opens(now, audience) or (changes and _opens(then, audience)))
        found: list[tuple[Memory, str]] = []
        position, more = after, bool(within)
        for _looked in range(PAGES_LOOKED_AT):
            if not more or len(found) > limit:
                break
            page = Browse(Listing.ALL, limit + 1, core.clock(), after=position, within=within)
            batch = transaction.browse(page)
            more = len(batch) > limit
            for memory in batch[:limit]:
                position = page.position(memory)
                change = _seen(now, then, memory)
                if change is not None and may(asker, Permission.READ, memory, by_id=False):
                    found.append((memory, change))
                    if len(found) == limit:
                        more = True
                        break
            if len(found) == limit:
                break
        lines = show(core, transaction, roster, principal, [memory for memory, _ in found])
        next_cursor = seal_cursor(core, position, sealed_to) if more and position else None
        return SeenPage(about, tuple(Seen(line, change) for line, (_, change) in zip(lines, found, strict=True)), next_cursor)

    return read(core, principal, use)


def last_change(core: Core, organization: str, person: str) -> Joined | None:
    """When and how somebody's membership of a group last changed in the console, by the audit log; None: it never did."""
    search = AuditSearch(CHANGES_TOGETHER, action="group.member")
    with core.storage.begin(Operator("access simulator", organization)) as transaction:
        while rows := transaction.find_audit(search):
            for row in rows:
                detail = row.act.detail
                if detail.get("person") == person and detail.get("changed") and row.act.target is not None:
                    role = detail.get("role")
                    return Joined(row.at, row.act.target, str(role) if role is not None else None, row.act.actor)
            search = replace(search, before=rows[-1].position)
    return None


def _opened(core: Core, principal: Principal, reference: str, use: Callable[[Transaction, Roster, Memory], T]) -> T:
    """Use a memory that the principal may read or, as in `explain_memory`, restore."""

    def opened(permission: Permission) -> T:
        def inside(transaction: Transaction, roster: Roster, _: Reach) -> T:
            return use(transaction, roster, open_memory(core, transaction, principal, roster, reference, permission))

        return read(core, principal, inside, permission)

    try:
        return opened(Permission.READ)
    except NotFound:
        return opened(Permission.RESTORE)


def _person(roster: Roster, person: str) -> Person:
    found = roster.find_person(person)
    if found is None:
        raise InvalidArgument("person", "Nobody of this organization has this e-mail address or id.")
    return found


def _leaving(core: Core, principal: Principal, reference: str, draft: Sequence[Change]) -> Leaving:
    """How a personal memory would be judged if it were shared as the draft says. Slow, so before the transaction."""
    move = next((change for change in draft if isinstance(change, Move)), None)
    if move is None or move.place is None:
        return None
    roster = core.rosters.current(principal.organization)
    return examine_leaving(core, principal, roster, reference, Permission.READ, move.place.scope, None)


def _after(core: Core, roster: Roster, memory: Memory, draft: Sequence[Change], leaving: Leaving) -> Memory:
    then = drafted_memory(memory, draft)
    return judged(then, memory, leaving, roster, core.clock()) if then.place.shared and not memory.place.shared else then


def _verdict(reader: Reader, memory: Memory, roster: Roster, now: datetime) -> tuple[bool, str, str]:
    """(reads it, by which rule, that in words)."""
    standing = reads_as(reader, memory)
    if standing is None:
        failed = next(rule for rule in explain(reader, memory, now, roster).rules if not rule.passed)
        return False, failed.rule, failed.text
    return True, standing.value, _way(standing, reader, memory, roster)


def _way(standing: Standing, reader: Reader, memory: Memory, roster: Roster) -> str:
    if standing is Standing.AUTHOR:
        return "They wrote it."
    if standing is Standing.COAUTHOR:
        return "They wrote it; others changed it since, so the other rules count too."
    if standing is not Standing.ANYBODY:
        return "They review it: by id and in the queue, until it is decided."
    place = memory.place
    if place.scope is Scope.PERSONAL:
        return "It is in their own place."
    group = roster.groups.get(place.group or "")
    part = "everybody of the organization" if group is None else f"{'owners' if group.id in reader.owns else 'members'} of {group.name}"
    topics = sorted(roster.topics[topic].name for topic in guarding(reader, memory.audience) if topic in roster.topics)
    how = f"they are in a guard team of {', '.join(topics)}" if topics else "they are cleared for it"
    return f"It is for {part}, and {how}."


def _named(found: Sequence[Person]) -> tuple[Person, ...]:
    return tuple(sorted(found, key=lambda one: one.name.casefold()))


def _helps(core: Core, transaction: Transaction, roster: Roster, principal: Principal, reader: Reader, memory: Memory) -> Iterator[Help]:
    """The remedies, least changes first, changes to the person before changes to the memory."""
    had = readers_of(memory, roster)
    found = dict.fromkeys((*remedies(reader, memory, roster), *memory_remedies(reader, memory, roster)))
    for steps in sorted(found, key=len)[:MOST_REMEDIES]:
        then = drafted_memory(memory, steps)
        others = readers_of(then, roster) - had - {reader.person}
        of_person = [step for step in steps if not isinstance(step, OfMemory)]
        besides = None
        if of_person:
            besides = difference_within(core, transaction, roster, principal, reader.person, of_person, REMEDY_LOOKS_AT)
        yield Help(steps, people(others, then, roster, principal), besides)


def _opens(reader: Reader, audience: Audience) -> bool:
    return any(allows(reader, Permission.READ, audience, standing) for standing in (Standing.ANYBODY, Standing.AUTHOR, Standing.COAUTHOR))


def _seen(now: Reader, then: Reader, memory: Memory) -> str | None:
    had, has = (may(reader, Permission.READ, memory, by_id=False) for reader in (now, then))
    if had and has:
        return "stays"
    return "gains" if has else "loses" if had else None


# -- facts: what each rule looked at -------------------------------------------------------------------------------------


def _facts(about: Person, reader: Reader, memory: Memory, roster: Roster) -> dict[str, tuple[Fact, ...]]:
    """What each rule looked at, under the draft where there is one."""
    group = roster.groups.get(memory.place.group or "")
    number, state = str(memory.number), "active" if reader.active else "disabled"
    flags = ", ".join(sorted(review.flag.value.replace("_", " ") for review in memory.reviews))
    item = Fact("Open it.", "memory", number)
    queue = Fact(f"Open: {flags}." if flags else "No review is open.", "review" if flags else None, number)
    own = about.clearance is not None and reader.role is not Role.GUEST
    granted = (
        f"{about.name} is {reader.role.value}, cleared up to {_words(reader.clearance.label)} {'by grant' if own else 'by that role'}."
    )
    return {
        "not_forgotten": (Fact("It is in the trash.", "trash") if memory.forgotten_at else Fact("It is not in the trash."),),
        "active": (Fact(f"{about.name} is {state}.", "person", about.id),),
        "held": (queue,),
        "reviewer": (queue,),
        "place": (_standing_in(about, reader, group, memory),),
        "guard_team": tuple(_guarding(about, reader, memory, roster)),
        "clearance": (
            Fact(granted, "person", about.id),
            *([_standing_in(about, reader, group, memory)] if group is not None and group.id in reader.groups else []),
        ),
        "not_only_reviewing": (queue,),
        "not_instructions": (queue,),
        "not_expired": (item,),
        "not_superseded": (item,),
        "not_handoff": (item,),
    }


def _standing_in(about: Person, reader: Reader, group: Group | None, memory: Memory) -> Fact:
    if group is None:
        return Fact("It is for everybody." if memory.place.shared else "It is personal.", "memory", str(memory.number))
    rank = "owner" if group.id in reader.owns else "member" if group.id in reader.groups else None
    text = f"{about.name} is {rank} of {group.name}." if rank else f"{about.name} is not in {group.name}."
    return Fact(text, "group", group.id)


def _guarding(about: Person, reader: Reader, memory: Memory, roster: Roster) -> Iterator[Fact]:
    topics = sorted(guarding(reader, memory.audience))
    for topic in (roster.topics.get(one) for one in topics):
        if topic is None:
            yield Fact("A topic that is gone goes on guarding it, with nobody.")
            continue
        teams = ", ".join(sorted(roster.groups[team].name for team in topic.teams)) or "nobody"
        inside = "is in one of them" if topic.id in reader.guards_for else "is in none of them"
        yield Fact(f"{topic.name} is guarded by {teams}; {about.name} {inside}.", "topic", topic.key)
    if not topics:
        yield Fact("No topic guards it.", "memory", str(memory.number))


def _words(label: str) -> str:
    return label.replace("_", " ")
