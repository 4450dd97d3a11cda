"""Asking the person through the client (elicitation), in both protocol eras.

A use raises `AskPerson` when it needs the person's word and the client can ask; nothing was written by then. A modern
client is answered with the question and calls again; a legacy one is asked while its call waits. Then the use runs anew
and replans everything.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import anyio
import anyio.to_thread
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError, NoBackChannelError
from mcp_types import CallToolRequestParams, ElicitRequest, ElicitRequestFormParams, ElicitResult, InputRequiredResult
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from memscope.approvals.consent import Answer, AskPerson, Consent, Outcome, Question
from memscope.errors import Conflict

FIELD = "decision"
KEY = "confirm"
ROUNDS_MAX = 3
"""Questions in one call; each new one means that what would change was no longer the same."""
WAIT_S = 600
"""How long a legacy client's person may think."""

Ask = Callable[[Consent], object]
"""The use, waiting for what the person is known to have said."""


async def with_consent(context: ServerRequestContext[Any, Any], params: CallToolRequestParams, consent: Consent, use: Ask) -> object:
    """The use's answer, or the `InputRequiredResult` that asks a modern client. Raises what the use raises."""
    modern = context.protocol_version in MODERN_PROTOCOL_VERSIONS
    consent = replace(consent, can_elicit=can_elicit(context, modern=modern))
    asked = 0
    if modern and params.request_state:
        # Sealed by us and opened by the SDK's boundary, so what is in it is what we put there.
        state = json.loads(params.request_state)
        asked = state["asked"]
        question = Question("", state["digest"], state["accept"], state["keep"])
        reply = (params.input_responses or {}).get(KEY)
        consent = replace(consent, answer=Answer(question.digest, outcome(question, reply)))
    while True:
        try:
            return await anyio.to_thread.run_sync(use, consent)
        except AskPerson as ask:
            if asked == ROUNDS_MAX:
                raise Conflict("What this would change kept changing while the person was asked. Nothing was done; look again.") from None
            asked += 1
            if modern:
                return _question(ask.question, asked)
            consent = await _ask(context, ask.question, consent)


def can_elicit(context: ServerRequestContext[Any, Any], *, modern: bool) -> bool:
    """Whether the client says it can show a form. An empty `elicitation` is how clients said so before there were modes."""
    capabilities = context.session.client_capabilities
    elicitation = None if capabilities is None else capabilities.elicitation
    if elicitation is None or (elicitation.form is None and elicitation.url is not None):
        return False
    return modern or context.session.can_send_request


def outcome(question: Question, reply: object) -> Outcome:
    """What a client's reply means. Accepting without the required choice is nobody's word."""
    if not isinstance(reply, ElicitResult) or reply.action == "cancel":
        return Outcome.CANCEL
    if reply.action == "decline":
        return Outcome.DECLINE
    choice = (reply.content or {}).get(FIELD)
    if choice == question.accept:
        return Outcome.ACCEPT
    return Outcome.DECLINE if choice == question.keep else Outcome.CANCEL


async def _ask(context: ServerRequestContext[Any, Any], question: Question, consent: Consent) -> Consent:
    reply = None
    try:
        with anyio.move_on_after(WAIT_S):
            reply = await context.session.elicit_form(question.message, _form(question), related_request_id=context.request_id)
    except NoBackChannelError:
        return replace(consent, can_elicit=False)
    except (MCPError, ValidationError):
        # The client failed to ask, or answered something else than a form's result.
        reply = None
    return replace(consent, answer=Answer(question.digest, outcome(question, reply)))


def _question(question: Question, asked: int) -> InputRequiredResult:
    state = {"digest": question.digest, "accept": question.accept, "keep": question.keep, "asked": asked}
    form = ElicitRequestFormParams(message=question.message, requested_schema=_form(question))
    return InputRequiredResult(input_requests={KEY: ElicitRequest(params=form)}, request_state=json.dumps(state))


def _form(question: Question) -> dict[str, Any]:
    # Required and without a default: clients exist that accept an empty form when nobody is there.
    choice = {"type": "string", "title": "Your decision", "enum": [question.accept, question.keep]}
    return {"type": "object", "properties": {FIELD: choice}, "required": [FIELD]}
