"""Nothing is fetched by id except through the one function that fetches and checks; nothing is changed except through the one door."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OPERATORS = {"emptying.py", "gap_closing.py", "reclassify.py", "transfer.py", "purge.py"}
"""Upkeep begins as an operator, who reads everything and shows it to nobody."""


def callers(method: str) -> set[str]:
    """Files of the core and the console that call a method of a transaction."""
    found = set()
    for folder in ("memscope", "admin"):
        for file in (ROOT / folder).rglob("*.py"):
            if "testing" in file.parts or file.name in OPERATORS:
                continue
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == method:
                    owner = node.func.value
                    name = owner.attr if isinstance(owner, ast.Attribute) else owner.id if isinstance(owner, ast.Name) else ""
                    if name in ("transaction", "tx"):
                        found.add(file.relative_to(ROOT).as_posix())
    return found


@pytest.mark.parametrize(
    ("method", "only"),
    [
        ("memory", {"memscope/memories/open.py"}),
        ("insert", {"memscope/memories/remember.py"}),
        ("update", {"memscope/memories/changes.py", "memscope/memories/remember.py"}),
        ("take_ticket", {"memscope/approvals/accept.py"}),
    ],
)
def test_there_is_one_place_for_it(method: str, only: set[str]) -> None:
    assert callers(method) == only
