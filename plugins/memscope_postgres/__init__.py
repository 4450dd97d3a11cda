"""Storage in PostgreSQL with pgvector: embedded by default, outside by URL. Row-level security is the second wall."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memscope.contracts.plugins import Provider, SettingsSection
from memscope.hookspecs import hookimpl
from memscope_postgres.settings import DatabaseSettings

if TYPE_CHECKING:
    from memscope.contracts.storage import Storage, StorageHost


def _open(section: DatabaseSettings | None, host: StorageHost) -> Storage:
    from memscope_postgres.storage import PostgresStorage

    return PostgresStorage(section or DatabaseSettings(), host)


@hookimpl
def memscope_storage() -> Provider[Storage]:
    """Offer the storage named `postgres`, with the settings section `[database]`."""
    return Provider(name="postgres", open=_open, section=SettingsSection("database", DatabaseSettings))
