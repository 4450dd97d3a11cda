"""The two database roles: the owner migrates, the application role serves and owns nothing."""

from __future__ import annotations

import contextlib
import hmac
from typing import TYPE_CHECKING, Any

from memscope.errors import StartError

if TYPE_CHECKING:
    import psycopg

#: What the application role may do on each table; rows are row-level security's business.
GRANTS: dict[str, str] = {
    "alembic_version": "SELECT",
    "organization": "SELECT, UPDATE",
    "person": "SELECT, INSERT, UPDATE",
    "grp": "SELECT, INSERT, UPDATE, DELETE",
    "membership": "SELECT, INSERT, UPDATE, DELETE",
    "topic": "SELECT, INSERT, UPDATE",
    "guard_team": "SELECT, INSERT, DELETE",
    "connection": "SELECT, INSERT, UPDATE",
    "connection_use": "SELECT, INSERT, UPDATE",
    "audience": "SELECT, INSERT",
    "memory": "SELECT, INSERT, UPDATE",
    "memory_version": "SELECT, INSERT, UPDATE",
    "memory_search": "SELECT",
    "memory_vector": "SELECT",
    "model": "SELECT",
    "idempotency": "SELECT, INSERT",
    "ticket": "SELECT, INSERT, UPDATE",
    "record": "SELECT, INSERT, UPDATE, DELETE",
}


def own_application(url: str, server_key: bytes) -> str:
    """The URL of an application role of this server's own, for an administrator who gave one URL: that of a role that may make others.

    Its password follows from the server key, so that servers which share the key share the role. A role that may make none is returned
    as it is: it is then refused with what to do, unless it is an application role already. Raises StartError.
    """
    import psycopg
    from psycopg import sql
    from psycopg.conninfo import make_conninfo

    from memscope_postgres.pool import connect

    secret = hmac.digest(server_key, b"database/application role", "sha256").hex()
    name = f"memscope_app_{secret[:8]}"
    try:
        with connect(url) as connection:
            may = connection.execute("SELECT rolsuper OR rolcreaterole FROM pg_roles WHERE rolname = current_user").fetchone()
            if may is None or not may[0]:
                return url
            if connection.execute("SELECT FROM pg_roles WHERE rolname = %s", (name,)).fetchone() is None:
                make = sql.SQL("CREATE ROLE {} LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEROLE PASSWORD {}")
                with contextlib.suppress(psycopg.errors.DuplicateObject, psycopg.errors.UniqueViolation):  # another server was faster
                    connection.execute(make.format(sql.Identifier(name), sql.Literal(secret[8:])))
    except psycopg.OperationalError as error:
        said = " ".join(str(error).split())
        raise StartError(f"The database cannot be reached. Check database.url. It said: {said}") from error
    return make_conninfo(url.replace("postgresql+psycopg://", "postgresql://", 1), user=name, password=secret[8:])


def grant(owner: psycopg.Connection[Any], application: str) -> None:
    """Let the application role do what it needs; nothing on the audit log but to append."""
    from psycopg import sql

    role = sql.Identifier(application)
    owner.execute(sql.SQL("GRANT USAGE ON SCHEMA memscope TO {}").format(role))
    owner.execute(sql.SQL("GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA memscope TO {}").format(role))
    for table, rights in GRANTS.items():
        owner.execute(sql.SQL("GRANT {} ON {} TO {}").format(sql.SQL(rights), sql.Identifier("memscope", table), role))


def refuse_powerful(application: psycopg.Connection[Any]) -> None:
    """Raise StartError when row-level security would not hold for the role that is to serve."""
    row = application.execute(
        """SELECT session_user::text, r.rolsuper OR r.rolbypassrls,
                  EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                          WHERE n.nspname = 'memscope' AND pg_has_role(session_user, c.relowner, 'MEMBER'))
           FROM pg_roles r WHERE r.rolname = session_user"""
    ).fetchone()
    if row is None:
        raise StartError("The database does not say which role is signed in.")
    name, bypasses, owns = row
    if bypasses or owns:
        why = "is a superuser or bypasses row-level security" if bypasses else "owns MemScope's tables"
        raise StartError(
            f"The database role {name!r} {why}, so the database could not stop a query that forgets who is asking. "
            "Make a role for requests alone (CREATE ROLE memscope_app LOGIN PASSWORD '...'), set database.url to it, "
            "and set database.owner_url to the role that owns the tables."
        )
