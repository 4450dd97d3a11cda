"""OAuth grants: a person's consent becomes a connection, and tokens are given only while that is allowed in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode, urlsplit, urlunsplit

from memscope.contracts.grants import (
    LOOPBACK,
    SCOPES,
    WRITE,
    AuthorizationRequest,
    Client,
    Granted,
    GrantError,
    GrantReplayed,
    Grants,
)
from memscope.contracts.storage import Operator
from memscope.core import Core
from memscope.errors import Conflict
from memscope.guarding.examine import Setting, doubtful
from memscope.model.audience import Scope
from memscope.model.audit import Act
from memscope.model.ids import new_id
from memscope.model.organization import Connection, ConnectionKind
from memscope.model.principal import Principal
from memscope.organizations import clients
from memscope.organizations.clients import note_grant, standing
from memscope.organizations.signing_in import Identities, principal_on

REQUEST_LASTS = timedelta(hours=1)
"""From the client's asking to the person's answer: an administrator may have to be asked in between."""
STATE_MAX = 2000
_CHALLENGE = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
_SEAL = "oauth/request"


class Misdirected(Exception):
    """A request that names no known client or no redirect address of its own: the person is told, and nobody is redirected to."""

    def __init__(self, description: str) -> None:
        super().__init__(description)
        self.description = description


class Redirected(Exception):
    """A request that the client is told about: `address` is where to, `why` is for people."""

    def __init__(self, address: str, why: str) -> None:
        super().__init__(address)
        self.address = address
        self.why = why


@dataclass(frozen=True, slots=True)
class Target:
    """Where the answer to a request goes, as a person is shown it."""

    host: str
    """The host, or the scheme of a program's own with its colon."""
    here: bool
    """Whether it is the person's own machine."""
    private: bool
    """Whether it is a scheme that any program on the machine may claim."""
    source: str
    """What a content security policy calls it."""


def target(redirect_uri: str) -> Target:
    """Where a checked redirect address leads."""
    parts = urlsplit(redirect_uri)
    if parts.scheme not in ("http", "https"):
        return Target(f"{parts.scheme}:", here=False, private=True, source=f"{parts.scheme}:")
    return Target(parts.hostname or "", here=parts.hostname in LOOPBACK, private=False, source=f"{parts.scheme}://{parts.netloc}")


def ask(core: Core, grants: Grants, parameters: Mapping[str, Sequence[str]], resource: str, issuer: str) -> str:
    """Check what a client asks for; the request, sealed, for the person to decide. Raises Misdirected or Redirected.

    `resource` is the address of this MCP endpoint, `issuer` of this server.
    """
    for name, values in parameters.items():
        if len(values) > 1 and name != "resource":
            raise Misdirected(f"The client's request names {_shown(name)} more than once.")
    given = {name: values[0] for name, values in parameters.items() if values and values[0]}
    try:
        client = grants.find_client(given.get("client_id", ""))
        redirect_uri = client.redirect(given.get("redirect_uri"))
    except GrantError as error:
        raise Misdirected(error.description) from None
    state = given.get("state")
    if state is not None and len(state) > STATE_MAX:
        raise Misdirected(f"The client's state is longer than {STATE_MAX} characters.")
    try:
        if given.get("response_type") != "code":
            raise GrantError("unsupported_response_type", "response_type must be code.")
        challenge = given.get("code_challenge", "")
        if given.get("code_challenge_method") != "S256" or len(challenge) != 43 or not _CHALLENGE.issuperset(challenge):
            raise GrantError("invalid_request", "PKCE is needed: code_challenge with code_challenge_method S256.")
        for wanted in parameters.get("resource", ()):
            if wanted.rstrip("/") != resource:
                raise GrantError("invalid_target", f"resource must be {resource}.")
        scopes = _scopes(given.get("scope"))
    except GrantError as error:
        raise Redirected(
            _with(redirect_uri, error=error.code, error_description=error.description, state=state, iss=issuer), error.description
        ) from None
    request = AuthorizationRequest(new_id(), client.id, redirect_uri, challenge, scopes, resource, state, core.clock())
    return core.keys.seal(_SEAL, [*_plain(request), issuer])


@dataclass(frozen=True, slots=True)
class Question:
    """A request as a person is asked about it."""

    request: AuthorizationRequest
    client: Client
    target: Target
    standing: clients.Standing
    lasts_until: datetime
    issuer: str


def question(core: Core, grants: Grants, principal: Principal, sealed: str) -> Question:
    """What a sealed request asks of a person. Misdirected when it is none, is too old, or its client is gone."""
    try:
        id_, client_id, redirect_uri, challenge, scopes, audience, said, asked_at, issuer = core.keys.unseal(_SEAL, sealed)
        request = AuthorizationRequest(
            id_, client_id, redirect_uri, challenge, tuple(scopes), audience, said, datetime.fromisoformat(asked_at)
        )
    except (ValueError, TypeError):
        raise Misdirected("This address holds no request of a client.") from None
    now = core.clock()
    if now - request.asked_at > REQUEST_LASTS:
        raise Misdirected("This request is more than an hour old. Connect from the client again.")
    try:
        client = grants.find_client(request.client)
        client.redirect(request.redirect_uri)
    except GrantError as error:
        raise Misdirected(error.description) from None
    state = standing(core, principal.organization, client)
    if state is not clients.Standing.APPROVED and grants.lapsed(client, principal.organization, now):
        raise Misdirected("This client registered itself long ago and was never used here. Remove it from the client and add it again.")
    return Question(request, client, target(request.redirect_uri), state, now + grants.lifetime, issuer)


