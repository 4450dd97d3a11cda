"""One's own memories: all, those held, those that expire soon."""

from __future__ import annotations

from flask import Blueprint, redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from memscope.memories.find import Wanted, find_memories
from memscope_admin.navigation import signed_in
from memscope_admin.sessions import core, principal

pages = Blueprint("mine", __name__, url_prefix="/me")
pages.before_request(signed_in)
LISTS = {"": "All", "held": "Held", "expiring": "Expiring"}


@pages.get("/memories")
def listed() -> str:
    """What one saved."""
    chosen = request.args.get("list", "")
    chosen = chosen if chosen in LISTS else ""
    wanted = Wanted(author="me", state=chosen or None)
    found = find_memories(core(), principal(), wanted, cursor=request.args.get("cursor") or None)
    return render_template("me/memories.html", found=found, lists=LISTS, chosen_list=chosen)


@pages.get("/connections")
def connections() -> Response:
    """The agents that act for one."""
    return redirect(url_for("connections.listed"))
