"""`memscope org`"""

from __future__ import annotations

import argparse

from memscope.cli.context import CommandError, Context, note, read_text, say
from memscope.cli.parsing import add, add_organization, subcommands


def configure(parser: argparse.ArgumentParser) -> None:
    """`apply`, `export` and `setup-link`."""
    group = subcommands(parser)
    apply = add(
        group,
        "apply",
        "make an organization be as a file says",
        """\
Create or update an organization as a TOML file says. Applying the same file again changes nothing. A list in the file is the
whole list; what the file leaves out stays as it is.

  [organization]  slug, name, timezone, trash_days, default_scope, default_sensitivity, confirmation, secrets, clients
  [[people]]      email, name, role, clearance, active, password (initial only)
  [[teams]]       slug, name, aliases, owners, members (people by e-mail)
  [[projects]]    slug, name, aliases, team, owners, members
  [[topics]]      key, name, aliases, description, sensitivity, phrases, teams (that guard it)

`memscope org export` writes such a file; config/organization.example.toml in the sources explains every key.""",
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
    link = add(
        group,
        "setup-link",
        "print a new one-time link to the console's set-up",
        "Print a link by which the first administrator comes into the console: it works once, within 24 hours, and replaces those\n"
        "printed before. Refused once there is an administrator, but for --recover.",
    )
    link.add_argument("--recover", action="store_true", help="although there is an administrator: nobody can sign in as one any more")
    add_organization(link)


def run(arguments: argparse.Namespace, context: Context) -> int:
    """Run the chosen one."""
    return {"apply": _apply, "export": _export, "setup-link": _setup_link}[arguments.subcommand](arguments, context)


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
    from memscope.organizations.clients import rule
    from memscope.organizations.file import write
    from memscope.organizations.signing_in import choose_organization

    with context.opened() as app:
        organization = choose_organization(app.core.storage, arguments.org)
        say(write(app.core.rosters.current(organization.id), rule(app.core, organization.id)).rstrip("\n"))
    return 0


def _setup_link(arguments: argparse.Namespace, context: Context) -> int:
    from memscope.approvals.accept import console_url
    from memscope.organizations.setting_up import first_organization, make_link
    from memscope.organizations.signing_in import choose_organization

    with context.opened() as app:
        first_organization(app.core)
        organization = choose_organization(app.core.storage, arguments.org)
        say(f"{console_url(app.core)}/setup/{make_link(app.core, organization.id, recover=arguments.recover)}")
    note("Open it in a browser on a machine that reaches the server; it works once, within 24 hours.")
    return 0
