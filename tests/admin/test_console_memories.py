"""Memories and who can read them."""

from __future__ import annotations

import re
from typing import Any

from memscope.memories.explain import explain_memory


def _body(page: Any, number: int | str) -> str:
    return re.sub(r'value="[^"]{40,}"', "", page.html).replace(str(number), "N")


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
    assert page.url.endswith("/admin/memories?filter=forgotten")
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
    page = console.as_("Bo").get("/memories?filter=wrong&kind=odd")
    assert "There is no list wrong." in page.text
    assert "There is no kind odd." in page.text
    assert "The crane is blue" in page.text
    assert console.as_("Bo").get("/memories?cursor=wrong").status == 422


def test_the_simulator_tells_the_rules_that_explain_memory_tells(console: Any) -> None:
    number = console.remember("Di", "The salary of the cook", team="people-ops")
    bo = console.organization.people["Bo"]
    console.as_("Di")
    page = console.as_("Di").get(f"/access?memory={number}")
    assert page.element("answer").startswith("Di can read it")
    organization = console.remember("Ada", "Harbour rules", scope=_organization())
    page = console.as_("Ada").get(f"/access?memory={organization}&person={bo.id}")
    told = explain_memory(console.app.core, console.agent("Ada"), str(organization), bo.email)
    assert re.findall(r'data-rule="(\w+)" data-passed="(\w+)"', page.html) == [(rule.rule, str(rule.passed).lower()) for rule in told.rules]
    assert page.element("answer").startswith("Bo can read it")


def test_members_ask_about_themselves_alone(console: Any) -> None:
    number = console.remember("Bo", "The crane is blue", team="engineering")
    browser = console.as_("Bo")
    assert "ada@harbor.example" not in browser.get("/access").html
    ada = console.organization.people["Ada"].id
    assert browser.get(f"/access?memory={number}&person={ada}").status == 422


def _organization() -> Any:
    from memscope.model.audience import Scope

    return Scope.ORGANIZATION


def test_the_simulator_names_the_smallest_remedies_and_they_do_help(console: Any) -> None:
    number = console.remember("Ada", "The salary of the cook", scope=_organization())
    browser = console.as_("Ada")
    bo, di = console.organization.people["Bo"], console.organization.people["Di"]
    page = browser.get(f"/access?memory={number}&person={bo.id}")
    assert page.element("answer").startswith("Bo cannot read it")
    group = console.organization.groups["people-ops"].id
    assert "put them into the team People Ops" in page.element("remedies")
    browser.get(f"/groups/{group}")
    browser.post(f"/groups/{group}/members", person=bo.id, role="member")
    assert browser.get(f"/access?memory={number}&person={bo.id}").element("answer").startswith("Bo can read it")
    assert browser.get(f"/access?memory={number}&person={di.id}").element("answer").startswith("Di can read it")


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
