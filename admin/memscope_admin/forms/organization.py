"""The organization and its first people."""

from __future__ import annotations

from zoneinfo import available_timezones

from flask_wtf import FlaskForm
from wtforms import IntegerField, RadioField, SelectChoice, SelectField, StringField, TextAreaField
from wtforms.validators import NumberRange

from memscope_admin.forms.fields import LEVELS, NEEDED

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
