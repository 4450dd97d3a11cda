"""Forms: what is asked and what each field takes. Values that only a service can judge come back through `blame`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from zoneinfo import available_timezones

from flask_wtf import FlaskForm
from wtforms import (
    BooleanField,
    EmailField,
    IntegerField,
    PasswordField,
    RadioField,
    SelectChoice,
    SelectField,
    SelectMultipleField,
    StringField,
    TextAreaField,
)
from wtforms.validators import InputRequired, Length, NumberRange, Optional
from wtforms.widgets import CheckboxInput, ListWidget

from memscope.errors import InvalidArgument
from memscope.model.memory import CONTENT_MAX, REASON_MAX

LEVELS = [
    SelectChoice("public", "Public"),
    SelectChoice("internal", "Internal"),
    SelectChoice("restricted", "Restricted"),
    SelectChoice("highly_restricted", "Highly restricted"),
]
ROLES = [SelectChoice("guest", "Guest"), SelectChoice("member", "Member"), SelectChoice("admin", "Administrator")]
SCOPES = [
    SelectChoice("personal", "Only the author"),
    SelectChoice("team", "Their team"),
    SelectChoice("project", "Their project"),
    SelectChoice("organization", "Everybody"),
]
CONFIRMATIONS = [
    SelectChoice("console", "Ask the person here in the console (recommended)"),
    SelectChoice("ask", "Ask the person through their agent where it can"),
    SelectChoice("flag", "Believe the agent when it says that the person agreed"),
]
SECRETS = [
    SelectChoice("hold", "Keep it for its author alone, held for review"),
    SelectChoice("redact", "Store it with the credential replaced by its kind"),
    SelectChoice("reject", "Refuse to save it"),
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


class SignInForm(FlaskForm):
    """Who, and the proof."""

    organization = StringField("Organization", description="Its short name.")
    email = EmailField("E-mail address", [NEEDED])
    password = PasswordField("Password", [NEEDED])


class AccountForm(FlaskForm):
    """The first administrator."""

    name = StringField("Your name", [NEEDED])
    email = EmailField("E-mail address", [NEEDED])
    password = PasswordField("Password", [NEEDED], description="A long one that you use nowhere else; a few words in a row are good.")


class PasswordForm(FlaskForm):
    """A new password where none is known yet."""

    password = PasswordField("New password", [NEEDED], description="A long one that you use nowhere else; a few words in a row are good.")


class ChangePasswordForm(FlaskForm):
    """A new password in place of the old one."""

    old = PasswordField("Password until now", [NEEDED])
    password = PasswordField("New password", [NEEDED])


class OrganizationForm(FlaskForm):
    """The organization's settings."""

    name = StringField("Name of the organization", [NEEDED])
    slug = StringField("Short name", [NEEDED], description="Lower-case letters, digits, - and _; used on the command line and at sign-in.")
    timezone = SelectField("Time zone", choices=sorted(available_timezones()))
    default_scope = SelectField("Where a memory goes when the agent names no place", choices=SCOPES)
    default_sensitivity = SelectField("How sensitive a memory is at least", choices=LEVELS)
    confirmation = RadioField("When an agent wants to forget something or show it to more people", choices=CONFIRMATIONS)
    secrets = RadioField("When a memory holds a password or key", choices=SECRETS)
    trash_days = IntegerField("Days in the trash before it is erased", [NEEDED, NumberRange(1, 3650, "From 1 to 3650 days.")])


class PasteForm(FlaskForm):
    """Many people at once."""

    people = TextAreaField("People", description="One a line: e-mail address, name, team. The team may be left out; a new one is made.")


class TokenForm(FlaskForm):
    """A new access token."""

    client = StringField("What will use it", [NEEDED, Length(max=200)], description="Such as claude-code; shown with what it saves.")
    days = IntegerField("Days until it expires", [NEEDED, NumberRange(1, 365, "From 1 to 365 days.")])


class CorrectForm(FlaskForm):
    """A corrected text."""

    new_content = TextAreaField("Text", [NEEDED], description=f"At most {CONTENT_MAX:,} characters.")
    reason = StringField("Why (may be left out)", [Length(max=REASON_MAX)])


class MoveForm(FlaskForm):
    """Another place."""

    place = SelectField("Who it is for")
    reason = StringField("Why (may be left out)", [Length(max=REASON_MAX)])


class LevelForm(FlaskForm):
    """Another sensitivity."""

    sensitivity = SelectField("How sensitive it is", choices=LEVELS)
    reason = StringField("Why (may be left out)", [Length(max=REASON_MAX)])


class SupersedeForm(FlaskForm):
    """The newer memory."""

    replaced_by = StringField("Number or id of the memory that replaces it", [NEEDED])


class ReasonForm(FlaskForm):
    """A reason alone."""

    reason = StringField("Why (may be left out)", [Length(max=REASON_MAX)])


class PersonForm(FlaskForm):
    """Somebody new, or changed."""

    email = EmailField("E-mail address", [NEEDED])
    name = StringField("Name", [NEEDED])
    role = SelectField("Role", choices=ROLES)
    clearance = SelectField("Cleared up to", choices=[SelectChoice("", "What the role gives"), *LEVELS])


class GroupForm(FlaskForm):
    """A team or a project."""

    slug = StringField("Short name", [NEEDED], description="Lower-case letters, digits, - and _. It stays as it is.")
    name = StringField("Name", [NEEDED])
    aliases = TextAreaField("Other names, one a line")
    team = SelectField("Belongs to the team")


class MemberForm(FlaskForm):
    """Somebody in a group."""

    person = SelectField("Person")
    role = SelectField("As", choices=[SelectChoice("member", "Member"), SelectChoice("owner", "Owner")])


class TopicForm(FlaskForm):
    """A sensitive subject."""

    key = StringField("Key", [NEEDED], description="Lower-case letters, digits, - and _. It stays as it is.")
    name = StringField("Name", [NEEDED])
    aliases = TextAreaField("Other names, one a line")
    description = TextAreaField("What it is about")
    phrases = TextAreaField("Phrases that speak of it, one a line")
    sensitivity = SelectField("How sensitive a text on it is at least", choices=LEVELS)
    teams = CheckboxesField("Guard teams: only their people read guarded texts on it")


class PreferencesForm(FlaskForm):
    """The console's looks and keys."""

    theme = RadioField(
        "Colours", choices=[SelectChoice("auto", "As the device says"), SelectChoice("light", "Light"), SelectChoice("dark", "Dark")]
    )
    keys = BooleanField("Single keys, such as a for approve", [Optional()])


def choose(field: Any, choices: Iterable[tuple[str, str]]) -> None:
    """Give a select its choices."""
    field.choices = [SelectChoice(value, label) for value, label in choices]
