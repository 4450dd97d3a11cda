"""The one typed front of all hooks: calls each plugin alone, times it, checks what comes back."""

from __future__ import annotations

import logging
import threading
import time
import tomllib
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
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
from memscope.text.stop_words import ENGLISH

T = TypeVar("T")
P = TypeVar("P")
log = logging.getLogger(__name__)

ACTIVE, SHADOW, OFF = "active", "shadow", "off"
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


Watch = Callable[[str, float | None, tuple[str, str, str] | None], None]
"""Told of each call: plugin, milliseconds where they mean something, and (hook, type, message) when it failed."""


@dataclass(frozen=True, slots=True)
class Tried:
    """What a plugin said of one text when it was tried by itself."""

    hook: str
    value: Any
    failure: tuple[str, str] | None
    """Type and message; the message is empty when it might quote the text."""
    milliseconds: float


class _Hanging(Exception):
    """It took too long."""


class Hooks:
    """One method per hook. Safe to use from several threads."""

    def __init__(self, plugins: Plugins, settings: Settings) -> None:
        self._plugins = plugins
        self._settings = settings
        self._timeout = settings.guarding.timeout_ms / 1000
        self._first_call = max(self._timeout, settings.guarding.first_call_ms / 1000)
        self.statistics: dict[str, Statistics] = {info.name: Statistics() for info in plugins.report}
        self._lock = threading.Lock()
        self._states: Callable[[], Mapping[str, str]] = dict
        self._watch: Watch = lambda plugin, milliseconds, failed: None
        self.providing: dict[str, tuple[str, ...]] = {}
        """Plugin → hooks by which it gives what the settings chose: without it the server could not work."""
        self.owners: dict[str, str] = {}
        """Plugin → the section of the settings that it owns."""
        self.sections = self._configure(settings)

    def follow(self, states: Callable[[], Mapping[str, str]], watch: Watch) -> None:
        """Ask `states` before each round of calls for the states that were chosen while running, and tell `watch` of each call."""
        self._states, self._watch = states, watch

    def state(self, plugin: str) -> str:
        """`active`, `shadow` or `off` as calls treat it now; `blocked` or `failed` when it is not loaded."""
        return self._state(plugin, self._states())

    def _state(self, plugin: str, chosen: Mapping[str, str]) -> str:
        # What the settings say is the base: nothing chosen while running lifts it.
        base = self._plugins.state(plugin)
        return chosen.get(plugin, base) if base == ACTIVE else base

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
        by: dict[str, str] = {}
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
            offered[provider.name], by[provider.name] = provider, plugin
        if name not in offered:
            raise StartError(
                f"No plugin offers a {hook.removeprefix('memscope_')} named {name}. Offered: {', '.join(sorted(offered)) or 'none'}. "
                "`memscope plugins` shows what was found."
            )
        self.providing[by[name]] = (*self.providing.get(by[name], ()), hook)
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
        chosen = self._states()
        for plugin, function in self._functions(hook):
            state = self._state(plugin, chosen)
            if state == OFF:
                continue
            verdict = self._ask(plugin, hook, function, arguments, check, expected)
            (shadow if state == SHADOW else given).append(verdict)
        return Verdicts(tuple(given), tuple(shadow))

    def try_out(self, plugin: str, text: str) -> list[Tried]:
        """Ask one plugin alone for all its verdicts on a text, whatever its state; counted nowhere."""
        asked: tuple[tuple[str, tuple[Any, ...], Callable[[Any], None] | None, type[Any]], ...] = (
            ("memscope_detect_secrets", (text,), lambda value: _findings(value, len(text)), Sequence),
            ("memscope_classify_sensitivity", (text, GuardContext()), None, SensitivityVerdict),
            ("memscope_detect_instructions", (text, GuardContext()), None, InstructionVerdict),
        )
        tried = []
        for hook, arguments, check, expected in asked:
            for name, function in self._functions(hook):
                if name == plugin:
                    started = time.perf_counter()
                    value, error = self._call(plugin, hook, function, arguments, check, expected, self._first_call)
                    took = (time.perf_counter() - started) * 1000
                    tried.append(Tried(hook, value, None if error is None else _told(error, arguments), took))
        return tried

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
        started = time.perf_counter()
        patience, warm = (self._timeout, True) if statistics.warm else (self._first_call, False)
        value, error = self._call(plugin, hook, function, arguments, check, expected, patience)
        statistics.warm = True
        elapsed = (time.perf_counter() - started) * 1000
        if error is not None:
            kind, message = _told(error, arguments)
            return self._failed(plugin, hook, kind, message)
        with self._lock:
            statistics.milliseconds.append(elapsed)
        # The first call may have loaded what the plugin needs, and says nothing of the others.
        self._watch(plugin, elapsed if warm else None, None)
        return Verdict(plugin, value)

    def _call(
        self,
        plugin: str,
        hook: str,
        function: Callable[..., Any],
        arguments: tuple[Any, ...],
        check: Callable[[Any], None] | None,
        expected: type[Any],
        patience: float,
    ) -> tuple[Any, Exception | None]:
        """What a plugin answers, or its error; `_Hanging` when it takes longer than `patience` seconds."""
        box: list[tuple[Any, Exception | None]] = []

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

        # A thread of its own, so that a plugin that never returns costs one thread and not the save.
        thread = threading.Thread(target=call, name=f"plugin-{plugin}", daemon=True)
        thread.start()
        thread.join(patience)
        if box:
            return box[0]
        statistics = self.statistics[plugin]
        with self._lock:
            statistics.hanging += 1
        threading.Thread(target=self._wait_for, args=(thread, statistics), daemon=True).start()
        return None, _Hanging()

    def _wait_for(self, thread: threading.Thread, statistics: Statistics) -> None:
        thread.join()
        with self._lock:
            statistics.hanging -= 1

    def _failed(self, plugin: str, hook: str, kind: str, message: str = "") -> Verdict[Any]:
        statistics = self.statistics[plugin]
        statistics.errors += 1
        statistics.last_error = kind
        # The type alone: an exception's text may quote the memory.
        log.warning("plugin %s failed in %s: %s", plugin, hook, kind)
        self._watch(plugin, None, (hook, kind, message))
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

    def additions(self, hook: str, type_: type[P], arguments: Mapping[str, Any]) -> Iterator[tuple[str, list[P]]]:
        """What each plugin adds in a hook that another plugin declares (`MEMSCOPE_HOOKSPECS`), by plugin; one that fails adds nothing."""
        for plugin, function in self._functions(hook, tuple(arguments)):
            try:
                parts = list(function(*arguments.values()) or ())
                for part in parts:
                    _expect(part, type_, plugin, hook)
            except Exception as error:
                self.refuse(plugin, hook, error)
                continue
            yield plugin, parts

    def refuse(self, plugin: str, hook: str, error: Exception) -> None:
        """Count what a plugin added and cannot be used as its failure."""
        self._failed(plugin, hook, *_told(error, ()))

    def event(self, event: Event) -> None:
        """Tell every plugin what happened; failures are logged."""
        listening = list(self._functions("memscope_event"))
        chosen = self._states() if listening else {}
        for plugin, function in listening:
            if self._state(plugin, chosen) == OFF:
                continue
            with self._lock:
                self.statistics[plugin].calls += 1
            started = time.perf_counter()
            try:
                function(event)
            except Exception as error:
                self._failed(plugin, "memscope_event", *_told(error, ()))
            else:
                self._watch(plugin, (time.perf_counter() - started) * 1000, None)

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
        self.owners[plugin] = section.name

    def check_section(self, name: str, lines: str) -> None:
        """Whether TOML lines would do for a plugin's section. Raises StartError or ValueError with what is wrong; sets nothing."""
        given = tomllib.loads(lines)
        given = given[name] if set(given) == {name} and isinstance(given[name], dict) else given
        section = next(section for section in self.sections if section.name == name)
        replace(self._settings, raw={name: given}, environ={}, source="These lines").section(section)

    def _functions(self, hook: str, arguments: tuple[str, ...] | None = None) -> Iterator[tuple[str, Callable[..., Any]]]:
        for name, plugin in self._plugins.implementations(hook):
            implementation = next(
                impl for impl in cast(Any, getattr(self._plugins.manager.hook, hook)).get_hookimpls() if impl.plugin is plugin
            )
            yield name, _fewer(implementation, _ARGUMENTS[hook] if arguments is None else arguments)


def _fewer(implementation: Any, order: tuple[str, ...]) -> Callable[..., Any]:
    """The implementation, called with as many of the hook's arguments as it takes."""
    names: tuple[str, ...] = implementation.argnames
    function: Callable[..., Any] = implementation.function

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


def _told(error: Exception, arguments: tuple[Any, ...]) -> tuple[str, str]:
    """An error's type and its message; no message when a word of it stands in the text that was judged, which it may quote."""
    if isinstance(error, _Hanging):
        return "timeout", ""
    message = " ".join(str(error).split())[:200]
    text = " ".join(argument for argument in arguments if isinstance(argument, str)).casefold()
    words = {word.casefold().strip(".,:;!?()[]{}<>'\"`") for word in message.split()} - ENGLISH
    quoting = any(word in text for word in words if len(word) >= 3 or word.isdigit())
    return type(error).__name__, "" if quoting else message


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
