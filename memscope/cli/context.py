"""What a command is handed beside its arguments, and how it talks to the person at the terminal."""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from memscope.app import MemScope
    from memscope.hooks import Hooks
    from memscope.settings import Settings
    from memscope.upkeep.progress import Progress

T = TypeVar("T")
PROGRESS_EVERY_S = 1.0


class CommandError(Exception):
    """A command cannot do what it was asked; the text says why and what to do. The exit code is 1."""


class Context:
    """The settings that the command line chooses, and the MemScope that they describe."""

    def __init__(self, config: Path | None = None, data_dir: Path | None = None, environ: Mapping[str, str] | None = None) -> None:
        self.config = config
        self.data_dir = data_dir
        self.environ = os.environ if environ is None else environ

    @cached_property
    def settings(self) -> Settings:
        """The settings. StartError when they are wrong."""
        from memscope.settings import load

        settings = load(self.config, self.environ, data_dir=self.data_dir)
        level = logging.DEBUG if settings.log.level == "debug" else logging.WARNING
        logging.basicConfig(level=level, format="%(levelname)s %(name)s: %(message)s", stream=sys.stderr)
        return settings

    @cached_property
    def hooks(self) -> Hooks:
        """The plugins, for commands that need no database."""
        from memscope.hooks import Hooks
        from memscope.plugin_manager import Plugins

        return Hooks(Plugins(self.settings.plugins), self.settings)

    @contextmanager
    def opened(self, settings: Settings | None = None, *, any_model: bool = True) -> Iterator[MemScope]:
        """An open MemScope, on the same database as a running server. `any_model`: the command does not search."""
        from memscope.app import MemScope

        app = MemScope.from_settings(settings or self.settings)
        app.open(any_model=any_model)
        try:
            yield app
        finally:
            app.close()


def say(text: str = "") -> None:
    """A line of the answer, on standard output."""
    print(text, flush=True)


def note(text: str) -> None:
    """A line for the person at the terminal, on standard error: never part of the answer."""
    print(text, file=sys.stderr, flush=True)


def follow(job: Generator[Progress, None, T]) -> T:
    """Run a job to its end: what it finds on standard output, how far it is on standard error; returns its result."""
    last, shown = time.monotonic(), False
    while True:
        try:
            step = next(job)
        except StopIteration as end:
            result: T = end.value
            return result
        for line in step.found:
            say(line)
        now = time.monotonic()
        if not shown or now - last >= PROGRESS_EVERY_S or step.done >= step.total:
            note(f"{step.text} {step.done} of {step.total}")
            last, shown = now, True


def table(rows: Iterable[Sequence[str]], *, head: Sequence[str] | None = None) -> Iterator[str]:
    """Rows in aligned columns, the last one unpadded."""
    lines = [*([head] if head is not None else []), *rows]
    if not lines:
        return
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    for line in lines:
        yield "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()


def read_text(source: str) -> str:
    """The text of a file, or of standard input for `-`. CommandError when it cannot be read."""
    try:
        raw = sys.stdin.buffer.read() if source == "-" else Path(source).read_bytes()
        return raw.decode("utf-8-sig")
    except OSError as error:
        raise CommandError(f"{source} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError as error:
        raise CommandError(f"{source} is no UTF-8 text (byte {error.start}). Save it as UTF-8.") from None


def ask_password(prompt: str, *, from_stdin: bool) -> str:
    """A password: typed without being shown, or the first line of standard input."""
    if from_stdin:
        return sys.stdin.readline().rstrip("\r\n")
    if not sys.stdin.isatty():
        raise CommandError("There is no terminal to ask for the password. Use --password-stdin.")
    import getpass

    return getpass.getpass(f"{prompt}: ", stream=sys.stderr)
