"""How long the console's pages take in the server with 100,000 memories and 2,000 people.

    python tests/benchmarks/console.py --data-dir DIR [--memories 100000] [--people 2000] [--rounds 20]

The organization is built once and kept in DIR. An administrator, the owner of a team and a member ask for every page in
turns, so that noise meets all alike; the first answer of each page is not counted. Prints the median and the 95th percentile of
each page in milliseconds beside the sign-in page, which reads nothing.
"""

from __future__ import annotations

import argparse
import random
import re
import statistics
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx2
import numpy as np
from memscope_postgres.storage import PostgresStorage
from recall_latency import sentence
from running import serving, variables

from memscope.app import MemScope
from memscope.contracts.storage import IndexEntry
from memscope.model.audience import Sensitivity
from memscope.model.audit import Act
from memscope.model.memory import Kind, Memory, Version
from memscope.model.organization import Role
from memscope.model.review import Flag
from memscope.settings import load
from memscope.testing.builders import Builder, empty
from memscope.text.analyse import terms

SLUG = "wharf"
TEAMS, PROJECTS = 60, 140
WAITING = 300
AUDIT_ROWS = 20_000
PASSWORD = "a long password of the wharf"
PEOPLE = {"Ada": "administrator", "P1": "owner", "P2": "member"}


def organization(people: int) -> Builder:
    """Two hundred groups of some thirty people each, three topics with a guard team."""
    randomness = random.Random(11)
    built = empty(SLUG)
    built.person("Ada", Role.ADMIN)
    names = [f"P{number}" for number in range(1, people)]
    for name in names:
        built.person(name)
    for number in range(TEAMS):
        built.team(f"team-{number}", randomness.sample(names, 33), ["P1"] if number == 0 else randomness.sample(names, 2))
    for number in range(PROJECTS):
        built.project(f"project-{number}", randomness.sample(names, 15), randomness.sample(names, 1), f"team-{number % TEAMS}")
    for key, team in (("HR", "team-1"), ("Legal", "team-2"), ("Finance", "team-3")):
        built.topic(key, [team], builtin=True)
    return built


