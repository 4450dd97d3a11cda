"""Agents sign in through the browser: the SDK's own client against the real server, and each endpoint by hand. Numbers are of ASVS 5.0."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx2
import pytest
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from memscope_admin.oauth import REGISTRATIONS
from pydantic import AnyUrl

PASSWORD = "a quiet harbour at six"
REDIRECT = "http://127.0.0.1:41327/callback"
VERIFIER = "v" * 64
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()
CONSOLE = {"MEMSCOPE_PLUGINS_BLOCKED": "spacy,instructions", "MEMSCOPE_ACCOUNTS_TIME_COST": "1", "MEMSCOPE_ACCOUNTS_MEMORY_KIB": "64"}
METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"]
Live = Any
Office = Any
Start = Callable[..., AbstractContextManager[Live]]


@pytest.fixture(scope="module")
def live(start: Start) -> Iterator[Live]:
    """A server with a console."""
    with start("postgres", **CONSOLE) as served:
        yield served


@pytest.fixture
def office(live: Live, settle: Callable[[Live, ExitStack], Office]) -> Iterator[Office]:
    """A fresh organization on it."""
    with ExitStack() as stack:
        yield settle(live, stack)


@dataclass
class Kept:
    """What the SDK's client keeps."""

    tokens: OAuthToken | None = None
    client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


@dataclass
class Person:
    """Somebody at a browser."""

    office: Office
    name: str
    http: httpx2.Client = field(default_factory=lambda: httpx2.Client(follow_redirects=True, timeout=60))

    def __post_init__(self) -> None:
        self.office.stack.enter_context(self.http)

    def decides(self, address: str, decision: str = "allow") -> dict[str, str]:
        """Open what a client opened, sign in where asked, decide; what the client is told."""
        passwords = self.office.live.app.identities.passwords
        person = self.office.people[self.name]
        if not passwords.has_password(self.office.organization.id, person.id):
            passwords.set_password(self.office.organization.id, person.id, PASSWORD)
        page = self.http.get(address)
        if "/admin/login" in str(page.url):
            fields = {"organization": self.office.organization.slug, "email": person.email, "password": PASSWORD}
            page = self.http.post(str(page.url), data={"csrf_token": hidden(page.text, "csrf_token"), **fields})
        assert page.status_code == 200, page.text
        assert self.office.organization.name in page.text
        approval = {"csrf_token": hidden(page.text, "csrf_token"), "approval": hidden(page.text, "approval"), "decision": decision}
        answer = self.http.post(str(page.url), data=approval, follow_redirects=False)
        assert answer.status_code == 303, answer.text
        assert answer.headers["location"].startswith(REDIRECT)
        return {name: values[0] for name, values in parse_qs(urlsplit(answer.headers["location"]).query).items()}

    def agent(self, kept: Kept, url: str | None = None) -> Any:
        """The SDK's client with OAuth; to be entered."""
        told: dict[str, str] = {}

        async def opened(address: str) -> None:
            told.update(self.decides(address))

        async def answered() -> AuthorizationCodeResult:
            return AuthorizationCodeResult(code=told["code"], state=told.get("state"), iss=told.get("iss"))

        url = url or f"{self.office.live.url}/mcp"
        metadata = OAuthClientMetadata(redirect_uris=[AnyUrl(REDIRECT)], client_name="Quill", token_endpoint_auth_method=None)
        provider = OAuthClientProvider(url, metadata, kept, opened, answered)
        http = httpx2.AsyncClient(auth=provider, timeout=60)
        self.office.stack.enter_context(self.office.live.portal.wrap_async_context_manager(http))
        return Client(streamable_http_client(url, http_client=http))


def hidden(html: str, name: str) -> str:
    tag = next(tag for tag in re.findall(r"<input[^>]+>", html) if f'name="{name}"' in tag)
    found = re.search(r'value="([^"]+)"', tag)
    assert found is not None
    return found[1]


def register(live: Live, **changes: Any) -> dict[str, Any]:
    metadata = {"client_name": "Quill", "redirect_uris": [REDIRECT], "token_endpoint_auth_method": "none", **changes}
    response = live.http.post(f"{live.url}/oauth/register", json=metadata)
    assert response.status_code == 201, response.text
    answer = response.json()
    assert isinstance(answer, dict)
    return answer


