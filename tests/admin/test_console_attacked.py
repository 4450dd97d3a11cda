"""Attacks that once worked, by whoever has the code in hand."""

from __future__ import annotations

import base64
import hashlib
import re
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

from memscope_admin.oauth import REGISTRATIONS
from memscope_admin.views.consent import ASKED

from memscope.memories.correct import Correct, correct_memory
from memscope.model.audience import Scope
from memscope.model.audit import Act
from memscope.model.organization import GroupRole
from memscope.organizations.setting_up import make_link
from memscope.organizations.signing_in import principal_on
from memscope.testing.builders import harbor
from memscope.upkeep.reclassify_jobs import run_waiting

VERIFIER = "w" * 64
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()
CALLBACK = "https://agents.example/callback"
PASSWORD = "a long password of {}"


def _signed_in(console: Any, organization: Any, name: str) -> Any:
    """Somebody's browser, on a server of several organizations."""
    person = organization.people[name]
    console.app.identities.passwords.set_password(organization.organization.id, person.id, PASSWORD.format(name))
    browser = console.browser()
    browser.get("/login")
    page = browser.post("/login", organization=organization.organization.slug, email=person.email, password=PASSWORD.format(name))
    assert "Sign out" in page.text, page.text
    return browser


def _allowed(browser: Any, path: str) -> str:
    """Press Allow on a consent page; the code."""
    page = browser.get(path)
    approval = re.search(r'name="approval" value="([^"]+)"', page.html)
    assert approval is not None, page.text
    answer = browser.post(path, follow=False, approval=approval[1], decision="allow")
    assert answer.status == 303, answer.text
    return str(parse_qs(urlsplit(answer.headers["location"]).query)["code"][0])


def test_a_request_that_somebody_of_another_organization_allowed_too_gives_their_code_away_to_nobody(console: Any) -> None:
    other = harbor("wharf").store(console.app.core.storage)
    answer = console.browser().client.post(
        "/oauth/register", json={"client_name": "Quill", "redirect_uris": [CALLBACK], "token_endpoint_auth_method": "none"}
    )
    client = answer.json()["client_id"]
    mallory, victim = _signed_in(console, other, "Bo"), _signed_in(console, console.organization, "Bo")
    # Mallory asks in the name of a program that people trust, with a verifier of their own, and allows it for themselves.
    page = mallory.get(
        "/authorize",
        response_type="code",
        client_id=client,
        redirect_uri=CALLBACK,
        code_challenge=CHALLENGE,
        code_challenge_method="S256",
    )
    path = urlsplit(page.url).path.removeprefix("/admin")
    mine = _allowed(mallory, path)
    # The victim is sent the same link. Their code goes to the program; Mallory knows all of it but the secret.
    theirs = _allowed(victim, path)
    guess = "_".join((*theirs.split("_", 3)[:3], mine.split("_", 3)[3]))
    got = console.browser().client.post(
        "/oauth/token",
        data={"grant_type": "authorization_code", "client_id": client, "code": guess, "redirect_uri": CALLBACK, "code_verifier": VERIFIER},
    )
    assert got.status_code == 400, got.text


def test_removing_a_group_shows_no_author_what_others_wrote_into_their_memory(console: Any) -> None:
    core, people = console.app.core, console.organization.people
    group = console.organization.groups["engineering"].id
    with core.storage.begin(console.organization.operator, Act("group.member")) as transaction:
        for name in ("Di", "Ed"):
            transaction.write_membership(group, people[name].id, GroupRole.OWNER)
    number = console.remember("Bo", "The mate is new", team="engineering")
    left = console.remember("Ed", "The crane is blue", team="engineering")
    correct_memory(core, console.agent("Di"), Correct(str(number), "The salary of the mate is 90"))
    correct_memory(core, console.agent("Di"), Correct(str(left), "The crane is green"))
    with core.storage.begin(console.organization.operator, Act("group.member")) as transaction:
        transaction.write_membership(group, people["Ed"].id, None)
    bo, ed, ada = console.as_("Bo"), console.as_("Ed"), console.as_("Ada")
    for browser, memory in ((bo, number), (ed, left), (ada, number), (ada, left)):
        assert browser.get(f"/memories/{memory}").status == 404
    assert "is removed" in ada.post(f"/groups/{group}/remove", to="authors", shown="authors").text
    for browser, memory in ((bo, number), (ed, left), (ada, number), (ada, left)):
        assert browser.get(f"/memories/{memory}").status == 404
    di = console.as_("Di")
    for memory in (number, left):
        assert di.get(f"/memories/{memory}").status == 200
        di.get(f"/memories/{memory}/forget")
        assert "trash" in di.post(f"/memories/{memory}/forget", reason="", version="3").text


