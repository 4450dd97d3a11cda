"""The access simulator, people, teams and projects: what goes wrong, what is never told, what is shown before it is done."""

from __future__ import annotations

import re
from typing import Any

import pytest

from memscope.memories.browse import ListMemories, list_memories
from memscope.memories.explain import explain_memory
from memscope.memories.recall import Recall, recall
from memscope.model.audience import Scope
from memscope.model.audit import Act
from memscope.model.ids import new_id
from memscope.model.organization import GroupRole, Person


def _id(console: Any, name: str) -> str:
    found: str = console.organization.people[name].id
    return found


def _group(console: Any, slug: str) -> str:
    found: str = console.organization.groups[slug].id
    return found


def _join(console: Any, slug: str, name: str, role: GroupRole = GroupRole.MEMBER) -> None:
    with console.app.core.storage.begin(console.organization.operator, Act("group.member")) as transaction:
        transaction.write_membership(_group(console, slug), _id(console, name), role)


def _hr(console: Any) -> int:
    """A memory about HR for everybody, that Ada reads as a member of its guard team."""
    _join(console, "people-ops", "Ada")
    number: int = console.remember("Di", "The salary of the cook", scope=Scope.ORGANIZATION)
    return number


def _finds(console: Any, name: str, words: str) -> int:
    return len(recall(console.app.core, console.agent(name), Recall(words)).results)


def _bare(page: Any, number: int) -> str:
    """A page without what may differ: the number asked for, and tokens of the form and the request."""
    text = re.sub(r'(X-CSRFToken": "|name="csrf_token" value=")[^"]+', "", page.html)
    return text.replace(str(number), "N")


# -- the simulator -------------------------------------------------------------------------------------------------------


def test_the_answer_comes_first_with_the_rule_that_decided_and_its_fact(console: Any) -> None:
    number = _hr(console)
    browser = console.as_("Ada")
    page = browser.get(f"/access?memory={number}&person={_id(console, 'Bo')}")
    assert page.element("answer").startswith(f"Bo cannot read #{number}, because they are in no guard team of HR.")
    rules = re.findall(r'data-rule="(\w+)" data-passed="(\w+)"', page.html)
    assert next(rule for rule, passed in rules if passed == "false") == "guard_team"
    assert "HR is guarded by People Ops; Bo is in none of them." in page.text
    assert 'href="/admin/topics/hr"' in page.html
    told = explain_memory(console.app.core, console.agent("Ada"), str(number), "bo@harbor.example")
    assert rules == [(rule.rule, str(rule.passed).lower()) for rule in told.rules]


def test_remedies_say_who_else_gains_and_lead_into_a_draft(console: Any) -> None:
    number = _hr(console)
    console.remember("Di", "The salary of the mate", team="people-ops")
    browser = console.as_("Ada")
    page = browser.get(f"/access?memory={number}&person={_id(console, 'Bo')}")
    remedies = page.html.split('data-t="remedy"')[1:]
    assert "put them into the team People Ops" in remedies[0]
    assert "Nobody else would read it." in remedies[0]
    assert "Bo would read 2 memories more in all" in " ".join(remedies[0].split())
    assert "make the memory internal" in remedies[1]
    assert "Others who would read it then: Ed" in " ".join(remedies[1].split())
    draft = re.search(r'href="/admin(/access[^"]+)">Try this as a draft', remedies[0])
    assert draft is not None
    before = console.audit()
    page = browser.get(draft[1].replace("&amp;", "&"))
    assert page.element("answer").startswith(f"In this draft Bo can read #{number}")
    assert "nothing is stored" in page.element("draft")
    assert console.audit() == before
    assert _finds(console, "Bo", "salary") == 0


@pytest.mark.parametrize(
    ("draft", "reads"),
    [
        ("join=team:people-ops", True),
        ("own=team:people-ops", True),
        ("role=admin", False),
        ("clearance=highly_restricted", False),
        ("map=hr:engineering", True),
        ("unmap=hr:people-ops", False),
        ("level=internal", True),
        ("level=public", True),
        ("place=team:engineering", False),
        ("place=personal", False),
        ("place=team:engineering&map=hr:engineering", True),
    ],
)
def test_drafts_of_every_kind(console: Any, draft: str, reads: bool) -> None:
    number = _hr(console)
    page = console.as_("Ada").get(f"/access?memory={number}&person={_id(console, 'Bo')}&{draft}")
    assert page.element("answer").startswith(f"In this draft Bo {'can' if reads else 'cannot'} read #{number}")


