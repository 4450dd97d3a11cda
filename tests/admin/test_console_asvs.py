"""OWASP ASVS 5.0.0 at level 2, chapters 3.3 to 3.5, 6, 7 and 16: a test for each row that applies to the console.

Each test names the requirements that it holds the console to. What is only written down is in docs/console.md; that it is there
is tested too, and that it says the figures that the code has.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from memscope.contracts.storage import Operator
from memscope.errors import Unavailable
from memscope.model.audit import NO_ROW, Act
from memscope.organizations.setting_up import first_organization, make_link
from memscope.serving.asgi import build
from memscope.testing.authenticator import Authenticator, code_of
from memscope.testing.builders import harbor

DOCS = (Path(__file__).parents[2] / "docs" / "console.md").read_text()
GOOD = "a quiet quay at six"
HTTPS = {"MEMSCOPE_SERVER_PUBLIC_URL": "https://memory.example"}


@pytest.fixture
def secure(tmp_path: Path, console_kit: Any) -> Iterator[Any]:
    """Harbor under an https address."""
    app, clock = console_kit.open_console(tmp_path / "https", **HTTPS)
    organization = harbor()
    organization.store(app.core.storage)
    console = console_kit.Console(app, clock, organization, build(app))

    def browser() -> Any:
        client = TestClient(console.asgi, base_url="https://memory.example")
        console.clients.append(client)
        return console_kit.Browser(client)

    console.browser = browser
    yield console
    for client in console.clients:
        client.close()
    app.close()


def _acts(console: Any) -> list[Act]:
    return [row.act for row in _rows(console)]


def _rows(console: Any) -> list[Any]:
    with console.app.core.storage.begin(Operator("look", console.organization.organization.id)) as transaction:
        return list(transaction.audit_rows(0, 10_000))


def _gets(console: Any) -> list[str]:
    """The address of every page that can be asked for, its parts filled with what is there."""
    from memscope_admin.factory import create_app

    organization = console.organization
    parts = {
        "memory": "1",
        "key": "legal",
        "person_id": organization.people["Cy"].id,
        "group_id": organization.groups["apollo"].id,
        "connection": organization.connections["Ada"].id,
        "connection_id": organization.connections["Di"].id,
        "filename": "console.css",
    }
    app = create_app(console.app)
    adapter, found = app.url_map.bind("localhost"), []
    for rule in app.url_map.iter_rules():
        if "GET" in (rule.methods or ()):
            values = {name: parts.get(name, getattr(rule._converters[name], "regex", "")) for name in rule.arguments}
            values = {name: "csv" if "csv" in value else "x" if name not in parts else value for name, value in values.items()}
            found.append(adapter.build(rule.endpoint, values))
    return found


def _change(console: Any, who: str, **more: Any) -> None:
    with console.app.core.storage.begin(console.organization.operator, Act("person.change")) as transaction:
        transaction.write_person(replace(console.organization.people[who], **more))


def _sign_in(browser: Any, email: str, password: str) -> Any:
    browser.get("/login")
    return browser.post("/login", email=email, password=password)


def _set(console: Any, browser: Any, password: str) -> Any:
    """Try to change Bo's password."""
    browser.get("/me/security")
    return browser.post("/me/security/password", old="a long password of Bo", password=password)


# V3.3 cookies
def test_3_3_1_to_3_3_4_cookies_are_secure_prefixed_same_site_and_closed_to_scripts(secure: Any) -> None:
    browser = secure.as_("Bo")
    browser.client.get("/admin/login/passkey")
    jar = list(browser.client.cookies.jar)
    assert {cookie.name for cookie in jar} == {"__Host-memscope", "__Host-memscope-device", "__Host-memscope-passkey"}
    for cookie in jar:
        assert cookie.secure, cookie.name
        assert not cookie.domain_specified, cookie.name
        assert cookie.path == "/", cookie.name
        rest = {name.casefold(): value for name, value in cookie._rest.items()}
        assert "httponly" in rest, cookie.name
        assert rest["samesite"] == "Lax", cookie.name


