"""Arguments: one table of parameters per tool, from which both the JSON schema and the check are made.

What a client sends is checked strictly before anything else happens, and every refusal names the parameter and says
what it takes. Nothing a client sent is repeated but a parameter's name and numbers.
"""

from __future__ import annotations

import difflib
import json
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from memscope.errors import InvalidArgument
from memscope.model.memory import LABEL_MAX

REFERENCE_MAX = 64
"""Characters of what a client calls a memory."""
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_LABEL = re.compile(r"[A-Za-z0-9._/-]+")
_NAME_SHOWN = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter(ABC):
    """One parameter of a tool."""

    name: str
    about: str
    """What it means, for the schema."""
    required: bool = False
    default: Any = None
    """What a use is given when it was left out; shown in the schema unless it is None or False."""

    def schema(self) -> dict[str, Any]:
        """Its JSON schema: one plain type, no references or unions."""
        shown = {} if self.default is None or self.default is False else {"default": self.default}
        return {**self.shape(), "description": self.about, **shown}

    @abstractmethod
    def shape(self) -> dict[str, Any]:
        """The schema's keywords on type and limits."""

    @abstractmethod
    def takes(self) -> str:
        """What it takes, in words that follow "must be"."""

    @abstractmethod
    def check(self, value: Any) -> Any:
        """The value as a use takes it; raises InvalidArgument."""

    def refuse(self) -> InvalidArgument:
        """The error for a value of another type or beyond the limits."""
        return InvalidArgument(self.name, f"{self.name} must be {self.takes()}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Text(Parameter):
    """A text, measured in code points as it was sent."""

    shortest: int = 1
    longest: int

    def shape(self) -> dict[str, Any]:
        """Type and lengths."""
        least = {"minLength": self.shortest} if self.shortest else {}
        return {"type": "string", **least, "maxLength": self.longest}

    def takes(self) -> str:
        """The lengths in words."""
        return f"a text of {self.shortest} to {self.longest} characters"

    def check(self, value: Any) -> Any:
        """The same text."""
        if not isinstance(value, str):
            raise self.refuse()
        if len(value) > self.longest:
            raise InvalidArgument(self.name, f"{self.name} has {len(value)} characters and takes at most {self.longest}.")
        if len(value) < self.shortest:
            raise self.refuse()
        if _UNSTORABLE.search(value):
            raise InvalidArgument(self.name, f"{self.name} holds a NUL character or half of a surrogate pair, which no text may.")
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Label(Text):
    """A provenance label: lower-cased, then a short name of few characters."""

    longest: int = LABEL_MAX

    def shape(self) -> dict[str, Any]:
        """Lengths and the characters allowed."""
        return {**Text.shape(self), "pattern": "^[A-Za-z0-9._/-]+$"}

    def takes(self) -> str:
        """The rule in words."""
        return f"1 to {self.longest} characters of a-z 0-9 . _ / -"

    def check(self, value: Any) -> Any:
        """The label in lower case."""
        # Checked before it is lowered: some letters beyond ASCII have an ASCII lower case.
        text: str = Text.check(self, value)
        if not _LABEL.fullmatch(text):
            raise self.refuse()
        return text.lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference(Text):
    """What a memory is called: its id, or its number, which may come as a JSON integer."""

    longest: int = REFERENCE_MAX

    def takes(self) -> str:
        """The two forms."""
        return "a memory's id or number"

    def check(self, value: Any) -> Any:
        """The reference as text."""
        if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() <= 128:
            return str(value)
        return Text.check(self, value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice(Parameter):
    """One word of a list."""

    words: Mapping[str, Any]
    """The words, in the order shown, each with the value that a use is given."""

    def shape(self) -> dict[str, Any]:
        """The words as an enumeration."""
        return {"type": "string", "enum": list(self.words)}

    def takes(self) -> str:
        """The words."""
        return f"one of {', '.join(self.words)}"

    def check(self, value: Any) -> Any:
        """The word's value."""
        if not isinstance(value, str) or value not in self.words:
            raise self.refuse()
        return self.words[value]


@dataclass(frozen=True, slots=True, kw_only=True)
class Number(Parameter):
    """A number within limits, `whole` or not."""

    least: int
    most: int | None = None
    whole: bool = True

    def shape(self) -> dict[str, Any]:
        """Type and limits."""
        upper = {} if self.most is None else {"maximum": self.most}
        return {"type": "integer" if self.whole else "number", "minimum": self.least, **upper}

    def takes(self) -> str:
        """Type and limits in words."""
        kind = "a whole number" if self.whole else "a number"
        return f"{kind} of at least {self.least}" if self.most is None else f"{kind} from {self.least} to {self.most}"

    def check(self, value: Any) -> Any:
        """An int when whole (5.0 is a whole number), else a float."""
        if isinstance(value, bool) or not isinstance(value, int | float) or (isinstance(value, float) and not math.isfinite(value)):
            raise self.refuse()
        if value < self.least or (self.most is not None and value > self.most) or (self.whole and value != int(value)):
            raise self.refuse()
        return int(value) if self.whole else float(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch(Parameter):
    """True or false."""

    default: Any = False

    def shape(self) -> dict[str, Any]:
        """The type."""
        return {"type": "boolean"}

    def takes(self) -> str:
        """The two values."""
        return "true or false"

    def check(self, value: Any) -> Any:
        """The same boolean."""
        if not isinstance(value, bool):
            raise self.refuse()
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts(Parameter):
    """A list of texts."""

    longest: int = 200
    """Characters of each."""
    most: int = 50
    """Items."""

    def shape(self) -> dict[str, Any]:
        """A list with one type of items."""
        return {"type": "array", "items": {"type": "string", "minLength": 1, "maxLength": self.longest}, "maxItems": self.most}

    def takes(self) -> str:
        """The rule in words."""
        return f"a list of at most {self.most} texts of 1 to {self.longest} characters"

    def check(self, value: Any) -> Any:
        """The texts as a tuple."""
        if not isinstance(value, list) or len(value) > self.most:
            raise self.refuse()
        item = Text(name=self.name, about="", longest=self.longest)
        try:
            return tuple(item.check(text) for text in value)
        except InvalidArgument:
            raise self.refuse() from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Group(Parameter):
    """An object with parameters of its own; a use is given a dict with all of them."""

    parts: Sequence[Parameter] = field(default=())

    def shape(self) -> dict[str, Any]:
        """An object with named properties."""
        return schema(self.parts)

    def takes(self) -> str:
        """The names of its parts."""
        return f"an object with {' and '.join(part.name for part in self.parts)}"

    def check(self, value: Any) -> Any:
        """A dict with every part."""
        if not isinstance(value, dict):
            raise self.refuse()
        # Results show the parts they lack as null, and agents pass on what they were shown.
        given = {name: part for name, part in value.items() if part is not None}
        return parse(self.parts, given, within=f"{self.name}.")


def schema(parameters: Sequence[Parameter]) -> dict[str, Any]:
    """The JSON schema of an object with these parameters. `required` is a non-empty list or absent."""
    required = [parameter.name for parameter in parameters if parameter.required]
    properties = {parameter.name: parameter.schema() for parameter in parameters}
    return {"type": "object", "properties": properties, **({"required": required} if required else {})}


def parse(parameters: Sequence[Parameter], arguments: Mapping[str, Any], *, within: str = "") -> dict[str, Any]:
    """Every parameter's value, checked, or its default.

    `within` comes before names in errors. Raises InvalidArgument for an unknown parameter, a missing one or a wrong value.
    """
    known = [parameter.name for parameter in parameters]
    for name in arguments:
        if name not in known:
            raise _unknown(name, known, within)
    values: dict[str, Any] = {}
    for parameter in parameters:
        if parameter.name in arguments:
            values[parameter.name] = _checked(parameter, arguments[parameter.name], within)
        elif parameter.required:
            name = within + parameter.name
            raise InvalidArgument(name, f"{name} is missing. It must be {parameter.takes()}.")
        else:
            values[parameter.name] = parameter.default
    return values


def _checked(parameter: Parameter, value: Any, within: str) -> Any:
    try:
        return parameter.check(value)
    except InvalidArgument as error:
        hint = "Leave it out instead of sending null." if value is None and not parameter.required else None
        if hint is None and not within:
            raise
        raise InvalidArgument(within + error.parameter, within + error.message, hint=hint) from None


def _unknown(name: str, known: Sequence[str], within: str) -> InvalidArgument:
    # The name is the client's own text: quoted as ASCII, and cut.
    shown = within + json.dumps(name[:_NAME_SHOWN])[1:-1]
    close = difflib.get_close_matches(name[:_NAME_SHOWN], known, n=1)
    taken = f"It takes {', '.join(known)}." if known else "It takes none."
    hint = f"Perhaps {within}{close[0]} was meant. {taken}" if close else taken
    return InvalidArgument(shown, f'There is no parameter "{shown}" here.', hint=hint)
