"""How answers and errors become one JSON object."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from types import MappingProxyType

import pytest
from mcp_types import TextContent

from memscope.errors import Conflict, InvalidArgument, RateLimited
from memscope.mcp_server import envelope
from memscope.model.audience import Scope, Sensitivity


@dataclass(frozen=True, slots=True)
class Inner:
    level: Sensitivity
    scope: Scope


@dataclass(frozen=True, slots=True)
class Answer:
    inner: Inner
    at: datetime
    none: None
    names: tuple[str, ...]
    keys: frozenset[str]
    extra: object


def test_a_dataclass_becomes_one_object_twice() -> None:
    at = datetime(2026, 1, 31, 9, 30, tzinfo=timezone(timedelta(hours=9)))
    value = Answer(
        Inner(Sensitivity.HIGHLY_RESTRICTED, Scope.TEAM), at, None, (), frozenset({"b", "a"}), MappingProxyType({"ok": True, "n": 3})
    )
    result = envelope.answer(value)
    expected = {
        "inner": {"level": "highly_restricted", "scope": "team"},
        "at": "2026-01-31T00:30:00Z",
        "none": None,
        "names": [],
        "keys": ["a", "b"],
        "extra": {"ok": True, "n": 3},
    }
    assert result.structured_content == expected
    assert not result.is_error
    (block,) = result.content
    assert isinstance(block, TextContent)
    assert json.loads(block.text) == expected


def test_other_scripts_stay_readable_in_the_text() -> None:
    (block,) = envelope.answer({"content": "外币"}).content
    assert isinstance(block, TextContent)
    assert block.text == '{"content":"外币"}'


def test_a_time_without_zone_is_no_answer() -> None:
    with pytest.raises(TypeError):
        envelope.answer({"at": datetime(2026, 1, 1)})  # noqa: DTZ001


def test_seconds_keep_their_fraction() -> None:
    assert envelope.rfc3339(datetime(2026, 1, 1, 0, 0, 1, 500_000, tzinfo=UTC)) == "2026-01-01T00:00:01.500000Z"


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (InvalidArgument("limit", "No."), {"code": "invalid_argument", "message": "No.", "parameter": "limit"}),
        (Conflict("No.", hint="So.", current_version=3), {"code": "conflict", "message": "No.", "hint": "So.", "current_version": 3}),
    ],
)
def test_errors_are_an_error_object(error: Conflict | InvalidArgument, expected: dict[str, object]) -> None:
    result = envelope.refusal(error)
    assert result.is_error
    assert result.structured_content == {"error": expected}


def test_rate_limits_say_when_to_come_again() -> None:
    structured = envelope.refusal(RateLimited(7)).structured_content
    assert structured is not None
    assert structured["error"]["code"] == "rate_limited"
    assert structured["error"]["retry_after_s"] == 7


def test_the_unexpected_is_logged_without_its_words_and_told_without_internals(caplog: pytest.LogCaptureFixture) -> None:
    secret = "hunter" + str(1 + 1)

    def fail() -> None:
        try:
            raise KeyError(secret)
        except KeyError as cause:
            raise RuntimeError(f"INSERT INTO memory VALUES ('{secret}')") from cause

    with caplog.at_level(logging.ERROR), pytest.raises(RuntimeError) as caught:
        fail()
    result = envelope.unexpected("remember", caught.value)
    structured = result.structured_content
    assert result.is_error
    assert structured is not None
    assert structured["error"]["code"] == "unavailable"
    request_id = structured["error"]["request_id"]
    assert "RuntimeError" not in json.dumps(structured)
    assert request_id in caplog.text
    assert "RuntimeError" in caplog.text
    assert "KeyError" in caplog.text
    assert secret not in caplog.text
