"""Signing in, passwords, second factors and what a person chooses for themselves."""

from __future__ import annotations

from flask_wtf import FlaskForm
from wtforms import BooleanField, EmailField, HiddenField, PasswordField, RadioField, SelectChoice, StringField
from wtforms.validators import Length, Optional

from memscope_admin.forms.fields import NEEDED

ADVICE = "A long one that you use nowhere else; a few words in a row are good."


class SignInForm(FlaskForm):
    """Who, and the proof."""

    organization = StringField("Organization", description="Its short name.")
    email = EmailField("E-mail address", [NEEDED])
    password = PasswordField("Password", [NEEDED])


class SecondForm(FlaskForm):
    """The second proof."""

    code = StringField("One-time code", description="The six digits that your app shows now. Each works once.")
    recovery = StringField("Recovery code", description="One of the ten that you kept. Each works once.")


class AgainForm(FlaskForm):
    """The proof anew, of somebody who is signed in."""

    kept = HiddenField()
    password = PasswordField("Password")
    code = StringField("One-time code or recovery code", description="Each works once.")
    credential = HiddenField()


class AccountForm(FlaskForm):
    """The first administrator."""

    name = StringField("Your name", [NEEDED])
    email = EmailField("E-mail address", [NEEDED])
    password = PasswordField("Password", [NEEDED], description=ADVICE)


class PasswordForm(FlaskForm):
    """A new password where none is known yet."""

    password = PasswordField("New password", [NEEDED], description=ADVICE)


class ChangePasswordForm(FlaskForm):
    """A new password in place of the old one."""

    old = PasswordField("Password until now", [NEEDED])
    password = PasswordField("New password", [NEEDED], description=ADVICE)


class CodesForm(FlaskForm):
    """The first one-time code of an app."""

    sealed = HiddenField()
    code = StringField("Code that the app shows", [NEEDED])


class PasskeyForm(FlaskForm):
    """A new passkey and what to call it."""

    credential = HiddenField()
    name = StringField(
        "Name of the passkey",
        [Length(max=60, message="At most 60 characters.")],
        description="So that you know it again, such as the device it is on.",
    )


class ReasonForm(FlaskForm):
    """Why an administrator does it."""

    reason = StringField(
        "Reason", [NEEDED, Length(max=200, message="At most 200 characters.")], description="Kept in the audit log and told to the person."
    )


class PreferencesForm(FlaskForm):
    """The console's looks and keys."""

    theme = RadioField(
        "Colours", choices=[SelectChoice("auto", "As the device says"), SelectChoice("light", "Light"), SelectChoice("dark", "Dark")]
    )
    keys = BooleanField("Single keys, such as a for approve", [Optional()])
    zone = StringField("Time zone", description="Such as Europe/Berlin. Empty: the organization's.")
