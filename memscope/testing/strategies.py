"""Random organizations and memories for hypothesis, small enough that every combination of rules comes up."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from hypothesis import strategies as st

from memscope.model.audience import Sensitivity
from memscope.model.memory import Kind, Memory
from memscope.model.organization import GroupRole, Role
from memscope.model.review import Flag
from memscope.testing.builders import START, Builder, empty

PEOPLE = ("Ann", "Ben", "Cem", "Dea", "Eli")
GROUPS = ("red", "green", "blue")
TOPICS = ("hr", "law", "tax")
TEXTS = ("the harbour opens at six", "boats pay by length", "the crane is tested on Mondays", "fuel is ordered by the pier")

LATER = START + timedelta(days=30)
"""After `START`, and past by the clock of a storage."""
FAR = START + timedelta(days=36500)
"""Not past by any clock."""


@st.composite
def organizations(draw: st.DrawFn) -> Builder:
    """An organization of five people, three groups and three topics, with any roles, clearances and mappings."""
    org = empty()
    for name in PEOPLE:
        role = draw(st.sampled_from((Role.MEMBER, Role.MEMBER, Role.ADMIN, Role.GUEST)))
        clearance = draw(st.sampled_from((None, None, *Sensitivity)))
        org.person(name, role, clearance, active=draw(st.sampled_from((True, True, True, False))))
    for slug in GROUPS:
        ranks = {name: draw(st.sampled_from((None, *GroupRole))) for name in PEOPLE}
        add = org.team if slug != "blue" else org.project
        add(
            slug,
            [name for name, rank in ranks.items() if rank is GroupRole.MEMBER],
            [name for name, rank in ranks.items() if rank is GroupRole.OWNER],
        )
    for key in TOPICS:
        org.topic(key, draw(st.sets(st.sampled_from(GROUPS[:2]), max_size=2)), guarding=draw(st.booleans()))
    return org


@st.composite
def memories(draw: st.DrawFn, org: Builder) -> Memory:
    """A memory of somebody in an organization, in any state."""
    author = draw(st.sampled_from(PEOPLE))
    forgotten_by = draw(st.sampled_from((None, None, None, author, *PEOPLE)))
    return org.memory(
        author,
        draw(st.sampled_from(TEXTS)),
        draw(st.sampled_from(("organization", "personal", *GROUPS))),
        sensitivity=draw(st.sampled_from(Sensitivity)),
        topics=draw(st.sets(st.sampled_from(TOPICS), max_size=2)),
        flags=draw(st.sampled_from(((), (), (), *((flag,) for flag in Flag), (Flag.INSTRUCTIONS, Flag.FYI)))),
        own=draw(st.sampled_from((True, True, False))),
        kind=draw(st.sampled_from((None, Kind.FACT, Kind.HANDOFF))),
        valid_until=draw(st.sampled_from((None, FAR, LATER))),
        forgotten_at=None if forgotten_by is None else START,
        forgotten_by=None if forgotten_by is None else org.people[forgotten_by].id,
    )


@st.composite
def populated(draw: st.DrawFn, size: int = 6) -> tuple[Builder, list[Memory]]:
    """An organization and some memories in it; some are replaced by one that comes before them in the list."""
    org = draw(organizations())
    found = draw(st.lists(memories(org), min_size=1, max_size=size))
    for place in range(1, len(found)):
        newer = draw(st.sampled_from((None, None, *found[:place])))
        if newer is not None:
            found[place] = replace(found[place], superseded_by=newer.id)
    return org, found
