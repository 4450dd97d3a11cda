"""States of plugins chosen while the server runs: shadow or off, the same on all workers from the next call on, and after a restart.

Kept with the records of the server's oldest organization, since plugins are the server's. The settings are the base: what they
block or put in shadow is not lifted here.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from memscope.clock import Clock
from memscope.contracts.storage import Storage
from memscope.errors import Unavailable

log = logging.getLogger(__name__)

RECORDS = "plugins"
KEY = "states"
SHADOW_DAYS = 15
"""How long shadow mode lasts when nobody says otherwise; afterwards the plugin is off, which changes no verdict."""
SHADOW_DAYS_MAX = 90


@dataclass(frozen=True, slots=True)
class Chosen:
    """What was chosen for one plugin."""

    state: str
    """`shadow` or `off`."""
    at: datetime
    by: str | None
    """Person id; None: a command on the server's machine."""
    until: datetime | None = None
    """When shadow mode ends."""

    def now(self, moment: datetime) -> str:
        """The state at a moment: shadow mode that has ended is off."""
        return "off" if self.until is not None and self.until <= moment else self.state


class PluginStates:
    """Reads and keeps what was chosen. Thread-safe."""

    def __init__(self, storage: Storage, home: Callable[[], str | None], clock: Clock) -> None:
        self._storage = storage
        self._home = home
        self._clock = clock
        self._seen: Mapping[str, Chosen] = {}
        self._lock = threading.Lock()

    def states(self) -> Mapping[str, str]:
        """Plugin → state now, of those for which one was chosen. While storage is away: as it was last seen."""
        try:
            seen = self.chosen()
        except Unavailable:
            with self._lock:
                seen = self._seen
        now = self._clock()
        return {plugin: chosen.now(now) for plugin, chosen in seen.items()}

    def chosen(self) -> Mapping[str, Chosen]:
        """What was chosen, by plugin. Raises Unavailable."""
        home = self._home()
        record = None if home is None else self._storage.records(RECORDS).get(home, KEY)
        seen = {plugin: _read(value) for plugin, value in (record or {}).items()}
        with self._lock:
            self._seen = seen
        return seen

    def choose(self, plugin: str, state: str, by: str | None, days: int = SHADOW_DAYS) -> None:
        """Let a plugin be `active`, in `shadow` for some days, or `off`, from the next call on."""
        home = self._home()
        if home is None:
            raise Unavailable("There is no organization yet to keep this with.")
        now = self._clock()

        def change(before: Mapping[str, Any] | None) -> Mapping[str, Any]:
            after = {name: value for name, value in (before or {}).items() if name != plugin}
            if state != "active":
                until = now + timedelta(days=days) if state == "shadow" else None
                after[plugin] = {"state": state, "at": now.isoformat(), "by": by, "until": until and until.isoformat()}
            return after

        self._storage.records(RECORDS).change(home, KEY, change)


def _read(value: Mapping[str, Any]) -> Chosen:
    until = value["until"]
    return Chosen(value["state"], datetime.fromisoformat(value["at"]), value["by"], until and datetime.fromisoformat(until))
