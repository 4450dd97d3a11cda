"""Settings: one TOML file, each key overridable from the environment. Anything unknown or wrong stops the start."""

from __future__ import annotations

import dataclasses
import os
import tomllib
import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, cast
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from memscope.contracts.plugins import SettingsSection
from memscope.errors import StartError
from memscope.model.audience import Scope, Sensitivity
from memscope.model.organization import Confirmation, SecretsPolicy

T = TypeVar("T")
PREFIX = "MEMSCOPE_"


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """`[server]`: where it listens and how it is reached."""

    host: str = "127.0.0.1"
    port: int = 8765
    workers: int = 1
    public_url: str | None = None
    """What people type, such as `https://memory.example.com`; None: the address it listens on."""
    allowed_hosts: list[str] = field(default_factory=list)
    """Host headers accepted beside the public and the local ones."""
    key: str | None = None
    """The server key; None: `server.key` in the data folder. Several servers share one."""
    metrics_token: str | None = None
    """What `/metrics` asks for as a bearer token; None: no metrics."""

    def __post_init__(self) -> None:
        if not 0 <= self.port <= 65535:
            raise ValueError("port must be 0 to 65535")
        if not 1 <= self.workers <= 64:
            raise ValueError("workers must be 1 to 64")
        if self.public_url is not None and not self.public_url.startswith(("http://", "https://")):
            raise ValueError("public_url must begin with http:// or https://")


@dataclass(frozen=True, slots=True)
class StorageSettings:
    """`[storage]`"""

    provider: str = "postgres"


@dataclass(frozen=True, slots=True)
class EmbeddingSettings:
    """`[embedding]`"""

    provider: str = "minilm"


@dataclass(frozen=True, slots=True)
class IdentitySettings:
    """`[identity]`"""

    providers: list[str] = field(default_factory=lambda: ["accounts"])
    """Asked in this order."""

    def __post_init__(self) -> None:
        if not self.providers:
            raise ValueError("providers must name at least one, or nobody could sign in")


@dataclass(frozen=True, slots=True)
class PluginSettings:
    """`[plugins]`"""

    files: list[str] = field(default_factory=list)
    """Paths of one-file plugins."""
    blocked: list[str] = field(default_factory=list)
    """Names of plugins that are not loaded."""
    required: list[str] = field(default_factory=list)
    """Names of plugins without which the server does not start."""
    shadow: list[str] = field(default_factory=list)
    """Names of guarding plugins whose verdicts are recorded and have no effect."""


@dataclass(frozen=True, slots=True)
class GuardingSettings:
    """`[guarding]`"""

    timeout_ms: int = 2000
    """A plugin that takes longer has no verdict."""
    first_call_ms: int = 30_000
    """What a plugin's first call may take instead, since it may load what the plugin needs."""

    def __post_init__(self) -> None:
        if not 10 <= self.timeout_ms <= 60_000:
            raise ValueError("timeout_ms must be 10 to 60000")
        if not 10 <= self.first_call_ms <= 300_000:
            raise ValueError("first_call_ms must be 10 to 300000")


@dataclass(frozen=True, slots=True)
class LimitSettings:
    """`[limits]`"""

    calls_per_minute: int = 600
    """For each connection."""

    def __post_init__(self) -> None:
        if self.calls_per_minute < 1:
            raise ValueError("calls_per_minute must be at least 1")


