"""recall, sentence by sentence of its reference."""

from __future__ import annotations

import re
from typing import Any

import pytest

Office = Any


def test_only_what_the_person_may_read_is_found(office: Office) -> None:
    office.as_("cleo").remember("The rollout plan names the canary region.", team="platform")
    office.as_("cleo").remember("The rollout plan annoys me.")
    assert office.as_("ben").found("rollout plan") == ["The rollout plan names the canary region."]
    assert office.as_("dora").found("rollout plan") == []


def test_a_phrase_is_understood_by_meaning_and_by_words(office: Office) -> None:
    ben = office.as_("ben")
    ben.remember("Our database connections are pooled by pgbouncer in transaction mode.")
    ben.remember("The canteen serves soup on Mondays.")
    assert ben.found("how do we share connections to postgres")[0].startswith("Our database")
    assert ben.found("pgbouncer")[0].startswith("Our database")


@pytest.mark.parametrize("name", ["hr", "HR", "id"])
def test_topics_are_a_hard_filter_by_key_name_or_id(office: Office, name: str) -> None:
    ben = office.as_("ben")
    office.join("people-ops", "ben")
    ben.remember("The salary bands of engineers were raised by four percent.", team="people-ops")
    ben.remember("Engineers get new laptops.", team="people-ops")
    topic = office.topics["hr"].id if name == "id" else name
    answer = ben.call("recall", query="engineers", topics=[topic])
    assert [result["topics"] for result in answer["results"]] == [["hr"]]
    assert answer["filters"]["applied"] == [{"filter": "topics", "values": ["hr"]}]
    assert answer["filters"]["unapplied"] == []


@pytest.mark.parametrize("name", ["platform", "Platform Team", "infra", "id"])
def test_teams_are_a_hard_filter_by_id_slug_name_or_alias(office: Office, name: str) -> None:
    ben = office.as_("ben")
    ben.remember("The gateway timeout is nine seconds.", team="platform")
    ben.remember("The gateway timeout was discussed.", project="billing")
    ben.remember("The gateway timeout bothers me.")
    named = office.groups["platform"].id if name == "id" else name
    answer = ben.call("recall", query="gateway timeout", teams=[named])
    assert [result["team"] for result in answer["results"]] == ["platform"]
    assert answer["filters"]["applied"] == [{"filter": "teams", "values": ["platform"]}]


def test_every_filter_given_must_match(office: Office) -> None:
    office.join("people-ops", "ben")
    ben = office.as_("ben")
    ben.remember("The salary bands of engineers were raised.", team="people-ops")
    assert ben.call("recall", query="engineers", topics=["hr"], teams=["people-ops"])["results"] != []
    assert ben.call("recall", query="engineers", topics=["hr"], teams=["platform"])["results"] == []


def test_a_value_that_does_not_apply_is_reported(office: Office) -> None:
    ben = office.as_("ben")
    ben.remember("The gateway timeout is nine seconds.", team="platform")
    answer = ben.call("recall", query="gateway timeout", teams=["platform", "no-such"])
    assert len(answer["results"]) == 1
    (left_out,) = answer["filters"]["unapplied"]
    assert (left_out["filter"], left_out["value"]) == ("teams", "no-such")
    assert left_out["reason"]


@pytest.mark.parametrize("filters", [{"teams": ["no-such"]}, {"teams": []}, {"topics": ["no-such"]}, {"teams": ["people-ops"]}])
def test_a_list_of_which_nothing_applies_gives_no_results(office: Office, filters: dict[str, list[str]]) -> None:
    ben = office.as_("ben")
    ben.remember("The gateway timeout is nine seconds.", team="platform")
    answer = ben.call("recall", query="gateway timeout", **filters)
    assert answer["results"] == []
    ((name, values),) = filters.items()
    assert [(item["filter"], item["value"]) for item in answer["filters"]["unapplied"]][: len(values)] == [
        (name, value) for value in values
    ]


def test_team_and_project_lift_and_never_filter(office: Office) -> None:
    ben = office.as_("ben")
    ben.remember("The gateway timeout is nine seconds in production.", team="platform")
    ben.remember("The gateway timeout is nine seconds in staging.", project="billing")
    lifted = ben.call("recall", query="gateway timeout nine seconds", project="Billing API")
    assert [result["project"] for result in lifted["results"]] == ["billing", None]
    assert lifted["narrowed_by"] == ["Billing API"]
    ignored = ben.call("recall", query="gateway timeout nine seconds", team="no-such", project="neither")
    assert len(ignored["results"]) == 2
    assert not ignored["narrowed_by"]


