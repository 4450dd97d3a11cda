"""The example files in config/ are loaded as people would load them."""

from __future__ import annotations

import dataclasses
import re
import tomllib
from pathlib import Path

import pytest

from memscope.app import MemScope
from memscope.hooks import Hooks
from memscope.organizations.file import parse
from memscope.plugin_manager import Plugins
from memscope.settings import Settings, load

CONFIG = Path(__file__).parents[2] / "config"


@pytest.mark.parametrize("path", sorted(CONFIG.glob("memscope*.toml")), ids=lambda path: path.name)
def test_settings_file_is_taken_by_core_and_plugins(path: Path, tmp_path: Path) -> None:
    settings = load(path, {}, data_dir=tmp_path)
    hooks = Hooks(Plugins(settings.plugins), settings)
    for section in hooks.sections:
        settings.section(section)
    assert MemScope.from_settings(settings).core.settings.source == str(path)


def test_the_full_example_names_every_key_with_its_default() -> None:
    text = (CONFIG / "memscope.example.toml").read_text()
    # A key that has no default value stands commented out.
    uncommented = re.sub(r"^# ([a-z_]+ = )", r"\1", text, flags=re.MULTILINE)
    written, everything = tomllib.loads(text), tomllib.loads(uncommented)
    defaults = load(None, {})
    hooks = Hooks(Plugins(defaults.plugins), defaults)
    sections = {field.name: getattr(defaults, field.name) for field in dataclasses.fields(Settings)}
    sections = {name: section for name, section in sections.items() if dataclasses.is_dataclass(section)}
    sections |= {section.name: defaults.section(section) for section in hooks.sections}
    for name, section in sections.items():
        keys = {field.name for field in dataclasses.fields(section)}
        assert keys <= set(everything[name]), name
        for key, value in written[name].items():
            if (name, key) != ("plugins", "required"):  # recommended, and on by hand
                assert value == getattr(section, key), (name, key)


@pytest.mark.parametrize("path", sorted(CONFIG.glob("organization*.toml")), ids=lambda path: path.name)
def test_organization_file_is_taken(path: Path) -> None:
    file = parse(path.read_text())
    assert file.organization["slug"] == "harbor"
    assert [entry["email"] for entry in file.people][0] == "ada@harbor.example"
