"""How fast the PostgreSQL storage answers, as ratios to a bare pgvector query of the same run.

    python tests/benchmarks/storage.py --data-dir DIR [--memories 100000] [--rounds 5]

Loads one synthetic organization (clustered vectors, a skewed vocabulary) into an embedded server in DIR, which is kept for
the next run, and asks as a narrow reader (some 900 memories), a usual one (about a quarter) and a broad one (800 audiences).
Figures are medians over the rounds; read single ones as +-50 %.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from memscope_postgres.pool import Half, connect
from memscope_postgres.search import Breadth
from memscope_postgres.settings import DatabaseSettings
from memscope_postgres.storage import PostgresStorage
from memscope_postgres.transaction import PostgresTransaction

from memscope.contracts.storage import Browse, IndexEntry, Listing, Operator, Question, SearchFilter, StorageHost
from memscope.model.audience import Audience, Permission, Place, Reach, Sensitivity
from memscope.model.audit import Act
from memscope.model.ids import new_id, new_number
from memscope.model.memory import Memory, Provenance, Version
from memscope.model.organization import Connection, ConnectionKind, Group, GroupKind, Organization, Person

DIMENSIONS = 384
GROUPS = 700
MODEL = "bench@1"
SLUG = "bench"
VOCABULARY = 20_000
AT = "2026-01-01 00:00:00+00"


class World:
    """The loaded organization and what is asked of it."""

    def __init__(self, storage: PostgresStorage, memories: int, seed: int = 7) -> None:
        self.storage = storage
        self.random = np.random.default_rng(seed)
        tops = self.random.normal(size=(40, 96))
        self.mixing = self.random.normal(size=(96, DIMENSIONS)) / 10
        self.centers = np.repeat(tops, 30, axis=0) + 0.5 * self.random.normal(size=(1200, 96))
        self.homes = self.random.integers(0, 1200, size=(GROUPS + 1, 6))
        ranks = np.arange(1, VOCABULARY + 1)
        self.frequency = (1 / (ranks + 50)) / (1 / (ranks + 50)).sum()
        found = [organization for organization in storage.organizations() if organization.slug == SLUG]
        if not found:
            self._load(memories)
            found = [organization for organization in storage.organizations() if organization.slug == SLUG]
        self.organization = found[0].id
        self.roster = storage.roster(self.organization)

    def vectors(self, clusters: Any) -> Any:
        """Unit vectors around cluster centres."""
        low = self.centers[clusters] + 0.35 * self.random.normal(size=(len(clusters), 96))
        full = low @ self.mixing + 0.05 * self.random.normal(size=(len(clusters), DIMENSIONS))
        return (full / np.linalg.norm(full, axis=1, keepdims=True)).astype(np.float32)

    def words(self, count: int) -> list[str]:
        """Words as often as a language has them."""
        return [f"w{number}" for number in self.random.choice(VOCABULARY, size=count, p=self.frequency)]

    def _load(self, memories: int) -> None:
        storage = self.storage
        organization = Organization(new_id(), SLUG, "Bench")
        person = Person(new_id(), "p@bench.example", "P")
        groups = [Group(new_id(), GroupKind.TEAM if i < 200 else GroupKind.PROJECT, f"g{i}", f"Group {i}") for i in range(GROUPS)]
        with storage.begin(Operator("bench", None), Act("organization.create")) as tx:
            tx.write_organization(organization)
        with storage.begin(Operator("bench", organization.id), Act("organization.apply")) as tx:
            tx.write_person(person)
            for group in groups:
                tx.write_group(group)
        places = [Place.organization(), *(Place(group.scope, group=group.id) for group in groups)]
        levels = (Sensitivity.INTERNAL, Sensitivity.RESTRICTED)
        ids: dict[tuple[int, int], int] = {}
        with storage.owning.transaction() as connection:
            for where, place in enumerate(places):
                for level in levels:
                    ids[where, level] = len(ids) + 1
                    connection.execute(
                        "INSERT INTO memscope.audience VALUES (%s, %s, %s, %s, NULL, %s, '{}', false)",
                        (organization.id, len(ids), place.scope.value, place.group, int(level)),
                    )
            connection.execute("UPDATE memscope.organization SET epoch = 2, last_audience = %s", (len(ids),))
        storage.use_model(MODEL, DIMENSIONS)
        with storage.owning.borrow() as connection:
            number = storage.model(connection.execute, MODEL).number
            connection.execute(f"DROP INDEX memscope.vector_nearest_{number}")
        made = 0
        while made < memories:
            size = min(5_000, memories - made)
            wheres = np.where(self.random.random(size) < 0.25, 0, self.random.integers(1, GROUPS + 1, size))
            home = self.homes[wheres, self.random.integers(0, 6, size)]
            clusters = np.where((self.random.random(size) < 0.8) & (wheres > 0), home, self.random.integers(0, 1200, size))
            vectors = self.vectors(clusters)
            rows = []
            for i in range(size):
                level = levels[int(self.random.random() < 0.2)]
                rows.append((new_id(), ids[int(wheres[i]), level], self.words(24)))
            with storage.owning.transaction() as connection:
                _copy(connection, organization.id, person.id, number, rows, vectors)
            made += size
            print(f"loaded {made}", flush=True)
        storage.use_model(MODEL, DIMENSIONS)
        with storage.owning.borrow() as connection:
            connection.execute("VACUUM ANALYZE")

    def reach(self, share: str) -> Reach:
        """A narrow, a usual or a broad reader."""
        groups = sorted((group for group in self.roster.groups.values()), key=lambda group: group.slug)
        mine = {"narrow": groups[:8], "usual": groups[:20], "broad": groups[:400]}[share]
        places = {Place(group.scope, group=group.id) for group in mine} | (set() if share == "narrow" else {Place.organization()})
        open_ = frozenset(audience for audience in self.roster.audiences if audience.place in places)
        person = next(iter(self.roster.people))
        held = frozenset(Audience(place, Sensitivity.INTERNAL, frozenset(), True) for place in places)
        return Reach(self.organization, person, self.roster.epoch, Permission.READ, open_, open_ | held, open_, frozenset())

    def remember(self, reach: Reach, vectors: Any) -> Callable[[int], object]:
        """Save one memory with an idempotency key, as its author."""
        place = Place.organization()
        connection = Connection(new_id(), reach.person, ConnectionKind.TOKEN, "bench", datetime.now(UTC))
        with self.storage.begin(Operator("bench", self.organization), Act("connection.create")) as tx:
            tx.write_connection(connection)
        reach = replace(reach, connection=connection.id)

        def call(i: int) -> object:
            now = datetime.now(UTC)
            words = self.words(24)
            who = Provenance(reach.person, connection.id, "bench")
            memory = Memory(new_id(), new_number(), " ".join(words), place, Sensitivity.INTERNAL, frozenset(), who, now, now)
            with self.storage.begin(reach, Act("memory.remember", reach.person, connection.id, memory.id)) as tx:
                tx.claim(memory.id, "digest", memory.id)
                version = Version(1, memory.content, None, who, now, None)
                tx.insert(memory, version, IndexEntry(tuple(words), MODEL, vectors[i : i + 1]))
            return memory

        return call


def _copy(connection: Any, org: str, person: str, model: int, rows: list[tuple[str, int, list[str]]], vectors: Any) -> None:
    from memscope_postgres.rows import tsvector

    cursor = connection.cursor()
    columns = "org_id, memory_id, number, audience_id, author, own, content, has_secret, kind, importance, version, created_at, updated_at"
    with cursor.copy(f"COPY memscope.memory ({columns}, connection_id, review_state, tainted, doubtful) FROM STDIN") as copy:
        for id_, audience, words in rows:
            text = " ".join(words)
            copy.write_row(
                (org, id_, new_number(), audience, person, True, text, False, "fact", 0.5, 1, AT, AT, person, "none", False, False)
            )
    copied = "org_id, memory_id, audience_id, author, own, live, tainted"
    with cursor.copy(f"COPY memscope.memory_search ({copied}, kind, created_at, link_acts, terms) FROM STDIN") as copy:
        for id_, audience, words in rows:
            copy.write_row((org, id_, audience, person, True, True, False, "fact", AT, False, tsvector(words)))
    with cursor.copy(
        "COPY memscope.memory_vector (org_id, memory_id, model, passage, audience_id, author, own, live, tainted, e) FROM STDIN"
    ) as copy:
        for i, (id_, audience, _) in enumerate(rows):
            text = "[" + ",".join(f"{x:.5f}" for x in vectors[i]) + "]"
            copy.write_row((org, id_, model, 0, audience, person, True, True, False, text))


class Clock:
    """Wall and CPU time of calls: CPU of this process and of the server's process that it talks to, which a loaded machine
    leaves nearly alone."""

    def __init__(self, backend: int) -> None:
        self._processes = (psutil.Process(), psutil.Process(backend))
        self.wall: list[float] = []
        self.cpu = 0.0
        self.calls = 0

    def _used(self) -> float:
        return sum(times.user + times.system for times in (process.cpu_times() for process in self._processes))

    def run(self, call: Callable[[int], object], count: int) -> None:
        """Time some calls."""
        before = self._used()
        for i in range(count):
            start = time.perf_counter()
            call(i)
            self.wall.append((time.perf_counter() - start) * 1000)
        self.cpu += (self._used() - before) * 1000
        self.calls += count

    def figures(self) -> tuple[float, float, float]:
        """Milliseconds of a call: median, 95th percentile, CPU."""
        ordered = sorted(self.wall)
        return statistics.median(ordered), ordered[int(0.95 * len(ordered))], max(self.cpu, 10.0) / self.calls  # counted in ticks of 10 ms


def main() -> None:
    """Load if need be, measure, print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--memories", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--owner-url")
    parser.add_argument("--app-url")
    options = parser.parse_args()
    settings = DatabaseSettings(url=options.app_url, owner_url=options.owner_url, pool_size=1)
    storage = PostgresStorage(settings, StorageHost(str(options.data_dir), bytes(32)))
    storage.open()
    try:
        measure(World(storage, options.memories), options.rounds, options.queries)
    finally:
        storage.close()


