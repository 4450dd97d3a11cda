"""People and the groups that they are in."""

from __future__ import annotations

from flask_wtf import FlaskForm
from wtforms import EmailField, SelectChoice, SelectField, StringField, TextAreaField

from memscope_admin.forms.fields import LEVELS, NEEDED

ROLES = [SelectChoice("guest", "Guest"), SelectChoice("member", "Member"), SelectChoice("admin", "Administrator")]


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