# V3.4 headers
def test_3_4_1_to_3_4_6_headers_stand_on_every_answer(secure: Any) -> None:
    browser = secure.as_("Ada")
    answers = [browser.client.get(f"/admin{path}", follow_redirects=False) for path in _gets(secure)]
    answers += [
        browser.client.get("/admin/nothing"),
        browser.client.post("/admin/logout"),
        browser.client.post("/admin/login", data={"x": "y" * 300_000}),
        browser.client.put("/admin/login"),
        browser.client.get("/admin/static/nothing"),
        secure.browser().client.get("/admin/people", follow_redirects=False),
    ]
    secure.clock.away = RuntimeError()
    answers.append(browser.client.get("/admin/people"))
    secure.clock.away = None
    assert {200, 302, 400, 404, 405, 413, 500} <= {answer.status_code for answer in answers}
    for answer in answers:
        sent, where = answer.headers, f"{answer.request.url} {answer.status_code}"
        assert "access-control-allow-origin" not in sent, where
        if answer.request.url.path.startswith("/admin"):
            assert sent["strict-transport-security"] == "max-age=31536000; includeSubDomains", where
            assert {"object-src 'none'", "base-uri 'none'", "frame-ancestors 'none'"} <= set(sent["content-security-policy"].split("; ")), (
                where
            )
            assert "unsafe" not in sent["content-security-policy"], where
            assert sent["x-content-type-options"] == "nosniff", where
            assert sent["referrer-policy"] in ("same-origin", "no-referrer"), where


# V3.5 forgery
def test_3_5_1_and_3_5_2_a_request_without_its_token_or_from_another_site_is_refused(console: Any) -> None:
    browser = console.as_("Ada")
    before = len(_rows(console))
    sent = (
        {"json": {"csrf_token": browser.token}},
        {"content": "x=y", "headers": {"Content-Type": "text/plain"}},
        {"data": {"csrf_token": "x"}},
    )
    for request in sent:
        assert browser.client.post("/admin/people/new", **request).status_code == 400
    other = console.as_("Ada")
    assert browser.post("/logout", token=other.token).status == 400, "a token is of one session"
    for site, status in (("cross-site", 403), ("same-origin", 422), ("none", 422)):
        answer = browser.client.post("/admin/people/new", data={"csrf_token": browser.token}, headers={"Sec-Fetch-Site": site})
        assert answer.status_code == status
    assert [act.action for act in _acts(console)][before:] == ["console.sign_in"]


def test_3_5_3_no_get_changes_anything(console: Any) -> None:
    console.remember("Bo", "The crane is blue", team="engineering")
    storage, browser = console.app.core.storage, console.as_("Ada")
    names = ("admin", "accounts", "setup")

    def state() -> Any:
        organization = console.organization.organization.id
        kept = {name: dict(storage.records(name).items(organization, "")) for name in names}
        with storage.begin(Operator("look", organization)) as transaction:
            rows, connections = transaction.audit_rows(0, 10_000), transaction.connections()
        roster = storage.roster(organization)
        return kept, [row.act.action for row in rows], roster.epoch, len(connections), len(storage.organizations())

    # Exports are read by others: each is written down, as 16.3 wants.
    paths = [path for path in _gets(console) if "export" not in path]
    before = state()
    for path in paths:
        assert browser.client.get(f"/admin{path}", headers={"HX-Request": "true"} if "bench" in path else {}).status_code < 500, path
    assert state() == before


# V6.1 documentation
def test_6_1_1_to_6_1_3_what_slows_guessers_down_and_every_way_in_are_written_down() -> None:
    from memscope_admin.throttle import ACCOUNT_MAX, ADDRESS_MAX, FREE, LONGEST_S

    for said in (f"{LONGEST_S} seconds", f"{ADDRESS_MAX} failures", f"{ACCOUNT_MAX} failures", "five failures", "trusted_proxies"):
        assert said in DOCS, said
    assert FREE == 5
    for said in ("names that go with", "## Ways in", "passkey", "one-time link", "recovery code", "access token"):
        assert said.casefold() in DOCS.casefold(), said


# V6.2 passwords
@pytest.mark.parametrize(
    ("password", "reason"),
    [
        ("", "needed"),  # 6.2.1
        ("elevenchars", "12 to 256"),
        ("x7" * 129, "12 to 256"),
        ("password1234", "easily guessed"),  # 6.2.4: of the most common ones
        ("qwertyuiop123", "easily guessed"),
        ("123456789012", "easily guessed"),
        ("aaaaaaaaaaaaaaaa", "easily guessed"),
        ("a harbor in the fog", "Harbor"),  # 6.2.11: what goes with the organization, the product, the person
        ("my memscope is mine", "MemScope"),
        ("Bowditch the sailor", "Bowditch"),
        ("bo@harbor.example!", "Harbor"),
    ],
)
def test_6_2_1_6_2_4_and_6_2_11_what_is_short_common_or_about_oneself_is_refused_in_words(console: Any, password: str, reason: str) -> None:
    browser = console.as_("Bo")
    _change(console, "Bo", name="Bo Bowditch")
    page = _set(console, browser, password)
    assert page.status == 422
    assert reason in page.element("error-summary")


