"""The settings section `[database]`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DatabaseSettings:
    """Where the data lies. Without `url` the server starts its own PostgreSQL in the data folder."""

    url: str | None = None
    """`postgresql://...` of the application role, which owns nothing and cannot bypass row-level security; or, without `owner_url`, of the
    owner, who may make roles: an application role is then made for this server."""
    owner_url: str | None = None
    """`postgresql://...` of the role that owns the tables: migrations, upkeep and commands. Default: `url`. Its connections hold
    session locks, so it must not go through a transaction pooler."""
    run_as: str | None = None
    """User that the embedded server runs as when MemScope runs as root. Default: `postgres`, else `nobody`."""
    pool_size: int = 8
    """Connections kept open by one process for requests."""
    pool_wait_ms: int = 5_000
    """How long a request waits for a connection before it answers `unavailable`."""
    lock_wait_ms: int = 5_000
    """How long a statement waits for a lock before it answers `unavailable`."""
    statement_ms: int = 30_000
    """How long one statement of a request may run before it answers `unavailable`."""
    prepared_statements: bool = True
    """False behind a transaction pooler that does not know prepared statements (PgBouncer before 1.21)."""

    def __post_init__(self) -> None:
        for name in ("pool_size", "pool_wait_ms", "lock_wait_ms", "statement_ms"):
            if getattr(self, name) < 1:
                raise ValueError(f"database.{name} must be at least 1")
        for name in ("url", "owner_url"):
            value = getattr(self, name)
            if value is not None and not value.startswith(("postgresql://", "postgres://", "postgresql+psycopg://")):
                raise ValueError(f"database.{name} must begin with postgresql://")
        if self.owner_url is not None and self.url is None:
            raise ValueError("database.owner_url needs database.url: the role that requests are served with")