def address(live: Live, client_id: str, **changes: str) -> str:
    values = {
        "response_type": "code",
        "client_id": client_id,
        "redirect_uri": REDIRECT,
        "code_challenge": CHALLENGE,
        "code_challenge_method": "S256",
        "state": "state",
        **changes,
    }
    return f"{live.url}/oauth/authorize?{urlencode(values)}"


def post(live: Live, path: str, auth: tuple[str, str] | None = None, **fields: str) -> httpx2.Response:
    response: httpx2.Response = live.http.post(f"{live.url}{path}", data=fields, auth=auth)
    return response


def exchange(live: Live, client_id: str, code: str, **changes: str) -> httpx2.Response:
    fields = {"grant_type": "authorization_code", "client_id": client_id, "code": code, "redirect_uri": REDIRECT, "code_verifier": VERIFIER}
    return post(live, "/oauth/token", None, **{name: value for name, value in {**fields, **changes}.items() if value})


# The whole dance
def test_an_agent_signs_in_and_stays_the_same_connection(office: Office) -> None:
    kept = Kept()
    ben = Person(office, "ben")
    with office.live.portal.wrap_async_context_manager(ben.agent(kept)) as client:
        saved = office.live.portal.call(client.call_tool, "remember", {"content": "Billing pools by transaction", "team": "platform"})
        assert not saved.is_error, saved.structured_content
        assert saved.structured_content["memory"]["client"]["name"] == "Quill"
        assert saved.structured_content["memory"]["author"]["name"] == "Ben"
    assert kept.tokens is not None
    assert kept.client is not None
    assert kept.client.token_endpoint_auth_method == "client_secret_basic"
    assert kept.tokens.expires_in == 3600
    with office.change("test") as transaction:
        (connection,) = [one for one in transaction.connections(office.people["ben"].id) if one.kind.value == "oauth"]
    # The client finds its token too old and refreshes it: the connection is the same.
    earlier = kept.tokens
    secret = (kept.client.client_id, kept.client.client_secret or "")
    fresh = post(office.live, "/oauth/token", secret, grant_type="refresh_token", refresh_token=earlier.refresh_token or "")
    assert fresh.status_code == 200, fresh.text
    kept.tokens = OAuthToken.model_validate_json(fresh.text)
    assert kept.tokens.refresh_token != earlier.refresh_token
    with office.live.portal.wrap_async_context_manager(ben.agent(kept)) as client:
        found = office.live.portal.call(client.call_tool, "recall", {"query": "how does billing pool"})
        assert [one["content"] for one in found.structured_content["results"]] == ["Billing pools by transaction"]
    with office.change("test") as transaction:
        assert [one.id for one in transaction.connections(office.people["ben"].id) if one.kind.value == "oauth"] == [connection.id]


def test_the_session_says_which_organization(office: Office, live: Live, settle: Callable[[Live, ExitStack], Office]) -> None:
    with ExitStack() as stack:
        other = settle(live, stack)
        client = register(live)["client_id"]
        for each in (office, other):
            code = Person(each, "ben").decides(address(live, client))["code"]
            token = exchange(live, client, code).json()["access_token"]
            status, message = each.post(token, "tools/call", {"name": "remember", "arguments": {"content": f"Of {each.organization.name}"}})
            assert status == 200
            assert message["result"]["structuredContent"]["created"]
            _, found = each.post(token, "tools/call", {"name": "list_memories", "arguments": {}})
            assert [one["preview"] for one in found["result"]["structuredContent"]["memories"]] == [f"Of {each.organization.name}"]


# Discovery
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("credential", [None, "Bearer msa_nonsense", "Bearer msk_x_y_z", "Basic YTpi"])
def test_every_refusal_says_where_to_sign_in(live: Live, method: str, credential: str | None) -> None:
    headers = {} if credential is None else {"Authorization": credential}
    response = live.http.request(method, f"{live.url}/mcp", headers=headers)
    assert response.status_code == 401
    challenge = response.headers["www-authenticate"]
    assert challenge.startswith(f'Bearer resource_metadata="{live.url}/.well-known/oauth-protected-resource/mcp"')
    assert 'scope="memory:read memory:write"' in challenge
    assert ('error="invalid_token"' in challenge) == (credential is not None)


