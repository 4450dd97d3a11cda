"""Search: both legs in one statement.

Few readable memories are compared one by one; many go over the HNSW index. How rare a term is, is counted over the reach
alone, in the same statement, so that nothing hidden moves a score.

The reach is written in two forms. `few` looks up each audience in an index. `many` is a hashed set that rows are held
against: an array of hundreds of ids written as `= ANY(...)` makes the planner compare each with its statistics (10 ms), and
any form that it can turn into a join keeps it off the HNSW index.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from memscope.contracts.storage import Hit, Question, SearchFilter
from memscope.model.audience import Reach
from memscope_postgres import rows
from memscope_postgres.audiences import Terms
from memscope_postgres.organizations import Run
from memscope_postgres.pool import Half

if TYPE_CHECKING:
    from memscope.contracts.embedding import Vectors
    from memscope_postgres.storage import PostgresStorage

EXACT_BELOW = 4000
"""Readable memories up to which each is compared: about 0.7 ms per thousand, and nothing is missed."""
EXACT_SHARE = 50
EXACT_MOST = 20_000
"""A reader of less than one in `EXACT_SHARE` of all memories is compared exactly up to this many: an index scan would wade
through what others have."""
SAMPLE = 16
"""One in so many memories is `sampled`, as the migration says."""
TERMS_MOST = 40
"""Terms that are looked for; of a longer question those that the fewest readable memories hold."""
SCAN_MOST = 1000
"""About how many memories the word side of a broad reader looks at, beyond those that hold the rarest term."""
BREADTH_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Breadth:
    """How much a reach holds."""

    size: int
    """Readable memories, about."""
    exact: bool
    """Whether to compare each."""
    until: float
    """Monotonic time up to which this is taken as true."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What of a search decides its statement's text."""

    operator: bool
    author: bool
    model: int | None
    dimensions: int
    terms: int
    candidates: int
    exact: bool
    leakproof: bool
    kind: bool
    expired: bool
    superseded: bool
    run: bool
    by: bool
    since: bool
    until: bool


def many(alias: str, *, operator: bool, author: bool) -> str:
    """The reach as a condition that no index serves."""
    if operator:
        return f"{alias}.org_id = %(org)s"
    mine = f" OR {alias}.author = %(me)s AND {as_author(alias)}" if author else " OR false"  # an OR is never made a join
    return f"{alias}.org_id = %(org)s AND ({alias}.audience_id IN (SELECT unnest(%(anybody)s::int[])){mine})"


def few(table: str, alias: str, condition: str, *, operator: bool, author: bool) -> str:
    """The rows of a table within the reach and a condition, each audience looked up in an index."""
    if operator:
        return f"(SELECT * FROM memscope.{table} {alias} WHERE {alias}.org_id = %(org)s AND {condition}) {alias}"
    anybody = (
        f"SELECT {alias}.* FROM unnest(%(anybody)s::int[]) AS a (id) JOIN memscope.{table} {alias} "
        f"ON {alias}.org_id = %(org)s AND {alias}.audience_id = a.id WHERE {condition}"
    )
    mine = (
        f" UNION ALL SELECT {alias}.* FROM memscope.{table} {alias} WHERE {alias}.org_id = %(org)s AND {alias}.author = %(me)s "
        f"AND ({as_author(alias)} OR false) AND {condition}"
    )
    return f"({anybody}{mine if author else ''}) {alias}"


def as_author(alias: str) -> str:
    """What opens to the author, beyond what anybody's audiences open."""
    return f"{alias}.audience_id * 2 + CASE WHEN {alias}.own THEN 0 ELSE 1 END IN (SELECT unnest(%(mine)s::int[]))"


def values(org: str, terms: Terms | None) -> dict[str, Any]:
    """The parameters that say organization and reach."""
    return {"org": org} if terms is None else {"org": org, **terms.arrays}


def _filters(shape: Shape) -> str:
    """What a found memory must be like, as conditions on `memory_search s`."""
    parts = ["s.live AND NOT s.tainted", "s.kind = %(kind)s" if shape.kind else "s.kind IS DISTINCT FROM 'handoff'"]
    if not shape.expired:
        parts.append("(s.valid_until IS NULL OR s.valid_until > %(now)s)")
    if not shape.superseded:
        parts.append("NOT (s.link_acts AND (s.link_until IS NULL OR s.link_until > %(now)s))")
    if shape.run:
        parts.append("s.run_id = %(run_id)s")
    if shape.by:
        parts.append("s.author = %(author)s")
    if shape.since:
        parts.append("s.created_at >= %(since)s")
    if shape.until:
        parts.append("s.created_at < %(until)s")
    return " AND ".join(parts)


