"""Finding plugins: foreign ones, broken ones, one-file ones, blocked, required and clashing ones."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memscope.contracts.events import Event
from memscope.contracts.guard import GuardContext
from memscope.errors import StartError
from memscope.hooks import Hooks
from memscope.model.audience import Sensitivity
from memscope.plugin_manager import Plugins
from memscope.settings import PluginSettings, load

Install = Callable[[str, str, str], None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Put a small real distribution with one plugin on the path: install(distribution, plugin name, source)."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    modules: list[str] = []

    def add(distribution: str, name: str, source: str) -> None:
        module = f"{distribution.replace('-', '_')}_{name}"
        modules.append(module)
        (folder / f"{module}.py").write_text(source)
        info = folder / f"{distribution.replace('-', '_')}-1.2.dist-info"
        info.mkdir(exist_ok=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.2\n")
        with (info / "entry_points.txt").open("a") as file:
            file.write(f"[memscope]\n{name} = {module}\n")

    yield add
    for module in modules:
        sys.modules.pop(module, None)


BADGES = """
import re
from memscope.contracts.secrets import SecretFinding
from memscope.hookspecs import hookimpl
from memscope.model.audience import Sensitivity

@hookimpl
def memscope_detect_secrets(text):
    return [SecretFinding("badge", m.start(), m.end(), 0.8, Sensitivity.RESTRICTED, False, "B-...") for m in re.finditer(r"B-[0-9]{6}", text)]
"""
RAISES = """
from memscope.hookspecs import hookimpl

@hookimpl
def memscope_classify_sensitivity(text, context):
    raise RuntimeError("quoting the text: " + text)
