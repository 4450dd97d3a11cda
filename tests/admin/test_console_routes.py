"""Who finds which page: a matrix made from the application's own routes, and what every form needs."""

from __future__ import annotations

from typing import Any

import pytest
from memscope_admin.factory import create_app

from memscope.model.audience import Scope

PUBLIC, ALL, OWNERS, ADMINS = "public", "all", "owners", "admins"
WHO = {
    "sign_in.form": PUBLIC,
    "sign_in.check": PUBLIC,
    "sign_in.leave": PUBLIC,
    "setup.enter": PUBLIC,
    "setup.account": PUBLIC,
    "setup.welcome": PUBLIC,
    "setup.password": PUBLIC,
    "setup.organization": ADMINS,
    "setup.people": ADMINS,
    "setup.topics": ADMINS,
    "setup.connect": ADMINS,
    "setup.lamp": ADMINS,
    "dashboard.show": ALL,
    "confirmations.listed": ALL,
    "confirmations.show": ALL,
    "confirmations.settle": ALL,
    "review.queue": ALL,
    "review.decide": ALL,
    "review.undo": ALL,
    "review.several_at_once": ALL,
    "review.approve_several": ALL,
    "memories.listed": ALL,
    "memories.show": ALL,
    "memories.correct": ALL,
    "memories.move": ALL,
    "memories.sensitivity": ALL,
    "memories.forget": ALL,
    "memories.restore": ALL,
    "memories.supersede": ALL,
    "access.why": ALL,
    "topics.listed": ADMINS,
    "topics.add": ADMINS,
    "topics.show": ADMINS,
    "topics.remove": ADMINS,
    "people.listed": ADMINS,
    "people.add": ADMINS,
    "people.show": ADMINS,
    "people.active": ADMINS,
    "people.link": ADMINS,
    "people.sign_out": ADMINS,
    "groups.listed": OWNERS,
    "groups.add": ADMINS,
    "groups.show": OWNERS,
    "groups.member": OWNERS,
    "groups.remove": ADMINS,
    "connections.listed": ALL,
    "connections.add": ALL,
    "connections.end": ALL,
    "audit.listed": ADMINS,
    "audit.export": ADMINS,
    "plugins.listed": ADMINS,
    "settings.edit": ADMINS,
    "settings.export": ADMINS,
    "me.show": ALL,
    "me.password": ALL,
    "me.prefer": ALL,
    "me.end": ALL,
}
ROLES = {"Cy": {ALL}, "Bo": {ALL}, "Ed": {ALL, OWNERS}, "Ada": {ALL, OWNERS, ADMINS}}


def _routes(console: Any) -> list[tuple[str, str, str]]:
    """(endpoint, method, path) of every route, its parts filled with what is there."""
    organization = console.organization
    values = {
        "token": "wrong",
        "connection": organization.connections["Ada"].id,
        "connection_id": organization.connections["Di"].id,
        "ticket_id": "none",
        "memory": "1",
        "key": "legal",
        "person_id": organization.people["Cy"].id,
        "group_id": organization.groups["apollo"].id,
        "kind": "team",
    }
    app = create_app(console.app)
    adapter = app.url_map.bind("localhost")
    found = []
    for rule in app.url_map.iter_rules():
        if rule.endpoint != "static":
            path = adapter.build(rule.endpoint, {name: values[name] for name in rule.arguments})
            found += [(rule.endpoint, method, path) for method in sorted((rule.methods or set()) & {"GET", "POST"})]
    return found


def test_every_route_says_for_whom_it_is(console: Any) -> None:
    assert {endpoint for endpoint, _, _ in _routes(console)} == WHO.keys()


def test_a_stranger_is_led_to_the_sign_in_page_everywhere_else(console: Any) -> None:
    browser = console.browser()
    browser.get("/login")
    for endpoint, method, path in _routes(console):
        if WHO[endpoint] != PUBLIC:
            response = browser.client.request(
                method, f"/admin{path}", data={"csrf_token": browser.token} if method == "POST" else None, follow_redirects=False
            )
            assert response.status_code == 302, (endpoint, method)
            assert response.headers["location"].startswith("/admin/login"), endpoint


@pytest.mark.parametrize("name", list(ROLES))
def test_pages_for_others_do_not_exist(console: Any, name: str) -> None:
    browser = console.as_(name)
    browser.get("/")
    allowed = ROLES[name] | {PUBLIC}
    for endpoint, method, path in _routes(console):
        if WHO[endpoint] in allowed:
            if method == "GET" and WHO[endpoint] in (ADMINS, OWNERS):
                assert browser.get(path).status == 200, endpoint
        else:
            page = browser.get(path) if method == "GET" else browser.post(path, follow=False)
            assert page.status == 404, (endpoint, method)


def test_the_menu_leads_nowhere_in_vain(console: Any) -> None:
    import re

    for name in ROLES:
        browser = console.as_(name)
        links = set(re.findall(r'href="/admin(/[^"]*)" data-go', browser.get("/").html))
        assert {browser.get(link).status for link in links} == {200}
        assert ("/people" in links) == (name == "Ada")


def test_no_form_is_taken_without_its_token(console: Any) -> None:
    browser = console.as_("Ada")
    before = len(console.audit())
    for endpoint, method, path in _routes(console):
        if method == "POST":
            assert browser.post(path, token="").status == 400, endpoint
    assert len(console.audit()) == before


def test_looking_changes_nothing(console: Any) -> None:
    number = console.remember("Ada", "Harbour rules", scope=Scope.ORGANIZATION)
    browser = console.as_("Ada")
    before = console.audit()
    for endpoint, method, path in _routes(console):
        if method == "GET" and endpoint != "audit.export":
            browser.get(path.replace("/memories/1", f"/memories/{number}"))
    browser.get(f"/memories/{number}/move?place=team:engineering")
    assert console.audit() == before


def test_every_form_on_every_page_carries_its_token(console: Any) -> None:
    import re

    browser = console.as_("Ada")
    for _, method, path in _routes(console):
        if method == "GET":
            for form in re.findall(r'<form method="post".*?</form>', browser.get(path).html, re.S):
                assert "csrf_token" in form, path
