"""Addresses of the OAuth authorization server: `/oauth/…` and its documents under `/.well-known`. Pages are in `views.consent`."""

from __future__ import annotations

import base64
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import anyio.to_thread
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route, Router

from memscope.app import MemScope
from memscope.contracts.grants import SCOPES, GrantError, Grants
from memscope.errors import RateLimited, Unavailable
from memscope.mcp_server.limits import Limits
from memscope.organizations import granting
from memscope.serving.gate import MCP_PATH, Hosts, address_of, error

PATH = "/oauth"
DOCUMENTS_PATH = "/.well-known"
METHODS = ("none", "client_secret_basic", "client_secret_post")
BODY_MAX = 32 * 1024
"""Bytes of a request."""
REGISTRATIONS = 10
"""A minute, from one address."""
REQUESTS = 240
"""A minute, from one address, at the token and revocation endpoints: a vendor's cloud brings many people."""
_FORM = "application/x-www-form-urlencoded"
_CORS = {
    "Access-Control-Allow-Methods": "GET, POST, OPTIONS",
    "Access-Control-Allow-Headers": "Authorization, Content-Type, Accept, MCP-Protocol-Version",
    "Access-Control-Max-Age": "600",
}
_NOT_KEPT = {"Cache-Control": "no-store", "Pragma": "no-cache", "X-Content-Type-Options": "nosniff"}
Endpoint = Callable[[Request], Awaitable[Response]]
Answer = tuple[int, Mapping[str, Any]]