def fill(app: MemScope, built: Builder, count: int) -> None:
    """Memories over all groups, some of them sensitive, forgotten, replaced or waiting, each with a vector."""
    randomness, vectors = random.Random(12), np.random.default_rng(13)
    storage = app.core.storage
    assert isinstance(storage, PostgresStorage)
    built.store(storage)
    for name in PEOPLE:
        app.identities.passwords.set_password(built.organization.id, built.people[name].id, PASSWORD)
    model = app.core.embedding.model
    storage.use_model(model.identity, model.dimensions)
    with storage.owning.borrow() as connection:
        number = storage.model(connection.execute, model.identity).number
        # Built over all rows at the end, which takes a tenth of the time.
        connection.execute(f"DROP INDEX memscope.vector_nearest_{number}")
    groups = {group: [built.names[person] for person in members] for group, members in built.memberships.items()}
    slugs = {group.id: group.slug for group in built.groups.values()}
    interned: set[object] = set()
    start = datetime.now(UTC) - timedelta(days=360)
    for first in range(0, count, 500):
        batch: list[Memory] = []
        for position in range(first, min(first + 500, count)):
            group = randomness.choice(list(groups))
            author = randomness.choice(groups[group])
            place = randomness.choices(["organization", "personal", slugs[group]], (20, 20, 60))[0]
            topics = [randomness.choice(["HR", "Legal", "Finance"])] if randomness.random() < 0.05 else []
            made = built.memory(
                author,
                sentence(randomness),
                place,
                topics=topics,
                sensitivity=Sensitivity.RESTRICTED if topics else Sensitivity.INTERNAL,
                kind=randomness.choice([Kind.FACT, Kind.DECISION, Kind.PROCEDURE, Kind.NOTE, None]),
                flags=[randomness.choice(list(Flag))] if position % (count // WAITING) == 0 and place != "personal" else (),
                created_at=start + timedelta(minutes=5 * position),
                updated_at=start + timedelta(minutes=5 * position),
            )
            batch.append(made)
            if made.audience not in interned:
                storage.intern(built.organization.id, made.audience)
                interned.add(made.audience)
        with storage.begin(built.operator, Act("benchmark.fill")) as transaction:
            for made in batch:
                vector = vectors.normal(size=(1, model.dimensions)).astype(np.float32)
                entry = IndexEntry(tuple(terms(made.content)), model.identity, vector / np.linalg.norm(vector))
                version = Version(1, made.content, None, made.provenance, made.created_at, None)
                transaction.insert(made, version, entry)
    for number in range(AUDIT_ROWS):
        with storage.begin(built.operator, built.act(f"P{1 + number % (len(built.people) - 1)}", "memory.recall")):
            pass
    storage.use_model(model.identity, model.dimensions)
    with storage.owning.borrow() as connection:
        connection.execute("VACUUM ANALYZE")


def signed_in(url: str, email: str) -> httpx2.Client:
    """A browser of somebody."""
    client = httpx2.Client(base_url=f"{url}/admin", timeout=120, follow_redirects=True)
    page = client.get("/login").text
    token = re.search(r'name="csrf_token"[^>]*value="([^"]+)"', page)
    assert token is not None
    answer = client.post("/login", data={"csrf_token": token.group(1), "email": email, "password": PASSWORD})
    if str(answer.url).partition("?")[0].endswith("/login"):
        raise SystemExit(f"{email} cannot sign in; was DIR made by another version?")
    return client


def pages(client: httpx2.Client) -> dict[str, str]:
    """Title of each page that the menu offers, with some that lead on from lists."""
    menu = client.get("/").text
    found = {path: path for path in re.findall(r'href="/admin(/[^"]*)" data-go', menu)}
    memories = re.findall(r'href="/admin(/memories/\d+)"', client.get("/memories").text)
    for name, path in {
        "a memory": next(iter(memories), None),
        "memories by words": "/memories?text=bace",
        "memories as recall finds them": "/memories?recall=yes&text=bace+difo",
        "memories of a kind, held": "/memories?kind=decision&state=held",
        "a memory with its related ones": memories and f"{memories[0]}?related=yes",
        "why, for oneself": memories and f"/access?memory={memories[0].rsplit('/', 1)[1]}",
        "why, for somebody": memories and f"/access?memory={memories[0].rsplit('/', 1)[1]}&person=p7@{SLUG}.example",
        "who reads it": memories and f"/access?mode=everybody&memory={memories[0].rsplit('/', 1)[1]}",
        "what somebody sees": f"/access?mode=list&person=p7@{SLUG}.example",
        "a person": next(iter(re.findall(r'href="/admin(/people/[0-9a-f-]+)"', client.get("/people").text)), None),
        "a team": next(iter(re.findall(r'href="/admin(/groups/[0-9a-f-]+)"', client.get("/groups").text)), None),
        "a topic": "/topics/hr" if "/topics" in found else None,
        "the audit log of one action": "/audit?action=memory.*" if "/audit" in found else None,
        "my trash": "/me/trash",
        "my activity": "/me/activity",
        "my security": "/me/security",
    }.items():
        if path and client.get(path).status_code == 200:
            found[name] = path
    return found


def main() -> None:
    """Build once, serve, ask, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--memories", type=int, default=100_000)
    parser.add_argument("--people", type=int, default=2_000)
    parser.add_argument("--rounds", type=int, default=20)
    chosen = parser.parse_args()
    with MemScope.from_settings(load(None, {}, data_dir=chosen.data_dir)) as app:
        if not any(one.slug == SLUG for one in app.core.storage.organizations()):
            app.core.embedding.load()
            fill(app, organization(chosen.people), chosen.memories)
    with serving(variables(chosen.data_dir)) as url:
        clients = {role: signed_in(url, f"{name.lower()}@{SLUG}.example") for name, role in PEOPLE.items()}
        asked = [(role, name, path) for role, client in clients.items() for name, path in pages(client).items()]
        took: dict[tuple[str, str], list[float]] = {(role, name): [] for role, name, _ in asked}
        took["anybody", "sign-in page"] = []
        bare = httpx2.Client(base_url=f"{url}/admin", timeout=60)
        for turn in range(chosen.rounds + 1):
            for role, name, client, path in [("anybody", "sign-in page", bare, "/login"), *((r, n, clients[r], p) for r, n, p in asked)]:
                started = time.perf_counter()
                answer = client.get(path)
                if turn:
                    took[role, name].append((time.perf_counter() - started) * 1000)
                if answer.status_code != 200:
                    raise SystemExit(f"{path} answered {answer.status_code} to the {role}")
    reference = statistics.median(took["anybody", "sign-in page"])
    print(f"{'page':<34}{'asked by':<16}{'median ms':>10}{'p95 ms':>10}{'x sign-in page':>16}")
    for (role, name), figures in sorted(took.items(), key=lambda one: -statistics.median(one[1])):
        ordered = sorted(figures)
        middle = statistics.median(ordered)
        print(f"{name:<34}{role:<16}{middle:>10.1f}{ordered[int(0.95 * len(ordered))]:>10.1f}{middle / reference:>16.1f}")


if __name__ == "__main__":
    main()
