"""What plugins hand to the core at start: providers, settings sections, commands, web parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True)
class SettingsSection:
    """A section of the settings file that a plugin owns.

    `type` is a frozen dataclass of plain fields (str, int, float, bool, list[str], or one of them | None) with
    defaults. Its fields are the keys; each can be overridden by `MEMSCOPE_<SECTION>_<KEY>`. A `ValueError` raised by
    its `__post_init__` stops the start with that text.
    """

    name: str
    type: type[Any]


@dataclass(frozen=True, slots=True)
class Provider(Generic[T_co]):
    """Something that the settings choose by name: a storage, an embedder, an identity.

    `open(section)` gets the instance of this plugin's settings section (`section.type`), or None when it has none; a
    storage's `open(section, host)` gets a `memscope.contracts.storage.StorageHost` too. It must be quick: slow loading
    is the provider's own `open`, `start` or `load`.
    """

    name: str
    open: Callable[..., T_co]
    section: SettingsSection | None = None


@dataclass(frozen=True, slots=True)
class Command:
    """A subcommand of `memscope`.

    `configure(parser)` adds arguments to an `argparse.ArgumentParser`; `run(arguments, context)` returns the exit code.
    `context` is a `memscope.cli.context.Context`: `context.settings`, and `with context.opened() as app:` for an open `memscope.app.MemScope`.
    An error that a person can do something about is raised as `memscope.cli.context.CommandError`.
    """

    name: str
    help: str
    configure: Callable[[Any], None]
    run: Callable[[Any, Any], int]


@dataclass(frozen=True, slots=True)
class WebPart:
    """An ASGI application mounted by `memscope serve` under a path such as `/admin`."""

    path: str
    """Starts with `/`, has no slash at the end, and is unique among plugins."""
    app: Callable[..., Any]


Commands = Sequence[Command]
