"""`memscope stdio`: the same tools over standard input and output, for one person."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any, TextIO, cast

import anyio
from mcp.server.stdio import stdio_server

from memscope.app import MemScope
from memscope.errors import StartError
from memscope.mcp_server.principal import Local
from memscope.mcp_server.server import Front
from memscope.model.principal import Principal
from memscope.organizations.signing_in import authenticate, stdio_principal
from memscope.serving.gate import mend
from memscope.serving.upkeep import upkeep
from memscope.serving.warming import warm


def run(app: MemScope, *, organization: str | None = None, person: str | None = None, token: str | None = None) -> None:
    """Serve until the input ends. Raises StartError when it is not clear for whom, or the token is not good."""
    local = _caller(app, organization, person, token)
    if local() is None:
        raise StartError(
            "This access token is not valid, or no longer. Make one with `memscope token create EMAIL --org SLUG --client NAME`."
        )
    with _wire() as (source, sink), upkeep(app):
        warm(app)
        anyio.run(_serve, app, local, source, sink)


def _caller(app: MemScope, organization: str | None, person: str | None, token: str | None) -> Local:
    if token is not None:
        return lambda: authenticate(app.core, app.identities, token)
    found = stdio_principal(app.core, organization, person)

    def again() -> Principal | None:
        # Asked at each call: the person may have been disabled, the connection revoked, since the process started.
        connection = app.core.storage.connection(found.organization, found.connection)
        known = app.core.rosters.current(found.organization).people[found.person]
        return found if known.active and connection is not None and connection.revoked_at is None else None

    return again


async def _serve(app: MemScope, local: Local, source: TextIO, sink: TextIO) -> None:
    server = Front(app.core, local).server()
    lines = cast("anyio.AsyncFile[str]", _Lines(source))
    async with stdio_server(lines, anyio.wrap_file(sink)) as (read, write):
        await server.run(read, write, server.create_initialization_options())


class _Lines:
    """The lines of a stream, mended as requests over HTTP are."""

    def __init__(self, stream: TextIO) -> None:
        self._stream: Any = anyio.wrap_file(stream)

    async def __aiter__(self) -> AsyncIterator[str]:
        async for line in self._stream:
            yield mend(line.encode()).decode()


@contextmanager
def _wire() -> Iterator[tuple[TextIO, TextIO]]:
    """Standard input and output for the protocol alone: whatever else prints goes to standard error, and reads nothing."""
    sys.stdout.flush()
    kept = os.dup(0), os.dup(1)
    with os.fdopen(os.dup(0), encoding="utf-8", errors="replace") as source, os.fdopen(os.dup(1), "w", encoding="utf-8") as sink:
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.dup2(2, 1)
        os.close(nothing)
        try:
            yield source, sink
        finally:
            for number, descriptor in enumerate(kept):
                os.dup2(descriptor, number)
                os.close(descriptor)