@pytest.mark.parametrize("method", METHODS)
def test_there_is_a_path_without_a_word_of_oauth(office: Office, method: str) -> None:
    response = office.live.http.request(method, f"{office.live.url}/mcp/token")
    assert response.status_code == 401
    assert response.headers["www-authenticate"] == "Bearer"
    assert office.live.http.get(f"{office.live.url}/.well-known/oauth-protected-resource/mcp/token").status_code == 404
    headers = {"Authorization": f"Bearer {office.token('ben')}"}
    for path in ("/mcp", "/mcp/token"):
        http = httpx2.AsyncClient(headers=headers, timeout=60)
        office.stack.enter_context(office.live.portal.wrap_async_context_manager(http))
        client = Client(streamable_http_client(f"{office.live.url}{path}", http_client=http))
        with office.live.portal.wrap_async_context_manager(client) as agent:
            assert not office.live.portal.call(agent.call_tool, "list_teams", {}).is_error


@pytest.mark.parametrize("path", ["", "/mcp"])
def test_the_resource_is_described(live: Live, path: str) -> None:
    response = live.http.get(f"{live.url}/.well-known/oauth-protected-resource{path}", headers={"Origin": "https://inspector.example"})
    assert response.status_code == 200
    assert response.headers["access-control-allow-origin"] == "*"
    found = response.json()
    ProtectedResourceMetadata.model_validate(found)
    assert found["resource"] == f"{live.url}/mcp"
    assert found["authorization_servers"] == [live.url]
    assert found["scopes_supported"] == ["memory:read", "memory:write"]
    assert found["bearer_methods_supported"] == ["header"]


@pytest.mark.parametrize("path", ["", "/mcp"])
def test_the_server_is_described(live: Live, path: str) -> None:
    """10.4.4, 10.4.6"""
    found = live.http.get(f"{live.url}/.well-known/oauth-authorization-server{path}").json()
    metadata = OAuthMetadata.model_validate(found)
    assert found["issuer"] == live.url
    assert str(metadata.registration_endpoint) == f"{live.url}/oauth/register"
    assert found["code_challenge_methods_supported"] == ["S256"]
    assert found["grant_types_supported"] == ["authorization_code", "refresh_token"]
    assert found["response_types_supported"] == ["code"]
    assert found["token_endpoint_auth_methods_supported"] == ["none", "client_secret_basic", "client_secret_post"]
    assert found["client_id_metadata_document_supported"] is False
    assert found["authorization_response_iss_parameter_supported"] is True
    assert "offline_access" not in found["scopes_supported"]


@pytest.mark.parametrize(
    "path",
    [
        "/.well-known/openid-configuration",
        "/.well-known/oauth-protected-resource/other",
        "/.well-known/oauth-authorization-server/other",
        "/.well-known",
        "/.well-known/",
        "/.well-known/other",
        "/oauth",
        "/oauth/other",
        "/register",
        "/token",
        "/authorize",
        "/nothing",
    ],
)
def test_what_is_not_there_is_404_in_json(live: Live, path: str) -> None:
    response = live.http.get(live.url + path, follow_redirects=True)
    assert response.status_code == 404
    assert response.json()["error"]["code"] == "not_found"


def test_behind_a_proxy_the_public_address_is_told(start: Start) -> None:
    public = "https://example.com/memory"
    with start("inprocess", **CONSOLE, MEMSCOPE_SERVER_PUBLIC_URL=f"{public}/") as live:
        for path in ("/oauth-protected-resource", "/oauth-protected-resource/mcp", "/oauth-protected-resource/memory/mcp"):
            found = live.http.get(f"{live.url}/.well-known{path}").json()
            assert (found["resource"], found["authorization_servers"]) == (f"{public}/mcp", [public])
        for path in ("/oauth-authorization-server", "/oauth-authorization-server/memory", "/openid-configuration"):
            found = live.http.get(f"{live.url}/.well-known{path}").json()
            assert (found["issuer"], found["token_endpoint"]) == (public, f"{public}/oauth/token")
            assert found["client_id_metadata_document_supported"] is True
        refused = live.http.post(f"{live.url}/mcp")
        assert f'resource_metadata="{public}/.well-known/oauth-protected-resource/mcp"' in refused.headers["www-authenticate"]


