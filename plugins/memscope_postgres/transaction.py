"""One unit of work: every statement about memories, within a reach or for an operator."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

import psycopg
from psycopg.types.json import Jsonb

from memscope.contracts.requests import noted
from memscope.contracts.storage import (
    AuditSearch,
    Browse,
    Claim,
    Hit,
    IndexEntry,
    Listing,
    NumberTaken,
    Operator,
    Question,
    Revoked,
    SearchFilter,
    Stale,
    Ticket,
    Unindexed,
)
from memscope.model.audience import Audience, Reach
from memscope.model.audit import Act, AuditRow, canonical
from memscope.model.memory import Memory, Version
from memscope.model.organization import Connection, Group, GroupRole, Organization, Person, Topic
from memscope_postgres import organizations, rows, search, upkeep
from memscope_postgres.audiences import Terms, array
from memscope_postgres.pool import Lease, Values, tell
from memscope_postgres.settings import DatabaseSettings

if TYPE_CHECKING:
    from memscope.contracts.embedding import Vectors
    from memscope_postgres.storage import PostgresStorage

FEW_AUDIENCES = 50
"""Looked up one by one in any case."""
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

#: Actions in these areas change no policy fact, so their transactions only share the organization's epoch row. All others take
#: it for themselves at once: two that share it and then both want it would wait for each other.
_SHARING = frozenset({"memory", "review", "approval", "ticket", "connection", "token", "audit"})


def _uuid(text: str) -> str:
    """An id that is safe inside a statement's text."""
    if _UUID.fullmatch(text) is None:
        raise ValueError("no id of MemScope's")
    return text


Mode = Literal["read", "share", "alone"]


def _mode(act: Act | None) -> Mode:
    if act is None:
        return "read"
    return "share" if act.action.partition(".")[0] in _SHARING else "alone"


@lru_cache(maxsize=2048)
def variables(organization: str, terms: Terms | None, settings: DatabaseSettings) -> str:
    """The statement that sets a transaction's variables, all local to it. `terms` is None for an operator."""
    values = {
        "memscope.org": _uuid(organization),
        "plan_cache_mode": "force_generic_plan",
        "jit": "off",
        "lock_timeout": f"{settings.lock_wait_ms}ms",
        "hnsw.iterative_scan": "relaxed_order",
        "hnsw.ef_search": "100",
        "hnsw.max_scan_tuples": "40000",
    }
    if terms is not None:
        values |= {
            "statement_timeout": f"{settings.statement_ms}ms",
            "memscope.person": _uuid(terms.person),
            "memscope.anybody": terms.arrays["anybody"],
            "memscope.mine": terms.arrays["mine"],
            "memscope.reviewer": terms.arrays["reviewer"],
            "memscope.revealed": array(map(_uuid, terms.revealed)),
            "memscope.forgotten": "on" if terms.forgotten else "",
        }
    return "SELECT " + " AND ".join(f"set_config('{name}', '{value}', true) IS NOT NULL" for name, value in values.items())


@lru_cache(maxsize=2048)
def begin_statement(organization: str, terms: Terms | None, connection: str | None, mode: Mode, settings: DatabaseSettings) -> str:
    """All that begins a transaction, as one message: variables, epoch and time, and whether the connection still stands."""
    head = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY" if mode == "read" else "BEGIN ISOLATION LEVEL READ COMMITTED"
    lock = {"read": "", "share": " FOR SHARE", "alone": " FOR NO KEY UPDATE"}[mode]
    statements = [
        head,
        variables(organization, terms, settings),
        f"SELECT epoch, now() FROM memscope.organization WHERE org_id = '{organization}'{lock}",
    ]
    if mode != "read" and connection is not None:
        statements.append(
            "SELECT c.revoked_at IS NULL AND (c.expires_at IS NULL OR c.expires_at > now()) AND p.active "
            "FROM memscope.connection c JOIN memscope.person p ON p.org_id = c.org_id AND p.person_id = c.person_id "
            f"WHERE c.org_id = '{organization}' AND c.connection_id = '{_uuid(connection)}' FOR SHARE OF c"
        )
    return ";".join(statements)


