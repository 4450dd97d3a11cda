"""Memories and who can read them."""

from __future__ import annotations

import re
from typing import Any

from memscope.memories.explain import explain_memory


def _body(page: Any, number: int | str) -> str:
    return re.sub(r'value="[^"]{40,}"|X-CSRFToken[^}]+', "", page.html).replace(str(number), "N")


def test_a_memory_is_corrected_moved_forgotten_and_restored(console: Any) -> None:
    number = console.remember("Bo", "The crane is blue", team="engineering")
    browser = console.as_("Bo")
    browser.get(f"/memories/{number}/correct")
    page = browser.post(f"/memories/{number}/correct", new_content="The crane is red", version="1")
    assert "version 2" in page.element("toast")
    assert "<del>" in page.html
    assert "blue" in page.html.split("<del>")[1].split("</del>")[0]
    assert "red" in page.html.split("<ins>")[1].split("</ins>")[0]

    page = browser.get(f"/memories/{number}/move?place=organization")
    assert "Will be able to read it" in page.element("consequence")
    assert "memory.change_scope" not in console.audit(), "only shown"
    page = browser.post(f"/memories/{number}/move", place="organization", version="2")
    assert "Moved" in page.element("toast")
    assert "everybody" in page.text

    page = browser.get(f"/memories/{number}/forget")
    assert "Nobody gains reading" in page.element("consequence")
    page = browser.post(f"/memories/{number}/forget", version="3")
    assert page.url.endswith("/admin/me/trash")
    assert browser.get(f"/memories/{number}").status == 404
    page = browser.post(f"/memories/{number}/restore")
    assert "Restored" in page.element("toast")
    assert console.audit()[-4:] == ["memory.correct", "memory.change_scope", "memory.forget", "memory.restore"]


def test_the_sensitivity_is_changed_after_its_consequence_was_seen(console: Any) -> None:
    number = console.remember("Ed", "Fenders are orange", project="apollo")
    browser = console.as_("Ed")
    assert "Nobody gains" in browser.get(f"/memories/{number}/sensitivity?sensitivity=restricted").element("consequence")
    page = browser.post(f"/memories/{number}/sensitivity", sensitivity="restricted", version="1")
    assert "is changed" in page.element("toast")
    assert 'class="badge level-restricted"' in page.html


def test_a_choice_that_is_none_is_refused(console: Any) -> None:
    number = console.remember("Ed", "Fenders are orange", project="apollo")
    browser = console.as_("Ed")
    for path in ("sensitivity?sensitivity=secret", "move?place=planet", "move?place=team:nowhere"):
        page = browser.get(f"/memories/{number}/{path}")
        assert page.status == 422
        assert "CSRF" not in page.element("error-summary")
    assert 'data-t="error-summary"' not in browser.get(f"/memories/{number}/forget").html
    assert browser.post(f"/memories/{number}/sensitivity", sensitivity="secret", version="1").status == 422


def test_what_one_may_not_read_is_what_does_not_exist(console: Any) -> None:
    hidden = console.remember("Bo", "A secret of mine")
    for name in ("Ada", "Di", "Cy"):
        browser = console.as_(name)
        for path in ("/memories/{}", "/memories/{}/correct", "/memories/{}/move", "/memories/{}/forget", "/access?memory={}"):
            there, never = browser.get(path.format(hidden)), browser.get(path.format(123456789))
            assert there.status == never.status == 404
            assert _body(there, hidden) == _body(never, 123456789)
        assert "A secret" not in browser.get("/memories").text
        assert "A secret" not in browser.get("/memories?q=secret").text


def test_a_stale_correction_shows_both_texts(console: Any) -> None:
    number = console.remember("Bo", "The crane is blue")
    browser = console.as_("Bo")
    browser.get(f"/memories/{number}/correct")
    browser.post(f"/memories/{number}/correct", new_content="The crane is red", version="1")
    page = browser.post(f"/memories/{number}/correct", new_content="The crane is green", version="1")
    assert page.status == 409
    assert "Somebody was faster" in page.text
    assert "The crane is green" in page.html.split("<textarea")[1]


