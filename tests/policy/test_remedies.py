"""Remedies are smallest, and they help."""

from __future__ import annotations

from memscope.model.audience import Sensitivity
from memscope.model.review import Flag
from memscope.policy.draft import Clear, Join, Settle
from memscope.policy.remedies import remedies
from memscope.testing.builders import harbor


def test_who_is_outside_of_group_and_guard_team_needs_both() -> None:
    built = harbor()
    memory = built.memory("Ed", "text", "apollo", sensitivity=Sensitivity.RESTRICTED, topics=["HR"])
    found = remedies(built.reader("Bo"), memory, built.roster())
    assert [set(remedy) for remedy in found] == [{Join(built.groups["apollo"].id), Join(built.groups["people-ops"].id)}]


def test_clearance_is_a_remedy_where_it_alone_is_missing_and_never_for_guests() -> None:
    built = harbor()
    memory = built.memory("Ada", "text", "organization", sensitivity=Sensitivity.RESTRICTED)
    assert remedies(built.reader("Bo"), memory, built.roster()) == ((Clear(Sensitivity.RESTRICTED),),)
    assert remedies(built.reader("Cy"), memory, built.roster()) == ()


def test_a_held_memory_needs_its_review_settled() -> None:
    built = harbor()
    memory = built.memory("Ed", "text", "organization", flags=[Flag.AUDIENCE])
    assert remedies(built.reader("Bo"), memory, built.roster()) == ((Settle(),),)


def test_what_is_read_already_personal_or_forgotten_has_none() -> None:
    built = harbor()
    assert remedies(built.reader("Bo"), built.memory("Ed", "text", "organization"), built.roster()) == ()
    assert remedies(built.reader("Bo"), built.memory("Ed", "text"), built.roster()) == ()
    forgotten = built.memory("Ed", "text", "apollo", forgotten_at=built.clock, forgotten_by=built.people["Ed"].id)
    assert remedies(built.reader("Bo"), forgotten, built.roster()) == ()
