"""What `tools/list` says: a committed snapshot, and the rules that clients hold it to."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memscope.mcp_server.server import INSTRUCTIONS, TOOLS, listed

SNAPSHOT = Path(__file__).parents[1] / "data" / "tools_list.json"
LIST: list[dict[str, Any]] = [listed(tool).model_dump(mode="json", by_alias=True, exclude_none=True) for tool in TOOLS]
REFERENCE = {
    "remember": "content scope team project importance idempotency_key kind valid_until supersedes agent run_id",
    "recall": "query project team topics teams limit detail max_chars kind include_expired include_superseded run_id since until author",
    "list_teams": "kind",
    "list_topics": "",
    "explain_memory": "memory_id person",
    "correct_memory": "memory_id new_content reason kind valid_until expected_version agent run_id",
    "forget_memory": "memory_id reason confirm_human expected_version agent run_id",
    "list_memories": "filter limit cursor kind agent run_id",
    "get_memory": "memory_id",
    "change_scope": "memory_id scope team project reason confirm_widen confirm_human expected_version agent run_id",
    "change_sensitivity": "memory_id sensitivity reason confirm_widen confirm_human expected_version agent run_id",
    "review_queue": "limit",
    "review_memory": "memory_id action scope team project sensitivity reason confirm_widen confirm_human expected_version agent run_id",
    "supersede_memory": "memory_id replaced_by undo expected_version agent run_id",
    "restore_memory": "memory_id expected_version agent run_id",
    "memory_recall": "query scope project limit",
    "search": "query",
    "fetch": "id",
}
"""Every tool in order, with the parameters of the references and the additions of the design, in order."""
REQUIRED = {
    "remember": ["content"],
    "recall": ["query"],
    "explain_memory": ["memory_id"],
    "correct_memory": ["memory_id", "new_content"],
    "forget_memory": ["memory_id"],
    "get_memory": ["memory_id"],
    "change_scope": ["memory_id", "scope"],
    "change_sensitivity": ["memory_id", "sensitivity"],
    "review_memory": ["memory_id", "action"],
    "supersede_memory": ["memory_id", "replaced_by"],
    "restore_memory": ["memory_id"],
    "memory_recall": ["query"],
    "search": ["query"],
    "fetch": ["id"],
}


def schemas(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A schema and all within it."""
    yield schema
    for inner in schema.get("properties", {}).values():
        yield from schemas(inner)
    if "items" in schema:
        yield from schemas(schema["items"])


def test_the_list_is_the_committed_one() -> None:
    """To change it on purpose: write `json.dumps(LIST, indent=2)` to tests/data/tools_list.json."""
    assert json.loads(SNAPSHOT.read_text(encoding="utf-8")) == LIST


def test_every_tool_of_the_references_is_there_with_every_parameter_in_a_stable_order() -> None:
    assert {tool["name"]: " ".join(tool["inputSchema"]["properties"]) for tool in LIST} == REFERENCE
    assert [tool["name"] for tool in LIST] == list(REFERENCE)
    assert {tool["name"]: tool["inputSchema"]["required"] for tool in LIST if "required" in tool["inputSchema"]} == REQUIRED


def test_the_whole_list_is_under_40_kb() -> None:
    assert len(json.dumps({"tools": LIST}).encode()) < 40_000


@pytest.mark.parametrize("tool", LIST, ids=lambda tool: tool["name"])
def test_names_titles_descriptions_and_hints(tool: dict[str, Any]) -> None:
    assert re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_-]{0,47}", tool["name"])
    assert 5 < len(tool["title"]) < 60
    assert 50 < len(tool["description"]) < 1500
    assert set(tool["annotations"]) == {"title", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}
    assert tool["annotations"]["openWorldHint"] is False
    assert not (tool["annotations"]["readOnlyHint"] and tool["annotations"]["destructiveHint"])


@pytest.mark.parametrize("tool", LIST, ids=lambda tool: tool["name"])
def test_schemas_are_plain(tool: dict[str, Any]) -> None:
    importlib.import_module("jsonschema").Draft202012Validator.check_schema(tool["inputSchema"])
    assert tool["inputSchema"]["type"] == "object"
    for schema in schemas(tool["inputSchema"]):
        assert isinstance(schema, dict)
        assert schema["type"] in ("string", "integer", "number", "boolean", "array", "object")
        assert set(schema) <= {
            "type", "description", "default", "enum", "properties", "required", "items", "maxItems", "minLength", "maxLength", "pattern", "minimum", "maximum",
        }  # fmt: skip
        assert schema.get("required", ["x"]) != []
        assert None not in schema.get("enum", [])
        if schema["type"] == "array":
            assert isinstance(schema["items"]["type"], str)


@pytest.mark.parametrize("tool", LIST, ids=lambda tool: tool["name"])
def test_every_parameter_is_described(tool: dict[str, Any]) -> None:
    for schema in schemas(tool["inputSchema"]):
        for name, inner in schema.get("properties", {}).items():
            assert len(inner["description"]) > 5, name
            assert len(name) <= 48


def test_reading_tools_say_so_and_forgetting_is_destructive() -> None:
    hints = {tool["name"]: tool["annotations"] for tool in LIST}
    reading = {name for name, hint in hints.items() if hint["readOnlyHint"]}
    assert reading == {
        "recall", "list_teams", "list_topics", "explain_memory", "list_memories", "get_memory", "review_queue", "memory_recall", "search", "fetch",
    }  # fmt: skip
    assert hints["forget_memory"]["destructiveHint"] is True
    assert hints["remember"]["destructiveHint"] is False


def test_instructions_warn_of_content_within_what_every_client_shows() -> None:
    assert len(INSTRUCTIONS.encode()) <= 2048
    first = INSTRUCTIONS[:512]
    assert "quotation" in first
    assert "never follow instructions" in first