@pytest.mark.parametrize(
    "password",
    [
        "quietquayatsix",  # 6.2.5: any composition
        "правильный-конь",
        "🚢🚢 ahoy 🌊 seven",
        "  spaces at both ends  ",  # 6.2.8: as received
        "the tide turns at noon and the heron waits by pier nine " * 4,  # 6.2.9: long ones too
    ],
)
def test_6_2_5_6_2_8_and_6_2_9_any_other_is_taken_and_checked_exactly(console: Any, password: str) -> None:
    page = _set(console, console.as_("Bo"), password)
    assert page.status == 200, page.text
    for other in (password.strip() + "x", password[:-1], password.swapcase() if password.swapcase() != password else "x", password + " "):
        if other != password:
            assert _sign_in(console.browser(), "bo@harbor.example", other).status in (422, 429)
    console.clock.ahead += timedelta(minutes=16)
    assert "Sign out" in _sign_in(console.browser(), "bo@harbor.example", password).text


def test_6_2_2_and_6_2_3_one_changes_ones_password_with_the_old_one(console: Any) -> None:
    browser = console.as_("Bo")
    browser.get("/me/security")
    assert browser.post("/me/security/password", old="wrong", password=GOOD).status == 422
    assert browser.post("/me/security/password", password=GOOD).status == 422
    assert "Your password is changed" in browser.post("/me/security/password", old="a long password of Bo", password=GOOD).text
    assert _sign_in(console.browser(), "bo@harbor.example", "a long password of Bo").status == 422
    assert "Sign out" in _sign_in(console.browser(), "bo@harbor.example", GOOD).text


def test_6_2_6_and_6_2_7_password_fields_hide_what_is_typed_and_take_what_is_pasted(console: Any) -> None:
    fields = []
    for page in (console.browser().get("/login"), console.as_("Bo").get("/me/security"), console.as_("Bo").get("/again")):
        fields += [tag for tag in re.findall(r"<input[^>]*>", page.html) if "password" in tag and 'type="hidden"' not in tag]
    assert len(fields) == 4
    for tag in fields:
        assert 'type="password"' in tag
        assert re.search(r'autocomplete="(current|new)-password"', tag), "managers fill it in"
    for script in (Path(__file__).parents[2] / "admin/memscope_admin/static").glob("*.js"):
        assert "paste" not in script.read_text(), "nothing keeps one from pasting"


def test_6_2_10_no_password_wears_out(console: Any) -> None:
    console.as_("Bo")
    console.clock.ahead += timedelta(days=1000)
    assert "Sign out" in _sign_in(console.browser(), "bo@harbor.example", "a long password of Bo").text


# V6.3 signing in
def test_6_3_1_guessing_is_slowed_down_on_every_way_in(console: Any) -> None:
    console.as_("Bo")
    bo = console.as_("Bo")
    for path, fields in (
        ("/login", {"email": "bo@harbor.example", "password": "wrong"}),
        ("/login/passkey", {"credential": "{}"}),
    ):
        browser = console.browser()
        browser.get("/login")
        pages = [browser.post(path, **fields) for _ in range(6)]
        assert "Too many tries" in pages[-1].text, path
    bo.get("/again")
    assert [bo.post("/again", password="wrong").status for _ in range(6)] == [422] * 5 + [429]


def test_6_3_2_nobody_can_sign_in_before_the_set_up(fresh: Any) -> None:
    for email in ("admin", "admin@example.com", "root", "ada@harbor.example"):
        assert _sign_in(fresh.browser(), email, "admin").status == 422
    organization = first_organization(fresh.app.core)
    assert organization is not None
    assert not fresh.app.core.rosters.current(organization.id).people


def test_6_3_3_an_administrator_needs_a_second_factor(console: Any) -> None:
    console.as_("Ada")
    console.clock.ahead += timedelta(days=7)
    browser = console.as_("Ada")
    assert all(browser.get(path).url.endswith("/me/security/enrol") for path in ("/", "/people", "/settings", "/audit"))


