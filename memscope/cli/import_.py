"""`memscope import`"""

from __future__ import annotations

import argparse

from memscope.cli.context import CommandError, Context, follow, note, read_text, say
from memscope.cli.parsing import add_organization


def configure(parser: argparse.ArgumentParser) -> None:
    """The file."""
    parser.description = """\
Add memories from a file of JSON lines. Each is judged and routed as if its author saved it there now. All lines are checked
before the first is written; a stopped import goes on where it was when the same file is imported again.

fields of a line:
  content        the text (needed)
  author         e-mail of who said it (needed)
  created_at     when, such as 2026-03-04T10:00:00Z (left out: now)
  scope          organization, team, project or personal (left out: the organization's default)
  team, project  the group's slug, name or alias
  kind, importance, valid_until, agent, run_id, client, sensitivity, topics   as `remember` takes them
  id             what this file calls it; superseded_by: the id of the line that replaces it"""
    parser.add_argument("file", metavar="FILE", help="the file, or - for standard input")
    add_organization(parser)
    parser.add_argument("--dry-run", action="store_true", help="check all lines, and write nothing")


def run(arguments: argparse.Namespace, context: Context) -> int:
    """Check, then save."""
    from memscope.organizations.signing_in import choose_organization
    from memscope.upkeep.transfer import FileError, import_memories, parse

    text = read_text(arguments.file)
    with context.opened(any_model=False) as app:
        organization = choose_organization(app.core.storage, arguments.org)
        try:
            lines = parse(text, app.core.rosters.current(organization.id), app.core.clock())
        except FileError as error:
            raise CommandError(f"{arguments.file} cannot be imported.\n{error}") from None
        if arguments.dry_run:
            note(f"All {len(lines)} lines can be imported; nothing was written (--dry-run).")
            return 0
        done = follow(import_memories(app.core, organization.id, lines))
    for number, why in done.refused:
        say(f"line {number} not saved: {why}")
    note(
        f"{done.saved} memories saved, {done.present} were there already, {len(done.refused)} refused. "
        f"{done.flagged} wait for a review, {done.held} of them held back until then."
    )
    return 1 if done.refused else 0