class Server:
    """The endpoints for one open MemScope whose identity provider keeps grants."""

    def __init__(self, app: MemScope, grants: Grants, proxies: int = 0) -> None:
        """`proxies`: how many in front add to X-Forwarded-For; requests are counted by the address that the last of them saw."""
        self._app = app
        self._proxies = proxies
        self._grants = grants
        self._settings = app.core.settings.server
        self._hosts = Hosts(self._settings)
        # Each process counts for itself: what they hold off is floods.
        self._registrations, self._requests = Limits(REGISTRATIONS), Limits(REQUESTS)
        prefix = urlsplit(self._settings.public_url or "").path.rstrip("/")
        self.endpoints = Router(
            [
                Route("/authorize", self._open(self._authorize), methods=["GET"]),
                *self._own("/token", self._token),
                *self._own("/register", self._register),
                *self._own("/revoke", self._revoke),
            ]
        )
        resource, server = "/oauth-protected-resource", "/oauth-authorization-server"
        # With the path of what is asked about put in, or at the root: clients look in different places.
        places = {f"{resource}{tail}" for tail in ("", MCP_PATH, f"{prefix}{MCP_PATH}")}
        others = {f"{server}{tail}" for tail in ("", MCP_PATH, prefix, f"{prefix}{MCP_PATH}")}
        if prefix:
            # The only place under the prefix where clients look for the server's document.
            others.add("/openid-configuration")
        self.documents = Router(
            [
                *(Route(path, self._document(self._resource), methods=["GET", "OPTIONS"]) for path in sorted(places)),
                *(Route(path, self._document(self._metadata), methods=["GET", "OPTIONS"]) for path in sorted(others)),
            ]
        )

    # documents
    def _resource(self, address: str) -> Mapping[str, Any]:
        """RFC 9728."""
        return {
            "resource": f"{address}{MCP_PATH}",
            "authorization_servers": [address],
            "scopes_supported": list(SCOPES),
            "bearer_methods_supported": ["header"],
            "resource_name": "MemScope",
        }

    def _metadata(self, address: str) -> Mapping[str, Any]:
        """RFC 8414."""
        endpoints = f"{address}{PATH}"
        return {
            "issuer": address,
            "authorization_endpoint": f"{endpoints}/authorize",
            "token_endpoint": f"{endpoints}/token",
            "registration_endpoint": f"{endpoints}/register",
            "revocation_endpoint": f"{endpoints}/revoke",
            "response_types_supported": ["code"],
            "response_modes_supported": ["query"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "token_endpoint_auth_methods_supported": list(METHODS),
            "revocation_endpoint_auth_methods_supported": list(METHODS),
            "code_challenge_methods_supported": ["S256"],
            "scopes_supported": list(SCOPES),
            # A server without a public address may have no way out to fetch them; clients that hear of them do not register.
            "client_id_metadata_document_supported": self._grants.takes_documents and address.startswith("https://"),
            "authorization_response_iss_parameter_supported": True,
        }

    def _document(self, content: Callable[[str], Mapping[str, Any]]) -> Endpoint:
        async def document(request: Request) -> Response:
            # Anybody's page may read them: they say nothing of anybody.
            headers = {**_CORS, "Access-Control-Allow-Origin": "*", "Cache-Control": "public, max-age=300"}
            if request.method == "OPTIONS":
                return Response(status_code=204, headers=headers)
            return JSONResponse(content(address_of(self._settings, request.scope)), headers=headers)

        return document

    # endpoints
    def _own(self, path: str, answer: Callable[[Request, bytes], Answer]) -> list[Route]:
        return [Route(path, self._open(self._posted(answer)), methods=["POST", "OPTIONS"])]

    def _open(self, endpoint: Endpoint) -> Endpoint:
        """With the rule of `/mcp` for pages of other origins."""

        async def opened(request: Request) -> Response:
            origin = request.headers.get("origin")
            if not self._hosts.origin(origin):
                return error(403, "forbidden", "Pages of this origin may not use this server.")
            response = Response(status_code=204, headers=_CORS) if request.method == "OPTIONS" else await endpoint(request)
            if origin is not None:
                response.headers["Access-Control-Allow-Origin"] = origin
                response.headers["Access-Control-Expose-Headers"] = "WWW-Authenticate, Retry-After"
                response.headers.add_vary_header("Origin")
            response.headers.update(_NOT_KEPT)
            return response

        return opened

    def _posted(self, answer: Callable[[Request, bytes], Answer]) -> Endpoint:
        async def posted(request: Request) -> Response:
            body = bytearray()
            try:
                async for chunk in request.stream():
                    body += chunk
                    if len(body) > BODY_MAX:
                        return JSONResponse(_error("invalid_request", "The request is too large."), 413)
            except ClientDisconnect:
                raise HTTPException(400) from None
            try:
                status, content = await anyio.to_thread.run_sync(answer, request, bytes(body))
            except GrantError as refused:
                basic = refused.code == "invalid_client"
                headers = {"WWW-Authenticate": 'Basic realm="MemScope"'} if basic else None
                return JSONResponse(_error(refused.code, refused.description), 401 if basic else 400, headers)
            except RateLimited as limited:
                wait = str(limited.details["retry_after_s"])
                words = f"Too many requests from this address. Wait {wait} s."
                return JSONResponse(_error("temporarily_unavailable", words), 429, {"Retry-After": wait})
            except Unavailable:
                return JSONResponse(_error("temporarily_unavailable", "Try again in a moment."), 503, {"Retry-After": "5"})
            return JSONResponse(content, status) if content else Response(status_code=status)

        return posted

    async def _authorize(self, request: Request) -> Response:
        """Over to the console, which has the pages and knows who is signed in."""
        # Relative, so that a proxy's path prefix stays.
        return RedirectResponse(f"../admin/authorize?{request.url.query}", 302, {"Referrer-Policy": "no-referrer"})

    def _register(self, request: Request, body: bytes) -> Answer:
        self._registrations.take(self._from(request))
        try:
            metadata = json.loads(body)
        except (ValueError, RecursionError):
            metadata = None
        if not isinstance(metadata, dict):
            raise GrantError("invalid_client_metadata", "The body must be a JSON object.")
        return 201, self._grants.register_client(metadata, self._app.core.clock())

    def _token(self, request: Request, body: bytes) -> Answer:
        self._requests.take(self._from(request))
        given = _form(request, body)
        client_id = self._client(request, given)
        resource = f"{address_of(self._settings, request.scope)}{MCP_PATH}"
        granted = granting.exchange(self._app.core, self._app.identities, self._grants, client_id, given, resource)
        return 200, {
            "access_token": granted.access_token,
            "token_type": "Bearer",
            "expires_in": granted.expires_in,
            "refresh_token": granted.refresh_token,
            "scope": " ".join(granted.scopes),
        }

    def _revoke(self, request: Request, body: bytes) -> Answer:
        """RFC 7009: what is no token of the client's is fine, too."""
        self._requests.take(self._from(request))
        given = _form(request, body)
        client_id = self._client(request, given)
        if "token" not in given:
            raise GrantError("invalid_request", "token is missing.")
        found = self._grants.grant_of(client_id, given["token"])
        if found is not None:
            granting.end(self._app.core, self._app.identities, *found, "client")
        return 200, {}

    def _from(self, request: Request) -> str:
        """The address that a request comes from, as the console's pages tell it."""
        passed = [part.strip() for value in request.headers.getlist("x-forwarded-for") for part in value.split(",")]
        if 0 < self._proxies <= len(passed):
            return passed[-self._proxies]
        return request.client.host if request.client is not None else "?"

    def _client(self, request: Request, given: Mapping[str, str]) -> str:
        """The id of the client that a request comes from, which has authenticated in one way."""
        scheme, _, credentials = request.headers.get("authorization", "").partition(" ")
        if not scheme:
            method = "client_secret_post" if "client_secret" in given else "none"
            client_id, secret = given.get("client_id", ""), given.get("client_secret")
        else:
            try:
                user, colon, password = base64.b64decode(credentials.strip(), validate=True).decode().partition(":")
            except ValueError:  # no base64, or no UTF-8 in it
                user = colon = password = ""
            if scheme.lower() != "basic" or not colon:
                raise GrantError("invalid_client", "The Authorization header must hold a client's id and secret (Basic).")
            method, client_id, secret = "client_secret_basic", unquote(user), unquote(password)
            if "client_secret" in given or given.get("client_id", client_id) != client_id:
                raise GrantError("invalid_request", "A client authenticates in one way.")
        if not client_id:
            raise GrantError("invalid_client", "client_id is missing.")
        self._grants.check_client(client_id, secret, method)
        return client_id


def _form(request: Request, body: bytes) -> dict[str, str]:
    """The parameters of a form; each may be given once (RFC 6749, section 3.2), and an empty one is as if it was not."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _FORM:
        raise GrantError("invalid_request", f"The body must be {_FORM}.")
    try:
        found = parse_qs(body.decode(), keep_blank_values=True, strict_parsing=bool(body), max_num_fields=40)
    except ValueError:
        raise GrantError("invalid_request", "The body cannot be read.") from None
    for name, values in found.items():
        if len(values) > 1:
            raise GrantError("invalid_request", f"{name[:40]} is given more than once.")
    return {name: values[0] for name, values in found.items() if values[0]}


def _error(code: str, description: str) -> dict[str, str]:
    # RFC 6749 (section 5.2) allows neither quotation marks nor anything outside of ASCII.
    allowed = "".join(c if " " <= c <= "~" and c not in '"\\' else "?" for c in description)
    return {"error": code, "error_description": allowed}
