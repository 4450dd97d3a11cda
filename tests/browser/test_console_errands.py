"""Errands of people in the console, in a real browser."""

from __future__ import annotations

from typing import Any

import pytest

from memscope.approvals.consent import Consent
from memscope.errors import ConfirmRequired
from memscope.memories.recall import Recall, recall
from memscope.memories.remember import Remember, remember
from memscope.memories.trash import Forget, forget_memory
from memscope.model.audience import Scope
from memscope.model.organization import Confirmation, ConnectionKind
from memscope.model.principal import Principal
from memscope.organizations.setting_up import first_organization, make_link
from memscope.organizations.signing_in import authenticate


def _agent(site: Any, name: str) -> Principal:
    connection = site.organization.connections[name]
    return Principal(site.organization.organization.id, connection.person, connection.id, ConnectionKind.TOKEN, connection.client)


def test_a_new_server_is_set_up_from_its_link_to_the_first_call(fresh: Any) -> None:
    organization = first_organization(fresh.app.core)
    assert organization is not None
    page = fresh.page()
    page.goto(f"{fresh.url}/admin/setup/{make_link(fresh.app.core, organization.id)}")
    assert page.url == f"{fresh.url}/admin/setup/account"
    page.get_by_label("Your name").fill("Ada")
    page.get_by_label("E-mail address").fill("ada@quay.example")
    page.get_by_label("Password").fill("a quiet harbour at six")
    page.get_by_role("button", name="Go on").click()
    page.get_by_role("link", name="Later: skip this step").click()
    page.get_by_label("Name of the organization").fill("Quay")
    page.get_by_label("Short name").fill("quay")
    page.get_by_role("button", name="Save and go on").click()
    page.get_by_label("People", exact=True).fill("bo@quay.example, Bo, Deck")
    page.get_by_role("button", name="Add them").click()
    page.get_by_role("link", name="Go on").click()
    page.get_by_label("HR").select_option("Deck")
    page.get_by_role("button", name="Save and go on").click()
    page.get_by_role("button", name="Make a token").click()
    token = page.locator("[data-t=token-once]").inner_text()
    assert page.get_by_text("Waiting for the first call").is_visible()
    principal = authenticate(fresh.app.core, fresh.app.identities, token)
    assert principal is not None
    remember(fresh.app.core, principal, Remember("The first memory"))
    page.get_by_text("The first call was received.").wait_for()
    page.get_by_role("link", name="Done").click()
    assert page.get_by_text("The first memory").is_visible()


def test_the_queue_is_cleared_by_keyboard_alone(site: Any) -> None:
    first = site.remember("Bo", "The quarterly forecast is bleak", scope=Scope.ORGANIZATION)
    second = site.remember("Bo", "The quarterly forecast is bright", team="engineering")
    third = site.remember("Bo", "The quarterly forecast of next year", team="engineering")
    page = site.page("Ada")
    page.keyboard.press("g")
    page.keyboard.press("r")
    page.locator("[data-t=review-item]").first.wait_for()
    assert page.locator("[data-t=review-item]").count() == 3
    assert page.locator("[data-t=review-evidence]").first.inner_text().startswith("quarterly forecast")
    page.keyboard.press("a")
    page.get_by_role("status").get_by_text(f"Approved: memory {first}").wait_for()
    page.keyboard.press("z")
    page.get_by_role("status").get_by_text(f"Taken back: memory {first}").wait_for()
    page.keyboard.press("a")
    page.get_by_role("status").get_by_text(f"Approved: memory {first}").wait_for()
    page.keyboard.press("t")
    page.get_by_role("status").get_by_text(f"Tightened: memory {second}").wait_for()
    page.keyboard.press("?")
    assert page.get_by_role("dialog").is_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("r")
    page.keyboard.type("Team People")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Show who reads it there").focus()
    page.keyboard.press("Enter")
    page.get_by_text("Will be able to read it: Di").wait_for()
    page.locator("body").evaluate("document.activeElement.blur()")
    page.keyboard.press("r")
    page.get_by_role("status").get_by_text(f"Rerouted: memory {third}").wait_for()
    assert page.get_by_text("Nothing waits for you.").is_visible()
    found = [result.number for result in recall(site.app.core, _agent(site, "Di"), Recall("quarterly forecast")).results]
    assert found == [third]


def test_single_keys_can_be_switched_off(site: Any) -> None:
    site.remember("Bo", "The quarterly forecast is bleak", team="engineering")
    page = site.page("Ada")
    page.goto(f"{site.url}/admin/me/preferences")
    page.get_by_label("Single keys").uncheck()
    page.get_by_label("Dark").check()
    page.get_by_role("button", name="Save").click()
    page.get_by_role("status").get_by_text("Saved.").wait_for()
    page.goto(f"{site.url}/admin/review")
    page.keyboard.press("a")
    assert page.get_by_role("button", name="Approve").is_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(17, 22, 29)"


