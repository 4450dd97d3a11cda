"""The port from the outside: addresses, credentials, hosts and origins, limits, figures."""

from __future__ import annotations

import json
import threading
from typing import Any

import httpx2
import pytest

from memscope.errors import StartError
from memscope.serving.asgi import build
from memscope.serving.upkeep import upkeep

Office = Any
STORAGE = "inprocess"
Live = Any
ACCEPT = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}


def headers(token: str, **more: str) -> dict[str, str]:
    return {**ACCEPT, "Authorization": f"Bearer {token}", **{name.replace("_", "-"): value for name, value in more.items()}}


def call(number: int, tool: str, **arguments: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}


def event(response: httpx2.Response) -> dict[str, Any]:
    (line,) = [line for line in response.text.splitlines() if line.startswith("data: {")]
    message = json.loads(line.removeprefix("data: "))
    assert isinstance(message, dict)
    return message


def test_health_needs_nothing(live: Live) -> None:
    assert live.http.get(f"{live.url}/healthz").json() == {"status": "ok"}
    assert live.http.get(f"{live.url}/readyz").json() == {"status": "ready", "storage": "ok", "model": "ready"}


@pytest.mark.parametrize("path", ["/", "/nothing", "/.well-known/oauth-protected-resource", "/.well-known/openid-configuration", "/mcp/x"])
def test_other_addresses_are_404_in_json(live: Live, path: str) -> None:
    response = live.http.get(live.url + path)
    assert response.status_code == 404
    assert response.json()["error"]["code"] == "not_found"


def test_the_consoles_address_answers_while_there_is_no_console(live: Live) -> None:
    response = live.http.get(f"{live.url}/admin/")
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("text/html")
    assert live.http.get(f"{live.url}/admin").status_code == 307


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE", "PUT"])
@pytest.mark.parametrize("credential", [None, "Bearer", "Bearer nonsense", "Bearer msk_x_y_z", "Basic YTpi"])
@pytest.mark.parametrize("path", ["/mcp", "/mcp/"])
def test_without_a_good_token_nothing_is_served(live: Live, method: str, credential: str | None, path: str) -> None:
    given = {} if credential is None else {"Authorization": credential}
    response = live.http.request(method, live.url + path, headers={**ACCEPT, **given}, json=INITIALIZE)
    assert response.status_code == 401
    assert response.headers["www-authenticate"] == "Bearer"
    assert response.json()["error"]["code"] == "unauthorized"
    assert "mcp-session-id" not in response.headers


def test_a_token_in_the_address_is_no_credential(office: Office) -> None:
    token = office.token("ben")
    assert office.live.http.post(f"{office.live.url}/mcp?access_token={token}", headers=ACCEPT, json=INITIALIZE).status_code == 401


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", ""])
@pytest.mark.parametrize("path", ["/mcp", "/admin/", "/metrics", "/nothing"])
def test_another_host_is_misdirected(live: Live, host: str, path: str) -> None:
    assert live.http.get(live.url + path, headers={"Host": host}).status_code == 421


def test_probes_come_by_any_name(live: Live) -> None:
    assert live.http.get(f"{live.url}/healthz", headers={"Host": "10.0.0.9"}).status_code == 200


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost.evil.example"])
def test_pages_of_other_origins_are_refused_before_sign_in(office: Office, origin: str) -> None:
    for method in ("OPTIONS", "POST", "GET"):
        response = office.live.http.request(method, f"{office.live.url}/mcp", headers=headers(office.token("ben"), Origin=origin))
        assert response.status_code == 403
        assert "access-control-allow-origin" not in response.headers


def test_a_preflight_needs_no_token_and_names_what_may_be_sent(live: Live) -> None:
    response = live.http.options(
        f"{live.url}/mcp",
        headers={
            "Origin": "http://localhost:6274",
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "authorization",
        },
    )
    assert response.status_code == 204
    assert response.headers["access-control-allow-origin"] == "http://localhost:6274"
    allowed = response.headers["access-control-allow-headers"].lower()
    for name in ("authorization", "content-type", "mcp-protocol-version", "mcp-session-id", "last-event-id"):
        assert name in allowed
    refused = live.http.post(f"{live.url}/mcp", headers={"Origin": "http://localhost:6274"})
    assert refused.status_code == 401
    assert "WWW-Authenticate" in refused.headers["access-control-expose-headers"]


def test_a_request_past_4_mib_is_too_large(office: Office) -> None:
    response = office.live.http.post(f"{office.live.url}/mcp", headers=headers(office.token("ben")), content=b" " * (4 * 1024 * 1024 + 1))
    assert response.status_code == 413


@pytest.mark.parametrize(
    "body", [b"", b"nonsense", b"[]", b'{"jsonrpc":"2.0"}', b'{"jsonrpc":"2.0","id":1}', b"[" * 50_000, b"\xff\xfe", b"123", b"null"]
)
@pytest.mark.parametrize("version", [None, "2026-07-28", "2025-06-18", "1999-01-01"])
def test_malformed_messages_are_400_without_a_librarys_words(office: Office, body: bytes, version: str | None) -> None:
    more = {} if version is None else {"MCP_Protocol_Version": version}
    response = office.live.http.post(f"{office.live.url}/mcp", headers=headers(office.token("ben"), **more), content=body)
    assert response.status_code == 400
    assert not any(word in response.text for word in ("pydantic", "Traceback", "errors.", "input_value", "line 1"))