def test_the_address_follows_a_host_that_passed_the_check(live: Live) -> None:
    port = urlsplit(live.url).port
    found = live.http.get(f"{live.url}/.well-known/oauth-protected-resource", headers={"Host": f"LocalHost:{port}"}).json()
    assert found["resource"] == f"http://localhost:{port}/mcp"
    assert live.http.get(f"{live.url}/.well-known/oauth-protected-resource", headers={"Host": "evil.example"}).status_code == 421


def test_without_the_console_nobody_hears_of_oauth(inprocess: Live) -> None:
    assert inprocess.http.post(f"{inprocess.url}/mcp").headers["www-authenticate"] == "Bearer"
    for path in ("/.well-known/oauth-protected-resource", "/.well-known/oauth-authorization-server", "/oauth/authorize"):
        assert inprocess.http.get(inprocess.url + path).status_code == 404


# Pages of other origins (point 12)
@pytest.mark.parametrize("path", ["/oauth/token", "/oauth/register", "/oauth/revoke"])
def test_pages_of_other_origins_are_refused(live: Live, path: str) -> None:
    for method in ("POST", "OPTIONS"):
        response = live.http.request(method, live.url + path, headers={"Origin": "https://evil.example"})
        assert response.status_code == 403
        assert "access-control-allow-origin" not in response.headers
    ours = live.http.options(live.url + path, headers={"Origin": "http://localhost:6274", "Access-Control-Request-Method": "POST"})
    assert ours.status_code == 204
    assert ours.headers["access-control-allow-origin"] == "http://localhost:6274"
    assert "authorization" in ours.headers["access-control-allow-headers"].lower()


# Each endpoint's errors
@pytest.mark.parametrize(
    ("fields", "status", "error"),
    [
        ({"client_id": ""}, 401, "invalid_client"),
        ({"client_id": "nobody"}, 401, "invalid_client"),
        ({"grant_type": ""}, 400, "unsupported_grant_type"),
        ({"grant_type": "password"}, 400, "unsupported_grant_type"),
        ({"grant_type": "client_credentials"}, 400, "unsupported_grant_type"),
        ({"grant_type": "authorization_code"}, 400, "invalid_request"),
        ({"grant_type": "authorization_code", "code": "x"}, 400, "invalid_request"),
        ({"grant_type": "authorization_code", "code": "x", "code_verifier": "short"}, 400, "invalid_grant"),
        ({"grant_type": "authorization_code", "code": "x", "code_verifier": VERIFIER}, 400, "invalid_grant"),
        ({"grant_type": "refresh_token"}, 400, "invalid_request"),
        ({"grant_type": "refresh_token", "refresh_token": "msr_a_b_c"}, 400, "invalid_grant"),
        ({"grant_type": "refresh_token", "refresh_token": "x", "scope": "root"}, 400, "invalid_scope"),
        ({"grant_type": "refresh_token", "refresh_token": "x", "resource": "https://elsewhere.example/mcp"}, 400, "invalid_target"),
        ({"client_secret": "x", "grant_type": "refresh_token", "refresh_token": "x"}, 401, "invalid_client"),
    ],
)
def test_the_token_endpoints_errors(live: Live, fields: dict[str, str], status: int, error: str) -> None:
    """10.4.4, 10.4.10"""
    known = {} if "client_id" in fields else {"client_id": register_once(live)}
    response = post(live, "/oauth/token", None, **known, **fields)
    assert (response.status_code, response.json()["error"]) == (status, error)
    assert response.headers["cache-control"] == "no-store"
    assert ("www-authenticate" in response.headers) == (status == 401)


_registered: dict[str, str] = {}


def register_once(live: Live) -> str:
    """One client for tables of errors: registrations are few a minute."""
    if live.url not in _registered:
        _registered[live.url] = live.app.identities.grants.register_client(
            {"redirect_uris": [REDIRECT], "token_endpoint_auth_method": "none"}, live.app.core.clock()
        )["client_id"]
    return _registered[live.url]


