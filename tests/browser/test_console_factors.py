"""Signing in as a person does it: password, passkey, one-time code, recovery code; and out again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from memscope.testing.authenticator import code_of

PASSWORD = "a long password of {}"


@dataclass
class Visit:
    """A page at `http://localhost`: passkeys are bound to a name, and an address is none."""

    page: Page
    base: str
    complaints: list[str]

    def go(self, path: str) -> None:
        """Open an address below /admin."""
        self.page.goto(f"{self.base}/admin{path}")

    def sign_in(self, email: str, password: str) -> None:
        """Fill in the form that is open."""
        self.page.get_by_label("E-mail address").fill(email)
        self.page.get_by_label("Password").fill(password)
        self.page.get_by_role("button", name="Sign in", exact=True).click()

    def cookie(self) -> str:
        """The session's."""
        return next(one["value"] for one in self.page.context.cookies() if one["name"] == "memscope-local")


@pytest.fixture
def visit(site: Any) -> Iterator[Any]:
    """Opens pages of separate browser profiles for Bo, who has a password."""
    base, complaints = site.url.replace("127.0.0.1", "localhost"), []
    for name in ("Ada", "Bo"):
        person = site.organization.people[name]
        site.app.identities.passwords.set_password(site.organization.organization.id, person.id, PASSWORD.format(name))

    def opened() -> Visit:
        page = site.browser.new_context().new_page()
        # That an answer is refused is a console message of the browser's own.
        page.on("console", lambda said: complaints.append(said.text) if said.type == "error" and "status of 4" not in said.text else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        return Visit(page, base, complaints)

    yield opened
    assert complaints == []


def _authenticator(page: Page) -> Any:
    """A virtual authenticator of the device, whose owner is there and says yes once told to."""
    devtools = page.context.new_cdp_session(page)
    devtools.send("WebAuthn.enable")
    made = devtools.send(
        "WebAuthn.addVirtualAuthenticator",
        {
            "options": {
                "protocol": "ctap2",
                "transport": "internal",
                "hasResidentKey": True,
                "hasUserVerification": True,
                "isUserVerified": True,
                "automaticPresenceSimulation": False,
            }
        },
    )

    def present(yes: bool) -> None:
        devtools.send("WebAuthn.setAutomaticPresenceSimulation", {"authenticatorId": made["authenticatorId"], "enabled": yes})

    return present


def test_signing_in_by_password_then_by_passkey_and_out(visit: Any) -> None:
    bo = visit()
    page, present = bo.page, _authenticator(bo.page)
    # A browser that does not offer passkeys by itself: the button does.
    page.add_init_script("PublicKeyCredential.isConditionalMediationAvailable = async () => false")
    bo.go("/login")
    before = bo.cookie()
    bo.sign_in("bo@harbor.example", PASSWORD.format("Bo"))
    page.get_by_role("heading", name="Overview").wait_for()
    assert bo.cookie() != before

    bo.go("/me/security")
    page.get_by_role("link", name="Add a passkey").click()
    page.get_by_label("Name of the passkey").fill("This laptop")
    present(True)
    page.get_by_role("button", name="Make the passkey").click()
    assert len(page.locator("[data-t=recovery-codes]").inner_text().split()) == 10
    page.get_by_role("link", name="I have kept them").click()
    expect(page.get_by_text("This laptop", exact=True).first).to_be_visible()
    present(False)
    page.get_by_role("button", name="Sign out").click()
    page.get_by_role("heading", name="Sign in").wait_for()
    page.go_back()
    page.get_by_role("heading", name="Sign in").wait_for()

    bo.go("/memories?filter=mine")
    before = bo.cookie()
    page.get_by_role("button", name="Sign in with a passkey").wait_for()
    present(True)
    page.get_by_role("button", name="Sign in with a passkey").click()
    page.wait_for_url("**/admin/memories?filter=mine")
    assert bo.cookie() != before
    present(False)
    page.get_by_role("button", name="Sign out").click()
    page.get_by_role("heading", name="Sign in").wait_for()

    page.goto(f"{bo.base}/admin/login?next=//evil.example")
    present(True)
    page.get_by_role("button", name="Sign in with a passkey").click()
    page.get_by_role("heading", name="Overview").wait_for()
    assert page.url == f"{bo.base}/admin/"


def test_the_address_field_offers_the_passkey(visit: Any) -> None:
    bo = visit()
    page, present = bo.page, _authenticator(bo.page)
    bo.go("/login")
    bo.sign_in("bo@harbor.example", PASSWORD.format("Bo"))
    bo.go("/me/security/passkey")
    present(True)
    page.get_by_role("button", name="Make the passkey").click()
    page.get_by_role("link", name="I have kept them").click()
    page.get_by_role("button", name="Sign out").click()
    # Asked for at once, and answered by whoever is there: nothing is clicked.
    page.get_by_role("heading", name="Overview").wait_for()


def test_wrong_passwords_tell_nothing_and_cost_time(visit: Any) -> None:
    stranger = visit()
    stranger.go("/login")
    texts = set()
    for email in ("nobody@harbor.example", "bo@harbor.example"):
        stranger.sign_in(email, "wrong")
        texts.add(stranger.page.locator("[data-t=error-summary]").inner_text())
    assert len(texts) == 1
    for _ in range(4):
        stranger.sign_in("bo@harbor.example", "wrong")
        stranger.page.locator("[data-t=error-summary]").wait_for()
    with stranger.page.expect_response("**/admin/login*") as answer:
        stranger.sign_in("bo@harbor.example", PASSWORD.format("Bo"))
    assert answer.value.status == 429
    expect(stranger.page.locator("[data-t=error-summary]")).to_contain_text("Wait 1 second")


def test_an_administrator_sets_one_time_codes_up_and_signs_in_with_them(visit: Any) -> None:
    ada = visit()
    page = ada.page
    ada.go("/login")
    ada.sign_in("ada@harbor.example", PASSWORD.format("Ada"))
    page.locator("[data-t=second-factor-due]").get_by_role("link", name="Set it up").click()
    page.get_by_role("link", name="Turn one-time codes on").click()
    expect(page.get_by_role("img", name="QR code")).to_be_visible()
    secret = page.locator("[data-t=totp-secret]").inner_text()
    page.get_by_label("Code that the app shows").fill("000000")
    page.get_by_role("button", name="Turn them on").click()
    page.locator("[data-t=error-summary]").wait_for()
    assert page.locator("[data-t=totp-secret]").inner_text() == secret
    # The code of the step before is good too, so that the next one is left for signing in.
    page.get_by_label("Code that the app shows").fill(code_of(secret, datetime.now(UTC) - timedelta(seconds=30)))
    page.get_by_role("button", name="Turn them on").click()
    codes = page.locator("[data-t=recovery-codes]").inner_text().split()
    page.get_by_role("link", name="I have kept them").click()
    page.get_by_role("heading", name="Overview").wait_for()
    expect(page.locator("[data-t=second-factor-due]")).to_have_count(0)

    page.get_by_role("button", name="Sign out").click()
    ada.sign_in("ada@harbor.example", PASSWORD.format("Ada"))
    before = ada.cookie()
    page.get_by_label("One-time code").fill(code_of(secret, datetime.now(UTC)))
    page.get_by_role("button", name="Go on").click()
    page.get_by_role("heading", name="Overview").wait_for()
    assert ada.cookie() != before

    other = visit()
    other.go("/login?next=/me/security")
    other.sign_in("ada@harbor.example", PASSWORD.format("Ada"))
    other.page.get_by_text("I cannot use my app").click()
    other.page.get_by_label("Recovery code").fill(codes[0].lower())
    other.page.get_by_role("button", name="Use it").click()
    other.page.get_by_role("heading", name="Security").wait_for()
    expect(other.page.get_by_text("9 codes left")).to_be_visible()
    other.page.get_by_role("button", name="End all others").click()
    other.page.get_by_role("status").get_by_text("1 session ended.").wait_for()
    ada.go("/people")
    page.get_by_role("heading", name="Sign in").wait_for()
