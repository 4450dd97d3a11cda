"""The filter line over a list: `key:value` pieces, typed or picked. The address holds them one by one, so that both end in the same one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from flask import redirect, request, url_for
from werkzeug.wrappers import Response

LINE = "f"
"""The parameter in which a typed line comes."""
_PIECE = re.compile(r'(?P<empty>[A-Za-z_]+):(?=\s|$)|(?:(?P<key>[A-Za-z_]+):)?(?:"(?P<quoted>[^"]*)"|(?P<bare>\S+))')
_PLAIN = re.compile(r'[^\s":]+')


@dataclass(frozen=True, slots=True)
class Pick:
    """A filter that can be picked beside the line."""

    key: str
    label: str
    options: Sequence[tuple[str, str]] = ()
    """(value, title); empty: a text."""
    kind: str = "text"
    """Of the text's field."""
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Chip:
    """A filter that acts, and the address without it."""

    key: str
    value: str
    without: str


@dataclass(frozen=True, slots=True)
class Asked:
    """What the address asks for."""

    values: Mapping[str, str]
    problems: tuple[str, ...]
    line: str
    """As it stands in the field."""
    kept: Mapping[str, str] = field(default_factory=dict)
    """Parameters that are no filters and go along, such as the order."""

    def url(self, **changes: str | int | None) -> str:
        """The page's address with some parameters changed; None takes one out."""
        return _url({**self.kept, **self.values, **changes})

    def dated(self, key: str) -> bool:
        """Whether a filter is empty or a plain day, so that a field for days can show it."""
        try:
            return key not in self.values or bool(date.fromisoformat(self.values[key]))
        except ValueError:
            return False

    @property
    def chips(self) -> list[Chip]:
        """The filters that act."""
        return [Chip(key, value, self.url(**{key: None})) for key, value in self.values.items()]


def asked(keys: Sequence[str], *, bare: str | None = None, kept: Iterable[str] = (), passing: Iterable[str] = ()) -> Asked | Response:
    """The filters that the address asks for; a redirect to the plain address where a line was typed or fields were left empty.

    `bare` is the key that words without one mean, `kept` are other parameters that stay in the page's links, `passing` those
    that do not. A key that does not exist is named and left out.
    """
    given = request.args
    others = {name: given[name] for name in kept if given.get(name)}
    if LINE in given:
        values, problems = read(given[LINE], keys, bare)
        if not problems:
            return redirect(_url({**others, **values}))
        return Asked(values, tuple(problems), given[LINE], others)
    values = {key: given[key].strip() for key in keys if given.get(key, "").strip()}
    if any(name in given and name not in values for name in keys):
        return redirect(_url({**others, **values}))
    known = {*keys, *kept, *passing}
    problems = [f"There is no filter {name}; it is left out." for name in given if name not in known]
    for key in [key for key, value in values.items() if "\0" in value]:
        problems.append(f"{key}: holds a NUL character; it is left out.")
        del values[key]
    return Asked(values, tuple(problems), write(values), others)


def _url(parameters: Mapping[str, Any]) -> str:
    """The address of this page with these parameters, but for empty ones."""
    asked_for = {name: value for name, value in parameters.items() if value not in (None, "")}
    return url_for(request.endpoint or "", **{**asked_for, **(request.view_args or {})})


def read(line: str, keys: Sequence[str], bare: str | None) -> tuple[dict[str, str], list[str]]:
    """The filters of a typed line in the order of the keys, and what is wrong with it."""
    found: dict[str, str] = {}
    words: list[str] = []
    problems: list[str] = []
    for piece in _PIECE.finditer(line.replace("\0", " ")):
        key = (piece["key"] or piece["empty"] or "").casefold()
        value = piece["quoted"] if piece["quoted"] is not None else piece["bare"] or ""
        if not key:
            words.append(value)
        elif key not in keys:
            problems.append(f"There is no filter {key}; it is left out. There are: {', '.join(keys)}.")
        elif not value.strip():
            problems.append(f"{key}: says nothing; it is left out.")
        elif key in found:
            problems.append(f"{key}: is there twice; {found[key]} counts.")
        else:
            found[key] = value.strip()
    said = " ".join(words).strip()
    if said and bare is None:
        problems.append(f"“{said}” belongs to no filter; it is left out. Write one as key:value.")
    elif said and bare is not None:
        found[bare] = f"{found[bare]} {said}" if bare in found else said
    return {key: found[key] for key in keys if key in found}, problems


def write(values: Mapping[str, str]) -> str:
    """Filters as a line."""
    return " ".join(
        f"{key}:{value}" if _PLAIN.fullmatch(value) else f'{key}:"{value.replace(chr(34), "")}"' for key, value in values.items()
    )