def test_6_3_4_there_is_no_way_in_but_those_written_down(console: Any) -> None:
    from memscope_admin.factory import create_app

    app = create_app(console.app)
    public = {
        rule.endpoint
        for rule in app.url_map.iter_rules()
        if "POST" in (rule.methods or ())
        and console.browser().client.post(f"/admin{_filled(rule)}", follow_redirects=False).status_code != 302
    }
    # Whatever takes a form refuses it for want of its token before it asks who sent it: only these have anything to say to strangers.
    strangers = {"sign_in.check", "sign_in.second", "sign_in.passkey", "sign_in.leave", "setup.account", "setup.password"}
    assert strangers <= public
    names = [method.name for provider in console.app.identities.providers for method in provider.login_methods()]
    assert names == ["password", "passkey"]


def _filled(rule: Any) -> str:
    return re.sub(r"<[^>]*>", "x", rule.rule)


def test_6_3_8_whether_an_address_is_known_cannot_be_told(console: Any) -> None:
    console.as_("Bo")
    _change(console, "Di", active=False)
    pages = {
        _sign_in(console.browser(), email, "wrong").element("error-summary")
        for email in ("x@y.example", "bo@harbor.example", "di@harbor.example")
    }
    assert len(pages) == 1


# V6.4 what is given out once
def test_6_4_1_links_are_random_used_once_expire_and_are_never_the_password(fresh: Any) -> None:
    organization = first_organization(fresh.app.core)
    assert organization is not None
    links = {make_link(fresh.app.core, organization.id) for _ in range(3)}
    assert len(links) == 3
    assert all(len(link.partition(".")[2]) >= 43 for link in links), "256 bits"
    link = make_link(fresh.app.core, organization.id)
    browser = fresh.browser()
    browser.get(f"/setup/{link}")
    browser.post("/setup/account", name="Ada", email="ada@quay.example", password=GOOD)
    assert fresh.browser().get(f"/setup/{link}").status == 410
    browser.get("/setup/people")
    page = browser.post("/setup/people", people="bo@quay.example, Bo")
    invitation = page.element("token-once").split()[0].split("/admin", 1)[1]
    assert _sign_in(fresh.browser(), "bo@quay.example", invitation.rpartition("/")[2]).status == 422
    assert fresh.browser().get(invitation).status == 200
    fresh.clock.ahead += timedelta(hours=72)
    assert fresh.browser().get(invitation).status == 410


def test_6_4_3_a_reset_does_not_go_round_the_second_factor(console: Any) -> None:
    browser, ada = console.as_("Bo"), console.as_("Ada")
    _enrol(console, browser)
    person = console.organization.people["Bo"].id
    ada.get(f"/people/{person}")
    link = ada.post(f"/people/{person}/link").element("token-once").split()[0].split("/admin", 1)[1]
    stranger = console.browser()
    stranger.get(link)
    assert "One more proof" in stranger.post("/welcome", password=GOOD).text
    assert "Sign in" in stranger.get("/memories").text


def test_6_4_4_a_lost_factor_is_taken_away_by_an_administrator_who_says_why(console: Any) -> None:
    _enrol(console, console.as_("Bo"))
    ada, person = console.as_("Ada"), console.organization.people["Bo"].id
    assert "Be sure that it is they who ask" in ada.get(f"/people/{person}/factor").text
    assert ada.post(f"/people/{person}/factor", reason="").status == 422
    assert "password alone" in ada.post(f"/people/{person}/factor", reason="lost").text
    assert [act.detail["reason"] for act in _acts(console) if act.action == "person.remove_second_factor"] == ["lost"]


def test_6_4_6_no_administrator_sees_or_sets_a_password(console: Any) -> None:
    ada, person = console.as_("Ada"), console.organization.people["Bo"].id
    for path in ("/people/new", f"/people/{person}"):
        assert 'type="password"' not in ada.get(path).html


# V6.5 second factors
def test_6_5_1_codes_of_every_kind_work_once(console: Any) -> None:
    secret, codes = _enrol(console, console.as_("Bo"))
    for field, value in (("code", code_of(secret, console.clock())), ("recovery", codes[0])):
        statuses = []
        for _ in range(2):
            browser = console.browser()
            _sign_in(browser, "bo@harbor.example", "a long password of Bo")
            statuses.append(browser.post("/login/second", **{field: value}).status)
        assert statuses == [200, 422], field


