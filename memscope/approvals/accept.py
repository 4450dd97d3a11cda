"""Accepting consent: is what was given enough for what is needed?"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from memscope.approvals.consent import AskPerson, Consent, Outcome, Question
from memscope.approvals.needs import Confirm, Needs
from memscope.contracts.storage import Ticket, Transaction
from memscope.core import Core
from memscope.errors import ConfirmRequired, Forbidden
from memscope.model.audit import ApprovedVia
from memscope.model.ids import new_id
from memscope.model.memory import Memory
from memscope.model.organization import Confirmation, ConnectionKind
from memscope.model.principal import Principal
from memscope.policy.effect import Effect

TICKET_MINUTES = 10
SAID_NO = "The person said no. Leave the memory as it is."


@dataclass(frozen=True, slots=True)
class Proposal:
    """A planned change, as consent is bound to it."""

    tool: str
    memory: Memory
    """As it is before."""
    digest: str
    """Keyed digest of the canonical resolved arguments, confirm flags apart."""
    effect: Effect
    change: dict[str, Any]
    """What would change: audiences before and after, and how many gain."""
    quoted: dict[str, str]
    """The agent's own words (reason, label), shown to the person as such."""


class TicketNeeded(Exception):
    """The person must decide in the console: `ticket` is to be written, in a transaction of its own, before the error is told."""

    def __init__(self, ticket: Ticket, error: ConfirmRequired) -> None:
        super().__init__("a ticket is needed")
        self.ticket = ticket
        self.error = error


def accept(
    core: Core,
    transaction: Transaction,
    principal: Principal,
    confirmation: Confirmation,
    needs: Needs,
    proposal: Proposal,
    consent: Consent,
) -> ApprovedVia:
    """How the change was approved. Raises ConfirmRequired, AskPerson, TicketNeeded or Forbidden when it was not.

    A flag that an agent sets is only a claim, so it comes first in every mode and suffices in mode `flag` alone.
    """
    if not needs:
        return ApprovedVia.NONE
    if principal.kind is ConnectionKind.CONSOLE:
        return ApprovedVia.PERSON
    given = {Confirm.HUMAN: consent.confirm_human, Confirm.WIDEN: consent.confirm_widen}
    missing = [flag for flag in needs.flags if not given[flag]]
    if missing:
        raise _confirm(missing[0], needs, proposal, f"Ask the person, and call again with {missing[0].value}=true only when they agree.")
    if confirmation is Confirmation.FLAG:
        return ApprovedVia.FLAG
    strict = confirmation is Confirmation.CONSOLE
    if needs.person or (strict and Confirm.HUMAN in needs.flags):
        return _by_ticket(core, transaction, principal, needs, proposal)
    if not consent.can_elicit and strict:
        return _by_ticket(core, transaction, principal, needs, proposal)
    if not consent.can_elicit:
        return ApprovedVia.FLAG
    if strict and _taken(transaction, principal, proposal) is not None:
        return ApprovedVia.PERSON
    return _by_client(core, needs, proposal, consent)


def _by_client(core: Core, needs: Needs, proposal: Proposal, consent: Consent) -> ApprovedVia:
    question = _question(core, needs, proposal)
    answer = consent.answer
    if answer is None or answer.digest != question.digest:
        raise AskPerson(question)
    if answer.outcome is Outcome.ACCEPT:
        return ApprovedVia.CLIENT
    if answer.outcome is Outcome.DECLINE:
        raise Forbidden(SAID_NO)
    raise _confirm(needs.flags[0], needs, proposal, "The person was asked and did not answer. Ask them again when they are there.")


