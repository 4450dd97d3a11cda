"""An organization with people, groups, topics and memories, built in a few lines."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from memscope.contracts.storage import IndexEntry, Operator, Storage
from memscope.model.audience import Audience, Permission, Place, Reach, Scope, Sensitivity
from memscope.model.audit import Act
from memscope.model.ids import new_id, new_number
from memscope.model.memory import Memory, Provenance, Version
from memscope.model.organization import (
    Connection,
    ConnectionKind,
    Group,
    GroupKind,
    GroupRole,
    Organization,
    Person,
    Reader,
    Role,
    Roster,
    Topic,
)
from memscope.model.review import GRAVITY, Flag, Review
from memscope.policy.reach import reach

START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
"""When built organizations begin; each memory is made a minute after the one before."""


@dataclass
class Builder:
    """An organization under construction. People, groups and topics are called by the names given here."""

    organization: Organization
    people: dict[str, Person] = field(default_factory=dict)
    groups: dict[str, Group] = field(default_factory=dict)
    topics: dict[str, Topic] = field(default_factory=dict)
    memberships: dict[str, dict[str, GroupRole]] = field(default_factory=dict)
    connections: dict[str, Connection] = field(default_factory=dict)
    """Person's name → a token connection of theirs."""
    removed_topics: set[str] = field(default_factory=set)
    """Ids of topics that once guarded and were taken out."""
    clock: datetime = START

    @property
    def names(self) -> dict[str, str]:
        """Person id → name."""
        return {person.id: name for name, person in self.people.items()}

    def person(self, name: str, role: Role = Role.MEMBER, clearance: Sensitivity | None = None, active: bool = True) -> Person:
        """Add somebody, with a token connection."""
        person = Person(new_id(), f"{name.lower()}@{self.organization.slug}.example", name, role, clearance, active)
        self.people[name] = person
        self.connections[name] = Connection(new_id(), person.id, ConnectionKind.TOKEN, "test client", START)
        return person

    def team(self, slug: str, members: Iterable[str] = (), owners: Iterable[str] = ()) -> Group:
        """Add a team."""
        return self._group(Group(new_id(), GroupKind.TEAM, slug, slug.replace("-", " ").title()), members, owners)

    def project(self, slug: str, members: Iterable[str] = (), owners: Iterable[str] = (), team: str | None = None) -> Group:
        """Add a project, of a team or of none."""
        parent = self.groups[team].id if team is not None else None
        return self._group(Group(new_id(), GroupKind.PROJECT, slug, slug.replace("-", " ").title(), team=parent), members, owners)

    def topic(
        self, key: str, teams: Iterable[str] = (), sensitivity: Sensitivity = Sensitivity.RESTRICTED, guarding: bool = False, **more: Any
    ) -> Topic:
        """Add a topic; `guarding` says that it had a guard team once. More fields of `Topic` may be given."""
        guards = frozenset(self.groups[team].id for team in teams)
        name = more.pop("name", key if key.isupper() else key.title())
        guarding = guarding or bool(guards)
        self.topics[key] = Topic(new_id(), key.lower(), name, sensitivity=sensitivity, teams=guards, guarding=guarding, **more)
        return self.topics[key]

    def roster(self, audiences: Iterable[Audience] = (), epoch: int = 1) -> Roster:
        """The organization as policy sees it."""
        return Roster(
            self.organization,
            epoch,
            {person.id: person for person in self.people.values()},
            {group.id: group for group in self.groups.values()},
            {topic.id: topic for topic in self.topics.values()},
            {group: dict(members) for group, members in self.memberships.items()},
            frozenset(audiences),
            frozenset(self.removed_topics),
        )

    def reader(self, name: str) -> Reader:
        """What policy knows of a person."""
        return self.roster().readers[self.people[name].id]

    def place(self, text: str, author: str = "") -> Place:
        """A place in words: `organization`, `personal` (the author's), or the slug of a group."""
        if text == "organization":
            return Place.organization()
        if text == "personal":
            return Place.personal(self.people[author].id)
        group = self.groups[text]
        return Place(group.scope, group=group.id)

    def memory(self, author: str, content: str, place: str = "personal", **more: Any) -> Memory:
        """A memory that is not stored. Topics are named by key; `flags` opens reviews; more fields of `Memory` may be given."""
        self.clock += timedelta(minutes=1)
        topics = frozenset(self.topics[key].id for key in more.pop("topics", ()))
        flags = sorted(more.pop("flags", ()), key=GRAVITY.index)
        reviews = tuple(Review(flag, f"because of {flag.value}", self.clock, more.get("version", 1)) for flag in flags)
        made = Memory(
            id=new_id(),
            number=new_number(),
            content=content,
            place=self.place(place, author),
            sensitivity=more.pop("sensitivity", Sensitivity.INTERNAL),
            topics=topics,
            provenance=Provenance(self.people[author].id, self.connections[author].id, "test client"),
            created_at=self.clock,
            updated_at=self.clock,
            reviews=reviews,
            review_state="open" if reviews else "none",
        )
        return replace(made, **more)

    # -- stored ------------------------------------------------------------------------------------------------------

    def store(self, storage: Storage) -> Builder:
        """Write the organization with all its people, groups, topics and connections."""
        with storage.begin(Operator("build organization", None), Act("organization.create", detail={"reason": "test"})) as tx:
            tx.write_organization(self.organization)
        with storage.begin(self.operator, Act("organization.apply", detail={"reason": "test"})) as tx:
            for person in self.people.values():
                tx.write_person(person)
            for group in sorted(self.groups.values(), key=lambda group: group.kind is GroupKind.PROJECT):
                tx.write_group(group)
            for group_id, members in self.memberships.items():
                for person_id, role in members.items():
                    tx.write_membership(group_id, person_id, role)
            for topic in self.topics.values():
                tx.write_topic(topic)
            for connection in self.connections.values():
                tx.write_connection(connection)
        return self

    @property
    def operator(self) -> Operator:
        """Upkeep of this organization."""
        return Operator("test", self.organization.id)

    def reach(self, storage: Storage, name: str, permission: Permission = Permission.READ) -> Reach:
        """What a permission opens to a person now, as storage knows the organization."""
        roster = storage.roster(self.organization.id)
        person = self.people[name].id
        return reach(roster.readers[person], self.organization.id, roster.epoch, roster.audiences, permission, self.connections[name].id)

    def save(self, storage: Storage, memory: Memory, index: IndexEntry | None = None, *, operator: bool = False) -> Memory:
        """Store a memory as its author or, whoever may write there, as an operator."""
        author = self.names[memory.author]
        storage.intern(self.organization.id, memory.audience)
        version = Version(memory.version, memory.content, memory.masked, memory.provenance, memory.created_at, None)
        reach = self.operator if operator else self.reach(storage, author)
        with storage.begin(reach, self.act(author, "memory.remember", memory.id)) as tx:
            tx.insert(memory, version, index or entry(memory.open_text))
        return memory

    def change(self, storage: Storage, before: Memory, index: IndexEntry | None = None, **to: Any) -> Memory:
        """Store a change of a memory as an operator; a new text becomes a version of its author's."""
        after = replace(before, version=before.version + 1, **to)
        storage.intern(self.organization.id, after.audience)
        version = None
        if after.content != before.content:
            version = Version(after.version, after.content, after.masked, before.provenance, after.updated_at, None)
        with storage.begin(self.operator, Act("memory.change", target=before.id)) as tx:
            locked = tx.memory(before.id, lock=True)
            assert locked is not None
            tx.update(locked, after, version, index)
        return after

    def act(self, name: str, action: str, target: str | None = None) -> Act:
        """What a person does."""
        return Act(action, self.people[name].id, self.connections[name].id, target)

    def _group(self, group: Group, members: Iterable[str], owners: Iterable[str]) -> Group:
        self.groups[group.slug] = group
        ranks = dict.fromkeys(members, GroupRole.MEMBER) | dict.fromkeys(owners, GroupRole.OWNER)
        self.memberships[group.id] = {self.people[name].id: rank for name, rank in ranks.items()}
        return group


