"""OAuth clients, codes and tokens as the accounts plugin keeps them. Numbers are those of ASVS 5.0."""

from __future__ import annotations

import base64
import hashlib
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from memscope_accounts.accounts import Accounts
from memscope_accounts.settings import AccountsSettings

from memscope.contracts.grants import AuthorizationRequest, Client, GrantError, GrantReplayed, Grants, without_port
from memscope.contracts.identity import BadCredential
from memscope.model.ids import new_id
from memscope.testing.identity_conformance import Host

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)
SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
VERIFIER = "a-verifier-of-forty-three-characters-or-more-~."
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()
HERE = "http://127.0.0.1/callback"
MCP = "https://memory.example.com/mcp"
ORGANIZATION, PERSON = new_id(), new_id()


@pytest.fixture
def host() -> Host:
    return Host()


@pytest.fixture
def accounts(host: Host) -> Iterator[Accounts]:
    made = Accounts(AccountsSettings(time_cost=1, memory_kib=64))
    made.start(host)
    assert isinstance(made, Grants)
    yield made


def asked(client: str = "client", **changes: Any) -> AuthorizationRequest:
    values = {
        "id": new_id(),
        "client": client,
        "redirect_uri": HERE,
        "challenge": CHALLENGE,
        "scopes": ("memory:read", "memory:write"),
        "audience": MCP,
        "state": None,
        "asked_at": NOW,
    }
    return AuthorizationRequest(**{**values, **changes})


def begun(accounts: Accounts, **changes: Any) -> Any:
    request = asked(**changes)
    return accounts.exchange_code("client", accounts.begin_grant(ORGANIZATION, PERSON, request, NOW), VERIFIER, HERE, MCP, NOW)


def refused(call: Any, *arguments: Any) -> GrantError:
    with pytest.raises(GrantError) as caught:
        call(*arguments)
    return caught.value


# Clients
@pytest.mark.parametrize(
    "uri",
    [
        "https://claude.ai/api/mcp/auth_callback",
        "https://host.example:8443/a?b=c",
        "http://127.0.0.1/callback",
        "http://localhost:3118/callback",
        "http://[::1]:9/",
        "cursor://anysphere.cursor-mcp/oauth/callback",
        "com.example.app:/callback",
    ],
)
def test_redirect_addresses_that_may_be_registered(accounts: Accounts, uri: str) -> None:
    made = accounts.register_client({"redirect_uris": [uri], "token_endpoint_auth_method": "none"}, NOW)
    assert accounts.find_client(str(made["client_id"])).redirect_uris == (uri,)


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "callback",
        "/callback",
        "http://agents.example/callback",
        "http://127.0.0.1.evil.example/",
        "http://localhost@evil.example/",
        "http://10.0.0.1/",
        "https:///callback",
        "https://",
        "https://user@host.example/",
        "https://host.example/#here",
        "https://host.example/#",
        "https://host.example/\r\nX: y",
        "https://host.example/a b",
        "https://host.example:port/",
        "https://host.example;sandbox/",
        "https://host.example,x/",
        "https://host.example./",
        "https://*.example/",
        "https://h\u00f6st.example/",
        "https://host.example\\@evil.example/",
        "javascript:/alert(1)",
        "JavaScript:/alert(1)",
        "data:/text/html,x",
        "file:/etc/passwd",
        "app:opaque",
        "https://host.example/" + "a" * 500,
        7,
        None,
    ],
)
def test_redirect_addresses_that_may_not(accounts: Accounts, uri: object) -> None:
    """10.4.1, 10.4.7"""
    error = refused(accounts.register_client, {"redirect_uris": [uri], "token_endpoint_auth_method": "none"}, NOW)
    assert error.code == "invalid_redirect_uri"


@pytest.mark.parametrize(
    ("metadata", "code"),
    [
        ({}, "invalid_redirect_uri"),
        ({"redirect_uris": []}, "invalid_redirect_uri"),
        ({"redirect_uris": HERE}, "invalid_redirect_uri"),
        ({"redirect_uris": [HERE] * 11}, "invalid_redirect_uri"),
        ({"redirect_uris": [HERE], "token_endpoint_auth_method": "private_key_jwt"}, "invalid_client_metadata"),
        ({"redirect_uris": [HERE], "token_endpoint_auth_method": ["none"]}, "invalid_client_metadata"),
        ({"redirect_uris": [HERE], "grant_types": ["implicit"]}, "invalid_client_metadata"),
        ({"redirect_uris": [HERE], "grant_types": "authorization_code"}, "invalid_client_metadata"),
        ({"redirect_uris": [HERE], "response_types": ["token"]}, "invalid_client_metadata"),
        ({"redirect_uris": [HERE], "client_name": 3}, "invalid_client_metadata"),
        ({"redirect_uris": [HERE], "client_name": "\ud800"}, "invalid_client_metadata"),
    ],
)
def test_registrations_that_are_refused(accounts: Accounts, metadata: dict[str, object], code: str) -> None:
    """10.4.4, 10.4.7"""
    assert refused(accounts.register_client, metadata, NOW).code == code


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("Quill", "Quill"),
        ("  two \n words ", "two words"),
        ("a\u202eb\u200bc\u0007", "abc"),
        ("x" * 300, "x" * 100),
        ("", "A client without a name"),
        ("\u200b", "A client without a name"),
        (None, "A client without a name"),
        ("<b>Ada's bank</b>", "<b>Ada's bank</b>"),
    ],
)
def test_names_are_one_line_of_what_is_seen(accounts: Accounts, said: str | None, shown: str) -> None:
    made = accounts.register_client({"redirect_uris": [HERE], "client_name": said}, NOW)
    assert accounts.find_client(str(made["client_id"])).name == made["client_name"] == shown