def test_judging_again_tells_nobody_whether_a_text_that_they_may_not_read_is_on_the_topic(console: Any) -> None:
    core = console.app.core
    rows = []
    for phrase in ("sunken treasure", "buried treasure"):
        console.remember("Bo", f"A secret of Bo about {phrase}") if phrase.startswith("sunken") else None
        ada = console.as_("Ada")
        fields = {
            "key": phrase.split()[0],
            "name": phrase,
            "aliases": "",
            "description": "",
            "phrases": phrase,
            "sensitivity": "restricted",
        }
        ada.get("/topics/new")
        ada.post("/topics/new", **fields, act="preview")
        page = ada.post("/topics/new", **fields, act="save_stored")
        assert "/jobs/" in page.url, page.text
        run_waiting(core)
        job = page.url.rsplit("/", 1)[1]
        told = ada.get("/audit", action="topic.*")
        assert told.status == 200
        with core.storage.begin(console.organization.operator) as transaction:
            found = [row.act for row in transaction.audit_rows(0, 1000) if row.act.detail.get("job") == job]
        rows.append([(act.action, dict(act.detail, job="", request="")) for act in found])
    assert rows[0] == rows[1]


def test_asking_for_grants_is_slowed_down_at_the_address_that_fetches(console: Any) -> None:
    browser = console.browser()
    # One more each second: where this takes long, a few more are let through.
    answers = [browser.client.get("/admin/authorize", params={"client_id": f"mc_{number}"}).status_code for number in range(3 * ASKED)]
    assert answers[:ASKED] == [400] * ASKED
    assert 429 in answers


def test_a_text_on_the_bench_is_shown_to_nobody_who_no_longer_reads_its_memory_and_goes_with_it(console: Any) -> None:
    core = console.app.core
    organization, topic = console.organization.organization.id, console.organization.topics["Finance"].id
    ada, bo = console.as_("Ada"), console.as_("Bo")
    number = console.remember("Bo", "The quarterly forecast of the weather is on the board", scope=Scope.ORGANIZATION)
    ada.get("/review")
    ada.post(f"/review/{number}", action="not_sensitive", version="1")

    def bench() -> str:
        form = {"key": "finance", "name": "Finance", "phrases": "quarterly forecast", "sensitivity": "restricted", "act": "bench"}
        return str(ada.post("/topics/finance", **form).text)

    assert "forecast of the weather" in bench()
    bo.get(f"/memories/{number}/move?place=personal")
    assert "Moved" in bo.post(f"/memories/{number}/move", place="personal", reason="", version="2").text
    assert ada.get(f"/memories/{number}").status == 404
    assert "forecast of the weather" not in bench()
    bo.get(f"/memories/{number}/forget")
    bo.post(f"/memories/{number}/forget", reason="", version="3")
    assert core.storage.records("bench").get(organization, topic) is not None
    assert "erased for good" in bo.post(f"/me/trash/{number}/erase", number=str(number)).text
    assert core.storage.records("bench").get(organization, topic) is None


def test_what_makes_links_for_others_asks_who_it_is_on_the_set_up_pages_too(console: Any) -> None:
    ada = console.as_("Ada")
    ada.get("/setup/people")
    console.clock.ahead += timedelta(minutes=10)
    page = ada.post("/setup/people", people="eve@harbor.example, Eve")
    assert "Is it still you?" in page.text
    assert "person.invite" not in console.audit()


def test_a_form_waits_for_the_proof_no_longer_than_an_hour(console: Any) -> None:
    ada = console.as_("Ada")
    console.clock.ahead += timedelta(minutes=10)
    ada.get("/connections")
    page = ada.post("/connections/new", client="claude-code", days="30")
    kept = re.search(r'name="kept" value="([^"]+)"', page.html)
    assert kept is not None
    console.clock.ahead += timedelta(hours=1)
    page = ada.post("/again", kept=kept[1], password=PASSWORD.format("Ada"))
    assert "kept for an hour" in page.element("toast")
    assert "Do it now" not in page.text


def test_recovery_ends_the_sessions_of_the_person_who_is_recovered(console: Any) -> None:
    thief = console.as_("Ada")
    link = make_link(console.app.core, console.organization.organization.id, recover=True)
    browser = console.browser()
    browser.get(f"/setup/{link}")
    page = browser.post("/setup/account", name="Ada", email=console.organization.people["Ada"].email, password="tin drums over the bay")
    assert "Sign out" in page.text, page.text
    assert "Sign out" not in thief.get("/").text