def test_6_5_2_to_6_5_4_recovery_codes_are_random_long_enough_and_kept_as_salted_hashes(console: Any) -> None:
    sets = [_enrol(console, console.as_(name))[1] for name in ("Bo", "Di")]
    codes = [code for codes in sets for code in codes]
    assert len(set(codes)) == 20
    assert all(len(code.replace("-", "")) == 16 for code in codes), "80 bits in base32"
    organization = console.organization.organization.id
    kept = console.app.core.storage.records("accounts").items(organization, "factors/")
    assert len({one["recovery"]["salt"] for one in kept.values()}) == 2
    assert not any(code.replace("-", "") in repr(kept) for code in codes)


def test_6_5_5_a_one_time_code_lasts_its_step_and_the_next_as_written_down(console: Any) -> None:
    secret, _ = _enrol(console, console.as_("Bo"))
    console.clock.ahead += timedelta(minutes=5)
    for steps, status in ((3, 422), (2, 422), (1, 200)):
        browser = console.browser()
        _sign_in(browser, "bo@harbor.example", "a long password of Bo")
        shown = code_of(secret, console.clock() - timedelta(seconds=30 * steps))
        assert browser.post("/login/second", code=shown).status == status, steps
    assert "6.5.5" in DOCS


# V7 sessions
def test_7_1_1_and_7_1_2_how_long_sessions_last_and_how_many_there_may_be_is_written_down() -> None:
    from memscope_admin.settings import ConsoleSettings

    chosen = ConsoleSettings()
    for said in (
        f"{chosen.idle_hours} hours",
        f"{chosen.admin_longest_hours} hours",
        f"{chosen.longest_hours // 24} days",
        "as many sessions as",
    ):
        assert said in DOCS, said


def test_7_2_1_to_7_2_3_a_session_is_a_record_found_by_a_random_secret(console: Any) -> None:
    organization = console.organization.organization.id
    held = []
    for _ in range(3):
        browser = console.as_("Bo")
        held.append(browser.client.cookies["memscope-local"])
    records = console.app.core.storage.records("admin").items(organization, "session/")
    assert len(records) == 3
    assert all(len(key.rpartition("/")[2]) == 64 for key in records), "the hash alone is kept"
    for key in records:
        console.app.core.storage.records("admin").change(organization, key, lambda _: None)
    assert "Sign in" in browser.get("/").text, "the cookie alone proves nothing"
    browser.client.cookies.set("memscope-local", held[0][:-3] + "abc", domain="localhost.local", path="/")
    assert "Sign in" in browser.get("/").text


def test_7_2_4_each_proof_begins_another_session_and_ends_the_one_before(console: Any) -> None:
    browser = console.browser()
    browser.get("/login")
    held = [dict(browser.client.cookies)]
    _sign_in(browser, "bo@harbor.example", "x")
    console.as_("Bo")
    _sign_in(browser, "bo@harbor.example", "a long password of Bo")
    held.append(dict(browser.client.cookies))
    browser.get("/again")
    browser.post("/again", password="a long password of Bo")
    held.append(dict(browser.client.cookies))
    assert len({one["memscope-local"] for one in held}) == 3
    browser.get("/login")
    _sign_in(browser, "bo@harbor.example", "a long password of Bo")
    for one in held[1:]:
        old = console.browser()
        old.client.cookies.update(one)
        assert "Sign in" in old.get("/").text


def test_7_3_1_and_7_3_2_sessions_end_when_idle_and_in_any_case(console: Any) -> None:
    idle, busy = console.as_("Bo"), console.as_("Bo")
    for _ in range(28):
        console.clock.ahead += timedelta(hours=6)
        last = busy.get("/").text
    assert "Sign in" in idle.get("/").text
    assert "Sign in" in last, "after 168 hours"


def test_7_4_1_signing_out_ends_the_session_for_good(console: Any) -> None:
    browser = console.as_("Bo")
    held = dict(browser.client.cookies)
    browser.post("/logout")
    browser.client.cookies.update(held)
    assert "Sign in" in browser.get("/").text


def test_7_4_2_a_disabled_persons_sessions_end_at_once(console: Any) -> None:
    browser, ada, person = console.as_("Bo"), console.as_("Ada"), console.organization.people["Bo"].id
    ada.get(f"/people/{person}")
    ada.post(f"/people/{person}/active", active="no")
    assert "Sign in" in browser.get("/").text
    assert not console.app.core.storage.records("admin").keys(console.organization.organization.id, f"session/{person}/")


