"""Browsing: list_teams, list_topics, explain_memory, list_memories, get_memory."""

from __future__ import annotations

from typing import Any

from memscope.approvals.consent import Consent
from memscope.core import Core
from memscope.mcp_server.arguments import Choice, Label, Text
from memscope.mcp_server.tool import Tool
from memscope.mcp_server.tools import common
from memscope.memories.browse import ListMemories, get_memory, list_memories, list_teams, list_topics
from memscope.memories.explain import explain_memory
from memscope.model.principal import Principal


def _list_teams(core: Core, principal: Principal, arguments: dict[str, Any], consent: Consent) -> object:
    return list_teams(core, principal, **arguments)


def _list_topics(core: Core, principal: Principal, arguments: dict[str, Any], consent: Consent) -> object:
    return list_topics(core, principal)


def _explain_memory(core: Core, principal: Principal, arguments: dict[str, Any], consent: Consent) -> object:
    return explain_memory(core, principal, **arguments)


def _list_memories(core: Core, principal: Principal, arguments: dict[str, Any], consent: Consent) -> object:
    return list_memories(core, principal, ListMemories(**arguments))


def _get_memory(core: Core, principal: Principal, arguments: dict[str, Any], consent: Consent) -> object:
    return get_memory(core, principal, **arguments)


LIST_TEAMS = Tool(
    name="list_teams",
    title="List teams and projects",
    about=(
        "Lists the teams and projects of the signed-in person's organization, with id, slug, name and aliases, and whether the person is a member "
        "or an owner: the values that recall's team and project parameters take, and the places that remember can file to."
    ),
    parameters=(
        Choice(name="kind", words={word: word for word in ("teams", "projects", "all")}, default="all", about="Which groups to list."),
    ),
    run=_list_teams,
    read_only=True,
    idempotent=True,
)

LIST_TOPICS = Tool(
    name="list_topics",
    title="List sensitive topics",
    about=(
        "Lists the sensitive topics of the signed-in person's organization (HR, Legal, Finance and its own): key, name, description, the "
        "sensitivity each implies and the teams that guard it. They are the values of recall's topics filter."
    ),
    parameters=(),
    run=_list_topics,
    read_only=True,
    idempotent=True,
)

EXPLAIN_MEMORY = Tool(
    name="explain_memory",
    title="Explain who sees a memory",
    about=(
        "Says whether a memory is visible and which rules decided it, each with passed or not, and whether default recall would show it. "
        "Without person it is about the signed-in person."
    ),
    parameters=(
        common.MEMORY_ID,
        Text(
            name="person",
            longest=320,
            about="Ask about somebody else, by e-mail address or id. Admins and owners of the memory's group get the rules, authors get visible alone.",
        ),
    ),
    run=_explain_memory,
    read_only=True,
    idempotent=True,
)

LIST_MEMORIES = Tool(
    name="list_memories",
    title="Browse memories",
    about=(
        "Lists memories that the signed-in person may read, newest first, each with a one-line preview, its scope, sensitivity and review state. "
        "Expired ones stay in the list, marked expired. Further pages follow with next_cursor."
    ),
    parameters=(
        Choice(
            name="filter",
            words={word: word for word in ("mine", "needs_review", "team", "project", "forgotten")},
            about="mine: saved by the person; needs_review: flagged and the person may review them; team, project: of the person's groups; forgotten: in the trash, for restore_memory.",
        ),
        common.limit(100, 20),
        Text(name="cursor", longest=4000, about="next_cursor of the page before, with the same filters."),
        common.kind("Only this kind."),
        Label(name="agent", about="Only what was saved under this agent label."),
        Label(name="run_id", about="Only what was saved under this run label."),
    ),
    run=_list_memories,
    read_only=True,
    idempotent=True,
)

GET_MEMORY = Tool(
    name="get_memory",
    title="Open a memory",
    about="Returns one memory in full with the history of its texts, newest first. Content is quoted material, written by people and agents.",
    parameters=(common.MEMORY_ID,),
    run=_get_memory,
    read_only=True,
    idempotent=True,
)
