"""The storage: opening it, its transactions, and what is not a transaction of an organization."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import psycopg

from memscope.contracts.storage import Operator, Records, StorageHost
from memscope.errors import StartError, Unavailable
from memscope.model.audience import Audience, Reach
from memscope.model.audit import Act
from memscope.model.organization import Connection, Organization, Roster
from memscope_postgres import audiences as audience_rows
from memscope_postgres import migrations, organizations, roles
from memscope_postgres.audiences import Audiences, Terms, Translation
from memscope_postgres.organizations import Run
from memscope_postgres.pool import Pool, connect
from memscope_postgres.records import PostgresRecords
from memscope_postgres.search import Breadth
from memscope_postgres.settings import DatabaseSettings
from memscope_postgres.transaction import PostgresTransaction, begin_statement

if TYPE_CHECKING:
    from memscope_postgres.embedded import EmbeddedServer

SERVER_LEAST = 150000
"""PostgreSQL 15: unique constraints that take nulls as equal."""
VECTOR_LEAST = (0, 8)
"""pgvector 0.8: index scans that go on until enough rows pass the filter."""
_MODELS = migrations.LOCK + 1


@dataclass(frozen=True, slots=True)
class Model:
    """An embedding model as the vector table knows it."""

    number: int
    dimensions: int

    @property
    def index(self) -> str:
        """Name of its HNSW index."""
        return f"vector_nearest_{self.number}"


class PostgresStorage:
    """Implements `memscope.contracts.storage.Storage`."""

    name = "postgres"

    def __init__(self, settings: DatabaseSettings, host: StorageHost) -> None:
        self.settings = settings
        self.breadths: WeakKeyDictionary[Reach, Breadth] = WeakKeyDictionary()
        self.leakproof = False
        self._host = host
        self._embedded: EmbeddedServer | None = None
        self._serving: Pool | None = None
        self._owning: Pool | None = None
        self._owner_url = self._application = ""
        self._lock = threading.Lock()
        self._audiences: dict[str, Audiences] = {}
        self._translation = Translation()
        self._facts: WeakKeyDictionary[Roster, int] = WeakKeyDictionary()
        self._models: dict[str, Model] = {}

    # opening and closing
    def open(self) -> None:
        """Connect, start what is embedded, migrate. Raises StartError with what to do."""
        settings = self.settings
        if settings.url is None:
            from memscope_postgres.embedded import EmbeddedServer

            self._embedded = EmbeddedServer(Path(self._host.data_dir), run_as=settings.run_as)
            urls = self._embedded.start()
            self._owner_url, serving_url = urls.owner, urls.app
        else:
            self._owner_url, serving_url = settings.owner_url or settings.url, settings.url
            if settings.owner_url is None:
                serving_url = roles.own_application(settings.url, self._host.server_key)
        try:
            with connect(serving_url) as serving, connect(self._owner_url) as owner:
                halfvec = self._prepare(owner, serving)
        except psycopg.OperationalError as error:
            self.close()
            said = " ".join(str(error).split())
            raise StartError(f"The database cannot be reached. Check database.url and database.owner_url. It said: {said}") from error
        except BaseException:
            self.close()
            raise
        revive = None if self._embedded is None else self._embedded.ensure
        self._serving = Pool(serving_url, settings, size=settings.pool_size, extra=0, halfvec=halfvec, revive=revive)
        self._owning = Pool(self._owner_url, settings, size=1, extra=7, halfvec=halfvec, revive=revive)

    def _prepare(self, owner: psycopg.Connection[Any], serving: psycopg.Connection[Any]) -> int:
        """Extensions, migrations, grants; checks the roles. Returns the oid of `halfvec`."""
        if owner.info.server_version < SERVER_LEAST:
            raise StartError(f"MemScope needs PostgreSQL 15 or newer; the database runs {owner.info.server_version // 10000}.")
        self._application = application = str(_one(serving, "SELECT session_user::text"))
        owner.execute("SELECT pg_advisory_lock(%s)", (migrations.LOCK,))
        try:
            for extension in ("vector", "btree_gin"):
                _ensure_extension(owner, extension)
            version = _one(owner, "SELECT extversion FROM pg_extension WHERE extname = 'vector'")
            if tuple(int(part) for part in version.split(".")[:2]) < VECTOR_LEAST:
                raise StartError(f"MemScope needs pgvector 0.8 or newer; the database has {version}. Run ALTER EXTENSION vector UPDATE.")
            found = migrations.current(owner)
            if found != migrations.HEAD:
                migrations.upgrade(self._owner_url, found)
            roles.refuse_powerful(serving)
            if not _one(
                owner, "SELECT pg_has_role(session_user, relowner, 'MEMBER') FROM pg_class WHERE oid = 'memscope.memory'::regclass"
            ):
                raise StartError("The role of database.owner_url does not own MemScope's tables. Set it to the role that migrated them.")
            if found != migrations.HEAD or not _one(owner, "SELECT has_table_privilege(%s, 'memscope.record', 'DELETE')", application):
                roles.grant(owner, application)
        finally:
            owner.execute("SELECT pg_advisory_unlock(%s)", (migrations.LOCK,))
        self.leakproof = _one(serving, "SELECT proleakproof FROM pg_proc WHERE oid = 'ts_match_vq(tsvector,tsquery)'::regprocedure")
        return int(_one(serving, "SELECT to_regtype('halfvec')::oid"))

    def close(self) -> None:
        """Let go of everything; stops the embedded server when nobody else uses it."""
        for pool in (self._serving, self._owning):
            if pool is not None:
                pool.close()
        self._serving = self._owning = None
        if self._embedded is not None:
            self._embedded.release()
            self._embedded = None

    @property
    def serving(self) -> Pool:
        """Connections of the application role."""
        if self._serving is None:
            raise Unavailable("The storage is not open.")
        return self._serving

    @property
    def owning(self) -> Pool:
        """Connections of the owner, for operators: row-level security does not hold for it."""
        if self._owning is None:
            raise Unavailable("The storage is not open.")
        return self._owning

    def check(self) -> None:
        """Raises Unavailable when transactions cannot be served now."""
        with self.serving.borrow() as connection:
            connection.execute("SELECT FROM memscope.model LIMIT 1")

    def report(self) -> Mapping[str, str]:
        """What `memscope doctor` prints."""
        with self.owning.borrow() as connection:
            sizes = connection.execute(
                """SELECT relname, pg_size_pretty(pg_total_relation_size(oid)) FROM pg_class
                   WHERE relnamespace = 'memscope'::regnamespace AND relkind = 'r' ORDER BY pg_total_relation_size(oid) DESC LIMIT 4"""
            ).fetchall()
            models = connection.execute("SELECT model, identity, dimensions, serving FROM memscope.model ORDER BY model").fetchall()
            report = {
                "server": f"PostgreSQL {_one(connection, 'SHOW server_version')}" + (", embedded" if self._embedded else ", outside"),
                "pgvector": _one(connection, "SELECT extversion FROM pg_extension WHERE extname = 'vector'"),
                "schema": f"revision {migrations.current(connection)}",
                "size": _one(connection, "SELECT pg_size_pretty(pg_database_size(current_database()))"),
                "largest tables": ", ".join(f"{name} {size}" for name, size in sizes),
                "organizations": str(_one(connection, "SELECT count(*) FROM memscope.organization")),
                "memories": str(_one(connection, "SELECT count(*) FROM memscope.memory")),
                "word search": "index" if self.leakproof else "index, through a function (ts_match_vq is not marked leakproof)",
            }
            for number, identity, dimensions, serving in models:
                vectors = _one(connection, "SELECT count(*) FROM memscope.memory_vector WHERE model = %s", number)
                if serving or vectors:
                    index = "indexed" if _index_is_valid(connection, Model(number, dimensions)) else "NOT indexed: run memscope reindex"
                    report[f"model {identity}"] = f"{vectors} vectors, {index}{', serving' if serving else ''}"
        return report

    # organizations
    def organizations(self) -> Sequence[Organization]:
        """All of them, by slug."""
        with self.serving.borrow() as connection:
            found = connection.execute(f"SELECT {organizations.ORGANIZATION} FROM memscope.organization ORDER BY slug").fetchall()
        return [organizations.organization(row) for row in found]

    def find_organization(self, slug: str) -> str | None:
        """The id of the organization with this slug."""
        with self.serving.borrow() as connection:
            row = connection.execute("SELECT org_id FROM memscope.organization WHERE slug = %s", (slug,)).fetchone()
        return None if row is None else str(row[0])

    def any_organization(self) -> tuple[str, bool] | None:
        """The first by slug, and whether it is alone."""
        with self.serving.borrow() as connection:
            found = connection.execute("SELECT org_id FROM memscope.organization ORDER BY slug LIMIT 2").fetchall()
        return (str(found[0][0]), len(found) == 1) if found else None

    def roster(self, organization: str, known: Roster | None = None) -> Roster:
        """The organization at its current epoch; `known` itself when its epoch is current."""
        with self.serving.borrow() as connection:
            if known is not None:
                row = connection.execute("SELECT epoch FROM memscope.organization WHERE org_id = %s", (organization,)).fetchone()
                if row is not None and row[0] == known.epoch:
                    return known
            connection.execute(begin_statement(organization, None, None, "read", self.settings))
            try:
                return self._read_roster(connection, organization, known)
            finally:
                connection.execute("ROLLBACK")

    def _read_roster(self, connection: psycopg.Connection[Any], organization: str, known: Roster | None) -> Roster:
        row = connection.execute(
            f"SELECT {organizations.ORGANIZATION}, epoch, facts_epoch, last_audience FROM memscope.organization WHERE org_id = %s",
            (organization,),
        ).fetchone()
        if row is None:
            raise KeyError(organization)
        epoch, facts_epoch, last_audience = row[-3:]
        audiences = self.audiences(organization)
        audiences.load(connection.execute)
        if known is not None and self._facts.get(known) == facts_epoch:
            roster = _grown(known, epoch, audiences.up_to(last_audience))
        else:
            topics, removed = organizations.topics(connection.execute, organization)
            roster = Roster(
                organization=organizations.organization(row[:-3]),
                epoch=epoch,
                people=organizations.people(connection.execute, organization),
                groups=organizations.groups(connection.execute, organization),
                topics=topics,
                memberships=organizations.memberships(connection.execute, organization),
                audiences=audiences.up_to(last_audience),
                removed_topics=removed,
            )
        self._facts[roster] = facts_epoch
        return roster

    def connection(self, organization: str, connection: str) -> Connection | None:
        """One connection by its exact ids."""
        found = self.serving.ask(
            organization,
            f"SELECT {organizations.CONNECTION} WHERE c.org_id = %(org)s::uuid AND c.connection_id = %(connection)s::uuid",
            {"connection": connection},
        )
        return organizations.connection(found[0]) if found else None

    def note_use(self, organization: str, connection: str, client_version: str | None) -> None:
        """Note that a connection was used now."""
        self.serving.ask(
            organization,
            """INSERT INTO memscope.connection_use (org_id, connection_id, last_used_at, client_version)
               VALUES (%(org)s::uuid, %(connection)s::uuid, now(), %(version)s)
               ON CONFLICT (org_id, connection_id) DO UPDATE SET last_used_at = excluded.last_used_at,
                 client_version = coalesce(excluded.client_version, connection_use.client_version)""",
            {"connection": connection, "version": client_version},
        )

    # units of work
    def begin(self, reach: Reach | Operator, act: Act | None = None) -> PostgresTransaction:
        """Begin a transaction; see the contract."""
        return PostgresTransaction(self, reach, act)

    def audiences(self, organization: str) -> Audiences:
        """What is known of an organization's audiences."""
        if (found := self._audiences.get(organization)) is None:
            with self._lock:
                found = self._audiences.setdefault(organization, Audiences(organization))
        return found

    def terms(self, reach: Reach, connection: psycopg.Connection[Any]) -> Terms:
        """A reach in the database's terms."""

        def load() -> None:
            with connection.transaction():
                connection.execute("SELECT set_config('memscope.org', %s, true)", (reach.organization,))
                self.audiences(reach.organization).load(connection.execute)

        return self._translation.of(reach, self.audiences(reach.organization), load)

    def intern(self, organization: str, audience: Audience) -> None:
        """Store an audience in a transaction of its own; raises the epoch when it is new."""
        values = audience_rows.key_values(audience)
        with self.serving.transaction() as connection:
            connection.execute(
                "SELECT set_config('memscope.org', %s, true), set_config('lock_timeout', %s, true)",
                (organization, f"{self.settings.lock_wait_ms}ms"),
            )
            row = connection.execute(
                "SELECT last_audience FROM memscope.organization WHERE org_id = %s FOR NO KEY UPDATE", (organization,)
            ).fetchone()
            if row is None:
                raise KeyError(organization)
            made = connection.execute(
                f"""INSERT INTO memscope.audience (org_id, {audience_rows.COLUMNS}) VALUES (%s, %s, %s, %s, %s, %s, %s::uuid[], %s)
                    ON CONFLICT DO NOTHING""",
                (organization, row[0] + 1, *values),
            ).rowcount
            if made:
                connection.execute(
                    "UPDATE memscope.organization SET epoch = epoch + 1, last_audience = last_audience + 1 WHERE org_id = %s",
                    (organization,),
                )

    def records(self, plugin: str) -> Records:
        """The keyed records of one plugin."""
        return PostgresRecords(self.serving, plugin)

    # embedding models
    def find_model(self, run: Run, identity: str) -> Model | None:
        """A model that `use_model` has prepared, by identity."""
        if (model := self._models.get(identity)) is None:
            row = run("SELECT model, dimensions FROM memscope.model WHERE identity = %s", (identity,)).fetchone()
            if row is None:
                return None
            model = self._models[identity] = Model(*row)
        return model

    def model(self, run: Run, identity: str) -> Model:
        """As `find_model`; ValueError when there is none."""
        if (model := self.find_model(run, identity)) is None:
            raise ValueError(f"use_model({identity!r}, ...) has not been called")
        return model

    def serving_model(self) -> str | None:
        """Identity of the model whose vectors search compares."""
        with self.serving.borrow() as connection:
            row = connection.execute("SELECT identity FROM memscope.model WHERE serving").fetchone()
        return None if row is None else str(row[0])

    def use_model(self, identity: str, dimensions: int) -> None:
        """Prepare for vectors of a model (its index); the first one prepared serves."""
        with self._changing_models() as connection:
            connection.execute(
                """INSERT INTO memscope.model (model, identity, dimensions, serving)
                   SELECT coalesce(max(model), 0) + 1, %s, %s, NOT coalesce(bool_or(serving), false) FROM memscope.model
                   ON CONFLICT (identity) DO NOTHING""",
                (identity, dimensions),
            )
            model = self.model(connection.execute, identity)
            if model.dimensions != dimensions:
                raise ValueError(f"the model {identity!r} has {model.dimensions} dimensions, not {dimensions}")
            if not _index_is_valid(connection, model):
                connection.execute(f"DROP INDEX CONCURRENTLY IF EXISTS memscope.{model.index}")
                connection.execute(
                    f"""CREATE INDEX CONCURRENTLY {model.index} ON memscope.memory_vector
                        USING hnsw ((e::halfvec({model.dimensions})) halfvec_cosine_ops) WITH (m = 24, ef_construction = 128)
                        WHERE model = {model.number}"""
                )

    def switch_model(self, identity: str) -> None:
        """Let this model serve from now on and drop the vectors of all others."""
        with self._changing_models() as connection:
            model = self.model(connection.execute, identity)
            with connection.transaction():
                connection.execute("UPDATE memscope.model SET serving = false WHERE serving AND model <> %s", (model.number,))
                connection.execute("UPDATE memscope.model SET serving = true WHERE model = %s", (model.number,))
            # The rows of other models stay, so that no number ever means two models.
            connection.execute("DELETE FROM memscope.memory_vector WHERE model <> %s", (model.number,))
            others = connection.execute("SELECT model, dimensions FROM memscope.model WHERE model <> %s", (model.number,)).fetchall()
            for other in others:
                connection.execute(f"DROP INDEX CONCURRENTLY IF EXISTS memscope.{Model(*other).index}")

    @contextmanager
    def _changing_models(self) -> Iterator[psycopg.Connection[Any]]:
        """An owner's connection that alone changes models. It polls: waiting inside a statement would hold up the index build."""
        with self.owning.borrow() as connection:
            while not _one(connection, "SELECT pg_try_advisory_lock(%s)", _MODELS):
                time.sleep(0.05)
            try:
                yield connection
            finally:
                connection.execute("SELECT pg_advisory_unlock(%s)", (_MODELS,))

    # upkeep
    @contextmanager
    def lead(self, task: str) -> Iterator[bool]:
        """True inside the block in at most one process at a time for one task; never waits."""
        with self.owning.borrow() as connection:
            key = f"memscope.lead {task}"
            leads = bool(_one(connection, "SELECT pg_try_advisory_lock(hashtextextended(%s, 0))", key))
            try:
                yield leads
            finally:
                if leads and not connection.closed:
                    connection.execute("SELECT pg_advisory_unlock(hashtextextended(%s, 0))", (key,))

    def backup(self, target: str) -> Iterator[str]:
        """Write everything to a new file; yields progress lines."""
        from memscope_postgres import backup

        yield from backup.backup(self._owner_url, Path(target))

    def restore(self, source: str) -> Iterator[str]:
        """Load a backup into an empty database; yields progress lines."""
        from memscope_postgres import backup

        yield from backup.restore(self._owner_url, self._application, Path(source))
        self._audiences.clear()
        self._models.clear()


def _one(connection: psycopg.Connection[Any], statement: str, *values: Any) -> Any:
    """The first column of the first row."""
    row = connection.execute(statement, values or None).fetchone()
    return None if row is None else row[0]


def _grown(known: Roster, epoch: int, audiences: frozenset[Audience]) -> Roster:
    """The same facts at a later epoch, at which only the set of audiences had grown."""
    roster = replace(known, epoch=epoch, audiences=audiences)
    for name in ("guards", "readers"):  # what was worked out from the same facts
        if name in known.__dict__:
            roster.__dict__[name] = known.__dict__[name]
    return roster


def _ensure_extension(owner: psycopg.Connection[Any], extension: str) -> None:
    if _one(owner, "SELECT true FROM pg_extension WHERE extname = %s", extension):
        return
    try:
        owner.execute(f"CREATE EXTENSION {extension}")
    except psycopg.Error as error:
        raise StartError(
            f"The database has no extension {extension!r} and its owner role may not create it. "
            f"Let a superuser run CREATE EXTENSION {extension} in this database; it comes with pgvector or PostgreSQL's contrib."
        ) from error


def _index_is_valid(connection: psycopg.Connection[Any], model: Model) -> bool:
    return bool(_one(connection, "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)", f"memscope.{model.index}"))