@lru_cache(maxsize=512)
def statement(shape: Shape) -> str:
    """The statement for a search of one shape; `held` tells by bits which terms a memory holds.

    Scores depend on `held` alone, so they are worked out once for each combination of terms.
    """
    numbers = range(1, shape.terms + 1)
    bits = " | ".join(f"CASE WHEN s.terms @@ %(q{i})s::tsquery THEN {1 << (i - 1)}::bigint ELSE 0 END" for i in numbers) or "0::bigint"
    held = [f"held & {1 << (i - 1)} <> 0" for i in numbers]
    # Those that are not looked for were counted before; of those that are, every memory that holds one is found.
    counts = [
        f"coalesce(%(f{i})s::float8, coalesce(sum(size) FILTER (WHERE {one}), 0)::float8) AS f{i}" for i, one in enumerate(held, start=1)
    ]
    idf = ", ".join(f"ln(1 + (greatest(n, f{i}) - f{i} + 0.5) / (f{i} + 0.5)) AS i{i}" for i in numbers)
    words = "0::float8"
    if numbers:
        words = f"({' + '.join(f'CASE WHEN {one} THEN i{i} ELSE 0 END' for i, one in enumerate(held, start=1))}) / ({' + '.join(f'i{i}' for i in numbers)})"
    total = "sum(size)::float8" if shape.exact else "%(size)s::float8"
    source = "base" if shape.exact else "found"
    weighed = [
        f"groups AS MATERIALIZED (SELECT held, count(*) AS size FROM {source} GROUP BY held)",
        f"idf AS (SELECT {idf or 1} FROM (SELECT {', '.join([f'{total} AS n', *counts])} FROM groups) AS counted)",
        f"weights AS MATERIALIZED (SELECT held, {words} AS words FROM groups CROSS JOIN idf)",
    ]
    who = {"operator": shape.operator, "author": shape.author}
    filters = _filters(shape)
    columns = "s.memory_id, s.author, s.created_at, s.run_id"
    distance = f"v.e::halfvec({shape.dimensions}) <=> %(vector)s::halfvec({shape.dimensions})"
    vectors = f"v.model = {shape.model} AND v.live AND NOT v.tainted"
    if shape.exact:
        near = (
            "SELECT NULL::uuid AS memory_id, NULL::float8 AS d WHERE false"
            if shape.model is None
            else f"SELECT v.memory_id, min({distance}) AS d FROM {few('memory_vector', 'v', vectors, **who)} GROUP BY v.memory_id"
        )
        return f"""WITH base AS MATERIALIZED (SELECT {columns}, {bits} AS held FROM {few("memory_search", "s", filters, **who)}),
          {", ".join(weighed)}, near AS ({near}),
          scored AS MATERIALIZED (SELECT {columns}, 1 - near.d AS similarity, weights.words, s.held
            FROM base s JOIN weights USING (held) LEFT JOIN near ON near.memory_id = s.memory_id)
          (SELECT * FROM scored WHERE similarity IS NOT NULL ORDER BY similarity DESC, memory_id LIMIT {shape.candidates})
          UNION (SELECT * FROM scored WHERE held <> 0 ORDER BY words DESC, memory_id LIMIT {shape.candidates})"""
    parts = []
    if numbers:
        table = "memscope.memory_search s" if shape.leakproof else "memscope.search_found(%(query)s::tsquery) s"
        parts += [
            f"found AS MATERIALIZED (SELECT {columns}, {bits} AS held FROM {table} "
            f"WHERE {many('s', **who)} AND {filters} AND s.terms @@ %(query)s::tsquery)",
            *weighed,
            "best AS MATERIALIZED (SELECT found.*, weights.words FROM found JOIN weights USING (held) "
            f"ORDER BY words DESC, memory_id LIMIT {shape.candidates})",
        ]
        if shape.model is None:
            return f"WITH {', '.join(parts)} SELECT memory_id, author, created_at, run_id, NULL::float8, words, held FROM best"
    parts.append(
        f"""near AS MATERIALIZED (SELECT {columns}, {bits} AS held, {distance} AS d
            FROM memscope.memory_vector v JOIN memscope.memory_search s ON s.org_id = %(org)s AND s.memory_id = v.memory_id
            WHERE {many("v", **who)} AND {vectors} AND {filters} ORDER BY {distance} LIMIT {shape.candidates})"""
    )
    nearest = "SELECT memory_id, author, created_at, run_id, 1 - min(d) AS similarity, held FROM near GROUP BY 1, 2, 3, 4, 6"
    if not numbers:
        return f"WITH {', '.join(parts)} SELECT memory_id, author, created_at, run_id, similarity, 0::float8, 0 FROM ({nearest}) AS n"
    similarity = (
        f"(SELECT 1 - min({distance}) FROM memscope.memory_vector v "
        f"WHERE v.org_id = %(org)s AND v.memory_id = b.memory_id AND v.model = {shape.model})"
    )
    return f"""WITH {", ".join(parts)}, nearest AS MATERIALIZED ({nearest})
        SELECT n.memory_id, n.author, n.created_at, n.run_id, n.similarity, {words.replace("held &", "n.held &")}, n.held
          FROM nearest n CROSS JOIN idf
        UNION ALL SELECT b.memory_id, b.author, b.created_at, b.run_id, {similarity}, b.words, b.held FROM best b
          WHERE NOT EXISTS (SELECT FROM nearest n WHERE n.memory_id = b.memory_id)"""


