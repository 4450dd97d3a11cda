"""What guards the port: which hosts and origins may ask, who is signed in, and answers in JSON."""

from __future__ import annotations

import hmac
import json
import re
from collections.abc import Iterable
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.transport_security import RequestBodyLimitMiddleware
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memscope.app import MemScope
from memscope.contracts.grants import SCOPES
from memscope.errors import MemScopeError, RateLimited, Unavailable
from memscope.mcp_server.envelope import unavailable
from memscope.mcp_server.limits import Limits
from memscope.mcp_server.principal import SCOPE_KEY
from memscope.mcp_server.server import TOOLS
from memscope.model.principal import Principal
from memscope.organizations.signing_in import authenticate
from memscope.settings import ServerSettings

MCP_PATH = "/mcp"
TOKEN_PATH = f"{MCP_PATH}/token"
"""The same for clients that bring an access token, without a word of OAuth."""
CHANGING = frozenset(tool.name for tool in TOOLS if not tool.read_only)
BODY_MAX = 4 * 1024 * 1024
"""Bytes of a request to `/mcp`."""
TOKEN_MAX = 8192
_LOCAL = ("localhost", "127.0.0.1", "::1")
_EVERYWHERE = ("", "0.0.0.0", "::")
_SIGN_INS = 16
"""How many credentials are looked up at once; apart from the tools' threads, so that busy tools keep nobody out."""
_CORS = {
    "Access-Control-Allow-Methods": "POST, GET, DELETE, OPTIONS",
    "Access-Control-Allow-Headers": "Authorization, Content-Type, Accept, MCP-Protocol-Version, Mcp-Session-Id, Mcp-Method, Mcp-Name, Last-Event-ID",
    "Access-Control-Max-Age": "600",
}
_LIBRARY_WORDS = ("Parse error:", "Validation error:")
_EXPOSED = "Mcp-Session-Id, WWW-Authenticate, Retry-After"


def error(status: int, code: str, message: str, headers: dict[str, str] | None = None) -> Response:
    """An error of the HTTP layer, in the shape that tools use."""
    return JSONResponse({"error": {"code": code, "message": message}}, status, headers)


class Hosts:
    """The names this server answers to. A web page of somebody else's that resolves to it (DNS rebinding) uses another."""

    def __init__(self, settings: ServerSettings) -> None:
        names = [*_LOCAL, *settings.allowed_hosts]
        if settings.host not in _EVERYWHERE:
            names.append(settings.host)
        if settings.public_url:
            names.append(urlsplit(settings.public_url).netloc)
        self._allowed = frozenset(name.strip().strip("[]").casefold() for name in names)

    def host(self, header: str | None) -> bool:
        """Whether a Host header is one of ours; a name allowed without port is allowed with any."""
        if not header:
            return False
        full = header.strip().casefold()
        try:
            name = urlsplit(f"//{full}").hostname or ""
        except ValueError:
            return False
        return full in self._allowed or name in self._allowed

    def origin(self, header: str | None) -> bool:
        """Whether an Origin header is absent or one of ours."""
        if header is None:
            return True
        parts = urlsplit(header) if header.startswith(("http://", "https://")) else None
        return parts is not None and self.host(parts.netloc)


