"""What the benchmarks share: commands of `memscope`, a server in a process of its own, and MCP sessions to it."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

MEMSCOPE = [sys.executable, "-m", "memscope.cli.main"]


def variables(data_dir: Path, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of one MemScope; benchmarks raise the call limit."""
    return {**os.environ, "MEMSCOPE_DATA_DIR": str(data_dir), "MEMSCOPE_LIMITS_CALLS_PER_MINUTE": "10000000", **(more or {})}


def command(environ: Mapping[str, str], *arguments: str) -> str:
    """The standard output of a command that succeeds."""
    return subprocess.run([*MEMSCOPE, *arguments], env=dict(environ), check=True, stdout=subprocess.PIPE, text=True).stdout


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    """A data folder of its own, which another user may pass: root's embedded database runs as one."""
    with tempfile.TemporaryDirectory(prefix="memscope-bench-") as made:
        Path(made).chmod(0o755)
        yield Path(made) / "data"


@contextlib.contextmanager
def serving(environ: Mapping[str, str]) -> Iterator[str]:
    """A running server's address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen([*MEMSCOPE, "serve", "--port", str(port)], env=dict(environ), stdout=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            with contextlib.suppress(OSError, urllib.error.URLError):
                urllib.request.urlopen(f"{url}/readyz", timeout=2).close()
                break
            time.sleep(0.1)
        else:
            raise SystemExit("the server did not become ready")
        yield url
    finally:
        server.terminate()
        server.wait(60)


@contextlib.asynccontextmanager
async def session(url: str, token: str) -> AsyncIterator[Client]:
    """An MCP session of one person."""
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http)) as client,
    ):
        yield client
