"""`memscope reindex`"""

from __future__ import annotations

import argparse

from memscope.cli.context import Context, follow, note


def configure(parser: argparse.ArgumentParser) -> None:
    """No options."""
    parser.description = (
        "Make vectors of the embedding model that the settings choose for all memories, then let it serve. Until it is done, the\n"
        "earlier vectors serve on; stopped, it goes on when it is run again. Restart servers with the new settings afterwards."
    )


def run(arguments: argparse.Namespace, context: Context) -> int:
    """Make them."""
    from memscope.upkeep.reindex import reindex

    with context.opened() as app:
        count = follow(reindex(app.core))
        note(f"{count} memories got vectors; {app.core.embedding.model.identity} serves.")
    return 0