def test_a_draft_tells_the_rules_that_hold_once_it_is_really_done(console: Any) -> None:
    number = _hr(console)
    _join(console, "engineering", "Ada")
    browser, bo = console.as_("Ada"), console.organization.people["Bo"]

    def rules(draft: str = "") -> list[tuple[str, str]]:
        page = browser.get(f"/access?memory={number}&person={bo.id}{draft}")
        return re.findall(r'data-rule="(\w+)" data-passed="(\w+)" class="\w+"><strong>.*?</strong>([^<]+)', page.html)

    def person(role: str, clearance: str) -> None:
        browser.get(f"/people/{bo.id}")
        browser.post(f"/people/{bo.id}", email=bo.email, name="Bo", role=role, clearance=clearance, shown=f"{role} {clearance}")

    members = f"/groups/{_group(console, 'people-ops')}/members"
    steps: list[tuple[str, Any]] = [
        ("&clearance=restricted", lambda: person("member", "restricted")),
        ("&join=team:people-ops", lambda: browser.post(members, person=bo.id, role="member")),
        ("&own=team:people-ops", lambda: browser.post(members, person=bo.id, role="owner")),
        ("&leave=team:people-ops", lambda: browser.post(members, person=bo.id, role="none")),
        ("&role=admin&clearance=role", lambda: person("admin", "")),
        ("&level=internal", lambda: browser.post(f"/memories/{number}/sensitivity", sensitivity="internal", version="1")),
        ("&place=team:engineering", lambda: browser.post(f"/memories/{number}/move", place="team:engineering", version="2")),
        ("&role=guest", lambda: person("guest", "")),
    ]
    told = 0
    for draft, really in steps:
        before, drafted = rules(), rules(draft)
        really()
        assert rules() == drafted, draft
        told += drafted != before
    assert told >= 5


def test_one_memory_and_everybody(console: Any) -> None:
    number = _hr(console)
    browser = console.as_("Ada")
    page = browser.get(f"/access?mode=everybody&memory={number}")
    assert f"2 people whom you may ask about read #{number}: Ada and Di." in page.element("answer")
    assert "They wrote it." in page.element("reads")
    assert "guard team of HR" in page.element("kept-out")
    page = browser.get(f"/access?mode=everybody&memory={number}&level=internal")
    assert "Gain it by the draft: Bo and Ed" in page.element("draft-gains")


def test_what_somebody_sees_is_what_their_own_list_says(console: Any) -> None:
    number = _hr(console)
    for text in ("Harbour rules", "Berths are numbered"):
        console.remember("Ada", text, scope=Scope.ORGANIZATION)
    console.remember("Bo", "A secret of mine")
    console.remember("Bo", "The crane is blue", team="engineering")
    browser = console.as_("Ada")
    page = browser.get(f"/access?mode=list&person={_id(console, 'Bo')}")
    seen = {int(found) for found in re.findall(r'Why\?<span class="visually-hidden"> #(\d+)', page.html)}
    mine, his = (
        {line.number for line in list_memories(console.app.core, console.agent(name), ListMemories(limit=50)).memories}
        for name in ("Ada", "Bo")
    )
    assert seen == mine & his
    assert "A secret" not in page.html
    page = browser.get(f"/access?mode=list&person={_id(console, 'Bo')}&join=team:people-ops")
    assert "+ gains it" in page.text
    assert str(number) in page.html


def test_long_lists_of_somebody_are_pages(console: Any) -> None:
    for number in range(53):
        console.remember("Ada", f"Rule {number:02} of the harbour", scope=Scope.ORGANIZATION)
    browser = console.as_("Ada")
    page = browser.get(f"/access?mode=list&person={_id(console, 'Bo')}")
    assert page.html.count('data-t="seen"') == 50
    older = re.search(r'class="button" href="/admin(/access[^"]+)"', page.html)
    assert older is not None
    assert browser.get(older[1].replace("&amp;", "&")).html.count('data-t="seen"') == 3
    assert browser.get(f"/access?mode=list&person={_id(console, 'Bo')}&cursor=wrong").status == 422


