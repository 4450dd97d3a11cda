"""Figures of tool calls."""

from __future__ import annotations

from pathlib import Path

from memscope import errors
from memscope.mcp_server.meter import OUTCOMES, Meter


def test_calls_are_counted_by_tool_and_outcome_over_all_processes(tmp_path: Path) -> None:
    one, two = (Meter(["recall", "remember"], tmp_path / "meter") for _ in range(2))
    one.count("recall", "ok", 0.5)
    two.count("recall", "ok", 0.25)
    two.count("remember", "not_found", 1)
    assert [line for line in one.lines() if not line.startswith("#")] == [
        'memscope_tool_calls_total{tool="recall",outcome="ok"} 2',
        'memscope_tool_calls_total{tool="remember",outcome="not_found"} 1',
        'memscope_tool_seconds_total{tool="recall"} 0.750000',
        'memscope_tool_seconds_total{tool="remember"} 1.000000',
    ]


def test_every_error_code_is_an_outcome() -> None:
    codes = {error.code for error in vars(errors).values() if isinstance(error, type) and issubclass(error, errors.MemScopeError)}
    assert codes <= set(OUTCOMES)
