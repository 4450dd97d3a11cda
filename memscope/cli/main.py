"""Entry point of `memscope`: finds the command, imports its module alone, and turns errors into one line each."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Any, NoReturn

from memscope import __version__
from memscope.cli.context import CommandError, Context, note
from memscope.cli.parsing import Parser, common
from memscope.errors import MemScopeError, StartError

COMMANDS: Mapping[str, tuple[str, str]] = {
    "serve": ("serve", "serve agents over HTTP"),
    "stdio": ("stdio", "serve one agent over standard input and output"),
    "demo": ("demo", "try it: a sample organization, served at once"),
    "org": ("org", "make or change an organization from a file, or write that file"),
    "token": ("token", "give out, list and revoke access tokens"),
    "person": ("person", "set a person's password anew"),
    "client-config": ("client_config", "print how to connect an agent: Claude Code, Codex, Cursor, ..."),
    "approvals": ("approvals", "list and decide what waits for a person's approval"),
    "plugins": ("plugins", "show the plugins and how they do, or begin a new one"),
    "doctor": ("doctor", "check this installation and say what is wrong"),
    "try": ("try_", "show what would be made of a text, without saving it"),
    "bench": ("bench", "score the guarding plugins on a labelled file"),
    "import": ("import_", "add memories from a file of JSON lines"),
    "export": ("export", "write memories to a file of JSON lines"),
    "purge": ("purge", "erase what has been in the trash long enough"),
    "reindex": ("reindex", "make vectors anew, for another embedding model"),
    "reclassify": ("reclassify", "judge stored memories again, with today's plugins and topics"),
    "audit": ("audit", "check the audit log's chain"),
    "backup": ("backup", "write everything to one file"),
    "restore": ("restore", "load a backup into an empty database"),
}
"""Command → module and help, so that nothing is imported to list them."""

_EPILOG = """\
first steps:
  memscope demo                              a sample organization to play with
  memscope org apply FILE.toml               your own organization (`memscope org apply --help` tells what is in it)
  memscope token create YOU@EXAMPLE.COM --client NAME
  memscope serve
  memscope client-config claude-code

`memscope COMMAND --help` tells more about each.
"""


class UsageError(Exception):
    """The command line names nothing that there is. The exit code is 2."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code: 0 done, 1 failed, 2 wrong usage, 130 stopped."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character must not end the command.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        with _stoppable():
            return _run(arguments)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 0 if stop.code is None else 1
    except UsageError as error:
        note(f"memscope: {error} `memscope --help` lists them.")
        return 2
    except (StartError, CommandError) as error:
        note(f"memscope: {error}")
    except MemScopeError as error:
        note(f"memscope: {error.message}{f' {error.hint}' if error.hint else ''}")
    except KeyboardInterrupt:
        note("memscope: stopped.")
        return 130
    except BrokenPipeError:
        # Whoever read the output has gone; nothing may be written to it at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except Exception as error:
        if os.environ.get("MEMSCOPE_LOG_LEVEL") == "debug":
            raise
        note(f"memscope: this went wrong unexpectedly ({type(error).__name__}). MEMSCOPE_LOG_LEVEL=debug shows where; please report it.")
    return 1


@contextlib.contextmanager
def _stoppable() -> Any:
    """SIGTERM ends a command as Ctrl-C does: what it holds is let go of."""

    def stop(number: int, frame: object) -> NoReturn:
        raise KeyboardInterrupt

    try:
        previous = signal.signal(signal.SIGTERM, stop)
    except ValueError:  # not in the main thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)


def _run(argv: list[str]) -> int:
    options, rest = common().parse_known_args(argv)
    name = next((argument for argument in rest if not argument.startswith("-")), None)
    if name is None:
        return _without_command(rest, options)
    context = Context(getattr(options, "config", None), getattr(options, "data_dir", None))
    configure, run, summary = _command(name, context)
    parser = Parser(prog=f"memscope {name}", description=summary[:1].upper() + summary[1:] + ".", parents=[common()])
    configure(parser)
    position = rest.index(name)
    arguments = parser.parse_args([*rest[:position], *rest[position + 1 :]], options)
    return run(arguments, context)


def _command(name: str, context: Context) -> tuple[Callable[[Any], None], Callable[[Any, Any], int], str]:
    if name in COMMANDS:
        module = import_module(f"memscope.cli.{COMMANDS[name][0]}")
        return module.configure, module.run, COMMANDS[name][1]
    for command in context.hooks.commands():
        if command.name == name:
            return command.configure, command.run, command.help
    close = get_close_matches(name, COMMANDS, 1)
    raise UsageError(f"there is no command {name}" + (f"; did you mean {close[0]}?" if close else "."))


def _without_command(rest: list[str], options: Namespace) -> int:
    parser = Parser(
        prog="memscope",
        description="An organization's memory for AI agents.",
        epilog=_EPILOG,
        parents=[common()],
        usage="%(prog)s COMMAND ...",
    )
    parser.add_argument("--version", action="version", version=f"memscope {__version__}")
    asks_for_help = not rest or any(argument in ("-h", "--help") for argument in rest)
    group = parser.add_subparsers(title="commands", metavar="COMMAND")
    for name, (_, help_) in COMMANDS.items():
        group.add_parser(name, help=help_)
    if asks_for_help:
        for command in _plugin_commands(options):
            group.add_parser(command.name, help=command.help)
    if not rest:
        parser.print_help(sys.stderr)
        return 2
    parser.parse_args(rest)
    return 2


def _plugin_commands(options: Namespace) -> Sequence[Any]:
    """Commands of plugins, for the list; settings that are wrong must not keep anybody from reading help."""
    with contextlib.suppress(StartError):
        context = Context(getattr(options, "config", None), getattr(options, "data_dir", None))
        return [command for command in context.hooks.commands() if command.name not in COMMANDS]
    return ()


if __name__ == "__main__":
    sys.exit(main())
