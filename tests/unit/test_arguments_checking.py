"""The strict check of what clients send."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memscope.errors import InvalidArgument
from memscope.mcp_server.arguments import Choice, Group, Label, Number, Parameter, Reference, Switch, Text, Texts, parse, schema

CONTENT = Text(name="content", about="Text.", required=True, longest=10)
AGENT = Label(name="agent", about="Label.")
LIMIT = Number(name="limit", about="Limit.", least=1, most=50, default=10)
WEIGHT = Number(name="importance", about="Weight.", least=0, most=1, whole=False, default=0.5)
KIND = Choice(name="kind", about="Kind.", words={"fact": 1, "note": 2})
UNDO = Switch(name="undo", about="Undo.")
TOPICS = Texts(name="topics", about="Topics.", longest=5, most=2)
MEMORY = Reference(name="memory_id", about="Id.")
SCOPE = Group(
    name="scope",
    about="Scope.",
    parts=(
        Choice(name="kind", about="Kind.", required=True, words={"team": "team"}),
        Text(name="team_id", about="Team.", longest=5),
    ),
)
TABLE: tuple[Parameter, ...] = (CONTENT, AGENT, LIMIT, WEIGHT, KIND, UNDO, TOPICS, MEMORY, SCOPE)


def refused(arguments: dict[str, Any]) -> InvalidArgument:
    with pytest.raises(InvalidArgument) as caught:
        parse(TABLE, arguments)
    return caught.value


def test_what_is_left_out_has_its_default() -> None:
    assert parse(TABLE, {"content": "x"}) == {
        "content": "x",
        "agent": None,
        "limit": 10,
        "importance": 0.5,
        "kind": None,
        "undo": False,
        "topics": None,
        "memory_id": None,
        "scope": None,
    }


def test_an_unknown_parameter_is_refused_by_name_with_the_nearest_one() -> None:
    error = refused({"content": "x", "limt": 3})
    assert error.parameter == "limt"
    assert "limt" in error.message
    assert error.hint is not None and "limit" in error.hint


def test_a_tool_without_parameters_says_that_it_takes_none() -> None:
    with pytest.raises(InvalidArgument) as caught:
        parse((), {"a": 1})
    assert caught.value.hint == "It takes none."


def test_an_unknown_name_comes_back_short_and_as_ascii() -> None:
    error = refused({"content": "x", "\u202e\ud800" * 500: 1})
    assert error.parameter.isascii()
    assert len(error.message) < 1000


def test_a_missing_parameter_is_named_with_what_it_takes() -> None:
    error = refused({})
    assert error.parameter == "content"
    assert error.message == "content is missing. It must be a text of 1 to 10 characters."


@pytest.mark.parametrize("length", [1, 10])
def test_texts_within_their_length_pass(length: int) -> None:
    assert parse((CONTENT,), {"content": "ä" * length}) == {"content": "ä" * length}


def test_a_text_past_its_length_is_refused_with_both_figures() -> None:
    assert refused({"content": "x" * 11}).message == "content has 11 characters and takes at most 10."


@pytest.mark.parametrize("value", ["", 1, 1.5, True, [], {}, ["x"]])
def test_what_is_no_text_of_the_length_is_refused(value: Any) -> None:
    assert refused({"content": value}).message == "content must be a text of 1 to 10 characters."


@pytest.mark.parametrize("value", ["a\0b", "\ud83d", "x\udc00", "\udc00\ud800"])
@pytest.mark.parametrize("name", ["content", "agent", "memory_id"])
def test_nul_and_halves_of_surrogate_pairs_are_refused(name: str, value: str) -> None:
    error = refused({"content": "x", name: value})
    assert error.parameter == name
    assert "NUL character or half of a surrogate pair" in error.message


def test_astral_characters_and_joiners_pass() -> None:
    text = "👩\u200d💻 می\u200cخ"
    assert parse((CONTENT,), {"content": text}) == {"content": text}


@pytest.mark.parametrize(
    ("given_", "label"), [("Claude-Code/Reviewer", "claude-code/reviewer"), ("a", "a"), ("x" * 64, "x" * 64), ("r.1_2", "r.1_2")]
)
def test_labels_are_lower_cased(given_: str, label: str) -> None:
    assert parse((AGENT,), {"agent": given_}) == {"agent": label}


# U+212A KELVIN SIGN has an ASCII k as its lower case.
@pytest.mark.parametrize("value", ["", "x" * 65, "a b", "é", "\u212a", "a\n", "a:b", 7])
def test_other_labels_are_refused(value: Any) -> None:
    assert refused({"content": "x", "agent": value}).parameter == "agent"


@pytest.mark.parametrize(("value", "number"), [(1, 1), (50, 50), (5.0, 5)])
def test_whole_numbers_within_limits_pass_and_may_come_as_floats(value: Any, number: int) -> None:
    parsed = parse((LIMIT,), {"limit": value})["limit"]
    assert parsed == number
    assert type(parsed) is int


@pytest.mark.parametrize("value", [0, 51, -1, 10**400, 1.5, "5", True, None, math.nan, math.inf, [1]])
def test_other_numbers_are_refused_with_the_limits(value: Any) -> None:
    assert refused({"content": "x", "limit": value}).message == "limit must be a whole number from 1 to 50."


@pytest.mark.parametrize("value", [0, 1, 0.25, 1.0])
def test_numbers_within_limits_pass_as_floats(value: Any) -> None:
    assert type(parse((WEIGHT,), {"importance": value})["importance"]) is float


@pytest.mark.parametrize("value", [-0.1, 1.01, math.nan, -math.inf, "0.5", False])
def test_numbers_beyond_limits_are_refused(value: Any) -> None:
    assert refused({"content": "x", "importance": value}).message == "importance must be a number from 0 to 1."


def test_a_choice_gives_its_value_and_lists_its_words_when_refused() -> None:
    assert parse((KIND,), {"kind": "note"}) == {"kind": 2}
    values: list[Any] = ["Note", "", 1, None, ["note"], {"note": 1}]
    for value in values:
        assert refused({"content": "x", "kind": value}).message == "kind must be one of fact, note."


@pytest.mark.parametrize("value", [0, 1, "true", None, []])
def test_only_booleans_are_switches(value: Any) -> None:
    assert refused({"content": "x", "undo": value}).message == "undo must be true or false."


def test_lists_of_texts() -> None:
    assert parse((TOPICS,), {"topics": ["hr", "legal"]}) == {"topics": ("hr", "legal")}
    assert parse((TOPICS,), {"topics": []}) == {"topics": ()}
    values: list[Any] = ["hr", ["a", "b", "c"], [""], ["toolong"], [1], [None], ["\0"], {}]
    for value in values:
        assert refused({"content": "x", "topics": value}).parameter == "topics"


@pytest.mark.parametrize(("value", "text"), [("7", "7"), (7, "7"), (2**48, str(2**48)), ("0198-x", "0198-x")])
def test_a_memory_may_be_named_by_a_json_integer(value: Any, text: str) -> None:
    assert parse((MEMORY,), {"memory_id": value}) == {"memory_id": text}


@pytest.mark.parametrize("value", [True, 1.5, 10**60, "", "x" * 65, None, ["a"]])
def test_other_references_are_refused(value: Any) -> None:
    assert refused({"content": "x", "memory_id": value}).parameter == "memory_id"


def test_a_group_has_parameters_of_its_own_and_ignores_null_parts() -> None:
    assert parse((SCOPE,), {"scope": {"kind": "team", "team_id": None}}) == {"scope": {"kind": "team", "team_id": None}}
    for value, parameter in (
        ({"kind": "x"}, "scope.kind"),
        ({}, "scope.kind"),
        ({"kind": None}, "scope.kind"),
        ({"kind": "team", "team_id": "toolong"}, "scope.team_id"),
        ({"kind": "team", "colour": 1}, "scope.colour"),
        ("team", "scope"),
        ([], "scope"),
    ):
        assert refused({"content": "x", "scope": value}).parameter == parameter


def test_null_for_something_optional_is_refused_with_the_way_out() -> None:
    assert refused({"content": "x", "agent": None}).hint == "Leave it out instead of sending null."


def test_the_schema_states_the_same_limits() -> None:
    assert schema(TABLE) == {
        "type": "object",
        "properties": {
            "content": {"type": "string", "minLength": 1, "maxLength": 10, "description": "Text."},
            "agent": {"type": "string", "minLength": 1, "maxLength": 64, "pattern": "^[A-Za-z0-9._/-]+$", "description": "Label."},
            "limit": {"type": "integer", "minimum": 1, "maximum": 50, "description": "Limit.", "default": 10},
            "importance": {"type": "number", "minimum": 0, "maximum": 1, "description": "Weight.", "default": 0.5},
            "kind": {"type": "string", "enum": ["fact", "note"], "description": "Kind."},
            "undo": {"type": "boolean", "description": "Undo."},
            "topics": {
                "type": "array",
                "items": {"type": "string", "minLength": 1, "maxLength": 5},
                "maxItems": 2,
                "description": "Topics.",
            },
            "memory_id": {"type": "string", "minLength": 1, "maxLength": 64, "description": "Id."},
            "scope": {
                "type": "object",
                "properties": {
                    "kind": {"type": "string", "enum": ["team"], "description": "Kind."},
                    "team_id": {"type": "string", "minLength": 1, "maxLength": 5, "description": "Team."},
                },
                "required": ["kind"],
                "description": "Scope.",
            },
        },
        "required": ["content"],
    }


def test_a_schema_without_required_parameters_has_no_required() -> None:
    assert schema(()) == {"type": "object", "properties": {}}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from([parameter.name for parameter in TABLE]) | st.text(max_size=8), JSON, max_size=6))
def test_whatever_comes_is_parsed_or_refused_by_name(arguments: dict[str, Any]) -> None:
    try:
        values = parse(TABLE, arguments)
    except InvalidArgument as error:
        assert error.envelope()["error"]["code"] == "invalid_argument"
        assert "parameter" in error.details
    else:
        assert set(values) == {parameter.name for parameter in TABLE}
