"""Who finds which page: a matrix made from the application's own routes, and what every form needs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest
from memscope_admin.factory import create_app

from memscope.model.audience import Scope
from memscope.upkeep import audit_exports
from memscope.upkeep.audit_exports import Export
from memscope.upkeep.reclassify_jobs import RECORDS, Job, State

PUBLIC, ALL, OWNERS, ADMINS = "public", "all", "owners", "admins"
WHO = {
    "sign_in.form": PUBLIC,
    "sign_in.check": PUBLIC,
    "sign_in.leave": PUBLIC,
    "sign_in.second": PUBLIC,
    "sign_in.passkey_options": PUBLIC,
    "sign_in.passkey": PUBLIC,
    "sign_in.again": ALL,
    "setup.enter": PUBLIC,
    "setup.account": PUBLIC,
    "setup.welcome": PUBLIC,
    "setup.password": PUBLIC,
    "setup.factor": ADMINS,
    "setup.organization": ADMINS,
    "setup.people": ADMINS,
    "setup.topics": ADMINS,
    "setup.connect": ADMINS,
    "setup.lamp": ADMINS,
    "dashboard.show": ALL,
    "confirmations.listed": ALL,
    "confirmations.show": ALL,
    "confirmations.settle": ALL,
    "help.show": ALL,
    "review.queue": ALL,
    "review.decide": ALL,
    "review.undo": ALL,
    "review.several_at_once": ALL,
    "review.approve_several": ALL,
    "review.similar": ALL,
    "review.map_topic": ADMINS,
    "memories.listed": ALL,
    "memories.show": ALL,
    "memories.correct": ALL,
    "memories.move": ALL,
    "memories.sensitivity": ALL,
    "memories.forget": ALL,
    "memories.restore": ALL,
    "memories.supersede": ALL,
    "reveal.ask": ADMINS,
    "reveal.end": ADMINS,
    "mine.listed": ALL,
    "mine.connections": ALL,
    "trash.listed": ALL,
    "trash.restore": ALL,
    "trash.erase": ALL,
    "activity.listed": ALL,
    "activity.seen": ALL,
    "access.why": ALL,
    "topics.listed": ADMINS,
    "topics.add": ADMINS,
    "topics.show": ADMINS,
    "topics.bench": ADMINS,
    "topics.hits": ADMINS,
    "topics.preview": ADMINS,
    "topics.job": ADMINS,
    "topics.turn": ADMINS,
    "topics.remove": ADMINS,
    "people.listed": ADMINS,
    "people.add": ADMINS,
    "people.show": ADMINS,
    "people.active": ADMINS,
    "people.link": ADMINS,
    "people.sign_out": ADMINS,
    "people.factor": ADMINS,
    "groups.listed": OWNERS,
    "groups.teams": OWNERS,
    "groups.projects": OWNERS,
    "groups.go_on": ADMINS,
    "groups.add": ADMINS,
    "groups.show": OWNERS,
    "groups.member": OWNERS,
    "groups.remove": ADMINS,
    "connections.listed": ALL,
    "connections.add": ALL,
    "connections.end": ALL,
    "connections.end_several": ALL,
    "connections.connect": ALL,
    "connections.made": ALL,
    "connections.clients": ADMINS,
    "connections.change_rule": ADMINS,
    "connections.decide_client": ADMINS,
    "connections.list_by_hand": ADMINS,
    "consent.begin": PUBLIC,
    "consent.show": ALL,
    "consent.decide": ALL,
    "audit.listed": ADMINS,
    "audit.export": ADMINS,
    "audit.check": ADMINS,
    "audit.start_export": ADMINS,
    "audit.exports": ADMINS,
    "audit.fetch_export": ADMINS,
    "audit.discard_export": ADMINS,
    "plugins.listed": ADMINS,
    "plugins.turn": ADMINS,
    "plugins.attempt": ADMINS,
    "plugins.lines": ADMINS,
    "insights.show": ADMINS,
    "insights.export": ADMINS,
    "settings.edit": ADMINS,
    "settings.export": ADMINS,
    "settings.brand": ADMINS,
    "settings.connecting": ADMINS,
    "settings.bring": ADMINS,
    "settings.stylesheet": ALL,
    "me.show": ALL,
    "me.prefer": ALL,
    "security.show": ALL,
    "security.enrol": ALL,
    "security.password": ALL,
    "security.end": ALL,
    "security.codes": ALL,
    "security.codes_off": ALL,
    "security.recovery": ALL,
    "security.passkey_options": ALL,
    "security.passkey": ALL,
    "security.rename": ALL,
    "security.remove": ALL,
}
ROLES = {"Cy": {ALL}, "Bo": {ALL}, "Ed": {ALL, OWNERS}, "Ada": {ALL, OWNERS, ADMINS}}


def _routes(console: Any) -> list[tuple[str, str, str]]:
    """(endpoint, method, path) of every route, its parts filled with what is there."""
    organization = console.organization
    values = {
        "token": "wrong",
        "sealed": "wrong",
        "software": "0" * 64,
        "connection": organization.connections["Ada"].id,
        "connection_id": organization.connections["Di"].id,
        "ticket_id": "none",
        "memory": "1",
        "notice": "none",
        "format": "csv",
        "key": "legal",
        "job_id": _job(console, "Legal"),
        "person_id": organization.people["Cy"].id,
        "group_id": organization.groups["apollo"].id,
        "kind": "team",
        "passkey_id": "none",
        "name": "admin",
        "chart_id": "saved",
        "export_id": _export(console),
        "version": "none",
    }
    app = create_app(console.app)
    adapter = app.url_map.bind("localhost")
    found = []
    for rule in app.url_map.iter_rules():
        if rule.endpoint != "static":
            path = adapter.build(rule.endpoint, {name: values[name] for name in rule.arguments})
            found += [(rule.endpoint, method, path) for method in sorted((rule.methods or set()) & {"GET", "POST"})]
    return found


def _job(console: Any, topic: str) -> str:
    """A run over what is stored, which is over."""
    by = console.organization.people["Ada"].id
    made = Job("a-job", console.organization.topics[topic].id, by, "2026-01-05T09:00:00+00:00", State.DONE)
    records = console.app.core.storage.records(RECORDS)
    records.put(console.organization.organization.id, f"job/{made.id}", {**asdict(made), "state": made.state.value})
    return made.id


def _export(console: Any) -> str:
    """An export of the audit log that Ada asked for, which is written and has no rows."""
    ada = console.organization.people["Ada"].id
    made = Export("an-export", ada, "none", "csv", {}, {}, False, console.clock().isoformat(), 0, 1, done=True)
    records = console.app.core.storage.records(audit_exports.RECORDS)
    records.put(console.organization.organization.id, f"export/{ada}/{made.id}", asdict(made))
    return made.id


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
        if method == "GET" and endpoint not in ("audit.export", "audit.fetch_export"):
            browser.get(path.replace("/memories/1", f"/memories/{number}"))
    browser.get(f"/memories/{number}/move?place=team:engineering")
    assert console.audit() == before


@pytest.mark.parametrize("part", [False, True])
@pytest.mark.parametrize("value", ["", "nothing", "\0"])
def test_nonsense_in_every_field_is_no_error_of_the_servers(console: Any, value: str, part: bool) -> None:
    import re

    numbers = [console.remember("Bo", "The quarterly forecast is bleak", team="engineering"), console.remember("Ada", "Harbour rules")]
    browser = console.as_("Ada")
    if part:
        browser.client.headers.update({"HX-Request": "true", "HX-Current-URL": "http://localhost/admin/review"})
    named = {
        name for _, method, path in _routes(console) if method == "GET" for name in re.findall(r' name="(\w+)"', browser.get(path).html)
    }
    fields = dict.fromkeys(named - {"csrf_token"}, value)
    assert len(fields) > 40
    failed = []
    for endpoint, method, path in _routes(console):
        if endpoint in ("sign_in.leave", "security.end"):
            continue  # it would be somebody else's browser afterwards
        for number in numbers:
            address = re.sub(r"(?<=/memories/)1|(?<=/review/)1", str(number), path)
            answer = browser.get(address, **fields) if method == "GET" else browser.post(address, **fields)
            if answer.status >= 500:
                failed.append((method, address))
            if address == path:
                break
    assert failed == []


def test_every_form_on_every_page_carries_its_token(console: Any) -> None:
    import re

    browser = console.as_("Ada")
    for _, method, path in _routes(console):
        if method == "GET":
            for form in re.findall(r'<form method="post".*?</form>', browser.get(path).html, re.S):
                assert "csrf_token" in form, path
