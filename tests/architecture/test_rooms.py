"""The rooms' promises: who may import whom, and that packaging leaves nothing out."""

from __future__ import annotations

import ast
import configparser
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

#: Rooms from the bottom up. A module imports modules of its own room and of rooms below it.
ROOMS = [
    {"memscope.model"},
    {"memscope.clock", "memscope.errors", "memscope.text", "memscope.contracts", "memscope.hookspecs"},
    {"memscope.keys", "memscope.settings", "memscope.policy", "memscope.embedding"},
    {"memscope.plugin_manager", "memscope.plugin_states", "memscope.hooks"},
    {"memscope.organizations.rosters", "memscope.usage"},
    {"memscope.core"},
    {"memscope.work", "memscope.guarding", "memscope.approvals"},
    {"memscope.organizations"},
    {"memscope.memories"},
    {"memscope.upkeep"},
    {"memscope.app"},
    {"memscope.mcp_server"},
    {"memscope.serving"},
    {"memscope.cli"},
    {"memscope.testing"},
]
PLUGINS = sorted(path.name for path in (ROOT / "plugins").iterdir() if path.is_dir()) + ["memscope_admin"]


def _room(module: str) -> int:
    best = max(
        (
            (len(prefix), level)
            for level, prefixes in enumerate(ROOMS)
            for prefix in prefixes
            if module == prefix or module.startswith(prefix + ".")
        ),
        default=None,
    )
    assert best is not None, f"{module} is in no room: give it one in ROOMS"
    return best[1]


def _sources(package: str) -> list[tuple[str, Path]]:
    folder = {"memscope": ROOT / "memscope", "memscope_admin": ROOT / "admin" / "memscope_admin"}.get(package, ROOT / "plugins" / package)
    found = []
    for path in sorted(folder.rglob("*.py")):
        parts = (package, *path.relative_to(folder).with_suffix("").parts)
        found.append((".".join(parts).removesuffix(".__init__"), path))
    return found


def _imports(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            names.add(node.module)
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def _modules() -> set[str]:
    return {name for name, _ in _sources("memscope")}


def test_imports_inside_the_core_go_downwards_only() -> None:
    modules = _modules()
    wrong = [
        f"{name} imports {imported}"
        for name, path in _sources("memscope")
        if name != "memscope"
        for imported in _imports(path) & modules - {"memscope", "memscope.organizations"}
        if _room(imported) > _room(name)
    ]
    assert wrong == []


def test_the_core_imports_no_plugin_and_no_console() -> None:
    wrong = [
        f"{name}: {imported}" for name, path in _sources("memscope") for imported in _imports(path) if imported.split(".")[0] in PLUGINS
    ]
    assert wrong == []


@pytest.mark.parametrize("plugin", PLUGINS)
def test_plugins_import_no_other_plugin(plugin: str) -> None:
    others = {name for name in PLUGINS if name != plugin}
    wrong = [f"{name}: {imported}" for name, path in _sources(plugin) for imported in _imports(path) if imported.split(".")[0] in others]
    assert wrong == []


@pytest.mark.parametrize("plugin", [name for name in PLUGINS if name != "memscope_admin"])
def test_plugins_use_only_what_third_parties_may(plugin: str) -> None:
    public = ("memscope.contracts", "memscope.model", "memscope.hookspecs", "memscope.errors", "memscope.text")
    wrong = [
        f"{name}: {imported}"
        for name, path in _sources(plugin)
        for imported in _imports(path)
        if imported.startswith("memscope.") and not imported.startswith(public)
    ]
    assert wrong == []


def test_the_policy_is_pure() -> None:
    allowed = {"memscope.model", "memscope.policy"}
    for name, path in _sources("memscope"):
        if name.startswith("memscope.policy"):
            outside = {
                imported for imported in _imports(path) if imported.startswith("memscope") and not imported.startswith(tuple(allowed))
            }
            assert outside <= {"memscope"}, name


def test_hooks_are_called_by_the_one_front_alone() -> None:
    callers = [name for name, path in _sources("memscope") if ".manager.hook" in path.read_text()]
    assert callers == ["memscope.hooks"]


def test_setup_cfg_lists_every_package() -> None:
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    listed = set(config["options"]["packages"].split())
    on_disk = {
        ".".join((package, *path.parent.relative_to(folder).parts)).rstrip(".")
        for package, folder in [("memscope", ROOT / "memscope"), ("memscope_admin", ROOT / "admin" / "memscope_admin")]
        + [(path.name, path) for path in (ROOT / "plugins").iterdir() if path.is_dir()]
        for path in folder.rglob("__init__.py")
    }
    assert listed == on_disk


def test_listing_plugins_imports_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "from memscope.plugin_manager import Plugins\n"
        "from memscope.settings import PluginSettings\n"
        "Plugins(PluginSettings())\n"
        "heavy = {'sqlalchemy', 'psycopg', 'spacy', 'flask', 'onnxruntime'} & set(sys.modules)\n"
        "print(','.join(sorted(heavy)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == ""
