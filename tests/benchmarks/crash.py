"""Does every answered memory outlive kill -9? Run it: it kills `memscope serve` and its PostgreSQL in turn, and counts.

Writers save over MCP, each with an idempotency key. After a random number of answers the server, its PostgreSQL or both
are killed. What was answered must be there afterwards, word for word; what was not answered is sent again under the same
key and must then be there once. Exit code 1 when anything is missing, different or double.

    python tests/benchmarks/crash.py --rounds 50
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import httpx2
import psutil
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

PERSON, SLUG = "crash@example.com", "crash"
ORGANIZATION = f"""
[organization]
slug = "{SLUG}"
name = "Crash test"
[[people]]
email = "{PERSON}"
name = "Crash"
role = "member"
"""
WRITERS = 4
RECOVERY_S = 60
THINGS = ("kettle", "ladder", "window", "harbour", "carpet", "engine", "garden", "bridge", "lantern", "saddle")


class Failed(Exception):
    """A call that was not answered with success: nothing is known of what it did."""


@dataclass
class Server:
    """`memscope serve` as a process group of its own, on a data directory of its own."""

    program: str
    data_dir: Path
    port: int
    workers: int
    process: subprocess.Popen[bytes] | None = None

    def command(self, *arguments: str) -> str:
        """Run another command on the same data directory; what it printed."""
        command = [self.program, *arguments, "--data-dir", str(self.data_dir)]
        return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()

    def start(self) -> float:
        """Start it and wait until it is ready; how long that took, in seconds."""
        begun = time.monotonic()
        command = [self.program, "serve", "--port", str(self.port), "--data-dir", str(self.data_dir), "--workers", str(self.workers)]
        with (self.data_dir / "serve.log").open("ab") as log:
            limits = {"MEMSCOPE_LIMITS_CALLS_PER_MINUTE": "1000000"}
            self.process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True, env=os.environ | limits)
        while time.monotonic() < begun + RECOVERY_S:
            with (
                contextlib.suppress(OSError, urllib.error.URLError),
                urllib.request.urlopen(f"http://127.0.0.1:{self.port}/readyz", timeout=5),
            ):
                return time.monotonic() - begun
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        raise SystemExit(f"memscope serve was not ready within {RECOVERY_S} s; see {self.data_dir / 'serve.log'}")

    def kill(self) -> None:
        """Kill the server with its workers, without warning. PostgreSQL is in another process group and lives on."""
        assert self.process is not None
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def kill_postgres(self) -> None:
        """Kill the postmaster and, in two of three times, what works for it: left alone, a backend finishes its transaction."""
        postmaster = psutil.Process(int((self.data_dir / "postgres/postmaster.pid").read_text().split()[0]))
        children = postmaster.children()
        for process in [postmaster, *(children if random.random() < 2 / 3 else [])]:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()

    def stop(self) -> None:
        """Stop the server and with it PostgreSQL."""
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            self.process.wait()


@dataclass
class Ledger:
    """What was sent and what was answered."""

    answered: dict[str, str] = field(default_factory=dict)
    """Text by the id of its memory."""
    pending: dict[str, str] = field(default_factory=dict)
    """Text by idempotency key, sent and not answered."""
    sent: int = 0


@dataclass
class Agent:
    """An MCP client with a token; every call stands alone, so it survives a restart of the server."""

    url: str
    token: str

    @contextlib.asynccontextmanager
    async def connected(self) -> AsyncIterator[Client]:
        """A client for a number of calls."""
        headers = {"Authorization": f"Bearer {self.token}"}
        async with httpx2.AsyncClient(headers=headers, timeout=30) as http:
            transport = streamable_http_client(self.url, http_client=http)
            async with Client(transport, mode="2026-07-28", read_timeout_seconds=30, cache=None) as client:
                yield client

    async def call(self, client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
        """The tool's answer. Raises `Failed` when it is an error."""
        result = await client.call_tool(tool, arguments)
        content: dict[str, Any] | None = result.structured_content
        if result.is_error or content is None:
            raise Failed(result.content)
        return content

    async def remember(self, client: Client, key: str, text: str, ledger: Ledger) -> None:
        """Save a text; it is pending until it is answered."""
        ledger.pending[key] = text
        answer = await self.call(client, "remember", content=text, idempotency_key=key)
        ledger.answered[answer["memory"]["id"]] = text
        del ledger.pending[key]


