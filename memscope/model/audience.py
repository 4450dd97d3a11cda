"""Audiences: what of a memory decides who may read it, and the sets of them that are open to somebody."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum


class Scope(Enum):
    """Whose a memory is: everybody's, a group's, or one person's."""

    ORGANIZATION = "organization"
    TEAM = "team"
    PROJECT = "project"
    PERSONAL = "personal"


class Sensitivity(IntEnum):
    """How sensitive; the order is the order of strictness."""

    PUBLIC = 0
    INTERNAL = 1
    RESTRICTED = 2
    HIGHLY_RESTRICTED = 3

    @property
    def label(self) -> str:
        """The word used in tools, files and pages."""
        return self.name.lower()

    @classmethod
    def parse(cls, label: str) -> Sensitivity:
        """The level with this label; ValueError when there is none."""
        try:
            return cls[label.upper()] if label == label.lower() else cls[""]
        except KeyError:
            raise ValueError(f"{label!r} is no sensitivity") from None


@dataclass(frozen=True, slots=True)
class Place:
    """A scope with its group or, when personal, its person. Build one with the class methods."""

    scope: Scope
    group: str | None = None
    """Group id when the scope is team or project."""
    person: str | None = None
    """Person id when the scope is personal."""

    def __post_init__(self) -> None:
        needs_group = self.scope in (Scope.TEAM, Scope.PROJECT)
        if needs_group != (self.group is not None) or (self.scope is Scope.PERSONAL) != (self.person is not None):
            raise ValueError("a team or project place names its group, a personal one its person, the organization neither")

    @classmethod
    def organization(cls) -> Place:
        """Everybody of the organization."""
        return cls(Scope.ORGANIZATION)

    @classmethod
    def team(cls, group: str) -> Place:
        """The members and owners of a team."""
        return cls(Scope.TEAM, group=group)

    @classmethod
    def project(cls, group: str) -> Place:
        """The members and owners of a project."""
        return cls(Scope.PROJECT, group=group)

    @classmethod
    def personal(cls, person: str) -> Place:
        """One person alone."""
        return cls(Scope.PERSONAL, person=person)

    @property
    def shared(self) -> bool:
        """Whether more than one person may be in it."""
        return self.scope is not Scope.PERSONAL


@dataclass(frozen=True, slots=True)
class Audience:
    """Place, sensitivity, topics and whether held; derived from a memory and naming no author.

    Storage keeps each distinct one once, immutable, under a small integer that never leaves it.
    """

    place: Place
    sensitivity: Sensitivity
    topics: frozenset[str] = frozenset()
    """Topic ids."""
    held: bool = False


class Standing(Enum):
    """What a reader is to a memory."""

    ANYBODY = "anybody"
    AUTHOR = "author"
    """The author, while every version is the author's own."""
    COAUTHOR = "coauthor"
    """The author of a memory whose text somebody else has changed: no longer excepted from clearance."""
    REVIEWER = "reviewer"
    """Only while a flag is open."""
    REVIEWING_AUTHOR = "reviewing_author"
    """The author while a flag is open: reviews it wherever it lies and whatever it says."""


class Permission(Enum):
    """What a reader may want to do with a memory."""

    READ = "read"
    REVIEW = "review"
    CORRECT = "correct"
    SUPERSEDE = "supersede"
    FORGET = "forget"
    RESTORE = "restore"
    MOVE = "move"
    RECLASSIFY = "reclassify"


@dataclass(frozen=True, eq=False)
class Reach:
    """The audiences that one permission opens to one person, by standing, at one epoch.

    Made by `memscope.policy.reach`; storage turns it into ids and shows nothing else. Compared by identity, so
    that storage may remember the translation of one.
    """

    organization: str
    person: str
    epoch: int
    permission: Permission
    anybody: frozenset[Audience]
    author: frozenset[Audience]
    coauthor: frozenset[Audience]
    reviewer: frozenset[Audience]
    connection: str | None = None
    """Connection id of the principal; a writing transaction locks it against revocation."""
    revealed: frozenset[str] = frozenset()
    """Ids of memories opened to a console session for an hour; reading only."""
