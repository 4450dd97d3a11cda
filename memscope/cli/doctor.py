"""`memscope doctor`"""

from __future__ import annotations

import argparse
import platform
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memscope.cli.context import Context, note, say
from memscope.errors import MemScopeError, StartError

if TYPE_CHECKING:
    from memscope.app import MemScope

FREE_LEAST = 1 << 30
"""Bytes of free disk below which it warns."""
KINDS = {
    "memscope_detect_secrets": ("secrets", "credentials are not recognised"),
    "memscope_classify_sensitivity": ("sensitivity and topics", "every memory gets the organization's default level, and no topic"),
    "memscope_detect_instructions": ("instructions", "text that reads like orders to an AI is not held back"),
}


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at."""

    state: str
    """`ok`, `warn` or `FAIL`."""
    text: str


def configure(parser: argparse.ArgumentParser) -> None:
    """No options."""
    parser.description = (
        "Check settings, database, plugins, embedding model, server and disk, and say what to do about what is wrong. The exit code is\n"
        "1 when something does not work."
    )


def run(arguments: argparse.Namespace, context: Context) -> int:
    """Check everything, whatever fails on the way."""
    failed = False
    for check in _checks(context):
        say(f"{check.state:<4}  {check.text}")
        failed = failed or check.state == "FAIL"
    note("Something does not work." if failed else "Everything that is needed works.")
    return 1 if failed else 0


def _checks(context: Context) -> Iterator[Check]:
    from memscope import __version__

    yield Check("ok", f"MemScope {__version__}, Python {platform.python_version()}")
    try:
        settings = context.settings
        yield Check("ok", f"settings from {settings.source}, data in {settings.data_dir}")
        _ = context.hooks
    except StartError as error:
        yield Check("FAIL", str(error))
        return
    yield from _plugins(context)
    try:
        with context.opened() as app:
            yield from _database(app)
            yield from _model(app)
    except (StartError, MemScopeError) as error:
        yield Check("FAIL", f"database: {error}")
    yield _disk(context)
    yield from _server(context)


def _plugins(context: Context) -> Iterator[Check]:
    from memscope.cli.main import COMMANDS
    from memscope.cli.plugins import time_guards

    hooks = context.hooks
    for info in hooks.report:
        if info.state == "failed":
            yield Check("FAIL", f"plugin {info.name} of {info.distribution} {info.version} does not load: {info.error}")
    working = [info for info in hooks.report if info.state == "active"]
    yield Check("ok", f"plugins: {', '.join(info.name for info in working)}")
    for hook, (kind, otherwise) in KINDS.items():
        if not any(hook in info.hooks for info in working):
            yield Check("warn", f"no plugin for {kind}: defaults apply, {otherwise}")
    time_guards(hooks)
    for name, statistics in hooks.statistics.items():
        if statistics.errors:
            yield Check("FAIL", f"plugin {name} failed on an ordinary text: {statistics.last_error}")
    try:
        for command in hooks.commands():
            if command.name in COMMANDS:
                yield Check("warn", f"a plugin's command {command.name} can never run: MemScope has one of that name")
    except StartError as error:
        yield Check("FAIL", str(error))


def _database(app: MemScope) -> Iterator[Check]:
    from memscope.organizations.clients import waiting

    storage = app.core.storage
    storage.check()
    for name, text in storage.report().items():
        yield Check("warn" if "NOT " in text else "ok", f"{name}: {text}")
    organizations = storage.organizations()
    if not organizations:
        yield Check("warn", "there is no organization yet: `memscope org apply FILE.toml` makes one")
    for organization in organizations:
        if count := waiting(app.core, organization.id):
            several = "1 client waits" if count == 1 else f"{count} clients wait"
            yield Check(
                "warn", f"organization {organization.slug}: {several} for an administrator's approval, under Clients in the console"
            )


def _model(app: MemScope) -> Iterator[Check]:
    embedding = app.core.embedding
    identity, serving = embedding.model.identity, app.core.storage.serving_model()
    loaded = _attempt(embedding.load)
    if loaded is None:
        yield Check("ok", f"embedding model {identity}, {embedding.model.dimensions} dimensions, loads")
    else:
        yield Check("FAIL", f"embedding model {identity} does not load ({loaded}): recall finds by words alone")
    if serving not in (None, identity):
        yield Check("FAIL", f"the stored vectors were made with {serving}: run `memscope reindex`, or choose the earlier model again")


def _attempt(action: Callable[[], None]) -> str | None:
    try:
        action()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def _disk(context: Context) -> Check:
    free = shutil.disk_usage(context.settings.data_dir).free
    return Check("ok" if free >= FREE_LEAST else "warn", f"{free / (1 << 30):.1f} GB free for {context.settings.data_dir}")


def _server(context: Context) -> Iterator[Check]:
    server = context.settings.server
    local = f"http://{'127.0.0.1' if server.host in ('', '0.0.0.0', '::') else server.host}:{server.port}"
    state = _status(f"{local}/readyz")
    if state is None:
        yield Check("ok", f"no server answers at {local} (start one with `memscope serve`)")
    else:
        yield Check("ok" if state == 200 else "FAIL", f"server at {local}: {'ready' if state == 200 else f'answers with {state}'}")
    if server.public_url is not None:
        # Not a health probe: those are answered for every host name.
        state = _status(f"{server.public_url.rstrip('/')}/mcp")
        fine = state == 401
        yield Check(
            "ok" if fine else "warn",
            f"public address {server.public_url}: {'asks for a token, as it should' if fine else f'answers with {state}'}",
        )


def _status(url: str) -> int | None:
    """The HTTP status of an address, or None when nothing answers."""
    import urllib.error
    import urllib.request

    try:
        with urllib.request.urlopen(url, timeout=3) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code
    except (OSError, ValueError):
        return None