def entry(text: str) -> IndexEntry:
    """An index entry of plain lower-case words without a vector: enough where recall itself is not tested."""
    return IndexEntry(tuple(text.lower().split()), None, None)


def empty(slug: str = "quay", **more: Any) -> Builder:
    """An organization with nobody in it. More fields of `Organization` may be given."""
    return Builder(Organization(new_id(), slug, more.pop("name", slug.title()), **more))


def harbor(slug: str = "harbor") -> Builder:
    """A small organization.

    Ada is an admin, Bo a member of team engineering, Cy a guest, Di the owner of team people-ops, Ed the owner of
    project apollo, which belongs to engineering. HR is guarded by people-ops; Legal and Finance have no guard team.
    """
    built = empty(slug, default_scope=Scope.PERSONAL)
    built.person("Ada", Role.ADMIN)
    built.person("Bo")
    built.person("Cy", Role.GUEST)
    built.person("Di")
    built.person("Ed")
    built.team("engineering", members=["Bo"])
    built.team("people-ops", owners=["Di"])
    built.project("apollo", owners=["Ed"], team="engineering")
    built.topic("HR", ["people-ops"], builtin=True)
    built.topic("Legal", builtin=True)
    built.topic("Finance", builtin=True)
    return built


__all__ = ["START", "Builder", "Flag", "empty", "entry", "harbor"]
