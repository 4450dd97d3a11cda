"""The upkeep runner: threads of the server that do what is due and what was started in the console, in one process at a time."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from memscope.app import MemScope
from memscope.core import Core
from memscope.mcp_server.envelope import unavailable
from memscope.upkeep import audit_exports, reclassify_jobs
from memscope.upkeep.runner import run_due

log = logging.getLogger(__name__)

EVERY_S = 60.0


@contextmanager
def upkeep(app: MemScope, every_s: float = EVERY_S) -> Iterator[None]:
    """Run what is due in the background inside the block, first after one interval; waits for the running job at its end.

    Jobs started in the console run beside it: those that wait at once, others as soon as they are started.
    """
    stop = threading.Event()

    def loop() -> None:
        while not stop.wait(every_s):
            try:
                # Every process counts by itself, so each writes its own figures.
                app.core.usage.flush()
                with app.core.storage.lead("upkeep") as leading:
                    if leading:
                        run_due(app.core)
            except Exception as failure:
                # Logged by type and place; the next minute tries again.
                unavailable("upkeep", failure)

    def jobs(name: str, wake: threading.Event, run: Callable[[Core, Callable[[], bool]], None]) -> None:
        while not stop.is_set():
            wake.clear()
            try:
                with app.core.storage.lead(name) as leading:
                    if leading:
                        run(app.core, stop.is_set)
            except Exception as failure:
                unavailable("a job", failure)
            wake.wait(every_s)

    kinds = (("reclassify", app.core.wake, reclassify_jobs.run_waiting), ("exports", app.core.wake_exports, audit_exports.run_waiting))
    threads = [threading.Thread(target=loop, name="upkeep", daemon=True)]
    threads += [threading.Thread(target=jobs, args=kind, name=kind[0], daemon=True) for kind in kinds]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        app.core.wake.set()
        app.core.wake_exports.set()
        for thread in threads:
            thread.join(timeout=10)
