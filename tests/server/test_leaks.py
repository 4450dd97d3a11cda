"""No answer tells what somebody may not read: a short random walk; `MEMSCOPE_LEAK_CALLS` makes it longer.

The walk and its oracle are those of `tests/benchmarks/leaks.py`, which is for tens of thousands of calls.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

CALLS = int(os.environ.get("MEMSCOPE_LEAK_CALLS", "300"))


@pytest.fixture(scope="module")
def leaks() -> ModuleType:
    """The benchmark as a module."""
    file = Path(__file__).parents[1] / "benchmarks" / "leaks.py"
    spec = importlib.util.spec_from_file_location("memscope_benchmark_leaks", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("storage", ["inprocess", "postgres"])
def test_a_random_walk_of_many_people_finds_no_leak(request: pytest.FixtureRequest, leaks: Any, storage: str) -> None:
    made = leaks.walk(request.getfixturevalue(storage).app.core, CALLS, seed=20)
    assert made.leaks == []
    assert made.refused_readable == []
    assert made.compared > CALLS / 10