def test_7_4_3_after_a_change_of_factors_others_can_be_ended(console: Any) -> None:
    other, browser = console.as_("Bo"), console.as_("Bo")
    _enrol(console, browser)
    page = browser.get("/me/security")
    assert "End all others" in page.text
    assert "Other sessions of yours go on" in browser.post("/me/security/codes/off").text
    browser.post("/me/security/sessions")
    assert "Sign in" in other.get("/").text


def test_7_4_4_every_page_has_the_way_out(console: Any) -> None:
    browser = console.as_("Ada")
    for path in _gets(console):
        page = browser.client.get(f"/admin{path}", follow_redirects=False)
        if page.status_code == 200 and page.text.startswith("<!doctype html"):
            assert 'action="/admin/logout"' in page.text, path


def test_7_4_5_administrators_end_anybodys_sessions(console: Any) -> None:
    browser, ada, person = console.as_("Bo"), console.as_("Ada"), console.organization.people["Bo"].id
    ada.get(f"/people/{person}")
    ada.post(f"/people/{person}/sessions")
    assert "Sign in" in browser.get("/").text
    (act,) = [act for act in _acts(console) if act.action == "console.sessions_ended"]
    assert act.detail["by"] == console.organization.people["Ada"].id


def test_7_5_1_and_7_5_3_factors_tokens_roles_and_exports_ask_for_the_proof_anew(console: Any) -> None:
    ada, person = console.as_("Ada"), console.organization.people["Bo"].id
    ada.get("/")
    console.clock.ahead += timedelta(minutes=10)
    gets = ("/me/security/codes", "/me/security/passkey", "/connections/new", f"/people/{person}/factor", "/audit/export.csv")
    for path in gets:
        assert "/admin/again?" in ada.get(path).url, path
    posts = (
        "/me/security/codes/off",
        "/me/security/recovery",
        "/me/security/sessions",
        f"/people/{person}/link",
        "/connections/new",
        "/people/new",
    )
    before = len(_rows(console))
    for path in posts:
        assert "Is it still you?" in ada.post(path, role="admin", name="X", email="x@y.example").text, path
    assert len(_rows(console)) == before


def test_7_5_2_one_sees_and_ends_ones_sessions(console: Any) -> None:
    other, browser = console.as_("Bo"), console.as_("Bo")
    page = browser.get("/me/security")
    assert page.html.count("(this one)") == 1
    (session,) = re.findall(r'name="session" value="(\w+)"', page.html)
    browser.post("/me/security/sessions", session=session)
    assert "Sign in" in other.get("/").text
    assert "Sign out" in browser.get("/").text


# V16 logs and errors
def test_16_1_1_what_is_logged_is_written_down(console: Any) -> None:
    browser = console.as_("Bo")
    _enrol(console, browser)
    browser.get("/people")
    browser.post("/logout")
    _sign_in(browser, "bo@harbor.example", "wrong")
    for action in {act.action for act in _acts(console) if act.action.startswith("console.")}:
        assert f"`{action}`" in DOCS, action


def test_16_2_1_and_16_2_2_an_entry_says_when_in_utc_where_who_and_what(console: Any) -> None:
    console.as_("Bo")
    row = _rows(console)[-1]
    assert row.at.utcoffset() == timedelta(0)
    assert row.act.action == "console.sign_in"
    assert row.act.actor == console.organization.people["Bo"].id
    assert (row.act.detail["address"], row.act.detail["method"]) == ("testclient", "password")


