"""States of plugins chosen while the server runs, and what of an error is told."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from memscope_inprocess.storage import InProcessStorage

from memscope.contracts.events import Event
from memscope.errors import Unavailable
from memscope.hooks import Hooks, _told
from memscope.plugin_manager import Plugins
from memscope.plugin_states import PluginStates
from memscope.settings import PluginSettings, load
from memscope.testing.builders import harbor

ECHO = """
from memscope.contracts.secrets import SecretFinding
from memscope.hookspecs import hookimpl
from memscope.model.audience import Sensitivity

heard = []

@hookimpl
def memscope_detect_secrets(text):
    return [SecretFinding("echo", 0, 1, 0.8, Sensitivity.RESTRICTED, False, "e")] if "echo" in text else []

@hookimpl
def memscope_event(event):
    heard.append(event.action)
"""
NOW = datetime(2026, 11, 30, tzinfo=UTC)


@pytest.fixture
def hooks(tmp_path: Path) -> Hooks:
    """The hooks of a single plugin of one file."""
    file = tmp_path / "echo.py"
    file.write_text(ECHO)
    settings = load(None, {}, data_dir=tmp_path)
    blocked = ["accounts", "admin", "inprocess", "instructions", "minilm", "postgres", "secrets", "spacy"]
    return Hooks(Plugins(PluginSettings(files=[str(file)], blocked=blocked)), settings)


def heard(hooks: Hooks) -> Any:
    """What the plugin's ears heard."""
    plugin: Any = hooks._plugins.manager.get_plugin("echo")
    return plugin.heard


def test_what_is_off_is_asked_nothing_and_told_nothing(hooks: Hooks) -> None:
    states: dict[str, str] = {}
    seen: list[Any] = []
    hooks.follow(lambda: states, lambda *call: seen.append(call))
    assert hooks.detect_secrets("echo").given
    hooks.event(Event("memory.remember", "o", NOW))
    assert len(seen) == 2
    states["echo"] = "shadow"
    assert not hooks.detect_secrets("echo").given
    assert hooks.detect_secrets("echo").shadow
    hooks.event(Event("memory.correct", "o", NOW))
    states["echo"] = "off"
    found = hooks.detect_secrets("echo")
    assert (found.given, found.shadow) == ((), ())
    hooks.event(Event("memory.forget", "o", NOW))
    assert heard(hooks) == ["memory.remember", "memory.correct"]
    assert len(seen) == 5
    assert hooks.state("echo") == "off"
    assert [tried.hook for tried in hooks.try_out("echo", "echo")] == ["memscope_detect_secrets"]
    assert len(seen) == 5


def test_nothing_chosen_lifts_what_the_settings_say(tmp_path: Path) -> None:
    file = tmp_path / "echo.py"
    file.write_text(ECHO)
    hooks = Hooks(Plugins(PluginSettings(files=[str(file)], shadow=["echo"], blocked=["admin"])), load(None, {}, data_dir=tmp_path))
    hooks.follow(lambda: {"echo": "active", "admin": "active"}, lambda *_: None)
    assert (hooks.state("echo"), hooks.state("admin")) == ("shadow", "blocked")


def test_states_are_the_same_for_all_and_as_last_seen_while_storage_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    storage, organization = InProcessStorage(), harbor()
    moment = [NOW]
    homes = [None, organization.organization.id]
    one, other = (PluginStates(storage, lambda: homes[-1], lambda: moment[0]) for _ in range(2))
    assert PluginStates(storage, lambda: homes[0], lambda: NOW).states() == {}
    organization.store(storage)
    one.choose("echo", "shadow", "p", days=2)
    one.choose("other", "off", None)
    assert other.states() == {"echo": "shadow", "other": "off"}
    moment[0] += timedelta(days=2)
    assert other.states() == {"echo": "off", "other": "off"}
    other.choose("other", "active", "p")

    def away(plugin: str) -> object:
        raise Unavailable

    assert one.states() == {"echo": "off"}
    monkeypatch.setattr(storage, "records", away)
    assert one.states() == {"echo": "off"}


@pytest.mark.parametrize(
    ("message", "text", "told"),
    [
        ("model file missing", "We paint the pier blue", "model file missing"),
        ("cannot parse 'pier'", "We paint the pier blue", ""),
        ("cannot parse the PIER", "We paint the pier blue", ""),
        ("bad token sk-ab12", "the key is sk-ab12cd", ""),
        ("got 4", "salary 4000", ""),
        ("not in the cache", "It is not in the attic", "not in the cache"),
        ("", "anything", ""),
        ("a" * 500, "b", "a" * 200),
    ],
)
def test_an_errors_message_is_told_unless_it_may_quote_the_text(message: str, text: str, told: str) -> None:
    assert _told(ValueError(message), (text, object())) == ("ValueError", told)
