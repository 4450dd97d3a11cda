"""`memscope audit`"""

from __future__ import annotations

import argparse

from memscope.cli.choosing import organizations
from memscope.cli.context import Context, follow, say
from memscope.cli.parsing import add, add_organization, subcommands


def configure(parser: argparse.ArgumentParser) -> None:
    """`verify`."""
    verify = add(
        subcommands(parser),
        "verify",
        "check that no row of the audit log was changed or removed",
        "Work the chain of digests out anew for each organization, and name the first row that is not as it was written.",
    )
    add_organization(verify)


def run(arguments: argparse.Namespace, context: Context) -> int:
    """Verify."""
    from memscope.upkeep.audit_verify import verify

    broken = False
    with context.opened() as app:
        for organization in organizations(app.core, arguments.org):
            found = follow(verify(app.core, organization.id))
            if found.broken is None:
                say(f"{organization.slug}: {found.rows} rows, whole")
            else:
                broken = True
                say(f"{organization.slug}: row {found.broken} is broken: {found.what}; the {found.rows} rows before it are whole")
    return 1 if broken else 0
