"""Letting a client in, and everything about connections, as people do it in a browser (CONSOLE 6.4 and 3.10)."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.error import HTTPError
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from playwright.sync_api import expect

VERIFIER = "v" * 64
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()
Site = Any
Page = Any


class Waits(BaseHTTPRequestHandler):
    """A client on this machine that waits for the answer."""

    server: Any

    def do_GET(self) -> None:
        self.server.answers.append({name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()})
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b'<!doctype html><html lang="en"><title>Client</title><link rel="icon" href="data:,"><h1>Back at the client</h1>')

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def client() -> Iterator[Any]:
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), Waits)
    server.answers, server.redirect = [], f"http://127.0.0.1:{server.server_port}/callback"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join(5)


def send(url: str, body: bytes, kind: str, **headers: str) -> tuple[int, Any]:
    request = urllib.request.Request(url, body, {"Content-Type": kind, **headers})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, json.loads(answer.read())
    except HTTPError as error:
        return error.code, json.loads(error.read())


def register(site: Site, client: Any, name: str) -> str:
    said = {"client_name": name, "redirect_uris": [client.redirect], "token_endpoint_auth_method": "none"}
    status, answer = send(f"{site.url}/oauth/register", json.dumps(said).encode(), "application/json")
    assert status == 201
    return str(answer["client_id"])


def address(site: Site, client: Any, client_id: str, **changes: str) -> str:
    values = {
        "response_type": "code",
        "client_id": client_id,
        "redirect_uri": client.redirect,
        "code_challenge": CHALLENGE,
        "code_challenge_method": "S256",
        "state": "state",
    }
    return f"{site.url}/oauth/authorize?{urlencode({**values, **changes})}"


def token(site: Site, client: Any, client_id: str) -> str:
    fields = {"grant_type": "authorization_code", "client_id": client_id, "code": client.answers[-1]["code"], "code_verifier": VERIFIER}
    status, answer = send(f"{site.url}/oauth/token", urlencode(fields).encode(), "application/x-www-form-urlencoded")
    assert status == 200, answer
    return str(answer["access_token"])


def calls(site: Site, bearer: str, tool: str = "list_teams") -> int:
    version = "2026-07-28"
    meta = {"io.modelcontextprotocol/protocolVersion": version, "io.modelcontextprotocol/clientCapabilities": {}}
    headers = {"Authorization": f"Bearer {bearer}", "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": version}
    headers |= {"Mcp-Method": "tools/call", "Mcp-Name": tool}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": {}, "_meta": meta}}
    return send(f"{site.url}/mcp", json.dumps(body).encode(), "application/json", **headers)[0]


def test_letting_a_client_in(site: Site, client: Any) -> None:
    page = site.page("Ada")
    client_id = register(site, client, "<b>Ada's bank</b>")
    page.goto(address(site, client, client_id))
    # The name is text, the host stands out, and nothing is chosen for the person.
    assert page.locator("q.client-name").inner_text() == "<b>Ada's bank</b>"
    expect(page.locator("q.client-name b")).to_have_count(0)
    assert page.locator("strong[data-t=host]").inner_text() == "127.0.0.1"
    assert page.evaluate("document.activeElement.tagName") == "BODY"
    expect(page.locator("script")).to_have_count(0)
    allow, cancel = page.get_by_role("button", name="Allow"), page.get_by_role("button", name="Cancel")
    looks = "e => { const s = getComputedStyle(e); return [s.backgroundColor, s.color, s.fontSize, s.fontWeight, s.height, s.borderColor].join() }"
    assert allow.evaluate(looks) == cancel.evaluate(looks)
    cancel.click()
    page.get_by_role("heading", name="Back at the client").wait_for()
    assert client.answers[-1]["error"] == "access_denied"
    # A double click makes one grant.
    page.goto(address(site, client, client_id))
    page.get_by_role("button", name="Allow").dblclick()
    page.get_by_role("heading", name="Back at the client").wait_for()
    assert {answer["code"] for answer in client.answers if "code" in answer} == {client.answers[-1]["code"]}
    bearer = token(site, client, client_id)
    assert calls(site, bearer) == 200
    # Nobody frames it, and no other site's page consents.
    page.goto(address(site, client, client_id))
    consent = page.url
    framing = site.browser.new_context().new_page()
    framing.set_content(f'<iframe src="{consent}"></iframe>')
    framing.wait_for_load_state()
    assert all("Let a client act" not in frame.content() for frame in framing.frames[1:])
    elsewhere = page.request.post(consent, form={"decision": "allow"}, headers={"Origin": "https://evil.example"})
    assert elsewhere.status == 400
    # It is listed, and ends at once.
    page.goto(f"{site.url}/admin/connections")
    rows = page.locator("[data-t=connection]").filter(has_text="Ada's bank")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("OAuth")
    rows.get_by_role("button", name="End").click()
    expect(page.get_by_role("status").first).to_contain_text("its next call is refused")
    assert calls(site, bearer) == 401
    ours(site, client)


def test_a_stranger_comes_back_and_an_administrator_decides(site: Site, client: Any) -> None:
    ada = site.page("Ada")
    ada.goto(f"{site.url}/admin/connections/clients")
    ada.get_by_label("An administrator approves each client once").check()
    ada.get_by_role("button", name="Save").click()
    site.page("Bo").context.close()
    bo = site.page()
    client_id = register(site, client, "Quill")
    bo.goto(address(site, client, client_id))
    bo.get_by_label("E-mail address").fill("bo@harbor.example")
    bo.get_by_label("Password").fill("a long password of Bo")
    bo.get_by_role("button", name="Sign in", exact=True).click()
    asking = bo.get_by_role("button", name="Ask an administrator")
    expect(asking).to_be_visible()
    assert bo.get_by_role("button", name="Allow").count() == 0
    asking.click()
    expect(bo.locator("[data-t=waiting]")).to_contain_text("waits for an administrator")
    ada.goto(f"{site.url}/admin/connections")
    ada.get_by_role("link", name="Clients").click()
    ada.get_by_role("button", name="Approve Quill").click()
    expect(ada.get_by_role("status").first).to_contain_text("Quill is approved")
    bo.reload()
    bo.get_by_role("button", name="Allow").click()
    bo.get_by_role("heading", name="Back at the client").wait_for()
    assert calls(site, token(site, client, client_id)) == 200
    ours(site, client)


def test_a_token_from_making_to_ending(site: Site) -> None:
    page = site.page("Bo")
    page.goto(f"{site.url}/admin/connections")
    page.get_by_role("link", name="Connect an agent").click()
    expect(page.locator("#connect-lines")).to_contain_text(f"claude mcp add --transport http memscope {site.url}/mcp")
    page.get_by_role("link", name="Codex").click()
    expect(page.locator("#connect-lines")).to_contain_text("codex mcp login memscope")
    page.get_by_role("link", name="make an access token").click()
    assert page.get_by_label("Days until it expires").input_value() == "90"
    page.get_by_role("button", name="Make a token").click()
    bearer = page.locator("[data-t=token-once]").inner_text()
    page.reload()
    assert bearer not in page.content()
    row = page.locator("[data-t=connection]").filter(has_text=f"msk_…{bearer[-4:]}")
    expect(row).to_contain_text("never")
    assert calls(site, bearer) == 200
    page.reload()
    assert "never" not in row.inner_text().replace("never expires", "")
    assert row.locator("[data-label='Calls, 7 days']").inner_text() == "1"
    row.get_by_role("checkbox").check()
    page.get_by_role("button", name="End those ticked").click()
    expect(page.get_by_role("status").first).to_contain_text("1 connection ended")
    assert calls(site, bearer) == 401
    ada = site.page("Ada")
    ada.goto(f"{site.url}/admin/audit")
    ended = ada.locator("[data-t=audit-row]").filter(has_text="connection.revoke").first
    expect(ended).to_contain_text("Bo")


def test_nothing_is_wrong_with_these_pages(site: Site, client: Any) -> None:
    page = site.page("Ada")
    client_id = register(site, client, "An agent of considerable name and reach")
    found: dict[str, list[str]] = {}

    def look(name: str, path: str) -> None:
        page.goto(path)
        found[name] = site.violations(page)

    asking = address(site, client, client_id)
    look("consent", asking)
    page.get_by_role("button", name="Allow").click()
    page.get_by_role("heading", name="Back at the client").wait_for()
    for name in ("?all=yes&ended=yes", "/connect?client=vscode"):
        look(name, f"{site.url}/admin/connections{name}")
    page.goto(f"{site.url}/admin/connections/clients")
    page.get_by_label("An administrator approves each client once").check()
    page.get_by_role("button", name="Save").click()
    look("unknown", asking)
    page.get_by_role("button", name="Ask an administrator").click()
    look("waiting", asking)
    look("queue", f"{site.url}/admin/connections/clients")
    page.get_by_text("Register a client by hand").click()
    page.get_by_label("Name", exact=True).fill("Desk")
    page.get_by_label("Redirect addresses").fill("https://desk.example/callback")
    page.get_by_role("button", name="Register and approve").click()
    found["registered"] = site.violations(page)
    look("decided", f"{site.url}/admin/connections/clients")
    look("wrong", address(site, client, client_id, redirect_uri="https://evil.example/"))
    assert {name: told for name, told in found.items() if told} == {}
    ours(site, client, refusals=True)


def ours(site: Site, client: Any, *, refusals: bool = False) -> None:
    """Complaints that are none: the client's own page, a refused frame, and pages that are refused."""
    said = ("frame-ancestors", "chrome-error:", "ERR_BLOCKED_BY_RESPONSE", *(("status of 4",) if refusals else ()))
    base = client.redirect.removesuffix("/callback")
    site.complaints[:] = [text for text in site.complaints if not text.startswith(base) and not any(word in text for word in said)]
