"""`memscope plugins`"""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from memscope.cli.context import CommandError, Context, note, say, table
from memscope.cli.parsing import Parser, add_organization, common

if TYPE_CHECKING:
    from memscope.hooks import Hooks

SAMPLE = (
    "We moved the nightly export to three in the morning, since the reports team starts at six and the old slot ran into the "
    "backups. Marta checks the first three runs; after that the usual alerts are enough. The runbook has the new times."
)
"""An ordinary text, for timing."""
ROUNDS = 5


def configure(parser: argparse.ArgumentParser) -> None:
    """Show them, or `new`."""
    parser.description = (
        "Show every plugin that was found: where it comes from, what it does, whether it works, and how long it takes for a text of\n"
        "40 words here and now. `memscope plugins new NAME` begins one of your own."
    )
    parser.add_argument("--differences", action="store_true", help="what plugins in shadow mode would have said otherwise, by day")
    add_organization(parser)
    group = parser.add_subparsers(dest="subcommand", metavar="new NAME", parser_class=Parser)
    new = group.add_parser("new", help="begin a plugin: a folder with a module, its packaging and a test", parents=[common()])
    new.add_argument("name", metavar="NAME", help="lower-case letters, digits and _, such as badge_numbers")
    new.add_argument("--in", dest="folder", type=Path, default=Path(), metavar="DIR", help="where to make the folder (default: here)")


def run(arguments: argparse.Namespace, context: Context) -> int:
    """Run what was chosen."""
    if arguments.subcommand == "new":
        return _new(arguments.name, arguments.folder)
    return _differences(arguments, context) if arguments.differences else _list(context)


def _list(context: Context) -> int:
    hooks = context.hooks
    time_guards(hooks)
    rows = []
    for info in hooks.report:
        statistics = hooks.statistics[info.name]
        took = f"{median(statistics.milliseconds):.1f} ms" if statistics.milliseconds else "-"
        did = ", ".join(hook.removeprefix("memscope_") for hook in info.hooks) or "-"
        rows.append((info.name, info.distribution, info.version, info.state, str(statistics.errors), took, did))
    for line in table(rows, head=("PLUGIN", "DISTRIBUTION", "VERSION", "STATE", "ERRORS", "LATENCY", "HOOKS")):
        say(line)
    failed = [info for info in hooks.report if info.state == "failed"]
    for info in failed:
        note(f"{info.name} failed to load: {info.error}")
    unwell = [name for name, statistics in hooks.statistics.items() if statistics.errors]
    for name in unwell:
        note(f"{name} failed {hooks.statistics[name].errors} times on an ordinary text: {hooks.statistics[name].last_error}")
    return 1 if failed or unwell else 0


def time_guards(hooks: Hooks) -> None:
    """Let every guarding plugin judge an ordinary text a few times; `hooks.statistics` holds what came of it."""
    from memscope.contracts.guard import GuardContext

    for attempt in range(ROUNDS + 1):
        hooks.detect_secrets(SAMPLE)
        hooks.classify_sensitivity(SAMPLE, GuardContext())
        hooks.detect_instructions(SAMPLE, GuardContext())
        if attempt == 0:
            # The first time counts the loading of models.
            for statistics in hooks.statistics.values():
                statistics.milliseconds.clear()


def _differences(arguments: argparse.Namespace, context: Context) -> int:
    from memscope.cli.choosing import organizations
    from memscope.guarding.differences import listed

    rows = []
    with context.opened() as app:
        for organization in organizations(app.core, arguments.org):
            for plugin, day, calls, pairs in listed(app.core, organization.id):
                differ = sum(pairs.values())
                told = "; ".join(f"{pair}: {times}" for pair, times in sorted(pairs.items(), key=lambda item: -item[1]))
                rows.append((organization.slug, plugin, day, str(calls), str(differ), told or "-"))
    for line in table(rows, head=("ORGANIZATION", "PLUGIN", "DAY", "TEXTS", "DIFFER", "NOW -> SHADOW: TIMES")):
        say(line)
    if not rows:
        note("Nothing was recorded. A plugin runs in shadow mode when [plugins] shadow names it.")
    return 0


def _new(name: str, folder: Path) -> int:
    if re.fullmatch(r"[a-z][a-z0-9_]{0,39}", name) is None:
        raise CommandError("A plugin's name has 1 to 40 lower-case letters, digits and _, and begins with a letter.")
    module = f"memscope_{name}"
    target = folder / module
    try:
        target.mkdir(parents=True)
        for file, text in (
            (f"{module}.py", _MODULE),
            (f"test_{module}.py", _TEST),
            ("setup.cfg", _SETUP),
            ("pyproject.toml", _PYPROJECT),
        ):
            (target / file).write_text(text.replace("NAME", name), encoding="utf-8")
    except FileExistsError:
        raise CommandError(f"{target} exists already. Choose another name, or another place with --in.") from None
    except OSError as error:
        raise CommandError(f"{target} cannot be made: {error.strerror}.") from None
    say(f"Made {target}. To try it without installing, put into the settings file:")
    say("  [plugins]")
    say(f'  files = ["{(target / f"{module}.py").absolute()}"]')
    say(f"To install it: pip install {target}; to test it: pytest {target}. `memscope plugins` shows it then.")
    return 0


_MODULE = '''"""A MemScope plugin. It finds badge numbers such as B-123456, which raise a memory to restricted."""

from __future__ import annotations

import re

from memscope.contracts.secrets import SecretFinding
from memscope.hookspecs import hookimpl
from memscope.model.audience import Sensitivity

BADGE = re.compile(r"\\bB-[0-9]{6}\\b")


@hookimpl
def memscope_detect_secrets(text: str) -> list[SecretFinding]:
    """Called for each text that is saved; `memscope.hookspecs` tells of the other hooks."""
    return [
        SecretFinding("badge_number", match.start(), match.end(), 0.8, Sensitivity.RESTRICTED, credential=False, masked="B-…")
        for match in BADGE.finditer(text)
    ]
'''

_TEST = """from memscope_NAME import memscope_detect_secrets


def test_finds_a_badge_number_where_it_stands():
    (found,) = memscope_detect_secrets("Give badge B-123456 to the guest.")
    assert (found.type, found.start, found.end) == ("badge_number", 11, 19)


def test_leaves_ordinary_text_alone():
    assert memscope_detect_secrets("Plan B-12 is cheaper.") == []
"""

_SETUP = """[metadata]
name = memscope-NAME
version = 0.1.0

[options]
py_modules = memscope_NAME
python_requires = >=3.11
install_requires = memscope

[options.entry_points]
memscope =
    NAME = memscope_NAME
"""

_PYPROJECT = """[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"
"""
