"""The database's schema, by Alembic. Run under an advisory lock as the owner; never at a request."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from memscope.errors import StartError

if TYPE_CHECKING:
    import psycopg

HEAD = "0002"
"""The newest revision; known here so that a start with nothing to do need not load Alembic. A test compares."""

LOCK = 0x6D656D73636F7065
"""Key of the advisory lock: the letters of `memscope`."""


def current(connection: psycopg.Connection[Any]) -> str | None:
    """The database's revision; None when MemScope has no tables there yet."""
    row = connection.execute("SELECT to_regclass('memscope.alembic_version')::text").fetchone()
    if row is None or row[0] is None:
        return None
    row = connection.execute("SELECT version_num FROM memscope.alembic_version").fetchone()
    return None if row is None else str(row[0])


def upgrade(url: str, found: str | None) -> None:
    """Bring the database up to `HEAD`; StartError when it is newer than this code. The caller holds the lock."""
    import alembic.command
    from alembic.config import Config
    from alembic.script import ScriptDirectory
    from alembic.util import CommandError
    from sqlalchemy import create_engine, text
    from sqlalchemy.pool import NullPool

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    if found is not None:
        try:
            ScriptDirectory.from_config(config).get_revision(found)
        except CommandError:
            raise newer(found) from None
    engine = create_engine(sqlalchemy_url(url), poolclass=NullPool)
    with engine.begin() as connection:  # all or nothing
        connection.execute(text("CREATE SCHEMA IF NOT EXISTS memscope"))
        config.attributes["connection"] = connection
        alembic.command.upgrade(config, HEAD)


def newer(found: str) -> StartError:
    """The error for a database that a newer MemScope has migrated."""
    return StartError(
        f"The database was migrated by a newer MemScope (revision {found}; this one knows up to {HEAD}). "
        "Start the newer version, or restore a backup made by this one."
    )


def sqlalchemy_url(url: str) -> str:
    """A PostgreSQL URL with the driver that SQLAlchemy is to use."""
    return "postgresql+psycopg://" + url.partition("://")[2]
