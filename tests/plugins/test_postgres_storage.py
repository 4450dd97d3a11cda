"""What the PostgreSQL storage promises beyond the contract: its roles, its policies, its plans, its migrations."""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import psycopg
import pytest
from memscope_postgres import migrations, search
from memscope_postgres.embedded import EmbeddedServer, Urls
from memscope_postgres.settings import DatabaseSettings
from memscope_postgres.storage import PostgresStorage
from memscope_postgres.transaction import PostgresTransaction

from memscope.contracts.storage import Browse, Hit, IndexEntry, Listing, Operator, Question, Revoked, SearchFilter, StorageHost
from memscope.errors import StartError, Unavailable
from memscope.model.audience import Reach, Sensitivity
from memscope.model.audit import Act
from memscope.model.ids import new_id
from memscope.model.memory import Memory, Version
from memscope.model.review import Flag
from memscope.testing.builders import Builder, harbor

MODEL = "storage@0123456789abcdef"
DIMENSIONS = 8
ZONE = "Asia/Kolkata"
TABLES = (
    "memory",
    "memory_version",
    "memory_search",
    "memory_vector",
    "idempotency",
    "ticket",
    "audience",
    "person",
    "connection",
    "record",
)


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedServer]:
    memory = Path("/dev/shm")  # a cluster on a disk takes seconds to fill and to remove
    roomy = memory.exists() and shutil.disk_usage(memory).free > 10**9
    folder = Path(tempfile.mkdtemp(prefix="ms-", dir=memory if roomy else None))
    folder.chmod(0o711)  # the server's account has to pass
    server = EmbeddedServer(folder / "data")
    try:
        server.start()
        yield server
    finally:
        server.release()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def urls(server: EmbeddedServer) -> Urls:
    """The server's roles; their sessions begin far from UTC."""
    urls = server.start()
    with psycopg.connect(urls.superuser, autocommit=True) as connection:
        connection.execute(f"ALTER SYSTEM SET timezone = '{ZONE}'")
        connection.execute("SELECT pg_reload_conf()")
    return urls


def storage_at(urls: Urls, **settings: Any) -> PostgresStorage:
    """A storage over URLs, not open yet."""
    return PostgresStorage(DatabaseSettings(url=urls.app, owner_url=urls.owner, **settings), StorageHost("", b"k" * 32))


@pytest.fixture(scope="module")
def storage(urls: Urls) -> Iterator[PostgresStorage]:
    storage = storage_at(urls, pool_size=24, lock_wait_ms=20_000)
    storage.open()
    storage.use_model(MODEL, DIMENSIONS)
    yield storage
    storage.close()


@pytest.fixture
def org(storage: PostgresStorage) -> Builder:
    return harbor(f"harbor-{new_id()}").store(storage)


