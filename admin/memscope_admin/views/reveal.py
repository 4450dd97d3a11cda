"""Reveal: an administrator reads for an hour what the rules keep out, says why, and it is told."""

from __future__ import annotations

from flask import Blueprint, flash, redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from memscope.errors import Conflict, InvalidArgument
from memscope.memories.reveal import all_revealed, close, reveal
from memscope_admin.forms.fields import blame
from memscope_admin.forms.memories import RevealForm
from memscope_admin.navigation import admins_only
from memscope_admin.sessions import core, principal

pages = Blueprint("reveal", __name__, url_prefix="/reveal")
pages.before_request(admins_only)
Answer = str | tuple[str, int] | Response


@pages.route("", methods=["GET", "POST"])
def ask() -> Answer:
    """Name a memory and a reason; what is open to one now."""
    form = RevealForm(data={"memory": request.args.get("memory", "")})
    if request.method == "POST" and form.validate():
        try:
            opened = reveal(core(), principal(), form.memory.data, form.reason.data)
        except InvalidArgument as error:
            blame(form, error)
        except Conflict as error:
            flash(error.message)
            return redirect(url_for("memories.show", memory=form.memory.data.strip()))
        else:
            flash("Revealed for an hour. Its author is told.")
            return redirect(url_for("memories.show", memory=opened.number))
    html = render_template("reveal/ask.html", form=form, opened=all_revealed(core(), principal()))
    return html, 422 if form.errors else 200


@pages.post("/<memory>/end")
def end(memory: str) -> Response:
    """Close one before its hour is over."""
    close(core(), principal(), memory)
    flash("Closed.")
    return redirect(url_for("reveal.ask"))
