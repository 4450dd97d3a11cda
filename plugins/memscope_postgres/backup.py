"""Backup and restore with PostgreSQL's own programs: one file, the same for the embedded and an outside database.

The file is what `pg_dump -Fc` writes of the schema `memscope`: tables, functions, policies and indexes, no roles and no
privileges. A restore gives the application role of its place what this version gives it, so the roles' names may differ.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from memscope.errors import StartError
from memscope_postgres import migrations, roles
from memscope_postgres.embedded import programs

if TYPE_CHECKING:
    import psycopg

_DUMPING = re.compile(r'pg_dump: dumping contents of table "memscope\.(\w+)"')
_STEP = re.compile(rb"-- (Data for )?Name: ([\w ]+); Type: (TABLE DATA|INDEX|CONSTRAINT|FK CONSTRAINT|POLICY);")
_EXTENSIONS = ("vector", "btree_gin")
# The newest pg_restore speaks to servers that do not know its newest setting.
_PREAMBLE_UNKNOWN_BEFORE_17 = b"SET transaction_timeout = 0;\n"
_CANCEL_WAIT_S = 10


def backup(owner_url: str, target: Path) -> Generator[str, None, None]:
    """Write everything to a new file of mode 0600; yields progress lines.

    It is one moment of the database, and the server may serve meanwhile. The file gets its name when it is whole.
    Raises `StartError`, saying what to do.
    """
    target = target.absolute()
    if target.exists():
        raise StartError(f"{target} exists already. Name a new file for the backup.")
    with _connected(owner_url) as connection:
        if migrations.current(connection) is None:
            raise StartError("There is nothing to back up: the database holds no MemScope tables.")
        tables, volume = connection.execute(
            "SELECT count(*), sum(pg_table_size(oid)) FROM pg_class WHERE relkind = 'r' AND relnamespace = 'memscope'::regnamespace"
        ).fetchone() or (0, 0)
        pg_dump = _client(connection, "pg_dump")
    yield f"Saving {tables} tables of {_megabytes(volume)} before compression."
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".partial", dir=target.parent)
    except OSError as error:
        raise StartError(f"No file can be made in {target.parent} ({error.strerror}). Choose another place for the backup.") from error
    os.close(handle)
    partial = Path(name)
    try:
        arguments = ["-Fc", "--schema=memscope", "--no-owner", "--no-privileges", "--no-password", "--verbose", f"--file={partial}"]
        for number, table in enumerate(_dump(pg_dump, arguments, owner_url), 1):
            yield f"Saving {table} ({number} of {tables}); {_megabytes(partial.stat().st_size)} written."
        _revision(partial)
        partial.replace(target)
        _sync(target.parent)
    finally:
        partial.unlink(missing_ok=True)
    yield f"Saved {target} ({_megabytes(target.stat().st_size)})."


def restore(owner_url: str, application: str, source: Path) -> Generator[str, None, None]:
    """Load a backup into a database without organizations; yields progress lines.

    All or nothing: a restore that fails or is stopped leaves the database as it was. Afterwards the schema is of this
    version and the role `application` may serve. Raises `StartError`, saying what to do.
    """
    from psycopg import sql

    source = source.absolute()
    revision = _revision(source)
    if revision > migrations.HEAD:
        raise migrations.newer(revision)
    with _connected(owner_url) as connection:
        connection.execute("SELECT pg_advisory_lock(%s)", [migrations.LOCK])  # no server migrates or starts to serve meanwhile
        _check_empty(connection)
        _extensions(connection)
        yield f"Loading {source} ({_megabytes(source.stat().st_size)})."
        yield from _load(_client(connection, "psql"), owner_url, source)
        if revision != migrations.HEAD:
            yield f"Bringing revision {revision} up to {migrations.HEAD}."
            migrations.upgrade(owner_url, revision)
        with connection.transaction():
            roles.grant(connection, application)
        tables = [table for (table,) in connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'memscope'")]
        yield "Collecting statistics for the query planner."
        for table in tables:
            connection.execute(sql.SQL("ANALYZE {}").format(sql.Identifier("memscope", table)))
    yield f"Restored {source}."


def _check_empty(connection: psycopg.Connection[Any]) -> None:
    """A migrated schema may be there; it is replaced. Data of organizations may not."""
    if migrations.current(connection) and connection.execute("SELECT 1 FROM memscope.organization LIMIT 1").fetchone():
        raise StartError("The database holds an organization already. Restore into a new data directory or an empty database.")


def _extensions(connection: psycopg.Connection[Any]) -> None:
    import psycopg

    for extension in _EXTENSIONS:
        try:
            connection.execute(f"CREATE EXTENSION IF NOT EXISTS {extension}")
        except psycopg.Error as error:
            raise StartError(
                f"The database lacks the extension {extension}, and this role may not make it. Ask its administrator to run: "
                f"CREATE EXTENSION {extension}"
            ) from error


def _load(psql: Path, owner_url: str, source: Path) -> Iterator[str]:
    """Pass the backup as SQL to psql, in one transaction that is committed only when the whole file was read."""
    reader = [programs() / "pg_restore", "--file=-", "--no-owner", "--no-privileges", source]
    arguments, environment = _connection(owner_url)
    loader = [psql, *arguments, "--no-password", "-X", "--quiet", "-v", "ON_ERROR_STOP=1", "-v", "VERBOSITY=terse", "-o", os.devnull]
    with tempfile.TemporaryFile() as said, contextlib.ExitStack() as stack:
        reading = stack.enter_context(_process(reader, environment, stdout=subprocess.PIPE, stderr=said))
        loading = stack.enter_context(_process(loader, environment, stdin=subprocess.PIPE, stderr=said))
        lines, into = reading.stdout, loading.stdin
        assert lines is not None and into is not None
        with contextlib.suppress(BrokenPipeError):
            into.write(b"BEGIN;\nSET client_min_messages = warning;\nDROP SCHEMA IF EXISTS memscope CASCADE;\n")
            for number, line in enumerate(lines):
                if number < 100 and line == _PREAMBLE_UNKNOWN_BEFORE_17:
                    continue
                into.write(line)
                if (step := _STEP.match(line)) is not None:
                    yield f"{'Loading' if step[1] else 'Making'} {step[2].decode()} ({step[3].decode().lower()})."
            if reading.wait() == 0:
                into.write(b"REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA memscope FROM PUBLIC;\nCOMMIT;\n")
            into.close()
            yield "Waiting for the indexes; the vector index takes most of the time."
        if reading.returncode != 0 or loading.wait() != 0:
            raise StartError(f"The restore failed; the database is as it was. {_said(said)}")


@contextlib.contextmanager
def _process(command: list[Any], environment: dict[str, str], **pipes: Any) -> Iterator[subprocess.Popen[bytes]]:
    """A program that ends with the block, whatever happens. psql rolls back what is not committed."""
    process = subprocess.Popen(command, env=environment, **pipes)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
            process.wait(_CANCEL_WAIT_S)
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()


def _dump(pg_dump: Path, arguments: list[str], owner_url: str) -> Iterator[str]:
    """Run pg_dump; yields the name of each table that it begins."""
    connection, environment = _connection(owner_url)
    said: list[str] = []
    with _process([pg_dump, *arguments, *connection], environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as dumping:
        assert dumping.stderr is not None
        with dumping.stderr as lines:
            for line in lines:
                text = line.decode(errors="replace")
                if (table := _DUMPING.match(text)) is not None:
                    yield table[1]
                elif "error:" in text or "detail:" in text:
                    said.append(text.strip())
        if dumping.wait() != 0:
            newer = (
                " Install the client programs of the server's version and put them on the PATH."
                if "version mismatch" in " ".join(said)
                else ""
            )
            raise StartError(f"The backup failed and left no file: {' | '.join(said)}.{newer}")


def _revision(source: Path) -> str:
    """The schema's revision in a backup; `StartError` when the file is no backup, or not whole."""
    read: list[str | Path] = [programs() / "pg_restore", "--data-only", "--schema=memscope", "--table=alembic_version", "--file=-", source]
    try:
        done = subprocess.run(read, capture_output=True, text=True, check=False, env=os.environ | {"LC_ALL": "C"})
    except OSError as error:
        raise StartError(f"{read[0]} cannot be run ({error.strerror}).") from error
    found = re.search(r"^COPY memscope\.alembic_version .*\n(\S+)$", done.stdout, re.MULTILINE)
    if done.returncode != 0 or found is None or found[1] == "\\.":
        raise StartError(f"{source} is not a whole MemScope backup. {done.stderr.strip()}")
    return found[1]


