"""The storage: tenants, one writer at a time, readers on what was committed last."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from memscope.contracts.requests import noted
from memscope.contracts.storage import Operator, Revoked, Stale, Transaction
from memscope.errors import Unavailable
from memscope.model.audience import Audience, Reach
from memscope.model.audit import Act
from memscope.model.organization import Connection, Organization, Roster
from memscope_inprocess.tenant import Tenant
from memscope_inprocess.transaction import InProcessTransaction

WAIT_S = 30.0
"""How long a writing transaction waits for the one before it."""


def _utc_now() -> datetime:
    return datetime.now(UTC)


class InProcessRecords:
    """Keyed records of one plugin."""

    def __init__(self, lock: threading.Lock) -> None:
        self._lock = lock
        self._values: dict[tuple[str, str], Mapping[str, Any]] = {}

    def get(self, organization: str, key: str) -> Mapping[str, Any] | None:
        """The record, or None."""
        return copy.deepcopy(self._values.get((organization, key)))

    def put(self, organization: str, key: str, value: Mapping[str, Any]) -> None:
        """Insert or replace."""
        self.change(organization, key, lambda _: value)

    def change(
        self, organization: str, key: str, change: Callable[[Mapping[str, Any] | None], Mapping[str, Any] | None]
    ) -> Mapping[str, Any] | None:
        """Read, change and write under a lock; None removes."""
        with self._lock:
            value = copy.deepcopy(change(self.get(organization, key)))
            if value is None:
                self._values.pop((organization, key), None)
            else:
                self._values[organization, key] = value
            return copy.deepcopy(value)

    def keys(self, organization: str, prefix: str) -> list[str]:
        """The keys that begin with a prefix, in order."""
        return sorted(key for owner, key in list(self._values) if owner == organization and key.startswith(prefix))

    def items(self, organization: str, prefix: str) -> Mapping[str, Mapping[str, Any]]:
        """The records whose keys begin with a prefix, by key, in order."""
        found = {key: self.get(organization, key) for key in self.keys(organization, prefix)}
        return {key: value for key, value in found.items() if value is not None}


class InProcessStorage:
    """A provider of `memscope_storage`. `clock` gives the time of transactions."""

    name = "inprocess"

    def __init__(self, clock: Callable[[], datetime] = _utc_now) -> None:
        self._clock = clock
        self._writing = threading.Lock()
        self._small = threading.Lock()
        self._tenants: dict[str, Tenant] = {}
        self._records: dict[str, InProcessRecords] = {}
        self._tasks: dict[str, threading.Lock] = {}
        self._serving: str | None = None

    def open(self) -> None:
        """Nothing to do."""

    def close(self) -> None:
        """Nothing to do: the data stays as long as this object."""

    def check(self) -> None:
        """Always able to serve."""

    def report(self) -> Mapping[str, str]:
        """How much there is."""
        memories = sum(len(tenant.memories) for tenant in self._tenants.values())
        return {"storage": "in memory, lost when the process ends", "organizations": str(len(self._tenants)), "memories": str(memories)}

    def organizations(self) -> Sequence[Organization]:
        """All of them, by slug."""
        return sorted((tenant.organization for tenant in self._tenants.values()), key=lambda organization: organization.slug)

    def find_organization(self, slug: str) -> str | None:
        """The id of the organization with this slug."""
        return next((one.id for one in self.organizations() if one.slug == slug), None)

    def any_organization(self) -> tuple[str, bool] | None:
        """The first by slug, and whether it is alone."""
        known = self.organizations()
        return (known[0].id, len(known) == 1) if known else None

    def roster(self, organization: str, known: Roster | None = None) -> Roster:
        """The organization at its current epoch."""
        tenant = self._tenants[organization]
        return known if known is not None and known.epoch == tenant.epoch else tenant.roster()

    def connection(self, organization: str, connection: str) -> Connection | None:
        """One connection by its exact ids."""
        tenant = self._tenants.get(organization)
        return None if tenant is None else tenant.connections.get(connection)

    def note_use(self, organization: str, connection: str, client_version: str | None) -> None:
        """Note that a connection was used now."""
        with self._change(organization) as tenant:
            used = tenant.connections[connection]
            tenant.connections[connection] = replace(
                used, last_used_at=self._clock(), client_version=used.client_version if client_version is None else client_version
            )

    @contextmanager
    def begin(self, reach: Reach | Operator, act: Act | None = None) -> Iterator[Transaction]:
        """Begin a transaction."""
        if act is None:
            tenant = self._tenants[reach.organization] if reach.organization is not None else None
            self._admit(reach, tenant)
            yield InProcessTransaction(reach, tenant, None, self._clock())
            return
        with self._alone():
            tenant = self._tenants[reach.organization].copy() if reach.organization is not None else None
            self._admit(reach, tenant)
            transaction = InProcessTransaction(reach, tenant, act, self._clock())
            yield transaction
            done = transaction.changed
            if done is not None:
                said = transaction.act or act
                if isinstance(reach, Operator):
                    said = replace(said, detail={**said.detail, "reason": reach.reason})
                done.append(transaction.now, replace(said, detail=noted(said.detail)))
                self._keep(done)

    def intern(self, organization: str, audience: Audience) -> None:
        """Store an audience; raises the epoch when it is new."""
        with self._change(organization) as tenant:
            if audience not in tenant.audiences:
                tenant.audiences |= {audience}
                tenant.epoch += 1

    def records(self, plugin: str) -> InProcessRecords:
        """The keyed records of one plugin."""
        with self._small:
            return self._records.setdefault(plugin, InProcessRecords(threading.Lock()))

    def serving_model(self) -> str | None:
        """Identity of the model whose vectors search compares."""
        return self._serving

    def use_model(self, identity: str, dimensions: int) -> None:
        """The first one prepared serves."""
        with self._small:
            self._serving = self._serving or identity

    def switch_model(self, identity: str) -> None:
        """Let this model serve from now on and drop the vectors of all others."""
        with self._alone():
            self._serving = identity
            for tenant in [tenant.copy() for tenant in self._tenants.values()]:
                for id_, stored in tenant.memories.items():
                    kept = {model: vectors for model, vectors in stored.vectors.items() if model == identity}
                    tenant.memories[id_] = replace(stored, vectors=kept)
                self._keep(tenant)

    @contextmanager
    def lead(self, task: str) -> Iterator[bool]:
        """True for at most one at a time."""
        with self._small:
            lock = self._tasks.setdefault(task, threading.Lock())
        leading = lock.acquire(blocking=False)
        try:
            yield leading
        finally:
            if leading:
                lock.release()

    def backup(self, target: str) -> Iterator[str]:
        """There is nothing that outlasts the process: raises Unavailable."""
        raise Unavailable("The in-memory storage cannot be backed up: it is for tests. Choose another [storage] provider.")

    def restore(self, source: str) -> Iterator[str]:
        """As `backup`."""
        raise Unavailable("The in-memory storage cannot be restored into: it is for tests. Choose another [storage] provider.")

    # -- inside ------------------------------------------------------------------------------------------------------

    def _admit(self, reach: Reach | Operator, tenant: Tenant | None) -> None:
        if isinstance(reach, Operator) or tenant is None:
            return
        connection = tenant.connections.get(reach.connection) if reach.connection is not None else None
        ended = reach.connection is not None and (
            connection is None
            or connection.revoked_at is not None
            or (connection.expires_at is not None and connection.expires_at <= self._clock())
        )
        person = tenant.people.get(reach.person)
        if ended or person is None or not person.active:
            raise Revoked
        if reach.epoch != tenant.epoch:
            raise Stale

    @contextmanager
    def _alone(self) -> Iterator[None]:
        if not self._writing.acquire(timeout=WAIT_S):
            raise Unavailable
        try:
            yield
        finally:
            self._writing.release()

    @contextmanager
    def _change(self, organization: str) -> Iterator[Tenant]:
        with self._alone():
            tenant = self._tenants[organization].copy()
            yield tenant
            self._keep(tenant)

    def _keep(self, tenant: Tenant) -> None:
        self._tenants = {**self._tenants, tenant.organization.id: tenant}