def test_a_memory_that_one_may_not_read_is_never_a_rule_list(console: Any) -> None:
    hidden = console.remember("Bo", "A secret of mine")
    browser = console.as_("Ada")
    for mode in ("", "&mode=everybody", "&join=team:people-ops", "&place=organization"):
        for person in ("", f"&person={_id(console, 'Bo')}"):
            there, never = (browser.get(f"/access?memory={number}{person}{mode}") for number in (hidden, 123456789))
            assert there.status == never.status == 404
            assert _bare(there, hidden) == _bare(never, 123456789)
            assert "data-passed" not in there.html


def test_unknown_and_disabled_people(console: Any) -> None:
    number = console.remember("Ada", "Harbour rules", scope=Scope.ORGANIZATION)
    browser = console.as_("Ada")
    page = browser.get(f"/access?memory={number}&person=nobody")
    assert page.status == 422
    assert "Nobody of this organization" in page.element("error-summary")
    browser.post(f"/people/{_id(console, 'Bo')}/active", active="no")
    page = browser.get(f"/access?memory={number}&person=bo@harbor.example")
    assert page.element("answer").startswith(f"Bo cannot read #{number}, because they are disabled")
    assert browser.get(f"/access?memory={number}&join=team:nothing").status == 422
    assert browser.get(f"/access?memory={number}&level=odd").status == 422
    assert browser.get("/access?mode=odd").status == 404


def test_a_memory_is_found_by_words(console: Any) -> None:
    number = console.remember("Ada", "The crane is blue", scope=Scope.ORGANIZATION)
    console.remember("Bo", "The crane is mine alone")
    page = console.as_("Ada").get("/access?memory=blue+crane&person=bo@harbor.example")
    assert f"#{number}" in page.text
    assert "mine alone" not in page.text
    assert "No memory that you may read" in console.as_("Di").get("/access?memory=zeppelin").text


def test_members_ask_about_themselves_and_owners_about_their_groups(console: Any) -> None:
    number = console.remember("Ada", "Harbour rules", scope=Scope.ORGANIZATION)
    browser = console.as_("Bo")
    page = browser.get("/access")
    assert "ada@harbor.example" not in page.html
    assert page.html.count("<li>") >= 3
    assert browser.get(f"/access?memory={number}").element("answer").startswith(f"Bo can read #{number}")
    assert browser.get(f"/access?memory={number}&person=ada@harbor.example").status == 422
    assert browser.get("/access?mode=list&person=ada@harbor.example").status == 422
    assert "1 person whom you may ask about" in browser.get(f"/access?mode=everybody&memory={number}").element("answer")
    _join(console, "apollo", "Bo")
    browser = console.as_("Ed")
    assert browser.get(f"/access?memory={number}&person=bo@harbor.example").element("answer").startswith("Bo can read")
    assert browser.get(f"/access?memory={number}&person=cy@harbor.example").status == 422
    assert browser.get("/access?mode=list&person=bo@harbor.example").status == 200


def test_authors_are_told_no_rules_of_others_under_a_draft_either(console: Any) -> None:
    _join(console, "engineering", "Ed")
    number = console.remember("Bo", "The crane is blue", team="engineering")
    browser = console.as_("Bo")
    page = browser.get(f"/access?memory={number}&person=ed@harbor.example")
    assert page.element("answer").startswith(f"Ed can read #{number}.")
    assert "data-passed" not in page.html
    assert browser.get(f"/access?memory={number}&person=ed@harbor.example&role=guest").status == 422