class HostCheck:
    """Answers 421 to requests for another host. Health probes come by address, and are let through."""

    def __init__(self, app: ASGIApp, hosts: Hosts, exempt: Iterable[str]) -> None:
        self._app = app
        self._hosts = hosts
        self._exempt = frozenset(exempt)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check, then hand on."""
        if scope["type"] == "http" and scope["path"] not in self._exempt and not self._hosts.host(Headers(scope=scope).get("host")):
            refused = error(
                421,
                "misdirected",
                "This server is not configured for this host name. Its operator can add it under [server] allowed_hosts.",
            )
            await refused(scope, receive, send)
            return
        await self._app(scope, receive, send)


class Gate:
    """`/mcp` from the outside: origin, preflight, sign-in, rate of new sessions, size; then the protocol."""

    def __init__(self, app: MemScope, hosts: Hosts, limits: Limits, protocol: ASGIApp, *, oauth: bool = False) -> None:
        """`oauth`: whether clients are told where a person can sign in."""
        self._memscope = app
        self._oauth = oauth
        self._server = app.core.settings.server
        self._hosts = hosts
        self._protocol = RequestBodyLimitMiddleware(self._stepping_up(_mending(_in_own_words(protocol))), BODY_MAX)
        self._limits = limits
        self._sign_ins = anyio.CapacityLimiter(_SIGN_INS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        headers = Headers(scope=scope)
        origin = headers.get("origin")
        if not self._hosts.origin(origin):
            await error(403, "forbidden", "Pages of this origin may not use this server.")(scope, receive, send)
            return
        send = send if origin is None else _with_cors(send, origin)
        if scope["method"] == "OPTIONS":
            await Response(status_code=204, headers=_CORS)(scope, receive, send)
            return
        response = await self._let_in(scope, headers)
        await (response or self._protocol)(scope, receive, send)

    def _stepping_up(self, app: ASGIApp) -> ASGIApp:
        """Answer a change by a connection that may only read with 403 and the scopes it lacks, so that its client asks the person."""

        async def checked(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["method"] != "POST" or not scope[SCOPE_KEY].read_only:
                await app(scope, receive, send)
                return
            # The size limit before us has put the body into one message.
            message = await receive()
            if _called(message.get("body", b"")) in CHANGING:
                refused = insufficient(address_of(self._server, scope))
                await refused(scope, receive, send)
                return
            first = True

            async def receiving() -> Message:
                nonlocal first
                if not first:
                    return await receive()
                first = False
                return message

            await app(scope, receiving, send)

        return checked

    async def _let_in(self, scope: Scope, headers: Headers) -> Response | None:
        try:
            address = address_of(self._server, scope)
            principal = await self.principal(headers, f"{address}{MCP_PATH}")
            if principal is None:
                # Some clients ignore a header they were given where they are told of OAuth: they have a path without.
                told = self._oauth and not scope["path"].startswith(TOKEN_PATH)
                return unauthorized(address if told else None, wrong="authorization" in headers)
            if not _within(headers):
                # Before the protocol sees it: a legacy request without a session opens one.
                self._limits.take(f"open/{principal.connection}")
        except RateLimited as limited:
            retry = str(limited.details["retry_after_s"])
            return JSONResponse(limited.envelope(), 429, {"Retry-After": retry})
        except MemScopeError as failed:
            return JSONResponse(failed.envelope(), 503, {"Retry-After": "5"})
        scope[SCOPE_KEY] = principal
        # What the SDK binds a legacy session to: it is 404 for any other connection.
        scope["user"] = AuthenticatedUser(AccessToken(token="", client_id=principal.connection, scopes=[], subject=principal.person))
        return None

    async def principal(self, headers: Headers, audience: str | None = None) -> Principal | None:
        """Whom the bearer token means at a resource. Raises Unavailable when that cannot be told now."""
        token = bearer(headers)
        if token is None:
            return None
        try:
            return await anyio.to_thread.run_sync(
                partial(authenticate, self._memscope.core, self._memscope.identities, token, audience=audience), limiter=self._sign_ins
            )
        except Unavailable:
            raise
        except Exception as failure:
            raise unavailable("sign-in", failure) from None


def _within(headers: Headers) -> bool:
    """Whether a request belongs to a session, or is a modern tool call, which is counted where it is answered."""
    modern = headers.get("mcp-protocol-version") not in (None, *HANDSHAKE_PROTOCOL_VERSIONS)
    return "mcp-session-id" in headers or (modern and headers.get("mcp-method") == "tools/call")


def bearer(headers: Headers) -> str | None:
    """The bearer token of a request, or None."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    token = token.strip()
    return token if scheme.lower() == "bearer" and 0 < len(token) <= TOKEN_MAX else None


def unauthorized(address: str | None = None, *, wrong: bool = False) -> Response:
    """401 with the challenge of RFC 6750; with `address`, the server's own, also where to sign in (RFC 9728, section 5.1)."""
    challenge = "Bearer"
    if address is not None:
        metadata = f"{address}/.well-known/oauth-protected-resource{MCP_PATH}"
        challenge += f' resource_metadata="{metadata}", scope="{" ".join(SCOPES)}"' + (', error="invalid_token"' if wrong else "")
    return error(401, "unauthorized", "Sign in with a valid access token as a bearer token.", {"WWW-Authenticate": challenge})


