"""Access tokens, and which clients are let in."""

from __future__ import annotations

from flask_wtf import FlaskForm
from wtforms import BooleanField, IntegerField, RadioField, SelectChoice, StringField, TextAreaField
from wtforms.validators import Length, NumberRange

from memscope_admin.forms.fields import NEEDED


class TokenForm(FlaskForm):
    """A new access token."""

    client = StringField("What will use it", [NEEDED, Length(max=200)], description="Such as claude-code; shown with what it saves.")
    days = IntegerField("Days until it expires", [NEEDED, NumberRange(1, 365, "From 1 to 365 days.")])


class RuleForm(FlaskForm):
    """Who decides which clients people may let in."""

    rule = RadioField(
        "Who decides which clients may connect",
        [NEEDED],
        choices=[
            SelectChoice("anybody", "Each person decides alone"),
            SelectChoice("ask", "An administrator approves each client once; people can ask for one"),
            SelectChoice("listed", "Only clients that an administrator approved; nobody can ask"),
        ],
        description="Connections that stand already are not ended by this. Access tokens are not touched.",
    )


class ListedClientForm(FlaskForm):
    """A client registered by hand."""

    name = StringField("Name", [NEEDED, Length(max=100)], description="As people see it when they are asked.")
    redirect_uris = TextAreaField(
        "Redirect addresses", [NEEDED, Length(max=4000)], description="One a line, as the client's maker names them."
    )
    secret = BooleanField("It runs on a server and needs a secret")
