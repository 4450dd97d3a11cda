"""How long one `recall` over HTTP takes at 10,000 memories, beside what it cannot do without, in the same run.

The reference is the sum of three: a tool that does nothing on a plain server of the same SDK, the bare pgvector query
(HNSW, ten nearest, no filter), and embedding the query. Prints medians and their ratio.

    python tests/benchmarks/recall_latency.py --memories 10000 --calls 300
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import random
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
from mcp import Client
from memscope_postgres.storage import PostgresStorage
from running import command, folder, serving, session, variables

from memscope.app import MemScope
from memscope.contracts.storage import IndexEntry, Operator
from memscope.model.audience import Place, Sensitivity
from memscope.model.audit import Act
from memscope.model.ids import new_id, new_number
from memscope.model.memory import Memory, Provenance, Version
from memscope.settings import load
from memscope.text.analyse import terms
from memscope.text.normalise import indexed

ORGANIZATION = """
[organization]
slug = "latency"
name = "Latency"
[[people]]
email = "ada@latency.example"
name = "Ada"
[[teams]]
slug = "engineering"
members = ["ada@latency.example"]
"""
SYLLABLES = [
    "ba",
    "ce",
    "di",
    "fo",
    "gu",
    "ha",
    "je",
    "ki",
    "lo",
    "mu",
    "na",
    "pe",
    "ri",
    "so",
    "tu",
    "va",
    "we",
    "xi",
    "yo",
    "zu",
    "bra",
    "cle",
    "dri",
    "flo",
    "gru",
    "sta",
    "pre",
    "tri",
]
WORDS = ["".join(parts) for parts in itertools.product(SYLLABLES, SYLLABLES, ("", "n", "r", "s", "l", "m", "t"))][:5000]
"""Made-up words; a memory draws them as language does, the n-th about 1/n as often as the first (Zipf)."""
FREQUENCIES = [1 / (rank + 10) for rank in range(len(WORDS))]
NOOP = """
from mcp.server import MCPServer
import sys, uvicorn
server = MCPServer("noop")

@server.tool()
def nothing(query: str) -> dict[str, int]:
    "Does nothing."
    return {"results": 0}

uvicorn.run(server.streamable_http_app(), host="127.0.0.1", port=int(sys.argv[1]), log_level="error")
"""


def sentence(randomness: random.Random) -> str:
    """Eight to twenty words."""
    return " ".join(randomness.choices(WORDS, FREQUENCIES, k=randomness.randint(8, 20))).capitalize() + "."


def fill(data_dir: Path, count: int) -> None:
    """Store memories, each with its vector, in one team and the organization."""
    randomness = random.Random(7)
    with MemScope.from_settings(load(None, {}, data_dir=data_dir)) as app:
        core = app.core
        core.embedding.load()
        organization = core.storage.organizations()[0]
        roster = core.rosters.current(organization.id)
        (person,) = roster.people.values()
        (group,) = roster.groups.values()
        places = [Place.team(group.id), Place.organization()]
        start = datetime.now(UTC) - timedelta(days=300)
        for place in places:
            core.storage.intern(
                organization.id,
                Memory("", 1, "", place, Sensitivity.INTERNAL, frozenset(), Provenance(person.id, ""), start, start).audience,
            )
        provenance = Provenance(person.id, new_id(), "benchmark")
        for first in range(0, count, 250):
            with core.storage.begin(Operator("benchmark", organization.id), Act("benchmark.fill")) as transaction:
                for number in range(first, min(first + 250, count)):
                    at, text = start + timedelta(minutes=number), sentence(randomness)
                    memory = Memory(new_id(), new_number(), text, places[number % 2], Sensitivity.INTERNAL, frozenset(), provenance, at, at)
                    headed = indexed(text, person.name, at)
                    vectors = core.embedding.texts([headed])
                    entry = IndexEntry(tuple(terms(headed)), core.embedding.model.identity, vectors)
                    transaction.insert(memory, Version(1, text, None, provenance, at, None), entry)


@contextlib.contextmanager
def nothing_served() -> Iterator[str]:
    """A plain server of the same SDK with a tool that does nothing."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen([sys.executable, "-c", NOOP, str(port)])
    try:
        for _ in range(200):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(30)


