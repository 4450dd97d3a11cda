"""`memscope client-config`"""

from __future__ import annotations

import argparse

from memscope.cli.context import Context, say
from memscope.organizations.client_lines import CLIENTS, PLACEHOLDER, lines


def configure(parser: argparse.ArgumentParser) -> None:
    """Which client."""
    parser.description = (
        "Print the exact lines that connect a client to this server. The client then opens the browser, where the person signs in and\n"
        "allows it. For machines without a browser give --token: make one with `memscope token create EMAIL --client NAME`; each\n"
        "person uses their own."
    )
    parser.add_argument("client", metavar="CLIENT", choices=CLIENTS, help=", ".join(CLIENTS))
    parser.add_argument(
        "--url", help="the server's address, where the settings do not know it (default: [server] public_url, else host and port)"
    )
    parser.add_argument(
        "--token",
        nargs="?",
        const=PLACEHOLDER,
        help="lines with an access token instead of signing in through the browser; the one given, or a blank to fill in",
    )


def run(arguments: argparse.Namespace, context: Context) -> int:
    """Print."""
    server = context.settings.server
    url = arguments.url or server.public_url or f"http://{server.host}:{server.port}"
    for line in lines(arguments.client, url.rstrip("/").removesuffix("/mcp"), arguments.token):
        say(line)
    return 0
