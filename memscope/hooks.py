"""The one typed front of all hooks: calls each plugin alone, times it, checks what comes back."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, cast

from memscope.contracts.embedding import Embedder
from memscope.contracts.events import Event
from memscope.contracts.guard import GuardContext
from memscope.contracts.identity import IdentityProvider
from memscope.contracts.instructions import InstructionVerdict
from memscope.contracts.plugins import Command, Provider, SettingsSection, WebPart
from memscope.contracts.secrets import SecretFinding
from memscope.contracts.sensitivity import SensitivityVerdict
from memscope.contracts.storage import Storage
from memscope.errors import StartError
from memscope.plugin_manager import PluginInfo, Plugins
from memscope.settings import Settings

T = TypeVar("T")
P = TypeVar("P")
log = logging.getLogger(__name__)

HANGING_MAX = 8
"""Calls of one plugin that may be past their time at once; beyond that it is given up on straight away."""


@dataclass(frozen=True, slots=True)
class Verdict(Generic[T]):
    """What one plugin said, or why it said nothing."""

    plugin: str
    value: T | None
    failure: str | None = None
    """Type of the exception, or `timeout`; the plugin then has no verdict."""


@dataclass(frozen=True, slots=True)
class Verdicts(Generic[T]):
    """What all plugins of one kind said of one text."""

    given: tuple[Verdict[T], ...]
    """Those that take effect."""
    shadow: tuple[Verdict[T], ...] = ()
    """Those that are only recorded."""

    @property
    def values(self) -> tuple[tuple[str, T], ...]:
        """(plugin, verdict) of those that gave one."""
        return tuple((verdict.plugin, verdict.value) for verdict in self.given if verdict.value is not None)

    @property
    def failed(self) -> tuple[str, ...]:
        """The plugins that failed, when no verdict of this kind is left; else nothing."""
        if not self.given or any(verdict.failure is None for verdict in self.given):
            return ()
        return tuple(verdict.plugin for verdict in self.given)


@dataclass
class Statistics:
    """How one plugin has been doing since the start."""

    calls: int = 0
    errors: int = 0
    last_error: str | None = None
    """Type and time, no text."""
    milliseconds: deque[float] = field(default_factory=lambda: deque(maxlen=500))
    hanging: int = 0
    warm: bool = False
    """Whether a call has ended or been given up on: what the plugin needs is loaded."""


class Hooks:
    """One method per hook. Safe to use from several threads."""

    def __init__(self, plugins: Plugins, settings: Settings) -> None:
        self._plugins = plugins
        self._timeout = settings.guarding.timeout_ms / 1000
        self._first_call = max(self._timeout, settings.guarding.first_call_ms / 1000)
        self.statistics: dict[str, Statistics] = {info.name: Statistics() for info in plugins.report}
        self._lock = threading.Lock()
        self.sections = self._configure(settings)

    @property
    def report(self) -> tuple[PluginInfo, ...]:
        """Every plugin that was found."""
        return self._plugins.report

    # providers
    def storage(self, name: str) -> Provider[Storage]:
        """The storage of this name; StartError when there is none or two."""
        return self._provider("memscope_storage", name)

    def embedder(self, name: str) -> Provider[Embedder]:
        """The embedder of this name; StartError when there is none or two."""
        return self._provider("memscope_embedder", name)

    def identity(self, name: str) -> Provider[IdentityProvider]:
        """The identity provider of this name; StartError when there is none or two."""
        return self._provider("memscope_identity", name)

    def _provider(self, hook: str, name: str) -> Provider[Any]:
        offered: dict[str, Provider[Any]] = {}
        for plugin, function in self._functions(hook):
            try:
                provider = function()
            except Exception as error:
                raise StartError(f"Plugin {plugin} failed in {hook}: {type(error).__name__}: {error}") from error
            if provider is None:
                continue
            _expect(provider, Provider, plugin, hook)
            if provider.name in offered:
                raise StartError(f"Two plugins offer a {hook.removeprefix('memscope_')} named {provider.name}; block one of them.")
            offered[provider.name] = provider
        if name not in offered:
            raise StartError(
                f"No plugin offers a {hook.removeprefix('memscope_')} named {name}. Offered: {', '.join(sorted(offered)) or 'none'}. "
                "`memscope plugins` shows what was found."
            )
        return offered[name]

    # verdicts
    def detect_secrets(self, text: str) -> Verdicts[Sequence[SecretFinding]]:
        """Ask every detector of secrets."""
        return self._verdicts("memscope_detect_secrets", (text,), lambda value: _findings(value, len(text)), Sequence)

    def classify_sensitivity(self, text: str, context: GuardContext) -> Verdicts[SensitivityVerdict]:
        """Ask every classifier of sensitivity."""
        return self._verdicts("memscope_classify_sensitivity", (text, context), None, SensitivityVerdict)

    def detect_instructions(self, text: str, context: GuardContext) -> Verdicts[InstructionVerdict]:
        """Ask every detector of instructions."""
        return self._verdicts("memscope_detect_instructions", (text, context), None, InstructionVerdict)

    def warm_up(self) -> None:
        """Call every guarding plugin once on a harmless text, so that no save pays for what it loads."""
        context = GuardContext()
        self.detect_secrets("warm")
        self.classify_sensitivity("warm", context)
        self.detect_instructions("warm", context)

    def _verdicts(self, hook: str, arguments: tuple[Any, ...], check: Callable[[Any], None] | None, expected: type[Any]) -> Verdicts[Any]:
        given: list[Verdict[Any]] = []
        shadow: list[Verdict[Any]] = []
        for plugin, function in self._functions(hook):
            verdict = self._ask(plugin, hook, function, arguments, check, expected)
            (shadow if self._plugins.shadowed(plugin) else given).append(verdict)
        return Verdicts(tuple(given), tuple(shadow))

    def _ask(
        self,
        plugin: str,
        hook: str,
        function: Callable[..., Any],
        arguments: tuple[Any, ...],
        check: Callable[[Any], None] | None,
        expected: type[Any],
    ) -> Verdict[Any]:
        statistics = self.statistics[plugin]
        with self._lock:
            statistics.calls += 1
            if statistics.hanging >= HANGING_MAX:
                return self._failed(plugin, hook, "timeout")
        box: list[Any] = []

        def call() -> None:
            try:
                value = function(*arguments)
                if value is not None:
                    _expect(value, expected, plugin, hook)
                    if check is not None:
                        check(value)
                box.append((value, None))
            except Exception as error:
                box.append((None, error))

        started = time.perf_counter()
        # A thread of its own, so that a plugin that never returns costs one thread and not the save.
        thread = threading.Thread(target=call, name=f"plugin-{plugin}", daemon=True)
        thread.start()
        thread.join(self._timeout if statistics.warm else self._first_call)
        statistics.warm = True
        elapsed = (time.perf_counter() - started) * 1000
        if not box:
            with self._lock:
                statistics.hanging += 1
            threading.Thread(target=self._wait_for, args=(thread, statistics), daemon=True).start()
            return self._failed(plugin, hook, "timeout")
        value, error = box[0]
        if error is not None:
            return self._failed(plugin, hook, type(error).__name__)
        with self._lock:
            statistics.milliseconds.append(elapsed)
        return Verdict(plugin, value)

    def _wait_for(self, thread: threading.Thread, statistics: Statistics) -> None:
        thread.join()
        with self._lock:
            statistics.hanging -= 1

    def _failed(self, plugin: str, hook: str, kind: str) -> Verdict[Any]:
        statistics = self.statistics[plugin]
        statistics.errors += 1
        statistics.last_error = kind
        # The type alone: an exception's text may quote the memory.
        log.warning("plugin %s failed in %s: %s", plugin, hook, kind)
        return Verdict(plugin, None, kind)

    # server parts
    def commands(self) -> list[Command]:
        """Subcommands of all plugins; StartError on a clash."""
        return self._collected("memscope_commands", Command, lambda command: command.name)

    def web_parts(self, app: Any) -> list[WebPart]:
        """Web applications of all plugins; StartError on a clash."""
        return self._collected("memscope_web", WebPart, lambda part: part.path, app)

    def _collected(self, hook: str, type_: type[P], key: Callable[[P], str], *arguments: Any) -> list[P]:
        collected: dict[str, P] = {}
        for plugin, function in self._functions(hook):
            try:
                parts = list(function(*arguments) or ())
                for part in parts:
                    _expect(part, type_, plugin, hook)
            except Exception as error:
                self._failed(plugin, hook, f"{type(error).__name__}: {error}")
                continue
            for part in parts:
                if key(part) in collected:
                    raise StartError(f"Plugin {plugin} adds {key(part)} in {hook}, which another plugin added already; block one of them.")
                collected[key(part)] = part
        return list(collected.values())

    def event(self, event: Event) -> None:
        """Tell every plugin what happened; failures are logged."""
        for plugin, function in self._functions("memscope_event"):
            with self._lock:
                self.statistics[plugin].calls += 1
            try:
                function(event)
            except Exception as error:
                self._failed(plugin, "memscope_event", type(error).__name__)

    # settings
    def _configure(self, settings: Settings) -> tuple[SettingsSection, ...]:
        sections: dict[str, SettingsSection] = {}
        for hook in ("memscope_storage", "memscope_embedder", "memscope_identity"):
            for plugin, function in self._functions(hook):
                provider = _quietly(function)
                if isinstance(provider, Provider) and provider.section is not None:
                    self._claim(sections, provider.section, plugin)
        for plugin, function in self._functions("memscope_settings"):
            section = function()
            if section is None:
                continue
            _expect(section, SettingsSection, plugin, "memscope_settings")
            self._claim(sections, section, plugin)
            instance = settings.section(section)
            for owner, configure in self._functions("memscope_configure"):
                if owner == plugin:
                    try:
                        configure(instance)
                    except ValueError as error:
                        raise StartError(f"[{section.name}] {error}") from None
        settings.refuse_unknown(tuple(sections))
        return tuple(sections.values())

    def _claim(self, sections: dict[str, SettingsSection], section: SettingsSection, plugin: str) -> None:
        if section.name in sections and sections[section.name].type is not section.type:
            raise StartError(f"Plugin {plugin} wants the settings section [{section.name}], which another plugin owns; block one of them.")
        sections[section.name] = section

    def _functions(self, hook: str) -> Iterator[tuple[str, Callable[..., Any]]]:
        for name, plugin in self._plugins.implementations(hook):
            implementation = next(
                impl for impl in cast(Any, getattr(self._plugins.manager.hook, hook)).get_hookimpls() if impl.plugin is plugin
            )
            yield name, _fewer(implementation, hook)


def _fewer(implementation: Any, hook: str) -> Callable[..., Any]:
    """The implementation, called with as many of the hook's arguments as it takes."""
    names: tuple[str, ...] = implementation.argnames
    function: Callable[..., Any] = implementation.function
    order = _ARGUMENTS[hook]

    def call(*arguments: Any) -> Any:
        by_name = dict(zip(order, arguments, strict=True))
        return function(*(by_name[name] for name in names))

    return call


_ARGUMENTS: dict[str, tuple[str, ...]] = {
    "memscope_storage": (),
    "memscope_embedder": (),
    "memscope_identity": (),
    "memscope_detect_secrets": ("text",),
    "memscope_classify_sensitivity": ("text", "context"),
    "memscope_detect_instructions": ("text", "context"),
    "memscope_settings": (),
    "memscope_configure": ("section",),
    "memscope_commands": (),
    "memscope_web": ("app",),
    "memscope_event": ("event",),
}


def _quietly(function: Callable[..., Any]) -> Any:
    try:
        return function()
    except Exception:
        # Chosen by name later, where its failure is told; a provider nobody chose may fail.
        return None


def _findings(value: Sequence[Any], length: int) -> None:
    for finding in value:
        if not isinstance(finding, SecretFinding):
            raise TypeError(f"expected SecretFinding, got {type(finding).__name__}")
        if not 0 <= finding.start < finding.end <= length:
            raise ValueError("a finding points outside of the text")


def _expect(value: object, type_: type[Any], plugin: str, hook: str) -> None:
    if not isinstance(value, type_) or isinstance(value, str):
        raise TypeError(f"plugin {plugin}: {hook} must return {type_.__name__}, got {type(value).__name__}")
