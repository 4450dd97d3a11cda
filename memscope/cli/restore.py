"""`memscope restore`"""

from __future__ import annotations

import argparse

from memscope.cli.context import Context, note


def configure(parser: argparse.ArgumentParser) -> None:
    """The file."""
    parser.description = (
        "Load a file of `memscope backup` into a database without organizations, such as a new data folder. All or nothing. Put the\n"
        "server.key of that time into the data folder too."
    )
    parser.add_argument("file", metavar="FILE")


def run(arguments: argparse.Namespace, context: Context) -> int:
    """Load."""
    with context.opened() as app:
        for line in app.core.storage.restore(arguments.file):
            note(line)
    return 0