def search(
    storage: PostgresStorage, run: Run, org: str, reach: Reach | None, terms: Terms | None, question: Question, where: SearchFilter
) -> list[Hit]:
    """Candidates of both legs."""
    model = None if question.vector is None or question.model is None else storage.find_model(run, question.model)
    if model is None and not question.terms:
        return []
    breadth = breadth_of(storage, run, org, reach, terms)
    exact = breadth.exact or where.run_id is not None or where.author is not None
    if where.within is not None:
        terms, few_left = _narrowed(storage, run, org, terms, where)
        exact = exact or few_left
    if terms is not None and not terms.anybody and not terms.mine:
        return []
    words = list(dict.fromkeys(question.terms))
    counts: list[float] = []
    if words and not exact or len(words) > TERMS_MOST:
        words, counts = _rarest_first(run, org, terms, words)
    shape = Shape(
        operator=terms is None,
        author=terms is not None and bool(terms.mine),
        model=None if model is None else model.number,
        dimensions=0 if model is None else model.dimensions,
        terms=len(words),
        candidates=question.candidates,
        exact=exact,
        leakproof=storage.leakproof or terms is None,
        kind=where.kind is not None,
        expired=where.include_expired,
        superseded=where.include_superseded,
        run=where.run_id is not None,
        by=where.author is not None,
        since=where.since is not None,
        until=where.until is not None,
    )
    parameters = values(org, terms) | {
        "size": breadth.size,
        "now": where.now,
        "kind": None if where.kind is None else where.kind.value,
        "run_id": where.run_id,
        "author": where.author,
        "since": where.since,
        "until": where.until,
    }
    if model is not None and question.vector is not None:
        parameters["vector"] = Half(question.vector)
    looked_for = len(words) if exact else _looked_for(counts)
    for i, word in enumerate(words):
        parameters[f"q{i + 1}"] = rows.tsvector([word])
        parameters[f"f{i + 1}"] = None if i < looked_for else counts[i]
    parameters["query"] = " | ".join(rows.quoted(word) for word in words[:looked_for] if rows.usable(word))
    found = run(statement(shape), parameters).fetchall()
    if model is not None and not exact and len(found) < question.candidates:
        # The index gave up among what the filters leave out.
        parameters |= {f"f{i + 1}": None for i in range(len(words))}
        found = run(statement(replace(shape, exact=True)), parameters).fetchall()
    beside = _neighbours(run, org, terms, [row for row in found if row[3] is not None])
    matched: dict[int, tuple[str, ...]] = {
        held: tuple(word for i, word in enumerate(words) if held >> i & 1) for held in {row[6] for row in found}
    }
    return [
        Hit(id_, author, created_at.astimezone(UTC), run_id, similarity, words_, matched[held], beside.get(id_, ()))
        for id_, author, created_at, run_id, similarity, words_, held in found
    ]


def _looked_for(counts: Sequence[float]) -> int:
    """How many of the terms, rarest first, the index is asked for: those that a readable page of memories comes from.

    A memory that holds only the more frequent ones has little of the question's weight.
    """
    scanned = 0.0
    for number, count in enumerate(counts):
        scanned += count
        if number and scanned > SCAN_MOST:
            return number
    return len(counts)


def nearest(
    storage: PostgresStorage, run: Run, org: str, reach: Reach | None, terms: Terms | None, vector: Vectors, model: str, limit: int
) -> list[tuple[str, float]]:
    """Ids and cosines of the nearest memories within the reach, tainted and superseded ones too."""
    found = storage.find_model(run, model)
    if found is None:
        return []
    who = {"operator": terms is None, "author": terms is not None and bool(terms.mine)}
    distance = f"v.e::halfvec({found.dimensions}) <=> %(vector)s::halfvec({found.dimensions})"
    condition = f"v.model = {found.number} AND v.live"
    if breadth_of(storage, run, org, reach, terms).exact:
        source = f"SELECT v.memory_id, {distance} AS d FROM {few('memory_vector', 'v', condition, **who)}"
    else:
        source = f"""SELECT v.memory_id, {distance} AS d FROM memscope.memory_vector v WHERE {many("v", **who)} AND {condition}
                     ORDER BY {distance} LIMIT {4 * limit}"""
    return run(
        f"SELECT memory_id, 1 - min(d) FROM ({source}) AS x GROUP BY memory_id ORDER BY min(d), memory_id LIMIT {limit}",
        values(org, terms) | {"vector": Half(vector)},
    ).fetchall()


