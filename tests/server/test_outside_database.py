"""Any PostgreSQL with pgvector by URL: another server's database, in another time zone, works the same."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest
from memscope_postgres.embedded import EmbeddedServer, Urls

from memscope.app import MemScope
from memscope.errors import StartError
from memscope.settings import load


@pytest.fixture(scope="module")
def outside(data_folder_factory: Callable[[], AbstractContextManager[Path]]) -> Any:
    """A PostgreSQL that some administrator runs, in the time zone of Kolkata."""
    with data_folder_factory() as folder:
        server = EmbeddedServer(folder)
        urls = server.start()
        with psycopg.connect(urls.superuser, autocommit=True) as connection:
            connection.execute("ALTER DATABASE memscope SET timezone = 'Asia/Kolkata'")
        yield urls
        server.release()


def test_agents_save_and_recall_on_an_outside_database(
    outside: Urls, start: Callable[..., AbstractContextManager[Any]], settle: Callable[..., Any]
) -> None:
    environ = {"MEMSCOPE_DATABASE_URL": outside.app, "MEMSCOPE_DATABASE_OWNER_URL": outside.owner}
    with start("postgres", **environ) as live, ExitStack() as stack:
        office = settle(live, stack)
        ben, dora = office.as_("ben"), office.as_("dora")
        saved = ben.remember("The mooring fees rise in May.", team="platform", valid_until="2027-01-31")
        assert saved["valid_until"] == "2027-02-01T00:00:00Z"
        assert abs(datetime.fromisoformat(saved["created_at"]) - datetime.now(UTC)).total_seconds() < 3600
        assert ben.found("When do the mooring fees rise?")[0] == "The mooring fees rise in May."
        assert dora.found("When do the mooring fees rise?") == []


def test_one_url_of_a_role_that_may_make_others_is_enough(
    outside: Urls, start: Callable[..., AbstractContextManager[Any]], settle: Callable[..., Any]
) -> None:
    with psycopg.connect(outside.superuser, autocommit=True) as connection:
        connection.execute("CREATE DATABASE alone")
    url = outside.superuser.replace("/memscope?", "/alone?")
    for _ in range(2):
        with start("postgres", MEMSCOPE_DATABASE_URL=url, MEMSCOPE_SERVER_KEY="k" * 32) as live, ExitStack() as stack:
            ben = settle(live, stack).as_("ben")
            ben.remember("The crane is serviced in April.", team="platform")
            assert ben.found("crane service") == ["The crane is serviced in April."]
    with psycopg.connect(url) as connection:
        powerful = connection.execute("SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname LIKE 'memscope_app_%'").fetchall()
    assert powerful == [(False,)]


def test_the_server_refuses_to_serve_as_owner_or_superuser(outside: Urls, tmp_path: Path) -> None:
    for url in (outside.owner, outside.superuser):
        app = MemScope.from_settings(
            load(None, {"MEMSCOPE_DATABASE_URL": url, "MEMSCOPE_DATABASE_OWNER_URL": outside.owner}, data_dir=tmp_path)
        )
        with pytest.raises(StartError, match="(?i)row-level security|superuser|own"):
            app.open()


def test_a_database_that_is_not_there_is_named_without_its_password(tmp_path: Path) -> None:
    app = MemScope.from_settings(
        load(None, {"MEMSCOPE_DATABASE_URL": "postgresql://memscope:hush@127.0.0.1:1/memscope"}, data_dir=tmp_path)
    )
    with pytest.raises(StartError, match="database") as refused:
        app.open()
    assert "hush" not in str(refused.value)
