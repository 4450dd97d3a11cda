"""Storage in the memory of one process: the reference that tests compare with, and the fast one for plugin authors.

Everything is gone when the process ends. It keeps to every promise of `memscope.contracts.storage` but backup.
"""

from __future__ import annotations

from memscope.contracts.plugins import Provider
from memscope.contracts.storage import Storage, StorageHost
from memscope.hookspecs import hookimpl


@hookimpl
def memscope_storage() -> Provider[Storage]:
    """The provider `inprocess`."""
    return Provider(name="inprocess", open=_open)


def _open(section: None, host: StorageHost) -> Storage:
    from memscope_inprocess.storage import InProcessStorage

    return InProcessStorage()
