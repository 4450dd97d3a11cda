"""Changes of a memory."""

from __future__ import annotations

from flask_wtf import FlaskForm
from wtforms import SelectField, StringField, TextAreaField
from wtforms.validators import Length

from memscope.model.memory import CONTENT_MAX, REASON_MAX
from memscope_admin.forms.fields import LEVELS, NEEDED


class CorrectForm(FlaskForm):
    """A corrected text."""

    new_content = TextAreaField(
        "Text", [NEEDED], description=f"At most {CONTENT_MAX:,} characters.", render_kw={"data-most": str(CONTENT_MAX)}
    )
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


class RevealForm(FlaskForm):
    """Why an administrator wants to read what the rules keep out."""

    memory = StringField("Number or id of the memory", [NEEDED])
    reason = StringField(
        "Why",
        [NEEDED, Length(max=REASON_MAX)],
        description="The author and the owners of the teams that guard it are shown this; it goes into the audit log.",
    )


class EraseForm(FlaskForm):
    """Erasing for good."""

    number = StringField("Number of the memory", [NEEDED], description="Type it to say that you mean this one.")
