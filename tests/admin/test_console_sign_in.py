"""Signing in and out, sessions, and what guards every request."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from memscope.app import MemScope
from memscope.contracts.storage import Operator
from memscope.errors import Unavailable
from memscope.model.audit import Act
from memscope.organizations.connections import connections, revoke
from memscope.serving.asgi import build
from memscope.settings import load


def _try(browser: Any, email: str, password: str) -> Any:
    browser.get("/login")
    return browser.post("/login", email=email, password=password)


def test_unknown_addresses_wrong_passwords_and_disabled_people_get_one_answer(console: Any) -> None:
    console.as_("Bo")
    console.as_("Di")
    with console.app.core.storage.begin(console.organization.operator, Act("person.disable")) as transaction:
        transaction.write_person(replace(console.organization.people["Di"], active=False))
    pages = [
        _try(console.browser(), "nobody@harbor.example", "x"),
        _try(console.browser(), "bo@harbor.example", "x"),
        _try(console.browser(), "di@harbor.example", "a long password of Di"),
    ]
    assert {page.status for page in pages} == {422}
    assert len({page.element("error-summary") for page in pages}) == 1


def test_after_five_failures_one_waits_and_the_wait_is_said(console: Any) -> None:
    console.as_("Bo")
    browser = console.browser()
    for _ in range(5):
        assert _try(browser, "bo@harbor.example", "wrong").status == 422
    page = _try(browser, "bo@harbor.example", "a long password of Bo")
    assert page.status == 429
    assert "Wait 1 second" in page.text
    console.clock.ahead += timedelta(seconds=2)
    assert "Sign out" in _try(browser, "bo@harbor.example", "a long password of Bo").text


def test_thirty_failures_from_one_address_stop_every_account(console: Any) -> None:
    browser = console.browser()
    for number in range(30):
        assert _try(browser, f"nobody{number}@harbor.example", "wrong").status == 422
    assert _try(browser, "somebody@harbor.example", "wrong").status == 429
    console.clock.ahead += timedelta(minutes=5)
    assert _try(browser, "somebody@harbor.example", "wrong").status == 422


def test_signing_in_gives_the_browser_a_new_session_and_signing_out_ends_it(console: Any) -> None:
    browser = console.browser()
    browser.get("/login")
    before = dict(browser.client.cookies)
    signed = console.as_("Bo")
    held = dict(signed.client.cookies)
    assert held != before
    signed.post("/logout")
    assert "Sign in" in signed.get("/memories").text
    signed.client.cookies.update(held)
    assert "Sign in" in signed.get("/memories").text, "a kept cookie is of no use"
    assert console.audit()[-2:] == ["console.sign_in", "console.sign_out"]


def test_after_signing_in_one_is_where_one_wanted_to_be_and_never_elsewhere(console: Any) -> None:
    console.as_("Bo")
    browser = console.browser()
    assert browser.get("/memories?filter=mine").url.endswith("/admin/login?next=/memories?filter%3Dmine")
    page = browser.post("/login?next=/memories?filter%3Dmine", email="bo@harbor.example", password="a long password of Bo")
    assert page.url.endswith("/admin/memories?filter=mine")
    for foreign in ("//evil.example", "https://evil.example", "/\\evil.example", "evil"):
        browser = console.browser()
        browser.get("/login")
        page = browser.post(f"/login?next={foreign}", email="bo@harbor.example", password="a long password of Bo", follow=False)
        assert page.headers["location"] == "/admin/", foreign


@pytest.mark.parametrize(("name", "hours"), [("Bo", 8), ("Ada", 8)])
def test_an_idle_session_ends(console: Any, name: str, hours: int) -> None:
    browser = console.as_(name)
    console.clock.ahead += timedelta(hours=hours)
    assert "Sign in" in browser.get("/").text


def test_an_administrators_session_lasts_twelve_hours_however_busy(console: Any) -> None:
    ada, bo = console.as_("Ada"), console.as_("Bo")
    for _ in range(4):
        console.clock.ahead += timedelta(hours=4)
        last = ada.get("/"), bo.get("/")
    assert "Sign in" in last[0].text
    assert "Sign out" in last[1].text


def test_a_disabled_person_is_out_with_the_next_click(console: Any) -> None:
    browser = console.as_("Bo")
    with console.app.core.storage.begin(console.organization.operator, Act("person.disable")) as transaction:
        transaction.write_person(replace(console.organization.people["Bo"], active=False))
    assert "Sign in" in browser.get("/").text


def test_revoking_the_console_connection_ends_the_sessions_and_signing_in_makes_another(console: Any) -> None:
    browser = console.as_("Bo")
    organization, person = console.organization.organization.id, console.organization.people["Bo"].id
    (mine,) = [one for one in connections(console.app.core, organization, person) if one.kind.value == "console"]
    revoke(console.app.core, console.app.identities.tokens, organization, mine)
    assert "Sign in" in browser.get("/").text
    assert "Overview" in console.as_("Bo").get("/").text


def test_every_answer_has_the_headers(console: Any) -> None:
    browser = console.as_("Ada")
    css = browser.get("/").html.split('stylesheet" href="/admin')[1].split('"')[0]
    for page in (browser.get("/"), browser.get("/nothing"), browser.get(css), console.browser().get("/login")):
        policy = page.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert page.headers["x-content-type-options"] == "nosniff"
        assert page.headers["referrer-policy"] == "same-origin"
    assert browser.get("/").headers["cache-control"] == "no-store"
    assert "immutable" in browser.get(css).headers["cache-control"]


def test_the_cookie_is_kept_from_scripts_and_other_sites(console: Any) -> None:
    page = console.browser().get("/login")
    cookie = page.headers["set-cookie"]
    assert cookie.startswith("memscope-local=")
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
    assert "Path=/" in cookie


def test_under_an_https_address_the_cookie_is_secure_and_of_this_host_alone(tmp_path: Path) -> None:
    settings = load(
        None,
        {
            "MEMSCOPE_STORAGE_PROVIDER": "inprocess",
            "MEMSCOPE_PLUGINS_BLOCKED": "spacy,instructions,secrets",
            "MEMSCOPE_SERVER_PUBLIC_URL": "https://memory.example",
        },
        data_dir=tmp_path / "data",
    )
    with MemScope.from_settings(settings) as app:
        response = TestClient(build(app), base_url="https://memory.example").get("/admin/login")
    cookie = response.headers["set-cookie"]
    assert cookie.startswith("__Host-memscope=")
    assert "Secure" in cookie
    assert "Domain" not in cookie
    assert response.headers["strict-transport-security"] == "max-age=31536000; includeSubDomains"


def test_another_sites_form_is_refused(console: Any) -> None:
    browser = console.as_("Ada")
    headers = {"Sec-Fetch-Site": "cross-site"}
    response = browser.client.post("/admin/logout", data={"csrf_token": browser.token}, headers=headers)
    assert response.status_code == 403
    assert "Sign out" in browser.get("/").text


def test_a_form_without_its_token_changes_nothing(console: Any) -> None:
    browser = console.as_("Ada")
    page = browser.post("/logout", token="wrong")
    assert page.status == 400
    assert "This form was open too long" in page.text
    assert "Sign out" in browser.get("/").text


def test_sign_ins_are_audited_without_the_password(console: Any) -> None:
    console.as_("Bo")
    _try(console.browser(), "bo@harbor.example", "guess number one")
    with console.app.core.storage.begin(Operator("look", console.organization.organization.id)) as transaction:
        rows = transaction.audit_rows(0, 100)
    assert [row.act.action for row in rows[-2:]] == ["console.sign_in", "console.sign_in_failed"]
    assert "guess" not in repr(rows)


def test_a_markup_name_is_shown_as_text(console: Any) -> None:
    with console.app.core.storage.begin(console.organization.operator, Act("person.change")) as transaction:
        transaction.write_person(replace(console.organization.people["Bo"], name="<b>Bo</b>\u202eevil"))
    page = console.as_("Bo").get("/")
    assert "<b>Bo</b>" not in page.html
    assert "&lt;b&gt;Bo" in page.html
    assert "U+202E" in page.html


@pytest.mark.parametrize(("failure", "status"), [(Unavailable(), 503), (RuntimeError("the inside of it"), 500)])
def test_what_fails_inside_is_a_plain_page_that_tells_nothing_of_it(console: Any, failure: Exception, status: int) -> None:
    browser = console.as_("Bo")
    console.clock.away = failure
    page = browser.get("/memories")
    assert page.status == status
    assert "inside" not in page.html
    assert "default-src 'none'" in page.headers["content-security-policy"]
    console.clock.away = None
    assert browser.get("/memories").status == 200