async def measured(calls: int, call: Callable[[str], Awaitable[object]], queries: list[str]) -> list[float]:
    """Milliseconds of each call, after ten that warm up."""
    took = []
    for number in range(calls + 10):
        started = time.perf_counter()
        await call(queries[number % len(queries)])
        if number >= 10:
            took.append((time.perf_counter() - started) * 1000)
    return took


def bare(data_dir: Path, calls: int, queries: list[str]) -> tuple[list[float], list[float]]:
    """Milliseconds of embedding each query, and of the bare nearest-neighbour query with its vector."""
    with MemScope.from_settings(load(None, {}, data_dir=data_dir)) as app:
        app.core.embedding.load()
        vectors, embedding, searching = [], [], []
        for number in range(calls + 10):
            started = time.perf_counter()
            vector = app.core.embedding.query(queries[number % len(queries)])
            embedding.append((time.perf_counter() - started) * 1000)
            assert vector is not None
            vectors.append("[" + ",".join(f"{value:.6f}" for value in vector) + "]")
        storage = app.core.storage
        assert isinstance(storage, PostgresStorage)
        with storage.owning.borrow() as connection:
            number_of_model = connection.execute("SELECT min(model) FROM memscope.memory_vector").fetchone()
            assert number_of_model is not None
            for written in vectors:
                started = time.perf_counter()
                connection.execute(
                    f"SELECT memory_id FROM memscope.memory_vector WHERE model = {number_of_model[0]} "
                    "ORDER BY e::halfvec(384) <=> %s::halfvec(384) LIMIT 10",
                    (written,),
                ).fetchall()
                searching.append((time.perf_counter() - started) * 1000)
    return embedding[10:], searching[10:]


async def over_http(url: str, noop: str, token: str, calls: int, queries: list[str]) -> tuple[list[float], list[float]]:
    """Milliseconds of the tool that does nothing and of `recall`, taken in turns so that noise meets both."""
    nothing: list[float] = []
    recalling: list[float] = []
    async with session(url, token) as client, session(noop, "none") as other:

        def of(one: Client, tool: str) -> Callable[[str], Awaitable[object]]:
            return lambda query: one.call_tool(tool, {"query": query})

        for _ in range(5):
            nothing += await measured(calls // 5, of(other, "nothing"), queries)
            recalling += await measured(calls // 5, of(client, "recall"), queries)
    return nothing, recalling


def main() -> None:
    """Fill, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--calls", type=int, default=300)
    chosen = parser.parse_args()
    randomness = random.Random(11)
    queries = [" ".join(randomness.choices(WORDS, FREQUENCIES, k=6)) for _ in range(100)]
    with folder() as data_dir:
        environ = variables(data_dir)
        data_dir.mkdir(mode=0o711)
        (data_dir / "latency.toml").write_text(ORGANIZATION)
        command(environ, "org", "apply", str(data_dir / "latency.toml"))
        fill(data_dir, chosen.memories)
        token = command(environ, "token", "create", "ada@latency.example", "--org", "latency", "--client", "benchmark").strip()
        with serving(environ) as url, nothing_served() as noop:
            nothing, recalling = anyio.run(over_http, url, noop, token, chosen.calls, queries)
            embedding, searching = bare(data_dir, chosen.calls, queries)
    parts = {"no-op tool": nothing, "query embedding": embedding, "bare pgvector": searching, "recall": recalling}
    medians = {name: statistics.median(times) for name, times in parts.items()}
    for name, times in parts.items():
        print(f"{name:<16} p50 {medians[name]:7.2f} ms   p95 {sorted(times)[len(times) * 95 // 100]:7.2f} ms")
    reference = medians["no-op tool"] + medians["query embedding"] + medians["bare pgvector"]
    print(f"recall / (no-op + embedding + pgvector) = {medians['recall'] / reference:.2f} at {chosen.memories} memories")


if __name__ == "__main__":
    main()
