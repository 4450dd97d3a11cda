"""What forms share: choices, checks, and putting a service's refusal at its field."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from wtforms import SelectChoice, SelectMultipleField
from wtforms.validators import InputRequired
from wtforms.widgets import CheckboxInput, ListWidget

from memscope.errors import InvalidArgument

LEVELS = [
    SelectChoice("public", "Public"),
    SelectChoice("internal", "Internal"),
    SelectChoice("restricted", "Restricted"),
    SelectChoice("highly_restricted", "Highly restricted"),
]
NEEDED = InputRequired("This is needed.")


def blame(form: Any, error: InvalidArgument) -> None:
    """Put a service's refusal at the field it names, or at the first one."""
    field = form._fields.get(error.parameter) or next(field for field in form if field.name != "csrf_token")
    field.errors = [*field.errors, error.message]


def lines(text: str | None) -> list[str]:
    """The lines of a text area that say something."""
    return [line.strip() for line in (text or "").splitlines() if line.strip()]


class CheckboxesField(SelectMultipleField):
    """Several of a few."""

    widget = ListWidget(prefix_label=False)
    option_widget = CheckboxInput()


def choose(field: Any, choices: Iterable[tuple[str, str]]) -> None:
    """Give a select its choices."""
    field.choices = [SelectChoice(value, label) for value, label in choices]
