"""Changing: correct, forget, restore, change_scope, change_sensitivity, supersede."""

from __future__ import annotations

from typing import Any

from memscope.approvals.consent import Consent
from memscope.core import Core
from memscope.mcp_server.arguments import Choice, Reference, Switch, Text
from memscope.mcp_server.tool import Tool
from memscope.mcp_server.tools import common
from memscope.memories.correct import Correct, correct_memory
from memscope.memories.scope import ChangeScope, change_scope
from memscope.memories.sensitivity import ChangeSensitivity, change_sensitivity
from memscope.memories.supersede import Supersede, supersede_memory
from memscope.memories.trash import Forget, Restore, forget_memory, restore_memory
from memscope.model.memory import CONTENT_MAX
from memscope.model.principal import Principal


def _correct(core: Core, principal: Principal, arguments: dict[str, Any], consent: Consent) -> object:
    return correct_memory(core, principal, Correct(**arguments), consent)


def _forget(core: Core, principal: Principal, arguments: dict[str, Any], consent: Consent) -> object:
    return forget_memory(core, principal, Forget(**arguments), consent)


def _restore(core: Core, principal: Principal, arguments: dict[str, Any], consent: Consent) -> object:
    return restore_memory(core, principal, Restore(**arguments), consent)


def _change_scope(core: Core, principal: Principal, arguments: dict[str, Any], consent: Consent) -> object:
    return change_scope(core, principal, ChangeScope(**arguments), consent)


def _change_sensitivity(core: Core, principal: Principal, arguments: dict[str, Any], consent: Consent) -> object:
    return change_sensitivity(core, principal, ChangeSensitivity(**arguments), consent)


def _supersede(core: Core, principal: Principal, arguments: dict[str, Any], consent: Consent) -> object:
    return supersede_memory(core, principal, Supersede(**arguments), consent)


CORRECT_MEMORY = Tool(
    name="correct_memory",
    title="Correct a memory",
    about=(
        "Saves a new version of a memory's text; the earlier text stays in its history. The new text is examined like a new memory, and may raise "
        "the sensitivity or open a review, never lower it."
    ),
    parameters=(
        common.MEMORY_ID,
        Text(name="new_content", required=True, longest=CONTENT_MAX, about="The whole corrected text."),
        common.REASON,
        Choice(
            name="kind", words={word: word for word in (*common.KINDS, "none")}, about="A new kind; none clears it; left out, it stays."
        ),
        Text(
            name="valid_until", longest=64, about="A new ISO date or date and time; none clears it; left out, it stays unless it is past."
        ),
        common.EXPECTED_VERSION,
        *common.PROVENANCE,
    ),
    run=_correct,
    read_only=False,
)

FORGET_MEMORY = Tool(
    name="forget_memory",
    title="Forget a memory",
    about=(
        "Moves a memory to the trash, from where it can be restored for a while (30 days unless the organization chose otherwise) before it is "
        "erased for good. Meant for when the person asks for it, and in need of the person's approval; supersede_memory is the way to retire an outdated or duplicate memory."
    ),
    parameters=(common.MEMORY_ID, common.REASON, common.CONFIRM_HUMAN, common.EXPECTED_VERSION, *common.PROVENANCE),
    run=_forget,
    read_only=False,
    destructive=True,
    idempotent=True,
)

RESTORE_MEMORY = Tool(
    name="restore_memory",
    title="Restore a forgotten memory",
    about="Takes a memory back out of the trash while it is still there. A memory that is not in the trash is refused with conflict and stays as it is.",
    parameters=(common.MEMORY_ID, common.EXPECTED_VERSION, *common.PROVENANCE),
    run=_restore,
    read_only=False,
    idempotent=True,
)

CHANGE_SCOPE = Tool(
    name="change_scope",
    title="Change who a memory is for",
    about=(
        "Moves a memory to the organization, a team, a project or one person. A move that could let anybody read it who could not before is refused with "
        "confirm_required, saying what would change, until the person agreed and confirm_widen is true. A memory under review that this connection saved "
        "needs confirm_human too, unless the move narrows it."
    ),
    parameters=(
        common.MEMORY_ID,
        common.scope("The new scope: organization (or shared), team, project, personal (or private).", required=True),
        common.TEAM,
        common.PROJECT,
        common.REASON,
        common.CONFIRM_WIDEN,
        common.CONFIRM_HUMAN,
        common.EXPECTED_VERSION,
        *common.PROVENANCE,
    ),
    run=_change_scope,
    read_only=False,
    destructive=True,
    idempotent=True,
)

CHANGE_SENSITIVITY = Tool(
    name="change_sensitivity",
    title="Change a memory's sensitivity",
    about=(
        "Sets how sensitive a memory is. Lowering it lets more people read it and is refused with confirm_required until the person agreed and "
        "confirm_widen is true. A memory under review that this connection saved needs confirm_human too, unless the change narrows it."
    ),
    parameters=(
        common.MEMORY_ID,
        common.sensitivity("The new level, from public (least) to highly_restricted (most).", required=True),
        common.REASON,
        common.CONFIRM_WIDEN,
        common.CONFIRM_HUMAN,
        common.EXPECTED_VERSION,
        *common.PROVENANCE,
    ),
    run=_change_sensitivity,
    read_only=False,
    destructive=True,
    idempotent=True,
)

SUPERSEDE_MEMORY = Tool(
    name="supersede_memory",
    title="Mark a memory as replaced",
    about=(
        "Links a memory to a newer one that replaces it: the older one leaves default recall and keeps its history. undo removes the link. "
        "It takes the same right as correcting the older memory."
    ),
    parameters=(
        common.MEMORY_ID,
        Reference(name="replaced_by", required=True, about="Id or number of the memory that replaces it."),
        Switch(name="undo", about="Remove the link to replaced_by instead of making it."),
        common.EXPECTED_VERSION,
        *common.PROVENANCE,
    ),
    run=_supersede,
    read_only=False,
    idempotent=True,
)
