"""Which consent a change needs. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from memscope.model.memory import Memory, Version
from memscope.model.principal import Principal
from memscope.policy.effect import Effect


class Confirm(Enum):
    """The two confirm flags, in the order in which they are asked for."""

    HUMAN = "confirm_human"
    WIDEN = "confirm_widen"


@dataclass(frozen=True, slots=True)
class Needs:
    """What a change needs, and why, in words for the agent."""

    flags: tuple[Confirm, ...] = ()
    reason: str = ""
    person: bool = False
    """Whether the person must decide it in the console in every mode but `flag`: approving text that reads like orders."""

    def __bool__(self) -> bool:
        return bool(self.flags)


class Asks(Enum):
    """How a change stands to consent."""

    BY_EFFECT = "by_effect"
    """Widening asks; so does not narrowing a flagged memory that this connection saved."""
    FORGETTING = "forgetting"
    APPROVING_INSTRUCTIONS = "approving_instructions"
    NOTHING = "nothing"
    """Saving, correcting, superseding, restoring: what would add a reader is flagged instead."""


def needs(asks: Asks, before: Memory | None, effect: Effect, saved_here: bool) -> Needs:
    """What consent a change needs (DESIGN section 4)."""
    if asks is Asks.NOTHING or before is None:
        return Needs()
    reasons: dict[Confirm, str] = {}
    if asks is Asks.FORGETTING:
        reasons[Confirm.HUMAN] = "Forgetting is for the person to decide."
    elif asks is Asks.APPROVING_INSTRUCTIONS:
        reasons[Confirm.HUMAN] = "The memory reads like instructions to an AI; only the person may let it through."
    elif before.flagged and saved_here and not effect.narrows:
        reasons[Confirm.HUMAN] = "This connection saved the flagged memory, so it cannot clear it by itself."
    if effect.widens and asks is not Asks.FORGETTING:
        reasons[Confirm.WIDEN] = "More people could read the memory after this change."
    flags = tuple(flag for flag in Confirm if flag in reasons)
    return Needs(flags, " ".join(reasons[flag] for flag in flags), asks is Asks.APPROVING_INSTRUCTIONS)


def saved_here(principal: Principal, versions: Sequence[Version]) -> bool:
    """Whether this connection, or another of the same person and client, wrote any version."""
    return any(
        version.provenance.connection == principal.connection
        or (version.provenance.person == principal.person and version.provenance.client == principal.client)
        for version in versions
    )
