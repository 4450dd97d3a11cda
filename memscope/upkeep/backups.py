"""When the last backup was made with `memscope backup`; copies made by other means are not known here."""

from __future__ import annotations

from datetime import datetime

from memscope.core import Core
from memscope.upkeep.runner import RECORDS

_KEY = "last/backup"


def note_backup(core: Core) -> None:
    """A backup was made now."""
    home = core.usage.home()
    if home is not None:
        core.storage.records(RECORDS).put(home, _KEY, {"at": core.clock().isoformat()})


def last_backup(core: Core) -> datetime | None:
    """When the last one was made; None when none is known."""
    home = core.usage.home()
    record = core.storage.records(RECORDS).get(home, _KEY) if home is not None else None
    return None if record is None else datetime.fromisoformat(record["at"])
