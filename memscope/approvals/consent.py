"""What the person is known to have said about one call."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Outcome(Enum):
    """How a client answered a question put to the person."""

    ACCEPT = "accept"
    """The required choice was the one to go on."""
    DECLINE = "decline"
    """Declined, or the choice was to keep things as they are."""
    CANCEL = "cancel"
    """Cancelled, or accepted without the required choice: nobody answered."""


@dataclass(frozen=True, slots=True)
class Question:
    """What a client is asked to put to the person: a required choice without a default.

    Holds number, date and audiences; never memory text, reason, or anything a client said.
    """

    message: str
    digest: str
    """Binds the answer to this very change."""
    accept: str
    """Label of the choice to go on."""
    keep: str
    """Label of the choice to leave things as they are."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A client's answer to the question with this digest."""

    digest: str
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Consent:
    """The confirm flags of a call, and what the client can and did answer. A flag is only the agent's claim."""

    confirm_widen: bool = False
    confirm_human: bool = False
    can_elicit: bool = False
    answer: Answer | None = None
    preview: bool = False
    """Only show what would change (`memscope.memories.consequence`): nothing is written, nobody is asked."""


class AskPerson(Exception):
    """The client must put a question to the person and call again with the answer. Nothing was written."""

    def __init__(self, question: Question) -> None:
        super().__init__("the person has to be asked")
        self.question = question
