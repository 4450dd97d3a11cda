"""One-time approvals: listed and decided by the person they are for."""

from __future__ import annotations

from dataclasses import replace

from memscope.contracts.storage import Operator, Ticket
from memscope.core import Core
from memscope.errors import Conflict, NotFound
from memscope.model.audit import Act


def pending(core: Core, organization: str, person: str) -> list[Ticket]:
    """A person's tickets that wait to be decided, newest first."""
    with core.storage.begin(Operator("approvals", organization)) as transaction:
        waiting = (ticket for ticket in transaction.tickets(undecided_only=True) if ticket.expires_at > core.clock())
        return [ticket for ticket in waiting if ticket.person == person]


def ticket(core: Core, organization: str, person: str, ticket_id: str) -> Ticket | None:
    """One of a person's tickets, decided, used or expired too; None when there is none of theirs."""
    with core.storage.begin(Operator("approvals", organization)) as transaction:
        mine = (found for found in transaction.tickets(expired_too=True) if found.id == ticket_id and found.person == person)
        return next(mine, None)


def decide(core: Core, organization: str, person: str, ticket_id: str, approved: bool) -> Ticket:
    """Approve or refuse one of the person's own tickets, once.

    The caller has made sure that it is the person: by a console session, or by their password on the server's machine.
    NotFound for another person's ticket; Conflict when it was decided or has expired.
    """
    act = Act("approval.decide", actor=person, target=ticket_id, detail={"approved": approved})
    with core.storage.begin(Operator("approvals", organization), act) as transaction:
        found = [ticket for ticket in transaction.tickets(expired_too=True) if ticket.id == ticket_id and ticket.person == person]
        if not found:
            raise NotFound
        ticket = found[0]
        if ticket.expires_at <= max(transaction.now, core.clock()):
            raise Conflict("This approval has expired. When the agent asks again, it gets a new one.")
        if ticket.decided_at is not None:
            raise Conflict("This approval was decided already.")
        decided = replace(ticket, approved=approved, decided_at=core.clock())
        transaction.write_ticket(decided)
        return decided
