"""Answers: a use's dataclass becomes one JSON object, as structured content and as the same JSON in a text block."""

from __future__ import annotations

import json
import logging
import secrets
import traceback
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import Any

from mcp_types import CallToolResult, TextContent

from memscope.errors import MemScopeError, Unavailable
from memscope.model.audience import Sensitivity
from memscope.text.normalise import safe

log = logging.getLogger(__name__)


def plain(value: Any) -> Any:
    """The value as JSON has it: dataclasses as objects, times as RFC 3339 in UTC, enumerations as their words, sets in order.

    TypeError for anything else, a time without zone included.
    """
    match value:
        case None | bool():
            return value
        case str():
            # Names and reasons too: no answer holds characters that hide text from people.
            return safe(value)[0]
        case Sensitivity():
            return value.label
        case Enum():
            return value.value
        case int() | float():
            return value
        case datetime():
            return rfc3339(value)
        case Mapping():
            return {key: plain(item) for key, item in value.items()}
        case list() | tuple():
            return [plain(item) for item in value]
        case set() | frozenset():
            return sorted(plain(item) for item in value)
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    raise TypeError(f"no JSON for {type(value).__name__}")


def rfc3339(moment: datetime) -> str:
    """`2026-01-31T09:30:00Z`; TypeError when it has no zone."""
    if moment.tzinfo is None:
        raise TypeError("a time without zone")
    return moment.astimezone(UTC).isoformat().removesuffix("+00:00") + "Z"


def answer(value: object) -> CallToolResult:
    """A tool's result."""
    return _result(plain(value), is_error=False)


def refusal(error: MemScopeError) -> CallToolResult:
    """A refused call: `{"error": {"code", "message", ...}}`."""
    return _result(plain(error.envelope()), is_error=True)


def unexpected(what: str, error: Exception) -> CallToolResult:
    """A failure that nobody planned for: logged under a request id, told without any of its words."""
    return refusal(unavailable(what, error))


def unavailable(what: str, error: Exception) -> Unavailable:
    """Log a failure under a new request id, and make the error that names it."""
    request_id = secrets.token_hex(8)
    # Types and places only: a library's message may quote the memory (SQL parameters, for one).
    steps = []
    cause: BaseException | None = error
    while cause is not None:
        steps.append(f"{type(cause).__module__}.{type(cause).__qualname__}\n{''.join(traceback.format_tb(cause.__traceback__))}")
        cause = cause.__cause__ or cause.__context__
    log.error("request %s: %s failed: %s", request_id, what, "caused by ".join(steps))
    return Unavailable(request_id=request_id)


def _result(value: dict[str, Any], *, is_error: bool) -> CallToolResult:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=value, is_error=is_error)