def test_the_last_change_of_a_membership_is_found_however_long_ago(console: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from memscope.memories import simulate

    monkeypatch.setattr(simulate, "CHANGES_TOGETHER", 2)
    core, group = console.app.core, _group(console, "people-ops")
    browser = console.as_("Ada")
    browser.get(f"/groups/{group}")
    browser.post(f"/groups/{group}/members", person=_id(console, "Bo"), role="member")
    for role in ("member", "owner", "member", "owner", "member"):
        browser.post(f"/groups/{group}/members", person=_id(console, "Ed"), role=role)
    organization = console.organization.organization.id
    told = simulate.last_change(core, organization, _id(console, "Bo"))
    assert told is not None
    assert (told.group, told.role) == (group, "member")
    assert simulate.last_change(core, organization, _id(console, "Cy")) is None


def test_the_last_change_of_a_membership_is_shown(console: Any) -> None:
    number = _hr(console)
    browser = console.as_("Ada")
    path = f"/access?memory={number}&person={_id(console, 'Bo')}"
    assert "No change of Bo's memberships" in browser.get(path).element("last-change")
    browser.post(f"/groups/{_group(console, 'people-ops')}/members", person=_id(console, "Bo"), role="member")
    told = browser.get(path).element("last-change")
    assert (
        re.match(r"Bo's memberships last changed \d{4}-\d\d-\d\d \d\d:\d\d : member of People Ops , by Ada", told)
        or "member of People Ops" in told
    )


def test_a_forgotten_memory_is_asked_about_by_who_may_restore_it(console: Any) -> None:
    number = console.remember("Ada", "Harbour rules", scope=Scope.ORGANIZATION)
    browser = console.as_("Ada")
    browser.get(f"/memories/{number}/forget")
    browser.post(f"/memories/{number}/forget", reason="", version="1")
    page = browser.get(f"/access?memory={number}&person=bo@harbor.example")
    assert "because it is forgotten" in page.element("answer")
    assert "Harbour rules" not in page.html
    assert console.as_("Bo").get(f"/access?memory={number}").status == 404


def test_a_draft_that_shares_a_personal_memory_judges_its_text(console: Any) -> None:
    number = console.remember("Ada", "The quarterly forecast is bleak")
    browser = console.as_("Ada")
    page = browser.get(f"/access?memory={number}&person=bo@harbor.example&place=organization")
    assert "waits for a review" in page.element("answer")
    assert console.audit().count("memory.remember") == 1


# -- people --------------------------------------------------------------------------------------------------------------


def test_a_role_or_clearance_is_shown_with_what_it_does_before_it_is_given(console: Any) -> None:
    from memscope.model.audience import Sensitivity

    org = console.organization
    memory = org.memory("Ada", "The vault opens at nine", "organization", sensitivity=Sensitivity.RESTRICTED)
    org.save(console.app.core.storage, memory)
    browser = console.as_("Ada")
    path = f"/people/{_id(console, 'Bo')}"
    browser.get(path)
    fields = {"email": "bo@harbor.example", "name": "Bo", "role": "member", "clearance": "restricted"}
    page = browser.post(path, **fields)
    assert "Bo will read 1 memory more" in page.element("consequence")
    assert "The vault opens at nine" in page.element("consequence")
    assert "over what you may read" in page.element("consequence")
    assert "person.change" not in console.audit()
    assert "Saved" in browser.post(path, **fields, shown="member restricted").element("toast")
    page = browser.post(path, **(fields | {"role": "guest", "clearance": ""}))
    assert "Bo will no longer read 1 memory" in page.element("consequence")


def test_what_nobody_may_be_given_is_refused_before_anything_is_shown(console: Any) -> None:
    browser = console.as_("Ada")
    for name, role, clearance, text in (
        ("Bo", "guest", "restricted", "never gets above public"),
        ("Ada", "member", "", "Nobody lowers their own role"),
    ):
        path = f"/people/{_id(console, name)}"
        browser.get(path)
        for shown in ("", f"{role} {clearance}"):
            page = browser.post(path, email=f"{name.lower()}@harbor.example", name=name, role=role, clearance=clearance, shown=shown)
            assert page.status == 422
            assert text in page.element("error-summary")
    assert browser.post("/people/new", email="fay@harbor.example", name="Fay", role="guest", clearance="internal").status == 422
    assert "fay@" not in browser.get("/people").html


def test_the_last_administrator_stays_one(console: Any) -> None:
    from memscope.errors import Conflict
    from memscope.model.organization import ConnectionKind, Role
    from memscope.model.principal import Principal
    from memscope.organizations.people import change_person, set_active

    ada, bo = console.organization.people["Ada"], console.organization.people["Bo"]
    browser = console.as_("Ada")
    browser.get(f"/people/{bo.id}")
    browser.post(f"/people/{bo.id}", email=bo.email, name="Bo", role="admin", clearance="", shown="admin ")
    browser.post(f"/people/{bo.id}/active", active="no")
    # Bo's rights of a moment ago do not count, and Ada is the last one that is left.
    actor = Principal(
        console.organization.organization.id, ada.id, console.organization.connections["Ada"].id, ConnectionKind.CONSOLE, "console"
    )
    with pytest.raises(Conflict):
        set_active(console.app.core, console.app.identities.tokens, actor, ada.id, False)
    with pytest.raises(Conflict):
        change_person(console.app.core, actor, ada.id, ada, name="Ada", role=Role.MEMBER, clearance=None)


def test_disabling_says_what_ends_and_ends_it(console: Any) -> None:
    bo = console.as_("Bo")
    bo.get("/connections/new")
    bo.post("/connections/new", client="claude-code", days="90")
    browser = console.as_("Ada")
    path = f"/people/{_id(console, 'Bo')}"
    sentence = browser.get(path).element("consequence")
    assert "At once this ends: 1 session, 2 tokens and 0 grants." in sentence
    assert "Ended: 1 session, 2 tokens and 0 grants." in browser.post(f"{path}/active", active="no").element("toast")
    assert "Sign in" in bo.get("/").text
    page = browser.post(f"{path}/active", active="yes")
    assert "stay ended" in page.element("toast")
    assert "0 sessions, 0 tokens" in page.text


def test_an_open_link_is_void_once_its_person_was_disabled(console: Any) -> None:
    ada, path = console.as_("Ada"), f"/people/{_id(console, 'Cy')}"
    ada.get(path)
    link = ada.post(f"{path}/link").element("token-once").split()[0].split("/admin", 1)[1]
    for active in ("no", "yes"):
        ada.get(path)
        ada.post(f"{path}/active", active=active)
    assert "New password" not in console.browser().get(link).text


def test_a_new_password_link_lasts_an_hour_and_an_invitation_three_days(console: Any) -> None:
    from datetime import timedelta

    browser = console.as_("Ada")
    console.as_("Bo")
    links = {}
    for name in ("Bo", "Cy"):
        browser.get(f"/people/{_id(console, name)}")
        page = browser.post(f"/people/{_id(console, name)}/link")
        links[name] = page.element("token-once").split()[0].split("/admin", 1)[1]
    console.clock.ahead = timedelta(hours=2)
    assert "New password" not in console.browser().get(links["Bo"]).text
    assert "New password" in console.browser().get(links["Cy"]).text


def test_people_are_filtered_sorted_and_paged_in_the_address(console: Any) -> None:
    with console.app.core.storage.begin(console.organization.operator, Act("person.add")) as transaction:
        for number in range(60):
            transaction.write_person(Person(new_id(), f"p{number}@harbor.example", f"Person {number:02}"))
    browser = console.as_("Ada")

    def names(query: str) -> list[str]:
        return re.findall(r'<tr><th scope="row"><a [^>]+>([^<]+)</a>', browser.get(f"/people{query}").html)

    assert len(names("")) == 50
    assert names("?role=admin") == ["Ada"]
    assert names("?group=project:apollo") == ["Ed"]
    assert names("?q=PERSON+5&sort=-name") == [f"Person {number}" for number in range(59, 49, -1)]
    assert names("?sort=role")[0] == "Cy"
    assert names("?sort=-role")[0] == "Ada"
    assert names("?sort=-groups")[:3] == ["Bo", "Di", "Ed"]
    assert len(names("?sort=name&from=50")) == 15
    assert names("?state=disabled") == []
    assert "Nobody matches" in browser.get("/people?state=disabled").element("empty")
    assert "role=member&amp;sort=-name" in browser.get("/people?role=member&sort=name").html


# -- teams and projects --------------------------------------------------------------------------------------------------


def test_joining_and_leaving_are_shown_with_their_memories_first(console: Any) -> None:
    for number in range(7):
        console.remember("Di", f"Cook number {number} comes on Monday", team="people-ops")
    _join(console, "people-ops", "Ada")
    browser = console.as_("Ada")
    path = f"/groups/{_group(console, 'people-ops')}/members?person={_id(console, 'Bo')}&role="
    told = browser.get(f"{path}member").element("consequence")
    assert "Bo will read 7 memories more" in told
    assert told.count("Cook number") == 5
    assert _finds(console, "Bo", "cook") == 0
    browser.post(f"/groups/{_group(console, 'people-ops')}/members", person=_id(console, "Bo"), role="member")
    assert "Bo will no longer read 7 memories" in browser.get(f"{path}none").element("consequence")
    assert "Nothing would change: Bo is member of People Ops already" in browser.get(f"{path}member").element("consequence")
    page = browser.post(f"/groups/{_group(console, 'people-ops')}/members", person=_id(console, "Bo"), role="member")
    assert "Nothing changed" in page.element("toast")


def test_counts_are_over_what_the_actor_reads(console: Any) -> None:
    console.remember("Di", "The salary of the cook", team="people-ops")
    browser = console.as_("Ada")
    path = f"/groups/{_group(console, 'people-ops')}/members?person={_id(console, 'Bo')}&role=member"
    told = browser.get(path).element("consequence")
    assert "gains none" in told
    assert "there may be others" in told
    assert "cook" not in told


def test_bad_names_and_owners_of_groups(console: Any) -> None:
    browser = console.as_("Ada")
    browser.get("/groups/new/project")
    page = browser.post("/groups/new/project", slug="gemini", name="Gemini", aliases="apollo", team="")
    assert page.status == 422
    assert "goes by apollo already" in page.element("error-summary")
    assert 'href="#aliases"' in page.html
    page = browser.post("/groups/new/project", slug="apollo", name="Other", aliases="", team="")
    assert 'href="#slug"' in page.html
    assert browser.post("/groups/new/project", slug="gemini", name="Gemini", aliases="", team=new_id()).status == 404
    assert browser.post("/groups/new/project", slug="gemini", name="Gemini", aliases="", team=_group(console, "apollo")).status == 404
    path = f"/groups/{_group(console, 'apollo')}/members"
    for role in ("none", "member"):
        page = browser.get(path, person=_id(console, "Ed"), role=role)
        assert page.status == 422
        assert "last owner" in page.element("error-summary")
    assert browser.post(path, person=new_id(), role="member").status == 422
    assert browser.post(path, person=_id(console, "Bo"), role="king").status == 404


def test_teams_and_projects_have_addresses_of_their_own(console: Any) -> None:
    browser = console.as_("Ada")
    assert "Apollo" not in browser.get("/teams").text
    assert "Engineering" not in re.sub(
        "belongs to|Engineering</td>", "", browser.get("/projects").html.split("<tbody>")[1].split("Belongs to")[0]
    )
    assert "Apollo" in browser.get("/projects").text


def _places(console: Any) -> dict[str, str]:
    """Text → where it lies, in words."""
    roster = console.app.core.rosters.current(console.organization.organization.id)
    with console.app.core.storage.begin(console.organization.operator) as transaction:
        found = transaction.all_memories(None, 1000)
    return {
        memory.content: roster.groups[memory.place.group].slug
        if memory.place.group
        else roster.people[memory.place.person].name
        if memory.place.person
        else "everybody"
        for memory in found
    }


def test_a_group_is_never_removed_without_a_choice(console: Any) -> None:
    console.remember("Bo", "The crane is blue", team="engineering")
    browser = console.as_("Ada")
    path = f"/groups/{_group(console, 'engineering')}/remove"
    for to in ({}, {"to": "nowhere"}, {"to": _group(console, "engineering")}):
        page = browser.post(path, **to)
        assert page.status == 422
        assert "Choose what becomes" in page.element("error-summary")
    assert browser.post(path, to="authors").status == 200
    assert _places(console) == {"The crane is blue": "engineering"}
    assert "group.ask_removal" not in console.audit()
    assert console.as_("Ed").get(path).status == 404


def test_memories_go_back_to_their_authors(console: Any) -> None:
    console.remember("Bo", "The crane is blue", team="engineering")
    _join(console, "engineering", "Ada")
    held = console.remember("Bo", "The salary of the mate", team="engineering")
    forgotten = console.remember("Bo", "An old thing", team="engineering")
    bo = console.as_("Bo")
    bo.get(f"/memories/{forgotten}/forget")
    bo.post(f"/memories/{forgotten}/forget", reason="", version="1")
    browser = console.as_("Ada")
    path = f"/groups/{_group(console, 'engineering')}/remove"
    told = browser.post(path, to="authors").element("consequence")
    assert "1 memory that you may read lies in it" in told
    assert "Nobody gains reading. Will no longer read some of them: Ada" in told
    assert "salary" not in told
    page = browser.post(path, to="authors", shown="authors")
    assert "Engineering is removed." in page.element("toast")
    assert set(_places(console).values()) == {"Bo"}
    assert console.as_("Bo").get(f"/memories/{held}").status == 200
    assert "An old thing" in bo.get("/memories?filter=forgotten").text or "An old thing" in bo.get("/memories?state=forgotten").text
    assert [action for action in console.audit() if action.startswith("group.")] == ["group.member", "group.ask_removal", "group.remove"]
    assert browser.get(f"/groups/{_group(console, 'engineering')}").status == 404


def test_what_the_actor_may_not_read_goes_to_nobody_new(console: Any) -> None:
    console.remember("Bo", "The crane is blue", team="engineering")
    for name in ("Bo", "Ed"):
        _join(console, "people-ops", name)
    for name in ("Ed", "Ada"):
        _join(console, "engineering", name)
    console.remember("Bo", "The salary of the mate", team="engineering")
    browser = console.as_("Ada")
    path, to = f"/groups/{_group(console, 'engineering')}/remove", _group(console, "people-ops")
    told = browser.post(path, to=to).element("consequence")
    assert "1 memory that you may read" in told
    assert "Will read some of them: Di" in told
    browser.post(path, to=to, shown=to)
    assert _places(console) == {"The crane is blue": "people-ops", "The salary of the mate": "Bo"}
    assert _finds(console, "Di", "crane") == 1
    assert _finds(console, "Ed", "salary") == 0
    with console.app.core.storage.begin(console.organization.operator) as transaction:
        acts = [row.act for row in transaction.audit_rows(0, 1000) if row.act.action == "memory.change_scope"]
    assert {act.approved_via.value for act in acts} == {"person", "none"}
    assert {act.actor for act in acts} == {_id(console, "Ada")}


def test_a_removal_that_was_stopped_goes_on_by_itself(console: Any) -> None:
    from memscope.upkeep.emptying import AUTHORS, ask_removal, empty_group, removal
    from memscope.upkeep.runner import run_due

    for number in range(5):
        console.remember("Bo", f"Note {number}", team="engineering")
    organization, group = console.organization.organization.id, _group(console, "engineering")
    console.as_("Ada")
    connections = _console_principal(console, "Ada")
    ask_removal(console.app.core, connections, group, AUTHORS)
    job = empty_group(console.app.core, organization, group)
    next(job)
    next(job)
    job.close()
    decided = removal(console.app.core, organization, group)
    assert decided is not None and decided["moved"] == 2
    page = console.as_("Ada").get(f"/groups/{group}")
    assert "is being removed" in page.text
    console.remember("Bo", "A late one", team="engineering")
    run_due(console.app.core)
    assert removal(console.app.core, organization, group) is None
    assert group not in console.app.core.rosters.current(organization).groups
    assert set(_places(console).values()) == {"Bo"}


def _console_principal(console: Any, name: str) -> Any:
    from memscope.model.organization import ConnectionKind
    from memscope.model.principal import Principal
    from memscope.organizations.signing_in import console_connection

    organization, person = console.organization.organization.id, _id(console, name)
    connection = console_connection(console.app.core, organization, person)
    return Principal(organization, person, connection.id, ConnectionKind.CONSOLE, connection.client)