@pytest.mark.parametrize(
    ("content", "kind", "status"),
    [
        (b"grant_type=refresh_token&grant_type=authorization_code&client_id=x", "application/x-www-form-urlencoded", 400),
        (b'{"grant_type": "refresh_token"}', "application/json", 400),
        (b"nonsense", "application/x-www-form-urlencoded", 400),
        (b"\xff\xfe=%ff", "application/x-www-form-urlencoded", 400),
        (b"a=" + b"b" * 40_000, "application/x-www-form-urlencoded", 413),
        (b"&".join(b"a%d=b" % number for number in range(100)), "application/x-www-form-urlencoded", 400),
        (b"", "application/x-www-form-urlencoded", 401),
    ],
)
@pytest.mark.parametrize("path", ["/oauth/token", "/oauth/revoke"])
def test_bodies_that_are_no_form(live: Live, path: str, content: bytes, kind: str, status: int) -> None:
    response = live.http.post(live.url + path, content=content, headers={"Content-Type": kind})
    assert response.status_code == status
    assert response.json()["error"] in ("invalid_request", "invalid_client")
    assert live.http.get(live.url + path).status_code == 405


@pytest.mark.parametrize("header", ["Basic", "Basic !", "Basic YQ==", "Bearer x", "Basic " + base64.b64encode(b"nobody:x").decode()])
def test_a_client_that_is_not_who_it_says(live: Live, header: str) -> None:
    """10.4.10"""
    for path in ("/oauth/token", "/oauth/revoke"):
        response = live.http.post(live.url + path, data={"grant_type": "refresh_token", "token": "x"}, headers={"Authorization": header})
        assert (response.status_code, response.json()["error"]) == (401, "invalid_client")
        assert response.headers["www-authenticate"].startswith("Basic")


def test_a_client_authenticates_in_one_way(live: Live) -> None:
    client_id = register_once(live)
    both = post(live, "/oauth/token", (client_id, "x"), grant_type="refresh_token", client_secret="x")
    assert both.json()["error"] == "invalid_request"
    another = post(live, "/oauth/token", (client_id, "x"), grant_type="refresh_token", client_id="other")
    assert another.json()["error"] == "invalid_request"


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (b"nonsense", "invalid_client_metadata"),
        (b"[]", "invalid_client_metadata"),
        (b"[" * 20_000, "invalid_client_metadata"),
        (b"{}", "invalid_redirect_uri"),
        (json.dumps({"redirect_uris": ["http://evil.example/"]}).encode(), "invalid_redirect_uri"),
    ],
)
def test_registrations_that_are_refused(start: Start, fresh: Live, content: bytes, error: str) -> None:
    """10.4.7"""
    response = fresh.http.post(f"{fresh.url}/oauth/register", content=content, headers={"Content-Type": "application/json"})
    assert (response.status_code, response.json()["error"]) == (400, error)


@pytest.fixture(scope="module")
def fresh(start: Start) -> Iterator[Live]:
    """A server of its own for what counts requests."""
    with start("inprocess", **CONSOLE) as served:
        yield served


def test_registrations_are_few_a_minute(start: Start) -> None:
    """10.4.7"""
    with start("inprocess", **CONSOLE) as live:
        statuses = [
            live.http.post(f"{live.url}/oauth/register", json={"redirect_uris": [REDIRECT]}).status_code for _ in range(REGISTRATIONS)
        ]
        assert statuses == [201] * REGISTRATIONS
        refused = live.http.post(f"{live.url}/oauth/register", json={"redirect_uris": [REDIRECT]})
        assert refused.status_code == 429
        assert 0 < int(refused.headers["retry-after"]) <= 60
        assert refused.json()["error"] == "temporarily_unavailable"


# Codes and tokens over the wire
def test_a_code_that_comes_twice_ends_what_it_gave(office: Office) -> None:
    """10.4.2"""
    client = register_once(office.live)
    code = Person(office, "ben").decides(address(office.live, client))["code"]
    assert exchange(office.live, client, code, code_verifier="w" * 64).json()["error"] == "invalid_grant"
    assert exchange(office.live, client, code, redirect_uri="http://127.0.0.1:1/callback").json()["error"] == "invalid_grant"
    assert exchange(office.live, client, code, resource="https://elsewhere.example/mcp").json()["error"] == "invalid_target"
    granted = exchange(office.live, client, code, resource=f"{office.live.url}/mcp").json()
    assert office.post(granted["access_token"], "tools/list", {})[0] == 200
    assert exchange(office.live, client, code).json()["error"] == "invalid_grant"
    assert office.post(granted["access_token"], "tools/list", {})[0] == 401
    refreshed = post(office.live, "/oauth/token", client_id=client, grant_type="refresh_token", refresh_token=granted["refresh_token"])
    assert refreshed.json()["error"] == "invalid_grant"