def allow(core: Core, grants: Grants, principal: Principal, asked: Question) -> str:
    """Make the grant; where to redirect to. The same request allowed again gives the same. Conflict when it may not be."""
    if not asked.standing.allowed:
        raise Conflict("An administrator has to approve this client first.")
    request, now = asked.request, core.clock()
    try:
        code = grants.begin_grant(principal.organization, principal.person, request, now)
    except GrantError as error:
        raise Conflict(error.description) from None
    if core.storage.connection(principal.organization, request.id) is None:
        note_grant(core, principal.organization, request.id, asked.client)
        name = _label(core, principal, asked)
        connection = Connection(request.id, principal.person, ConnectionKind.OAUTH, name, now, asked.lasts_until)
        detail = {"person": principal.person, "kind": "oauth", "scopes": " ".join(request.scopes), "target": asked.target.host[:100]}
        act = Act("grant.create", principal.person, principal.connection, request.id, detail=detail)
        with core.storage.begin(Operator("consent", principal.organization), act) as transaction:
            transaction.write_connection(connection)
    return _with(request.redirect_uri, code=code, state=request.state, iss=asked.issuer)


def _label(core: Core, principal: Principal, asked: Question) -> str:
    """What others are told that saved a memory: the client's own name, unless it holds a secret or reads like orders."""
    roster = core.rosters.current(principal.organization)
    setting = Setting.of(principal, roster, Scope.ORGANIZATION, None, None)
    return f"Client at {asked.target.host[:100]}" if doubtful(core, roster, asked.client.name, setting) else asked.client.name


def refuse(core: Core, principal: Principal, asked: Question) -> str:
    """Say no; where to redirect to."""
    act = Act("grant.refuse", principal.person, principal.connection, asked.request.id, detail={"target": asked.target.host[:100]})
    with core.storage.begin(Operator("consent", principal.organization), act):
        pass
    return _with(
        asked.request.redirect_uri,
        error="access_denied",
        error_description="The person said no.",
        state=asked.request.state,
        iss=asked.issuer,
    )


def exchange(core: Core, identities: Identities, grants: Grants, client_id: str, given: Mapping[str, str], resource: str) -> Granted:
    """What the token endpoint grants. GrantError. A replayed code or refresh token ends the connection."""
    audience = given.get("resource")
    if audience is not None and audience.rstrip("/") != resource:
        raise GrantError("invalid_target", f"resource must be {resource}.")
    kind, now = given.get("grant_type"), core.clock()
    try:
        if kind == "authorization_code":
            code, verifier = _needed(given, "code"), _needed(given, "code_verifier")
            granted = grants.exchange_code(client_id, code, verifier, given.get("redirect_uri"), resource, now)
        elif kind == "refresh_token":
            scopes = None if "scope" not in given else _scopes(given["scope"])
            granted = grants.refresh(client_id, _needed(given, "refresh_token"), scopes, resource, now)
        else:
            raise GrantError("unsupported_grant_type", "grant_type must be authorization_code or refresh_token.")
    except GrantReplayed as replayed:
        end(core, identities, replayed.organization, replayed.connection, "replayed")
        raise
    if clients.refused(core, granted.organization, granted.connection):
        raise GrantError("invalid_client", "An administrator refused this client.")
    connection = core.storage.connection(granted.organization, granted.connection)
    if connection is None or principal_on(core, granted.organization, connection.person, granted.connection) is None:
        raise GrantError("invalid_grant", "This grant was ended; ask the person anew.")
    return granted


def end(core: Core, identities: Identities, organization: str, connection_id: str, why: str) -> None:
    """End a connection because its client asked, or because its tokens were replayed. Fine when it has ended."""
    connection = core.storage.connection(organization, connection_id)
    if connection is not None and connection.revoked_at is None:
        act = Act("connection.revoke", target=connection_id, detail={"person": connection.person, "why": why})
        with core.storage.begin(Operator("oauth", organization), act) as transaction:
            transaction.write_connection(replace(connection, revoked_at=transaction.now))
    identities.tokens.drop_token(organization, connection_id)


def _scopes(text: str | None) -> tuple[str, ...]:
    """The scopes asked for: unknown ones are left out, as RFC 6749 (section 3.3) allows; none known is an error; none asked is all."""
    if text is None:
        return SCOPES
    wanted = tuple(scope for scope in SCOPES if scope in text.split())
    if not wanted:
        raise GrantError("invalid_scope", f"scope may hold {' and '.join(SCOPES)}.")
    # Whoever may write may read: what a save answers with is read, too.
    return SCOPES if WRITE in wanted else wanted


def _needed(given: Mapping[str, str], name: str) -> str:
    if name not in given:
        raise GrantError("invalid_request", f"{name} is missing.")
    return given[name]


def _plain(request: AuthorizationRequest) -> list[Any]:
    return [
        request.id,
        request.client,
        request.redirect_uri,
        request.challenge,
        list(request.scopes),
        request.audience,
        request.state,
        request.asked_at.isoformat(),
    ]


def _with(uri: str, **parameters: str | None) -> str:
    """A redirect address with parameters added to those it has (RFC 6749, section 4.1.2)."""
    parts = urlsplit(uri)
    added = [(name, value) for name, value in parameters.items() if value is not None]
    query = urlencode(added)
    return urlunsplit(parts._replace(query=f"{parts.query}&{query}" if parts.query else query))


def _shown(name: str) -> str:
    return "".join(character for character in name if character.isprintable())[:40]
