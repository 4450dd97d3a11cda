"""A draft answers as things are once they are really done; and it changes nothing."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from memscope_inprocess.storage import InProcessStorage

from memscope.contracts.storage import Storage, Transaction
from memscope.model.audience import Permission, Sensitivity
from memscope.model.audit import Act
from memscope.model.memory import Memory
from memscope.model.organization import GroupRole, Role, Roster
from memscope.policy.draft import (
    Become,
    Change,
    Clear,
    Demote,
    Join,
    Leave,
    Map,
    Move,
    Own,
    Set,
    Settle,
    Unmap,
    drafted_memory,
    drafted_reader,
    drafted_roster,
)
from memscope.policy.effect import readers_of
from memscope.policy.explain import explain
from memscope.policy.permissions import may
from memscope.policy.remedies import memory_remedies, remedies
from memscope.testing.builders import START, Builder
from memscope.testing.strategies import GROUPS, PEOPLE, TOPICS, populated

ordinary = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@st.composite
def drafts(draw: st.DrawFn) -> tuple[Builder, list[Memory], str, list[Change]]:
    """An organization with memories, a person's name, and up to four changes."""
    org, found = draw(populated())
    name = draw(st.sampled_from(PEOPLE))
    group = st.sampled_from(GROUPS).map(lambda slug: org.groups[slug].id)
    team = st.sampled_from(GROUPS[:2]).map(lambda slug: org.groups[slug].id)
    topic = st.sampled_from(TOPICS).map(lambda key: org.topics[key].id)
    places = st.sampled_from(("organization", "personal", *GROUPS))
    change: st.SearchStrategy[Change] = st.one_of(
        st.builds(Join, group),
        st.builds(Own, group),
        st.builds(Demote, group),
        st.builds(Leave, group),
        st.builds(Become, st.sampled_from(Role)),
        st.builds(Clear, st.sampled_from((None, *Sensitivity))),
        st.builds(Map, topic, team),
        st.builds(Unmap, topic, team),
        places.map(lambda place: Move(None if place == "personal" else org.place(place))),
        st.builds(Set, st.sampled_from(Sensitivity)),
        st.just(Settle()),
    )
    return org, found, name, draw(st.lists(change, max_size=4))


def really(storage: Storage, org: Builder, person: str, changes: list[Change]) -> Roster:
    """Write the changes of the organization one by one, as administrators do."""

    def write(tx: Transaction, roster: Roster, change: Change) -> None:
        match change:
            case Join(group):
                if person not in roster.memberships.get(group, {}):
                    tx.write_membership(group, person, GroupRole.MEMBER)
            case Own(group):
                tx.write_membership(group, person, GroupRole.OWNER)
            case Demote(group):
                tx.write_membership(group, person, GroupRole.MEMBER)
            case Leave(group):
                tx.write_membership(group, person, None)
            case Become(role):
                tx.write_person(replace(roster.people[person], role=role))
            case Clear(level):
                tx.write_person(replace(roster.people[person], clearance=level))
            case Map(topic, team):
                tx.write_topic(replace(roster.topics[topic], teams=roster.topics[topic].teams | {team}))
            case Unmap(topic, team):
                tx.write_topic(replace(roster.topics[topic], teams=roster.topics[topic].teams - {team}))

    for change in changes:
        with storage.begin(org.operator, Act("organization.apply")) as tx:
            write(tx, storage.roster(org.organization.id), change)
    return storage.roster(org.organization.id)


@ordinary
@given(drafts())
def test_a_draft_answers_as_things_are_once_they_are_done(drawn: tuple[Builder, list[Memory], str, list[Change]]) -> None:
    org, found, name, changes = drawn
    person, storage = org.people[name].id, InProcessStorage()
    org.store(storage)
    before = storage.roster(org.organization.id)
    readers = dict(before.readers)
    roster = drafted_roster(before, person, changes)
    alone = drafted_reader(before, person, changes)
    assert before.readers == readers
    assert storage.roster(org.organization.id) is before
    after = really(storage, org, person, changes)
    assert roster.readers == after.readers
    assert alone == after.readers[person]
    for memory in found:
        then = drafted_memory(memory, changes)
        assert explain(alone, then, START, before).rules == explain(after.readers[person], then, START, after).rules
        assert readers_of(then, roster) == readers_of(then, after)


@ordinary
@given(populated(), st.sampled_from(PEOPLE))
def test_every_remedy_helps_and_none_has_a_step_too_many(drawn: tuple[Builder, list[Memory]], name: str) -> None:
    org, found = drawn
    roster, person = org.roster(), org.people[name].id
    for memory in found:
        for remedy in (*remedies(roster.readers[person], memory, roster), *memory_remedies(roster.readers[person], memory, roster)):
            assert not may(roster.readers[person], Permission.READ, memory)
            for left_out in (None, *remedy):
                steps = [step for step in remedy if step != left_out]
                reader, then = drafted_reader(roster, person, steps), drafted_memory(memory, steps)
                assert may(reader, Permission.READ, then, by_id=False) is (left_out is None)
