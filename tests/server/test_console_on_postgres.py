"""The console on the storage that is served: one errand over everything that writes."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

from memscope_admin.factory import create_app

from memscope.organizations.invitations import invited
from memscope.organizations.setting_up import LinkSpent, link_organization, make_link

PASSWORD = "a quiet harbour at six"


class _Browser:
    """Flask's own client with the token of the form last seen."""

    def __init__(self, app: Any) -> None:
        self.client = app.test_client()
        self.token = ""

    def open(self, method: str, path: str, **fields: Any) -> str:
        data = {"csrf_token": self.token, **fields} if method == "POST" else None
        response = self.client.open(path, method=method, data=data, follow_redirects=True, base_url="http://localhost")
        assert response.status_code == 200, (path, response.status_code, response.text)
        found = re.findall(r'name="csrf_token"[^>]* value="([^"]+)"', response.text)
        self.token = found[0] if found else self.token
        return unescape(re.sub(r"<[^>]+>", " ", response.text))

    def get(self, path: str) -> str:
        return self.open("GET", path)

    def post(self, path: str, **fields: Any) -> str:
        return self.open("POST", path, **fields)


def test_an_administrator_sets_up_reviews_and_manages(office: Any) -> None:
    core = office.live.app.core
    organization = office.organization.id
    browser = _Browser(create_app(office.live.app))
    link = make_link(core, organization, recover=True)
    browser.get(f"/setup/{link}")
    browser.post("/setup/account", name="Ada", email="ada@example.com", password=PASSWORD)
    try:
        link_organization(core, link)
        raise AssertionError("the link works twice")
    except LinkSpent:
        pass
    browser.post("/logout")
    browser.get("/login")
    assert "Overview" in browser.post("/login", organization=office.organization.slug, email="ADA@example.com", password=PASSWORD)

    memory = office.as_("ben").remember("The quarterly forecast is bleak", scope="organization")
    assert "quarterly forecast" in browser.get("/review")
    assert "Approved" in browser.post(f"/review/{memory['number']}", action="approve", version=str(memory["version"]))
    assert "waits again" in browser.post("/review/undo")
    assert "Approved" in browser.post(f"/review/{memory['number']}", action="approve", version=str(memory["version"] + 2))
    assert office.as_("ben").found("quarterly forecast") == ["The quarterly forecast is bleak"]

    assert "Nobody gains reading" in browser.get(f"/memories/{memory['number']}/forget")
    assert "in the trash" in browser.post(f"/memories/{memory['number']}/forget", version=str(memory["version"] + 3))
    assert "Restored" in browser.post(f"/memories/{memory['number']}/restore")

    page = browser.get("/people/new")
    page = browser.post("/people/new", email="ida@example.com", name="Ida", role="member", clearance="restricted")
    token = re.search(r"/welcome/(\S+)", page)
    assert token is not None
    assert invited(core, token[1])[1].name == "Ida"
    ida = core.rosters.current(organization).find_person("ida@example.com").id
    group = office.groups["people-ops"].id
    assert "Ida is owner of People Operations" in browser.post(f"/groups/{group}/members", person=ida, role="owner")
    assert "Ida is disabled" in browser.post(f"/people/{ida}/active", active="no")

    browser.get("/topics/finance")
    fields = {"key": "finance", "name": "Finance", "aliases": "", "description": "", "sensitivity": "restricted"}
    assert "Saved" in browser.post("/topics/finance", **fields, phrases="quarterly forecast", teams=office.groups["platform"].id)
    browser.get("/connections/new")
    assert "may now act for you" in browser.post("/connections/new", client="codex", days="30")
    browser.get("/me")
    assert "Saved" in browser.post("/me/preferences", theme="dark", keys="y")

    log = browser.get("/audit")
    for action in ("review.undo", "person.disable", "topic.change", "token.create", "console.sign_in", "setup.completed"):
        assert action in log
    assert "Sign in" in browser.post("/logout")


def test_the_address_of_one_organization_opens_no_other(office: Any, other_office: Any) -> None:
    app = create_app(office.live.app)
    passwords = office.live.app.identities.passwords
    passwords.set_password(office.organization.id, office.people["ben"].id, PASSWORD)
    browser = _Browser(app)
    browser.get("/login")
    response = browser.client.post(
        "/login",
        data={
            "csrf_token": browser.token,
            "organization": other_office.organization.slug,
            "email": "ben@example.com",
            "password": PASSWORD,
        },
        base_url="http://localhost",
    )
    assert response.status_code == 422
    number = other_office.as_("ben").remember("Theirs alone", scope="organization")["number"]
    browser.get("/login")
    assert "Overview" in browser.post("/login", organization=office.organization.slug, email="ben@example.com", password=PASSWORD)
    assert browser.client.get(f"/memories/{number}", base_url="http://localhost").status_code == 404
    assert browser.client.get(f"/groups/{other_office.groups['platform'].id}", base_url="http://localhost").status_code == 404