def test_the_limit_is_ten_unless_1_to_50_is_given(office: Office) -> None:
    ben = office.as_("ben")
    for number in range(12):
        ben.remember(f"Shelf {number} of the archive holds the ledgers of year {1990 + number}.")
    assert len(ben.found("archive shelf ledgers")) == 10
    assert len(ben.found("archive shelf ledgers", limit=1)) == 1
    assert len(ben.found("archive shelf ledgers", limit=50)) == 12
    for limit in (0, 51):
        assert ben.refused("recall", query="x", limit=limit)["parameter"] == "limit"


def test_the_first_ten_of_fifty_are_ten(office: Office) -> None:
    ben = office.as_("ben")
    for number in range(15):
        ben.remember(f"Shelf {number} of the archive holds the ledgers of year {1990 + number}.")
    assert ben.found("archive shelf ledgers", limit=50)[:10] == ben.found("archive shelf ledgers")


def test_detail_is_full_or_a_preview(office: Office) -> None:
    ben = office.as_("ben")
    content = "The survey of the meridian line. " + "It goes on and on. " * 40
    ben.remember(content)
    (full,) = ben.call("recall", query="meridian survey")["results"]
    (same,) = ben.call("recall", query="meridian survey", detail="full")["results"]
    (brief,) = ben.call("recall", query="meridian survey", detail="brief")["results"]
    assert full["content"].strip() == content.strip()
    assert same["content"] == full["content"]
    assert "content" not in brief or brief["content"] is None
    assert len(brief["preview"]) <= 200
    assert ben.refused("recall", query="x", detail="short")["parameter"] == "detail"


def test_max_chars_is_a_budget_over_all_results(office: Office) -> None:
    ben = office.as_("ben")
    for number in range(6):
        ben.remember(f"Chapter {number} of the handbook. " + f"Rule {number} applies to everybody. " * 20)
    answer = ben.call("recall", query="handbook chapter rule", max_chars=1000)
    assert sum(len(result.get("content") or result.get("preview") or "") for result in answer["results"]) <= 1000
    assert answer["truncated"] is True
    assert answer["hint"]
    whole = ben.call("recall", query="handbook chapter rule", max_chars=100_000)
    assert (whole["truncated"], whole["hint"]) == (False, None)
    for budget in (199, 100_001):
        assert ben.refused("recall", query="x", max_chars=budget)["parameter"] == "max_chars"


def test_each_result_says_why_and_cites(office: Office) -> None:
    ben = office.as_("ben")
    saved = ben.remember("The gateway timeout is nine seconds.", team="platform", agent="coder")
    (result,) = ben.call("recall", query="gateway timeout")["results"]
    assert 0 < len(result["why"]) < 300
    assert result["citation"] == {"date": saved["created_at"][:10], "scope": result["citation"]["scope"], "sensitivity": "internal"}
    assert "team" in result["citation"]["scope"]
    assert result["author"] == saved["author"]
    assert result["client"] == {"name": "test client", "version": "1.0"}
    assert result["agent"] == "coder"
    assert 0 < result["score"] <= 1


def test_listed_teams_and_topics_are_valid_filters(office: Office) -> None:
    ben = office.as_("ben")
    mine = [team["slug"] for team in ben.call("list_teams", kind="teams")["teams"] if team["member"]]
    topics = [topic["key"] for topic in ben.call("list_topics")["topics"]]
    assert ben.call("recall", query="x", teams=mine)["filters"]["unapplied"] == []
    assert ben.call("recall", query="x", topics=topics)["filters"]["unapplied"] == []


def test_kind_keeps_one_kind(office: Office) -> None:
    ben = office.as_("ben")
    ben.remember("The gateway timeout is nine seconds.", kind="fact")
    ben.remember("We decided on a gateway timeout.", kind="decision")
    assert ben.found("gateway timeout", kind="decision") == ["We decided on a gateway timeout."]


def test_replaced_memories_come_back_only_when_asked_for_and_marked(office: Office) -> None:
    ben = office.as_("ben")
    older = ben.remember("The retry limit is three.")
    newer = ben.remember("The retry limit is five.", supersedes=older["id"])
    assert ben.found("retry limit") == ["The retry limit is five."]
    results = {result["id"]: result for result in ben.call("recall", query="retry limit", include_superseded=True)["results"]}
    assert (results[older["id"]]["superseded"], results[older["id"]]["superseded_by"]) == (True, newer["id"])
    assert (results[newer["id"]]["superseded"], results[newer["id"]]["superseded_by"]) == (False, None)