class PostgresTransaction(AbstractContextManager["PostgresTransaction"]):
    """Implements `memscope.contracts.storage.Transaction`."""

    def __init__(self, storage: PostgresStorage, reach: Reach | Operator, act: Act | None) -> None:
        self._storage = storage
        self._act = act
        self._reach = reach if isinstance(reach, Reach) else None
        self._operator = reach if isinstance(reach, Operator) else None
        self._organization = reach.organization
        self._terms: Terms | None = None
        self._raised = False
        self._opened: list[str] = []
        self._lease: Lease | None = None
        self._now = datetime.now(UTC)

    # the unit of work
    def __enter__(self) -> PostgresTransaction:
        """Begin; raises Stale and Revoked."""
        pool = self._storage.serving if self._operator is None else self._storage.owning
        self._lease = pool.take()
        try:
            self._begin()
        except psycopg.Error as error:
            self._end()
            tell(error)
        except BaseException:
            self._end()
            raise
        return self

    def _begin(self) -> None:
        assert self._lease is not None
        connection = self._lease.connection
        if self._organization is None:
            connection.execute("BEGIN READ ONLY" if self._act is None else "BEGIN")
            return
        reach = self._reach
        if reach is not None:
            self._terms = self._storage.terms(reach, connection)
        through = None if reach is None else reach.connection
        cursor = connection.execute(begin_statement(self._organization, self._terms, through, _mode(self._act), self._storage.settings))
        cursor.nextset()
        cursor.nextset()
        row = cursor.fetchone()
        if row is None:
            raise KeyError(self._organization)
        if reach is not None and row[0] != reach.epoch:
            raise Stale
        self._now = row[1].astimezone(UTC)
        if self._act is not None and reach is not None and reach.connection is not None:
            cursor.nextset()
            standing = cursor.fetchone()
            if standing is None or not standing[0]:
                raise Revoked

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Chain the audit row and commit; on an exception nothing stands."""
        assert self._lease is not None
        try:
            if kind is None:
                try:
                    if self._act is not None:
                        self._append_audit(self._act)
                    self._lease.connection.execute("COMMIT")
                except psycopg.Error as failure:
                    tell(failure)
            elif isinstance(error, psycopg.Error):
                tell(error)
        finally:
            self._end()

    def _end(self) -> None:
        if self._lease is not None:
            self._lease.give_back()
            self._lease = None

    def _append_audit(self, act: Act) -> None:
        if self._organization is None:
            raise ValueError("an act needs an organization")
        if self._operator is not None:
            act = replace(act, detail={**act.detail, "reason": self._operator.reason})
        act = replace(act, detail=noted(act.detail))
        self._run(
            "SELECT memscope.append_audit(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
            (
                canonical(self._now, act),
                self._now,
                act.action,
                act.actor,
                act.connection,
                act.target,
                act.approved_via.value,
                act.agent,
                act.run_id,
                Jsonb(dict(act.detail)),
            ),
        )

    def _run(self, statement: str, values: Values | None = None) -> psycopg.Cursor[tuple[Any, ...]]:
        """A statement whose best plan does not depend on its values: prepared and planned once."""
        return self._execute(statement, values, None)

    def _plan(self, statement: str, values: Values | None = None) -> psycopg.Cursor[tuple[Any, ...]]:
        """A statement that is planned for its values each time: a plan for any reach would be slow for most."""
        return self._execute(statement, values, False)

    def _plan_anew(self, statement: str, values: Values | None = None) -> psycopg.Cursor[tuple[Any, ...]]:
        """A statement whose best plan depends on how frequent its very values are."""
        self._run("SET LOCAL plan_cache_mode = auto")
        return self._plan(statement, values)

    def _execute(self, statement: str, values: Values | None, prepare: bool | None) -> psycopg.Cursor[tuple[Any, ...]]:
        if self._lease is None:
            raise RuntimeError("the transaction is over")
        try:
            return self._lease.connection.execute(statement, values, prepare=prepare)
        except psycopg.Error as error:
            tell(error)

    @property
    def _org(self) -> str:
        if self._organization is None:
            raise ValueError("this transaction is in no organization")
        return self._organization

    def _writing(self) -> None:
        if self._act is None:
            raise RuntimeError("no act, no writes")

    def _operating(self) -> None:
        if self._operator is None:
            raise RuntimeError("for operators only")

    def _audience(self, number: int) -> Audience:
        return self._storage.audiences(self._org).value(self._run, number)

    def _audience_id(self, audience: Audience) -> int:
        return self._storage.audiences(self._org).id(self._run, audience)

    @property
    def now(self) -> datetime:
        """The transaction's time, UTC."""
        return self._now

    def describe(self, act: Act) -> None:
        """Replace the act with one that says what became known inside the transaction."""
        self._writing()
        self._act = act

    # reading memories
    def _sees(self, memory: Memory, *, by_id: bool) -> bool:
        """Whether a memory is within the reach; row-level security has said so already.

        `by_id`: as a reviewer, or because it was revealed or locked by this transaction, too.
        """
        terms = self._terms
        if terms is None or memory.id in self._opened:
            return by_id or memory.forgotten_at is None
        audience = self._audience_id(memory.audience)
        if memory.forgotten_at is not None:
            mine = memory.author if memory.forgotten_by == terms.person else ""
            return terms.forgotten and terms.opens(audience, mine, memory.own)
        if terms.opens(audience, memory.author, memory.own):
            return True
        reviews = memory.flagged and (memory.author == terms.person or audience in terms.reviewer)
        return by_id and (reviews or memory.id in terms.revealed)

    def _memories(self, found: Iterable[tuple[Any, ...]]) -> list[Memory]:
        """Memories from rows of `rows.MEMORY`, those with a secret as they were saved."""
        memories = [rows.memory(row, self._audience) for row in found]
        secret = [memory.id for memory in memories if memory.masked is not None]
        if not secret:
            return memories
        raw = dict(
            self._run(
                """SELECT DISTINCT ON (memory_id) memory_id, content FROM memscope.memory_version
                   WHERE org_id = %(org)s AND memory_id = ANY(%(ids)s::uuid[]) ORDER BY memory_id, version DESC""",
                {"org": self._org, "ids": secret},
            ).fetchall()
        )
        return [replace(memory, content=raw[memory.id]) if memory.masked is not None else memory for memory in memories]

    def memory(self, reference: str | int, *, lock: bool = False) -> Memory | None:
        """By id or number, within the reach, `reviewer` and `revealed` included."""
        if lock:
            self._writing()
        if isinstance(reference, str) and _UUID.fullmatch(reference) is None:
            return None
        row = self._run(
            f"SELECT {rows.MEMORY} FROM memscope.memory m WHERE m.org_id = %(org)s "
            f"AND m.{'number' if isinstance(reference, int) else 'memory_id'} = %(reference)s{' FOR UPDATE' if lock else ''}",
            {"org": self._org, "reference": reference},
        ).fetchall()
        for memory in self._memories(row):
            if self._sees(memory, by_id=True):
                if lock:
                    self._open(memory.id)
                return memory
        return None

    def _open(self, memory: str) -> None:
        """From here on the memory is visible to this transaction, whatever becomes of it."""
        if memory not in self._opened:
            self._opened.append(memory)
            self._run("SELECT set_config('memscope.opened', %s, true)", (array(self._opened),))

    def memories(self, ids: Sequence[str]) -> Mapping[str, Memory]:
        """Those of the ids that are within the reach without `reviewer`."""
        wanted = [id_ for id_ in ids if _UUID.fullmatch(id_)]
        if not wanted:
            return {}
        found = self._run(
            f"SELECT {rows.MEMORY} FROM memscope.memory m WHERE m.org_id = %(org)s AND m.memory_id = ANY(%(ids)s::uuid[])",
            {"org": self._org, "ids": array(wanted)},
        ).fetchall()
        return {memory.id: memory for memory in self._memories(found) if self._sees(memory, by_id=False)}

    def versions(self, memory: str) -> tuple[Version, ...]:
        """The texts a memory has had, newest first."""
        if self.memory(memory) is None:
            return ()
        found = self._run(
            f"SELECT {rows.VERSION} FROM memscope.memory_version v WHERE v.org_id = %(org)s AND v.memory_id = %(memory)s ORDER BY v.version DESC",
            {"org": self._org, "memory": memory},
        ).fetchall()
        return tuple(rows.version(row, self._audience) for row in found)

    def search(self, question: Question, where: SearchFilter) -> list[Hit]:
        """Candidates of both legs."""
        return search.search(self._storage, self._run, self._org, self._reach, self._terms, question, where)

    def nearest(self, vector: Vectors, model: str, limit: int) -> list[tuple[str, float]]:
        """Ids and cosines of the nearest memories within the reach."""
        return search.nearest(self._storage, self._run, self._org, self._reach, self._terms, vector, model, limit)

    def browse(self, page: Browse) -> list[Memory]:
        """A page."""
        terms = self._terms
        if page.within is not None:
            audiences = self._storage.audiences(self._org)
            ids = audiences.ids(page.within, lambda: audiences.load(self._run))
            terms = Terms("", ids, frozenset(), frozenset(), frozenset(), False) if terms is None else terms.within(ids)
        reviewing = page.listing is Listing.REVIEW
        conditions = [self._in_queue() if reviewing else self._listed(terms, page.listing)]
        conditions.append(f"m.forgotten_at IS {'NOT ' if page.listing is Listing.FORGOTTEN else ''}NULL")
        if reviewing and page.within is not None:
            conditions.append("(m.audience_id IN (SELECT unnest(%(within)s::int[])) OR false)")
        if page.listing is Listing.MINE:
            conditions.append("m.author = %(me)s")
        if page.listing is Listing.BOARD:
            conditions.append("m.kind = 'handoff' AND NOT m.tainted")
            if not page.include_expired:
                conditions.append("(m.valid_until IS NULL OR m.valid_until > %(now)s)")
            if not page.include_superseded:
                conditions.append("NOT (m.link_acts AND (m.link_until IS NULL OR m.link_until > %(now)s))")
        if page.kind is not None:
            conditions.append("m.kind = %(kind)s")
        for label in ("agent", "run_id"):
            if getattr(page, label) is not None:
                conditions.append(
                    f"EXISTS (SELECT FROM memscope.memory_version v WHERE v.org_id = m.org_id AND v.memory_id = m.memory_id "
                    f"AND v.{label} = %({label})s{'' if self._terms is None else ' AND (NOT v.doubtful OR v.person_id = %(me)s)'})"
                )
        conditions += self._filters(page)
        position = "m.opened_at" if reviewing else "m.updated_at" if page.by_change else "m.created_at"
        rising = (reviewing or page.oldest_first) is not page.backwards
        if page.after is not None:
            conditions.append(f"({position}, m.memory_id) {'>' if rising else '<'} (%(at)s, %(after)s)")
        order = "ASC" if rising else "DESC"
        at, after = page.after or (None, None)
        order = f"ORDER BY {position} {order}, m.memory_id {order} LIMIT %(limit)s"
        if page.within is not None and terms is not None and page.listing in (Listing.ALL, Listing.MINE) and self._few(terms):
            statement = self._by_audience(conditions[1:], order, author=bool(terms.mine))
        else:
            statement = f"SELECT {rows.MEMORY} FROM memscope.memory m WHERE {' AND '.join(conditions)} {order}"
        found = self._plan(
            statement,
            {
                "me": None,
                **search.values(self._org, terms),
                "within": None if terms is None else terms.arrays["anybody"],
                "kind": None if page.kind is None else page.kind.value,
                "agent": page.agent,
                "run_id": page.run_id,
                "at": at,
                "after": after,
                "now": page.now,
                "limit": page.limit,
                "author": page.author,
                "since": page.since,
                "until": page.until,
                "expires_before": page.expires_before,
                "replaced_by": page.replaced_by,
                "query": " & ".join(rows.quoted(term) for term in page.terms),
            },
        ).fetchall()
        return self._memories(found)

    def _few(self, narrowed: Terms) -> bool:
        """Whether a filter by audience leaves so little of the reach that reading in order would wade through what it leaves out."""
        whole = 0 if self._terms is None else len(self._terms.anybody)
        return len(narrowed.anybody) <= max(FEW_AUDIENCES, whole // 2)

    def _by_audience(self, conditions: list[str], order: str, *, author: bool) -> str:
        """The first of each audience, by its index, and of these the first: what a filter by audience leaves may lie far apart."""
        condition = " AND ".join(conditions)
        first = "SELECT m.* FROM memscope.memory m WHERE m.org_id = %(org)s AND"
        parts = [
            "SELECT x.* FROM unnest(%(anybody)s::int[]) AS a (id) CROSS JOIN LATERAL "
            f"({first} m.audience_id = a.id AND {condition} {order}) x"
        ]
        if author:
            parts.append(f"({first} m.author = %(me)s AND ({search.as_author('m')} OR false) AND {condition} {order})")
        return f"SELECT {rows.MEMORY} FROM ({' UNION ALL '.join(parts)}) m {order}"

    def _filters(self, page: Browse) -> list[str]:
        """What a page's memories must be like beside the reach, as conditions on `memscope.memory m`."""
        acts = "(m.superseded_by IS NOT NULL AND m.link_acts AND (m.link_until IS NULL OR m.link_until > %(now)s))"
        past = "(m.valid_until IS NOT NULL AND m.valid_until <= %(now)s)"
        conditions = [
            condition
            for given, condition in (
                (page.author, "m.author = %(author)s"),
                (page.since, "m.created_at >= %(since)s"),
                (page.until, "m.created_at < %(until)s"),
                # Both ends of the range, so that the planner sees how narrow it is.
                (
                    page.expires_before,
                    "m.valid_until < %(expires_before)s" + (" AND m.valid_until > %(now)s" if page.expired is False else ""),
                ),
                (page.replaced_by, "m.superseded_by = %(replaced_by)s"),
            )
            if given is not None
        ]
        for wanted, condition in ((page.flagged, "m.flagged"), (page.superseded, acts), (page.expired, past)):
            if wanted is not None:
                conditions.append(condition if wanted else f"NOT {condition}")
        if page.terms:
            usable = page.listing is not Listing.FORGOTTEN and all(map(rows.usable, page.terms))
            conditions.append(f"m.memory_id IN ({self._holding()})" if usable else "false")
        return conditions

    def _holding(self) -> str:
        """Ids of memories that hold every term of `query`: row-level security shows this table's rows within the reach alone."""
        if self._storage.leakproof or self._terms is None:
            return "SELECT s.memory_id FROM memscope.memory_search s WHERE s.org_id = %(org)s AND s.terms @@ %(query)s::tsquery"
        return "SELECT s.memory_id FROM memscope.search_found(%(query)s::tsquery) s"

    def _listed(self, terms: Terms | None, listing: Listing) -> str:
        """The reach as a condition on `memscope.memory m`; forgotten memories of one's own only where one forgot them oneself."""
        if terms is None:
            return "m.org_id = %(org)s"
        if listing is not Listing.FORGOTTEN:
            return search.many("m", operator=False, author=bool(terms.mine))
        if not terms.forgotten:
            return "false"
        mine = f"m.forgotten_by = %(me)s AND m.author = %(me)s AND {search.as_author('m')}"
        return f"m.org_id = %(org)s AND (m.audience_id IN (SELECT unnest(%(anybody)s::int[])) OR {mine})"

    def _in_queue(self) -> str:
        reviewer = "" if self._terms is None else " AND (m.author = %(me)s OR m.audience_id IN (SELECT unnest(%(reviewer)s::int[])))"
        return f"m.org_id = %(org)s AND m.flagged{reviewer}"

    def count_reviews(self, *, mine: bool = False) -> int:
        """How many memories `Listing.REVIEW` would list."""
        own = " AND m.author = %(me)s" if mine else ""
        return self._count(f"{self._in_queue()} AND m.forgotten_at IS NULL{own}")

    def _count(self, condition: str) -> int:
        row = self._plan(
            f"SELECT count(*) FROM memscope.memory m WHERE {condition}", {"me": None, **search.values(self._org, self._terms)}
        ).fetchone()
        assert row is not None
        return int(row[0])

    def leads_to(self, start: str, target: str) -> bool:
        """Whether following `superseded_by` from start reaches target."""
        row = self._run("SELECT memscope.leads_to(%s, %s)", (start, target)).fetchone()
        return row is not None and bool(row[0])

    def lock_links(self) -> None:
        """Let no other transaction change a supersede link until the end of this one."""
        self._writing()
        self._run("SELECT pg_advisory_xact_lock(hashtextextended('memscope.links ' || %s, 0))", (self._org,))

    def claimed(self, key: str) -> Claim | None:
        """The reader's idempotency record of a key, if there is one."""
        row = self._run(
            "SELECT memory_id, digest FROM memscope.idempotency WHERE org_id = %(org)s AND person_id = %(person)s AND key = %(key)s",
            {"org": self._org, "person": self._person(), "key": key},
        ).fetchone()
        return None if row is None else Claim(row[0], row[1], fresh=False)

    # writing memories
    def claim(self, key: str, digest: str, memory: str) -> Claim:
        """Take an idempotency key for the reader, or find who has it."""
        self._writing()
        values = {"org": self._org, "person": self._person(), "key": key, "digest": digest, "memory": memory}
        taken = self._run(
            "INSERT INTO memscope.idempotency (org_id, person_id, key, digest, memory_id) "
            "VALUES (%(org)s, %(person)s, %(key)s, %(digest)s, %(memory)s) ON CONFLICT DO NOTHING",
            values,
        ).rowcount
        if taken == 1:
            return Claim(memory, digest, fresh=True)
        known = self.claimed(key)
        assert known is not None
        return known

    def _person(self) -> str:
        person = self._terms.person if self._terms is not None else None if self._act is None else self._act.actor
        if person is None:
            raise ValueError("this needs a person")
        return person

    def insert(self, memory: Memory, version: Version, index: IndexEntry) -> None:
        """Store a new memory with its first version."""
        self._writing()
        values = rows.memory_values(memory, self._audience_id(memory.audience))
        if self._insert("memory", values, "ON CONFLICT DO NOTHING").rowcount == 0:
            raise NumberTaken
        self._insert("memory_version", rows.version_values(memory.id, version))
        self._index(memory.id, index)

    def _insert(self, table: str, values: Mapping[str, Any], tail: str = "") -> psycopg.Cursor[tuple[Any, ...]]:
        names = ", ".join(values)
        marks = ", ".join(f"%({name})s" for name in values)
        return self._run(f"INSERT INTO memscope.{table} (org_id, {names}) VALUES (%(org)s, {marks}) {tail}", {"org": self._org, **values})

    def _index(self, memory: str, index: IndexEntry) -> None:
        self._run("SELECT memscope.index_terms(%s, %s)", (memory, rows.tsvector(index.terms)))
        if index.model is not None and index.vectors is not None:
            upkeep.add_vectors(self._run, memory, self._storage.model(self._run, index.model).number, index.vectors)

    def update(self, before: Memory, after: Memory, version: Version | None = None, index: IndexEntry | None = None) -> None:
        """Store a change of a memory locked by `memory(..., lock=True)`."""
        self._writing()
        if before.id not in self._opened:
            raise LookupError("lock the memory before changing it")
        values = rows.memory_values(after, self._audience_id(after.audience))
        if before.superseded_by == after.superseded_by:
            del values["superseded_by"]  # its trigger looks at the replacement
        key = {"org": self._org, "memory": after.id}
        self._run(
            f"UPDATE memscope.memory SET {', '.join(f'{name} = %({name})s' for name in values)} "
            "WHERE org_id = %(org)s AND memory_id = %(memory)s",
            {**key, **values},
        )
        newest = (
            "org_id = %(org)s AND memory_id = %(memory)s AND version = "
            "(SELECT max(version) FROM memscope.memory_version WHERE org_id = %(org)s AND memory_id = %(memory)s)"
        )
        if version is not None:
            self._run(
                f"UPDATE memscope.memory_version SET replaced_under = %(was)s, content = coalesce(masked, content), masked = NULL WHERE {newest}",
                {**key, "was": self._audience_id(before.audience)},
            )
            self._insert("memory_version", rows.version_values(after.id, version))
        elif before.masked is not None and after.masked is None:  # the credential leaves for good
            self._run(
                f"UPDATE memscope.memory_version SET content = %(text)s, masked = NULL WHERE {newest}", {**key, "text": after.content}
            )
        if index is not None:
            self._index(after.id, index)

    # approvals
    def write_ticket(self, ticket: Ticket) -> None:
        """Insert or update a ticket of the reader."""
        self._writing()
        values = {
            "ticket_id": ticket.id,
            "person_id": ticket.person,
            "connection_id": ticket.connection,
            "tool": ticket.tool,
            "memory_id": ticket.memory,
            "memory_version": ticket.memory_version,
            "digest": ticket.digest,
            "gaining": array(map(_uuid, sorted(ticket.gaining))),
            "summary": Jsonb(dict(ticket.summary)),
            "created_at": ticket.created_at,
            "expires_at": ticket.expires_at,
            "decided_at": ticket.decided_at,
            "approved": ticket.approved,
            "used_at": ticket.used_at,
        }
        self._insert(
            "ticket", values, "ON CONFLICT (org_id, ticket_id) DO UPDATE SET " + ", ".join(f"{name} = excluded.{name}" for name in values)
        )

    def tickets(self, *, undecided_only: bool = False, expired_too: bool = False) -> list[Ticket]:
        """The reader's tickets that have not expired, newest first; for an operator those of the organization."""
        found = self._run(
            f"SELECT {_TICKET} FROM memscope.ticket WHERE org_id = %(org)s "
            + ("" if expired_too else "AND expires_at > now() ")
            + ("AND person_id = %(me)s " if self._terms is not None else "")
            + ("AND decided_at IS NULL " if undecided_only else "")
            + "ORDER BY created_at DESC, ticket_id DESC",
            search.values(self._org, self._terms),
        ).fetchall()
        return [_ticket(row) for row in found]

    def take_ticket(self, person: str, connection: str, tool: str, memory: str, memory_version: int, digest: str) -> Ticket | None:
        """An approved, unexpired, unused ticket with just these bindings, marked used in this transaction."""
        self._writing()
        row = self._run(
            f"""UPDATE memscope.ticket SET used_at = now() WHERE org_id = %(org)s AND ticket_id = (
                  SELECT ticket_id FROM memscope.ticket WHERE org_id = %(org)s AND person_id = %(person)s AND connection_id = %(connection)s
                    AND tool = %(tool)s AND memory_id = %(memory)s AND memory_version = %(version)s AND digest = %(digest)s
                    AND approved AND used_at IS NULL AND expires_at > now()
                  ORDER BY created_at DESC LIMIT 1 FOR UPDATE)
                RETURNING {_TICKET}""",
            {
                "org": self._org,
                "person": person,
                "connection": connection,
                "tool": tool,
                "memory": memory,
                "version": memory_version,
                "digest": digest,
            },
        ).fetchone()
        return None if row is None else _ticket(row)

    # the organization
    def _raise_epoch(self) -> None:
        self._writing()
        if not self._raised:
            organizations.raise_epoch(self._run, self._org)
            self._raised = True

    def write_organization(self, organization: Organization) -> None:
        """Insert or update."""
        if self._organization is None:
            self._writing()
            self._operating()
            self._organization = organization.id
            self._run(variables(organization.id, None, self._storage.settings))
            self._raised = organizations.insert_organization(self._run, organization)
            self._organization = organization.id
        self._raise_epoch()
        organizations.update_organization(self._run, organization)

    def write_person(self, person: Person) -> None:
        """Insert or update."""
        self._raise_epoch()
        organizations.write_person(self._run, self._org, person)

    def write_group(self, group: Group) -> None:
        """Insert or update."""
        self._raise_epoch()
        organizations.write_group(self._run, self._org, group)

    def remove_group(self, group: str) -> None:
        """Remove a group without memories; ValueError, with the count, when it has memories."""
        self._raise_epoch()
        organizations.remove_group(self._run, self._org, group)

    def write_membership(self, group: str, person: str, role: GroupRole | None) -> None:
        """Set or, with None, end a membership."""
        self._raise_epoch()
        organizations.write_membership(self._run, self._org, group, person, role)

    def write_topic(self, topic: Topic) -> None:
        """Insert or update, guard teams included."""
        self._raise_epoch()
        organizations.write_topic(self._run, self._org, topic)

    def remove_topic(self, topic: str) -> None:
        """Take a topic out of the lists; it goes on guarding."""
        self._raise_epoch()
        organizations.remove_topic(self._run, self._org, topic)

    def write_connection(self, connection: Connection) -> None:
        """Insert or update. Revoking waits for the connection's running transactions."""
        self._writing()
        organizations.write_connection(self._run, self._org, connection)

    def connections(self, person: str | None = None) -> list[Connection]:
        """The organization's connections, newest first."""
        return organizations.connections(self._run, self._org, person)

    def erase_forgotten(self, memory: str) -> Mapping[str, str]:
        """As `erase`, for a forgotten memory that this transaction has locked."""
        self._writing()
        row = self._run("SELECT memscope.erase_forgotten(%s)", (_uuid(memory),)).fetchone()
        if row is None or row[0] is None:
            raise LookupError("lock the forgotten memory before erasing it")
        return {name: str(value) for name, value in row[0].items()}

    # upkeep
    def unindexed(self, model: str, limit: int) -> list[Unindexed]:
        """Memories, not erased, that lack vectors of a model."""
        self._operating()
        return upkeep.unindexed(self._run, self._org, self._storage.model(self._run, model).number, limit)

    def write_vectors(self, memory: str, model: str, vectors: Vectors, text: str) -> None:
        """Add the vectors of one memory's masked `text`."""
        self._operating()
        self._writing()
        upkeep.write_vectors(self._run, self._org, memory, self._storage.model(self._run, model).number, vectors, text)

    def count_memories(self) -> int:
        """All memories, forgotten ones too."""
        self._operating()
        return self._count("m.org_id = %(org)s")

    def forgotten_before(self, moment: datetime, limit: int) -> list[str]:
        """Ids of memories forgotten before a moment, oldest first."""
        self._operating()
        return upkeep.forgotten_before(self._run, self._org, moment, limit)

    def erase(self, memory: str) -> Mapping[str, str]:
        """Erase one memory and everything derived from it."""
        self._operating()
        self._writing()
        return upkeep.erase(self._run, self._org, memory)

    def all_memories(self, after: str | None, limit: int) -> list[Memory]:
        """Every memory of the organization, by id, forgotten ones too."""
        self._operating()
        return self._memories(upkeep.all_memories(self._run, self._org, after, limit))

    def audit_rows(self, after: int, limit: int) -> list[AuditRow]:
        """The organization's audit chain from a position on."""
        self._operating()
        return upkeep.audit_rows(self._run, self._org, after, limit)

    def find_audit(self, search: AuditSearch) -> list[AuditRow]:
        """Rows of the organization's audit chain, newest first."""
        self._operating()
        return upkeep.find_audit(self._plan_anew, self._org, search)

    def count_audit(self, search: AuditSearch) -> int:
        """How many rows a search finds, counted up to its limit."""
        self._operating()
        return upkeep.count_audit(self._plan_anew, self._org, search)


_TICKET = """ticket_id, person_id, connection_id, tool, memory_id, memory_version, digest, gaining, summary,
created_at, expires_at, decided_at, approved, used_at"""


def _ticket(row: tuple[Any, ...]) -> Ticket:
    id_, person, connection, tool, memory, version, digest, gaining, summary, created_at, expires_at, decided_at, approved, used_at = row
    return Ticket(
        id=id_,
        person=person,
        connection=connection,
        tool=tool,
        memory=memory,
        memory_version=version,
        digest=digest,
        gaining=frozenset(gaining),
        summary=summary,
        created_at=created_at.astimezone(UTC),
        expires_at=expires_at.astimezone(UTC),
        decided_at=rows.utc(decided_at),
        approved=approved,
        used_at=rows.utc(used_at),
    )
