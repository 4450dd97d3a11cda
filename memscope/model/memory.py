"""A memory: what it says, where it lies, how sensitive it is, where it came from."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum

from memscope.model.audience import Audience, Place, Scope, Sensitivity
from memscope.model.review import Flag, Review

__all__ = ["Audience", "Kind", "Memory", "Place", "Provenance", "Scope", "Sensitivity", "Version"]

CONTENT_MAX = 8000
"""Characters (code points) of content, new content and query; longer is refused, never cut."""
REASON_MAX = 500
LABEL_MAX = 64
KEY_MAX = 200


class Kind(Enum):
    """What a memory is for."""

    FACT = "fact"
    DECISION = "decision"
    PROCEDURE = "procedure"
    HANDOFF = "handoff"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Provenance:
    """Who saved a version, and through what. Labels only: they never change who may read."""

    person: str
    """Person id of the author."""
    connection: str
    """Connection id: the grant or token, whatever the client says of itself."""
    client: str | None = None
    """The name shown at consent or given to the token."""
    client_version: str | None = None
    """As last stated by the client."""
    agent: str | None = None
    run_id: str | None = None
    doubtful: bool = False
    """Whether the labels or the reason given with it hold a secret or read like orders: then only the person sees them."""


@dataclass(frozen=True, slots=True)
class Memory:
    """One memory as it stands now.

    `content` is the text as saved; when it holds a credential that is kept (`secrets = hold`), `masked` is the
    text with each credential replaced by its type, and is what everybody but the author is shown and what every
    index, preview and export is made of.
    """

    id: str
    number: int
    content: str
    place: Place
    sensitivity: Sensitivity
    topics: frozenset[str]
    """Topic ids."""
    provenance: Provenance
    """Of the first version: its person is the memory's author."""
    created_at: datetime
    updated_at: datetime
    masked: str | None = None
    kind: Kind | None = None
    importance: float = 0.5
    version: int = 1
    """Counts every change of content, scope, sensitivity or state."""
    valid_until: datetime | None = None
    reviews: tuple[Review, ...] = field(default=())
    """The open ones, gravest first."""
    review_state: str = "none"
    """`none`, `open`, or how the last review ended: `approved`, `rerouted`, `tightened`."""
    superseded_by: str | None = None
    """Id of the newer memory, whether or not the link acts now."""
    superseded: bool = False
    """Whether the link acts: the newer memory is not held, forgotten or expired."""
    forgotten_at: datetime | None = None
    forgotten_by: str | None = None
    """Person id."""
    own: bool = True
    """Whether every version is the author's own."""

    @property
    def author(self) -> str:
        """Person id."""
        return self.provenance.person

    @property
    def flags(self) -> frozenset[Flag]:
        """The flags open now."""
        return frozenset(review.flag for review in self.reviews)

    @property
    def flagged(self) -> bool:
        """Whether any review is open."""
        return bool(self.reviews)

    @property
    def tainted(self) -> bool:
        """Whether it waits for somebody to say that its text is no order to an AI."""
        return Flag.INSTRUCTIONS in self.flags

    @property
    def held(self) -> bool:
        """Whether some flag other than `fyi` is open: readable by its author and its reviewers only."""
        return bool(self.flags - {Flag.FYI})

    @property
    def audience(self) -> Audience:
        """The frozen value that policy decides on."""
        return Audience(self.place, self.sensitivity, self.topics, self.held)

    @property
    def open_text(self) -> str:
        """The text that may leave its author's sight: credentials replaced by their type."""
        return self.content if self.masked is None else self.masked

    def expired(self, now: datetime) -> bool:
        """Whether it is past its `valid_until`."""
        return self.valid_until is not None and self.valid_until <= now


@dataclass(frozen=True, slots=True)
class Version:
    """One text that a memory has had."""

    number: int
    """The memory's version when this text was saved."""
    content: str
    masked: str | None
    provenance: Provenance
    changed_at: datetime
    reason: str | None
    replaced_under: Audience | None = None
    """The audience that the memory had when this text was replaced; None for the newest."""

    @property
    def open_text(self) -> str:
        """The text with credentials replaced by their type."""
        return self.content if self.masked is None else self.masked
