"""Reviewing: review_queue, review_memory."""

from __future__ import annotations

from typing import Any

from memscope.approvals.consent import Consent
from memscope.core import Core
from memscope.mcp_server.arguments import Choice
from memscope.mcp_server.tool import Tool
from memscope.mcp_server.tools import common
from memscope.memories.review import ReviewMemory, review_memory, review_queue
from memscope.model.principal import Principal


def _queue(core: Core, principal: Principal, arguments: dict[str, Any], consent: Consent) -> object:
    return review_queue(core, principal, **arguments)


def _review(core: Core, principal: Principal, arguments: dict[str, Any], consent: Consent) -> object:
    return review_memory(core, principal, ReviewMemory(**arguments), consent)


REVIEW_QUEUE = Tool(
    name="review_queue",
    title="List what waits for review",
    about=(
        "Lists flagged memories that the signed-in person may decide on, oldest first. review_kind says why: audience (somebody must say who may "
        "read it), setup_gap (on a sensitive topic that no team guards yet), instructions (reads like orders to an AI; approving it needs confirm_human), "
        "fyi (shared as asked, flagged because the classification was unsure)."
    ),
    parameters=(common.limit(100, 20),),
    run=_queue,
    read_only=True,
    idempotent=True,
)

REVIEW_MEMORY = Tool(
    name="review_memory",
    title="Decide a review",
    about=(
        "Settles a flagged memory: approve (it is right as it is), reroute (share it with a team, a project or the organization) or tighten (a stricter "
        "sensitivity, or personal when none is given). The author, an owner of its team or project, and admins may. A decision that could let anybody "
        "read it who could not before needs confirm_widen; approving, rerouting or not narrowing what this connection saved needs confirm_human."
    ),
    parameters=(
        common.MEMORY_ID,
        Choice(
            name="action",
            required=True,
            words={word: word for word in ("approve", "reroute", "tighten")},
            about="approve, reroute (with scope, and team or project for those) or tighten (with sensitivity, or nothing for personal).",
        ),
        common.scope("Where reroute sends it."),
        common.TEAM,
        common.PROJECT,
        common.sensitivity("The level that tighten sets; lowering it needs confirm_widen."),
        common.REASON,
        common.CONFIRM_WIDEN,
        common.CONFIRM_HUMAN,
        common.EXPECTED_VERSION,
        *common.PROVENANCE,
    ),
    run=_review,
    read_only=False,
    destructive=True,
)
