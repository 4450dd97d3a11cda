"""What operators do: vectors that are missing, erasing, reading the audit chain."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from memscope.contracts.storage import AuditSearch, Unindexed
from memscope.model.audit import Act, ApprovedVia, AuditRow
from memscope_postgres import rows
from memscope_postgres.organizations import Run
from memscope_postgres.pool import Half

if TYPE_CHECKING:
    from memscope.contracts.embedding import Vectors


def unindexed(run: Run, org: str, model: int, limit: int) -> list[Unindexed]:
    """Memories that lack vectors of a model, oldest first."""
    found = run(
        """SELECT m.memory_id, m.content, p.name, m.created_at
           FROM memscope.memory m JOIN memscope.person p ON p.org_id = m.org_id AND p.person_id = m.author
           WHERE m.org_id = %(org)s AND NOT EXISTS (SELECT FROM memscope.memory_vector v
             WHERE v.org_id = m.org_id AND v.memory_id = m.memory_id AND v.model = %(model)s)
           ORDER BY m.memory_id LIMIT %(limit)s""",
        {"org": org, "model": model, "limit": limit},
    )
    return [Unindexed(id_, text, author, created_at.astimezone(UTC)) for id_, text, author, created_at in found]


def write_vectors(run: Run, org: str, memory: str, model: int, vectors: Vectors, text: str) -> None:
    """Add vectors of a memory's masked text unless the text changed meanwhile or somebody else has added them."""
    row = run(
        "SELECT FROM memscope.memory WHERE org_id = %(org)s AND memory_id = %(memory)s AND content = %(text)s FOR UPDATE",
        {"org": org, "memory": memory, "text": text},
    ).fetchone()
    if row is not None:
        add_vectors(run, memory, model, vectors)


def add_vectors(run: Run, memory: str, model: int, vectors: Vectors) -> None:
    """Add the vectors of a memory's passages."""
    for passage, vector in enumerate(vectors):
        run("SELECT memscope.index_passage(%s, %s::smallint, %s::smallint, %s)", (memory, model, passage, Half(vector)))


def forgotten_before(run: Run, org: str, moment: datetime, limit: int) -> list[str]:
    """Ids of memories forgotten before a moment, oldest first."""
    found = run(
        "SELECT memory_id FROM memscope.memory WHERE org_id = %s AND forgotten_at < %s ORDER BY forgotten_at, memory_id LIMIT %s",
        (org, moment, limit),
    )
    return [id_ for (id_,) in found]


def erase(run: Run, org: str, memory: str) -> Mapping[str, str]:
    """Erase one memory and everything derived from it; returns counts."""
    key = {"org": org, "memory": memory}
    if run("SELECT FROM memscope.memory WHERE org_id = %(org)s AND memory_id = %(memory)s FOR UPDATE", key).fetchone() is None:
        raise KeyError(memory)
    run("UPDATE memscope.memory SET superseded_by = NULL WHERE org_id = %(org)s AND superseded_by = %(memory)s", key)
    # The key stays taken, so that a late retry cannot save the memory again; what was made from its text goes.
    run("UPDATE memscope.idempotency SET digest = '' WHERE org_id = %(org)s AND memory_id = %(memory)s", key)
    gone = {
        table: run(f"DELETE FROM memscope.{table} WHERE org_id = %(org)s AND memory_id = %(memory)s", key).rowcount
        for table in ("memory_search", "ticket", "memory_version", "memory_vector")
    }
    run("DELETE FROM memscope.memory WHERE org_id = %(org)s AND memory_id = %(memory)s", key)
    return {"versions": str(gone["memory_version"]), "vectors": str(gone["memory_vector"])}


def all_memories(run: Run, org: str, after: str | None, limit: int) -> list[tuple[Any, ...]]:
    """Rows of every memory, by id."""
    return run(
        f"SELECT {rows.MEMORY} FROM memscope.memory m WHERE m.org_id = %(org)s "
        + ("" if after is None else "AND m.memory_id > %(after)s ")
        + "ORDER BY m.memory_id LIMIT %(limit)s",
        {"org": org, "after": after, "limit": limit},
    ).fetchall()


def audit_rows(run: Run, org: str, after: int, limit: int) -> list[AuditRow]:
    """The chain from a position on."""
    found = run(
        f"SELECT {_AUDIT} FROM memscope.audit WHERE org_id = %s AND position > %s ORDER BY position LIMIT %s",
        (org, after, limit),
    )
    return _rows(found.fetchall())


def find_audit(run: Run, org: str, search: AuditSearch) -> list[AuditRow]:
    """Rows of the chain that a search finds, newest first."""
    condition, values = _searched(org, search)
    return _rows(run(f"SELECT {_AUDIT} FROM memscope.audit WHERE {condition} ORDER BY position DESC LIMIT %(limit)s", values).fetchall())


def count_audit(run: Run, org: str, search: AuditSearch) -> int:
    """How many a search finds, up to its limit."""
    condition, values = _searched(org, search)
    row = run(f"SELECT count(*) FROM (SELECT FROM memscope.audit WHERE {condition} LIMIT %(limit)s) AS x", values).fetchone()
    return 0 if row is None else int(row[0])


def _searched(org: str, search: AuditSearch) -> tuple[str, dict[str, Any]]:
    """A search as a condition, with its values."""
    beginning = search.action is not None and search.action.endswith("*")
    action = None if search.action is None else _literal(search.action[:-1]) + "%" if beginning else search.action
    values = {
        "before": search.before,
        "actor": search.actor,
        "action": action,
        "target": search.target,
        "connection": search.connection,
        "agent": search.agent,
        "run": search.run_id,
        "result": search.result,
        "request": search.request,
        "since": search.since,
        "until": search.until,
    }
    conditions = {
        "before": "position < %(before)s",
        "actor": "actor = %(actor)s",
        "action": f"action {'LIKE' if beginning else '='} %(action)s",
        "target": "target = %(target)s",
        "connection": "connection = %(connection)s",
        "agent": "agent = %(agent)s",
        "run": "run_id = %(run)s",
        "result": "approved_via = %(result)s",
        "request": "detail ? 'request' AND detail ->> 'request' = %(request)s",
        "since": "at >= %(since)s",
        "until": "at < %(until)s",
    }
    given = [condition for name, condition in conditions.items() if values[name] is not None]
    return " AND ".join(["org_id = %(org)s", *given]), {"org": org, "limit": search.limit, **values}


def _literal(text: str) -> str:
    """A text in which LIKE finds itself alone."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


_AUDIT = "position, at, action, actor, connection, target, approved_via, agent, run_id, detail, previous, digest"


def _rows(found: Iterable[tuple[Any, ...]]) -> list[AuditRow]:
    return [
        AuditRow(
            position=position,
            at=at.astimezone(UTC),
            act=Act(action, actor, connection, target, ApprovedVia(approved_via), agent, run_id, detail),
            previous=previous,
            digest=digest,
        )
        for position, at, action, actor, connection, target, approved_via, agent, run_id, detail, previous, digest in found
    ]