def test_a_stale_session_is_404_and_a_new_one_begins(office: Office) -> None:
    token = office.token("ben")
    stale = office.live.http.post(f"{office.live.url}/mcp", headers=headers(token, Mcp_Session_Id="0" * 32), json=call(2, "list_teams"))
    assert stale.status_code == 404
    fresh = office.live.http.post(f"{office.live.url}/mcp", headers=headers(token), json=INITIALIZE)
    assert fresh.status_code == 200
    assert fresh.headers["mcp-session-id"]


def test_a_session_belongs_to_its_connection(office: Office) -> None:
    mine, other = office.token("ben"), office.token("ben")
    opened = office.live.http.post(f"{office.live.url}/mcp", headers=headers(mine), json=INITIALIZE)
    session = opened.headers["mcp-session-id"]
    for token, status in ((other, 404), (office.token("cleo"), 404), (mine, 200)):
        response = office.live.http.post(
            f"{office.live.url}/mcp", headers=headers(token, Mcp_Session_Id=session), json=call(2, "list_teams")
        )
        assert response.status_code == status
    ended = office.live.http.delete(f"{office.live.url}/mcp", headers=headers(mine, Mcp_Session_Id=session))
    assert ended.status_code == 200
    gone = office.live.http.post(f"{office.live.url}/mcp", headers=headers(mine, Mcp_Session_Id=session), json=call(3, "list_teams"))
    assert gone.status_code == 404


def test_half_of_a_surrogate_pair_is_an_argument_error_in_both_eras(office: Office) -> None:
    token = office.token("ben")
    opened = office.live.http.post(f"{office.live.url}/mcp", headers=headers(token), json=INITIALIZE)
    body = json.dumps(call(2, "remember", content="broken \ud83d text")).encode()
    assert b"\\ud83d" in body
    response = office.live.http.post(
        f"{office.live.url}/mcp", headers=headers(token, Mcp_Session_Id=opened.headers["mcp-session-id"]), content=body
    )
    legacy = event(response)["result"]["structuredContent"]["error"]
    status, message = office.post(token, "tools/call", {"name": "remember", "arguments": {"content": "broken \ud83d text"}})
    assert status == 200
    assert legacy == message["result"]["structuredContent"]["error"]
    assert (legacy["code"], legacy["parameter"]) == ("invalid_argument", "content")


def test_calls_past_the_limit_are_told_when_to_come_again(limited: Office) -> None:
    office = limited
    ben, cleo = office.token("ben"), office.token("cleo")
    for _ in range(5):
        _, message = office.post(ben, "tools/call", {"name": "list_topics", "arguments": {}})
        assert not message["result"].get("isError")
    status, message = office.post(ben, "tools/call", {"name": "list_topics", "arguments": {}})
    error = message["result"]["structuredContent"]["error"]
    assert (status, error["code"]) == (200, "rate_limited")
    assert 0 < error["retry_after_s"] <= 12
    _, message = office.post(cleo, "tools/call", {"name": "list_topics", "arguments": {}})
    assert not message["result"].get("isError")


def test_sessions_past_the_limit_are_refused_before_they_are_made(limited: Office) -> None:
    office = limited
    token = office.token("dora")
    statuses = [office.live.http.post(f"{office.live.url}/mcp", headers=headers(token), json=INITIALIZE) for _ in range(6)]
    assert [response.status_code for response in statuses] == [200] * 5 + [429]
    assert int(statuses[-1].headers["retry-after"]) > 0
    assert "mcp-session-id" not in statuses[-1].headers
    assert statuses[-1].json()["error"]["code"] == "rate_limited"


def test_figures_are_for_administrators_and_name_nobody(office: Office) -> None:
    url = f"{office.live.url}/metrics"
    assert office.live.http.get(url).status_code == 401
    assert office.live.http.get(url, headers=headers(office.token("ben"))).status_code == 403
    office.as_("ben").call("list_topics")
    figures = office.live.http.get(url, headers=headers(office.token("ada")))
    assert figures.status_code == 200
    assert 'memscope_tool_calls_total{tool="list_topics",outcome="ok"}' in figures.text
    assert "memscope_model_ready 1" in figures.text
    for name in (office.organization.slug, office.organization.id, "ben", "platform", "hr"):
        assert f'"{name}"' not in figures.text


def test_a_metrics_token_reads_figures_and_nothing_else(limited: Office) -> None:
    office = limited
    assert office.live.http.get(f"{office.live.url}/metrics", headers={"Authorization": "Bearer figures-only"}).status_code == 200
    assert office.live.http.get(f"{office.live.url}/metrics", headers={"Authorization": "Bearer figures-onl"}).status_code == 401
    assert office.live.http.post(f"{office.live.url}/mcp", headers=headers("figures-only"), json=INITIALIZE).status_code == 401


def test_a_plugins_pages_are_served_beside_it(limited: Office) -> None:
    page = limited.live.http.get(f"{limited.live.url}/extra/anything")
    assert (page.status_code, page.text) == (200, "/extra of a plugin")
    assert limited.live.http.get(f"{limited.live.url}/extra/anything", headers={"Host": "evil.example"}).status_code == 421


@pytest.mark.parametrize("path", ["/mcp", "/healthz", "/readyz", "/metrics"])
def test_a_plugin_cannot_take_our_own_addresses(limited: Office, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    monkeypatch.setenv("WEB_PART_PATH", path)
    with pytest.raises(StartError, match=path):
        build(limited.live.app)


def test_upkeep_runs_beside_the_server(office: Office) -> None:
    records = office.live.app.core.storage.records("upkeep")
    with upkeep(office.live.app, every_s=0.01):
        tick = threading.Event()
        for _ in range(2000):
            if records.get(office.organization.id, "last/purge"):
                break
            tick.wait(0.01)
    assert records.get(office.organization.id, "last/purge") is not None
