"""Removing a group: wherever its memories go, nobody new reads what whoever removes it does not read."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memscope.model.audience import Permission
from memscope.model.memory import Memory
from memscope.policy.effect import readers_of
from memscope.policy.permissions import may
from memscope.testing.builders import START, Builder
from memscope.testing.strategies import GROUPS, PEOPLE, populated
from memscope.upkeep.emptying import AUTHORS, placed


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(populated(), st.sampled_from(PEOPLE), st.sampled_from((AUTHORS, *GROUPS)))
def test_nobody_but_its_author_gains_what_the_actor_does_not_read(drawn: tuple[Builder, list[Memory]], name: str, to: str) -> None:
    org, found = drawn
    roster, actor = org.roster(), org.people[name].id
    target = AUTHORS if to == AUTHORS else org.groups[to].id
    for memory in found:
        if memory.place.group is None or memory.place.group == target:
            continue
        after = placed(memory, roster, actor, target, START)
        assert after.place.group != memory.place.group
        assert (after.content, after.forgotten_at, after.topics) == (memory.content, memory.forgotten_at, memory.topics)
        assert after.sensitivity is memory.sensitivity
        assert after.tainted == memory.tainted
        gains = readers_of(after, roster) - readers_of(memory, roster)
        permission = Permission.MOVE if memory.forgotten_at is None else Permission.RESTORE
        moves = memory.forgotten_by != memory.author and may(roster.readers[actor], permission, memory)
        if target == AUTHORS or not moves:
            assert after.place.person == memory.author
            assert gains <= {memory.author}
            writer = next(person for person in roster.people if person != memory.author)
            newest = replace(memory.provenance, person=writer)
            theirs = placed(memory, roster, actor, target, START, newest)
            gains = readers_of(theirs, roster) - readers_of(memory, roster)
            shown = may(roster.readers[actor], permission, memory)
            assert memory.own or shown or memory.author not in gains, "nobody who reads it decided to show others' text to its author"
            assert theirs.place.person == theirs.author
        elif memory.held:
            assert after.held, "what waits for a review goes on waiting"