def test_any_two_versions_are_compared(console: Any) -> None:
    number = console.remember("Bo", "The crane is blue")
    browser = console.as_("Bo")
    browser.get(f"/memories/{number}/correct")
    for version, colour in enumerate(("red", "green"), start=1):
        browser.post(f"/memories/{number}/correct", new_content=f"The crane is {colour}", version=str(version))
    for query, old, new in (
        ("", "red", "green"),
        ("?from=1&to=3", "blue", "green"),
        ("?from=2&to=1", "blue", "red"),
        ("?from=x&to=9", "red", "green"),
    ):
        page = browser.get(f"/memories/{number}{query}")
        assert old in page.html.split("<del>")[1].split("</del>")[0]
        assert new in page.html.split("<ins>")[1].split("</ins>")[0]


def test_a_stale_change_shows_what_there_is_now_and_asks_anew(console: Any) -> None:
    number = console.remember("Bo", "The crane is blue", team="engineering")
    browser = console.as_("Bo")
    browser.get(f"/memories/{number}/correct")
    browser.post(f"/memories/{number}/correct", new_content="The crane is red", version="1")
    for path, fields in (("move", {"place": "organization"}), ("forget", {}), ("sensitivity", {"sensitivity": "restricted"})):
        page = browser.post(f"/memories/{number}/{path}", version="1", **fields)
        assert page.status == 409
        assert "Somebody was faster" in page.element("error-summary")
        assert "red" in page.html.split("<ins>")[1].split("</ins>")[0]
        assert 'name="version" value="2"' in page.html
    assert console.audit().count("memory.forget") == 0


def test_links_to_older_newer_and_related_memories(console: Any) -> None:
    old, new = console.remember("Bo", "The crane is blue"), console.remember("Bo", "The crane is blue and red")
    hidden = console.remember("Ada", "The crane is blue, says Ada")
    browser = console.as_("Bo")
    browser.get(f"/memories/{old}/supersede")
    browser.post(f"/memories/{old}/supersede", replaced_by=str(new), version="1")
    assert f'/memories/{new}"' in browser.get(f"/memories/{old}").html
    page = browser.get(f"/memories/{new}?related=yes")
    assert f'/memories/{old}"' in page.html
    assert str(hidden) not in page.html


def test_too_long_a_text_is_refused_and_kept(console: Any) -> None:
    number = console.remember("Bo", "The crane is blue")
    browser = console.as_("Bo")
    browser.get(f"/memories/{number}/correct")
    page = browser.post(f"/memories/{number}/correct", new_content="x" * 8001, version="1")
    assert page.status == 422
    assert "at most 8000" in page.element("error-summary")
    assert "x" * 8001 in page.html
    assert browser.post(f"/memories/{number}/correct", new_content="x" * 300_000, version="1").status == 413


def test_searching_finds_as_recall_does(console: Any) -> None:
    console.remember("Bo", "The crane is blue", team="engineering")
    console.remember("Bo", "The kettle is full", team="engineering")
    page = console.as_("Bo").get("/memories?q=crane")
    assert "The crane is blue" in page.text
    assert "score" in page.text
    assert "Nothing matches" in console.as_("Di").get("/memories?q=crane").text


def test_pages_of_fifty_follow_each_other(console: Any) -> None:
    for number in range(53):
        console.remember("Bo", f"Note {number:02} of the day")
    browser = console.as_("Bo")
    page = browser.get("/memories")
    assert page.html.count("of the day") == 50
    following = re.search(r'href="/admin(/memories\?cursor=[^"]+)"', page.html)
    assert following is not None
    assert browser.get(following[1]).html.count("of the day") == 3


def test_unknown_filters_are_named_and_left_out(console: Any) -> None:
    console.remember("Bo", "The crane is blue")
    browser = console.as_("Bo")
    page = browser.get("/memories?filter=wrong&kind=odd")
    assert page.status == 422
    assert "There is no filter filter; it is left out." in page.element("error-summary")
    assert "there is no kind odd" in page.element("error-summary")
    assert "The crane is blue" in page.text
    page = browser.get("/memories", f="colour:blue crane text: kind:fact kind:note")
    for text in ("There is no filter colour", "text: says nothing", "kind: is there twice"):
        assert text in page.element("error-summary")
    assert page.status == 200
    assert browser.get("/memories?cursor=wrong").status == 422
    assert browser.get("/memories?sort=wrong").status == 422


