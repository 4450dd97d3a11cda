"""The access simulator and the removal of groups on the storage that is served."""

from __future__ import annotations

from typing import Any

from memscope.memories.difference import difference, lying_in
from memscope.memories.simulate import ask, everybody, last_change, sees
from memscope.model.organization import ConnectionKind, GroupRole
from memscope.model.principal import Principal
from memscope.organizations.groups import set_member
from memscope.organizations.signing_in import console_connection
from memscope.policy.draft import Join, Leave, Move
from memscope.upkeep.emptying import AUTHORS, ask_removal, removal, removal_effect, remove_for


def _console(office: Any, name: str) -> Principal:
    organization, person = office.organization.id, office.people[name].id
    connection = console_connection(office.live.app.core, organization, person)
    return Principal(organization, person, connection.id, ConnectionKind.CONSOLE, connection.client)


def test_drafts_answer_as_things_are_once_they_are_done(office: Any) -> None:
    core, ada, ben = office.live.app.core, _console(office, "ada"), office.people["ben"].id
    office.join("people-ops", "ada")
    number = str(office.as_("hana").remember("The salary of the cook", scope="organization")["number"])
    office.as_("ben").remember("Ours alone", team="platform")
    group, platform = office.groups["people-ops"].id, office.groups["platform"].id
    drafted = ask(core, ada, number, ben, [Join(group)])
    assert (drafted.explained.visible, drafted.flips) == (True, True)
    assert not ask(core, ada, number, ben).explained.visible
    gains = difference(core, ada, ben, [Join(group)]).gains
    assert [one.number for one in gains.examples] == [int(number)]
    before = {line.memory.number: line.change for line in sees(core, ada, ben, [Join(group), Leave(platform)]).memories}
    assert before == {int(number): "gains"}
    assert last_change(core, office.organization.id, ben) is None
    assert set_member(core, ada, group, ben, GroupRole.MEMBER)
    assert ask(core, ada, number, ben).explained.rules == drafted.explained.rules
    told = last_change(core, office.organization.id, ben)
    assert told is not None
    assert (told.group, told.role, told.by) == (group, "member", office.people["ada"].id)
    assert {line.memory.number for line in sees(core, ada, ben).memories} == {int(number)}
    everyone = everybody(core, ada, number, ben, [Leave(group)])
    assert [person.id for person in everyone.loses] == [ben]
    assert office.as_("ada").call("explain_memory", memory_id=number, person="ben@example.com")["rules"] == [
        {"rule": rule.rule, "passed": rule.passed, "text": rule.text} for rule in drafted.explained.rules
    ]


def test_a_draft_that_shares_a_personal_memory_judges_its_text(office: Any) -> None:
    core, ada = office.live.app.core, _console(office, "ada")
    number = str(office.as_("ada").remember("The quarterly forecast is bleak")["number"])
    move = [Move(office_place())]
    assert not ask(core, ada, number, office.people["ben"].id, move).explained.visible
    assert office.as_("ada").call("get_memory", memory_id=number)["memory"]["scope"] == "personal"


def office_place() -> Any:
    from memscope.model.audience import Place

    return Place.organization()


def test_a_removed_group_loses_nothing_and_shows_nothing_to_anybody_new(office: Any) -> None:
    core, organization = office.live.app.core, office.organization.id
    ada, platform, people_ops = _console(office, "ada"), office.groups["platform"].id, office.groups["people-ops"].id
    office.join("platform", "ada")
    ben = office.as_("ben")
    shared = [ben.remember(f"Crane {number} is blue", team="platform")["number"] for number in range(12)]
    hidden = ben.remember("The salary of the mate", team="platform")
    forgotten = ben.remember("An old thing", team="platform")
    ben.call("forget_memory", memory_id=forgotten["id"], confirm_human=True)
    memories, exact = lying_in(core, ada, platform)
    assert exact
    assert {memory.number for memory in memories} == set(shared)
    told = removal_effect(core, ada, platform, people_ops)
    assert "Hana" in told.gains
    ask_removal(core, ada, platform, people_ops)
    assert remove_for(core, organization, platform, 60)
    assert removal(core, organization, platform) is None
    assert platform not in core.rosters.current(organization).groups
    hana = office.as_("hana")
    assert {line["number"] for line in hana.call("list_memories", filter="team", limit=100)["memories"]} == set(shared)
    assert hana.refused("get_memory", memory_id=hidden["id"])["code"] == "not_found"
    assert ben.call("get_memory", memory_id=hidden["id"])["memory"]["scope"] == "personal"
    assert [line["id"] for line in ben.call("list_memories", filter="forgotten")["memories"]] == [forgotten["id"]]
    with core.storage.begin(office.operator()) as transaction:
        assert transaction.count_memories() == 14
        assert len([row for row in transaction.audit_rows(0, 1000) if row.act.action == "memory.change_scope"]) == 14


def test_what_others_wrote_into_a_memory_goes_to_them_when_its_author_does_not_read_it(office: Any) -> None:
    core, organization = office.live.app.core, office.organization.id
    ada, platform = _console(office, "ada"), office.groups["platform"].id
    set_member(core, ada, platform, office.people["hana"].id, GroupRole.OWNER)
    ben, hana = office.as_("ben"), office.as_("hana")
    one = ben.remember("The mate is new", team="platform")["id"]
    hana.call("correct_memory", memory_id=one, new_content="The salary of the mate is 90")
    assert ben.refused("get_memory", memory_id=one)["code"] == "not_found"
    ask_removal(core, ada, platform, AUTHORS)
    assert remove_for(core, organization, platform, 60)
    assert ben.refused("get_memory", memory_id=one)["code"] == "not_found"
    told = hana.call("get_memory", memory_id=one)["memory"]
    assert (told["content"], told["scope"]) == ("The salary of the mate is 90", "personal")
    hana.call("forget_memory", memory_id=one, confirm_human=True)
