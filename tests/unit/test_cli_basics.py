"""Finding commands, options anywhere, errors in one line, exit codes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from memscope.cli.main import COMMANDS

Terminal = Any


def test_help_lists_every_command_and_those_of_plugins(terminal: Terminal) -> None:
    out = terminal.run("--help").out
    assert all(f"    {name}" in out for name in COMMANDS)
    assert "hello" in out


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_explains_itself(terminal: Terminal, name: str) -> None:
    out = terminal.run(name, "--help").out
    assert "--data-dir DIR" in out
    assert out.startswith(f"usage: memscope {name}")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nothing"], "there is no command nothing."),
        (["serv"], "did you mean serve?"),
        (["token"], "required: COMMAND"),
        (["token", "create"], "required: EMAIL, --client"),
        (["token", "create", "a@b.example", "--client", "x", "--expires", "0"], "whole number of days"),
        (["org", "apply", "f.toml", "--prun"], "--prun"),
        (["client-config", "pine"], "pine"),
        (["purge", "--bogus"], "--bogus"),
    ],
)
def test_wrong_usage_is_one_line_and_code_2(terminal: Terminal, arguments: list[str], says: str) -> None:
    output = terminal.run(*arguments, code=2)
    assert says in output.err
    assert output.out == ""
    assert len(output.err.splitlines()) == 1


def test_without_a_command_help_and_code_2(terminal: Terminal) -> None:
    assert "first steps" in terminal.run(code=2).err


def test_version(terminal: Terminal) -> None:
    from memscope import __version__

    assert terminal.run("--version").out == f"memscope {__version__}\n"


def test_common_options_stand_before_or_after_the_command(terminal: Terminal) -> None:
    other = str(terminal.folder / "other")
    terminal.run("org", "apply", terminal.file("a.toml", '[organization]\nslug = "one"\n'), "--data-dir", other)
    assert 'slug = "one"' in terminal.run("--data-dir", other, "org", "export").out
    assert 'slug = "one"' in terminal.run("org", "--data-dir", other, "export").out
    assert "no organization yet" in terminal.run("org", "export", code=1).err


def test_a_settings_file_that_is_wrong_is_named(terminal: Terminal) -> None:
    path = terminal.file("bad.toml", "[server]\nprot = 1\n")
    output = terminal.run("org", "export", "--config", path, code=1)
    assert (
        output.err
        == f"memscope: {path}: [server] has no key prot. Its keys: host, port, workers, public_url, allowed_hosts, key, metrics_token.\n"
    )
    assert "cannot be read" in terminal.run("org", "export", "--config", "/nowhere.toml", code=1).err


def test_what_is_unexpected_is_one_line_without_a_traceback(harbor: Terminal) -> None:
    for storage in harbor.kept.storages.values():
        harbor.patch.setattr(storage, "organizations", lambda: 1 / 0)
    output = harbor.run("org", "export", code=1)
    assert output.err.startswith("memscope: this went wrong unexpectedly (ZeroDivisionError).")


def test_plugin_commands_get_a_context(harbor: Terminal) -> None:
    assert harbor.run("hello", "good day").out == "good day 1\n"
    assert "required: greeting" in harbor.run("hello", code=2).err


def test_the_list_of_commands_loads_nothing_heavy() -> None:
    heavy = ("sqlalchemy", "psycopg", "spacy", "onnxruntime", "mcp", "starlette", "numpy", "flask", "memscope.app")
    code = f"import sys, memscope.cli.main as m; m.main(['token', '--help']); print([n for n in {heavy!r} if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parent)
    assert done.stdout.splitlines()[-1] == "[]"
