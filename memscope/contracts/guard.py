"""What guarding plugins are told, and the spans that their evidence points at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from memscope.contracts.embedding import Vectors
from memscope.model.audience import Scope, Sensitivity
from memscope.model.memory import Kind
from memscope.model.organization import Role


@dataclass(frozen=True, slots=True)
class TopicDescription:
    """A sensitive topic as the organization describes it to a classifier."""

    key: str
    name: str
    aliases: tuple[str, ...] = ()
    description: str = ""
    phrases: tuple[str, ...] = ()
    sensitivity: Sensitivity = Sensitivity.RESTRICTED
    """The level that a memory on this topic gets at least."""


@dataclass(frozen=True, slots=True)
class GuardContext:
    """What a classifier may know beside the text. It never holds the application, a person or a memory.

    `embed` turns one text into a unit vector (float32, shape (dimensions,)) or is None while no model is loaded.
    """

    topics: tuple[TopicDescription, ...] = ()
    scope: Scope = Scope.PERSONAL
    kind: Kind | None = None
    author_role: Role = Role.MEMBER
    client: str | None = None
    """The name of the client that was shown at consent or given to the token."""
    agent: str | None = None
    """The label an agent gave itself; unchecked."""
    embed: Callable[[str], Vectors] | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Span:
    """Half-open range of code points in the text that was handed to the hook."""

    start: int
    end: int