@pytest.fixture
def empty(urls: Urls) -> Urls:
    """The same roles in a database without tables."""
    name = f"empty_{new_id().replace('-', '')}"
    with psycopg.connect(urls.superuser, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} OWNER memscope_owner")
    there = Urls(*(url.replace("/memscope?", f"/{name}?") for url in (urls.superuser, urls.owner, urls.app)))
    with psycopg.connect(there.superuser, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION vector")
    return there


def entry(text: str, seed: int = 0) -> IndexEntry:
    """Words and a vector of a text."""
    vector = np.random.default_rng([seed, *text.encode()]).normal(size=(1, DIMENSIONS)).astype(np.float32)
    return IndexEntry(tuple(text.lower().split()), MODEL, vector / np.linalg.norm(vector))


def saved(storage: PostgresStorage, org: Builder, author: str, text: str, place: str = "personal", **more: Any) -> Memory:
    return org.save(storage, org.memory(author, text, place, **more), entry(text))


def find(
    storage: PostgresStorage, org: Builder, name: str, words: str, candidates: int = 50, reach: Reach | None = None, **where: Any
) -> dict[str, Hit]:
    with storage.begin(reach or org.reach(storage, name)) as tx:
        question = Question(tuple(words.split()), np.ones(DIMENSIONS, dtype=np.float32) / DIMENSIONS**0.5, MODEL, candidates)
        return {hit.memory: hit for hit in tx.search(question, SearchFilter(tx.now, **where))}


# -- the second wall -------------------------------------------------------------------------------------------------------


def test_unset_variables_mean_no_rows(storage: PostgresStorage, org: Builder, urls: Urls) -> None:
    saved(storage, org, "Bo", "for all", "organization")
    with psycopg.connect(urls.app) as connection:
        for table in TABLES:
            assert connection.execute(f"SELECT count(*) FROM memscope.{table}").fetchone() == (0,), table
        connection.execute("SELECT set_config('memscope.org', %s, true)", [org.organization.id])
        for table in TABLES[:6]:
            assert connection.execute(f"SELECT count(*) FROM memscope.{table}").fetchone() == (0,), table
        connection.rollback()  # the variables were the transaction's
        assert connection.execute("SELECT count(*) FROM memscope.audience").fetchone() == (0,)


def test_a_statement_that_forgets_its_filter_shows_no_other_organization(storage: PostgresStorage, org: Builder) -> None:
    other = harbor(f"harbor-{new_id()}").store(storage)
    mine = saved(storage, org, "Bo", "for all here", "organization")
    saved(storage, other, "Bo", "for all there", "organization")
    saved(storage, org, "Di", "for one", "personal")
    with storage.begin(org.reach(storage, "Bo")) as tx:
        assert isinstance(tx, PostgresTransaction)
        for table in TABLES[:4]:
            assert tx._run(f"SELECT DISTINCT memory_id FROM memscope.{table}").fetchall() == [(mine.id,)], table
        assert {row[0] for row in tx._run("SELECT org_id FROM memscope.person")} == {org.organization.id}


def test_a_change_needs_the_lock(storage: PostgresStorage, org: Builder) -> None:
    memory = saved(storage, org, "Bo", "mine")
    with pytest.raises(LookupError), storage.begin(org.reach(storage, "Bo"), org.act("Bo", "memory.correct")) as tx:
        tx.update(memory, replace(memory, importance=1.0))
    for statement in ("UPDATE memscope.memory SET importance = 1", "UPDATE memscope.memory SET author = %(other)s, importance = 1"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege), storage.begin(org.reach(storage, "Bo"), org.act("Bo", "memory.x")) as tx:
            assert isinstance(tx, PostgresTransaction)
            tx._run(statement, {"other": org.people["Di"].id})


def test_nobody_saves_in_another_name(storage: PostgresStorage, org: Builder) -> None:
    forged = org.memory("Di", "not mine", "organization")
    storage.intern(org.organization.id, forged.audience)
    version = Version(1, forged.content, None, forged.provenance, forged.created_at, None)
    with pytest.raises(psycopg.errors.InsufficientPrivilege), storage.begin(org.reach(storage, "Bo"), org.act("Bo", "memory.x")) as tx:
        tx.insert(forged, version, entry("not mine"))


def test_a_change_may_end_what_one_reads(storage: PostgresStorage, org: Builder) -> None:
    """The owner of a group moves a memory to where only others are: written, and unseen from then on."""
    memory = saved(storage, org, "Ed", "for apollo", "apollo")
    moved = replace(memory, place=org.place("people-ops"), version=2)
    storage.intern(org.organization.id, moved.audience)
    with storage.begin(org.reach(storage, "Ed"), org.act("Ed", "memory.move")) as tx:
        locked = tx.memory(memory.id, lock=True)
        assert locked is not None
        tx.update(locked, moved)
        assert tx.memory(memory.id) == moved
    with storage.begin(org.reach(storage, "Ed")) as tx:
        assert tx.memory(memory.id) is None
    assert memory.id not in find(storage, org, "Ed", "apollo")
    assert memory.id in find(storage, org, "Di", "apollo")


@pytest.mark.parametrize("statement", ["UPDATE memscope.audit SET action = 'x'", "DELETE FROM memscope.audit", "SELECT * FROM memscope.audit",
                                       "UPDATE memscope.audit_head SET position = 0", "DELETE FROM memscope.memory", "DELETE FROM memscope.memory_vector",
                                       "INSERT INTO memscope.memory_search DEFAULT VALUES", "UPDATE memscope.model SET serving = false"])  # fmt: skip
def test_what_the_application_role_may_not_do(storage: PostgresStorage, org: Builder, statement: str) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege), storage.begin(org.reach(storage, "Ada"), org.act("Ada", "memory.x")) as tx:
        assert isinstance(tx, PostgresTransaction)
        tx._run(statement)


