"""Saving: remember."""

from __future__ import annotations

from typing import Any

from memscope.approvals.consent import Consent
from memscope.core import Core
from memscope.mcp_server.arguments import Number, Reference, Text
from memscope.mcp_server.tool import Tool
from memscope.mcp_server.tools import common
from memscope.memories.remember import Remember, remember
from memscope.model.memory import CONTENT_MAX, KEY_MAX
from memscope.model.principal import Principal


def _remember(core: Core, principal: Principal, arguments: dict[str, Any], consent: Consent) -> object:
    return remember(core, principal, Remember(**arguments), consent)


TOOLS = (
    Tool(
        name="remember",
        title="Save a memory",
        about=(
            "Saves one piece of knowledge for the signed-in person, or for a team, a project or the whole organization: a fact, a decision, "
            "a procedure, a note, or a handoff for another agent of the same run. MemScope works out how sensitive the text is and may hold it "
            "for review; the answer says so, counts who can read it, and lists related memories, among them any that this one seems to update. "
            "Nothing is merged or replaced unless supersedes names it. A handoff needs run_id and one project, and expires after 7 days unless "
            "valid_until says otherwise (30 days at most)."
        ),
        parameters=(
            Text(name="content", required=True, longest=CONTENT_MAX, about="The text to keep, complete in itself."),
            common.scope(
                "Who it is for: organization (or shared), team, project, personal (or private). Left out: what team or project implies, else the person's default."
            ),
            common.TEAM,
            common.PROJECT,
            Number(name="importance", least=0, most=1, whole=False, default=0.5, about="How much it matters, 0 to 1."),
            Text(
                name="idempotency_key",
                shortest=0,
                longest=KEY_MAX,
                about="Any text that names this save. The same call with the same key again returns the first memory instead of a second one.",
            ),
            common.kind("What it is. Left out: nothing in particular."),
            Text(
                name="valid_until",
                longest=64,
                about="ISO date or date and time, in the future and within 5 years, after which recall leaves it out. A plain date lasts until that day ends.",
            ),
            Reference(
                name="supersedes",
                about="Id of an older memory that this one replaces and that you may edit; it then leaves default recall.",
            ),
            *common.PROVENANCE,
        ),
        run=_remember,
        read_only=False,
    ),
)
