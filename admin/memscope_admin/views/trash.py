"""The trash: restored from, or erased for good by typing the number."""

from __future__ import annotations

from flask import Blueprint, flash, redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from memscope.errors import InvalidArgument
from memscope.memories.trash import Restore, discarded, erase_for_good, restore_memory, trash
from memscope_admin.forms.fields import blame
from memscope_admin.forms.memories import EraseForm
from memscope_admin.navigation import signed_in
from memscope_admin.sessions import core, principal, recently_authenticated

pages = Blueprint("trash", __name__, url_prefix="/me/trash")
pages.before_request(signed_in)
Answer = str | tuple[str, int] | Response


@pages.get("")
def listed() -> str:
    """What one may restore, and how long."""
    return render_template("me/trash.html", trash=trash(core(), principal(), cursor=request.args.get("cursor") or None))


@pages.post("/<memory>/restore")
def restore(memory: str) -> Response:
    """Out of the trash."""
    done = restore_memory(core(), principal(), Restore(memory))
    flash(f"Restored: memory {done.memory.number}.")
    return redirect(url_for("trash.listed"))


@pages.route("/<memory>/erase", methods=["GET", "POST"])
@recently_authenticated
def erase(memory: str) -> Answer:
    """For good, by typing the number."""
    found = discarded(core(), principal(), memory)
    form = EraseForm()
    if request.method == "POST" and form.validate():
        try:
            erase_for_good(core(), principal(), memory, form.number.data)
        except InvalidArgument as error:
            blame(form, error)
        else:
            flash(f"Memory {found.memory.number} is erased for good.")
            return redirect(url_for("trash.listed"))
    return render_template("me/erase.html", found=found, form=form), 422 if form.errors else 200
