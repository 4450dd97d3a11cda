"""The organization, its people, groups and topics, and all of them at one epoch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from functools import cached_property

from memscope.model.audience import Audience, Scope, Sensitivity


class Role(Enum):
    """What a person is in the organization."""

    GUEST = "guest"
    MEMBER = "member"
    ADMIN = "admin"


class GroupKind(Enum):
    """Teams and projects differ in name, and in that a project may belong to a team."""

    TEAM = "team"
    PROJECT = "project"


class GroupRole(Enum):
    """What a person is in a group."""

    MEMBER = "member"
    OWNER = "owner"


class Confirmation(Enum):
    """How far the person must be asked before a change widens or erases (DESIGN section 4)."""

    FLAG = "flag"
    ASK = "ask"
    CONSOLE = "console"


class SecretsPolicy(Enum):
    """What happens to a credential in a memory (DESIGN section 3)."""

    HOLD = "hold"
    REDACT = "redact"
    REJECT = "reject"


@dataclass(frozen=True, slots=True)
class Organization:
    """The tenant; nothing ever crosses it."""

    id: str
    slug: str
    name: str
    timezone: str = "UTC"
    """An IANA zone name."""
    trash_days: int = 30
    default_scope: Scope = Scope.PERSONAL
    default_sensitivity: Sensitivity = Sensitivity.INTERNAL
    confirmation: Confirmation = Confirmation.ASK
    secrets: SecretsPolicy = SecretsPolicy.HOLD


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody of one organization who signs in. Disabled, never deleted."""

    id: str
    email: str
    """Lower case; unique within the organization."""
    name: str
    role: Role = Role.MEMBER
    clearance: Sensitivity | None = None
    """What an admin granted; None: what the role gives."""
    active: bool = True


@dataclass(frozen=True, slots=True)
class Group:
    """A team or a project."""

    id: str
    kind: GroupKind
    slug: str
    name: str
    aliases: tuple[str, ...] = ()
    team: str | None = None
    """Group id of the team a project belongs to; that alone gives nobody anything."""

    @property
    def scope(self) -> Scope:
        """The scope of memories that lie in it."""
        return Scope.TEAM if self.kind is GroupKind.TEAM else Scope.PROJECT


@dataclass(frozen=True, slots=True)
class Topic:
    """A sensitive subject."""

    id: str
    key: str
    name: str
    aliases: tuple[str, ...] = ()
    description: str = ""
    phrases: tuple[str, ...] = ()
    sensitivity: Sensitivity = Sensitivity.RESTRICTED
    teams: frozenset[str] = frozenset()
    """Group ids of its guard teams."""
    guarding: bool = False
    """Whether it has or ever had a guard team. Storage never lets it fall back to False."""
    builtin: bool = False


class ConnectionKind(Enum):
    """How an agent signed in."""

    TOKEN = "token"
    OAUTH = "oauth"
    STDIO = "stdio"
    CONSOLE = "console"


@dataclass(frozen=True, slots=True)
class Connection:
    """The credential an agent signed in with. It survives refresh; a client's own words about itself never make one."""

    id: str
    person: str
    kind: ConnectionKind
    client: str
    """The name shown at consent or given to the token."""
    created_at: datetime
    expires_at: datetime | None = None
    last_used_at: datetime | None = None
    revoked_at: datetime | None = None
    client_version: str | None = None
    """As last stated by the client."""


@dataclass(frozen=True, slots=True)
class Guards:
    """Which topics guard at all, at one epoch."""

    mapped: frozenset[str] = frozenset()
    """Topic ids that have a guard team now."""
    guarding: frozenset[str] = frozenset()
    """Topic ids that have or ever had one."""


@dataclass(frozen=True, slots=True)
class Reader:
    """The facts about a person that policy needs."""

    person: str
    role: Role
    active: bool = True
    clearance: Sensitivity = Sensitivity.INTERNAL
    """The person's own: granted, or else by role."""
    groups: frozenset[str] = frozenset()
    """Group ids where the person is member or owner."""
    owns: frozenset[str] = frozenset()
    """Group ids where the person is owner."""
    guards_for: frozenset[str] = frozenset()
    """Topic ids of which the person is in a guard team."""
    guards: Guards = field(default_factory=Guards)