def test_a_registration_is_in_the_id_and_nowhere_else(accounts: Accounts, host: Host) -> None:
    before = host.records.everything
    made = accounts.register_client({"redirect_uris": [HERE], "client_name": "Quill"}, NOW)
    assert host.records.everything == before
    client_id = str(made["client_id"])
    for changed in (client_id[:-1] + ("A" if client_id[-1] != "A" else "B"), client_id + "A", client_id[3:], "mc_.", "", "quill", "mc_a.b"):
        assert refused(accounts.find_client, changed).code == "invalid_client"
    other = Accounts(AccountsSettings(time_cost=1, memory_kib=64))
    elsewhere = Host()
    elsewhere.seal_key = lambda purpose: b"k" * 32  # type: ignore[method-assign]
    other.start(elsewhere)
    assert refused(other.find_client, client_id).code == "invalid_client"


def test_clients_authenticate_as_they_registered(accounts: Accounts) -> None:
    """10.4.10"""
    public = str(accounts.register_client({"redirect_uris": [HERE], "token_endpoint_auth_method": "none"}, NOW)["client_id"])
    made = accounts.register_client({"redirect_uris": [HERE], "token_endpoint_auth_method": "client_secret_post"}, NOW)
    client_id, secret = str(made["client_id"]), str(made["client_secret"])
    accounts.check_client(public, None, "none")
    accounts.check_client(client_id, secret, "client_secret_post")
    for arguments in (
        (public, secret, "client_secret_post"),
        (client_id, secret, "client_secret_basic"),
        (client_id, None, "none"),
        (client_id, None, "client_secret_post"),
        (client_id, secret + "x", "client_secret_post"),
        (client_id, "\ud800", "client_secret_post"),
        ("unknown", None, "none"),
    ):
        assert refused(accounts.check_client, *arguments).code == "invalid_client"
    default = accounts.register_client({"redirect_uris": [HERE]}, NOW)
    assert default["token_endpoint_auth_method"] == "client_secret_basic"
    assert default["client_secret_expires_at"] == 0


def test_a_client_that_nobody_allowed_lapses(accounts: Accounts) -> None:
    """10.4.7"""
    client = accounts.find_client(str(accounts.register_client({"redirect_uris": [HERE]}, NOW)["client_id"]))
    assert not accounts.lapsed(client, ORGANIZATION, NOW + timedelta(hours=23))
    assert accounts.lapsed(client, ORGANIZATION, NOW + timedelta(hours=25))
    accounts.begin_grant(ORGANIZATION, PERSON, asked(client.id), NOW)
    assert not accounts.lapsed(client, ORGANIZATION, NOW + timedelta(days=300))
    assert accounts.lapsed(client, new_id(), NOW + timedelta(days=300))


@pytest.mark.parametrize(
    ("registered", "asked", "same"),
    [
        ("http://127.0.0.1/cb", "http://127.0.0.1:51004/cb", True),
        ("http://localhost:3118/cb", "http://localhost:7/cb", True),
        ("http://[::1]/cb", "http://[::1]:7/cb", True),
        ("http://127.0.0.1/cb", "http://localhost:51004/cb", False),
        ("http://127.0.0.1/cb", "http://127.0.0.1:51004/cb/", False),
        ("http://127.0.0.1/cb", "http://127.0.0.1:51004/cb?x=1", False),
        ("http://127.0.0.1/cb", "http://127.0.0.1@evil.example/cb", False),
        ("http://127.0.0.1/cb", "http://127.0.0.1:80@evil.example/cb", False),
        ("http://127.0.0.1/cb", "http://user@127.0.0.1:80/cb", False),
        ("http://127.0.0.1/cb", "HTTP://127.0.0.1:80/cb", False),
        ("http://127.0.0.1/cb", "http://127.0.0.1:/cb", False),
        ("http://127.0.0.1", "http://127.0.0.1:80", True),
        ("https://host.example/cb", "https://host.example:444/cb", False),
        ("https://host.example/cb", "https://HOST.example/cb", False),
        ("https://host.example/cb", "https://host.example/cb/../x", False),
        ("https://127.0.0.1/cb", "https://127.0.0.1:9/cb", False),
        ("app://x/cb", "app://x/cb", True),
    ],
)
def test_redirects_are_compared_exactly_but_for_a_loopback_port(registered: str, asked: str, same: bool) -> None:
    """10.4.1"""
    client = Client("c", "C", (registered, "https://other.example/"))
    if same:
        assert client.redirect(asked) == asked
    else:
        assert refused(client.redirect, asked).code == "invalid_request"
    assert refused(client.redirect, None).code == "invalid_request"
    assert Client("c", "C", (registered,)).redirect(None) == registered


