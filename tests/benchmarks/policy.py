"""How fast policy decides for an organization of 2,000 people, 500 groups and 5,000 audiences. Run it; it prints."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

from memscope.model.audience import Audience, Permission, Place, Sensitivity
from memscope.model.memory import Memory, Provenance
from memscope.model.organization import Group, GroupKind, GroupRole, Organization, Person, Role, Roster, Topic
from memscope.model.review import Flag, Review
from memscope.policy.effect import effect
from memscope.policy.explain import explain
from memscope.policy.reach import reach

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def organization(people: int = 2000, groups: int = 500, topics: int = 12, audiences: int = 5000, seed: int = 7) -> Roster:
    """A large organization; one person in fifty is an admin, one in ten a guest, everybody is in about eight groups."""
    draw = random.Random(seed)
    persons = [f"p{n}" for n in range(people)]
    roles = {person: draw.choices(list(Role), (10, 88, 2))[0] for person in persons}
    team_ids = [f"g{n}" for n in range(groups)]
    memberships: dict[str, dict[str, GroupRole]] = {group: {} for group in team_ids}
    for person in persons:
        for group in draw.sample(team_ids, 8):
            memberships[group][person] = draw.choices(list(GroupRole), (9, 1))[0]
    topic_ids = [f"t{n}" for n in range(topics)]
    places = [Place.organization(), *(Place.team(group) for group in team_ids), *(Place.personal(person) for person in persons)]
    known: set[Audience] = set()
    while len(known) < audiences:
        topics_of = frozenset(draw.sample(topic_ids, draw.choice((0, 0, 1, 2))))
        known.add(Audience(draw.choice(places), draw.choice(list(Sensitivity)), topics_of, draw.random() < 0.1))
    return Roster(
        Organization("o", "large", "Large"),
        1,
        {person: Person(person, f"{person}@large.example", person, roles[person]) for person in persons},
        {group: Group(group, GroupKind.TEAM, group, group) for group in team_ids},
        {topic: Topic(topic, topic, topic, teams=frozenset(draw.sample(team_ids, 2)), guarding=True) for topic in topic_ids},
        memberships,
        frozenset(known),
    )


def best(work: Callable[[], object], repeat: int = 7) -> float:
    """Milliseconds of the fastest of some runs."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times) * 1000


def main() -> None:
    """Print the times."""
    roster = organization()
    start = time.perf_counter()
    readers = roster.readers
    print(f"readers of the roster, once per epoch   {(time.perf_counter() - start) * 1000:8.1f} ms")
    for role in Role:
        reader = next(reader for reader in readers.values() if reader.role is role)
        took = best(lambda reader=reader: reach(reader, "o", 1, roster.audiences, Permission.READ))  # type: ignore[misc]
        print(f"reach over {len(roster.audiences)} audiences, {role.value:<8}        {took:8.1f} ms")
    here = Memory("m", 1, "x", Place.organization(), Sensitivity.INTERNAL, frozenset(), Provenance("p1", "c"), NOW, NOW)
    held = replace(here, reviews=(Review(Flag.AUDIENCE, "why", NOW, 1),))
    team = replace(here, place=Place.team("g1"))
    secret = replace(here, sensitivity=Sensitivity.RESTRICTED, topics=frozenset({"t1", "t2"}))
    changes = {
        "team to organization": (team, here),
        "organization to team": (here, team),
        "approve": (held, here),
        "guarded": (here, secret),
    }
    for name, (before, after) in changes.items():
        found = effect(before, after, roster)
        took = best(lambda before=before, after=after: effect(before, after, roster))  # type: ignore[misc]
        print(f"effect: {name:<24} {found.readers_before:5} to {found.readers_after:<5} {took:8.1f} ms")
    print(f"explain                                 {best(lambda: explain(readers['p5'], secret, NOW, roster)):8.2f} ms")


if __name__ == "__main__":
    main()
