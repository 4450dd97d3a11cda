"""Help: who may do what, the words of the console, and its keys."""

from __future__ import annotations

from flask import Blueprint, render_template

from memscope_admin.navigation import signed_in

pages = Blueprint("help", __name__, url_prefix="/help")
pages.before_request(signed_in)


@pages.get("")
def show() -> str:
    """What is who, and the key map."""
    return render_template("help.html")
