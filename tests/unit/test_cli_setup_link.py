"""`memscope org setup-link`, and what `memscope serve` says on a new installation."""

from __future__ import annotations

import re
from typing import Any

import pytest

from memscope.cli.serve import announce
from memscope.organizations.setting_up import LinkSpent, link_organization


def _token(text: str) -> str:
    found = re.search(r"/admin/setup/(\S+)", text)
    assert found is not None, text
    return found[1]


def test_setup_link_makes_the_first_organization_and_replaces_the_link_before(terminal: Any) -> None:
    first = _token(terminal.run("org", "setup-link").out)
    second = _token(terminal.run("org", "setup-link").out)
    app = terminal.app()
    assert link_organization(app.core, second).slug == "organization"
    with pytest.raises(LinkSpent):
        link_organization(app.core, first)


def test_setup_link_is_refused_once_there_is_an_administrator_but_for_recovering(harbor: Any) -> None:
    assert "--recover" in harbor.run("org", "setup-link", code=1).err
    assert link_organization(harbor.app().core, _token(harbor.run("org", "setup-link", "--recover").out)).slug == "harbor"


def test_a_file_applied_before_anybody_came_in_names_that_very_organization(terminal: Any) -> None:
    terminal.run("org", "setup-link")
    terminal.run("org", "apply", terminal.file("quay.toml", '[organization]\nslug = "quay"\n[[people]]\nemail = "ada@quay.example"\n'))
    (organization,) = terminal.app().core.storage.organizations()
    assert (organization.slug, organization.name) == ("quay", "quay")


def test_without_the_console_the_first_start_tells_the_commands(terminal: Any) -> None:
    app = terminal.app()
    terminal.capture.readouterr()
    announce(app, "http://127.0.0.1:8765")
    told = terminal.capture.readouterr()
    assert "org apply" in told.err
    assert told.out == ""
    assert not app.core.storage.organizations()


def test_with_the_console_the_first_start_prints_the_link_once(terminal: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMSCOPE_PLUGINS_BLOCKED", "secrets,spacy,instructions")
    app = terminal.app()
    terminal.capture.readouterr()
    announce(app, "http://127.0.0.1:8765")
    announce(app, "http://127.0.0.1:8765")
    told = terminal.capture.readouterr()
    assert told.out.count("/admin/setup/") == 1
    assert link_organization(app.core, _token(told.out)).slug == "organization"
