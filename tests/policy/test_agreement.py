"""Whatever the organization: permissions, reaches, explanations, effects and counts say the same."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memscope.model.audience import Permission, Reach, Sensitivity
from memscope.model.memory import Kind, Memory
from memscope.model.organization import Reader, Roster
from memscope.policy.effect import effect, readers_of
from memscope.policy.explain import explain, readers
from memscope.policy.permissions import may, may_reveal
from memscope.policy.reach import reach
from memscope.testing.builders import START, Builder
from memscope.testing.strategies import GROUPS, PEOPLE, TOPICS, memories, organizations, populated

ordinary = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def opens(found: Reach, memory: Memory, *, by_id: bool) -> bool:
    """What storage makes of a reach: the clauses of DESIGN section 2."""
    mine = memory.author == found.person
    if memory.forgotten_at is not None:
        if found.permission is not Permission.RESTORE:
            return False
        mine, by_id = mine and memory.forgotten_by == found.person, False
    return (
        memory.audience in found.anybody
        or (mine and memory.audience in (found.author if memory.own else found.coauthor))
        or (by_id and memory.flagged and (mine or memory.audience in found.reviewer))
    )


@ordinary
@given(populated())
def test_reaches_open_what_people_may(drawn: tuple[Builder, list[Memory]]) -> None:
    org, found = drawn
    roster = org.roster({memory.audience for memory in found})
    for permission in Permission:
        for reader in roster.readers.values():
            if not reader.active:  # nothing is begun for somebody disabled; the sets are empty
                opened = reach(reader, "o", 1, roster.audiences, permission)
                assert not opened.anybody | opened.author | opened.coauthor | opened.reviewer
                continue
            opened = reach(reader, "o", 1, roster.audiences, permission)
            for memory in found:
                assert opens(opened, memory, by_id=True) == may(reader, permission, memory), (permission, memory)
                if memory.forgotten_at is not None or permission is not Permission.RESTORE:
                    assert opens(opened, memory, by_id=False) == may(reader, permission, memory, by_id=False), (permission, memory)


@ordinary
@given(populated())
def test_explanations_give_the_reasons_of_the_answer(drawn: tuple[Builder, list[Memory]]) -> None:
    org, found = drawn
    roster = org.roster()
    for reader in roster.readers.values():
        for memory in found:
            told = explain(reader, memory, START, roster)
            assert told.visible == may(reader, Permission.READ, memory)
            assert not told.in_default_recall or may(reader, Permission.READ, memory, by_id=False)
            if may(reader, Permission.READ, memory, by_id=False):
                assert told.in_default_recall == (not memory.tainted and memory.kind is not Kind.HANDOFF)
            assert told.in_default_recall == all(result.passed for result in told.rules)
            assert all(result.text and "{" not in result.text for result in told.rules)


@ordinary
@given(organizations().flatmap(lambda org: st.tuples(st.just(org), memories(org), memories(org))))
def test_effects_are_the_differences_of_readers(drawn: tuple[Builder, Memory, Memory]) -> None:
    org, before, other = drawn
    after = replace(other, provenance=before.provenance, forgotten_at=None, place=other.place if other.place.shared else before.place)
    before = replace(before, forgotten_at=None)
    roster = org.roster()
    had, have = brute(before, roster), brute(after, roster)
    assert readers_of(before, roster) == had
    found = effect(before, after, roster)
    assert (found.gains, found.loses) == (have - had, had - have)
    assert (found.readers_before, found.readers_after) == (len(had), len(have))
    assert found.widens or not found.gains
    assert not (found.widens and found.narrows)
    if after.sensitivity < before.sensitivity:
        assert found.widens
    if after.place.group is not None and before.place.group not in (None, after.place.group):
        assert found.widens
    new = effect(None, after, roster)
    assert (new.gains, new.readers_before, new.widens) == (have, 0, True)


@ordinary
@given(organizations().flatmap(lambda org: st.tuples(st.just(org), memories(org), organizations())))
def test_a_change_that_does_not_widen_gives_nobody_anything_in_another_organization(drawn: tuple[Builder, Memory, Builder]) -> None:
    """Narrowing is about people who could be: so it holds for other people's roles, clearances and memberships too."""
    org, before, other = drawn
    before = replace(before, forgotten_at=None)
    author = before.author
    raised = replace(before, sensitivity=Sensitivity(min(3, before.sensitivity + 1)))
    if effect(before, raised, org.roster()).widens:
        return
    for reader in other.roster().readers.values():
        moved = replace(
            reader,
            groups=frozenset(org.groups[slug].id for slug in GROUPS if other.groups[slug].id in reader.groups),
            owns=frozenset(org.groups[slug].id for slug in GROUPS if other.groups[slug].id in reader.owns),
            guards_for=frozenset(org.topics[key].id for key in TOPICS if other.topics[key].id in reader.guards_for),
            guards=org.roster().guards,
        )
        assert moved.person != author
        assert may(moved, Permission.READ, before) or not may(moved, Permission.READ, raised)