"""


def _info(plugins: Plugins, name: str) -> Any:
    return next(info for info in plugins.report if info.name == name)


def test_a_foreign_plugin_is_found_and_its_verdict_counts(install: Install, tmp_path: Path) -> None:
    install("harbor-badges", "badges", BADGES)
    plugins = Plugins(PluginSettings())
    info = _info(plugins, "badges")
    assert (info.distribution, info.version, info.state, info.hooks) == ("harbor-badges", "1.2", "active", ("memscope_detect_secrets",))
    found = Hooks(plugins, load(None, {}, data_dir=tmp_path)).detect_secrets("My badge is B-123456.")
    assert [
        (finding.type, finding.start, finding.end) for plugin, findings in found.values if plugin == "badges" for finding in findings
    ] == [("badge", 12, 20)]


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("import not_there_at_all", "ModuleNotFoundError"),
        ("1 +", "SyntaxError"),
        (
            "from memscope.hookspecs import hookimpl\n@hookimpl\ndef memscope_detect_secretz(text):\n    return []",
            "memscope_detect_secretz",
        ),
        ("from memscope.hookspecs import hookimpl\n@hookimpl\ndef memscope_detect_secrets(words):\n    return []", "PluginValidationError"),
    ],
)
def test_a_broken_plugin_is_reported_and_takes_no_other_with_it(install: Install, source: str, error: str) -> None:
    install("harbor-broken", "broken", source)
    plugins = Plugins(PluginSettings())
    info = _info(plugins, "broken")
    assert info.state == "failed"
    assert error in info.error
    assert _info(plugins, "accounts").state == "active"


def test_a_plugin_that_raises_loses_its_verdict_alone_and_its_words_are_not_repeated(
    install: Install, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    install("harbor-raises", "raises", RAISES)
    install("harbor-badges", "badges", BADGES)
    hooks = Hooks(Plugins(PluginSettings(blocked=["spacy"])), load(None, {}, data_dir=tmp_path))
    verdicts = hooks.classify_sensitivity("the secret plan", GuardContext())
    assert verdicts.failed == ("raises",)
    assert hooks.statistics["raises"].errors == 1
    assert "the secret plan" not in caplog.text
    assert hooks.detect_secrets("B-123456").values


def test_a_plugin_that_hangs_has_no_verdict(install: Install, tmp_path: Path) -> None:
    install(
        "harbor-hangs",
        "hangs",
        "import threading\nfrom memscope.hookspecs import hookimpl\nnever = threading.Event()\n"
        "@hookimpl\ndef memscope_classify_sensitivity(text):\n    never.wait()\n",
    )
    hooks = Hooks(
        Plugins(PluginSettings(blocked=["spacy"])),
        load(None, {"MEMSCOPE_GUARDING_TIMEOUT_MS": "50", "MEMSCOPE_GUARDING_FIRST_CALL_MS": "50"}, data_dir=tmp_path),
    )
    verdicts = hooks.classify_sensitivity("text", GuardContext())
    assert verdicts.failed == ("hangs",)
    sys.modules["harbor_hangs_hangs"].never.set()


def test_a_finding_outside_of_the_text_is_a_failure(install: Install, tmp_path: Path) -> None:
    install("harbor-badges", "badges", BADGES.replace("m.end()", "m.end() + 99"))
    hooks = Hooks(Plugins(PluginSettings(blocked=["secrets"])), load(None, {}, data_dir=tmp_path))
    assert hooks.detect_secrets("B-123456").failed == ("badges",)


def test_an_answer_of_the_wrong_type_is_a_failure(install: Install, tmp_path: Path) -> None:
    install(
        "harbor-wrong",
        "wrong",
        "from memscope.hookspecs import hookimpl\n@hookimpl\ndef memscope_classify_sensitivity(text):\n    return 'restricted'\n",
    )
    hooks = Hooks(Plugins(PluginSettings(blocked=["spacy"])), load(None, {}, data_dir=tmp_path))
    assert hooks.classify_sensitivity("text", GuardContext()).failed == ("wrong",)


def test_the_most_restrictive_of_all_verdicts_is_kept_with_its_source(install: Install, tmp_path: Path) -> None:
    level = "from memscope.hookspecs import hookimpl\nfrom memscope.contracts.sensitivity import SensitivityVerdict\nfrom memscope.model.audience import Sensitivity\n"
    for name in ("public", "restricted"):
        install(
            f"harbor-{name}",
            name,
            level
            + f"@hookimpl\ndef memscope_classify_sensitivity(text):\n    return SensitivityVerdict(Sensitivity.{name.upper()}, 0.9)\n",
        )
    hooks = Hooks(Plugins(PluginSettings(blocked=["spacy"])), load(None, {}, data_dir=tmp_path))
    values = dict(hooks.classify_sensitivity("text", GuardContext()).values)
    assert {name: verdict.sensitivity for name, verdict in values.items()} == {
        "public": Sensitivity.PUBLIC,
        "restricted": Sensitivity.RESTRICTED,
    }


def test_a_one_file_plugin_is_loaded_by_path(tmp_path: Path) -> None:
    file = tmp_path / "badges.py"
    file.write_text(BADGES)
    info = _info(Plugins(PluginSettings(files=[str(file)])), "badges")
    assert (info.distribution, info.state) == (str(file), "active")


def test_a_missing_file_plugin_is_reported(tmp_path: Path) -> None:
    info = _info(Plugins(PluginSettings(files=[str(tmp_path / "gone.py")])), "gone")
    assert info.state == "failed"
    assert "plugins.files" in info.error


def test_a_blocked_plugin_is_not_imported(install: Install) -> None:
    install("harbor-badges", "badges", "raise SystemExit('imported')")
    assert _info(Plugins(PluginSettings(blocked=["badges"])), "badges").state == "blocked"


def test_a_required_plugin_that_is_missing_or_broken_stops_the_start(install: Install) -> None:
    with pytest.raises(StartError, match="absent"):
        Plugins(PluginSettings(required=["absent"]))
    install("harbor-broken", "broken", "1/0")
    with pytest.raises(StartError, match="ZeroDivisionError"):
        Plugins(PluginSettings(required=["broken"]))


def test_two_plugins_of_one_name_stop_the_start(install: Install) -> None:
    install("harbor-a", "badges", BADGES)
    install("harbor-b", "badges", BADGES)
    with pytest.raises(StartError, match="harbor-a.*harbor-b"):
        Plugins(PluginSettings())


def test_two_providers_of_one_name_stop_the_start(install: Install, tmp_path: Path) -> None:
    install(
        "harbor-storage",
        "other",
        "from memscope.hookspecs import hookimpl\nfrom memscope.contracts.plugins import Provider\n"
        "@hookimpl\ndef memscope_storage():\n    return Provider('inprocess', lambda section, host: None)\n",
    )
    hooks = Hooks(Plugins(PluginSettings()), load(None, {}, data_dir=tmp_path))
    with pytest.raises(StartError, match="Two plugins offer a storage named inprocess"):
        hooks.storage("inprocess")


def test_a_provider_that_nobody_offers_is_named_with_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(StartError, match="named nowhere. Offered: inprocess, postgres"):
        Hooks(Plugins(PluginSettings()), load(None, {}, data_dir=tmp_path)).storage("nowhere")


PARTS = """
from memscope.contracts.plugins import Command, WebPart
from memscope.hookspecs import hookimpl

