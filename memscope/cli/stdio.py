"""`memscope stdio`"""

from __future__ import annotations

import argparse

from memscope.cli.context import Context
from memscope.cli.parsing import add_organization


def configure(parser: argparse.ArgumentParser) -> None:
    """For whom."""
    parser.description = (
        "Serve one agent that starts this command itself and talks over standard input and output. Without --person it serves\n"
        "the only person there is; among several nobody is assumed."
    )
    add_organization(parser)
    parser.add_argument("--person", metavar="EMAIL", help="serve this person")
    parser.add_argument("--token", metavar="T", help="serve whom this access token means (better: set MEMSCOPE_TOKEN)")


def run(arguments: argparse.Namespace, context: Context) -> int:
    """Serve until the input ends."""
    from memscope.serving.stdio import run as serve

    token = arguments.token or (None if arguments.person else context.environ.get("MEMSCOPE_TOKEN"))
    if token and arguments.person:
        from memscope.cli.context import CommandError

        raise CommandError("Give --person or --token, not both.")
    with context.opened(any_model=False) as app:
        serve(app, organization=arguments.org, person=arguments.person, token=token or None)
    return 0