def test_one_program_is_the_same_however_often_it_registers() -> None:
    one = Client("a", "Quill", ("http://127.0.0.1:1/cb", "https://q.example/"))
    assert one.software == Client("b", "quill", ("https://q.example/", "http://127.0.0.1:2/cb")).software
    assert one.software != Client("b", "Quill", ("http://127.0.0.1:2/cb",)).software
    assert one.software == Client("b", "Quill (memory of the office)", one.redirect_uris).software
    assert one.software != Client("b", "Quilt", one.redirect_uris).software
    assert without_port("http://[::1]:7/x") == "http://[::1]/x"


# Codes
def test_a_code_is_for_one_exchange(accounts: Accounts, host: Host) -> None:
    """10.4.2"""
    request = asked()
    code = accounts.begin_grant(ORGANIZATION, PERSON, request, NOW)
    granted = accounts.exchange_code("client", code, VERIFIER, HERE, MCP, NOW + 59 * SECOND)
    assert granted.expires_in == 3600
    found = accounts.authenticate(granted.access_token)
    assert found is not None
    assert (found.organization, found.person, found.connection) == (ORGANIZATION, PERSON, request.id)
    assert found.audience == MCP
    assert found.expires_at == NOW + 59 * SECOND + timedelta(hours=1)
    for secret in (code, granted.access_token, granted.refresh_token):
        assert secret.split("_", 3)[3] not in host.records.everything
    with pytest.raises(GrantReplayed) as caught:
        accounts.exchange_code("client", code, VERIFIER, HERE, MCP, NOW + 59 * SECOND)
    assert (caught.value.organization, caught.value.connection) == (ORGANIZATION, request.id)


def test_a_code_lasts_a_minute(accounts: Accounts) -> None:
    """10.4.3, at level 3"""
    code = accounts.begin_grant(ORGANIZATION, PERSON, asked(), NOW)
    assert refused(accounts.exchange_code, "client", code, VERIFIER, HERE, MCP, NOW + MINUTE).code == "invalid_grant"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"client": "another"}, "invalid_grant"),
        ({"verifier": "b" + VERIFIER[1:]}, "invalid_grant"),
        ({"verifier": CHALLENGE}, "invalid_grant"),
        ({"verifier": "short"}, "invalid_request"),
        ({"verifier": "v" * 129}, "invalid_request"),
        ({"verifier": "!" * 50}, "invalid_request"),
        ({"redirect_uri": "http://127.0.0.1:9/callback"}, "invalid_grant"),
        ({"audience": "https://elsewhere.example/mcp"}, "invalid_target"),
        ({"code": "x"}, "invalid_grant"),
        ({"code": "msc_x_y_z"}, "invalid_grant"),
        ({"code": f"msc_{ORGANIZATION.replace('-', '')}_{PERSON.replace('-', '')}_z"}, "invalid_grant"),
    ],
)
def test_a_code_is_refused_with_anything_else(accounts: Accounts, change: dict[str, str], code: str) -> None:
    """10.4.6, 10.3.1. What was refused so has not used the code up."""
    given = {
        "client": "client",
        "code": accounts.begin_grant(ORGANIZATION, PERSON, asked(), NOW),
        "verifier": VERIFIER,
        "redirect_uri": HERE,
        "audience": MCP,
    }
    assert refused(accounts.exchange_code, *{**given, **change}.values(), NOW).code == code
    assert accounts.exchange_code("client", given["code"], VERIFIER, HERE, MCP, NOW).access_token


def test_allowing_twice_gives_one_grant(accounts: Accounts, host: Host) -> None:
    request = asked()
    code = accounts.begin_grant(ORGANIZATION, PERSON, request, NOW)
    assert accounts.begin_grant(ORGANIZATION, PERSON, request, NOW + SECOND) == code
    assert refused(accounts.begin_grant, ORGANIZATION, new_id(), request, NOW).code == "access_denied"
    assert len(host.records.keys(ORGANIZATION, "grant/")) == 1


