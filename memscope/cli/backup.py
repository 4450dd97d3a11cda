"""`memscope backup`"""

from __future__ import annotations

import argparse

from memscope.cli.context import Context, note


def configure(parser: argparse.ArgumentParser) -> None:
    """The file."""
    parser.description = (
        "Write the whole database to one new file; the server may go on serving. Keep server.key of the data folder (or [server] key)\n"
        "with it, apart from the file: what is sealed with it opens with no other."
    )
    parser.add_argument("file", metavar="FILE")


def run(arguments: argparse.Namespace, context: Context) -> int:
    """Write."""
    from memscope.upkeep.backups import note_backup

    with context.opened() as app:
        for line in app.core.storage.backup(arguments.file):
            note(line)
        note_backup(app.core)
    return 0
