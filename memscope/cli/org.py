"""`memscope org`"""

from __future__ import annotations

import argparse

from memscope.cli.context import CommandError, Context, note, read_text, say
from memscope.cli.parsing import add, add_organization, subcommands


def configure(parser: argparse.ArgumentParser) -> None:
    """`apply` and `export`."""
    group = subcommands(parser)
    apply = add(
        group,
        "apply",
        "make an organization be as a file says",
        "Create or update an organization as a TOML file says. Applying the same file again changes nothing. A list in the file is\n"
        "the whole list; what the file leaves out stays as it is. config/organization.example.toml explains every key.",
    )
    apply.add_argument("file", metavar="FILE", help="the TOML file, or - for standard input")
    apply.add_argument("--dry-run", action="store_true", help="say what would change, and change nothing")
    apply.add_argument(
        "--prune",
        action="store_true",
        help="disable people whom the file leaves out, remove groups without memories and added topics that it leaves out",
    )
    export = add(group, "export", "write an organization as a file that `org apply` takes", None)
    add_organization(export)


def run(arguments: argparse.Namespace, context: Context) -> int:
    """Run the chosen one."""
    return _apply(arguments, context) if arguments.subcommand == "apply" else _export(arguments, context)


def _apply(arguments: argparse.Namespace, context: Context) -> int:
    from memscope.organizations.apply import apply
    from memscope.organizations.file import FileError, parse

    try:
        file = parse(read_text(arguments.file))
        with context.opened() as app:
            done = apply(app.core, app.identities.passwords, file, dry_run=arguments.dry_run, prune=arguments.prune)
    except FileError as error:
        raise CommandError(f"{arguments.file}: {error}") from None
    for step in done.steps:
        say(step)
    for email in done.passwords:
        say(f"+ password of {email}")
    changes = len(done.steps) + len(done.passwords)
    if arguments.dry_run:
        note(
            f"{done.organization}: {changes} changes; nothing was written (--dry-run)."
            if changes
            else f"{done.organization}: nothing to change."
        )
    else:
        note(f"{done.organization}: {changes} changes made." if changes else f"{done.organization}: nothing to change.")
    return 0


def _export(arguments: argparse.Namespace, context: Context) -> int:
    from memscope.organizations.file import write
    from memscope.organizations.signing_in import choose_organization

    with context.opened() as app:
        organization = choose_organization(app.core.storage, arguments.org)
        say(write(app.core.rosters.current(organization.id)).rstrip("\n"))
    return 0
