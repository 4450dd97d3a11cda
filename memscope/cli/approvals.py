"""`memscope approvals`"""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from memscope.cli.choosing import person
from memscope.cli.context import CommandError, Context, ask_password, note, say
from memscope.cli.parsing import add, add_organization, subcommands

if TYPE_CHECKING:
    from memscope.app import MemScope
    from memscope.contracts.storage import Ticket
    from memscope.model.organization import Person


def configure(parser: argparse.ArgumentParser) -> None:
    """`list`, `approve` and `refuse`."""
    group = subcommands(parser)
    listed = add(
        group,
        "list",
        "list what waits for a person's approval",
        "List what an agent asked for and waits for this person. Asks for their password.",
    )
    approve = add(
        group, "approve", "let one of them happen", "Approve: the agent may make just this change, once, within ten minutes of asking."
    )
    refuse = add(group, "refuse", "refuse one of them", None)
    for command in (approve, refuse):
        command.add_argument("id", metavar="ID", help="as `memscope approvals list` shows it")
    for command in (listed, approve, refuse):
        command.add_argument("--person", metavar="EMAIL", required=True, help="whose approval it is; their password is asked for")
        command.add_argument("--password-stdin", action="store_true", help="read the password from standard input")
        add_organization(command)


def run(arguments: argparse.Namespace, context: Context) -> int:
    """Check the password, then list or decide."""
    from memscope.approvals.tickets import decide, pending
    from memscope.errors import NotFound
    from memscope.organizations.signing_in import choose_organization

    with context.opened() as app:
        organization = choose_organization(app.core.storage, arguments.org).id
        who = person(app.core.rosters.current(organization), arguments.person)
        _check(app, organization, who, ask_password(f"Password of {who.email}", from_stdin=arguments.password_stdin))
        if arguments.subcommand == "list":
            tickets = pending(app.core, organization, who.id)
            for ticket in tickets:
                for line in _shown(ticket):
                    say(line)
            if not tickets:
                note("Nothing waits for approval.")
            return 0
        try:
            decide(app.core, organization, who.id, arguments.id, arguments.subcommand == "approve")
        except NotFound:
            raise CommandError(f"Nothing with the id {arguments.id} waits for {who.email}; it may have expired.") from None
        note("Approved. The agent can make the same call again now." if arguments.subcommand == "approve" else "Refused.")
    return 0


def _check(app: MemScope, organization: str, who: Person, password: str) -> None:
    if not app.identities.passwords.check_password(organization, who.id, password) or not who.active:
        raise CommandError("The password is wrong, or this person has none. `memscope person reset EMAIL` gives a new one.")


def _shown(ticket: Ticket) -> list[str]:
    from memscope.approvals.accept import describe

    change = ticket.summary["change"]
    lines = [
        f"{ticket.id}  {ticket.tool} on memory {ticket.summary['number']}, until {ticket.expires_at:%H:%M} UTC, asked by {ticket.summary['client']}",
        f"  now:        {describe(change['before'])}, {change['before']['readers']} readers",
        f"  afterwards: {describe(change['after'])}, {change['after']['readers']} readers; {change['gains']} gain",
    ]
    # The agent's own words, as such: quoted, so that none of them can pass for ours.
    return lines + [f"  the agent's {name}: {json.dumps(text)}" for name, text in ticket.summary["quoted"].items()]
