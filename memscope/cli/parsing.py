"""Argument parsers of one kind: no guessed options, one line for what is wrong."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any, NoReturn

#: What `add_subparsers` returns; argparse keeps the type to itself.
Subcommands = Any
DAYS_MAX = 3650


class Parser(argparse.ArgumentParser):
    """A parser that takes options by their whole names, and says in one line what it does not understand."""

    def __init__(self, **keywords: Any) -> None:
        keywords.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(**keywords, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        """Print the one line and end with exit code 2."""
        print(f"{self.prog}: {message}. `{self.prog} --help` shows how to use it.", file=sys.stderr)
        raise SystemExit(2)


def common() -> Parser:
    """The options that every command takes, before or after its name."""
    options = Parser(add_help=False)
    group = options.add_argument_group("where MemScope lives")
    group.add_argument(
        "--config", type=Path, metavar="FILE", default=argparse.SUPPRESS, help="settings file (default: $MEMSCOPE_CONFIG, else built-in)"
    )
    group.add_argument(
        "--data-dir", type=Path, metavar="DIR", default=argparse.SUPPRESS, help="data folder (default: $MEMSCOPE_DATA_DIR, else your own)"
    )
    return options


def subcommands(parser: argparse.ArgumentParser) -> Subcommands:
    """Room for commands below a command; `arguments.subcommand` is the chosen one."""
    return parser.add_subparsers(dest="subcommand", metavar="COMMAND", required=True, parser_class=Parser)


def add(group: Subcommands, name: str, help: str, description: str | None = None) -> argparse.ArgumentParser:
    """A command below a command."""
    made: argparse.ArgumentParser = group.add_parser(name, help=help, description=description or _sentence(help), parents=[common()])
    return made


def add_organization(parser: argparse.ArgumentParser) -> None:
    """`--org SLUG`, needed only where there are several organizations."""
    parser.add_argument("--org", metavar="SLUG", help="the organization; may be left out while there is only one")


def days(text: str) -> int:
    """A number of days from 1 to ten years."""
    if not text.isascii() or not text.isdigit() or not 1 <= int(text[:6]) <= DAYS_MAX:
        raise argparse.ArgumentTypeError(f"must be a whole number of days from 1 to {DAYS_MAX}")
    return int(text)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + "."