def test_every_table_of_organizations_has_policies(urls: Urls) -> None:
    with psycopg.connect(urls.owner) as connection:
        bare = connection.execute(
            """SELECT relname FROM pg_class WHERE relnamespace = 'memscope'::regnamespace AND relkind = 'r' AND NOT relrowsecurity"""
        ).fetchall()
        keys = connection.execute(
            """SELECT c.relname, i.indexrelid::regclass::text FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
               JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[0]
               WHERE c.relnamespace = 'memscope'::regnamespace AND a.attname <> 'org_id'"""
        ).fetchall()
    assert {name for (name,) in bare} == {"alembic_version", "model"}
    assert {name for name, _ in keys} == {"organization", "alembic_version", "model"}  # the directory and two lists of no organization


# -- roles and start -------------------------------------------------------------------------------------------------------


def test_it_does_not_serve_as_a_role_that_policies_do_not_hold_for(urls: Urls, storage: PostgresStorage) -> None:
    for url in (urls.superuser, urls.owner):
        with pytest.raises(StartError, match="Make a role for requests"):
            storage_at(replace(urls, app=url)).open()
    with pytest.raises(StartError, match=r"database\.owner_url does not own"):
        storage_at(replace(urls, owner=urls.app)).open()


def test_a_database_that_does_not_answer_is_told_without_its_password(urls: Urls) -> None:
    with pytest.raises(StartError, match=r"cannot be reached\. Check database\.url") as told:
        storage_at(Urls(*("postgresql://memscope_app:hush@/memscope?host=" + quote("/nowhere", safe=""),) * 3)).open()
    assert "hush" not in str(told.value)


def test_an_extension_that_is_missing_is_named(urls: Urls, empty: Urls) -> None:
    with psycopg.connect(empty.superuser, autocommit=True) as connection:
        connection.execute("DROP EXTENSION vector")
    with pytest.raises(StartError, match="CREATE EXTENSION vector"):
        storage_at(empty).open()


def test_a_newer_database_is_refused(empty: Urls) -> None:
    storage = storage_at(empty)
    storage.open()
    storage.close()
    with psycopg.connect(empty.owner) as connection:
        connection.execute("UPDATE memscope.alembic_version SET version_num = '9999'")
    with pytest.raises(StartError, match="migrated by a newer MemScope"):
        storage_at(empty).open()


def test_the_known_head_is_the_newest_revision() -> None:
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    assert ScriptDirectory.from_config(config).get_current_head() == migrations.HEAD


def test_many_starting_at_once_migrate_once(empty: Urls) -> None:
    storages = [storage_at(empty) for _ in range(6)]
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda storage: storage.open(), storages))
        list(pool.map(lambda storage: storage.use_model(MODEL, DIMENSIONS), storages))
    for storage in storages:
        storage.check()
        assert storage.serving_model() == MODEL
        storage.close()


def test_a_pool_outlives_a_restart_of_the_server(server: EmbeddedServer, urls: Urls, storage: PostgresStorage, org: Builder) -> None:
    memory = saved(storage, org, "Bo", "still here")
    with psycopg.connect(urls.superuser, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename IN ('memscope_app', 'memscope_owner')"
        )
    with storage.begin(org.reach(storage, "Bo")) as tx:
        assert tx.memory(memory.id) == memory


