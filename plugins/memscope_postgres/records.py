"""Keyed records that storage gives any plugin."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from psycopg.types.json import Jsonb

if TYPE_CHECKING:
    from memscope_postgres.pool import Connection, Pool

_KEY = "org_id = %(org)s AND plugin = %(plugin)s AND key = %(key)s"


class PostgresRecords:
    """Implements `memscope.contracts.storage.Records` for one plugin."""

    def __init__(self, pool: Pool, plugin: str) -> None:
        self._pool = pool
        self._plugin = plugin

    @contextmanager
    def _transaction(self, organization: str) -> Iterator[Connection]:
        with self._pool.transaction() as connection:
            connection.execute("SELECT set_config('memscope.org', %s, true)", (organization,))
            yield connection

    def _key(self, organization: str, key: str) -> dict[str, Any]:
        return {"org": organization, "plugin": self._plugin, "key": key}

    def get(self, organization: str, key: str) -> Mapping[str, Any] | None:
        """The record, or None."""
        found = self._pool.ask(organization, f"SELECT value FROM memscope.record WHERE {_KEY}", self._key(organization, key))
        return found[0][0] if found else None

    def put(self, organization: str, key: str, value: Mapping[str, Any]) -> None:
        """Insert or replace."""
        self.change(organization, key, lambda _: value)

    def change(
        self, organization: str, key: str, change: Callable[[Mapping[str, Any] | None], Mapping[str, Any] | None]
    ) -> Mapping[str, Any] | None:
        """Read, change and write under a lock; None removes."""
        values = self._key(organization, key)
        with self._transaction(organization) as connection:
            # An advisory lock, since a record that is not there yet has no row to lock.
            connection.execute(
                "SELECT pg_advisory_xact_lock(hashtextextended("
                "concat_ws(' ', 'memscope.record', %(org)s::text, %(plugin)s::text, %(key)s::text), 0))",
                {name: str(value) for name, value in values.items()},
            )
            row = connection.execute(f"SELECT value FROM memscope.record WHERE {_KEY}", values).fetchone()
            after = change(None if row is None else row[0])
            if after is None:
                connection.execute(f"DELETE FROM memscope.record WHERE {_KEY}", values)
            else:
                connection.execute(
                    "INSERT INTO memscope.record (org_id, plugin, key, value) VALUES (%(org)s, %(plugin)s, %(key)s, %(value)s) "
                    "ON CONFLICT (org_id, plugin, key) DO UPDATE SET value = excluded.value",
                    {**values, "value": Jsonb(dict(after))},
                )
        return after

    def keys(self, organization: str, prefix: str) -> list[str]:
        """The keys that begin with a prefix, in order."""
        found = self._pool.ask(
            organization,
            """SELECT key FROM memscope.record
               WHERE org_id = %(org)s AND plugin = %(plugin)s AND starts_with(key, %(prefix)s) ORDER BY key""",
            {"plugin": self._plugin, "prefix": prefix},
        )
        return [key for (key,) in found]

    def items(self, organization: str, prefix: str) -> Mapping[str, Mapping[str, Any]]:
        """The records whose keys begin with a prefix, by key, in order."""
        found = self._pool.ask(
            organization,
            """SELECT key, value FROM memscope.record
               WHERE org_id = %(org)s AND plugin = %(plugin)s AND starts_with(key, %(prefix)s) ORDER BY key""",
            {"plugin": self._plugin, "prefix": prefix},
        )
        return dict(found)