@dataclass(frozen=True, slots=True)
class OrganizationSettings:
    """`[organization]`: values that every organization of the server has, whatever its administrators would choose. None: theirs."""

    timezone: str | None = None
    trash_days: int | None = None
    default_scope: str | None = None
    default_sensitivity: str | None = None
    confirmation: str | None = None
    secrets: str | None = None

    def __post_init__(self) -> None:
        if self.timezone is not None:
            try:
                ZoneInfo(self.timezone)
            except (ZoneInfoNotFoundError, ValueError, OSError):
                raise ValueError("timezone must be a time zone such as Europe/Berlin") from None
        if self.trash_days is not None and not 1 <= self.trash_days <= 3650:
            raise ValueError("trash_days must be 1 to 3650")
        self.values()

    def values(self) -> dict[str, Any]:
        """The fixed ones, as fields of `Organization`. ValueError for a word that is none."""
        levels = {level.label: level for level in Sensitivity}
        words: dict[str, Mapping[str, Any]] = {
            "default_scope": {scope.value: scope for scope in Scope},
            "default_sensitivity": levels,
            "confirmation": {mode.value: mode for mode in Confirmation},
            "secrets": {policy.value: policy for policy in SecretsPolicy},
        }
        found: dict[str, Any] = {}
        for key in ORGANIZATION_KEYS:
            value = getattr(self, key)
            if value is None:
                continue
            if key in words and value not in words[key]:
                raise ValueError(f"{key} must be one of {', '.join(words[key])}")
            found[key] = words[key][value] if key in words else value
        return found


ORGANIZATION_KEYS = ("timezone", "trash_days", "default_scope", "default_sensitivity", "confirmation", "secrets")


@dataclass(frozen=True, slots=True)
class LogSettings:
    """`[log]`"""

    level: str = "info"

    def __post_init__(self) -> None:
        if self.level not in ("debug", "info", "warning", "error"):
            raise ValueError("level must be debug, info, warning or error")


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of the core. The sections that plugins own are read by `section`."""

    data_dir: Path
    server: ServerSettings = ServerSettings()
    storage: StorageSettings = StorageSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    identity: IdentitySettings = IdentitySettings()
    plugins: PluginSettings = PluginSettings()
    guarding: GuardingSettings = GuardingSettings()
    limits: LimitSettings = LimitSettings()
    log: LogSettings = LogSettings()
    organization: OrganizationSettings = OrganizationSettings()
    source: str = "the defaults"
    """Where they were read, for messages."""
    raw: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)

    def fixed_by(self, section: str, key: str) -> str | None:
        """What sets a key: the name of a variable, or of the file; None when its default holds."""
        variable = f"{PREFIX}{section.upper()}_{key.upper()}"
        if variable in self.environ:
            return f"the variable {variable}"
        return f"the settings file {self.source}" if key in self.raw.get(section, {}) else None

    def section(self, section: SettingsSection) -> Any:
        """The instance of a plugin's section. Raises StartError for an unknown key or a wrong value."""
        return _build(section.name, section.type, self.raw.get(section.name, {}), self.environ, self.source)

    def refuse_unknown(self, plugin_sections: Sequence[str]) -> None:
        """Raises StartError when the file has a section, or the environment a variable, that nobody owns."""
        known = {*_CORE, *plugin_sections}
        for name in self.raw:
            if name not in known:
                raise StartError(f"{self.source}: nobody knows the section [{name}]. Sections here: {', '.join(sorted(known))}.")
        prefixes = tuple(f"{PREFIX}{name.upper()}_" for name in known)
        for variable in self.environ:
            if variable.startswith(PREFIX) and variable not in _PLAIN_VARIABLES and not variable.startswith(prefixes):
                raise StartError(f"Nobody knows the variable {variable}. Variables are {PREFIX}<SECTION>_<KEY>; unset it or correct it.")


_CORE: Mapping[str, type[Any]] = {
    "server": ServerSettings,
    "storage": StorageSettings,
    "embedding": EmbeddingSettings,
    "identity": IdentitySettings,
    "plugins": PluginSettings,
    "guarding": GuardingSettings,
    "limits": LimitSettings,
    "log": LogSettings,
    "organization": OrganizationSettings,
}
_PLAIN_VARIABLES = {"MEMSCOPE_CONFIG", "MEMSCOPE_DATA_DIR", "MEMSCOPE_TOKEN"}