def test_an_agents_question_is_answered_by_its_link(site: Any) -> None:
    from dataclasses import replace

    from memscope.model.audit import Act

    with site.app.core.storage.begin(site.organization.operator, Act("organization.change")) as transaction:
        transaction.write_organization(replace(site.organization.organization, confirmation=Confirmation.CONSOLE))
    number = site.remember("Bo", "The crane is blue")

    def forget() -> None:
        forget_memory(site.app.core, _agent(site, "Bo"), Forget(str(number), "repainted"), Consent(confirm_human=True))

    with pytest.raises(ConfirmRequired) as asked:
        forget()
    site.page("Bo").context.close()
    page = site.page()
    page.goto(site.url + "/admin" + asked.value.details["approval_url"].split("/admin")[1])
    page.get_by_label("E-mail address").fill("bo@harbor.example")
    page.get_by_label("Password").fill("a long password of Bo")
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("heading", name="test client wants to forget a memory").wait_for()
    assert page.get_by_text("repainted").is_visible()
    page.get_by_role("button", name="Approve").click()
    page.get_by_role("status").get_by_text("Approved.").wait_for()
    forget()


def test_a_memory_is_corrected_moved_and_its_readers_explained(site: Any) -> None:
    number = site.remember("Bo", "The crane is blue", team="engineering")
    page = site.page("Bo")
    page.goto(f"{site.url}/admin/memories?q=crane")
    page.get_by_role("link", name="The crane is blue").click()
    page.get_by_role("link", name="Correct").click()
    page.get_by_label("Text").fill("The crane is red")
    page.get_by_role("button", name="Save").click()
    assert "blue" in page.locator("del").inner_text()
    assert "red" in page.locator("ins").inner_text()
    page.get_by_role("link", name="Move").click()
    page.get_by_label("Who it is for").select_option("Everybody in the organization")
    page.get_by_role("button", name="Show who reads it there").click()
    assert "3 people" in page.locator("[data-t=consequence]").inner_text()
    page.get_by_role("button", name="Move it").click()
    page.get_by_role("status").get_by_text("Moved.").wait_for()
    page = site.page("Ada")
    page.goto(f"{site.url}/admin/memories/{number}")
    page.get_by_role("link", name="Who can read this").click()
    page.get_by_label("Person").select_option(label="Cy (cy@harbor.example)")
    page.get_by_role("button", name="Explain").click()
    assert page.get_by_role("heading", name=f"Cy cannot read #{number}").is_visible()
    failed = page.locator("[data-t=rule][data-passed=false]")
    assert failed.get_attribute("data-rule") == "clearance"
    assert page.get_by_text("make the memory public").is_visible()


def test_a_topic_is_tried_and_mapped_and_people_are_put_in_its_team(site: Any) -> None:
    page = site.page("Ada")
    page.goto(f"{site.url}/admin/topics/legal")
    page.get_by_label("Phrases that speak of it").fill("harbour court")
    page.get_by_label("People Ops").check()
    page.get_by_label("Try a text").fill("The harbour court decides on Friday")
    page.get_by_role("button", name="Try it").click()
    assert "no topic" in page.locator("[data-t=bench-now]").inner_text()
    assert "Legal" in page.locator("[data-t=bench-draft]").inner_text()
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_role("status").get_by_text("Saved").wait_for()
    site.remember("Ed", "The harbour court decides on Friday", scope=Scope.ORGANIZATION)
    assert recall(site.app.core, _agent(site, "Bo"), Recall("harbour court")).results == ()
    page.get_by_role("link", name="Teams and projects").click()
    page.get_by_role("link", name="People Ops").click()
    page.get_by_label("Person").select_option(label="Bo (bo@harbor.example)")
    page.get_by_role("button", name="Put in").click()
    page.get_by_role("button", name="Make member").click()
    page.get_by_role("status").get_by_text("Bo is member of People Ops").wait_for()
    assert len(recall(site.app.core, _agent(site, "Bo"), Recall("harbour court")).results) == 1


def test_somebody_is_invited_disabled_and_out(site: Any) -> None:
    page = site.page("Ada")
    page.get_by_role("link", name="People", exact=True).click()
    page.get_by_role("link", name="Add somebody").click()
    page.get_by_label("E-mail address").fill("fay@harbor.example")
    page.get_by_label("Name").fill("Fay")
    page.get_by_role("button", name="Add, and make").click()
    link = page.locator("[data-t=token-once]").inner_text()
    guest = site.page()
    guest.goto(link)
    guest.get_by_label("New password").fill("an entirely new word")
    guest.get_by_role("button", name="Set it").click()
    guest.get_by_role("heading", name="Overview").wait_for()
    page.get_by_role("link", name="To Fay").click()
    page.get_by_role("button", name="Disable").click()
    page.get_by_role("status").get_by_text("Fay is disabled").wait_for()
    guest.get_by_role("link", name="Memories", exact=True).click()
    guest.get_by_role("heading", name="Sign in").wait_for()


def test_everything_works_without_script(site: Any) -> None:
    number = site.remember("Bo", "The quarterly forecast is bleak", team="engineering")
    page = site.page("Ada", java_script_enabled=False)
    page.get_by_role("link", name="Review", exact=True).click()
    page.get_by_role("button", name="Approve").click()
    page.get_by_role("status").get_by_text(f"Approved: memory {number}").wait_for()