def test_one_of_two_exchanges_at_once_wins_and_then_nobody_has_anything(office: Office) -> None:
    """10.4.2"""
    client = register_once(office.live)
    code = Person(office, "ben").decides(address(office.live, client))["code"]
    answers: list[httpx2.Response] = []
    threads = [threading.Thread(target=lambda: answers.append(exchange(office.live, client, code))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    given = [answer.json()["access_token"] for answer in answers if answer.status_code == 200]
    assert len(given) <= 1
    assert all(office.post(token, "tools/list", {})[0] == 401 for token in given)


def test_hosts_may_refresh_at_the_same_time(office: Office) -> None:
    """10.4.5"""
    client = register_once(office.live)
    granted = exchange(office.live, client, Person(office, "ben").decides(address(office.live, client))["code"]).json()
    answers: list[dict[str, Any]] = []

    def refresh() -> None:
        answers.append(
            post(office.live, "/oauth/token", client_id=client, grant_type="refresh_token", refresh_token=granted["refresh_token"]).json()
        )

    threads = [threading.Thread(target=refresh) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({answer["refresh_token"] for answer in answers}) == 1
    for answer in answers:
        assert office.post(answer["access_token"], "tools/list", {})[0] == 200


@pytest.mark.parametrize("which", ["access_token", "refresh_token"])
def test_a_client_can_give_its_grant_back(office: Office, which: str) -> None:
    """10.4.9, RFC 7009"""
    client = register_once(office.live)
    granted = exchange(office.live, client, Person(office, "ben").decides(address(office.live, client))["code"]).json()
    stranger = office.live.app.identities.grants.register_client(
        {"redirect_uris": [REDIRECT], "token_endpoint_auth_method": "none", "client_name": "Other"}, office.live.app.core.clock()
    )["client_id"]
    assert post(office.live, "/oauth/revoke", client_id=stranger, token=granted[which]).status_code == 200
    assert office.post(granted["access_token"], "tools/list", {})[0] == 200
    assert post(office.live, "/oauth/revoke", client_id=client).json()["error"] == "invalid_request"
    for _ in range(2):
        assert post(office.live, "/oauth/revoke", client_id=client, token=granted[which]).status_code == 200
        assert office.post(granted["access_token"], "tools/list", {})[0] == 401


def test_a_live_legacy_session_ends_with_its_grant(office: Office) -> None:
    """10.4.9"""
    client = register_once(office.live)
    granted = exchange(office.live, client, Person(office, "ben").decides(address(office.live, client))["code"]).json()
    session = office.as_("ben", "legacy", token=granted["access_token"])
    session.call("list_teams")
    with office.change("connection.revoke") as transaction:
        from dataclasses import replace

        (known,) = [one for one in transaction.connections(office.people["ben"].id) if one.kind.value == "oauth"]
        transaction.write_connection(replace(known, revoked_at=transaction.now))
    with pytest.raises(Exception):  # noqa: B017 - whatever the SDK makes of a 401
        session.call("list_teams")
    assert office.post(granted["access_token"], "tools/list", {})[0] == 401


def test_an_access_token_opens_nothing_but_mcp(office: Office) -> None:
    """10.1.1, 10.3.1"""
    client = register_once(office.live)
    token = exchange(office.live, client, Person(office, "ada").decides(address(office.live, client))["code"]).json()["access_token"]
    headers = {"Authorization": f"Bearer {token}"}
    assert office.live.http.get(f"{office.live.url}/metrics", headers=headers).status_code == 401
    assert office.live.http.get(f"{office.live.url}/admin/people", headers=headers).status_code == 302
    port = urlsplit(office.live.url).port
    foreign = office.live.http.post(f"{office.live.url}/mcp", headers={**headers, "Host": f"localhost:{port}"})
    assert foreign.status_code == 401