def measure(world: World, rounds: int, queries: int) -> None:
    """Print the table."""
    storage = world.storage
    vectors = world.vectors(world.random.integers(0, 1200, queries))
    terms = [tuple(dict.fromkeys(world.words(4))) for _ in range(queries)]
    with storage.owning.borrow() as connection:
        halfvec = connection.execute("SELECT to_regtype('halfvec')::oid").fetchone()
    assert halfvec is not None
    bare = connect(storage._owner_url, halfvec=int(halfvec[0]))
    number = storage.model(bare.execute, MODEL).number
    bare.execute("SET hnsw.ef_search = 40")
    distance = f"e::halfvec({DIMENSIONS}) <=> %s::halfvec({DIMENSIONS})"
    reference = f"SELECT memory_id FROM memscope.memory_vector WHERE model = {number} ORDER BY {distance} LIMIT 10"

    def question(i: int, *, vector: bool = True, words: bool = True, candidates: int = 100) -> Question:
        return Question(terms[i] if words else (), vectors[i] if vector else None, MODEL if vector else None, candidates)

    def within(reach: Reach, use: Callable[[PostgresTransaction, int], object]) -> Callable[[int], object]:
        def call(i: int) -> object:
            with storage.begin(reach) as tx:
                return use(tx, i)

        return call

    def searching(reach: Reach, **how: Any) -> Callable[[int], object]:
        return within(reach, lambda tx, i: tx.search(question(i, **how), SearchFilter(tx.now)))

    def exactly(reach: Reach) -> Callable[[int], object]:
        def call(i: int) -> object:
            storage.breadths[reach] = Breadth(0, True, time.monotonic() + 60)
            with storage.begin(reach) as tx:
                return tx.search(question(i), SearchFilter(tx.now))

        return call

    cases: dict[str, Callable[[int], object]] = {"bare pgvector": lambda i: bare.execute(reference, (Half(vectors[i]),)).fetchall()}
    for share in ("narrow", "usual", "broad"):
        reach = world.reach(share)
        with storage.begin(reach) as tx:
            ids = [hit.memory for hit in tx.search(question(0), SearchFilter(tx.now))][:10]
        cases |= {
            f"{share}: empty transaction": within(reach, lambda tx, i: None),
            f"{share}: memory by id": within(reach, lambda tx, i, ids=ids: tx.memory(ids[i % 10])),  # type: ignore[misc]
            f"{share}: ten by id": within(reach, lambda tx, i, ids=ids: tx.memories(ids)),  # type: ignore[misc]
            f"{share}: nearest 8": within(reach, lambda tx, i: tx.nearest(vectors[i], MODEL, 8)),
            f"{share}: search by vector": searching(reach, words=False),
            f"{share}: search by words": searching(reach, vector=False),
            f"{share}: search by both": searching(reach),
            f"{share}: list 20": within(reach, lambda tx, i: tx.browse(Browse(Listing.ALL, 20, tx.now))),
            f"{share}: count reviews": within(reach, lambda tx, i: tx.count_reviews()),
        }
    cases["broad: search by both, exact"] = exactly(world.reach("broad"))
    cases["remember"] = world.remember(world.reach("usual"), vectors)
    with storage.serving.borrow() as connection:
        serving = connection.info.backend_pid
    clocks = {name: Clock(bare.info.backend_pid if name.startswith("bare") else serving) for name in cases}
    for call in cases.values():
        for i in range(10):  # plans are made once
            call(i)
    for _ in range(rounds):
        for name, call in cases.items():
            clocks[name].run(call, queries if "exact" not in name else queries // 10)
    base, _, base_cpu = clocks["bare pgvector"].figures()
    for name, clock in clocks.items():
        p50, p95, cpu = clock.figures()
        print(
            f"{name:30} p50 {p50:7.2f} ms {p50 / base:6.1f}x   p95 {p95:7.2f} ms {p95 / base:6.1f}x   CPU {cpu:6.2f} ms {cpu / base_cpu:6.1f}x"
        )
    for share in ("usual", "broad"):
        print(f"{share}: recall@10 of the vector leg {recall(world, world.reach(share), vectors):.3f}")
    bare.close()


def recall(world: World, reach: Reach, vectors: Any) -> float:
    """Share of the true ten nearest that the vector leg finds."""
    storage = world.storage
    found = []
    for vector in vectors:
        with storage.begin(reach) as tx:
            hits = tx.search(Question((), vector, MODEL, 100), SearchFilter(tx.now))
            got = {hit.memory for hit in sorted(hits, key=lambda hit: -(hit.similarity or 0))[:10]}
            assert tx._terms is not None
            true = tx._run(
                f"""SELECT memory_id FROM memscope.memory_vector v WHERE org_id = %(org)s AND audience_id = ANY(%(anybody)s::int[])
                    ORDER BY (e::halfvec({DIMENSIONS}) <=> %(v)s::halfvec({DIMENSIONS})) + 0 LIMIT 10""",
                {"org": world.organization, "anybody": tx._terms.arrays["anybody"], "v": Half(vector)},
            )
            found.append(len(got & {id_ for (id_,) in true}) / 10)
    return statistics.mean(found)


if __name__ == "__main__":
    main()