# -- concurrency -----------------------------------------------------------------------------------------------------------


def test_one_key_at_once_makes_one_memory(storage: PostgresStorage, org: Builder) -> None:
    storage.intern(org.organization.id, org.memory("Bo", "once").audience)
    reach, start = org.reach(storage, "Bo"), threading.Barrier(20)

    def remember(_: int) -> tuple[str, bool]:
        memory = org.memory("Bo", "once")
        start.wait()
        with storage.begin(reach, org.act("Bo", "memory.remember", memory.id)) as tx:
            claim = tx.claim("key", "digest", memory.id)
            if claim.fresh:
                tx.insert(memory, Version(1, "once", None, memory.provenance, memory.created_at, None), entry("once"))
        return claim.memory, claim.fresh

    with ThreadPoolExecutor(20) as pool:
        claims = list(pool.map(remember, range(20)))
    assert len({memory for memory, _ in claims}) == 1
    assert sum(fresh for _, fresh in claims) == 1
    with storage.begin(org.operator) as tx:
        assert tx.count_memories() == 1
        rows = tx.audit_rows(0, 100)
    assert [row.position for row in rows] == list(range(1, len(rows) + 1))
    assert all(row.intact for row in rows)
    assert all(after.previous == before.digest for before, after in zip(rows, rows[1:], strict=False))


def test_no_change_is_lost(storage: PostgresStorage, org: Builder) -> None:
    memory = saved(storage, org, "Bo", "counted", importance=0.0)
    reach, start = org.reach(storage, "Bo"), threading.Barrier(8)

    def count(_: int) -> None:
        start.wait()
        with storage.begin(reach, org.act("Bo", "memory.correct", memory.id)) as tx:
            before = tx.memory(memory.id, lock=True)
            assert before is not None
            tx.update(before, replace(before, version=before.version + 1, importance=before.importance + 0.125))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(count, range(8)))
    with storage.begin(reach) as tx:
        after = tx.memory(memory.id)
    assert after is not None
    assert (after.version, after.importance) == (9, 1.0)


def test_administrators_at_once_do_not_wait_for_each_other_forever(storage: PostgresStorage, org: Builder) -> None:
    start = threading.Barrier(8)

    def rename(number: int) -> None:
        start.wait()
        with storage.begin(org.operator, Act("person.rename")) as tx:
            tx.write_person(replace(org.people["Bo"], name=f"Bo {number}"))

    epoch = storage.roster(org.organization.id).epoch
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(rename, range(8)))
    assert storage.roster(org.organization.id).epoch == epoch + 8


def test_nothing_commits_after_a_revocation(storage: PostgresStorage, org: Builder) -> None:
    """A revocation waits for what runs on the connection; what begins afterwards is refused."""
    connection, order = org.connections["Bo"], []
    reach, begun = org.reach(storage, "Bo"), threading.Event()

    def revoke() -> None:
        begun.wait()
        with storage.begin(org.operator, Act("connection.revoke")) as tx:
            tx.write_connection(replace(connection, revoked_at=datetime.now(UTC)))
            order.append("revoked")

    with ThreadPoolExecutor(1) as pool:
        with storage.begin(reach, org.act("Bo", "memory.remember")):
            revoking = pool.submit(revoke)
            begun.set()
            with pytest.raises(TimeoutError):
                revoking.result(timeout=0.5)
            order.append("saved")
        revoking.result(timeout=20)
    assert order == ["saved", "revoked"]
    with pytest.raises(Revoked), storage.begin(reach, org.act("Bo", "memory.remember")):
        pass