def load(path: Path | None = None, environ: Mapping[str, str] | None = None, *, data_dir: Path | None = None) -> Settings:
    """Read the settings.

    `path` (or `MEMSCOPE_CONFIG`) is the TOML file; without one the defaults hold. `data_dir` comes before
    `MEMSCOPE_DATA_DIR`, the file's top-level `data_dir` and the default. Raises StartError with what to do.
    """
    environ = os.environ if environ is None else environ
    if path is None and environ.get("MEMSCOPE_CONFIG"):
        path = Path(environ["MEMSCOPE_CONFIG"])
    raw: dict[str, Any] = {}
    source = "the environment"
    if path is not None:
        source = str(path)
        try:
            raw = tomllib.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise StartError(f"The settings file {path} cannot be read: {error.strerror}.") from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise StartError(f"The settings file {path} is no valid TOML: {error}.") from None
    folder = raw.pop("data_dir", None)
    if folder is not None and not isinstance(folder, str):
        raise StartError(f"{source}: data_dir must be a path in quotes.")
    for name, value in raw.items():
        if not isinstance(value, dict):
            raise StartError(f"{source}: {name} stands outside of a section. Only data_dir may; sections begin with a line [name].")
    chosen = data_dir or Path(environ.get("MEMSCOPE_DATA_DIR") or folder or default_data_dir())
    variables = {name: value for name, value in environ.items() if name.startswith(PREFIX)}
    sections = {name: _build(name, type_, raw.get(name, {}), variables, source) for name, type_ in _CORE.items()}
    return Settings(data_dir=chosen.expanduser().absolute(), source=source, raw=raw, environ=variables, **sections)


def default_data_dir() -> str:
    """`/var/lib/memscope` for root, else `memscope` in the user's data folder (XDG base directories)."""
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        return "/var/lib/memscope"
    return str(Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "memscope")


def _build(name: str, type_: type[T], values: Mapping[str, Any], environ: Mapping[str, str], source: str) -> T:
    hints = typing.get_type_hints(type_)
    keys = [f.name for f in dataclasses.fields(cast(Any, type_))]
    for key in values:
        if key not in keys:
            raise StartError(f"{source}: [{name}] has no key {key}. Its keys: {', '.join(keys)}.")
    prefix = f"{PREFIX}{name.upper()}_"
    for variable in environ:
        if variable.startswith(prefix) and variable[len(prefix) :].lower() not in keys:
            raise StartError(f"{variable} names no key of [{name}]. Its keys: {', '.join(keys)}.")
    chosen: dict[str, Any] = {}
    for key in keys:
        variable = prefix + key.upper()
        if variable in environ:
            chosen[key] = _from_text(hints[key], environ[variable], variable)
        elif key in values:
            chosen[key] = _checked(hints[key], values[key], f"{source}: [{name}] {key}")
    try:
        return type_(**chosen)
    except ValueError as error:
        raise StartError(f"{source}: [{name}] {error}.") from None


def _plain(hint: Any) -> Any:
    if isinstance(hint, types.UnionType):
        return next(part for part in typing.get_args(hint) if part is not types.NoneType)
    return hint


def _checked(hint: Any, value: Any, where: str) -> Any:
    plain = _plain(hint)
    if typing.get_origin(plain) is list:
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return value
        raise StartError(f"{where} must be a list of texts.")
    if plain is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, plain) or (plain is int and isinstance(value, bool)):
        words = {str: "a text in quotes", int: "a whole number", float: "a number", bool: "true or false"}
        raise StartError(f"{where} must be {words[plain]}.")
    return value


def _from_text(hint: Any, text: str, where: str) -> Any:
    plain = _plain(hint)
    if typing.get_origin(plain) is list:
        return [item.strip() for item in text.split(",") if item.strip()]
    if plain is bool:
        if text.lower() in ("true", "1", "yes"):
            return True
        if text.lower() in ("false", "0", "no"):
            return False
        raise StartError(f"{where} must be true or false.")
    if plain is str:
        return text
    try:
        return plain(text)
    except ValueError:
        raise StartError(f"{where} must be {'a whole number' if plain is int else 'a number'}.") from None
