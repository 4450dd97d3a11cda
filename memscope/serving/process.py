"""One server process: HTTP for an open MemScope, alone or as one of several workers behind one port."""

from __future__ import annotations

import logging
import re
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import httpx2
import uvicorn
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memscope.app import MemScope
from memscope.serving.asgi import build
from memscope.serving.gate import error
from memscope.serving.upkeep import upkeep
from memscope.serving.warming import warm

GRACE_S = 5
"""How long open streams may last after the server was told to stop."""
_SESSION = "mcp-session-id"
_OWNED = re.compile(r"w([0-9]{1,2})-(.+)")
_HOP_BY_HOP = frozenset({"connection", "keep-alive", "transfer-encoding", "content-length", "upgrade", "te", "trailer"})
_CHATTY = ("mcp", "uvicorn", "httpx2", "sse_starlette")
"""Loggers of libraries that tell of every request, with session ids."""


@dataclass(frozen=True, slots=True)
class Place:
    """One worker's number, and the folder where each listens for its siblings."""

    number: int
    workers: int
    folder: str

    def socket_of(self, number: int) -> str:
        """Path of a worker's Unix socket."""
        return str(Path(self.folder) / f"{number}.sock")


class _Server(uvicorn.Server):
    """Tells when it listens: what is slow (the model) starts only then."""

    def __init__(self, config: uvicorn.Config, on_listening: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_listening = on_listening

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then tell."""
        await super().startup(sockets)
        if self.started:
            self._on_listening()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop on a signal, and be done with it: uvicorn would raise it again afterwards, and a clean stop exit with a failure."""
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True
        # Streams that end with the server are no errors, and uvicorn would call each one that.
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)


def server(app: MemScope, on_listening: Callable[[], None], place: Place | None = None) -> uvicorn.Server:
    """The HTTP server of one process for an open MemScope; `place` when it is one of several workers."""
    if app.core.settings.log.level != "debug":
        for name in _CHATTY:
            logging.getLogger(name).setLevel(logging.WARNING)

    def started() -> None:
        warm(app)
        on_listening()

    config = uvicorn.Config(
        build(app) if place is None else build(app, around_mcp=lambda mcp: Sticky(mcp, place), shared=Path(place.folder)),
        log_config=None,
        access_log=False,
        server_header=False,
        # Whose X-Forwarded-For is believed, and how many hops of it, is a setting of the console.
        proxy_headers=False,
        timeout_graceful_shutdown=GRACE_S,
    )
    return _Server(config, started)


def run_server(app: MemScope, sockets: list[socket.socket], on_listening: Callable[[], None], place: Place | None = None) -> None:
    """Serve in this process until told to stop, with the upkeep runner beside it."""
    with upkeep(app):
        server(app, on_listening, place).run(sockets=sockets)


class Sticky:
    """Keeps each legacy MCP session with the worker that made it."""

    def __init__(self, mcp: ASGIApp, place: Place) -> None:
        self._mcp = mcp
        self._place = place

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve here, or hand on to the worker that the session id names."""
        owned = _OWNED.fullmatch(Headers(scope=scope).get(_SESSION, ""))
        if owned is None:
            await self._mcp(scope, receive, self._naming(send))
            return
        number, session = int(owned[1]), owned[2]
        if number == self._place.number:
            headers = [(name, session.encode("latin-1") if name == _SESSION.encode() else value) for name, value in scope["headers"]]
            await self._mcp({**scope, "headers": headers}, receive, self._naming(send))
        elif number < self._place.workers:
            await _forward(self._place.socket_of(number), scope, receive, send)
        else:
            await _gone(scope, receive, send)

    def _naming(self, send: Send) -> Send:
        async def naming(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                if _SESSION in headers:
                    headers[_SESSION] = f"w{self._place.number}-{headers[_SESSION]}"
            await send(message)

        return naming


async def _gone(scope: Scope, receive: Receive, send: Send) -> None:
    await error(404, "not_found", "This session is over; begin a new one.")(scope, receive, send)


async def _forward(path: str, scope: Scope, receive: Receive, send: Send) -> None:
    """Pass one request to the worker behind a Unix socket and its answer back, as it comes."""
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        body += message.get("body", b"")
        if not message.get("more_body", False):
            break
    headers = [(name, value) for name, value in scope["headers"] if name.decode("latin-1") not in _HOP_BY_HOP]
    target = scope["path"] + (f"?{scope['query_string'].decode('latin-1')}" if scope["query_string"] else "")
    started = False
    # No read limit: a stream of events may be silent for as long as the session lives.
    async with httpx2.AsyncClient(
        transport=httpx2.AsyncHTTPTransport(uds=path), timeout=httpx2.Timeout(10, read=None), base_url="http://worker"
    ) as client:
        try:
            async with client.stream(scope["method"], target, headers=headers, content=bytes(body)) as response:
                kept = [(name.lower(), value) for name, value in response.headers.raw if name.lower().decode("latin-1") not in _HOP_BY_HOP]
                await send({"type": "http.response.start", "status": response.status_code, "headers": kept})
                started = True
                async for chunk in response.aiter_raw():
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
        except httpx2.TransportError:
            if not started:
                await _gone(scope, receive, send)
                return
    await send({"type": "http.response.body", "body": b"", "more_body": False})
