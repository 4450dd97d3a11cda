"""A new server, from its set-up link to the first call, in a real browser."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import expect

from memscope.memories.remember import Remember, remember
from memscope.organizations.setting_up import first_organization, make_link
from memscope.organizations.signing_in import authenticate


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
    expect(page.get_by_text("Waiting for the first call")).to_be_visible()
    principal = authenticate(fresh.app.core, fresh.app.identities, token)
    assert principal is not None
    remember(fresh.app.core, principal, Remember("The first memory"))
    page.get_by_text("The first call was received.").wait_for()
    page.get_by_role("link", name="Done").click()
    expect(page.get_by_text("The first memory")).to_be_visible()