def test_wrong_values_are_named(console: Any) -> None:
    console.remember("Bo", "The crane is blue")
    browser = console.as_("Bo")
    for line, text in {
        "before:yesterday": "before must be an ISO date",
        "after:2026-13-01": "after must be an ISO date",
        "after:2026-02-01 before:2026-01-01": "must come after after:",
        "team:nowhere": "there is no team nowhere",
        "project:nowhere": "there is no project nowhere",
        "topic:nothing": "there is no topic nothing",
        "scope:planet": "there is no scope planet",
        "sensitivity:secret": "there is no level secret",
        "state:solid": "there is no state solid",
        "author:nobody": "nobody is called nobody",
        f"agent:{'x' * 65}": "has at most 64 characters",
        "text:the": "says nothing to search for",
        "state:forgotten crane": "the trash is not searched by words",
    }.items():
        page = browser.get("/memories", f=line)
        assert page.status == 422, line
        assert text in page.element("error-summary"), line
    assert browser.get("/memories?text=%00crane").status == 200


def test_typed_and_picked_filters_end_in_the_same_address(console: Any) -> None:
    number = console.remember("Bo", "The crane is blue", team="engineering", agent="planner one", run_id="r1")
    console.remember("Bo", "The kettle is full", team="engineering")
    browser = console.as_("Bo")
    typed = browser.get("/memories", f='AUTHOR:bo crane agent:"planner one" team:engineering')
    picked = browser.get("/memories", text="crane", team="engineering", author="bo", agent="planner one", scope="", kind="")
    assert typed.url == picked.url == browser.get(typed.url.split("/admin")[1]).url
    assert f"/memories/{number}" in picked.html
    assert "kettle" not in picked.text
    assert 'value="text:crane team:engineering author:bo agent:&#34;planner one&#34;"' in picked.html
    without = re.search(r'href="(/admin/memories[^"]*)" class="chip"><span>text', picked.html)
    assert without is not None
    assert "text=" not in without[1]


def test_each_filter_leaves_what_it_says(console: Any) -> None:
    from datetime import timedelta

    said = {
        "one": console.remember("Bo", "The crane is blue", team="engineering", kind=_kind("decision"), run_id="r1"),
        "two": console.remember("Bo", "The kettle is full"),
        "three": console.remember("Ada", "Harbour rules", scope=_organization()),
        "held": console.remember("Bo", "The quarterly forecast is bleak", team="engineering"),
        "late": console.remember("Bo", "A visit", valid_until=(console.clock() + timedelta(days=3)).date().isoformat()),
    }
    browser = console.as_("Bo")
    for line, expected in {
        "": {"one", "two", "three", "held", "late"},
        "scope:personal": {"two", "late"},
        "scope:organization": {"three"},
        "team:Engineering": {"one", "held"},
        "kind:decision": {"one"},
        "author:ada": {"three"},
        "author:me kind:decision": {"one"},
        "run:r1": {"one"},
        "topic:finance": {"held"},
        "sensitivity:restricted": {"held"},
        "state:held": {"held"},
        "state:review": {"held"},
        "state:flagged": {"held"},
        "state:current": {"one", "two", "three", "late"},
        "state:expiring": {"late"},
        "state:expired": set(),
        "state:superseded": set(),
        "after:2020-01-01": {"one", "two", "three", "held", "late"},
        "before:2020-01-01": set(),
        "crane": {"one"},
        "bleak forecast": {"held"},
    }.items():
        page = browser.get("/memories", f=line)
        assert page.status == 200, line
        assert {name for name, number in said.items() if f'/memories/{number}"' in page.html} == expected, line
    page = browser.get("/memories", f="kettle kind:fact")
    assert "Nothing matches." in page.element("empty")
    assert page.html.count('class="chip"') == 4, "above and in the empty state"
    assert "hidden" not in page.element("empty")


def test_searching_as_recall_does_leaves_out_what_recall_lacks(console: Any) -> None:
    console.remember("Bo", "The crane is blue", team="engineering")
    page = console.as_("Bo").get("/memories?recall=yes&text=crane&state=held&team=engineering")
    assert "state: is left out" in page.element("error-summary")
    assert "score" in page.text
    assert "Write what to search for" in console.as_("Bo").get("/memories?recall=yes").text


