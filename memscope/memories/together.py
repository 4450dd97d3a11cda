"""What a decision about several memories does in all."""

from __future__ import annotations

from collections.abc import Sequence

from memscope.memories.consequence import Consequence, People
from memscope.model.organization import Roster
from memscope.policy.effect import readers_of
from memscope.text.normalise import safe


def gaining_any(consequences: Sequence[Consequence], roster: Roster) -> People:
    """Who gains reading of at least one; named and counted exactly where each by itself is, else at most their sum."""
    if all(one.gains.names is not None for one in consequences):
        persons = {person for one in consequences for person in readers_of(one.after, roster) - readers_of(one.before, roster)}
        names = sorted(safe(roster.people[person].name)[0] for person in persons)
        return People(len(names), True, tuple(names))
    count = min(sum(one.gains.count for one in consequences), len(roster.people))
    return People(count, False, None)
