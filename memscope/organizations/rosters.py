"""Rosters and reaches, cached by epoch."""

from __future__ import annotations

import threading
from collections import OrderedDict

from memscope.contracts.storage import Storage
from memscope.model.audience import Permission, Reach
from memscope.model.organization import Roster
from memscope.model.principal import Principal
from memscope.policy.reach import reach

REACHES_MAX = 4096


class Rosters:
    """The current roster of each organization, and what each person may reach in it.

    A cached value is only ever used after its epoch was compared: `current` asks storage, and each transaction compares
    again and raises `Stale`.
    """

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._rosters: dict[str, Roster] = {}
        self._reaches: OrderedDict[tuple[str, str, str, Permission], Reach] = OrderedDict()
        self._lock = threading.Lock()

    def current(self, organization: str) -> Roster:
        """The roster at the epoch that storage has now. KeyError when there is no such organization."""
        roster = self._storage.roster(organization, self._rosters.get(organization))
        self._rosters[organization] = roster
        return roster

    def known(self, organization: str) -> Roster:
        """The roster as last seen: good for beginning a transaction, which compares the epoch itself."""
        return self._rosters.get(organization) or self.current(organization)

    def reach(self, principal: Principal, roster: Roster, permission: Permission) -> Reach:
        """What the principal may reach at the roster's epoch."""
        key = (principal.organization, principal.person, principal.connection, permission)
        with self._lock:
            cached = self._reaches.get(key)
            if cached is not None and cached.epoch == roster.epoch:
                self._reaches.move_to_end(key)
                return cached
        made = reach(
            roster.readers[principal.person],
            principal.organization,
            roster.epoch,
            roster.audiences,
            permission,
            connection=principal.connection,
        )
        with self._lock:
            self._reaches[key] = made
            while len(self._reaches) > REACHES_MAX:
                self._reaches.popitem(last=False)
        return made
