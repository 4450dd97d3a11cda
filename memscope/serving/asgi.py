"""One port: MCP, the web parts of plugins, health and figures."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.to_thread
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp

from memscope.app import MemScope
from memscope.errors import StartError, Unavailable
from memscope.mcp_server.envelope import unavailable
from memscope.mcp_server.server import Front
from memscope.model.organization import Role
from memscope.serving.gate import MCP_PATH, TOKEN_PATH, Gate, HostCheck, Hosts, bearer, error, same, state, unauthorized

CONSOLE_PATH = "/admin"
OAUTH_PATH = "/oauth"
"""The web part that lets agents sign in through the browser; without it they bring access tokens."""
_PROBES = ("/healthz", "/readyz")
_OURS = (*_PROBES, "/metrics", MCP_PATH, TOKEN_PATH)
_NO_CONSOLE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>MemScope</title></head>
<body><main><h1>MemScope is running</h1>
<p>Agents connect at <code>/mcp</code> with an access token. No console is installed on this server: people, teams and
tokens are managed with the <code>memscope</code> command.</p></main></body></html>
"""


def build(app: MemScope, *, around_mcp: Callable[[ASGIApp], ASGIApp] | None = None, shared: Path | None = None) -> Starlette:
    """The whole application for an open MemScope.

    For one of several workers, `around_mcp` wraps what serves `/mcp` (they hand each other sessions there), and `shared`
    is a folder that all have. Raises StartError when a path is claimed twice.
    """
    front = Front(app.core, shared=shared)
    hosts = Hosts(app.core.settings.server)
    # Stateful, so that clients of the handshake era can be asked and are known by name; answers to them are streams
    # for the same reason.
    sessions = StreamableHTTPSessionManager(front.server())
    parts = app.core.hooks.web_parts(app)
    gate = Gate(app, hosts, front.limits, sessions.handle_request, oauth=any(part.path == OAUTH_PATH for part in parts))
    mcp: ASGIApp = gate if around_mcp is None else around_mcp(gate)
    for part in parts:
        if part.path in _OURS:
            raise StartError(f"A plugin adds {part.path}, which is MemScope's own address; block that plugin.")
    routes: list[BaseRoute] = [
        Route("/healthz", _healthz),
        Route("/readyz", _readyz(app)),
        Route("/metrics", _metrics(app, gate, front)),
        *(_every_method(path, mcp) for path in (MCP_PATH, f"{MCP_PATH}/", TOKEN_PATH, f"{TOKEN_PATH}/")),
        *(Mount(part.path, part.app) for part in parts),
    ]
    if all(part.path != CONSOLE_PATH for part in parts):
        routes.append(Route(f"{CONSOLE_PATH}/", _no_console))

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with sessions.run():
            yield

    return Starlette(
        routes=routes,
        middleware=[Middleware(HostCheck, hosts=hosts, exempt=_PROBES)],
        exception_handlers={HTTPException: _http_error, Exception: _failure},
        lifespan=lifespan,
    )


def _every_method(path: str, app: ASGIApp) -> Route:
    # A Route takes an application as it is, with all methods, when the endpoint is no function.
    return Route(path, endpoint=app)


async def _healthz(request: Request) -> Response:
    return JSONResponse({"status": "ok"})


def _readyz(app: MemScope) -> Callable[..., object]:
    async def readyz(request: Request) -> Response:
        try:
            return JSONResponse(await anyio.to_thread.run_sync(state, app))
        except Unavailable:
            return JSONResponse({"status": "unavailable"}, 503)

    return readyz


def _metrics(app: MemScope, gate: Gate, front: Front) -> Callable[..., object]:
    async def metrics(request: Request) -> Response:
        """The configured token reads the figures, and so does an administrator: they are of the whole server."""
        wanted = app.core.settings.server.metrics_token
        if wanted is None or not same(bearer(request.headers), wanted):
            principal = await gate.principal(request.headers)
            if principal is None:
                return unauthorized()
            if app.core.rosters.known(principal.organization).people[principal.person].role is not Role.ADMIN:
                return error(403, "forbidden", "Figures of the server are for administrators and for its metrics token.")
        model = "# HELP memscope_model_ready Whether recall has its embedding model.\n# TYPE memscope_model_ready gauge\n"
        model += f"memscope_model_ready {int(app.core.embedding.ready)}\n"
        return PlainTextResponse("\n".join(front.meter.lines()) + "\n" + model, media_type="text/plain; version=0.0.4")

    return metrics


async def _no_console(request: Request) -> Response:
    return HTMLResponse(_NO_CONSOLE)


async def _http_error(request: Request, failure: Exception) -> Response:
    status = failure.status_code if isinstance(failure, HTTPException) else 500
    headers = dict(failure.headers or {}) if isinstance(failure, HTTPException) else None
    words = {
        404: ("not_found", "There is nothing at this address."),
        405: ("method_not_allowed", "This address does not take this method."),
    }
    code, message = words.get(status, ("http_error", "This request cannot be served."))
    return error(status, code, message, headers)


async def _failure(request: Request, failure: Exception) -> Response:
    return JSONResponse(unavailable("a request", failure).envelope(), 500)
