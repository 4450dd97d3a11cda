"""Sensitive subjects."""

from __future__ import annotations

from flask_wtf import FlaskForm
from wtforms import SelectField, StringField, TextAreaField

from memscope_admin.forms.fields import LEVELS, NEEDED, CheckboxesField


class TopicForm(FlaskForm):
    """A sensitive subject."""

    key = StringField("Key", [NEEDED], description="Lower-case letters, digits, - and _. It stays as it is.")
    name = StringField("Name", [NEEDED])
    aliases = TextAreaField("Other names, one a line")
    description = TextAreaField("What it is about")
    phrases = TextAreaField("Phrases that speak of it, one a line")
    sensitivity = SelectField("How sensitive a text on it is at least", choices=LEVELS)
    teams = CheckboxesField("Guard teams: only their people read guarded texts on it")
