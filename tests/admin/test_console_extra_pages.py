"""Pages that plugins add to the console: the example of the documentation, and those that are refused."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).parents[2] / "docs" / "plugins.md"
GUARDS = Path(__file__).parents[1] / "data" / "plain_guards.py"
HEAD = """
from flask import Blueprint
from memscope.hookspecs import hookimpl
from memscope_admin.hookspecs import ConsolePage
page = Blueprint({name!r}, __name__)

@page.get({path!r})
def index():
    {body}

@hookimpl
def memscope_admin_pages(app):
    return [{pages}]
"""
BROKEN = {
    "roleless": HEAD.format(name="roleless", path="/", body="return 'x'", pages="ConsolePage(page, 'Roleless')"),
    "oddrole": HEAD.format(name="oddrole", path="/", body="return 'x'", pages="ConsolePage(page, 'Odd', 'anybody')"),
    "taken": HEAD.format(name="review", path="/", body="return 'x'", pages="ConsolePage(page, 'Review too', 'everybody')"),
    "nowhere": HEAD.format(name="nowhere", path="/deep", body="return 'x'", pages="ConsolePage(page, 'Nowhere', 'everybody')"),
    "climbs": HEAD.format(name="Climbs", path="/", body="return 'x'", pages="ConsolePage(page, 'Climbs', 'everybody')"),
    "raising": HEAD.format(name="raising", path="/", body="return 'x'", pages="1 / 0"),
    "nopage": HEAD.format(name="nopage", path="/", body="return 'x'", pages="'a page'"),
}


@pytest.fixture
def extended(tmp_path: Path, set_console: Any) -> Any:
    """Harbor with the example's page, one for owners, one whose view fails, and several that are refused."""
    folder = tmp_path / "plugins"
    folder.mkdir()
    example = re.search(r"```python\n# handoffs\.py\n(.*?)```", DOCS.read_text(), re.DOTALL)
    assert example is not None
    files = {
        "handoffs": example[1],
        "fails": HEAD.format(name="fails", path="/", body="raise RuntimeError('tide')", pages="ConsolePage(page, 'Fails', 'admins')"),
        "owned": HEAD.format(name="owned", path="/", body="return 'owned'", pages="ConsolePage(page, 'Owned', 'owners', 'r')"),
        **BROKEN,
    }
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    return set_console(MEMSCOPE_PLUGINS_FILES=",".join([str(GUARDS), *(str(folder / f"{name}.py") for name in files)]))


def test_the_page_of_the_documentation_is_a_page_like_any_other(extended: Any) -> None:
    from memscope.model.memory import Kind

    number = extended.remember("Ed", "The winch <b>sticks</b>", kind=Kind.HANDOFF, run_id="night", project="apollo")
    browser = extended.as_("Ed")
    home = browser.get("/")
    assert 'href="/admin/x/handoffs/" data-go="h"' in home.html
    page = browser.get("/x/handoffs/")
    assert "The winch &lt;b&gt;sticks" in page.html
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    assert 'aria-current="page">Handoffs' in page.html
    assert browser.post("/x/handoffs/", token="", seen=str(number)).status == 400
    browser.get("/x/handoffs/")
    assert "No handoff note waits" in browser.post("/x/handoffs/", seen=str(number)).text
    assert "The winch" not in extended.as_("Di").get("/x/handoffs/").text
    assert "/admin/login?next=/x/handoffs/" in extended.browser().get("/x/handoffs/").url


def test_a_page_is_for_those_whom_it_names(extended: Any) -> None:
    assert extended.as_("Ed").get("/x/owned/").text == "owned"
    bo = extended.as_("Bo")
    assert bo.get("/x/owned/").status == bo.get("/x/fails/").status == 404
    home = extended.as_("Ada").get("/").html
    assert 'data-go="r"' in home
    assert 'href="/admin/x/owned/">Owned' in home, "its key is taken, so it has none"
    assert "/x/owned/" not in bo.get("/").html


def test_a_view_that_fails_answers_with_our_page_and_counts_against_its_plugin(extended: Any) -> None:
    ada = extended.as_("Ada")
    page = ada.get("/x/fails/")
    assert page.status == 500
    assert "Something went wrong" in page.text
    assert "tide" not in page.text
    assert extended.app.core.hooks.statistics["fails"].errors == 1


def test_pages_that_will_not_do_lose_themselves_alone(extended: Any) -> None:
    ada = extended.as_("Ada")
    menu = ada.get("/").text
    for name in BROKEN:
        assert extended.app.core.hooks.statistics[name].errors == 1, name
        assert ada.get(f"/x/{name}/").status == 404
    assert "Roleless" not in menu
    assert "Review too" not in menu
    assert ada.get("/people").status == ada.get("/x/handoffs/").status == 200
    plugins = ada.get("/plugins").text
    assert "does not say for whom it is" in plugins


def test_a_hook_that_nobody_declares_is_still_a_mistake(tmp_path: Path) -> None:
    from memscope.plugin_manager import Plugins
    from memscope.settings import load

    (tmp_path / "optional.py").write_text(
        "from memscope.hookspecs import hookimpl\n\n@hookimpl(optionalhook=True)\ndef memscope_admin_pages(app):\n    return []\n"
    )
    (tmp_path / "wrong.py").write_text(
        "from memscope.hookspecs import hookimpl\n\n@hookimpl\ndef memscope_admin_pagse(app):\n    return []\n"
    )
    config = tmp_path / "memscope.toml"
    config.write_text(f'[plugins]\nfiles = ["{tmp_path}/optional.py", "{tmp_path}/wrong.py"]\nblocked = ["admin"]\n')
    report = {info.name: info for info in Plugins(load(config, {}, data_dir=tmp_path).plugins).report}
    assert (report["optional"].state, report["optional"].hooks) == ("active", ())
    assert report["wrong"].state == "failed"
    assert "there is no hook memscope_admin_pagse" in (report["wrong"].error or "")
