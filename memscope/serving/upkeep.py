"""The upkeep runner: one thread of the server that does what is due, in one process at a time."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from memscope.app import MemScope
from memscope.mcp_server.envelope import unavailable
from memscope.upkeep.runner import run_due

log = logging.getLogger(__name__)

EVERY_S = 60.0


@contextmanager
def upkeep(app: MemScope, every_s: float = EVERY_S) -> Iterator[None]:
    """Run what is due in the background inside the block, first after one interval; waits for the running job at its end."""
    stop = threading.Event()

    def loop() -> None:
        while not stop.wait(every_s):
            try:
                with app.core.storage.lead("upkeep") as leading:
                    if leading:
                        run_due(app.core)
            except Exception as failure:
                # Logged by type and place; the next minute tries again.
                unavailable("upkeep", failure)

    thread = threading.Thread(target=loop, name="upkeep", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(timeout=10)
