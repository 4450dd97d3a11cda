"""Counting calls, for `/metrics`: by tool and outcome, never by organization, person or topic."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from memscope.mcp_server.table import Table

OK = "ok"
ASKED = "asked"
OUTCOMES = (
    OK,
    ASKED,
    "invalid_argument",
    "unknown_team",
    "unknown_project",
    "not_found",
    "forbidden",
    "confirm_required",
    "conflict",
    "secret_rejected",
    "rate_limited",
    "unavailable",
)
"""An answer, a question to the person, or an error's code."""


class Meter:
    """Calls and the time they took since the start. Thread-safe; processes given the same `file` count together."""

    def __init__(self, tools: Sequence[str], file: Path | None = None) -> None:
        self._tools = tuple(tools)
        self._rows = [(tool, outcome) for tool in self._tools for outcome in OUTCOMES]
        self._table = Table("<Qd", len(self._rows), file)

    def count(self, tool: str, outcome: str, seconds: float) -> None:
        """Note one call."""
        row = self._rows.index((tool, outcome))
        with self._table.alone():
            calls, spent = self._table[row]
            self._table[row] = (calls + 1, spent + seconds)

    def lines(self) -> list[str]:
        """The figures in Prometheus' text format."""
        with self._table.alone():
            figures = [(*name, *self._table[row]) for row, name in enumerate(self._rows)]
        text = ["# HELP memscope_tool_calls_total Tool calls by tool and outcome.", "# TYPE memscope_tool_calls_total counter"]
        text += [f'memscope_tool_calls_total{{tool="{tool}",outcome="{outcome}"}} {calls}' for tool, outcome, calls, _ in figures if calls]
        text += ["# HELP memscope_tool_seconds_total Time spent in tool calls.", "# TYPE memscope_tool_seconds_total counter"]
        for tool in self._tools:
            spent = sum(seconds for name, _, _, seconds in figures if name == tool)
            text.append(f'memscope_tool_seconds_total{{tool="{tool}"}} {spent:.6f}')
        return text
