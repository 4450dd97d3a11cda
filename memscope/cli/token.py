"""`memscope token`"""

from __future__ import annotations

import argparse
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from memscope.cli.choosing import person
from memscope.cli.context import CommandError, Context, note, say, table
from memscope.cli.parsing import add, add_organization, days, subcommands

if TYPE_CHECKING:
    from memscope.app import MemScope
    from memscope.model.organization import Connection


def configure(parser: argparse.ArgumentParser) -> None:
    """`create`, `list` and `revoke`."""
    group = subcommands(parser)
    create = add(
        group,
        "create",
        "make an access token for a person's agent",
        "Make an access token and print it: it is shown this once, and lets whoever holds it act as the person. With several\n"
        "people, a line EMAIL<TAB>TOKEN for each.",
    )
    create.add_argument("emails", metavar="EMAIL", nargs="+", help="whose agent it is for")
    create.add_argument(
        "--client", metavar="NAME", required=True, help="the program that will use it, such as claude-code; shown with what it saves"
    )
    create.add_argument("--expires", metavar="DAYS", type=days, help="valid for so many days (default: until revoked)")
    add_organization(create)
    listed = add(group, "list", "list the connections of all people", None)
    add_organization(listed)
    revoke = add(
        group, "revoke", "end a connection at once", "End a connection: its next call is refused. `memscope token list` shows the ids."
    )
    revoke.add_argument("id", metavar="ID")
    add_organization(revoke)


def run(arguments: argparse.Namespace, context: Context) -> int:
    """Run the chosen one."""
    from memscope.organizations.signing_in import choose_organization

    with context.opened() as app:
        organization = choose_organization(app.core.storage, arguments.org).id
        {"create": _create, "list": _list, "revoke": _revoke}[arguments.subcommand](arguments, app, organization)
    return 0


def _create(arguments: argparse.Namespace, app: MemScope, organization: str) -> None:
    from memscope.organizations.connections import create_token

    core = app.core
    roster = core.rosters.current(organization)
    # Everybody is looked up before the first token is made.
    people = [person(roster, email) for email in arguments.emails]
    for each in people:
        if not each.active:
            raise CommandError(f"{each.email} is disabled and cannot have a token.")
    expires_at = None if arguments.expires is None else core.clock() + timedelta(days=arguments.expires)
    for each in people:
        _, token = create_token(core, app.identities.tokens, organization, each.id, arguments.client, expires_at)
        say(token if len(people) == 1 else f"{each.email}\t{token}")


def _list(arguments: argparse.Namespace, app: MemScope, organization: str) -> None:
    from memscope.organizations.connections import connections

    people = app.core.rosters.current(organization).people
    rows = [
        (
            connection.id,
            people[connection.person].email,
            connection.client,
            connection.kind.value,
            _minute(connection.created_at),
            _minute(connection.last_used_at) if connection.last_used_at else "never",
            _state(connection, app.core.clock()),
        )
        for connection in connections(app.core, organization)
    ]
    for line in table(rows, head=("ID", "PERSON", "CLIENT", "KIND", "MADE", "LAST USED", "STATE")):
        say(line)


def _revoke(arguments: argparse.Namespace, app: MemScope, organization: str) -> None:
    from memscope.organizations.connections import connections, revoke

    found = [connection for connection in connections(app.core, organization) if connection.id == arguments.id.strip().lower()]
    if not found:
        raise CommandError(f"There is no connection {arguments.id}. `memscope token list` shows them.")
    live = revoke(app.core, app.identities.tokens, organization, found[0])
    note("Revoked: its next call is refused." if live else "It was revoked before.")


def _state(connection: Connection, now: datetime) -> str:
    if connection.revoked_at is not None:
        return f"revoked {_minute(connection.revoked_at)}"
    if connection.expires_at is None:
        return "valid"
    return f"expired {_minute(connection.expires_at)}" if connection.expires_at <= now else f"valid until {_minute(connection.expires_at)}"


def _minute(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M}"
