"""Commands as separate processes, on the embedded PostgreSQL of one data folder, beside a running server."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import httpx2
import psycopg
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

HARBOR = """
[organization]
slug = "harbor"
confirmation = "flag"
trash_days = 1

[[people]]
email = "ada@harbor.example"
role = "admin"

[[people]]
email = "bo@harbor.example"

[[teams]]
slug = "engineering"
members = ["bo@harbor.example"]
"""


@dataclass
class Shell:
    """A data folder, and commands on it."""

    folder: Path

    @property
    def data(self) -> str:
        """The data folder."""
        return str(self.folder / "data")

    @property
    def environ(self) -> dict[str, str]:
        """Without any setting of the one who runs the tests."""
        return {name: value for name, value in os.environ.items() if not name.startswith("MEMSCOPE_")}

    def command(self, *arguments: str) -> list[str]:
        """The words of a command."""
        return [sys.executable, "-m", "memscope.cli.main", *arguments, "--data-dir", self.data]

    def run(self, *arguments: str, stdin: str = "", code: int = 0) -> str:
        """What a command prints."""
        done = subprocess.run(
            self.command(*arguments), input=stdin, capture_output=True, text=True, env=self.environ, timeout=120, check=False
        )
        assert done.returncode == code, done
        assert "Traceback" not in done.stderr
        return done.stdout if code == 0 else done.stderr

    def file(self, name: str, text: str) -> str:
        """A file with this text."""
        (self.folder / name).write_text(text)
        return str(self.folder / name)

    def token(self, email: str) -> str:
        """A new token."""
        return self.run("token", "create", email, "--client", "shell").strip()

    @contextmanager
    def serving(self, *arguments: str) -> Iterator[str]:
        """The address of a running `memscope serve` (or another command)."""
        command = self.command(*(arguments or ("serve",)), "--port", "0")
        process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, env=self.environ)
        assert process.stderr is not None
        try:
            for line in process.stderr:
                if found := re.search(r"serves (http://[^/]+)/mcp", line):
                    yield found.group(1)
                    break
            else:
                raise AssertionError("the server did not start")
        finally:
            process.send_signal(signal.SIGTERM)
            rest = process.stderr.read()
            assert process.wait(60) == 0, rest
            assert "Traceback" not in rest, rest
            process.stderr.close()

    @contextmanager
    def owner(self) -> Iterator[psycopg.Connection[Any]]:
        """A connection that row-level security does not bind, as an operator of the database has.

        It keeps the database server up, which commands then find running.
        """
        from memscope_postgres.embedded import EmbeddedServer

        server = EmbeddedServer(Path(self.data))
        try:
            with psycopg.connect(server.start().superuser, autocommit=True) as connection:
                yield connection
        finally:
            server.release()


@pytest.fixture(scope="module")
def shell() -> Iterator[Shell]:
    """An organization made by `org apply`, in a folder that an unprivileged database server may enter."""
    with tempfile.TemporaryDirectory(prefix="memscope-test-") as folder:
        Path(folder).chmod(0o755)
        shell = Shell(Path(folder))
        shell.run("org", "apply", shell.file("harbor.toml", HARBOR))
        with shell.owner():
            yield shell


def call(url: str, token: str, tool: str, **arguments: Any) -> dict[str, Any]:
    """One call over HTTP; the structured answer, or the HTTP status of a refusal."""

    async def calling() -> dict[str, Any]:
        async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60) as http:
            refused = await http.post(f"{url}/mcp", json={})
            if refused.status_code == 401:
                return {"status": 401}
            async with Client(streamable_http_client(f"{url}/mcp", http_client=http)) as client:
                answer: dict[str, Any] | None = (await client.call_tool(tool, arguments)).structured_content
                assert answer is not None
                return answer

    answered: dict[str, Any] = anyio.run(calling)
    return answered


def test_commands_take_effect_while_the_server_runs(shell: Shell) -> None:
    with shell.serving() as url:
        token = shell.token("bo@harbor.example")
        saved = call(url, token, "remember", content="The lighthouse is painted every second May.", scope="organization")
        assert saved["created"] is True
        line = {
            "content": "The harbour crane is inspected in June.",
            "author": "bo@harbor.example",
            "team": "engineering",
            "created_at": "2026-01-02",
        }
        shell.run("import", shell.file("m.jsonl", json.dumps(line)))
        found = call(url, token, "recall", query="When is the crane inspected?")["results"]
        assert found[0]["content"] == line["content"]
        assert found[0]["created_at"] == "2026-01-02T00:00:00Z"
        assert (
            call(url, shell.token("ada@harbor.example"), "recall", query="When is the crane inspected?")["results"][0]["content"]
            != line["content"]
        )
        identifier = next(row.split()[0] for row in shell.run("token", "list").splitlines() if "bo@" in row and "shell" in row)
        shell.run("token", "revoke", identifier)
        assert call(url, token, "recall", query="crane") == {"status": 401}
        assert "ready" in shell.run("doctor", "--config", shell.file("s.toml", f"[server]\nport = {url.rsplit(':', 1)[1]}\n"))


def test_two_workers_serve_one_database(shell: Shell) -> None:
    with shell.serving("serve", "--workers", "2") as url:
        token = shell.token("bo@harbor.example")
        for number in range(4):
            assert call(url, token, "remember", content=f"Buoy {number} is green.")["created"] is True


def test_stdio_serves_the_named_person_and_nobody_by_default(shell: Shell) -> None:
    refused = shell.run("stdio", code=1)
    assert "There are several people" in refused

    async def asking() -> Any:
        command, *arguments = shell.command("stdio", "--person", "bo@harbor.example")
        server = StdioServerParameters(command=command, args=arguments, env=shell.environ)
        async with Client(stdio_client(server)) as client:
            await client.call_tool("remember", {"content": "Only Bo knows of the spare key box."})
            return (await client.call_tool("recall", {"query": "spare key box"})).structured_content

    assert anyio.run(asking)["results"][0]["author"]["name"] == "bo"
    assert "not valid" in shell.run("stdio", "--token", "msk_nothing", code=1)


def test_demo_serves_its_people(shell: Shell) -> None:
    demo = Shell(shell.folder / "demo")
    demo.folder.mkdir(mode=0o755)
    with demo.serving("demo") as url:
        tokens = json.loads((demo.folder / "data" / "demo.json").read_text())["tokens"]
        answers = {
            name: call(url, tokens[f"{name}@tidewater.example"], "recall", query="Which salary did Leon ask for?")
            for name in ("amara", "marek", "guest")
        }
    salary = "58,000"
    assert salary in json.dumps(answers["amara"])
    assert salary not in json.dumps(answers["marek"])
    assert salary not in json.dumps(answers["guest"])


def texts(connection: psycopg.Connection[Any]) -> Iterator[tuple[str, str]]:
    """(table, everything in a row as text) of every table that MemScope has."""
    tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'memscope'").fetchall()
    for (table,) in tables:
        for (row,) in connection.execute(f"SELECT row_to_json(t)::text FROM memscope.{table} t").fetchall():
            yield table, row


def test_after_a_purge_the_text_is_nowhere(shell: Shell) -> None:
    word = "zephyrquine"
    with shell.serving() as url:
        token = shell.token("bo@harbor.example")
        saved = call(
            url, token, "remember", content=f"The {word} anchor lies in bay 9.", scope="organization", idempotency_key="anchor", run_id="r9"
        )
        memory = saved["memory"]["id"]
        call(url, token, "correct_memory", memory_id=memory, new_content=f"The {word} anchor lies in bay 10.", reason="It was bay 10.")
        assert call(url, token, "recall", query=f"{word} anchor")["results"][0]["id"] == memory
        call(url, token, "forget_memory", memory_id=memory, confirm_human=True, reason=f"{word} is gone")
    with shell.owner() as owner:
        assert any(word in row for table, row in texts(owner))
        owner.execute("UPDATE memscope.memory SET forgotten_at = %s WHERE memory_id = %s", (datetime.now(UTC) - timedelta(days=2), memory))
        # Whatever holds the memory's text or something made of it: also under its stem.
        assert shell.run("purge", "--dry-run") == f"would erase {memory}\n"
        assert shell.run("purge") == f"erased {memory}\n"
        left = [(table, row) for table, row in texts(owner) if "zephyr" in row or "anchor" in row or "bay" in row]
        assert left == []
        rows = [(table, json.loads(row)) for table, row in texts(owner) if memory in row]
    assert {table for table, _ in rows} <= {"audit", "idempotency"}
    receipt = next(row for table, row in rows if table == "audit" and row["action"] == "memory.erase")
    assert receipt["detail"]["versions"] == "2"
    files = [path for path in (shell.folder / "data").rglob("*") if path.is_file() and "postgres/" not in str(path)]
    assert all(word.encode() not in path.read_bytes() for path in files)


def test_a_changed_audit_row_is_named(shell: Shell) -> None:
    assert re.fullmatch(r"harbor: \d+ rows, whole\n", shell.run("audit", "verify"))
    with shell.owner() as owner:
        owner.execute("SET session_replication_role = replica")
        owner.execute("UPDATE memscope.audit SET action = action || '!' WHERE position = 3")
        failed = subprocess.run(shell.command("audit", "verify"), capture_output=True, text=True, env=shell.environ, check=False)
        owner.execute("UPDATE memscope.audit SET action = rtrim(action, '!') WHERE position = 3")
    assert failed.returncode == 1
    assert failed.stdout.startswith("harbor: row 3 is broken: its content is not what was written")


def test_a_backup_is_restored_elsewhere(shell: Shell) -> None:
    target = shell.folder / "backup.dump"
    shell.run("backup", str(target))
    assert "exists already" in shell.run("backup", str(target), code=1)
    other = Shell(shell.folder / "other")
    other.folder.mkdir(mode=0o755)
    other.run("restore", str(target))
    assert other.run("org", "export") == shell.run("org", "export")
    assert other.run("export") == shell.run("export")
    assert "whole" in other.run("audit", "verify")
    other.run("restore", str(target), code=1)
