"""`memscope export`"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from memscope.cli.context import CommandError, Context, note, say
from memscope.cli.parsing import add_organization


def configure(parser: argparse.ArgumentParser) -> None:
    """The organization and the file."""
    parser.description = (
        "Write all memories of an organization as JSON lines that `memscope import` takes, personal ones included; credentials are\n"
        "replaced by their types, what is in the trash is left out. Keep the file as safe as the database."
    )
    parser.add_argument("file", metavar="FILE", nargs="?", help="a new file (default: standard output)")
    add_organization(parser)


def run(arguments: argparse.Namespace, context: Context) -> int:
    """Write."""
    from memscope.organizations.signing_in import choose_organization
    from memscope.upkeep.transfer import export

    with context.opened() as app:
        lines = export(app.core, choose_organization(app.core.storage, arguments.org).id)
        if arguments.file is None:
            for line in lines:
                say(line)
            return 0
        target = Path(arguments.file)
        try:
            descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except OSError as error:
            raise CommandError(f"{target} cannot be made: {error.strerror}. Name a new file.") from None
        count = 0
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            for line in lines:
                file.write(line + "\n")
                count += 1
    note(f"{count} memories written to {target}.")
    return 0