def _neighbours(run: Run, org: str, terms: Terms | None, hits: Sequence[tuple[Any, ...]]) -> Mapping[str, tuple[str, ...]]:
    """Memory id → ids of the memories just before and after it in its run, within the reach."""
    if not hits:
        return {}
    reach = many("s", operator=terms is None, author=terms is not None and bool(terms.mine))
    beside = ", ".join(
        f"""(SELECT s.memory_id FROM memscope.memory_search s WHERE {reach} AND s.live AND NOT s.tainted AND s.run_id = h.run_id
             AND (s.created_at, s.memory_id) {sign} (h.created_at, h.memory_id)
             ORDER BY s.created_at {order}, s.memory_id {order} LIMIT 1)"""
        for sign, order in (("<", "DESC"), (">", "ASC"))
    )
    found = run(
        f"""SELECT h.memory_id, {beside} FROM unnest(%(ids)s::uuid[], %(times)s::timestamptz[], %(runs)s::text[])
              AS h (memory_id, created_at, run_id)""",
        values(org, terms) | {"ids": [row[0] for row in hits], "times": [row[2] for row in hits], "runs": [row[3] for row in hits]},
    )
    return {id_: tuple(other for other in others if other is not None) for id_, *others in found}


def breadth_of(storage: PostgresStorage, run: Run, org: str, reach: Reach | None, terms: Terms | None) -> Breadth:
    """How much the reach holds: remembered for a minute, since it decides the plan and, for broad reaches, how rare a term is.

    What is broad is told by the sample; near the border, and for narrow reaches, each memory is counted.
    """
    known = None if reach is None else storage.breadths.get(reach)
    if known is not None and time.monotonic() < known.until:
        return known
    who = {"operator": terms is None, "author": terms is not None and bool(terms.mine)}

    def count(condition: str) -> tuple[int, float]:
        row = run(
            f"""SELECT count(*), (SELECT reltuples FROM pg_class WHERE oid = 'memscope.memory_search'::regclass)
                FROM {few("memory_search", "s", f"s.live AND NOT s.tainted AND {condition}", **who)}""",
            values(org, terms),
        ).fetchone()
        assert row is not None
        return row[0], row[1]

    sampled, everything = count("s.sampled")
    limit = max(EXACT_BELOW, min(everything / EXACT_SHARE, EXACT_MOST))
    size = sampled * SAMPLE
    if size < 2 * limit:
        size, _ = count("true")
    breadth = Breadth(size, size < limit, time.monotonic() + BREADTH_SECONDS)
    if reach is not None:
        storage.breadths[reach] = breadth
    return breadth


def _narrowed(storage: PostgresStorage, run: Run, org: str, terms: Terms | None, where: SearchFilter) -> tuple[Terms, bool]:
    """What a filter by audience leaves of the reach, and whether that is so little that each memory is compared."""
    assert where.within is not None
    audiences = storage.audiences(org)
    ids = audiences.ids(where.within, lambda: audiences.load(run))
    narrowed = Terms("", ids, frozenset(), frozenset(), frozenset(), False) if terms is None else terms.within(ids)
    row = run(
        f"""SELECT count(*) FROM (SELECT FROM {few("memory_search", "s", "s.live", operator=False, author=bool(narrowed.mine))}
              LIMIT {EXACT_BELOW}) AS x""",
        values(org, narrowed),
    ).fetchone()
    return narrowed, row is not None and row[0] < EXACT_BELOW


def _rarest_first(run: Run, org: str, terms: Terms | None, words: Sequence[str]) -> tuple[list[str], list[float]]:
    """The terms that the fewest readable memories hold, rarest first, and about how many do.

    They are counted over the sample, one in sixteen memories; what is rare there is counted truly where it is looked for.
    """
    reach = many("s", operator=terms is None, author=terms is not None and bool(terms.mine))
    found = run(
        f"""WITH counted AS MATERIALIZED (SELECT i, (SELECT count(*) FROM memscope.memory_search s
                WHERE {reach} AND s.sampled AND s.live AND NOT s.tainted AND s.terms @@ q::tsquery) AS f
              FROM unnest(%(terms)s::text[]) WITH ORDINALITY AS t (q, i))
            SELECT i, f * {SAMPLE}::float8 FROM counted ORDER BY f, i LIMIT {TERMS_MOST}""",
        values(org, terms) | {"terms": [rows.tsvector([word]) for word in words]},
    ).fetchall()
    return [words[number - 1] for number, _ in found], [count for _, count in found]