def insufficient(address: str) -> Response:
    """403 with the scopes that are missing (RFC 6750, section 3.1)."""
    metadata = f"{address}/.well-known/oauth-protected-resource{MCP_PATH}"
    challenge = f'Bearer error="insufficient_scope", scope="{" ".join(SCOPES)}", resource_metadata="{metadata}"'
    words = "The person allowed this client to read memories, and nothing else."
    return error(403, "insufficient_scope", words, {"WWW-Authenticate": challenge})


def _called(body: bytes) -> str | None:
    """The tool that a message calls; None where it calls none, or none can be told."""
    try:
        message = json.loads(body)
        name = message["params"]["name"] if message["method"] == "tools/call" else None
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    return name if isinstance(name, str) else None


def address_of(server: ServerSettings, scope: Scope) -> str:
    """The server's address without a slash at the end: the public one, else the one that a request came to.

    The request's Host was checked before: nobody else's name gets here.
    """
    if server.public_url:
        return server.public_url.rstrip("/")
    return f"{scope.get('scheme', 'http')}://{Headers(scope=scope).get('host', f'{server.host}:{server.port}')}".casefold()


def same(given: str | None, wanted: str) -> bool:
    """Whether a token is the wanted one, in constant time."""
    return given is not None and hmac.compare_digest(given.encode(), wanted.encode())


def _with_cors(send: Send, origin: str) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers["Access-Control-Allow-Origin"] = origin
            headers["Access-Control-Expose-Headers"] = _EXPOSED
            headers.add_vary_header("Origin")
        await send(message)

    return sending


_ESCAPE = re.compile(rb"\\(?:u[dD][89aAbB][0-9a-fA-F]{2}(\\u[dD][c-fC-F][0-9a-fA-F]{2})?|(u[dD][c-fC-F][0-9a-fA-F]{2})|.)", re.DOTALL)


def mend(body: bytes) -> bytes:
    r"""JSON with every escaped half of a surrogate pair made an escaped NUL.

    Some JSON readers refuse a whole message for one of them, so that a client would hear nothing about the parameter;
    a NUL reaches the check of arguments, which refuses both with the same words.
    """

    def one(match: re.Match[bytes]) -> bytes:
        escape = match.group()
        alone = match.group(2) is not None or (len(escape) == 6 and match.group(1) is None)
        return rb"\u0000" if alone else escape

    return _ESCAPE.sub(one, body) if b"\\ud" in body or b"\\uD" in body else body


def _mending(app: ASGIApp) -> ASGIApp:
    async def mended(scope: Scope, receive: Receive, send: Send) -> None:
        async def receiving() -> Message:
            # The size limit before us has put the body into one message.
            message = await receive()
            if message["type"] == "http.request" and message.get("body"):
                message = {**message, "body": mend(message["body"])}
            return message

        await app(scope, receiving, send)

    return mended


def _in_own_words(app: ASGIApp) -> ASGIApp:
    """Cut what a library adds to a protocol error about a malformed message: it quotes the message and names itself."""

    async def cutting(scope: Scope, receive: Receive, send: Send) -> None:
        held: Message | None = None

        async def sending(message: Message) -> None:
            nonlocal held
            if message["type"] == "http.response.start" and message["status"] == 400:
                held = message
                return
            if held is not None:
                body = _shortened(message.get("body", b""))
                MutableHeaders(scope=held)["content-length"] = str(len(body))
                await send(held)
                held = None
                message = {**message, "body": body}
            await send(message)

        await app(scope, receive, sending)

    return cutting


def _shortened(body: bytes) -> bytes:
    try:
        value = json.loads(body)
        message = value["error"]["message"]
        if not message.startswith(_LIBRARY_WORDS):
            return body
        value["error"]["message"] = message.partition(":")[0]
    except (ValueError, LookupError, TypeError, AttributeError):
        return body
    return json.dumps(value).encode()


def state(app: MemScope) -> dict[str, Any]:
    """What `/readyz` tells; raises Unavailable when no call could be served."""
    app.core.storage.check()
    return {"status": "ready", "storage": "ok", "model": app.core.embedding.state}
