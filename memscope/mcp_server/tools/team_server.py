"""The team server's tool: memory_recall."""

from __future__ import annotations

from typing import Any

from memscope.approvals.consent import Consent
from memscope.core import Core
from memscope.mcp_server.arguments import Choice, Group, Text
from memscope.mcp_server.tool import Tool
from memscope.mcp_server.tools import common
from memscope.memories.team_server import MemoryRecall, memory_recall
from memscope.model.memory import CONTENT_MAX
from memscope.model.principal import Principal


def _memory_recall(core: Core, principal: Principal, arguments: dict[str, Any], consent: Consent) -> object:
    scope = arguments.pop("scope") or {"kind": None, "team_id": None}
    return memory_recall(core, principal, MemoryRecall(scope_kind=scope["kind"], team_id=scope["team_id"], **arguments))


TOOLS = (
    Tool(
        name="memory_recall",
        title="Search workspaces",
        about=(
            "Searches every workspace that the signed-in person can read, or one of them, and returns ranked records labelled with the scope each came "
            "from: the best of every scope first, then every second best, and so on. Use it to find what you or your teams already decided, or a record's id."
        ),
        parameters=(
            Text(name="query", required=True, longest=CONTENT_MAX, about="What you want to know, as a phrase."),
            Group(
                name="scope",
                about="Only this scope. Left out: all that the person can read.",
                parts=(
                    Choice(
                        name="kind",
                        required=True,
                        words={word: word for word in ("personal", "team", "project", "organization")},
                        about="Which kind of scope.",
                    ),
                    Text(name="team_id", longest=common.NAME_MAX, about="Slug or id of the team or project."),
                ),
            ),
            Text(name="project", longest=128, about="Of shared records, only those of this project; personal records stay."),
            common.limit(50, 10),
        ),
        run=_memory_recall,
        read_only=True,
        idempotent=True,
    ),
)
