"""Signing in, passwords and what a person chooses for themselves."""

from __future__ import annotations

from flask_wtf import FlaskForm
from wtforms import BooleanField, EmailField, PasswordField, RadioField, SelectChoice, StringField
from wtforms.validators import Optional

from memscope_admin.forms.fields import NEEDED


class SignInForm(FlaskForm):
    """Who, and the proof."""

    organization = StringField("Organization", description="Its short name.")
    email = EmailField("E-mail address", [NEEDED])
    password = PasswordField("Password", [NEEDED])


class AccountForm(FlaskForm):
    """The first administrator."""

    name = StringField("Your name", [NEEDED])
    email = EmailField("E-mail address", [NEEDED])
    password = PasswordField("Password", [NEEDED], description="A long one that you use nowhere else; a few words in a row are good.")


class PasswordForm(FlaskForm):
    """A new password where none is known yet."""

    password = PasswordField("New password", [NEEDED], description="A long one that you use nowhere else; a few words in a row are good.")


class ChangePasswordForm(FlaskForm):
    """A new password in place of the old one."""

    old = PasswordField("Password until now", [NEEDED])
    password = PasswordField("New password", [NEEDED])


class PreferencesForm(FlaskForm):
    """The console's looks and keys."""

    theme = RadioField(
        "Colours", choices=[SelectChoice("auto", "As the device says"), SelectChoice("light", "Light"), SelectChoice("dark", "Dark")]
    )
    keys = BooleanField("Single keys, such as a for approve", [Optional()])
