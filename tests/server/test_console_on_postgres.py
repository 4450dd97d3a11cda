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
    assert "Shared with" in browser.post(f"/review/{memory['number']}", action="approve", version=str(memory["version"]))
    assert "waits again" in browser.post("/review/undo")
    assert "Shared with" in browser.post(f"/review/{memory['number']}", action="approve", version=str(memory["version"] + 2))
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
    fields |= {"phrases": "quarterly forecast", "teams": office.groups["platform"].id}
    assert "Newly guarded" in browser.post("/topics/finance", **fields, act="preview")
    assert "Saved" in browser.post("/topics/finance", **fields, act="save")
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


def _signed_in(office: Any, name: str) -> tuple[Any, _Browser]:
    app = create_app(office.live.app)
    office.live.app.identities.passwords.set_password(office.organization.id, office.people[name].id, PASSWORD)
    browser = _Browser(app)
    browser.get("/login")
    page = browser.post("/login", organization=office.organization.slug, email=f"{name}@example.com", password=PASSWORD)
    assert "Overview" in page
    return app, browser


def test_what_is_revealed_is_read_for_an_hour_and_by_nothing_else(office: Any) -> None:
    """Row-level security lets it through by its id alone: no list, no search, no agent, no change; and not for long."""
    core, organization = office.live.app.core, office.organization.id
    memory = office.as_("hana").remember("The salary of the cook", scope="organization")
    personal = office.as_("ben").remember("A secret of mine")
    _, browser = _signed_in(office, "ada")
    path = f"/memories/{memory['number']}"
    for number in (memory["number"], personal["number"], 123456789):
        assert browser.client.get(f"/memories/{number}", base_url="http://localhost").status_code == 404
    browser.get("/reveal")
    for number in (personal["number"], 123456789):
        data = {"csrf_token": browser.token, "memory": str(number), "reason": "A court asks for it"}
        assert browser.client.post("/reveal", data=data, base_url="http://localhost").status_code == 404
    page = browser.post("/reveal", memory=str(memory["number"]), reason="A court asks for it")
    assert "The salary of the cook" in page
    assert "Revealed to you until" in page
    for query in ("", "?text=salary", "?recall=yes&text=cook", "?topic=hr", "?state=review", "?state=forgotten"):
        assert "of the cook" not in browser.get(f"/memories{query}")
    for action in ("correct", "move", "forget", "sensitivity", "supersede"):
        assert browser.client.get(f"{path}/{action}", base_url="http://localhost").status_code == 404
    ada = office.as_("ada")
    assert ada.refused("get_memory", memory_id=memory["id"])["code"] == "not_found"
    assert ada.refused("forget_memory", memory_id=memory["id"], confirm_human=True)["code"] == "not_found"
    assert ada.found("salary of the cook") == []
    assert "memory.reveal" in browser.get("/audit?action=memory.reveal")
    _, theirs = _signed_in(office, "hana")
    assert "Ada was shown a memory of yours" in theirs.get("/me/activity")

    ada_id = office.people["ada"].id
    records = core.storage.records("reveal")
    (key,) = records.keys(organization, f"{ada_id}/")
    records.change(organization, key, lambda known: {**(known or {}), "until": core.clock().isoformat()})
    assert browser.client.get(path, base_url="http://localhost").status_code == 404


def test_memories_are_filtered_compared_forgotten_and_erased(office: Any) -> None:
    ben = office.as_("ben")
    memory = ben.remember("The crane is blue", team="platform", run_id="r1", agent="planner")
    ben.remember("The kettle is full")
    _, browser = _signed_in(office, "ben")
    for query in (
        "text=crane",
        "team=platform",
        "run=r1",
        "agent=planner",
        "scope=team",
        "state=current&text=blue",
        "author=me&text=crane",
    ):
        page = browser.get(f"/memories?{query}")
        assert "The crane is blue" in page, query
        assert "kettle" not in page, query
    assert "Nothing matches." in browser.get("/memories?text=crane&scope=personal")
    path = f"/memories/{memory['number']}"
    browser.get(f"{path}/correct")
    browser.post(f"{path}/correct", new_content="The crane is red", version="1")
    assert "Version 1 became version 2" in browser.get(f"{path}?from=1&to=2")
    assert "The crane is red" in browser.get("/memories?sort=-changed")
    browser.get(f"{path}/forget")
    browser.post(f"{path}/forget", version="2")
    assert "The crane is red" in browser.get("/me/trash")
    browser.get(f"/me/trash/{memory['number']}/erase")
    assert "erased for good" in browser.post(f"/me/trash/{memory['number']}/erase", number=str(memory["number"]))
    assert "memory.erase" in browser.get("/me/activity")
    with office.live.app.core.storage.owning.borrow() as connection:
        for table, column in (
            ("memory", "content"),
            ("memory_version", "content"),
            ("memory_search", "terms::text"),
            ("record", "value::text"),
        ):
            found = connection.execute(
                f"SELECT count(*) FROM memscope.{table} WHERE org_id::text = %s AND {column} LIKE %s", (office.organization.id, "%crane%")
            ).fetchone()
            assert found == (0,), table


def test_the_audit_log_names_the_row_that_was_changed(office: Any) -> None:
    core, organization = office.live.app.core, office.organization.id
    office.as_("ben").remember("The crane is blue", scope="organization")
    _, browser = _signed_in(office, "ada")
    assert "Verified to row" in browser.post("/audit/check")
    assert "memory.remember" in browser.get("/audit?actor=ben&action=memory.*")
    with core.storage.owning.borrow() as connection:
        connection.execute("UPDATE memscope.audit SET action = 'memory.nothing' WHERE org_id = %s AND position = 3", (organization,))
    assert "Row 3 is not as it was written" in browser.post("/audit/check")
