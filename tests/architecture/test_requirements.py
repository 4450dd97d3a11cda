"""Each sentence of the tool references is held by tests that exist."""

from __future__ import annotations

import ast
import tomllib
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ENTRIES = [
    entry
    for file in sorted((ROOT / "tests" / "requirements").glob("*.toml"))
    for entry in tomllib.loads(file.read_text(encoding="utf-8"))["requirement"]
]


@cache
def names_in(path: str) -> frozenset[str]:
    """Names of the test functions of a file; none when it is not there."""
    file = ROOT / path
    if not file.is_file():
        return frozenset()
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return frozenset(
        node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
    )


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry["id"])
def test_each_requirement_names_tests_that_exist(entry: dict[str, object]) -> None:
    assert set(entry) == {"id", "source", "says", "tests"}
    assert isinstance(entry["tests"], list)
    assert entry["tests"]
    for test in entry["tests"]:
        path, _, name = test.partition("::")
        assert name in names_in(path), test


def test_ids_are_unique() -> None:
    ids = [entry["id"] for entry in ENTRIES]
    assert sorted(set(ids)) == sorted(ids)


TOOLS = (
    "remember recall list-teams list-topics explain-memory correct forget list-memories get-memory change-scope change-sensitivity "
    "review-queue review-memory supersede restore memory-recall"
)


@pytest.mark.parametrize("tool", TOOLS.split())
def test_every_tool_of_the_references_has_requirements(tool: str) -> None:
    assert any(str(entry["id"]).startswith(tool) for entry in ENTRIES)