def test_a_lock_that_is_not_given_is_unavailable(urls: Urls, storage: PostgresStorage, org: Builder) -> None:
    memory = saved(storage, org, "Bo", "wanted by two")
    hasty = storage_at(urls, lock_wait_ms=100, pool_size=1, pool_wait_ms=100)
    hasty.open()
    try:
        with storage.begin(org.reach(storage, "Bo"), org.act("Bo", "memory.correct")) as tx:
            assert tx.memory(memory.id, lock=True) is not None
            with pytest.raises(Unavailable), hasty.begin(org.reach(storage, "Bo"), org.act("Bo", "memory.correct")) as late:
                late.memory(memory.id, lock=True)
        with hasty.begin(org.reach(storage, "Bo")) as tx, pytest.raises(Unavailable), hasty.begin(org.reach(storage, "Bo")):
            pass  # the only connection is taken
    finally:
        hasty.close()


# -- what lies in the tables -----------------------------------------------------------------------------------------------


def test_a_kept_secret_lies_in_the_version_alone(storage: PostgresStorage, org: Builder, urls: Urls) -> None:
    memory = org.save(storage, org.memory("Bo", "key hunter2-raw", masked="key [password]"), entry("key [password]"))
    with storage.begin(org.reach(storage, "Bo")) as tx:
        assert tx.memory(memory.id) == memory
        assert [found.content for found in tx.browse(Browse(Listing.MINE, 5, tx.now))] == ["key hunter2-raw"]
    assert holding(urls, "hunter2-raw") == {"memory_version"}
    org.change(storage, memory, content="key [password]", masked=None)
    assert holding(urls, "hunter2-raw") == set()

    memory = org.save(storage, org.memory("Bo", "key other-raw", masked="key [password]"), entry("key [password]"))
    with storage.begin(org.reach(storage, "Bo"), org.act("Bo", "memory.move")) as tx:
        before = tx.memory(memory.id, lock=True)
        assert before is not None
        tx.update(before, replace(before, content="key [password]", masked=None, version=2))
    assert holding(urls, "other-raw") == set()


def holding(urls: Urls, text: str) -> set[str]:
    """The tables in which a text lies anywhere."""
    with psycopg.connect(urls.owner) as connection:
        names = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'memscope'").fetchall()
        return {
            name
            for (name,) in names
            if connection.execute(f"SELECT true FROM memscope.{name} t WHERE position(%s IN t::text) > 0 LIMIT 1", [text]).fetchone()
        }


def test_the_copies_that_search_reads_follow_the_memory(storage: PostgresStorage, org: Builder, urls: Urls) -> None:
    memory = saved(storage, org, "Bo", "copied about", "engineering")
    newer = saved(storage, org, "Di", "newer and hidden")
    now = datetime.now(UTC)
    for change in (
        {"place": org.place("organization")},
        {"superseded_by": newer.id, "sensitivity": Sensitivity.PUBLIC},
        {"reviews": org.memory("Bo", "x", flags=[Flag.INSTRUCTIONS]).reviews, "review_state": "open"},
        {"own": False, "valid_until": now},
        {"forgotten_at": now, "forgotten_by": memory.author},
        {"forgotten_at": None, "forgotten_by": None, "reviews": (), "kind": None},
    ):
        memory = org.change(storage, memory, **change)
        org.change(storage, replace(newer, version=memory.version), valid_until=now + timedelta(hours=memory.version))
        with psycopg.connect(urls.owner) as connection:
            for table, more in (("memory_search", ["kind", "valid_until", "link_acts", "link_until"]), ("memory_vector", [])):
                columns = ["audience_id", "author", "own", "forgotten_at IS NULL", "tainted", *more]
                theirs = ", ".join("c.live" if "forgotten" in name else f"c.{name}" for name in columns)
                rows = connection.execute(
                    f"""SELECT ROW({", ".join("m." + name for name in columns)})::text, ROW({theirs})::text
                        FROM memscope.memory m JOIN memscope.{table} c USING (org_id, memory_id) WHERE memory_id = %s""",
                    [memory.id],
                ).fetchall()
                assert len(rows) == 1
                assert rows[0][0] == rows[0][1], table