def _question(core: Core, needs: Needs, proposal: Proposal) -> Question:
    memory = proposal.memory
    before, after = proposal.change["before"], proposal.change["after"]
    verb = {"forget_memory": "Forget", "review_memory": "Settle the review of"}.get(proposal.tool, "Change")
    lines = [f"{verb} memory {memory.number} of {memory.created_at:%Y-%m-%d}?", f"Now: {describe(before)}."]
    lines.append(
        "Afterwards: nobody reads it, and it can be restored from the trash."
        if proposal.tool == "forget_memory"
        else f"Afterwards: {describe(after)}."
    )
    if proposal.change["gains"]:
        lines.append(
            f"{proposal.change['gains']} more people could read it."
            if proposal.change["gains_exact"]
            else f"Up to {proposal.change['gains']} more people could read it."
        )
    digest = core.keys.digest(
        "question",
        [proposal.tool, proposal.digest, memory.id, memory.version, sorted(proposal.effect.gains), [flag.value for flag in needs.flags]],
    )
    return Question("\n".join(lines), digest, accept=verb.split(" ")[0].lower(), keep="leave it as it is")


def describe(audience: dict[str, Any]) -> str:
    """An audience of a change in words, such as `team people-ops, restricted, held back`."""
    group = audience["team"] or audience["project"]
    place = f"{audience['scope']} {group}" if group else audience["scope"]
    return f"{place}, {audience['sensitivity'].replace('_', ' ')}" + (", held back for review" if audience["held"] else "")


def _by_ticket(core: Core, transaction: Transaction, principal: Principal, needs: Needs, proposal: Proposal) -> ApprovedVia:
    if _taken(transaction, principal, proposal) is not None:
        return ApprovedVia.PERSON
    now = core.clock()
    pending = _matching(transaction, principal, proposal)
    if any(ticket.approved is False for ticket in pending):
        raise Forbidden(SAID_NO)
    waiting = [ticket for ticket in pending if ticket.decided_at is None and proposal.effect.gains <= ticket.gaining]
    ticket = (
        waiting[0]
        if waiting
        else Ticket(
            id=new_id(),
            person=principal.person,
            connection=principal.connection,
            tool=proposal.tool,
            memory=proposal.memory.id,
            memory_version=proposal.memory.version,
            digest=proposal.digest,
            gaining=proposal.effect.gains,
            summary={"change": proposal.change, "quoted": proposal.quoted, "number": proposal.memory.number, "client": principal.client},
            created_at=now,
            expires_at=now + timedelta(minutes=TICKET_MINUTES),
        )
    )
    error = _confirm(
        needs.flags[0],
        needs,
        proposal,
        "Give the person the approval_url, and make the same call again after they decided there.",
        approval_url=f"{console_url(core)}/me/confirmations/{ticket.id}",
        expires_at=ticket.expires_at,
    )
    raise TicketNeeded(ticket, error)


def _taken(transaction: Transaction, principal: Principal, proposal: Proposal) -> Ticket | None:
    """An approved ticket for just this change, used up now; one under which more would gain than were shown is void."""
    if not any(proposal.effect.gains <= ticket.gaining for ticket in _matching(transaction, principal, proposal) if ticket.approved):
        return None
    memory = proposal.memory
    return transaction.take_ticket(principal.person, principal.connection, proposal.tool, memory.id, memory.version, proposal.digest)


def _matching(transaction: Transaction, principal: Principal, proposal: Proposal) -> list[Ticket]:
    wanted = (principal.connection, proposal.tool, proposal.memory.id, proposal.memory.version, proposal.digest)
    return [
        ticket
        for ticket in transaction.tickets()
        if (ticket.connection, ticket.tool, ticket.memory, ticket.memory_version, ticket.digest) == wanted and ticket.used_at is None
    ]


def _confirm(first: Confirm, needs: Needs, proposal: Proposal, hint: str, **more: Any) -> ConfirmRequired:
    return ConfirmRequired(
        f"{needs.reason} Nothing was changed.",
        hint=hint,
        confirm=first.value,
        needs=[flag.value for flag in needs.flags],
        reason=needs.reason,
        change=proposal.change,
        **more,
    )


def console_url(core: Core) -> str:
    """The console's address."""
    server = core.settings.server
    return f"{server.public_url or f'http://{server.host}:{server.port}'}/admin"