heard = []

@hookimpl
def memscope_commands():
    return [Command("hello", "Say hello.", lambda parser: None, lambda arguments, context: 0)]

@hookimpl
def memscope_web(app):
    return [WebPart("/hello", lambda scope, receive, send: None)]

@hookimpl
def memscope_event(event):
    heard.append(event.action)
    if event.action == "bad":
        raise RuntimeError("no")
"""


def test_commands_web_parts_and_events_are_collected(install: Install, tmp_path: Path) -> None:
    install("harbor-parts", "parts", PARTS)
    hooks = Hooks(Plugins(PluginSettings(blocked=["admin"])), load(None, {}, data_dir=tmp_path))
    assert [command.name for command in hooks.commands()] == ["hello"]
    assert [part.path for part in hooks.web_parts(app=None)] == ["/hello"]
    for action in ("good", "bad"):
        hooks.event(Event(action, "organization", datetime.now(UTC)))
    assert sys.modules["harbor_parts_parts"].heard == ["good", "bad"]
    assert hooks.statistics["parts"].errors == 1


def test_two_plugins_with_one_command_are_a_clash(install: Install, tmp_path: Path) -> None:
    install("harbor-parts", "parts", PARTS)
    install("harbor-more", "more", PARTS)
    with pytest.raises(StartError, match="hello"):
        Hooks(Plugins(PluginSettings()), load(None, {}, data_dir=tmp_path)).commands()


SETTINGS = """
from dataclasses import dataclass
from memscope.contracts.plugins import SettingsSection
from memscope.hookspecs import hookimpl

@dataclass(frozen=True)
class Section:
    colour: str = "blue"
    def __post_init__(self):
        if self.colour == "mud":
            raise ValueError("colour must not be mud")

seen = []

@hookimpl
def memscope_settings():
    return SettingsSection("badges", Section)

@hookimpl
def memscope_configure(section):
    seen.append(section.colour)
"""


def test_a_plugin_gets_its_own_section_from_file_and_environment(install: Install, tmp_path: Path) -> None:
    install("harbor-badges", "badges", SETTINGS)
    file = tmp_path / "memscope.toml"
    file.write_text('[badges]\ncolour = "green"\n')
    Hooks(Plugins(PluginSettings()), load(file, {}, data_dir=tmp_path))
    Hooks(Plugins(PluginSettings()), load(file, {"MEMSCOPE_BADGES_COLOUR": "red"}, data_dir=tmp_path))
    assert sys.modules["harbor_badges_badges"].seen == ["green", "red"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('[badges]\ncolor = "green"', "no key color"),
        ("[badges]\ncolour = 3", "must be a text"),
        ('[badges]\ncolour = "mud"', "must not be mud"),
        ("[badgers]\n", r"\[badgers\]"),
    ],
)
def test_a_wrong_plugin_setting_stops_the_start(install: Install, tmp_path: Path, text: str, says: str) -> None:
    install("harbor-badges", "badges", SETTINGS)
    file = tmp_path / "memscope.toml"
    file.write_text(text)
    with pytest.raises(StartError, match=says):
        Hooks(Plugins(PluginSettings()), load(file, {}, data_dir=tmp_path))


def test_a_shadow_plugin_gives_verdicts_without_effect(install: Install, tmp_path: Path) -> None:
    install("harbor-badges", "badges", BADGES)
    hooks = Hooks(Plugins(PluginSettings(shadow=["badges"])), load(None, {}, data_dir=tmp_path))
    found = hooks.detect_secrets("B-123456")
    assert [verdict.plugin for verdict in found.shadow] == ["badges"]
    assert "badges" not in [verdict.plugin for verdict in found.given]