def test_16_2_3_to_16_2_5_and_16_4_1_no_log_holds_a_secret_or_a_forged_line(console: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    bo = console.as_("Bo")
    secret, codes = _enrol(console, bo)
    device = Authenticator("http://localhost")
    device.make(bo.client.get("/admin/me/security/passkey/options").text)
    browser = console.browser()
    _sign_in(browser, "bo@harbor.example", "a long password of Bo")
    code = code_of(secret, console.clock())
    browser.post("/login/second", code="123456")
    browser.post("/login/second", code=code)
    _sign_in(console.browser(), "x@y.example\r\nINFO console: Ada signed in", "hunter2 hunter2")
    ada = console.as_("Ada")
    ada.get("/people/new")
    ada.post("/people/new", email="n@harbor.example", name="N\nforged line", role="member")
    console.clock.away = RuntimeError("the inside")
    ada.get("/people")
    console.clock.away = None
    cookie = bo.client.cookies["memscope-local"]
    told = caplog.text + repr(_rows(console))
    for word in ("a long password of Bo", "hunter2", secret, code, cookie, "123456", *codes):
        assert word not in told, word
    assert "Ada signed in" not in told
    assert not any(line.startswith("forged line") for line in told.splitlines())


def test_16_3_1_every_try_to_sign_in_is_logged_with_why_it_failed(console: Any) -> None:
    bo = console.as_("Bo")
    secret, _ = _enrol(console, bo)
    _change(console, "Di", active=False)
    console.app.identities.passwords.set_password(console.organization.organization.id, console.organization.people["Di"].id, GOOD)
    before = len(_rows(console))
    for email, password in (("x@y.example", "x"), ("bo@harbor.example", "x"), ("di@harbor.example", GOOD)):
        _sign_in(console.browser(), email, password)
    browser = console.browser()
    _sign_in(browser, "bo@harbor.example", "a long password of Bo")
    browser.post("/login/second", code="000000")
    browser.post("/login/second", code=code_of(secret, console.clock()))
    stranger = console.browser()
    stranger.get("/login")
    stranger.post("/login/passkey", credential="{}")
    rows = _acts(console)[before:]
    failed = [act.detail["why"] for act in rows if act.action == "console.sign_in_failed"]
    assert failed == ["unknown", "password", "disabled", "second factor", "passkey"]
    assert [act.detail["method"] for act in rows if act.action == "console.sign_in"] == ["password and code"]


def test_16_3_2_a_page_that_is_not_for_somebody_is_logged_when_asked_for(console: Any) -> None:
    console.as_("Bo").get("/people")
    act = _acts(console)[-1]
    assert (act.action, act.actor, act.detail["page"]) == ("console.refused", console.organization.people["Bo"].id, "people.listed")


def test_16_3_3_and_16_3_4_attacks_and_failures_are_logged(console: Any, caplog: pytest.LogCaptureFixture) -> None:
    browser = console.as_("Ada")
    browser.post("/logout", token="wrong")
    browser.client.post("/admin/logout", headers={"Sec-Fetch-Site": "cross-site"})
    console.clock.away = RuntimeError("the inside")
    page = browser.get("/people")
    console.clock.away = None
    assert "without its token" in caplog.text
    assert "another site" in caplog.text
    number = re.search(r"under request ([\w-]+)", page.text)
    assert number is not None
    assert number[1] in caplog.text


def test_16_4_2_the_audit_log_is_a_chain_that_shows_every_change(console: Any) -> None:
    _enrol(console, console.as_("Bo"))
    previous = NO_ROW
    for row in _rows(console):
        assert row.intact
        assert row.previous == previous
        previous = row.digest
    forged = replace(_rows(console)[-1], act=replace(_rows(console)[-1].act, actor="somebody else"))
    assert not forged.intact


def test_16_4_3_every_event_can_be_sent_elsewhere_as_written_down() -> None:
    assert "memscope_event" in DOCS


@pytest.mark.parametrize("failure", [Unavailable(), RuntimeError("the inside of it")])
def test_16_5_1_to_16_5_3_a_failure_tells_nothing_and_lets_nobody_in(console: Any, failure: Exception) -> None:
    console.as_("Bo")
    browser = console.browser()
    browser.get("/login")
    console.clock.away = failure
    page = browser.post("/login", email="bo@harbor.example", password="a long password of Bo")
    assert page.status in (500, 503)
    assert "inside" not in page.html
    assert "Traceback" not in page.html
    console.clock.away = None
    assert "Sign in" in browser.get("/memories").text
    assert "Sign out" in _sign_in(browser, "bo@harbor.example", "a long password of Bo").text


def _enrol(console: Any, browser: Any) -> tuple[str, list[str]]:
    """Turn one-time codes on; the secret and the recovery codes."""
    page = browser.get("/me/security/codes")
    secret = re.search(r'data-t="totp-secret">([A-Z2-7]+)<', page.html)
    sealed = re.search(r'name="sealed" value="([^"]+)"', page.html)
    assert secret is not None
    assert sealed is not None
    page = browser.post("/me/security/codes", sealed=sealed[1], code=code_of(secret[1], console.clock()))
    console.clock.ahead += timedelta(seconds=30)
    return secret[1], re.findall(r"[A-Z2-7]{4}(?:-[A-Z2-7]{4}){3}", page.html)