def test_a_form_open_too_long_repeats_no_password(console: Any) -> None:
    bo = console.as_("Bo")
    page = bo.post("/me/security/password", token="none", old=PASSWORD.format("Bo"), reason="what was typed at some length")
    assert page.status == 400
    assert "what was typed at some length" in page.text
    assert PASSWORD.format("Bo") not in page.html


def test_what_is_no_address_and_no_base64_is_refused_and_fails_nowhere(console: Any) -> None:
    http = console.browser().client
    home = "http://127.0.0.1/callback"
    made = http.post("/oauth/register", json={"redirect_uris": [home], "token_endpoint_auth_method": "none"}).json()["client_id"]
    for port, status in (("1", 302), ("65535", 302), ("65536", 400), ("99999", 400), ("1@evil.example", 400)):
        asked = {"client_id": made, "redirect_uri": home.replace("1/", f"1:{port}/")}
        assert http.get("/admin/authorize", params=asked, follow_redirects=False).status_code == status, port
    answer = http.post("/oauth/token", data={"grant_type": "x"}, headers={"Authorization": "Basic é".encode()})
    assert (answer.status_code, answer.json()["error"]) == (401, "invalid_client")


def test_the_log_of_an_export_counts_no_rows_that_were_left_out_of_it(console: Any) -> None:
    console.remember("Bo", "A secret of Bo", agent="night-owl", run_id="r1")
    ada = console.as_("Ada")
    for agent in ("night-owl", "nobody"):
        ada.get("/audit/export.csv", agent=agent)
    with console.app.core.storage.begin(console.organization.operator) as transaction:
        acts = [row.act for row in transaction.audit_rows(0, 1000) if row.act.action == "console.audit_exported"]
    assert [act.detail["rows"] for act in acts] == [0, 0]


def test_only_the_very_file_that_was_shown_is_imported(console: Any) -> None:
    ada = console.as_("Ada")
    head = '[organization]\nslug = "harbor"\n\n[[topics]]\nkey = "legal"\nteams = ["{}"]\n'
    ada.get("/settings/import")
    page = ada.post("/settings/import", text=head.format("people-ops"))
    seen = re.search(r'name="seen"[^>]*value="([^"]+)"', page.html)
    assert seen is not None, page.text
    page = ada.post("/settings/import", text=head.format("engineering"), seen=seen[1])
    assert console.audit().count("organization.apply") == 1, "the fixture's"
    page = ada.post("/settings/import", text=head.format("people-ops").replace("\n", "\r\n"), seen=seen[1])
    assert "1 change made" in page.text


def test_whoever_a_file_disables_gets_nothing_back_when_enabled_again(console: Any) -> None:
    core, bo = console.app.core, console.organization.people["Bo"]
    browser, ada = console.as_("Bo"), console.as_("Ada")
    for active in ("false", "true"):
        text = f'[organization]\nslug = "harbor"\n\n[[people]]\nemail = "{bo.email}"\nactive = {active}\n'
        ada.get("/settings/import")
        seen = re.search(r'name="seen"[^>]*value="([^"]+)"', ada.post("/settings/import", text=text).html)
        assert seen is not None
        assert "made" in ada.post("/settings/import", text=text, seen=seen[1]).text
    assert core.rosters.current(console.organization.organization.id).people[bo.id].active
    assert "Sign out" not in browser.get("/").text
    assert principal_on(core, console.organization.organization.id, bo.id, console.organization.connections["Bo"].id) is None


def test_two_clients_that_say_the_same_at_once_have_no_secret_in_common(console: Any) -> None:
    http = console.browser().client
    made = [http.post("/oauth/register", json={"client_name": "Quill", "redirect_uris": [CALLBACK]}).json() for _ in range(5)]
    assert len({one["client_secret"] for one in made}) == len({one["client_id"] for one in made}) == 5


def test_behind_a_proxy_nobody_uses_up_what_others_may_ask(set_console: Any) -> None:
    http = set_console(MEMSCOPE_CONSOLE_TRUSTED_PROXIES="1").browser().client
    made = {"redirect_uris": [CALLBACK]}
    forged = [
        http.post("/oauth/register", json=made, headers={"X-Forwarded-For": f"203.0.113.{number}, 198.51.100.7"}).status_code
        for number in range(3 * REGISTRATIONS)
    ]
    assert 429 in forged, "what the client itself says of where it comes from counts for nothing"
    assert http.post("/oauth/register", json=made, headers={"X-Forwarded-For": "198.51.100.8"}).status_code == 201
