"""Changes of a memory."""

from __future__ import annotations

from flask_wtf import FlaskForm
from wtforms import SelectField, StringField, TextAreaField
from wtforms.validators import Length

from memscope.model.memory import CONTENT_MAX, REASON_MAX
from memscope_admin.forms.fields import LEVELS, NEEDED


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
