"""Second factors in the console: signing in with them, setting them up, losing them, proving anew who one is."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from memscope.contracts.storage import Operator
from memscope.organizations.invitations import invite
from memscope.serving.asgi import build
from memscope.testing.authenticator import Authenticator, code_of
from memscope.testing.builders import harbor


@pytest.fixture
def configured(tmp_path: Path, request: Any) -> Iterator[Any]:
    """Harbor with settings of its own: `{"MEMSCOPE_CONSOLE_…": …}` as the parameter."""
    kit = request.getfixturevalue("console_kit")
    app, clock = kit.open_console(tmp_path / "own", **request.param)
    organization = harbor()
    organization.store(app.core.storage)
    console = kit.Console(app, clock, organization, build(app))
    yield console
    for client in console.clients:
        client.close()
    app.close()


def _ids(console: Any, name: str) -> tuple[str, str]:
    return console.organization.organization.id, console.organization.people[name].id


def _secret(page: Any) -> tuple[str, str]:
    """The secret and the sealed enrolment of the page that turns one-time codes on."""
    secret = re.search(r'data-t="totp-secret">([A-Z2-7]+)<', page.html)
    sealed = re.search(r'name="sealed" value="([^"]+)"', page.html)
    assert secret is not None
    assert sealed is not None
    return secret[1], sealed[1]


def _enrol(console: Any, browser: Any) -> tuple[str, list[str]]:
    """Turn one-time codes on; the secret and the recovery codes."""
    secret, sealed = _secret(browser.get("/me/security/codes"))
    page = browser.post("/me/security/codes", sealed=sealed, code=code_of(secret, console.clock()))
    assert page.status == 200, page.text
    console.clock.ahead += timedelta(seconds=30)
    return secret, re.findall(r"[A-Z2-7]{4}(?:-[A-Z2-7]{4}){3}", page.html)


def _add_passkey(browser: Any, name: str = "Telephone", origin: str = "http://localhost") -> Authenticator:
    device = Authenticator(origin)
    options = browser.client.get("/admin/me/security/passkey/options").text
    page = browser.get("/me/security/passkey")
    page = browser.post("/me/security/passkey", credential=device.make(options), name=name)
    assert page.status == 200, page.text
    return device


def _password(console: Any, name: str, browser: Any, **query: str) -> Any:
    browser.get("/login", **query)
    return browser.post(
        "/login?" + "&".join(f"{key}={value}" for key, value in query.items()),
        email=console.organization.people[name].email,
        password=f"a long password of {name}",
    )


def _rows(console: Any) -> list[Any]:
    with console.app.core.storage.begin(Operator("look", console.organization.organization.id)) as transaction:
        return [row.act for row in transaction.audit_rows(0, 1000)]


# signing in
def test_after_the_password_comes_the_code_and_only_then_a_session(console: Any) -> None:
    secret, codes = _enrol(console, console.as_("Bo"))
    assert len(set(codes)) == 10
    browser = console.browser()
    page = _password(console, "Bo", browser, next="/memories")
    assert page.url.endswith("/admin/login/second?next=/memories")
    assert "Sign out" not in page.text
    assert "Sign in" in browser.get("/memories").text, "a password alone opens nothing"
    half = dict(browser.client.cookies)
    page = browser.post("/login/second?next=/memories", code=code_of(secret, console.clock()))
    assert page.url.endswith("/admin/memories")
    assert browser.client.cookies["memscope-local"] != half["memscope-local"]
    assert _rows(console)[-1].detail["method"] == "password and code"
    assert "with password and code" in browser.get("/me/security").text


def test_a_code_works_once_and_a_recovery_code_too(console: Any) -> None:
    secret, codes = _enrol(console, console.as_("Bo"))
    now = code_of(secret, console.clock())
    first, second, third = console.browser(), console.browser(), console.browser()
    for browser in (first, second, third):
        _password(console, "Bo", browser)
    assert "Sign out" in first.post("/login/second", code=now).text
    page = second.post("/login/second", code=now)
    assert page.status == 422
    assert "wrong or was used before" in page.element("error-summary")
    assert "Sign out" in second.post("/login/second", recovery=codes[0].lower().replace("-", " ")).text
    assert third.post("/login/second", recovery=codes[0]).status == 422
    assert third.post("/login/second", code="").status == 422
    assert "9 codes left" in second.get("/me/security").text
    assert "A recovery code was used; 9 are left." in second.get("/me/security").text
    assert "console.recovery_code_used" in console.audit()
    assert not any(code in repr(_rows(console)) for code in (now, secret, *codes))


def test_guessing_codes_is_slowed_down(console: Any) -> None:
    secret, codes = _enrol(console, console.as_("Bo"))
    browser = console.browser()
    _password(console, "Bo", browser)
    for _ in range(5):
        assert browser.post("/login/second", code="000000").status == 422
    page = browser.post("/login/second", code=code_of(secret, console.clock()))
    assert page.status == 429
    assert "Wait 1 second" in page.text
    assert browser.post("/login/second", recovery=codes[0]).status == 429, "recovery codes are no way round"
    console.clock.ahead += timedelta(seconds=30)
    assert "Sign out" in browser.post("/login/second", code=code_of(secret, console.clock())).text


def test_the_second_proof_has_ten_minutes_and_an_active_person(console: Any) -> None:
    from dataclasses import replace

    from memscope.model.audit import Act

    secret, _ = _enrol(console, console.as_("Bo"))
    late, disabled = console.browser(), console.browser()
    _password(console, "Bo", late)
    console.clock.ahead += timedelta(minutes=10)
    assert "Sign in again" in late.post("/login/second", code=code_of(secret, console.clock())).text
    _password(console, "Bo", disabled)
    with console.app.core.storage.begin(console.organization.operator, Act("person.disable")) as transaction:
        transaction.write_person(replace(console.organization.people["Bo"], active=False))
    assert "Sign out" not in disabled.post("/login/second", code=code_of(secret, console.clock())).text
    assert console.browser().get("/login/second").url.endswith("/admin/login")


def test_a_passkey_signs_in_alone_as_whoever_it_is(console: Any) -> None:
    device = _add_passkey(console.as_("Bo"))
    browser = console.browser()
    browser.get("/login")
    answer = device.answer(browser.client.get("/admin/login/passkey").text)
    page = browser.post("/login/passkey?next=/memories", credential=answer)
    assert page.url.endswith("/admin/memories")
    assert "Bo" in page.text
    assert _rows(console)[-1].detail["method"] == "passkey"
    again = console.browser()
    again.get("/login")
    again.client.get("/admin/login/passkey")
    assert "not accepted" in again.post("/login/passkey", credential=answer).element("toast"), "answers of other browsers are of no use"


@pytest.mark.parametrize("spoilt", ["verified", "origin", "count", "nonsense", "empty", "challenge"])
def test_a_passkey_that_is_not_all_right_lets_nobody_in(console: Any, spoilt: str) -> None:
    device = _add_passkey(console.as_("Bo"))
    browser = console.browser()
    browser.get("/login")
    options = browser.client.get("/admin/login/passkey").text
    if spoilt == "verified":
        device.verified = False
    elif spoilt == "origin":
        device.origin = "http://localhost:8080"
    elif spoilt == "count":
        assert "Sign out" in browser.post("/login/passkey", credential=device.answer(options)).text
        browser = console.browser()
        browser.get("/login")
        options, device.count = browser.client.get("/admin/login/passkey").text, 0
    elif spoilt == "challenge":
        console.clock.ahead += timedelta(minutes=5)
    answer = {"nonsense": "{}", "empty": ""}.get(spoilt) if spoilt in ("nonsense", "empty") else device.answer(options)
    page = browser.post("/login/passkey", credential=answer)
    assert "not accepted" in page.element("toast")
    assert "Sign out" not in page.text
    assert _rows(console)[-1].action == "console.sign_in_failed"


def test_with_a_passkey_alone_the_password_asks_for_it_or_a_recovery_code(console: Any) -> None:
    bo = console.as_("Bo")
    device = _add_passkey(bo)
    browser = console.browser()
    page = _password(console, "Bo", browser)
    assert "Use a passkey" in page.text
    assert "One-time code" not in page.text
    page = browser.post("/login/passkey", credential=device.answer(browser.client.get("/admin/login/passkey").text))
    assert "Sign out" in page.text
    assert _rows(console)[-1].detail["method"] == "password and passkey"
    other = _add_passkey(console.as_("Di"))
    browser = console.browser()
    _password(console, "Bo", browser)
    page = browser.post("/login/passkey", credential=other.answer(browser.client.get("/admin/login/passkey").text))
    assert "Sign out" not in page.text, "one begun as Bo is not ended as Di"


def test_a_disabled_persons_passkey_is_refused(console: Any) -> None:
    from dataclasses import replace

    from memscope.model.audit import Act

    device = _add_passkey(console.as_("Bo"))
    with console.app.core.storage.begin(console.organization.operator, Act("person.disable")) as transaction:
        transaction.write_person(replace(console.organization.people["Bo"], active=False))
    browser = console.browser()
    browser.get("/login")
    page = browser.post("/login/passkey", credential=device.answer(browser.client.get("/admin/login/passkey").text))
    assert "not accepted" in page.element("toast")


def test_a_reset_link_does_not_go_round_the_second_factor(console: Any) -> None:
    from memscope.model.organization import ConnectionKind
    from memscope.model.principal import Principal
    from memscope.organizations.signing_in import console_connection

    before = console.as_("Bo")
    secret, _ = _enrol(console, before)
    organization, ada = _ids(console, "Ada")
    connection = console_connection(console.app.core, organization, ada)
    principal = Principal(organization, ada, connection.id, ConnectionKind.CONSOLE, "console")
    token = invite(console.app.core, principal, console.organization.people["Bo"].id, 1)
    browser = console.browser()
    browser.get(f"/welcome/{token}")
    page = browser.post("/welcome", password="an entirely new word")
    assert page.url.split("?")[0].endswith("/admin/login/second")
    assert "Sign in" in browser.get("/memories").text
    assert "Sign in" in before.get("/").text, "whoever was in is out"
    _password(console, "Bo", browser)
    browser.get("/login")
    browser.post("/login", email="bo@harbor.example", password="an entirely new word")
    assert "Sign out" in browser.post("/login/second", code=code_of(secret, console.clock())).text
    assert "set by a one-time link" in browser.get("/me/security").text


def test_a_reset_link_lasts_an_hour_and_an_invitation_three_days(console: Any) -> None:
    ada, bo = console.as_("Ada"), console.organization.people["Bo"].id
    ada.get(f"/people/{bo}")
    page = ada.post(f"/people/{bo}/link")
    assert "within 72 hours" in page.text
    console.as_("Bo")
    page = ada.post(f"/people/{bo}/link")
    assert "within 1 hour" in page.text
    link = page.element("token-once").split()[0].split("/admin", 1)[1]
    console.clock.ahead += timedelta(hours=1)
    assert console.browser().get(link).status == 410


# setting up
def test_the_secret_is_shown_as_picture_and_text_and_wrong_codes_change_nothing(console: Any) -> None:
    browser = console.as_("Bo")
    page = browser.get("/me/security/codes")
    assert "<svg" in page.html
    assert "style=" not in page.html
    secret, sealed = _secret(page)
    page = browser.post("/me/security/codes", sealed=sealed, code="123")
    assert page.status == 422
    assert _secret(page)[0] == secret, "the same secret as before"
    assert "Off." in browser.get("/me/security").text
    console.clock.ahead += timedelta(minutes=9, seconds=59)
    page = browser.post("/me/security/codes", sealed="nonsense", code="123456")
    assert "That took too long" in page.text
    assert "console.enrolment_failed" in console.audit()


def test_every_change_of_a_factor_is_audited_and_told_to_the_person(console: Any) -> None:
    browser = console.as_("Bo")
    _enrol(console, browser)
    _add_passkey(browser, "Telephone")
    page = browser.get("/me/security")
    (passkey,) = re.findall(r"/me/security/passkey/([^/]+)/remove", page.html)
    browser.post(f"/me/security/passkey/{passkey}/name", name="Old telephone")
    assert "Old telephone" in browser.get("/me/security").text
    assert "needs a name" in browser.post(f"/me/security/passkey/{passkey}/name", name=" ").text
    page = browser.post("/me/security/recovery")
    assert len(set(re.findall(r"[A-Z2-7]{4}(?:-[A-Z2-7]{4}){3}", page.html))) == 10
    browser.post(f"/me/security/passkey/{passkey}/remove")
    assert "removed before" in browser.post(f"/me/security/passkey/{passkey}/remove").text
    page = browser.post("/me/security/codes/off")
    for told in (
        "One-time codes were turned on.",
        "The passkey Telephone was added.",
        "Recovery codes were made anew",
        "The passkey Old telephone was removed.",
        "One-time codes were turned off.",
    ):
        assert told in page.text
    actions = [act.action for act in _rows(console)]
    assert actions.count("console.factor_enrolled") == actions.count("console.factor_removed") == 2
    assert "console.recovery_codes_made" in actions
    assert "set one up first" in browser.post("/me/security/recovery").text


def test_passkeys_are_offered_only_where_they_work(console: Any) -> None:
    from starlette.testclient import TestClient

    assert "data-passkey" in console.browser().get("/login").html
    client = TestClient(console.asgi, base_url="http://127.0.0.1:8080")
    console.clients.append(client)
    assert "data-passkey" not in client.get("/admin/login").text
    assert client.get("/admin/login/passkey").status_code == 404


# who needs one
def test_an_administrator_may_do_without_for_a_week_and_is_told_so(console: Any) -> None:
    ada = console.as_("Ada")
    assert "needs a second factor by" in ada.get("/").element("second-factor-due")
    assert "second-factor-due" not in console.as_("Bo").get("/").html
    console.clock.ahead += timedelta(days=7)
    ada = console.as_("Ada")
    for path in ("/", "/people", "/memories", "/me", "/connections/new"):
        assert ada.get(path).url.endswith("/me/security/enrol"), path
    assert "before you can go on" in ada.get("/").text
    assert ada.post("/people/new", email="x@harbor.example", name="X", role="admin").url.endswith("/me/security/enrol")
    _enrol(console, ada)
    assert "Overview" in ada.get("/").text
    assert "second-factor-due" not in ada.get("/").html


def test_the_week_is_given_once(console: Any) -> None:
    ada = console.as_("Ada")
    _enrol(console, ada)
    ada.post("/me/security/codes/off")
    assert ada.get("/people").url.endswith("/me/security/enrol")
    ada.post("/logout")
    assert console.as_("Ada").get("/people").url.endswith("/me/security/enrol")


@pytest.mark.parametrize(
    ("configured", "led"),
    [
        ({"MEMSCOPE_CONSOLE_SECOND_FACTOR": "all", "MEMSCOPE_CONSOLE_SECOND_FACTOR_GRACE_DAYS": "0"}, {"Ada", "Bo"}),
        ({"MEMSCOPE_CONSOLE_SECOND_FACTOR_GRACE_DAYS": "0"}, {"Ada"}),
        ({"MEMSCOPE_CONSOLE_SECOND_FACTOR": "nobody"}, set()),
    ],
    indirect=["configured"],
)
def test_the_organization_chooses_who_needs_one(configured: Any, led: set[str]) -> None:
    found = {name for name in ("Ada", "Bo") if configured.as_(name).get("/memories").url.endswith("/me/security/enrol")}
    assert found == led


def test_a_setting_that_means_nothing_is_refused() -> None:
    from memscope_admin.settings import ConsoleSettings

    for wrong in ({"second_factor": "some"}, {"second_factor_grace_days": -1}, {"trusted_proxies": -1}):
        with pytest.raises(ValueError, match="second_factor|trusted_proxies"):
            ConsoleSettings(**wrong)


def test_an_administrator_takes_a_lost_factor_away_with_a_reason(console: Any) -> None:
    bo, ada = console.as_("Bo"), console.as_("Ada")
    _enrol(console, bo)
    person = console.organization.people["Bo"].id
    assert "one-time codes" in ada.get(f"/people/{person}").text
    assert "sessions end" in ada.get(f"/people/{person}/factor").element("consequence")
    assert ada.post(f"/people/{person}/factor", reason=" ").status == 422
    assert ada.post(f"/people/{person}/factor", reason="x" * 201).status == 422
    page = ada.post(f"/people/{person}/factor", reason="Lost the telephone")
    assert "password alone" in page.element("toast")
    assert "Sign in" in bo.get("/").text
    (row,) = [act for act in _rows(console) if act.action == "person.remove_second_factor"]
    assert (row.actor, row.target, row.detail["reason"]) == (_ids(console, "Ada")[1], person, "Lost the telephone")
    assert "Sign out" in _password(console, "Bo", bo).text
    assert "Ada took your second factor away: Lost the telephone" in bo.get("/me/security").text
    assert "no second factor" in ada.post(f"/people/{person}/factor", reason="again").element("toast")
    mine = console.organization.people["Ada"].id
    assert "under You" in ada.post(f"/people/{mine}/factor", reason="mine").element("toast")


# proving anew who one is
def test_what_is_grave_asks_anew_after_ten_minutes_and_leads_back(console: Any) -> None:
    ada = console.as_("Ada")
    person = console.organization.people["Bo"].id
    assert ada.get("/connections/new").status == 200
    console.clock.ahead += timedelta(minutes=10)
    for path in ("/connections/new", "/audit/export.csv", "/me/security/codes", "/me/security/passkey", f"/people/{person}/factor"):
        assert "/admin/again?next=" in ada.get(path).url, path
    before = dict(ada.client.cookies)
    page = ada.get("/connections/new")
    assert ada.post("/again?next=/connections/new", password="wrong").status == 422
    page = ada.post("/again?next=/connections/new", password="a long password of Ada")
    assert page.url.endswith("/admin/connections/new")
    after = dict(ada.client.cookies)
    assert before["memscope-local"] != after["memscope-local"]
    old = console.browser()
    old.client.cookies.update(before)
    assert "Sign in" in old.get("/people").text, "the id of before is of no use"
    assert "console.authenticated_again" in console.audit()
    assert "console.authentication_failed" in console.audit()
    assert ada.post("/again?next=//evil.example", password="a long password of Ada", follow=False).headers["location"] == "/admin/"


def test_what_was_typed_is_kept_over_the_question(console: Any) -> None:
    ada, bo = console.as_("Ada"), console.as_("Bo")
    _enrol(console, bo)
    path = f"/people/{console.organization.people['Bo'].id}/factor"
    ada.get(path)
    console.clock.ahead += timedelta(minutes=10)
    fields = {"reason": 'Lost "the telephone" <here>', "more": "as it was"}
    page = ada.post(path, password="not kept", **fields)
    assert "Is it still you?" in page.text
    assert "What you typed is kept" in page.text
    kept = re.search(r'name="kept" value="([^"]+)"', page.html)
    assert kept is not None
    page = ada.post("/again", kept=kept[1], password="wrong")
    assert page.status == 422
    assert kept[1] in page.html
    page = ada.post("/again", kept=kept[1], password="a long password of Ada")
    assert "Nothing was changed yet" in page.text
    assert "Sign out" in bo.get("/").text
    form = page.html.split("<main", 1)[1]
    again = {name: html.unescape(value) for name, value in re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', form)}
    assert again.pop("csrf_token")
    assert again == fields
    action = re.search(r'<form method="post" action="/admin([^"]+)"', form)
    assert action is not None
    assert "password alone" in ada.post(action[1], **again).element("toast")
    assert "Sign in" in bo.get("/").text


def test_a_kept_form_is_its_owners_alone(console: Any) -> None:
    ada, bo = console.as_("Ada"), console.as_("Bo")
    console.clock.ahead += timedelta(minutes=10)
    ada.get("/connections")
    page = ada.post("/connections/new", client="claude-code", days="30")
    kept = re.search(r'name="kept" value="([^"]+)"', page.html)
    assert kept is not None
    bo.get("/again")
    assert "Nothing was changed yet" not in bo.post("/again", kept=kept[1], password="a long password of Bo").text


def test_with_a_second_factor_the_proof_anew_needs_it_too(console: Any) -> None:
    bo = console.as_("Bo")
    secret, codes = _enrol(console, bo)
    device = _add_passkey(bo)
    console.clock.ahead += timedelta(minutes=10)
    bo.get("/again")
    assert bo.post("/again", password="a long password of Bo").status == 422
    assert bo.post("/again", password="a long password of Bo", code="000000").status == 422
    assert bo.post("/again", password="wrong", code=code_of(secret, console.clock())).status == 422
    assert bo.post("/again", password="a long password of Bo", code=code_of(secret, console.clock())).url.endswith("/admin/")
    console.clock.ahead += timedelta(minutes=10)
    bo.get("/again")
    assert bo.post("/again", password="a long password of Bo", code=codes[3]).url.endswith("/admin/")
    console.clock.ahead += timedelta(minutes=10)
    bo.get("/again")
    stranger = _add_passkey(console.as_("Di"))
    options = bo.client.get("/admin/login/passkey").text
    assert bo.post("/again", credential=stranger.answer(options)).status == 422
    options = bo.client.get("/admin/login/passkey").text
    assert json.loads(options)["userVerification"] == "required"
    assert bo.post("/again", credential=device.answer(options)).url.endswith("/admin/")


# what holds guessers up
def test_a_known_device_gets_in_while_strangers_fail_on_purpose(console: Any) -> None:
    known = console.as_("Bo")
    known.post("/logout")
    for _ in range(4):
        stranger = console.browser()
        stranger.get("/login")
        for number in range(25):
            page = stranger.post("/login", email="bo@harbor.example", password=f"wrong {number}")
            if page.status == 429:
                console.clock.ahead += timedelta(seconds=901)
    stranger.post("/login", email="bo@harbor.example", password="a long password of Bo")
    assert "Sign out" in _password(console, "Bo", known).text, "its own cookie says who it is"


def test_a_hundred_failures_a_day_close_an_account_to_unknown_devices(console: Any) -> None:
    from memscope_admin.throttle import Throttle

    organization, person = _ids(console, "Bo")
    for number in range(100):
        assert Throttle(console.app.core, organization, "bo@harbor.example", f"10.0.0.{number}").enter() == 0
    assert Throttle(console.app.core, organization, "Bo@harbor.example ", "10.0.1.1").enter() > 80_000
    assert Throttle(console.app.core, organization, "bo@harbor.example", "10.0.1.1", "a device").enter() == 0
    assert Throttle(console.app.core, organization, "di@harbor.example", "10.0.1.1").enter() == 0
    console.clock.ahead += timedelta(days=1)
    throttle = Throttle(console.app.core, organization, "bo@harbor.example", "10.0.1.1")
    assert throttle.enter() == 0
    throttle.prune()
    assert len(console.app.core.storage.records("admin").keys(organization, "throttle/")) <= 4


def test_waits_grow_to_a_quarter_of_an_hour(console: Any) -> None:
    from memscope_admin.throttle import Throttle

    def attempt() -> int:
        return Throttle(console.app.core, _ids(console, "Bo")[0], "bo", "10.0.0.1").enter()

    assert [attempt() for _ in range(4)] == [0] * 4
    waits = []
    for _ in range(12):
        assert attempt() == 0
        waits.append(attempt())
        console.clock.ahead += timedelta(seconds=waits[-1])
    assert waits == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900]


@pytest.mark.parametrize(
    ("configured", "seen"), [({}, "testclient"), ({"MEMSCOPE_CONSOLE_TRUSTED_PROXIES": "1"}, "203.0.113.9")], indirect=["configured"]
)
def test_only_trusted_hops_say_where_a_request_comes_from(configured: Any, seen: str) -> None:
    browser = configured.browser()
    browser.client.headers["X-Forwarded-For"] = "198.51.100.1, 203.0.113.9"
    browser.get("/login")
    browser.post("/login", email="nobody@harbor.example", password="wrong")
    assert _rows(configured)[-1].detail["address"] == seen


def test_the_device_cookie_tells_nothing_and_cannot_be_forged(console: Any) -> None:
    bo = console.as_("Bo")
    cookie = bo.client.cookies["memscope-local-device"]
    assert console.organization.people["Bo"].id not in cookie
    bo.client.cookies.set("memscope-local-device", cookie[:-2] + "xx", domain="localhost.local", path="/")
    assert bo.get("/").status == 200
    bo.post("/logout")
    assert "Sign out" in _password(console, "Bo", bo).text


def test_where_there_are_several_organizations_one_names_ones_own(console: Any) -> None:
    from memscope.model.audit import Act
    from memscope.model.ids import new_id
    from memscope.model.organization import Organization

    console.as_("Bo")
    with console.app.core.storage.begin(Operator("apply", None), Act("organization.create")) as transaction:
        transaction.write_organization(Organization(new_id(), "quay", "Quay"))
    browser = console.browser()
    assert "Its short name." in browser.get("/login").text
    proof = {"email": "bo@harbor.example", "password": "a long password of Bo"}
    texts = {browser.post("/login", organization=slug, **proof).element("error-summary") for slug in ("quay", "nowhere", "")}
    assert len(texts) == 1
    assert "Sign out" in browser.post("/login", organization=" Harbor ", **proof).text


def test_another_spelling_is_no_new_account(console: Any) -> None:
    console.as_("Bo")
    browser = console.browser()
    browser.get("/login")
    statuses = [
        browser.post("/login", organization=f"org{number}", email=f" Bo@Harbor.example{' ' * number}", password="wrong").status
        for number in range(6)
    ]
    assert statuses == [422] * 5 + [429]
