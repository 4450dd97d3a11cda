"""The commands themselves: stdio for one person, several workers behind one port. Each is a process of its own on PostgreSQL."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import psutil
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

ORGANIZATION = """
[organization]
slug = "acme"
name = "Acme"
[[people]]
email = "ada@example.com"
name = "Ada"
role = "admin"
[[people]]
email = "ben@example.com"
name = "Ben"
"""
ACCEPT = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}


class Installation:
    """A data folder with an organization of two people."""

    def __init__(self, folder: Path, guards: Path) -> None:
        self.environ = {
            **{name: value for name, value in os.environ.items() if not name.startswith("MEMSCOPE_")},
            "MEMSCOPE_DATA_DIR": str(folder / "data"),
            "MEMSCOPE_PLUGINS_FILES": str(guards),
            "MEMSCOPE_PLUGINS_BLOCKED": "spacy,instructions,admin",
        }
        file = folder / "acme.toml"
        file.write_text(ORGANIZATION)
        self.run("org", "apply", str(file))
        self.token = self.run("token", "create", "ben@example.com", "--org", "acme", "--client", "tester").strip()

    def command(self, *arguments: str) -> list[str]:
        """The command line of `memscope` with these arguments."""
        return [sys.executable, "-m", "memscope.cli.main", *arguments]

    def run(self, *arguments: str) -> str:
        """What a command prints."""
        done = subprocess.run(self.command(*arguments), env=self.environ, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    @contextmanager
    def limited(self, calls: int) -> Iterator[None]:
        """So many calls a minute, for servers started within."""
        self.environ["MEMSCOPE_LIMITS_CALLS_PER_MINUTE"] = str(calls)
        yield
        del self.environ["MEMSCOPE_LIMITS_CALLS_PER_MINUTE"]

    @contextmanager
    def serving(self, *arguments: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
        """A server on a free port, stopped as a service manager does it."""
        process = subprocess.Popen(self.command("serve", "--port", "0", *arguments), env=self.environ, stderr=subprocess.PIPE, text=True)
        assert process.stderr is not None
        heard: list[str] = []
        for line in process.stderr:
            heard.append(line)
            if found := re.search(r"(http://\S+)/mcp", line):
                break
        else:
            raise AssertionError("".join(heard))
        try:
            yield found[1], process
        finally:
            process.send_signal(signal.SIGTERM)
            rest = process.stderr.read()
            process.wait(60)
            process.stderr.close()
            assert process.returncode == 0, rest


@pytest.fixture(scope="module")
def installation(data_folder_factory: Any, plain_guards: Path) -> Iterator[Installation]:
    with data_folder_factory() as folder:
        yield Installation(folder, plain_guards)


def headers(token: str, **more: str) -> dict[str, str]:
    return {**ACCEPT, "Authorization": f"Bearer {token}", **{name.replace("_", "-"): value for name, value in more.items()}}


@pytest.mark.parametrize(("mode", "arguments"), [("legacy", ["--person", "ben@example.com"]), ("auto", ["--token"])])
def test_stdio_serves_one_person(installation: Installation, mode: str, arguments: list[str]) -> None:
    given = [*arguments, installation.token] if arguments == ["--token"] else arguments
    command, *rest = installation.command("stdio", *given)

    async def talk() -> None:
        async with Client(stdio_client(StdioServerParameters(command=command, args=rest, env=installation.environ)), mode=mode) as client:
            assert len((await client.list_tools()).tools) == 18
            saved = await client.call_tool("remember", {"content": f"Saved over stdio by {mode}."})
            assert saved.structured_content is not None
            assert saved.structured_content["memory"]["author"]["name"] == "Ben"
            assert saved.structured_content["memory"]["client"]["name"] == ("tester" if arguments == ["--token"] else "stdio")
            refused = await client.call_tool("remember", {"content": "x", "colour": "red"})
            assert refused.is_error

    anyio.run(talk)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "--person"),
        (["--person", "nobody@example.com"], "nobody@example.com"),
        (["--token", "msk_nonsense"], "not valid"),
    ],
    ids=["among several nobody is assumed", "an unknown person", "a bad token"],
)
def test_stdio_says_why_it_does_not_start_and_prints_nothing_else(installation: Installation, arguments: list[str], words: str) -> None:
    done = subprocess.run(
        installation.command("stdio", *arguments),
        env=installation.environ,
        input=json.dumps(INITIALIZE),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_nothing_but_the_protocol_is_on_standard_output(installation: Installation) -> None:
    lines = [
        INITIALIZE,
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "tools/call",
            "params": {"name": "remember", "arguments": {"content": "half of a pair: \ud83d"}},
        },
    ]
    with subprocess.Popen(
        installation.command("stdio", "--person", "ben@example.com"),
        env={**installation.environ, "MEMSCOPE_LOG_LEVEL": "debug"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("".join(json.dumps(line) + "\n" for line in lines))
        process.stdin.flush()
        answers = [json.loads(process.stdout.readline()) for _ in range(2)]
        process.stdin.close()
        assert process.stdout.read() == ""
        assert process.wait(60) == 0
    assert [answer["id"] for answer in answers] == [1, 2]
    assert answers[1]["result"]["structuredContent"]["error"]["parameter"] == "content"


def test_a_session_stays_with_the_worker_that_made_it(installation: Installation) -> None:
    with installation.serving("--workers", "2") as (url, process):
        sessions = set()
        # Each request comes on a connection of its own, so either worker may get it.
        for _ in range(8):
            opened = httpx2.post(f"{url}/mcp", headers=headers(installation.token), json=INITIALIZE, timeout=60)
            assert opened.status_code == 200
            session = opened.headers["mcp-session-id"]
            sessions.add(session)
            for number in range(3):
                listed = httpx2.post(
                    f"{url}/mcp",
                    headers=headers(installation.token, Mcp_Session_Id=session),
                    json={"jsonrpc": "2.0", "id": number, "method": "tools/list"},
                    timeout=60,
                )
                assert listed.status_code == 200
                assert '"remember"' in listed.text
            other = httpx2.post(f"{url}/mcp", headers=headers("msk_nonsense", Mcp_Session_Id=session), json=INITIALIZE, timeout=60)
            assert other.status_code == 401
        assert {session[:3] for session in sessions} <= {"w0-", "w1-"}
        assert httpx2.delete(f"{url}/mcp", headers=headers(installation.token, Mcp_Session_Id=session), timeout=60).status_code == 200
        for stale in (session, "w7-0123", "w1-0123", "0123"):
            gone = httpx2.post(f"{url}/mcp", headers=headers(installation.token, Mcp_Session_Id=stale), json=INITIALIZE, timeout=60)
            assert gone.status_code == 404, stale

        async def talk(mode: str) -> None:
            async with (
                httpx2.AsyncClient(headers={"Authorization": f"Bearer {installation.token}"}, timeout=60) as http,
                Client(streamable_http_client(f"{url}/mcp", http_client=http), mode=mode) as client,
            ):
                for number in range(3):
                    saved = await client.call_tool("remember", {"content": f"Entry {number} of {mode} by several workers."})
                    assert not saved.is_error, saved.structured_content

        async def both() -> None:
            async with anyio.create_task_group() as group:
                group.start_soon(talk, "legacy")
                group.start_soon(talk, "auto")

        anyio.run(both)
        workers = [child for child in psutil.Process(process.pid).children() if "spawn_main" in " ".join(child.cmdline())]
        assert len(workers) == 2
    assert not any(worker.is_running() and worker.status() != psutil.STATUS_ZOMBIE for worker in workers)


def test_workers_count_calls_together(installation: Installation) -> None:
    with installation.limited(4), installation.serving("--workers", "2") as (url, _):
        codes = []
        for number in range(6):
            body = {
                "jsonrpc": "2.0",
                "id": number,
                "method": "tools/call",
                "params": {
                    "name": "list_topics",
                    "arguments": {},
                    "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}},
                },
            }
            more = {"MCP_Protocol_Version": "2026-07-28", "Mcp_Method": "tools/call", "Mcp_Name": "list_topics"}
            answer = httpx2.post(f"{url}/mcp", headers=headers(installation.token, **more), json=body, timeout=60)
            codes.append(answer.json()["result"].get("isError", False))
        assert codes == [False] * 4 + [True] * 2
