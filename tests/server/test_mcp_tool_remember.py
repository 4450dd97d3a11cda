"""remember, sentence by sentence of its reference."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

Office = Any


def in_days(days: float) -> str:
    return (datetime.now(UTC) + timedelta(days=days)).isoformat()


def test_a_memory_is_stored_and_answered_whole(office: Office) -> None:
    ben = office.as_("ben")
    answer = ben.call("remember", content="The billing service listens on port 8090.")
    memory = answer["memory"]
    assert answer["created"] is True
    assert answer["replayed"] is False
    assert answer["superseded"] is None
    assert answer["related"] == []
    assert answer["readers"] == 1
    assert memory["content"] == "The billing service listens on port 8090."
    assert (memory["scope"], memory["team"], memory["project"], memory["kind"]) == ("personal", None, None, None)
    assert (memory["sensitivity"], memory["version"], memory["importance"]) == ("internal", 1, 0.5)
    assert memory["author"] == {"id": office.people["ben"].id, "name": "Ben"}
    assert memory["client"] == {"name": "test client", "version": "1.0"}
    assert ben.call("get_memory", memory_id=memory["id"])["memory"]["content"] == memory["content"]


@pytest.mark.parametrize("importance", [0, 0.5, 1])
def test_importance_runs_from_0_to_1(office: Office, importance: float) -> None:
    assert office.as_("ben").remember("A fact.", importance=importance)["importance"] == importance


@pytest.mark.parametrize("importance", [-0.01, 1.01, "1"])
def test_other_importance_is_refused(office: Office, importance: object) -> None:
    error = office.as_("ben").refused("remember", content="A fact.", importance=importance)
    assert (error["code"], error["parameter"]) == ("invalid_argument", "importance")


@pytest.mark.parametrize(
    ("arguments", "place"),
    [
        ({"scope": "organization"}, ("organization", None, None)),
        ({"scope": "shared"}, ("organization", None, None)),
        ({"scope": "personal"}, ("personal", None, None)),
        ({"scope": "private"}, ("personal", None, None)),
        ({"scope": "team", "team": "platform"}, ("team", "platform", None)),
        ({"team": "platform"}, ("team", "platform", None)),
        ({"scope": "project", "project": "billing"}, ("project", None, "billing")),
        ({"project": "billing"}, ("project", None, "billing")),
    ],
)
def test_scopes_and_their_aliases(office: Office, arguments: dict[str, str], place: tuple[str | None, ...]) -> None:
    memory = office.as_("ben").remember("The nightly build runs at two.", **arguments)
    assert (memory["scope"], memory["team"], memory["project"]) == place


@pytest.mark.parametrize("name", ["platform", "Platform Team", "infra", "PLATFORM", "id"])
def test_a_team_is_named_by_id_slug_name_or_alias(office: Office, name: str) -> None:
    named = office.groups["platform"].id if name == "id" else name
    assert office.as_("ben").remember("The nightly build runs at two.", team=named)["team"] == "platform"


def test_unknown_groups_are_rejected_and_nothing_is_made(office: Office) -> None:
    ben = office.as_("ben")
    assert ben.refused("remember", content="X", team="no-such")["code"] == "unknown_team"
    assert ben.refused("remember", content="X", project="no-such")["code"] == "unknown_project"
    assert ben.call("list_memories")["memories"] == []
    assert [team["slug"] for team in ben.call("list_teams")["teams"]] == ["people-ops", "platform"]


def test_a_scope_that_contradicts_its_group_is_refused(office: Office) -> None:
    ben = office.as_("ben")
    for arguments in (
        {"scope": "personal", "team": "platform"},
        {"scope": "team", "project": "billing"},
        {"team": "platform", "project": "billing"},
    ):
        assert ben.refused("remember", content="X", **arguments)["code"] == "invalid_argument"


def test_the_only_group_is_meant_when_none_is_named_and_several_are_listed(office: Office) -> None:
    ben = office.as_("ben")
    assert ben.remember("The nightly build runs at two.", scope="project")["project"] == "billing"
    office.join("people-ops", "ben")
    error = ben.refused("remember", content="The nightly build runs at two.", scope="team")
    assert error["code"] == "invalid_argument"
    assert "platform" in str(error)
    assert "people-ops" in str(error)


def test_another_persons_group_is_forbidden(office: Office) -> None:
    assert office.as_("dora").refused("remember", content="X", team="platform")["code"] == "forbidden"


@pytest.mark.parametrize("key", ["k", "ключ 🔑", "x" * 200])
def test_the_same_key_again_is_the_same_memory(office: Office, key: str) -> None:
    ben = office.as_("ben")
    first = ben.call("remember", content="Deploys happen on Tuesdays.", idempotency_key=key)
    again = ben.call("remember", content="Deploys happen on Tuesdays.", idempotency_key=key)
    assert (first["replayed"], again["replayed"], again["created"]) == (False, True, False)
    assert again["memory"]["id"] == first["memory"]["id"]
    assert len(ben.call("list_memories")["memories"]) == 1


def test_a_key_with_other_arguments_is_a_conflict_and_keys_are_each_persons_own(office: Office) -> None:
    ben, cleo = office.as_("ben"), office.as_("cleo")
    mine = ben.call("remember", content="Deploys happen on Tuesdays.", idempotency_key="k")
    assert ben.refused("remember", content="Deploys happen on Fridays.", idempotency_key="k")["code"] == "conflict"
    other = cleo.call("remember", content="Deploys happen on Tuesdays.", idempotency_key="k")
    assert other["created"] is True
    assert other["memory"]["id"] != mine["memory"]["id"]


def test_a_key_longer_than_200_characters_is_refused(office: Office) -> None:
    error = office.as_("ben").refused("remember", content="X", idempotency_key="x" * 201)
    assert (error["code"], error["parameter"]) == ("invalid_argument", "idempotency_key")


@pytest.mark.parametrize("kind", ["fact", "decision", "procedure", "note"])
def test_kinds(office: Office, kind: str) -> None:
    assert office.as_("ben").remember("The nightly build runs at two.", kind=kind)["kind"] == kind


def test_another_kind_is_refused_with_the_list(office: Office) -> None:
    error = office.as_("ben").refused("remember", content="X", kind="opinion")
    assert error["message"] == "kind must be one of fact, decision, procedure, handoff, note."


def test_valid_until_takes_a_date_or_a_time_and_recall_leaves_it_out_afterwards(office: Office) -> None:
    ben = office.as_("ben")
    day = (datetime.now(UTC) + timedelta(days=3)).date()
    dated = ben.remember("The staging freeze covers the ledger.", valid_until=day.isoformat())
    timed = ben.remember("The staging freeze covers the gateway.", valid_until=in_days(3))
    assert dated["valid_until"] == f"{day + timedelta(days=1)}T00:00:00Z"
    assert timed["valid_until"] is not None
    assert len(ben.found("staging freeze")) == 2
    office.expire(dated)
    assert ben.found("staging freeze") == ["The staging freeze covers the gateway."]
    office.expire(timed)
    assert ben.found("staging freeze") == []
    assert len(ben.found("staging freeze", include_expired=True)) == 2


@pytest.mark.parametrize("valid_until", ["yesterday", "2020-01-01", "2199-01-01", "2027-02-30", "", "none"])
def test_other_valid_until_is_refused(office: Office, valid_until: str) -> None:
    error = office.as_("ben").refused("remember", content="X", valid_until=valid_until)
    assert (error["code"], error["parameter"]) == ("invalid_argument", "valid_until")


def test_five_years_ahead_is_the_most(office: Office) -> None:
    ben = office.as_("ben")
    now = datetime.now(UTC)
    ben.remember("The lease of the office runs long.", valid_until=now.replace(year=now.year + 5, day=min(now.day, 28)).isoformat())
    assert ben.refused("remember", content="X", valid_until=in_days(5 * 366 + 2))["parameter"] == "valid_until"


def test_supersedes_takes_the_older_memory_out_of_default_recall(office: Office) -> None:
    ben = office.as_("ben")
    older = ben.remember("The retry limit is three.")
    newer = ben.call("remember", content="The retry limit is five.", supersedes=older["id"])
    assert newer["superseded"] == older["id"]
    assert ben.found("retry limit") == ["The retry limit is five."]
    assert ben.call("get_memory", memory_id=older["id"])["memory"]["superseded_by"] == newer["memory"]["id"]


def test_supersedes_takes_the_right_to_edit(office: Office) -> None:
    shared = office.as_("cleo").remember("The retry limit is three.", team="platform")
    private = office.as_("cleo").remember("My own limit is three.")
    ben = office.as_("ben")
    assert ben.refused("remember", content="The retry limit is five.", supersedes=shared["id"])["code"] == "forbidden"
    assert ben.refused("remember", content="The retry limit is five.", supersedes=private["id"])["code"] == "not_found"
    assert ben.call("list_memories", filter="mine")["memories"] == []


def test_agent_and_run_are_lower_cased_labels(office: Office) -> None:
    memory = office.as_("ben").remember("The nightly build runs at two.", agent="Claude-Code/Reviewer", run_id="Run_7.A")
    assert (memory["agent"], memory["run_id"]) == ("claude-code/reviewer", "run_7.a")


@pytest.mark.parametrize("name", ["agent", "run_id"])
@pytest.mark.parametrize("label", ["", "x" * 65, "two words", "käse"])
def test_other_labels_are_refused(office: Office, name: str, label: str) -> None:
    error = office.as_("ben").refused("remember", content="X", **{name: label})
    assert (error["code"], error["parameter"]) == ("invalid_argument", name)


def test_labels_open_nothing(office: Office) -> None:
    cleo, ben = office.as_("cleo"), office.as_("ben")
    private = cleo.remember("The vault code word is marigold.", agent="cleo/agent", run_id="run-1")
    mine = ben.remember("The vault stands in the cellar.", agent="cleo/agent", run_id="run-1")
    assert ben.found("vault", run_id="run-1") == ["The vault stands in the cellar."]
    assert [memory["id"] for memory in ben.call("list_memories", agent="cleo/agent")["memories"]] == [mine["id"]]
    assert ben.refused("get_memory", memory_id=private["id"])["code"] == "not_found"
    assert (
        ben.refused("correct_memory", memory_id=private["id"], new_content="X", agent="cleo/agent", run_id="run-1")["code"] == "not_found"
    )


def test_a_handoff_needs_a_run_and_goes_to_one_project(office: Office) -> None:
    ben, dora = office.as_("ben"), office.as_("dora")
    assert ben.refused("remember", content="Take over the tests.", kind="handoff")["parameter"] == "run_id"
    note = ben.remember("Take over the tests.", kind="handoff", run_id="run-1")
    assert (note["scope"], note["project"], note["run_id"]) == ("project", "billing", "run-1")
    assert ben.remember("Take over the docs.", kind="handoff", run_id="run-1", project="invoices")["project"] == "billing"
    assert dora.refused("remember", content="Take over the tests.", kind="handoff", run_id="run-1")["code"] == "invalid_argument"
    assert ben.refused("remember", content="X", kind="handoff", run_id="run-1", team="platform")["code"] == "invalid_argument"


def test_a_handoff_expires_after_seven_days_or_when_told_within_thirty(office: Office) -> None:
    ben = office.as_("ben")
    note = ben.remember("Take over the tests.", kind="handoff", run_id="run-1")
    lasting = datetime.fromisoformat(note["valid_until"]) - datetime.fromisoformat(note["created_at"])
    assert abs(lasting - timedelta(days=7)) < timedelta(minutes=1)
    for days in (1, 29):
        until = in_days(days)
        assert datetime.fromisoformat(
            ben.remember("More notes.", kind="handoff", run_id="run-1", valid_until=until)["valid_until"]
        ) == datetime.fromisoformat(until)
    assert ben.refused("remember", content="X", kind="handoff", run_id="run-1", valid_until=in_days(31))["parameter"] == "valid_until"


@pytest.mark.parametrize("content", ["", "x" * 8001, "a\0b", 7, None])
def test_content_beyond_its_limits_is_refused(office: Office, content: object) -> None:
    error = office.as_("ben").refused("remember", content=content)
    assert (error["code"], error["parameter"]) == ("invalid_argument", "content")


def test_eight_thousand_characters_are_kept_whole(office: Office) -> None:
    content = ("The meridian survey is long. " * 400)[:8000].strip().ljust(8000, ".")
    assert office.as_("ben").remember(content)["content"] == content
