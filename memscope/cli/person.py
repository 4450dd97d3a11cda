"""`memscope person`"""

from __future__ import annotations

import argparse

from memscope.cli.choosing import person
from memscope.cli.context import CommandError, Context, ask_password, note, say
from memscope.cli.parsing import add, add_organization, subcommands


def configure(parser: argparse.ArgumentParser) -> None:
    """`reset`."""
    group = subcommands(parser)
    reset = add(
        group,
        "reset",
        "give a person a new password",
        "Give a person a new password. By default a random one is made and printed this once; hand it over on a safe way.",
    )
    reset.add_argument("email", metavar="EMAIL")
    choice = reset.add_mutually_exclusive_group()
    choice.add_argument("--ask", action="store_true", help="ask for the new password here, twice")
    choice.add_argument("--password-stdin", action="store_true", help="read the new password from standard input")
    add_organization(reset)


def run(arguments: argparse.Namespace, context: Context) -> int:
    """Set the password."""
    from memscope.organizations.passwords import generated_password, reset_password
    from memscope.organizations.signing_in import choose_organization

    with context.opened() as app:
        organization = choose_organization(app.core.storage, arguments.org).id
        chosen = person(app.core.rosters.current(organization), arguments.email)
        asked = arguments.ask or arguments.password_stdin
        password = ask_password(f"New password of {chosen.email}", from_stdin=arguments.password_stdin) if asked else generated_password()
        if arguments.ask and ask_password("Once more", from_stdin=False) != password:
            raise CommandError("The two passwords differ. Nothing was changed.")
        reset_password(app.core, app.identities.passwords, organization, chosen, password)
    if not asked:
        say(password)
    note(f"{chosen.email} has a new password.")
    return 0