def test_times_are_utc_whatever_the_servers_zone(storage: PostgresStorage, org: Builder, urls: Urls) -> None:
    with psycopg.connect(urls.app) as connection:
        assert connection.execute("SHOW timezone").fetchone() == (ZONE,)
    until = datetime(2026, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)
    memory = saved(storage, org, "Bo", "in time", valid_until=until, forgotten_at=until, forgotten_by=org.people["Bo"].id)
    with storage.begin(org.operator) as tx:
        found = tx.memory(memory.id)
        assert found == memory
        assert found is not None
        times = [tx.now, found.created_at, found.updated_at, found.valid_until, found.forgotten_at, tx.versions(memory.id)[0].changed_at]
        times += [row.at for row in tx.audit_rows(0, 10)]
    assert all(time is not None and time.tzinfo is UTC for time in times)


# -- search ----------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def library(storage: PostgresStorage) -> Builder:
    """An organization with 300 memories, of which Bo may read two thirds."""
    org = harbor(f"library-{new_id()}").store(storage)
    random = np.random.default_rng(3)
    for number in range(300):
        place, author = (("organization", "Bo"), ("engineering", "Bo"), ("people-ops", "Di"))[number % 3]
        words = " ".join(f"w{word}" for word in random.geometric(0.08, size=8))
        saved(storage, org, author, f"{words} all", place, importance=0.5)
    with storage.owning.borrow() as connection:
        connection.execute("ANALYZE memscope.memory_search, memscope.memory_vector")
    return org


def plan(storage: PostgresStorage, org: Builder, name: str, call: Callable[[PostgresTransaction], object]) -> str:
    """The plans of what a call runs."""
    with storage.begin(org.reach(storage, name)) as tx:
        assert isinstance(tx, PostgresTransaction)
        run = tx._run
        plans: list[str] = []

        def explained(statement: str, values: Any = None) -> Any:
            if statement.lstrip().startswith(("WITH", "SELECT")) and "set_config" not in statement:
                plans.extend(line for (line,) in run(f"EXPLAIN {statement}", values))
            return run(statement, values)

        tx._run = explained  # type: ignore[method-assign]
        call(tx)
    return "\n".join(plans)


def search_for(words: str) -> Callable[[PostgresTransaction], object]:
    vector = np.ones(DIMENSIONS, dtype=np.float32) / DIMENSIONS**0.5
    return lambda tx: tx.search(Question(tuple(words.split()), vector, MODEL, 20), SearchFilter(tx.now))