# Tokens
def test_refreshing_gives_new_tokens(accounts: Accounts) -> None:
    """10.4.5"""
    first = begun(accounts)
    second = accounts.refresh("client", first.refresh_token, None, None, NOW + MINUTE)
    assert second.connection == first.connection
    assert second.refresh_token != first.refresh_token
    for token in (first.access_token, second.access_token):
        assert accounts.authenticate(token) is not None
    assert accounts.refresh("client", second.refresh_token, None, MCP, NOW + 40 * MINUTE).refresh_token != second.refresh_token


def test_hosts_that_refresh_at_the_same_time_get_the_same_next_token(accounts: Accounts) -> None:
    """10.4.5. A window of a minute: an answer that was lost can be asked for again."""
    first = begun(accounts)
    answers: list[Any] = []
    threads = [
        threading.Thread(target=lambda: answers.append(accounts.refresh("client", first.refresh_token, None, None, NOW))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({answer.refresh_token for answer in answers}) == 1
    assert len({answer.access_token for answer in answers}) == 8
    assert all(accounts.authenticate(answer.access_token) for answer in answers)
    third = accounts.refresh("client", answers[0].refresh_token, None, None, NOW + 10 * SECOND)
    late = accounts.refresh("client", first.refresh_token, None, None, NOW + 60 * SECOND)
    assert late.refresh_token == third.refresh_token


def test_a_refresh_token_that_was_replaced_long_ago_ends_everything(accounts: Accounts) -> None:
    """10.4.5"""
    first = begun(accounts)
    second = accounts.refresh("client", first.refresh_token, None, None, NOW)
    with pytest.raises(GrantReplayed) as caught:
        accounts.refresh("client", first.refresh_token, None, None, NOW + 61 * SECOND)
    assert caught.value.connection == first.connection
    accounts.drop_token(ORGANIZATION, first.connection)
    assert refused(accounts.refresh, "client", second.refresh_token, None, None, NOW).code == "invalid_grant"
    with pytest.raises(BadCredential):
        accounts.authenticate(second.access_token)


def test_refresh_tokens_are_refused_to_others(accounts: Accounts) -> None:
    first = begun(accounts, scopes=("memory:read",))
    assert refused(accounts.refresh, "another", first.refresh_token, None, None, NOW).code == "invalid_grant"
    assert refused(accounts.refresh, "client", first.access_token, None, None, NOW).code == "invalid_grant"
    assert refused(accounts.refresh, "client", first.refresh_token + "x", None, None, NOW).code == "invalid_grant"
    assert refused(accounts.refresh, "client", first.refresh_token, ["memory:write"], None, NOW).code == "invalid_scope"
    assert refused(accounts.refresh, "client", first.refresh_token, None, "https://x.example/mcp", NOW).code == "invalid_target"
    assert accounts.refresh("client", first.refresh_token, ["memory:read"], MCP, NOW).scopes == ("memory:read",)


def test_a_grant_ends_however_often_it_is_refreshed(accounts: Accounts) -> None:
    """10.4.8"""
    first = begun(accounts)
    almost = NOW + timedelta(days=90) - MINUTE
    last = accounts.refresh("client", first.refresh_token, None, None, almost)
    assert last.expires_in == 60
    assert refused(accounts.refresh, "client", last.refresh_token, None, None, NOW + timedelta(days=90)).code == "invalid_grant"


def test_only_so_many_access_tokens_live_at_once(accounts: Accounts, host: Host) -> None:
    granted = begun(accounts)
    for _ in range(40):
        granted = accounts.refresh("client", granted.refresh_token, None, None, NOW)
    record = host.records.get(ORGANIZATION, f"grant/{granted.connection}")
    assert record is not None
    assert len(record["access"]) == 32
    assert accounts.authenticate(granted.access_token) is not None


def test_whose_a_token_is(accounts: Accounts) -> None:
    first = begun(accounts)
    second = accounts.refresh("client", first.refresh_token, None, None, NOW)
    for token in (first.access_token, first.refresh_token, second.refresh_token):
        assert accounts.grant_of("client", token) == (ORGANIZATION, first.connection)
        assert accounts.grant_of("another", token) is None
        assert accounts.grant_of("client", token + "x") is None
    assert accounts.grant_of("client", "nonsense") is None


@pytest.mark.parametrize("token", ["msa_", "msa_x_y_z", "msa_" + "0" * 32 + "_" + "0" * 32 + "_secret", "msa_\ud800"])
def test_access_tokens_that_are_none(accounts: Accounts, token: str) -> None:
    with pytest.raises(BadCredential):
        accounts.authenticate(token)
