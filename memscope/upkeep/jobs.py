"""Jobs that somebody started in the console and the server runs: one after the other, whatever one of them raises."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from memscope.core import Core


def run_each(
    core: Core,
    waiting: Callable[[str], Sequence[str]],
    run: Callable[[str, str], Iterator[object]],
    stopping: Callable[[], bool],
) -> None:
    """Run every job that waits, organization by organization: `waiting` says which (ids, in order), `run` does one step by step.

    What one job raises is raised when all others had their turn.
    """
    failure: Exception | None = None
    for organization in core.storage.organizations():
        tried: set[str] = set()
        while not stopping() and (job := next((one for one in waiting(organization.id) if one not in tried), None)) is not None:
            tried.add(job)
            try:
                for _ in run(organization.id, job):
                    if stopping():
                        return
            except Exception as error:
                # It is tried again with the next round; the other jobs do not wait for that.
                failure = error
    if failure is not None:
        raise failure