def test_the_replacement_is_named_only_to_those_who_may_read_it(office: Office) -> None:
    cleo, ben = office.as_("cleo"), office.as_("ben")
    older = cleo.remember("The retry limit is three.", team="platform")
    newer = cleo.remember("The retry limit is five, and I have doubts.")
    cleo.call("supersede_memory", memory_id=older["id"], replaced_by=newer["id"])
    (result,) = ben.call("recall", query="retry limit", include_superseded=True)["results"]
    assert (result["superseded"], result["superseded_by"]) == (True, None)


def test_expired_memories_come_back_only_when_asked_for_and_marked(office: Office) -> None:
    ben = office.as_("ben")
    office.expire(ben.remember("The staging freeze covers the ledger."))
    assert ben.found("staging freeze") == []
    (result,) = ben.call("recall", query="staging freeze", include_expired=True)["results"]
    assert result["expired"] is True


def test_handoffs_are_left_out_unless_asked_for(office: Office) -> None:
    ben = office.as_("ben")
    ben.remember("Take over the gateway tests.", kind="handoff", run_id="run-1")
    assert ben.found("gateway tests") == []
    assert [result["kind"] for result in ben.call("recall", query="gateway tests", kind="handoff")["results"]] == ["handoff"]


def test_a_runs_board_is_newest_first_and_brief(office: Office) -> None:
    ben, cleo = office.as_("ben"), office.as_("cleo")
    for number in range(3):
        ben.remember(f"Step {number} of the migration is done.", kind="handoff", run_id="run-1")
    cleo.remember("Step 3 of the migration is mine.", kind="handoff", run_id="run-1")
    ben.remember("Another run's step.", kind="handoff", run_id="run-2")
    board = ben.call("recall", query="", kind="handoff", run_id="run-1")["results"]
    assert [result["preview"] for result in board] == [
        "Step 3 of the migration is mine.",
        "Step 2 of the migration is done.",
        "Step 1 of the migration is done.",
        "Step 0 of the migration is done.",
    ]
    full = ben.call("recall", query="ignored", kind="handoff", run_id="RUN-1", detail="full")["results"]
    assert [result["content"] for result in full] == [result["preview"] for result in board]


def test_project_is_a_hard_filter_on_a_board(office: Office) -> None:
    ben = office.as_("ben")
    ben.remember("Step 1 is done.", kind="handoff", run_id="run-1")
    assert len(ben.call("recall", query="", kind="handoff", run_id="run-1", project="billing")["results"]) == 1
    assert ben.call("recall", query="", kind="handoff", run_id="run-1", project="no-such")["results"] == []


def test_a_run_out_of_reach_looks_like_none(office: Office) -> None:
    office.as_("ben").remember("Step 1 is done.", kind="handoff", run_id="run-1")
    dora = office.as_("dora")
    hidden = dora.call("recall", query="", kind="handoff", run_id="run-1")
    absent = dora.call("recall", query="", kind="handoff", run_id="run-9")
    assert re.sub("run-[19]", "run", str(hidden)) == re.sub("run-[19]", "run", str(absent))
    assert hidden["results"] == []


def test_an_empty_query_is_for_boards_alone(office: Office) -> None:
    for arguments in ({}, {"kind": "handoff"}, {"run_id": "run-1"}):
        error = office.as_("ben").refused("recall", query="", **arguments)
        assert (error["code"], error["parameter"]) == ("invalid_argument", "query")


def test_since_until_and_author_filter(office: Office) -> None:
    ben, cleo = office.as_("ben"), office.as_("cleo")
    ben.remember("The gateway timeout is nine seconds.", team="platform")
    cleo.remember("A gateway timeout of nine seconds is too long.", team="platform")
    assert ben.found("gateway timeout", author="cleo@example.com") == ["A gateway timeout of nine seconds is too long."]
    assert ben.found("gateway timeout", author=office.people["ben"].id) == ["The gateway timeout is nine seconds."]
    assert len(ben.found("gateway timeout", since="2020-01-01")) == 2
    assert ben.found("gateway timeout", since="2199-01-01") == []
    assert ben.found("gateway timeout", until="2020-01-01") == []