@pytest.fixture
def broad(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every reader counts as one with very much to read."""
    monkeypatch.setattr(search, "EXACT_BELOW", 0)
    monkeypatch.setattr(search, "EXACT_SHARE", 10**9)


def test_few_memories_are_compared_one_by_one(storage: PostgresStorage, library: Builder) -> None:
    plans = plan(storage, library, "Bo", search_for("w3 w5"))
    assert "vector_nearest" not in plans
    assert "Seq Scan on memory_vector" not in plans


def test_many_go_over_the_indexes_under_row_level_security(storage: PostgresStorage, library: Builder, broad: None) -> None:
    def forced(tx: PostgresTransaction) -> object:
        for setting in ("enable_seqscan", "enable_sort"):  # right for so few rows; here is asked what can be used at all
            tx._run(f"SELECT set_config('{setting}', 'off', true)")
        return search_for("w3 w5")(tx)

    plans = plan(storage, library, "Bo", forced)
    assert "vector_nearest" in plans
    assert "Bitmap Index Scan on search_terms" in plans


def test_both_ways_find_the_same(storage: PostgresStorage, library: Builder, monkeypatch: pytest.MonkeyPatch) -> None:
    words = "w1 w7 w30 unheard-of"
    exact = find(storage, library, "Bo", words, candidates=300)
    reach = library.reach(storage, "Bo")
    with storage.begin(reach) as tx:
        tx.search(Question(("w1",), None, None), SearchFilter(tx.now))
    storage.breadths[reach] = replace(storage.breadths[reach], exact=False, until=float("inf"))
    for leakproof in (True, False):
        monkeypatch.setattr(storage, "leakproof", leakproof)
        indexed = find(storage, library, "Bo", words, candidates=200, reach=reach)
        assert indexed.keys() == exact.keys()
        for id_, hit in exact.items():
            assert indexed[id_].similarity == pytest.approx(hit.similarity)
            assert indexed[id_].words == pytest.approx(hit.words)
            assert set(indexed[id_].matched) == set(hit.matched)


def test_frequent_words_are_not_looked_for_but_weigh(
    storage: PostgresStorage, library: Builder, monkeypatch: pytest.MonkeyPatch, broad: None
) -> None:
    exact = find(storage, library, "Bo", "w2 all", candidates=200)
    monkeypatch.setattr(search, "SCAN_MOST", 100)
    with storage.begin(library.reach(storage, "Bo")) as tx:
        hits = {hit.memory: hit for hit in tx.search(Question(("all", "w2"), None, None, 200), SearchFilter(tx.now))}
    assert hits
    assert all(set(hit.matched) == {"w2", "all"} for hit in hits.values())
    assert {id_ for id_, hit in exact.items() if "w2" in hit.matched} == hits.keys()
    for id_, hit in hits.items():
        assert hit.words == pytest.approx(exact[id_].words, abs=0.02)  # "all" is counted over the sample
        assert hit.words > 0.9


def test_a_narrow_filter_of_a_broad_reader_fills_its_page(storage: PostgresStorage, library: Builder, broad: None) -> None:
    team = frozenset(
        audience for audience in storage.roster(library.organization.id).audiences if audience.place == library.place("engineering")
    )
    found = find(storage, library, "Bo", "all", candidates=100, within=team)
    assert len(found) == 100


def test_a_question_of_many_words(storage: PostgresStorage, library: Builder) -> None:
    words = [f"w{number}" for number in range(1, 60)] + ["x" * 600, "it's \\ 'quoted' & | ! :*"]
    found = find(storage, library, "Bo", " ".join(words))
    assert found
    assert max(len(hit.matched) for hit in found.values()) >= 4


def test_hidden_memories_move_no_score(storage: PostgresStorage, library: Builder) -> None:
    before = find(storage, library, "Bo", "w1 w2 w9")
    for number in range(40):
        saved(storage, library, "Di", f"w1 w2 w9 hidden {number}", "people-ops")
    storage.breadths.clear()
    assert find(storage, library, "Bo", "w1 w2 w9") == before


def test_a_model_is_not_mixed_with_another(storage: PostgresStorage, library: Builder) -> None:
    with pytest.raises(ValueError, match="8 dimensions"):
        storage.use_model(MODEL, DIMENSIONS + 1)
    vector = np.ones(DIMENSIONS, dtype=np.float32) / DIMENSIONS**0.5
    with storage.begin(library.reach(storage, "Bo")) as tx:
        assert tx.search(Question((), vector, "another@1", 10), SearchFilter(tx.now)) == []


def test_the_report_names_a_missing_index(storage: PostgresStorage) -> None:
    assert "indexed, serving" in storage.report()[f"model {MODEL}"]
    with storage.owning.borrow() as connection:
        index = storage.model(connection.execute, MODEL).index
        connection.execute(f"DROP INDEX memscope.{index}")
    assert "NOT indexed" in storage.report()[f"model {MODEL}"]
    storage.use_model(MODEL, DIMENSIONS)
    assert "NOT indexed" not in storage.report()[f"model {MODEL}"]


def test_an_operator_of_no_organization_sees_none(storage: PostgresStorage) -> None:
    with storage.begin(Operator("look", None)) as tx, pytest.raises(ValueError, match="no organization"):
        tx.memory(new_id())