ROLE_CLEARANCE: Mapping[Role, Sensitivity] = {
    Role.GUEST: Sensitivity.PUBLIC,
    Role.MEMBER: Sensitivity.INTERNAL,
    Role.ADMIN: Sensitivity.HIGHLY_RESTRICTED,
}


@dataclass(frozen=True, eq=False)
class Roster:
    """Everything policy knows of one organization at one epoch: the organization, people, groups, topics, audiences."""

    organization: Organization
    epoch: int
    people: Mapping[str, Person]
    groups: Mapping[str, Group]
    topics: Mapping[str, Topic]
    memberships: Mapping[str, Mapping[str, GroupRole]]
    """Group id → person id → role."""
    audiences: frozenset[Audience] = frozenset()
    """Every audience that storage knows."""
    removed_topics: frozenset[str] = frozenset()
    """Ids of topics taken out of the lists that had a guard team once: they go on guarding the memories on them."""

    @cached_property
    def guards(self) -> Guards:
        """Which topics guard."""
        return Guards(
            mapped=frozenset(topic.id for topic in self.topics.values() if topic.teams),
            guarding=self.removed_topics | {topic.id for topic in self.topics.values() if topic.guarding or topic.teams},
        )

    @cached_property
    def readers(self) -> Mapping[str, Reader]:
        """Person id → reader, for every person, disabled ones too."""
        groups: dict[str, set[str]] = {person: set() for person in self.people}
        owns: dict[str, set[str]] = {person: set() for person in self.people}
        for group, members in self.memberships.items():
            for person, role in members.items():
                groups[person].add(group)
                if role is GroupRole.OWNER:
                    owns[person].add(group)
        return {
            person.id: Reader(
                person=person.id,
                role=person.role,
                active=person.active,
                clearance=ROLE_CLEARANCE[person.role] if person.clearance is None else person.clearance,
                groups=frozenset(groups[person.id]),
                owns=frozenset(owns[person.id]),
                guards_for=frozenset(topic.id for topic in self.topics.values() if not topic.teams.isdisjoint(groups[person.id])),
                guards=self.guards,
            )
            for person in self.people.values()
        }

    def same_facts(self, other: Roster) -> bool:
        """Whether another roster of the organization says the same of everything but which audiences there are."""
        return all(
            getattr(self, name) == getattr(other, name)
            for name in ("organization", "people", "groups", "topics", "memberships", "removed_topics")
        )

    def groups_of(self, person: str, kind: GroupKind | None = None) -> tuple[Group, ...]:
        """The groups a person is in, by slug."""
        mine = self.readers[person].groups
        return tuple(
            sorted(
                (group for group in self.groups.values() if group.id in mine and kind in (None, group.kind)),
                key=lambda group: (group.kind.value, group.slug),
            )
        )

    def find_group(self, name: str, kind: GroupKind) -> Group | None:
        """The group that an id, slug, name or alias means, compared without case and outer space; None when there is none.

        Ids come first, then slugs, names and aliases, so that no alias can hide another group's slug.
        """
        wanted = name.strip()
        if (by_id := self.groups.get(wanted)) is not None and by_id.kind is kind:
            return by_id
        folded = wanted.casefold()
        candidates = sorted((group for group in self.groups.values() if group.kind is kind), key=lambda group: group.slug)
        for names in (_slug, _name, _aliases):
            for group in candidates:
                if folded in (text.casefold() for text in names(group)):
                    return group
        return None

    def find_topic(self, name: str) -> Topic | None:
        """The topic that an id, key, name or alias means, compared without case."""
        wanted = name.strip()
        if (by_id := self.topics.get(wanted)) is not None:
            return by_id
        folded = wanted.casefold()
        for topic in sorted(self.topics.values(), key=lambda topic: topic.key):
            if folded in (topic.key.casefold(), topic.name.casefold(), *(alias.casefold() for alias in topic.aliases)):
                return topic
        return None

    def find_person(self, name: str) -> Person | None:
        """The person with this id or e-mail address."""
        wanted = name.strip()
        if (by_id := self.people.get(wanted)) is not None:
            return by_id
        folded = wanted.casefold()
        return next((person for person in self.people.values() if person.email == folded), None)


def _slug(group: Group) -> Iterable[str]:
    return (group.slug,)


def _name(group: Group) -> Iterable[str]:
    return (group.name,)


def _aliases(group: Group) -> Iterable[str]:
    return group.aliases
