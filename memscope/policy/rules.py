"""The one list of named rules. A rule looks at a reader, an audience and the reader's standing, and says yes or no."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass

from memscope.model.audience import Audience, Scope, Sensitivity, Standing
from memscope.model.organization import Reader, Role

AUTHORS = frozenset({Standing.AUTHOR, Standing.COAUTHOR, Standing.REVIEWING_AUTHOR})
"""The standings of somebody who wrote the memory's first version."""
REVIEWERS = frozenset({Standing.REVIEWER, Standing.REVIEWING_AUTHOR})
"""The standings that exist only while a flag is open."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A named condition, and what people are told when it holds and when it does not.

    The texts may use `{place}`, `{sensitivity}`, `{clearance}` and `{topics}`; "they" is the person asked about.
    """

    name: str
    holds: Callable[[Reader, Audience, Standing], bool]
    yes: str
    no: str


# -- facts that several rules share --------------------------------------------------------------------------------------


def in_place(reader: Reader, audience: Audience) -> bool:
    """Whether the reader is among those the place is for."""
    place = audience.place
    if place.scope is Scope.ORGANIZATION:
        return True
    return place.person == reader.person if place.scope is Scope.PERSONAL else place.group in reader.groups


def own_place(reader: Reader, audience: Audience) -> bool:
    """Whether it is the reader's personal place."""
    return audience.place.person == reader.person


def clearance(reader: Reader, audience: Audience) -> Sensitivity:
    """How sensitive a memory with this audience the reader may read: the highest of what role, group and guard teams give.

    A guest never gets above public. Guard teams lift only who is in one of every topic that has or ever had one, so
    that ending a mapping lifts nobody.
    """
    if reader.role is Role.GUEST:
        return Sensitivity.PUBLIC
    guarded = audience.topics & reader.guards.guarding
    if audience.place.group in reader.owns or (guarded and guarded <= reader.guards_for):
        return Sensitivity.HIGHLY_RESTRICTED
    return max(reader.clearance, Sensitivity.RESTRICTED) if audience.place.group in reader.groups else reader.clearance


def guarding(reader: Reader, audience: Audience) -> frozenset[str]:
    """Topic ids that guard this audience: restricted or above, and the topic has or ever had a guard team."""
    return audience.topics & reader.guards.guarding if audience.sensitivity >= Sensitivity.RESTRICTED else frozenset()


def answers_for(reader: Reader, audience: Audience) -> bool:
    """Whether the reader owns the group, or is an admin and the place is not personal."""
    return audience.place.group in reader.owns or (reader.role is Role.ADMIN and audience.place.shared)


def view(reader: Reader, audience: Audience) -> Hashable:
    """Everything that rules look at, apart from the standing: equal views get equal answers.

    Organizations have few distinct views, so that reaches and effects decide each only once.
    """
    place, topics = audience.place, audience.topics
    if topics:
        topics &= reader.guards.guarding
    return (
        reader.role._value_,  # the hash of an enumeration's member costs more than the rest of this line
        reader.active,
        reader.clearance,
        place.scope._value_,
        place.group in reader.groups,
        place.group in reader.owns,
        place.person == reader.person,
        audience.sensitivity,
        audience.held,
        bool(topics) and (2 if topics <= reader.guards_for else 1),
    )


# -- the rules -------------------------------------------------------------------------------------------------------------


def _active(reader: Reader, audience: Audience, standing: Standing) -> bool:
    return reader.active


def _held(reader: Reader, audience: Audience, standing: Standing) -> bool:
    return not audience.held or standing is not Standing.ANYBODY


def _reviewer(reader: Reader, audience: Audience, standing: Standing) -> bool:
    return standing is not Standing.REVIEWER or (answers_for(reader, audience) and reader.role is not Role.GUEST)


def _place(reader: Reader, audience: Audience, standing: Standing) -> bool:
    return standing in REVIEWERS or in_place(reader, audience)


def _clearance(reader: Reader, audience: Audience, standing: Standing) -> bool:
    if standing is Standing.AUTHOR or standing in REVIEWERS or own_place(reader, audience):
        return True
    return audience.sensitivity <= clearance(reader, audience)


def _guards(reader: Reader, audience: Audience, standing: Standing) -> bool:
    if standing is Standing.AUTHOR or standing is Standing.REVIEWING_AUTHOR or own_place(reader, audience):
        return True
    return guarding(reader, audience) <= reader.guards_for


def _reviews(reader: Reader, audience: Audience, standing: Standing) -> bool:
    return standing in AUTHORS or (answers_for(reader, audience) and reader.role is not Role.GUEST)


def _edits(reader: Reader, audience: Audience, standing: Standing) -> bool:
    return standing in AUTHORS or answers_for(reader, audience)


ACTIVE = Rule(
    "active",
    _active,
    "They are active in the organization.",
    "They are disabled: nobody disabled reads anything.",
)
HELD = Rule(
    "held",
    _held,
    "It is not held back from them.",
    "It waits for a review: until then only its author and its reviewers read it.",
)
REVIEWER = Rule(
    "reviewer",
    _reviewer,
    "They may read it in the way that they do.",
    "They are neither an owner of its group nor an admin who may review it.",
)
PLACE = Rule(
    "place",
    _place,
    "They are among those it was saved for ({place}), or review it.",
    "They are not among those it was saved for ({place}).",
)
CLEARANCE = Rule(
    "clearance",
    _clearance,
    "They are cleared for {sensitivity} here, or wrote or review it themselves.",
    "They are cleared for {clearance} here, and it is {sensitivity}.",
)
GUARDS = Rule(
    "guard_team",
    _guards,
    "No guarded topic keeps them out.",
    "They are in no guard team of {topics}.",
)
REVIEWS = Rule(
    "reviews",
    _reviews,
    "They are its author, an owner of its group, or an admin.",
    "Only its author, an owner of its group or an admin reviews it; guests review their own alone.",
)
EDITS = Rule(
    "edits",
    _edits,
    "They are its author, an owner of its group, or an admin.",
    "Only its author, an owner of its group or an admin changes it.",
)

READING: tuple[Rule, ...] = (ACTIVE, HELD, REVIEWER, PLACE, GUARDS, CLEARANCE)
"""All have to hold for reading, and every other permission asks them first.

Guards come before the clearance: who joins a guard team is cleared by that too, so it is the reason that helps."""