def _client(connection: psycopg.Connection[Any], program: str) -> Path:
    """The installed program; for a server that is reached through TLS, which that one cannot speak, the one on the PATH."""
    if not connection.pgconn.ssl_in_use:
        return programs() / program
    found = shutil.which(program)
    if found is None:
        raise StartError(
            f"The connection to the database is encrypted, and the {program} that comes with MemScope cannot do that. "
            "Install PostgreSQL's client programs, of the server's version or newer."
        )
    return Path(found)


@contextlib.contextmanager
def _connected(url: str) -> Iterator[psycopg.Connection[Any]]:
    import psycopg

    try:
        with psycopg.connect(_libpq(url), autocommit=True) as connection:
            yield connection
    except psycopg.OperationalError as error:
        raise StartError(f"The database did not answer: {error}") from error


def _connection(url: str) -> tuple[list[str], dict[str, str]]:
    """How the programs connect: arguments without the password, which other users of the machine could see, and environment."""
    from psycopg import conninfo

    parts = conninfo.conninfo_to_dict(_libpq(url))
    password = parts.pop("password", None)
    environment = os.environ | {"LC_ALL": "C", "PGCLIENTENCODING": "UTF8"} | ({"PGPASSWORD": str(password)} if password else {})
    return [f"--dbname={conninfo.make_conninfo('', **parts)}"], environment


def _libpq(url: str) -> str:
    return "postgresql://" + url.partition("://")[2]


def _said(file: IO[bytes]) -> str:
    file.seek(0)
    return " | ".join(file.read().decode(errors="replace").strip().splitlines()[-5:])


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _megabytes(size: int) -> str:
    return f"{size / 1_000_000:.1f} MB"