def test_lists_are_sorted_by_their_headers(console: Any) -> None:
    first, second = console.remember("Bo", "The crane is blue"), console.remember("Bo", "The kettle is full")
    browser = console.as_("Bo")
    browser.get(f"/memories/{first}/correct")
    browser.post(f"/memories/{first}/correct", new_content="The crane is red", version="1")

    def order(path: str) -> list[int]:
        html = browser.get(path).html
        return sorted((first, second), key=lambda number: html.index(f"/memories/{number}"))

    assert order("/memories") == [second, first]
    assert order("/memories?sort=saved") == [first, second]
    assert order("/memories?sort=-changed") == [first, second]
    assert order("/memories?sort=changed") == [second, first]
    assert 'aria-sort="descending"' in browser.get("/memories").html


def test_the_simulator_tells_the_rules_that_explain_memory_tells(console: Any) -> None:
    number = console.remember("Di", "The salary of the cook", team="people-ops")
    bo = console.organization.people["Bo"]
    console.as_("Di")
    page = console.as_("Di").get(f"/access?memory={number}")
    assert page.element("answer").startswith("Di can read #")
    organization = console.remember("Ada", "Harbour rules", scope=_organization())
    page = console.as_("Ada").get(f"/access?memory={organization}&person={bo.id}")
    told = explain_memory(console.app.core, console.agent("Ada"), str(organization), bo.email)
    assert re.findall(r'data-rule="(\w+)" data-passed="(\w+)"', page.html) == [(rule.rule, str(rule.passed).lower()) for rule in told.rules]
    assert page.element("answer").startswith("Bo can read #")


def test_members_ask_about_themselves_alone(console: Any) -> None:
    number = console.remember("Bo", "The crane is blue", team="engineering")
    browser = console.as_("Bo")
    assert "ada@harbor.example" not in browser.get("/access").html
    ada = console.organization.people["Ada"].id
    assert browser.get(f"/access?memory={number}&person={ada}").status == 422


def _kind(name: str) -> Any:
    from memscope.model.memory import Kind

    return Kind(name)


def _organization() -> Any:
    from memscope.model.audience import Scope

    return Scope.ORGANIZATION


def test_the_simulator_names_the_smallest_remedies_and_they_do_help(console: Any) -> None:
    number = console.remember("Ada", "The salary of the cook", scope=_organization())
    browser = console.as_("Ada")
    bo, di = console.organization.people["Bo"], console.organization.people["Di"]
    page = browser.get(f"/access?memory={number}&person={bo.id}")
    assert page.element("answer").startswith("Bo cannot read #")
    group = console.organization.groups["people-ops"].id
    assert "put them into the team People Ops" in page.element("remedies")
    browser.get(f"/groups/{group}")
    browser.post(f"/groups/{group}/members", person=bo.id, role="member")
    assert browser.get(f"/access?memory={number}&person={bo.id}").element("answer").startswith("Bo can read #")
    assert browser.get(f"/access?memory={number}&person={di.id}").element("answer").startswith("Di can read #")


def test_a_memory_is_replaced_and_the_link_taken_back(console: Any) -> None:
    old, new = console.remember("Bo", "The crane is blue"), console.remember("Bo", "The kettle is full")
    hidden = console.remember("Ada", "Mine alone")
    browser = console.as_("Bo")
    browser.get(f"/memories/{old}/supersede")
    page = browser.post(f"/memories/{old}/supersede", replaced_by=str(hidden), version="1")
    assert page.status == 422
    assert "may not read it" in page.element("error-summary")
    assert "in its place" in browser.post(f"/memories/{old}/supersede", replaced_by=str(new), version="1").element("toast")
    assert "Replaced by" in browser.get(f"/memories/{old}").text
    assert "Take the link back" in browser.get(f"/memories/{old}/supersede").text
    page = browser.post(f"/memories/{old}/supersede", replaced_by=str(new), undo="yes", version="2")
    assert "current again" in page.element("toast")
    assert browser.post(f"/memories/{old}/supersede", replaced_by=str(new), version="1").status == 422
