"""One unit of work over a tenant."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import islice

from memscope.contracts.embedding import Vectors
from memscope.contracts.requests import DETAIL
from memscope.contracts.storage import (
    AuditSearch,
    Browse,
    Claim,
    Hit,
    IndexEntry,
    Listing,
    NumberTaken,
    Operator,
    Question,
    SearchFilter,
    Ticket,
    Unindexed,
    UnknownAudience,
)
from memscope.model.audience import Permission, Reach
from memscope.model.audit import Act, AuditRow
from memscope.model.memory import Kind, Memory, Provenance, Version
from memscope.model.organization import Connection, Group, GroupRole, Organization, Person, Topic
from memscope_inprocess import search
from memscope_inprocess.tenant import Stored, Tenant


class InProcessTransaction:
    """Reads and, with an act, changes a tenant that nobody else changes meanwhile."""

    def __init__(self, reach: Reach | Operator, tenant: Tenant | None, act: Act | None, now: datetime) -> None:
        self._reach = reach
        self._tenant = tenant
        self.act = act
        self._now = now
        self._locked: set[str] = set()

    @property
    def now(self) -> datetime:
        """The transaction's time, UTC."""
        return self._now

    @property
    def changed(self) -> Tenant | None:
        """The tenant as this transaction leaves it."""
        return self._tenant

    def describe(self, act: Act) -> None:
        """Replace the act."""
        self._writing()
        self.act = act

    # -- reading memories --------------------------------------------------------------------------------------------

    def memory(self, reference: str | int, *, lock: bool = False) -> Memory | None:
        """By id or number. What was locked stays visible until the end, whatever audience it gets."""
        tenant = self._writing() if lock else self._any
        stored = tenant.memories.get(tenant.numbers.get(reference, "") if isinstance(reference, int) else reference)
        if stored is None or not self._sees(stored.memory, by_id=True):
            return None
        if lock:
            self._locked.add(stored.memory.id)
        return self._shown(stored)

    def memories(self, ids: Sequence[str]) -> Mapping[str, Memory]:
        """Those of the ids that are within the reach without `reviewer`."""
        found = {id_: self._any.memories[id_] for id_ in ids if id_ in self._any.memories}
        return {id_: self._shown(stored) for id_, stored in found.items() if self._sees(stored.memory)}

    def versions(self, memory: str) -> tuple[Version, ...]:
        """Newest first."""
        stored = self._any.memories.get(memory)
        return stored.versions[::-1] if stored is not None and self._sees(stored.memory, by_id=True) else ()

    def search(self, question: Question, where: SearchFilter) -> list[Hit]:
        """Candidates of both legs."""
        readable = [stored for stored in self._within() if not stored.memory.tainted]
        hits = search.find([stored for stored in readable if self._passes(stored.memory, where)], question)
        beside = search.neighbours(stored.memory for stored in readable)
        return [replace(hit, neighbours=beside.get(hit.memory, ())) for hit in hits]

    def nearest(self, vector: Vectors, model: str, limit: int) -> list[tuple[str, float]]:
        """Ids and cosines, nearest first."""
        found = [(stored.memory.id, search.similarity(stored, vector, model)) for stored in self._within()]
        near = [(id_, cosine) for id_, cosine in found if cosine is not None]
        return sorted(near, key=lambda pair: (-pair[1], pair[0]))[:limit]

    def browse(self, page: Browse) -> list[Memory]:
        """A page."""
        ascending = (page.listing is Listing.REVIEW or page.oldest_first) is not page.backwards
        found = [self._shown(stored) for stored in self._any.memories.values() if self._lists(stored, page)]
        found.sort(key=page.position, reverse=not ascending)
        if page.after is not None:
            after = page.after
            found = [memory for memory in found if (page.position(memory) > after if ascending else page.position(memory) < after)]
        return found[: page.limit]

    def count_reviews(self, *, mine: bool = False) -> int:
        """How many wait for the reader."""
        waiting = (stored.memory for stored in self._any.memories.values() if self._waits(stored.memory))
        return sum(1 for memory in waiting if not mine or memory.author == self._person)

    def leads_to(self, start: str, target: str) -> bool:
        """Whether following `superseded_by` from start reaches target."""
        seen: set[str] = set()
        here: str | None = start
        while here is not None and here not in seen:
            if here == target:
                return True
            seen.add(here)
            stored = self._any.memories.get(here)
            here = None if stored is None else stored.memory.superseded_by
        return False

    def lock_links(self) -> None:
        """Nothing to do: there is one writing transaction at a time."""
        self._writing()

    # -- writing memories --------------------------------------------------------------------------------------------

    def claimed(self, key: str) -> Claim | None:
        """The reader's record of a key, if there is one."""
        return self._any.claims.get((self._person, key))

    def claim(self, key: str, digest: str, memory: str) -> Claim:
        """Take an idempotency key for the reader, or find who has it."""
        claims, person = self._writing().claims, self._person
        held = claims.get((person, key))
        if held is None:
            claims[person, key] = Claim(memory, digest, fresh=False)
            return Claim(memory, digest, fresh=True)
        return held

    def insert(self, memory: Memory, version: Version, index: IndexEntry) -> None:
        """Store a new memory with its first version."""
        tenant = self._writing()
        self._known(memory)
        if memory.number in tenant.numbers:
            raise NumberTaken
        tenant.numbers[memory.number] = memory.id
        tenant.memories[memory.id] = Stored(memory, (version,), (), {}).indexed(index)

    def update(self, before: Memory, after: Memory, version: Version | None = None, index: IndexEntry | None = None) -> None:
        """Store a change of a memory."""
        tenant = self._writing()
        stored = tenant.memories[before.id]
        if before.id not in self._locked:
            raise LookupError("lock the memory before changing it")
        self._known(after)
        changed = replace(stored, memory=after)
        if version is not None:
            earlier = stored.versions[-1]
            replaced = replace(earlier, content=earlier.open_text, masked=None, replaced_under=stored.memory.audience)
            changed = replace(changed, versions=(*stored.versions[:-1], replaced, version))
        tenant.memories[before.id] = changed if index is None else changed.indexed(index)

    # -- approvals ---------------------------------------------------------------------------------------------------

    def write_ticket(self, ticket: Ticket) -> None:
        """Insert or update a ticket of the reader."""
        if isinstance(self._reach, Reach) and ticket.person != self._reach.person:
            raise LookupError("the ticket is somebody else's")
        self._writing().tickets[ticket.id] = ticket

    def tickets(self, *, undecided_only: bool = False, expired_too: bool = False) -> list[Ticket]:
        """Those that have not expired, newest first."""
        found = [
            ticket
            for ticket in self._any.tickets.values()
            if (isinstance(self._reach, Operator) or ticket.person == self._reach.person)
            and (expired_too or ticket.expires_at > self._now)
            and not (undecided_only and ticket.decided_at is not None)
        ]
        return sorted(found, key=lambda ticket: (ticket.created_at, ticket.id), reverse=True)

    def take_ticket(self, person: str, connection: str, tool: str, memory: str, memory_version: int, digest: str) -> Ticket | None:
        """An approved, unexpired, unused ticket with just these bindings, used up."""
        wanted = (person, connection, tool, memory, memory_version, digest)
        tickets = self._writing().tickets
        for ticket in tickets.values():
            bound = (ticket.person, ticket.connection, ticket.tool, ticket.memory, ticket.memory_version, ticket.digest)
            if bound == wanted and ticket.approved and ticket.used_at is None and ticket.expires_at > self._now:
                tickets[ticket.id] = replace(ticket, used_at=self._now)
                return tickets[ticket.id]
        return None

    # -- the organization --------------------------------------------------------------------------------------------

    def write_organization(self, organization: Organization) -> None:
        """Insert or update."""
        if self._tenant is None and self.act is not None:
            self._tenant = Tenant(organization, epoch=0)
        self._facts().organization = organization

    def write_person(self, person: Person) -> None:
        """Insert or update."""
        self._facts().people[person.id] = person

    def write_group(self, group: Group) -> None:
        """Insert or update."""
        tenant = self._facts()
        tenant.groups[group.id] = group
        tenant.memberships.setdefault(group.id, {})

    def remove_group(self, group: str) -> None:
        """Remove a group without memories, its memberships and mappings."""
        tenant = self._facts()
        lying = sum(1 for stored in tenant.memories.values() if stored.memory.place.group == group)
        if lying:
            raise ValueError(f"{lying} memories lie in the group")
        del tenant.groups[group]
        tenant.memberships.pop(group, None)
        for other in [other for other in tenant.groups.values() if other.team == group]:
            tenant.groups[other.id] = replace(other, team=None)
        for topic in [topic for topic in tenant.topics.values() if group in topic.teams]:
            tenant.topics[topic.id] = replace(topic, teams=topic.teams - {group}, guarding=True)

    def write_membership(self, group: str, person: str, role: GroupRole | None) -> None:
        """Set or, with None, end a membership."""
        members = self._facts().memberships[group]
        if role is None:
            members.pop(person, None)
        else:
            members[person] = role

    def write_topic(self, topic: Topic) -> None:
        """Insert or update; what ever guarded goes on guarding."""
        tenant = self._facts()
        before = tenant.topics.get(topic.id)
        guarded = topic.id in tenant.removed_topics or (before is not None and before.guarding)
        tenant.topics[topic.id] = replace(topic, guarding=topic.guarding or guarded or bool(topic.teams))

    def remove_topic(self, topic: str) -> None:
        """Take a topic out of the lists."""
        tenant = self._facts()
        if tenant.topics.pop(topic).guarding:
            tenant.removed_topics |= {topic}

    def write_connection(self, connection: Connection) -> None:
        """Insert or update."""
        self._writing().connections[connection.id] = connection

    def connections(self, person: str | None = None) -> list[Connection]:
        """Newest first."""
        found = [connection for connection in self._any.connections.values() if person in (None, connection.person)]
        return sorted(found, key=lambda connection: (connection.created_at, connection.id), reverse=True)

    # -- upkeep ------------------------------------------------------------------------------------------------------

    def unindexed(self, model: str, limit: int) -> list[Unindexed]:
        """Memories that lack vectors of a model."""
        tenant = self._operating()
        lacking = [stored.memory for _, stored in sorted(tenant.memories.items()) if model not in stored.vectors]
        return [Unindexed(memory.id, memory.open_text, tenant.people[memory.author].name, memory.created_at) for memory in lacking[:limit]]

    def write_vectors(self, memory: str, model: str, vectors: Vectors, text: str) -> None:
        """Add the vectors of one memory, if it still says the text."""
        self._operating()
        tenant = self._writing()
        stored = tenant.memories.get(memory)
        if stored is not None and stored.memory.open_text == text:
            tenant.memories[memory] = replace(stored, vectors={model: vectors, **stored.vectors})

    def count_memories(self) -> int:
        """All memories, forgotten ones too."""
        return len(self._operating().memories)

    def forgotten_before(self, moment: datetime, limit: int) -> list[str]:
        """Ids of memories forgotten before a moment, oldest first."""
        forgotten = [
            (stored.memory.forgotten_at, id_)
            for id_, stored in self._operating().memories.items()
            if stored.memory.forgotten_at is not None and stored.memory.forgotten_at < moment
        ]
        return [id_ for _, id_ in sorted(forgotten)[:limit]]

    def erase(self, memory: str) -> Mapping[str, str]:
        """Erase one memory and everything derived from it."""
        self._operating()
        return self._erase(memory)

    def erase_forgotten(self, memory: str) -> Mapping[str, str]:
        """The same for a forgotten memory that this transaction has locked."""
        stored = self._writing().memories.get(memory)
        if memory not in self._locked or stored is None or stored.memory.forgotten_at is None:
            raise LookupError("lock the forgotten memory before erasing it")
        return self._erase(memory)

    def _erase(self, memory: str) -> Mapping[str, str]:
        tenant = self._writing()
        stored = tenant.memories.pop(memory)
        del tenant.numbers[stored.memory.number]
        for id_, other in list(tenant.memories.items()):
            if other.memory.superseded_by == memory:
                tenant.memories[id_] = replace(other, memory=replace(other.memory, superseded_by=None))
        for ticket in [ticket for ticket in tenant.tickets.values() if ticket.memory == memory]:
            del tenant.tickets[ticket.id]
        for key, claim in list(tenant.claims.items()):
            if claim.memory == memory:
                tenant.claims[key] = replace(claim, digest="")
        return {"versions": str(len(stored.versions)), "vectors": str(sum(len(rows) for rows in stored.vectors.values()))}

    def all_memories(self, after: str | None, limit: int) -> list[Memory]:
        """Every memory, by id."""
        found = sorted(id_ for id_ in self._operating().memories if after is None or id_ > after)
        return [self._shown(self._any.memories[id_]) for id_ in found[:limit]]

    def audit_rows(self, after: int, limit: int) -> list[AuditRow]:
        """The chain from a position on."""
        return list(self._operating().audit[after : after + limit])

    def find_audit(self, search: AuditSearch) -> list[AuditRow]:
        """Rows of the chain, newest first."""
        return list(islice((row for row in reversed(self._operating().audit) if _takes(search, row)), search.limit))

    def count_audit(self, search: AuditSearch) -> int:
        """How many there are, up to the limit."""
        return len(self.find_audit(search))

    # -- what is within the reach ------------------------------------------------------------------------------------

    def _sees(self, memory: Memory, *, by_id: bool = False) -> bool:
        """Whether a memory is within the reach, as the contract states it."""
        reach = self._reach
        if isinstance(reach, Operator) or memory.id in self._locked:
            return by_id or memory.forgotten_at is None
        mine = memory.author == reach.person
        if memory.forgotten_at is not None:
            if reach.permission is not Permission.RESTORE:
                return False
            mine, by_id = mine and memory.forgotten_by == reach.person, False
        audience = memory.audience
        if audience in reach.anybody or (mine and audience in (reach.author if memory.own else reach.coauthor)):
            return True
        if not by_id:
            return False
        revealed = reach.permission is Permission.READ and memory.id in reach.revealed
        return revealed or (memory.flagged and (mine or audience in reach.reviewer))

    def _within(self) -> Iterator[Stored]:
        """Memories that recall may look at."""
        for stored in self._any.memories.values():
            if stored.memory.forgotten_at is None and self._sees(stored.memory):
                yield stored

    def _waits(self, memory: Memory) -> bool:
        if not memory.flagged or memory.forgotten_at is not None:
            return False
        reach = self._reach
        return isinstance(reach, Operator) or memory.author == reach.person or memory.audience in reach.reviewer

    def _lists(self, stored: Stored, page: Browse) -> bool:
        memory, listing = stored.memory, page.listing
        if page.kind not in (None, memory.kind) or not self._labelled(stored, page):
            return False
        if (page.within is not None and memory.audience not in page.within) or not self._filtered(stored, page):
            return False
        if listing is Listing.REVIEW:
            return self._waits(memory)
        if listing is Listing.FORGOTTEN:
            return memory.forgotten_at is not None and (isinstance(self._reach, Operator) or self._sees(memory))
        if memory.forgotten_at is not None or not self._sees(memory):
            return False
        if listing is Listing.MINE:
            return memory.author == self._person
        if listing is Listing.BOARD:
            current = (page.include_expired or not memory.expired(page.now)) and (page.include_superseded or not self._superseded(memory))
            return memory.kind is Kind.HANDOFF and not memory.tainted and current
        return True

    def _filtered(self, stored: Stored, page: Browse) -> bool:
        memory, until = stored.memory, stored.memory.valid_until
        checks: tuple[Callable[[], bool], ...] = (
            lambda: page.author in (None, memory.author),
            lambda: page.since is None or memory.created_at >= page.since,
            lambda: page.until is None or memory.created_at < page.until,
            lambda: page.flagged in (None, memory.flagged),
            lambda: page.superseded in (None, self._superseded(memory)),
            lambda: page.expired in (None, memory.expired(page.now)),
            lambda: page.expires_before is None or (until is not None and until < page.expires_before),
            lambda: page.replaced_by in (None, memory.superseded_by),
            lambda: not page.terms or (page.listing is not Listing.FORGOTTEN and set(page.terms) <= set(stored.terms)),
        )
        return all(check() for check in checks)

    def _labelled(self, stored: Stored, page: Browse) -> bool:
        """Whether some version has the labels asked for; doubtful labels are known to their own person alone."""

        def known(who: Provenance) -> bool:
            return not who.doubtful or isinstance(self._reach, Operator) or who.person == self._reach.person

        saved = [version.provenance for version in stored.versions if known(version.provenance)]
        return (page.agent is None or any(who.agent == page.agent for who in saved)) and (
            page.run_id is None or any(who.run_id == page.run_id for who in saved)
        )

    def _passes(self, memory: Memory, where: SearchFilter) -> bool:
        checks: tuple[Callable[[], bool], ...] = (
            lambda: memory.kind is not Kind.HANDOFF if where.kind is None else memory.kind is where.kind,
            lambda: where.within is None or memory.audience in where.within,
            lambda: where.include_expired or not memory.expired(where.now),
            lambda: where.include_superseded or not self._superseded(memory),
            lambda: where.run_id in (None, memory.provenance.run_id),
            lambda: where.author in (None, memory.author),
            lambda: where.since is None or memory.created_at >= where.since,
            lambda: where.until is None or memory.created_at < where.until,
        )
        return all(check() for check in checks)

    def _superseded(self, memory: Memory) -> bool:
        """Whether the supersede link acts now."""
        newer = self._any.memories.get(memory.superseded_by or "")
        return newer is not None and not (newer.memory.held or newer.memory.forgotten_at is not None or newer.memory.expired(self._now))

    def _shown(self, stored: Stored) -> Memory:
        return replace(stored.memory, superseded=self._superseded(stored.memory))

    # -- what a transaction may do -----------------------------------------------------------------------------------

    @property
    def _any(self) -> Tenant:
        if self._tenant is None:
            raise LookupError("this transaction belongs to no organization")
        return self._tenant

    @property
    def _person(self) -> str:
        return "" if isinstance(self._reach, Operator) else self._reach.person

    def _writing(self) -> Tenant:
        if self.act is None:
            raise RuntimeError("no act, no writes: begin the transaction with an act")
        return self._any

    def _facts(self) -> Tenant:
        """The tenant for a change of what policy knows, which raises the epoch."""
        tenant = self._writing()
        tenant.epoch += 1
        return tenant

    def _operating(self) -> Tenant:
        if not isinstance(self._reach, Operator):
            raise RuntimeError("only an operator does this")
        return self._any

    def _known(self, memory: Memory) -> None:
        if memory.audience not in self._any.audiences:
            raise UnknownAudience(memory.audience)


def _takes(search: AuditSearch, row: AuditRow) -> bool:
    act = row.act
    prefix = search.action is not None and search.action.endswith("*")
    return (
        (search.before is None or row.position < search.before)
        and (search.action is None or (act.action.startswith(search.action[:-1]) if prefix else act.action == search.action))
        and search.actor in (None, act.actor)
        and search.target in (None, act.target)
        and search.connection in (None, act.connection)
        and search.agent in (None, act.agent)
        and search.run_id in (None, act.run_id)
        and search.result in (None, act.approved_via.value)
        and search.request in (None, act.detail.get(DETAIL))
        and (search.since is None or row.at >= search.since)
        and (search.until is None or row.at < search.until)
    )
