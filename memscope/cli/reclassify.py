"""`memscope reclassify`"""

from __future__ import annotations

import argparse

from memscope.cli.context import CommandError, Context, follow, note
from memscope.cli.parsing import add_organization


def configure(parser: argparse.ArgumentParser) -> None:
    """Which topic."""
    parser.description = """\
Judge stored memories again, with the plugins and topics of today, after either changed. Levels only rise and topics are only
added; what would fall is left as it is and put into the review queue. A line for each change says who loses and who gains
reading. Stopped, it goes on when it is run again."""
    add_organization(parser)
    parser.add_argument("--topic", metavar="KEY", help="look at this topic alone")
    parser.add_argument("--dry-run", action="store_true", help="say what would change, and change nothing")


def run(arguments: argparse.Namespace, context: Context) -> int:
    """Judge."""
    from memscope.organizations.signing_in import choose_organization
    from memscope.upkeep.reclassify import reclassify

    with context.opened() as app:
        organization = choose_organization(app.core.storage, arguments.org)
        topic = None
        if arguments.topic is not None:
            roster = app.core.rosters.current(organization.id)
            topic = roster.find_topic(arguments.topic)
            if topic is None:
                raise CommandError(
                    f"There is no topic {arguments.topic}. There are: {', '.join(sorted(t.key for t in roster.topics.values()))}."
                )
        done = follow(reclassify(app.core, organization.id, topic=None if topic is None else topic.id, dry_run=arguments.dry_run))
    would = "would be " if arguments.dry_run else ""
    note(
        f"{done.looked_at} memories looked at, {done.changed} {would}changed. "
        f"{len(done.losing)} people {'would ' if would else ''}lose reading of some memory, {len(done.gaining)} gain."
    )
    if done.failed:
        note(f"{done.failed} memories could not be judged, because plugins failed; `memscope plugins` shows which.")
    return 1 if done.failed else 0