def brute(memory: Memory, roster: Roster) -> frozenset[str]:
    return frozenset(reader.person for reader in roster.readers.values() if may(reader, Permission.READ, memory))


@ordinary
@given(populated())
def test_counts_are_exact_or_at_most(drawn: tuple[Builder, list[Memory]]) -> None:
    org, found = drawn
    roster = org.roster()
    for memory in found:
        for viewer in roster.readers.values():
            real, told = len(brute(memory, roster)), readers(memory, roster, viewer)
            assert told.count == real if told.exact else told.count >= real and told.count in (1, 5, 20)


def less(org: Builder, draw: st.DataObject) -> Roster:
    """The organization after something was taken away: a group, a membership, a mapping, a topic, a clearance, a person."""
    full = org.roster()
    what = draw.draw(st.sampled_from(("group", "membership", "mapping", "topic", "rank", "person")))
    group = org.groups[draw.draw(st.sampled_from(GROUPS))].id
    topic = full.topics[org.topics[draw.draw(st.sampled_from(TOPICS))].id]
    person = full.people[org.people[draw.draw(st.sampled_from(PEOPLE))].id]
    if what == "group":
        memberships = {key: members for key, members in full.memberships.items() if key != group}
        topics = {
            key: replace(value, teams=value.teams - {group}, guarding=value.guarding or bool(value.teams))
            for key, value in full.topics.items()
        }
        return replace(full, memberships=memberships, topics=topics)
    if what == "mapping":
        unmapped = replace(topic, teams=frozenset(sorted(topic.teams)[1:]), guarding=topic.guarding or bool(topic.teams))
        return replace(full, topics={**full.topics, topic.id: unmapped})
    if what == "topic":
        gone = {topic.id} if topic.guarding or topic.teams else set()
        return replace(full, topics={key: value for key, value in full.topics.items() if key != topic.id}, removed_topics=frozenset(gone))
    if what == "person":
        return replace(full, people={**full.people, person.id: replace(person, active=False)})
    members = {key: value for key, value in full.memberships[group].items() if key != person.id}
    return replace(full, memberships={**full.memberships, group: members})


@ordinary
@given(populated(), st.data())
def test_taking_something_away_gives_nobody_reading(drawn: tuple[Builder, list[Memory]], draw: st.DataObject) -> None:
    org, found = drawn
    before, after = org.roster(), less(org, draw)
    for memory in found:
        for permission in (Permission.READ, Permission.REVIEW, Permission.FORGET, Permission.RESTORE):
            for person in PEOPLE:
                reader: Reader = before.readers[org.people[person].id]
                assert may(reader, permission, memory) or not may(after.readers[reader.person], permission, memory)


@ordinary
@given(populated())
def test_every_permission_needs_reading_and_revealing_is_never_personal(drawn: tuple[Builder, list[Memory]]) -> None:
    org, found = drawn
    for reader in org.roster().readers.values():
        for memory in found:
            if memory.forgotten_at is None and not may(reader, Permission.READ, memory):
                assert not any(may(reader, permission, memory) for permission in Permission)
            assert not (may_reveal(reader, memory) and not memory.place.shared)
            if not reader.active:
                assert not may_reveal(reader, memory)