async def write_until_killed(agent: Agent, ledger: Ledger, kill: Sequence[Any], after: int) -> None:
    """Save from several writers at once; when `after` of them were answered, kill; end when each writer has failed once."""
    goal = len(ledger.answered) + after
    killed = False

    async def write() -> None:
        nonlocal killed
        with contextlib.suppress(Exception):  # the point of it: calls fail here
            async with agent.connected() as client:
                until = time.monotonic() + RECOVERY_S
                while time.monotonic() < until:
                    ledger.sent += 1
                    key = f"crash-{ledger.sent}"
                    await agent.remember(
                        client, key, f"The {random.choice(THINGS)} of lot {ledger.sent} went to shed {ledger.sent * 7 % 89}.", ledger
                    )
                    if killed and len(ledger.answered) > goal + 20:
                        return  # it came back before this writer noticed
                    if not killed and len(ledger.answered) >= goal:
                        killed = True
                        for strike in kill:
                            strike()

    async with anyio.create_task_group() as group:
        for _ in range(WRITERS):
            group.start_soon(write)
    if not killed:
        raise SystemExit("The writers failed before anything was killed.")


async def settle(agent: Agent, ledger: Ledger) -> float:
    """Send again what was not answered until it is; how long that took, in seconds."""
    begun = time.monotonic()
    last: Exception | None = None
    while ledger.pending and time.monotonic() < begun + RECOVERY_S:
        try:
            async with agent.connected() as client:
                for key, text in list(ledger.pending.items()):
                    await agent.remember(client, key, text, ledger)
        except Exception as error:
            last = error
            await anyio.sleep(0.05)
    if ledger.pending:
        raise SystemExit(f"{len(ledger.pending)} calls were not answered within {RECOVERY_S} s after a kill: {last!r}")
    return time.monotonic() - begun


async def check(agent: Agent, wanted: dict[str, str]) -> list[str]:
    """What is wrong with these memories: by id, text."""
    wrong = []
    async with agent.connected() as client:
        for id_, text in wanted.items():
            try:
                answer = await agent.call(client, "get_memory", memory_id=id_)
            except Failed as error:
                wrong.append(f"{id_} is gone: {error}")
                continue
            if answer["memory"]["content"] != text:
                wrong.append(f"{id_} has another text")
    return wrong


async def count(agent: Agent) -> int:
    """How many memories the person has."""
    found, cursor = 0, None
    async with agent.connected() as client:
        while True:
            answer = await agent.call(client, "list_memories", limit=50, **({"cursor": cursor} if cursor else {}))
            found += len(answer["memories"])
            if not (cursor := answer["next_cursor"]):
                return found


async def run(server: Server, agent: Agent, rounds: int) -> int:
    """All rounds; the number of things wrong."""
    ledger = Ledger()
    wrong: list[str] = []
    for round_ in range(1, rounds + 1):
        before = set(ledger.answered)
        kind, kill = (("server", [server.kill]), ("postgres", [server.kill_postgres]), ("both", [server.kill_postgres, server.kill]))[
            round_ % 3
        ]
        await write_until_killed(agent, ledger, kill, random.randint(1, 25))
        open_ = len(ledger.pending)
        ready = server.start() if kind != "postgres" else 0.0
        settled = await settle(agent, ledger)
        fresh = {id_: text for id_, text in ledger.answered.items() if id_ not in before}
        found = await check(agent, fresh)
        wrong += found
        counts = f"answered {len(fresh):3} unanswered {open_:2} wrong {len(found)}"
        print(f"round {round_:3} killed {kind:8} {counts} start {ready:5.2f} s settled {settled:5.2f} s", flush=True)
    wrong += await check(agent, ledger.answered)
    total = await count(agent)
    if total != len(ledger.answered):
        wrong.append(f"there are {total} memories, not {len(ledger.answered)}")
    print(f"{len(ledger.answered)} memories answered, {total} there, {len(wrong)} wrong", *wrong[:20], sep="\n")
    return len(wrong)


def main() -> int:
    """Parse arguments, make the organization, run, clean up unless something was wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--port", type=int, default=18765)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--memscope", default=str(Path(sys.executable).with_name("memscope")), help="the program to run")
    arguments = parser.parse_args()
    random.seed(arguments.seed)
    data_dir = Path(tempfile.mkdtemp(prefix="memscope-crash-"))
    data_dir.chmod(0o711)
    server = Server(arguments.memscope, data_dir, arguments.port, arguments.workers)
    wrong = 1
    try:
        (data_dir / "crash.toml").write_text(ORGANIZATION, encoding="utf-8")
        server.command("org", "apply", str(data_dir / "crash.toml"))
        token = server.command("token", "create", PERSON, "--org", SLUG, "--client", "crash")
        if not re.fullmatch(r"\S+", token):
            raise SystemExit(f"token create printed {token!r}")
        server.start()
        wrong = anyio.run(run, server, Agent(f"http://127.0.0.1:{arguments.port}/mcp", token), arguments.rounds)
    finally:
        server.stop()
        if wrong:
            print(f"left for a look: {data_dir}", file=sys.stderr)
        else:
            shutil.rmtree(data_dir)
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
