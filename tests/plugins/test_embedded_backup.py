"""Backup and restore between two databases of one embedded server; the second has roles of other names."""

from __future__ import annotations

import itertools
import os
import shutil
import stat
import sys
import tempfile
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
import pytest
from memscope_postgres import migrations, roles
from memscope_postgres.backup import backup, restore
from memscope_postgres.embedded import EmbeddedServer
from psycopg import conninfo

from memscope.errors import StartError

pytestmark = pytest.mark.xdist_group("embedded_backup")  # its tests build on each other

ORG, OTHER, ANNA = uuid.uuid4(), uuid.uuid4(), uuid.uuid4()
MEMORIES = 300


class Place(NamedTuple):
    """A database and its two roles."""

    owner: str
    application: str
    role: str


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedServer]:
    shared = os.statvfs("/dev/shm") if Path("/dev/shm").exists() else None  # removing a cluster from a disk may take seconds
    folder = Path(tempfile.mkdtemp(prefix="ms-", dir="/dev/shm" if shared and shared.f_bavail * shared.f_frsize > 10**9 else None))
    folder.chmod(0o711)
    one = EmbeddedServer(folder / "data")
    try:
        one.start()
        yield one
    finally:
        one.release()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def filled(server: EmbeddedServer) -> Place:
    """The embedded database with two organizations; one person may read two of every three memories."""
    urls = server.start()
    with psycopg.connect(urls.owner) as connection:
        migrations.upgrade(urls.owner, None)
        roles.grant(connection, "memscope_app")
        fill(connection)
    with psycopg.connect(urls.owner, autocommit=True) as connection:
        connection.execute(
            "CREATE INDEX vector_nearest_1 ON memscope.memory_vector USING hnsw ((e::halfvec(8)) halfvec_cosine_ops) "
            "WITH (m = 24, ef_construction = 128) WHERE model = 1"
        )
    return Place(urls.owner, urls.app, "memscope_app")


def add(connection: psycopg.Connection[Any], table: str, **values: Any) -> None:
    """Add a row; required columns that are not named get a plain value of their type."""
    plain_values = {"uuid": uuid.uuid4(), "text": "x", "boolean": False, "timestamp with time zone": datetime.now(UTC), "ARRAY": "{}"}
    required = connection.execute(
        "SELECT column_name, data_type FROM information_schema.columns WHERE table_schema = 'memscope' AND table_name = %s "
        "AND is_nullable = 'NO' AND column_default IS NULL AND is_generated = 'NEVER'",
        [table],
    )
    row = {name: plain_values.get(kind, 1) for name, kind in required} | values
    columns, marks = ", ".join(row), ", ".join(["%s"] * len(row))
    connection.execute(f"INSERT INTO memscope.{table} ({columns}) VALUES ({marks})", list(row.values()))


def fill(connection: psycopg.Connection[Any]) -> None:
    """Two organizations with memories and vectors."""
    for org, slug in ((ORG, "north"), (OTHER, "south")):
        add(connection, "organization", org_id=org, slug=slug)
        add(connection, "person", org_id=org, person_id=ANNA)
        for audience in (1, 2):
            add(connection, "audience", org_id=org, audience_id=audience, sensitivity=audience)
    add(connection, "model", model=1, dimensions=8, serving=True)
    for number in range(MEMORIES):
        org, audience = OTHER if number % 10 == 9 else ORG, 2 if number % 3 == 2 else 1
        text = f"Łódź \\ memory\t{number}\nSET transaction_timeout = 0;\n-- Name: x; Type: INDEX;"
        key = {"org_id": org, "memory_id": uuid.uuid4(), "audience_id": audience, "author": ANNA}
        add(connection, "memory", **key, number=number, content=text)
        vector = "[" + ",".join(str((number * step) % 7 - 3 or 1) for step in range(1, 9)) + "]"
        add(connection, "memory_vector", **key, model=1, passage=0, own=True, live=True, e=vector)


