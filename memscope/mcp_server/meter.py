"""Counting calls, for `/metrics`: by tool and outcome, never by organization, person or topic."""

from __future__ import annotations

import threading
from collections import Counter, defaultdict


class Meter:
    """Calls and the time they took since the start. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls: Counter[tuple[str, str]] = Counter()
        self._seconds: defaultdict[str, float] = defaultdict(float)

    def count(self, tool: str, outcome: str, seconds: float) -> None:
        """Note one call. `outcome` is `ok`, `asked` or an error code."""
        with self._lock:
            self._calls[tool, outcome] += 1
            self._seconds[tool] += seconds

    def lines(self) -> list[str]:
        """The figures in Prometheus' text format."""
        with self._lock:
            calls, seconds = dict(self._calls), dict(self._seconds)
        text = ["# HELP memscope_tool_calls_total Tool calls by tool and outcome.", "# TYPE memscope_tool_calls_total counter"]
        text += [f'memscope_tool_calls_total{{tool="{tool}",outcome="{outcome}"}} {count}' for (tool, outcome), count in sorted(calls.items())]
        text += ["# HELP memscope_tool_seconds_total Time spent in tool calls.", "# TYPE memscope_tool_seconds_total counter"]
        text += [f'memscope_tool_seconds_total{{tool="{tool}"}} {spent:.6f}' for tool, spent in sorted(seconds.items())]
        return text
