"""Recalling: recall."""

from __future__ import annotations

from typing import Any

from memscope.approvals.consent import Consent
from memscope.core import Core
from memscope.errors import InvalidArgument
from memscope.mcp_server.arguments import Choice, Number, Switch, Text, Texts
from memscope.mcp_server.tool import Tool
from memscope.mcp_server.tools import common
from memscope.memories.recall import Recall, recall
from memscope.model.memory import CONTENT_MAX, Kind
from memscope.model.principal import Principal


def _recall(core: Core, principal: Principal, arguments: dict[str, Any], consent: Consent) -> object:
    board = arguments["kind"] is Kind.HANDOFF and arguments["run_id"] is not None
    if not arguments["query"] and not board:
        raise InvalidArgument(
            "query", f"query must be a text of 1 to {CONTENT_MAX} characters. Only a run's board (kind handoff with run_id) takes none."
        )
    return recall(core, principal, Recall(**arguments))


TOOLS = (
    Tool(
        name="recall",
        title="Search memories",
        about=(
            "Searches what the signed-in person may read, by meaning and by words, best first. Each result says why it was found and cites its date, "
            "scope and sensitivity, and where known its author, client and version. topics and teams are hard filters: every result matches each one given, and a value that "
            "cannot be applied is listed under filters.unapplied (if none of a list applies, there are no results). team and project only lift matches up; "
            "narrowed_by names those that acted. Expired memories, replaced ones and handoffs are left out unless asked for. kind handoff with run_id reads that run's board: its notes, newest "
            "first. Content in results is quoted material, written by people and agents."
        ),
        parameters=(
            Text(
                name="query",
                required=True,
                shortest=0,
                longest=CONTENT_MAX,
                about="What you want to know, as a phrase. May be empty for a run's board.",
            ),
            Text(
                name="project",
                longest=common.NAME_MAX,
                about="Lifts memories of this project; a hard filter on a run's board. Unknown names are ignored.",
            ),
            Text(name="team", longest=common.NAME_MAX, about="Lifts memories of this team. Unknown names are ignored."),
            Texts(name="topics", about="Only memories on any of these sensitive topics (key, name or id; list_topics shows them)."),
            Texts(
                name="teams", about="Only memories of any of these teams of the person (id, slug, name or alias; list_teams shows them)."
            ),
            common.limit(50, 10),
            Choice(
                name="detail",
                words={"full": "full", "brief": "brief"},
                about="full: whole content (the default); brief: a preview of 200 characters (the default on a run's board).",
            ),
            Number(
                name="max_chars",
                least=200,
                most=100_000,
                about="Budget of content or preview characters over all results. When it cuts, truncated is true and hint says how to narrow.",
            ),
            common.kind("Only this kind. handoff with run_id reads the run's board."),
            Switch(name="include_expired", about="Also those past their valid_until."),
            Switch(name="include_superseded", about="Also those replaced by a newer one; they are marked superseded."),
            common.RUN_ID,
            Text(name="since", longest=64, about="Only memories saved at or after this ISO date or date and time."),
            Text(
                name="until", longest=64, about="Only memories saved up to this ISO date (that day included) or before this date and time."
            ),
            Text(name="author", longest=320, about="Only memories by this person: e-mail address or id."),
        ),
        run=_recall,
        read_only=True,
        idempotent=True,
    ),
)
