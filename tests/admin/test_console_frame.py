"""The frame: keys from one table, help, messages, and a page for every error."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import memscope_admin
import pytest
from memscope_admin import keys
from memscope_admin.navigation import ENTRIES

PACKAGE = Path(memscope_admin.__file__).parent
GUARDS = Path(__file__).parents[1] / "data" / "plain_guards.py"
FAILING = """
from flask import Blueprint, abort
from memscope.errors import Conflict, Forbidden, InvalidArgument, NotFound, RateLimited, Unavailable
from memscope.hookspecs import hookimpl
from memscope_admin.hookspecs import ConsolePage
page = Blueprint("failing", __name__)
ERRORS = {
    "conflict": Conflict("It changed."), "forbidden": Forbidden("Not you."), "invalid": InvalidArgument("scope", "Choose a place."),
    "missing": NotFound(), "fast": RateLimited(7), "away": Unavailable(), "broken": RuntimeError("the inside"),
}

@page.get("/")
def index():
    return "here"

@page.route("/<name>", methods=["GET", "POST"])
def fail(name):
    if name.isdecimal():
        abort(int(name))
    raise ERRORS[name]

@hookimpl
def memscope_admin_pages(app):
    return [ConsolePage(page, "Failing", "everybody")]
"""
EXPECTED = {
    "conflict": (409, "Somebody was faster"),
    "forbidden": (403, "You may not do this"),
    "invalid": (422, "This value will not do"),
    "missing": (404, "There is nothing here"),
    "fast": (429, "Wait 7 seconds"),
    "away": (503, "Not available at the moment"),
    "broken": (500, "Something went wrong"),
    "404": (404, "There is nothing here"),
    "405": (405, "does not take that"),
    "409": (409, "Somebody was faster"),
    "413": (413, "That is too much"),
    "422": (422, "This value will not do"),
    "429": (429, "Wait a little"),
    "500": (500, "This did not work"),
    "503": (503, "Try again in a moment"),
}


@pytest.fixture
def failing(tmp_path: Path, set_console: Any) -> Any:
    """Harbor with a page that fails in any way."""
    (tmp_path / "failing.py").write_text(FAILING)
    return set_console(MEMSCOPE_PLUGINS_FILES=f"{GUARDS},{tmp_path / 'failing.py'}")


@pytest.mark.parametrize("name", EXPECTED)
def test_every_error_has_a_page_in_the_frame_that_says_what_to_do(failing: Any, name: str) -> None:
    browser = failing.as_("Bo")
    page = browser.get(f"/x/failing/{name}")
    status, words = EXPECTED[name]
    assert page.status == status
    assert words in page.text
    assert 'class="menu"' in page.html or status >= 500
    assert "the inside" not in page.text
    assert "RuntimeError" not in page.text
    assert page.headers["content-security-policy"]
    assert page.headers["cache-control"] == "no-store"


def test_an_unexpected_error_shows_the_number_of_the_request_alone(failing: Any, caplog: Any) -> None:
    page = failing.as_("Bo").get("/x/failing/broken")
    found = re.search(r"under request ([0-9a-f-]{16,36})", page.text)
    assert found is not None
    assert found[1] in caplog.text


def test_what_was_typed_is_kept_when_a_form_was_open_too_long(console: Any) -> None:
    number = console.remember("Bo", "The crane is blue")
    browser = console.as_("Bo")
    typed = "The crane is green and much larger than it was"
    page = browser.post(f"/memories/{number}/correct", token="old", new_content=typed, new_password="a secret that is long enough")
    assert page.status == 400
    assert typed in page.text
    assert "a secret that is" not in page.text


def test_a_form_that_is_too_large_is_answered_with_a_page(console: Any) -> None:
    browser = console.as_("Bo")
    browser.get("/")
    page = browser.post("/memories/1/correct", new_content="x" * 300_000)
    assert page.status == 413
    assert "That is too much" in page.text


def test_the_key_map_is_whole_and_names_nothing_that_is_not_there(console: Any) -> None:
    known = {key for one in (*keys.EVERYWHERE, *keys.REVIEW) for key in one.keys}
    sources = [path.read_text() for path in [*(PACKAGE / "templates").rglob("*.html"), *(PACKAGE / "static").glob("*.js")]]
    used = {
        key
        for text in sources
        for names in re.findall(r'data-key="([^"{]+)"', text) + re.findall(r'decision\("[^"]+", [^,]+, "([^"]+)"', text)
        for key in names.split()
    }
    used |= {key for text in sources for key in re.findall(r'event\.key === "(\w)"|\bkey === "(.)"', text) for key in key if key}
    used = {"Shift+x" if key == "X" else key for key in used}
    assert used | {"Esc"} == known
    assert len({entry.key for entry in ENTRIES}) == len(ENTRIES)
    page = console.as_("Ada").get("/help")
    for one in (*keys.EVERYWHERE, *keys.REVIEW):
        assert page.text.count(f"{' '.join(one.keys)} {one.does}") == 2, "in the key map and on the help page"
    for entry in ENTRIES:
        assert f"g {entry.key} {entry.title}" in " ".join(page.text.split())


def test_messages_offer_to_take_back_only_through_a_form_with_its_token(console: Any) -> None:
    number = console.remember("Bo", "perhaps the crane is blue", team="engineering")
    browser = console.as_("Bo")
    browser.get("/review")
    page = browser.post(f"/review/{number}", action="approve", version="1")
    toast = page.html.split('data-t="toast"', 1)[1].split("</div>", 1)[0]
    assert re.search(r'<form method="post" action="/admin/review/undo\?decision=\w+">', toast)
    assert 'name="csrf_token"' in toast
