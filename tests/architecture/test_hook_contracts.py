"""Each hook is documented, typed, called and implemented."""

from __future__ import annotations

import inspect
import typing
from pathlib import Path

import pytest

from memscope import hooks, hookspecs

ROOT = Path(__file__).parents[2]
SPECS = {name: function for specs in hookspecs.SPECS for name, function in vars(specs).items() if name.startswith("memscope_")}


@pytest.mark.parametrize("name", SPECS)
def test_every_hook_says_when_it_is_called_and_what_a_failure_does(name: str) -> None:
    text = inspect.getdoc(SPECS[name]) or ""
    assert len(text.splitlines()) >= 3, "a hook's docstring is its contract"


@pytest.mark.parametrize("name", SPECS)
def test_every_hook_is_typed(name: str) -> None:
    signature = inspect.signature(SPECS[name])
    assert signature.return_annotation is not inspect.Signature.empty
    assert all(parameter.annotation is not inspect.Parameter.empty for parameter in list(signature.parameters.values())[1:])


@pytest.mark.parametrize("name", SPECS)
def test_every_hook_is_called_with_the_arguments_it_declares(name: str) -> None:
    assert hooks._ARGUMENTS[name] == tuple(list(inspect.signature(SPECS[name]).parameters)[1:])
    assert f'"{name}"' in (ROOT / "memscope" / "hooks.py").read_text().replace("_ARGUMENTS", "", 1)


@pytest.mark.parametrize("name", SPECS)
def test_every_hook_is_implemented_by_some_plugin(name: str) -> None:
    sources = [
        *(ROOT / "plugins").rglob("*.py"),
        *(ROOT / "admin").rglob("*.py"),
        *(ROOT / "tests").rglob("*.py"),
        *(ROOT / "docs").rglob("*.md"),
    ]
    assert any(f"def {name}(" in path.read_text() for path in sources)


def test_no_hook_is_left_without_a_spec() -> None:
    assert set(hooks._ARGUMENTS) == set(SPECS)
    assert typing.TYPE_CHECKING is False
