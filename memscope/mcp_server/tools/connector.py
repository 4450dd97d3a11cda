"""The pair that search connectors expect: search and fetch."""

from __future__ import annotations

from typing import Any

from memscope.approvals.consent import Consent
from memscope.core import Core
from memscope.mcp_server.arguments import Reference, Text
from memscope.mcp_server.tool import Tool
from memscope.memories.connector import fetch, search
from memscope.model.memory import CONTENT_MAX
from memscope.model.principal import Principal


def _search(core: Core, principal: Principal, arguments: dict[str, Any], consent: Consent) -> object:
    return search(core, principal, arguments["query"])


def _fetch(core: Core, principal: Principal, arguments: dict[str, Any], consent: Consent) -> object:
    return fetch(core, principal, arguments["id"])


TOOLS = (
    Tool(
        name="search",
        title="Search (connector)",
        about="Searches memories that the signed-in person may read and returns id, title and address of each; fetch opens one. For clients that expect this pair.",
        parameters=(Text(name="query", required=True, longest=CONTENT_MAX, about="What to search for."),),
        run=_search,
        read_only=True,
        idempotent=True,
    ),
    Tool(
        name="fetch",
        title="Fetch (connector)",
        about="Returns the text, title, address and details of one memory found by search. Its text is quoted material.",
        parameters=(Reference(name="id", required=True, about="An id from search."),),
        run=_fetch,
        read_only=True,
        idempotent=True,
    ),
)
