"""Access tokens."""

from __future__ import annotations

from flask_wtf import FlaskForm
from wtforms import IntegerField, StringField
from wtforms.validators import Length, NumberRange

from memscope_admin.forms.fields import NEEDED


class TokenForm(FlaskForm):
    """A new access token."""

    client = StringField("What will use it", [NEEDED, Length(max=200)], description="Such as claude-code; shown with what it saves.")
    days = IntegerField("Days until it expires", [NEEDED, NumberRange(1, 365, "From 1 to 365 days.")])
