"""The organization and its first people."""

from __future__ import annotations

from functools import cache
from typing import Any
from zoneinfo import available_timezones

from flask_wtf import FlaskForm
from markupsafe import Markup, escape
from wtforms import FileField, HiddenField, IntegerField, RadioField, SelectChoice, SelectField, StringField, TextAreaField
from wtforms.validators import Length, NumberRange
from wtforms.widgets import html_params

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


ZONES = sorted(available_timezones())


@cache
def _zone_options() -> str:
    """The options of all zones: 600 of them take longer to make than the rest of the page."""
    return "".join(f'<option value="{escape(zone)}">{escape(zone)}</option>' for zone in ZONES)


class ZoneSelect:
    """A select of all time zones."""

    validation_attrs = ("required", "disabled")

    def __call__(self, field: SelectField, **more: Any) -> Markup:
        """The element, with the zone of the field selected."""
        chosen = f'<option value="{escape(field.data or "")}"'
        options = _zone_options().replace(chosen, f"{chosen} selected", 1)
        return Markup(f"<select {html_params(id=field.id, name=field.name, **more)}>{options}</select>")


class OrganizationForm(FlaskForm):
    """The organization's settings."""

    name = StringField("Name of the organization", [NEEDED])
    slug = StringField("Short name", [NEEDED], description="Lower-case letters, digits, - and _; used on the command line and at sign-in.")
    timezone = SelectField("Time zone", choices=ZONES, widget=ZoneSelect())
    default_scope = SelectField("Where a memory goes when the agent names no place", choices=SCOPES)
    default_sensitivity = SelectField("How sensitive a memory is at least", choices=LEVELS)
    confirmation = RadioField("When an agent wants to forget something or show it to more people", choices=CONFIRMATIONS)
    secrets = RadioField("When a memory holds a password or key", choices=SECRETS)
    trash_days = IntegerField("Days in the trash before it is erased", [NEEDED, NumberRange(1, 3650, "From 1 to 3650 days.")])


class BrandingForm(FlaskForm):
    """How the console looks."""

    brand = StringField(
        "Name at the top", [Length(max=40, message="At most 40 characters.")], description="In place of MemScope; empty: MemScope."
    )
    accent = StringField(
        "Accent colour on light ground", description="# and six hex digits; links and main buttons. Empty: the product's own."
    )
    accent_dark = StringField(
        "Accent colour on dark ground", description="Empty: the nearest shade of the accent above that can be read on dark ground."
    )


class ImportForm(FlaskForm):
    """An organization file, pasted or chosen."""

    text = TextAreaField("The file's text", description="As `memscope org export` writes it. What the file leaves out stays as it is.")
    file = FileField("Or the file itself")
    seen = HiddenField()


class PasteForm(FlaskForm):
    """Many people at once."""

    people = TextAreaField("People", description="One a line: e-mail address, name, team. The team may be left out; a new one is made.")
