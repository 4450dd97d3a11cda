"""`memscope serve`"""

from __future__ import annotations

import argparse
import logging
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from memscope.cli.context import Context, note, say
from memscope.errors import StartError

if TYPE_CHECKING:
    from memscope.app import MemScope
    from memscope.settings import Settings


def configure(parser: argparse.ArgumentParser) -> None:
    """Where to listen."""
    parser.description = (
        "Serve agents over MCP at /mcp, until stopped with Ctrl-C. Without a configured database it starts its own PostgreSQL\n"
        "in the data folder."
    )
    add_server_options(parser)


def add_server_options(parser: argparse.ArgumentParser) -> None:
    """The options that override `[server]`."""
    parser.add_argument("--host", help="address to listen on (default 127.0.0.1: this machine alone)")
    parser.add_argument("--port", type=int, help="port to listen on (default 8765; 0: any free one)")
    parser.add_argument("--workers", type=int, metavar="N", help="server processes (default 1)")


def run(arguments: argparse.Namespace, context: Context) -> int:
    """Serve until told to stop."""
    from memscope.serving.workers import serve

    return serve(server_settings(arguments, context.settings), announce)


def server_settings(arguments: argparse.Namespace, settings: Settings) -> Settings:
    """The settings with what the command line says of the server; logs go to standard error."""
    given = {key: getattr(arguments, key) for key in ("host", "port", "workers") if getattr(arguments, key) is not None}
    try:
        settings = replace(settings, server=replace(settings.server, **given))
    except ValueError as error:
        raise StartError(f"--{error}.") from None
    logging.basicConfig(
        level=settings.log.level.upper(), format="%(asctime)s %(levelname)s %(name)s %(message)s", stream=sys.stderr, force=True
    )
    if settings.log.level != "debug":
        for library in ("alembic", "mcp", "uvicorn"):
            logging.getLogger(library).setLevel(logging.WARNING)
    return settings


def announce(app: MemScope, address: str) -> None:
    """Say where it listens, and what to do first where nothing is set up."""
    from memscope.organizations.setting_up import first_organization, make_link

    url = app.core.settings.server.public_url or address
    note(f"MemScope serves {url}/mcp. Ctrl-C stops it.")
    console = any(info.name == "admin" and info.state == "active" and not info.error for info in app.core.hooks.report)
    if console and (organization := first_organization(app.core)) is not None:
        note("Nothing is set up yet. Open this link in a browser; it works once, within 24 hours:")
        say(f"{url}/admin/setup/{make_link(app.core, organization.id)}")
        note("Or use the command line: memscope org apply FILE.toml")
    elif not app.core.storage.organizations():
        note(
            "There is no organization yet. In another terminal, with the same --data-dir or settings:\n"
            "  memscope org apply FILE.toml\n"
            "  memscope token create YOU@EXAMPLE.COM --client claude-code\n"
            "  memscope client-config claude-code"
        )
