"""Connections: pooled, in autocommit (transactions are begun by our own statements, one round trip each)."""

from __future__ import annotations

import logging
import select
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import psycopg
from psycopg.abc import Buffer
from psycopg.adapt import Dumper
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import Format
from psycopg.types.string import TextLoader
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import QueuePool

from memscope.errors import Conflict, StartError, Unavailable
from memscope_postgres.settings import DatabaseSettings

if TYPE_CHECKING:
    from memscope.contracts.embedding import Vectors

log = logging.getLogger(__name__)

CONNECT_S = 10
"""How long a new connection may take, unless the URL says otherwise."""

Connection = psycopg.Connection[tuple[Any, ...]]
Values = Sequence[Any] | Mapping[str, Any]


class Half:
    """A vector as PostgreSQL's `halfvec` in its binary form: dimensions, a spare field, 16-bit floats, big endian."""

    __slots__ = ("data",)

    def __init__(self, vector: Vectors) -> None:
        self.data = np.array([vector.shape[0], 0], dtype=">u2").tobytes() + np.asarray(vector, dtype=">f2").tobytes()


class _HalfDumper(Dumper):
    format = Format.BINARY

    def dump(self, obj: Half) -> Buffer:
        return obj.data


def connect(url: str, *, prepare: bool = True, halfvec: int | None = None) -> Connection:
    """A new connection in autocommit; UUIDs come as text. `halfvec` is the type's oid, needed to send vectors."""
    target = f"postgresql://{url.partition('://')[2]}" if url.startswith("postgres") and "://" in url else url
    if "connect_timeout" not in conninfo_to_dict(target):
        target = make_conninfo(target, connect_timeout=CONNECT_S)
    connection = psycopg.connect(target, autocommit=True, application_name="memscope")
    if not prepare:
        connection.prepare_threshold = None
    connection.adapters.register_loader("uuid", TextLoader)
    if halfvec is not None:
        connection.adapters.register_dumper(Half, type("HalfDumper", (_HalfDumper,), {"oid": halfvec}))
    return connection


class Pool:
    """A bounded pool of connections of one role."""

    def __init__(
        self, url: str, settings: DatabaseSettings, *, size: int, extra: int, halfvec: int, revive: Callable[[], object] | None = None
    ) -> None:
        """`revive` brings the server back when it does not answer."""
        self._revive = revive
        self._pool = QueuePool(
            lambda: connect(url, prepare=settings.prepared_statements, halfvec=halfvec),  # type: ignore[arg-type]
            pool_size=size,
            max_overflow=extra,
            timeout=settings.pool_wait_ms / 1000,
            recycle=3600,
        )

    def take(self) -> Lease:
        """A connection of one's own until it is given back."""
        try:
            try:
                return Lease(self._pool)
            except psycopg.OperationalError:
                if self._revive is None:
                    raise
                self._revive()
                return Lease(self._pool)
        except (PoolTimeout, psycopg.Error, StartError) as error:
            tell(error)

    @contextmanager
    def borrow(self) -> Iterator[Connection]:
        """A connection in autocommit; what PostgreSQL raises is translated."""
        lease = self.take()
        try:
            yield lease.connection
        except psycopg.Error as error:
            tell(error)
        finally:
            lease.give_back()

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """A READ COMMITTED transaction."""
        with self.borrow() as connection, connection.transaction():
            yield connection

    def ask(self, organization: str, statement: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """Run one statement of an organization; `%(org)s` is its id.

        All of it goes as one message, which PostgreSQL runs as one transaction, so that the variable is this statement's alone.
        """
        with self.borrow() as connection, psycopg.ClientCursor(connection) as cursor:
            cursor.execute(f"SELECT set_config('memscope.org', %(org)s, true); {statement}", {**values, "org": organization})
            cursor.nextset()
            return cursor.fetchall() if cursor.description else []

    def close(self) -> None:
        """Close what is not taken."""
        self._pool.dispose()


class Lease:
    """A connection taken from the pool."""

    __slots__ = ("_fairy", "connection")

    def __init__(self, pool: QueuePool) -> None:
        while True:
            self._fairy = pool.connect()
            connection = self._fairy.driver_connection
            assert isinstance(connection, psycopg.Connection)
            if not _hung_up(connection):
                break
            self._fairy.invalidate()
            self._fairy.close()
        self.connection: Connection = connection

    def give_back(self) -> None:
        """Give it back; the pool rolls back what is open and drops it when it is broken."""
        if self.connection.closed:
            self._fairy.invalidate()
        self._fairy.close()


def _hung_up(connection: Connection) -> bool:
    """Whether the server has ended a connection that lay in the pool: nothing else makes an idle one readable."""
    if connection.closed:
        return True
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    return bool(poll.poll(0))


def tell(error: Exception) -> NoReturn:
    """Raise what callers are told of a database error: `Conflict` for a value that is taken, `Unavailable` when it is busy or away.

    An error of ours, such as a statement that a policy refuses, stays what it is.
    """
    told = _translated(error)
    if told is error:
        raise error
    raise told from error


def _translated(error: Exception) -> Exception:
    if isinstance(error, psycopg.errors.UniqueViolation):
        return Conflict("Something of the same name was saved at the same moment. Look again, then try another name.")
    if isinstance(error, PoolTimeout | psycopg.errors.LockNotAvailable | psycopg.errors.DeadlockDetected | psycopg.errors.QueryCanceled):
        log.warning("database busy: %s", type(error).__name__)
        return Unavailable("The database is busy. Nothing was saved; try again in a moment.")
    if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError | StartError):
        log.error("database unavailable: %s", error)
        return Unavailable()
    return error