@pytest.fixture
def empty(server: EmbeddedServer) -> Iterator[Place]:
    """A database as an outside one: other names, no tables."""
    name = f"other_{uuid.uuid4().hex[:8]}"
    superuser = server.start().superuser
    with psycopg.connect(superuser, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {name}_owner LOGIN PASSWORD 'it''s %'")
        connection.execute(f"CREATE ROLE {name}_serve LOGIN PASSWORD 'p'")
        connection.execute(f"CREATE DATABASE {name} OWNER {name}_owner")
        with psycopg.connect(superuser, dbname=name, autocommit=True) as inside:
            inside.execute("CREATE EXTENSION vector")  # btree_gin: the owner may make that one
    host = conninfo.conninfo_to_dict(superuser)["host"]
    host_part = f"host={str(host).replace('/', '%2F')}"
    yield Place(
        f"postgresql+psycopg://{name}_owner:it%27s%20%25@/{name}?{host_part}",
        f"postgresql://{name}_serve:p@/{name}?{host_part}",
        f"{name}_serve",
    )
    with psycopg.connect(superuser, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
        connection.execute(f"DROP ROLE {name}_owner, {name}_serve")


def plain(url: str) -> str:
    return url.replace("postgresql+psycopg://", "postgresql://")


def everything(url: str) -> dict[str, list[tuple[Any, ...]]]:
    with psycopg.connect(plain(url)) as connection:
        tables = [name for (name,) in connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'memscope' ORDER BY 1")]
        return {name: connection.execute(f"SELECT t::text FROM memscope.{name} t ORDER BY 1").fetchall() for name in tables}


def readable(url: str) -> int:
    """Memories of `north` that the application role sees for a reader of the audience 1."""
    with psycopg.connect(plain(url)) as connection:
        connection.execute("SELECT set_config('memscope.org', %s, true), set_config('memscope.anybody', '{1}', true)", [str(ORG)])
        row = connection.execute("SELECT count(*) FROM memscope.memory").fetchone()
        assert row is not None
        return int(row[0])


def schema(url: str) -> list[tuple[Any, ...]]:
    """Policies, indexes, functions, who may run them."""
    with psycopg.connect(plain(url)) as connection:
        return [
            *connection.execute("SELECT tablename, policyname, cmd, qual, with_check, roles FROM pg_policies ORDER BY 1, 2"),
            *connection.execute("SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'memscope' ORDER BY 1"),
            *connection.execute(
                "SELECT proname, prosecdef, proconfig, has_function_privilege('public', oid, 'EXECUTE') FROM pg_proc "
                "WHERE pronamespace = 'memscope'::regnamespace ORDER BY 1"
            ),
            *connection.execute(
                "SELECT relname, relrowsecurity, reloptions FROM pg_class "
                "WHERE relnamespace = 'memscope'::regnamespace AND relkind = 'r' ORDER BY 1"
            ),
        ]


def test_round_trip_with_index_policies_and_application_role(filled: Place, empty: Place, tmp_path: Path) -> None:
    target = tmp_path / "today.backup"
    saved = list(backup(filled.owner, target))
    assert any("memory_vector" in line for line in saved) and str(target) in saved[-1]
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["today.backup"]
    loaded = list(restore(empty.owner, empty.role, target))
    assert any("vector_nearest_1 (index)" in line for line in loaded)
    assert everything(empty.owner) == everything(filled.owner)
    assert len(everything(empty.owner)["memory"]) == MEMORIES
    assert schema(empty.owner) == schema(filled.owner)
    assert readable(empty.application) == readable(filled.application) == 180
    with psycopg.connect(empty.application) as connection:
        assert connection.execute("SELECT count(*) FROM memscope.memory").fetchone() == (0,)  # nobody asks
        roles.refuse_powerful(connection)
        for forbidden in ("DELETE FROM memscope.audit", "TRUNCATE memscope.memory", "DROP TABLE memscope.memory"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege), connection.transaction():
                connection.execute(forbidden)
    with psycopg.connect(plain(empty.owner)) as connection:
        connection.execute("SET LOCAL enable_seqscan = off")
        plan = connection.execute(
            "EXPLAIN SELECT memory_id FROM memscope.memory_vector WHERE model = 1 "
            "ORDER BY e::halfvec(8) <=> '[1,2,3,1,2,3,1,2]'::halfvec(8) LIMIT 5"
        ).fetchall()
        assert any("vector_nearest_1" in line for (line,) in plan)
        assert connection.execute("SELECT reltuples FROM pg_class WHERE oid = 'memscope.memory'::regclass").fetchone() == (MEMORIES,)


def test_a_restore_replaces_a_migrated_empty_schema_and_refuses_a_used_one(filled: Place, empty: Place, tmp_path: Path) -> None:
    target = tmp_path / "backup"
    list(backup(filled.owner, target))
    with psycopg.connect(plain(empty.owner)) as connection:
        connection.execute("CREATE EXTENSION btree_gin")
    migrations.upgrade(plain(empty.owner), None)
    with psycopg.connect(plain(empty.owner)) as connection:
        connection.execute("INSERT INTO memscope.model VALUES (1, 'prepared at start', 8, true)")
    list(restore(empty.owner, empty.role, target))
    before = everything(empty.owner)
    assert before == everything(filled.owner)
    with pytest.raises(StartError, match="holds an organization"):
        list(restore(empty.owner, empty.role, target))
    assert everything(empty.owner) == before


def test_a_backup_that_fails_or_is_stopped_leaves_no_file(filled: Place, tmp_path: Path) -> None:
    target = tmp_path / "backup"
    running = backup(filled.owner, target)
    assert list(itertools.islice(running, 3))
    assert not target.exists()
    running.close()
    assert [path.name for path in tmp_path.iterdir()] == []
    wrong = filled.application  # pg_dump may not read past the policies as this role
    with pytest.raises(StartError, match="left no file"):
        list(backup(wrong, target))
    assert [path.name for path in tmp_path.iterdir()] == []
    target.write_text("something of mine")
    with pytest.raises(StartError, match="exists already"):
        list(backup(filled.owner, target))
    assert target.read_text() == "something of mine"
    with pytest.raises(StartError, match="Choose another place"):
        list(backup(filled.owner, tmp_path / "no-such-folder/backup"))


def test_a_restore_that_fails_or_is_stopped_leaves_the_database_empty(filled: Place, empty: Place, tmp_path: Path) -> None:
    target = tmp_path / "backup"
    list(backup(filled.owner, target))
    running = restore(empty.owner, empty.role, target)
    seen = next(line for line in running if line.startswith("Making memory"))
    assert seen
    running.close()
    with psycopg.connect(plain(empty.owner)) as connection:
        assert migrations.current(connection) is None
    whole = target.read_bytes()
    for cut in (10, len(whole) // 2, len(whole) - len(whole) // 8):
        target.write_bytes(whole[:cut])
        with pytest.raises(StartError, match="not a whole|as it was"):
            list(restore(empty.owner, empty.role, target))
        with psycopg.connect(plain(empty.owner)) as connection:
            assert migrations.current(connection) is None
    target.write_text("not a backup")
    with pytest.raises(StartError, match="not a whole MemScope backup"):
        list(restore(empty.owner, empty.role, target))
    target.write_bytes(whole)
    list(restore(empty.owner, empty.role, target))
    assert everything(empty.owner) == everything(filled.owner)


def test_a_missing_extension_and_an_unreachable_server_are_told(
    filled: Place, empty: Place, server: EmbeddedServer, tmp_path: Path
) -> None:
    target = tmp_path / "backup"
    list(backup(filled.owner, target))
    database = conninfo.conninfo_to_dict(plain(empty.owner))["dbname"]
    with psycopg.connect(server.start().superuser, dbname=str(database), autocommit=True) as connection:
        connection.execute("DROP EXTENSION vector")
    with pytest.raises(StartError, match="CREATE EXTENSION vector"):
        list(restore(empty.owner, empty.role, target))
    with pytest.raises(StartError, match="did not answer"):
        list(backup("postgresql://u:p@127.0.0.1:1/none", tmp_path / "other"))
    with pytest.raises(StartError, match="nothing to back up"):
        list(backup(empty.owner, tmp_path / "other"))


def test_the_password_is_no_argument_of_a_program(filled: Place, tmp_path: Path) -> None:
    started: list[str] = []

    def note(event: str, given: Any) -> None:
        if event == "subprocess.Popen":
            _, arguments, _, _ = given
            started.append(" ".join(map(str, arguments)))

    sys.addaudithook(note)
    password = conninfo.conninfo_to_dict(filled.owner)["password"]
    running = backup(filled.owner, tmp_path / "backup")
    list(itertools.islice(running, 2))
    running.close()
    assert any("pg_dump" in line for line in started)
    assert all(str(password) not in line for line in started)
