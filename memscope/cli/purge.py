"""`memscope purge`"""

from __future__ import annotations

import argparse

from memscope.cli.choosing import organizations
from memscope.cli.context import Context, follow, note
from memscope.cli.parsing import add_organization


def configure(parser: argparse.ArgumentParser) -> None:
    """Which organization."""
    parser.description = (
        "Erase for good what has been in the trash for longer than the organization's trash_days. A running server does this by\n"
        "itself every hour. The audit log keeps a receipt of each: digests, no text."
    )
    add_organization(parser)
    parser.add_argument("--dry-run", action="store_true", help="say what would be erased, and erase nothing")


def run(arguments: argparse.Namespace, context: Context) -> int:
    """Erase."""
    from memscope.upkeep.purge import purge

    with context.opened() as app:
        for organization in organizations(app.core, arguments.org):
            count = follow(purge(app.core, organization.id, dry_run=arguments.dry_run))
            note(f"{organization.slug}: {count} memories {'would be ' if arguments.dry_run else ''}erased.")
    return 0
