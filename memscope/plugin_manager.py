"""Finding plugins and reporting on them. Nothing here calls a hook."""

from __future__ import annotations

import hashlib
import importlib.util
import logging
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

import pluggy

from memscope import hookspecs
from memscope.errors import StartError
from memscope.settings import PluginSettings

GROUP = "memscope"
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PluginInfo:
    """What is known of one plugin."""

    name: str
    distribution: str
    """Name of the distribution it comes from, or the path of a one-file plugin."""
    version: str
    state: str
    """`active`, `shadow`, `blocked` or `failed`."""
    hooks: tuple[str, ...] = ()
    error: str | None = None


class Plugins:
    """The loaded plugins, in the order of distribution and name, and the report on all that were found."""

    def __init__(self, settings: PluginSettings) -> None:
        self.manager = pluggy.PluginManager(hookspecs.PROJECT)
        for specs in hookspecs.SPECS:
            self.manager.add_hookspecs(specs)
        self._report: dict[str, PluginInfo] = {}
        self._loaded: dict[str, Any] = {}
        for name, distribution, version, load in [*_installed(), *_files(settings.files)]:
            self._add(name, distribution, version, load, settings)
        # Hooks that plugins declare are known before any plugin is looked at for those it implements.
        for plugin in self._loaded.values():
            for specs in getattr(plugin, "MEMSCOPE_HOOKSPECS", ()):
                self.manager.add_hookspecs(specs)
        for name, plugin in self._loaded.items():
            self._register(name, plugin)
        missing = [name for name in settings.required if self._state(name) not in ("active", "shadow")]
        if missing:
            errors = "; ".join(
                f"{name}: {self._report[name].error or self._report[name].state}" for name in missing if name in self._report
            )
            raise StartError(f"Required plugins are not there: {', '.join(missing)}. {errors}".strip())

    def _state(self, name: str) -> str | None:
        return self._report[name].state if name in self._report else None

    def _add(self, name: str, distribution: str, version: str, load: Any, settings: PluginSettings) -> None:
        info = PluginInfo(name, distribution, version, "shadow" if name in settings.shadow else "active")
        if name in self._report:
            first = self._report[name]
            raise StartError(
                f"Two plugins are named {name}: of {first.distribution} and of {distribution}. Uninstall or rename one; blocking takes out both."
            )
        if name in settings.blocked:
            self._report[name] = replace(info, state="blocked")
            return
        self._report[name] = info
        try:
            self._loaded[name] = load()
        except Exception as error:
            self._fail(name, error)

    def _register(self, name: str, plugin: object) -> None:
        try:
            self.manager.register(plugin, name)
            callers = self.manager.get_hookcallers(plugin) or ()
            for caller in callers:
                mine = [implementation for implementation in caller.get_hookimpls() if implementation.plugin is plugin]
                # An optional one is for a hook of a plugin that need not be there.
                if not caller.has_spec() and not all(implementation.optionalhook for implementation in mine):
                    raise TypeError(f"there is no hook {caller.name}")
        except Exception as error:
            if self.manager.has_plugin(name):
                self.manager.unregister(name=name)
            self._fail(name, error)
            return
        hooks = tuple(sorted(caller.name for caller in callers if caller.has_spec()))
        self._report[name] = replace(self._report[name], hooks=hooks)

    def _fail(self, name: str, error: Exception) -> None:
        # A broken plugin must not take the others with it; it is shown by `memscope plugins` and `doctor`.
        info = self._report[name]
        log.warning("plugin %s of %s failed to load: %s: %s", name, info.distribution, type(error).__name__, error)
        self._report[name] = replace(info, state="failed", error=f"{type(error).__name__}: {error}")

    @property
    def report(self) -> tuple[PluginInfo, ...]:
        """Every plugin that was found, by distribution and name."""
        return tuple(self._report.values())

    def implementations(self, hook: str) -> Iterator[tuple[str, Any]]:
        """(plugin name, plugin) of each loaded plugin that implements a hook, by distribution and name."""
        for info in self._report.values():
            if hook in info.hooks:
                yield info.name, self.manager.get_plugin(info.name)

    def state(self, name: str) -> str:
        """A plugin's state as the settings and its loading left it."""
        return self._report[name].state


def _installed() -> list[tuple[str, str, str, Any]]:
    found = []
    for distribution in metadata.distributions():
        for entry_point in distribution.entry_points:
            if entry_point.group == GROUP:
                found.append((entry_point.name, distribution.metadata["Name"], distribution.version, entry_point.load))
    # The same distribution may be listed twice when two folders on the path hold it.
    unique = {(distribution, name): (name, distribution, version, load) for name, distribution, version, load in reversed(found)}
    return [unique[key] for key in sorted(unique)]


def _files(paths: list[str]) -> list[tuple[str, str, str, Any]]:
    files = [Path(path).expanduser() for path in paths]
    return [(file.stem, str(file), "file", lambda file=file: _load_file(file)) for file in sorted(files)]


def _load_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not there; correct plugins.files")
    # The name carries the path, so that two files of one name never become one module.
    name = f"memscope_file_plugin_{path.stem}_{hashlib.sha256(str(path.absolute()).encode()).hexdigest()[:8]}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
