"""OAuth: agents' grants. A provider of `memscope_identity` that keeps them is the authorization server, but for pages and addresses."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol, runtime_checkable

READ, WRITE = "memory:read", "memory:write"
"""Scopes; the second holds the first."""
SCOPES = (READ, WRITE)
_REMARK = re.compile(r"(?<=\S)\s*\([^()]*\)$")


class GrantError(Exception):
    """A request of an OAuth client that is refused: an error code of RFC 6749, 7591 or 8707, and words for its developer."""

    def __init__(self, code: str, description: str) -> None:
        super().__init__(description)
        self.code = code
        self.description = description


class GrantReplayed(GrantError):
    """A code or an earlier refresh token came a second time: somebody else may have it. The connection has to end."""

    def __init__(self, organization: str, connection: str) -> None:
        super().__init__("invalid_grant", "This was used before. The connection was ended; ask the person anew.")
        self.organization = organization
        self.connection = connection


@dataclass(frozen=True, slots=True)
class Client:
    """A program that asks for a grant, as far as it says. Nothing of it is checked but, where `host` says so, who published it."""

    id: str
    name: str
    """What it calls itself; at most 100 characters on one line, and not empty."""
    redirect_uris: tuple[str, ...]
    method: str = "none"
    """How it authenticates at the token endpoint: `none`, `client_secret_basic` or `client_secret_post`."""
    host: str | None = None
    """The host that publishes its description (a client id metadata document); None when it registered itself."""
    registered_at: datetime | None = None
    """When it registered itself; None for a document."""

    def redirect(self, uri: str | None) -> str:
        """The redirect address to answer to; GrantError when it is none of the client's.

        Compared character by character, but for the port of a loopback address (RFC 8252, section 7.3).
        """
        if uri is None and len(self.redirect_uris) == 1:
            return self.redirect_uris[0]
        if uri is None or without_port(uri) not in {without_port(known) for known in self.redirect_uris}:
            raise GrantError("invalid_request", "redirect_uri is none that this client registered.")
        return uri

    @property
    def software(self) -> str:
        """What is the same for every registration of one program: 64 hex digits."""
        # Some programs add in brackets what the person called the connection.
        name = _REMARK.sub("", self.name).casefold()
        said = [self.id] if self.host is not None else [name, *sorted(without_port(uri) for uri in self.redirect_uris)]
        return hashlib.sha256(json.dumps(said).encode()).hexdigest()


LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_PORT = "[0-9]{1,4}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]"
_OWN_PORT = re.compile(rf"\A(http://(?:localhost|127\.0\.0\.1|\[::1\])):(?:{_PORT})(?=[/?]|\Z)")


def without_port(uri: str) -> str:
    """A redirect address; without its port when it is http to this very machine, where a program gets another each time."""
    return _OWN_PORT.sub(r"\1", uri, count=1)


@dataclass(frozen=True, slots=True)
class AuthorizationRequest:
    """What a client asks a person to allow, checked. It becomes one grant at most."""

    id: str
    """Also the id of the connection that it may become."""
    client: str
    """Client id."""
    redirect_uri: str
    challenge: str
    """PKCE S256: base64url of the SHA-256 of the verifier."""
    scopes: tuple[str, ...]
    audience: str
    state: str | None
    asked_at: datetime


@dataclass(frozen=True, slots=True)
class Granted:
    """What the token endpoint answers with."""

    organization: str
    connection: str
    access_token: str
    expires_in: int
    """Seconds."""
    refresh_token: str
    scopes: tuple[str, ...]


@runtime_checkable
class Grants(Protocol):
    """A provider that is an OAuth 2.1 authorization server for agents, but for its pages and addresses.

    A grant is a connection: whether that, its person and its client are still allowed in is the core's business.
    """

    @property
    def lifetime(self) -> timedelta:
        """How long a grant lasts, however often it is refreshed."""

    @property
    def takes_documents(self) -> bool:
        """Whether a client's id may be the https address of a document that describes it."""

    def register_client(self, metadata: Mapping[str, object], now: datetime) -> Mapping[str, object]:
        """Register a client (RFC 7591) and answer as that says. GrantError."""

    def find_client(self, client_id: str) -> Client:
        """The client with this id; may fetch its document. GrantError `invalid_client`, with why."""

    def lapsed(self, client: Client, organization: str, now: datetime) -> bool:
        """Whether a client registered itself long ago and nobody of the organization ever allowed it."""

    def check_client(self, client_id: str, secret: str | None, method: str) -> None:
        """GrantError `invalid_client` unless a client authenticates as it registered. A document is not fetched for it."""

    def begin_grant(self, organization: str, person: str, request: AuthorizationRequest, now: datetime) -> str:
        """The code for a request that a person allowed; the same again when the same person allows it again.

        GrantError when somebody else decided it.
        """

    def exchange_code(
        self, client_id: str, code: str, verifier: str, redirect_uri: str | None, audience: str | None, now: datetime
    ) -> Granted:
        """Tokens for a code. GrantError; GrantReplayed when it was used before."""

    def refresh(self, client_id: str, token: str, scopes: Sequence[str] | None, audience: str | None, now: datetime) -> Granted:
        """New tokens for a refresh token. GrantError; GrantReplayed when it was replaced longer ago than the grace period."""

    def grant_of(self, client_id: str, token: str) -> tuple[str, str] | None:
        """Organization and connection of an access or refresh token of this client; None when it is none."""
