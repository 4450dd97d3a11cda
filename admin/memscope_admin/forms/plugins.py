"""Plugins: switching one, and checking lines for its settings."""

from __future__ import annotations

from flask_wtf import FlaskForm
from wtforms import HiddenField, IntegerField, TextAreaField
from wtforms.validators import InputRequired, Length, NumberRange

from memscope.plugin_states import SHADOW_DAYS, SHADOW_DAYS_MAX


class SwitchForm(FlaskForm):
    """Another state for a plugin."""

    state = HiddenField("State", [InputRequired("Choose a state.")])
    days = IntegerField(
        "Days in shadow mode",
        [NumberRange(1, SHADOW_DAYS_MAX, f"From 1 to {SHADOW_DAYS_MAX} days.")],
        default=SHADOW_DAYS,
        description="Afterwards it is off, which changes no verdict, until somebody decides.",
    )


class LinesForm(FlaskForm):
    """Lines for the settings file."""

    lines = TextAreaField("Lines", [InputRequired("Write at least one line, such as key = 1."), Length(max=8000)])
