"""Connections: which agents act for whom; tokens made and ended."""

from __future__ import annotations

from datetime import timedelta

from flask import Blueprint, abort, flash, redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from memscope.errors import InvalidArgument
from memscope.model.organization import Connection
from memscope.organizations.client_lines import CLIENTS, lines
from memscope.organizations.connections import connections, create_token, revoke
from memscope_admin.forms.connections import TokenForm
from memscope_admin.navigation import signed_in
from memscope_admin.sessions import app, core, visitor

pages = Blueprint("connections", __name__, url_prefix="/connections")
pages.before_request(signed_in)
Answer = str | tuple[str, int] | Response
DAYS = 90
A_PAGE = 50


@pages.get("")
def listed() -> str:
    """One's own; with `all` everybody's, for administrators."""
    here = visitor()
    everybody = here.admin and request.args.get("all") == "yes"
    found = connections(core(), here.principal.organization, None if everybody else here.person.id)
    ended = request.args.get("ended") == "yes"
    first = max(request.args.get("from", 0, type=int), 0)
    wanted = [one for one in found if ended or _state(one) == "valid"]
    shown = wanted[first : first + A_PAGE]
    after = first + A_PAGE if len(wanted) > first + A_PAGE else None
    states = {one.id: _state(one) for one in shown}
    return render_template(
        "connections/list.html",
        connections=shown,
        states=states,
        people=here.roster.people,
        everybody=everybody,
        ended=ended,
        after=after,
    )


@pages.route("/new", methods=["GET", "POST"])
def add() -> Answer:
    """A token for an agent of one's own, shown this once."""
    form = TokenForm(data={"client": "claude-code", "days": DAYS})
    if request.method == "POST" and form.validate():
        here = visitor()
        try:
            expires = core().clock() + timedelta(days=form.days.data)
            tokens, organization = app().identities.tokens, here.principal.organization
            made, token = create_token(core(), tokens, organization, here.person.id, form.client.data, expires, actor=here.person.id)
        except InvalidArgument as error:
            form.client.errors = [error.message]
        else:
            url = core().settings.server.public_url or request.host_url.rstrip("/")
            client = form.client.data if form.client.data in CLIENTS else "generic"
            return render_template("connections/made.html", made=made, token=token, lines="\n".join(lines(client, url, token)))
    return render_template("connections/add.html", form=form, clients=CLIENTS), 422 if form.errors else 200


@pages.post("/<connection_id>/revoke")
def end(connection_id: str) -> Response:
    """End a connection: one's own, or anybody's for administrators."""
    here = visitor()
    found = connections(core(), here.principal.organization, None if here.admin else here.person.id)
    connection = next((one for one in found if one.id == connection_id), None)
    if connection is None:
        abort(404)
    live = revoke(core(), app().identities.tokens, here.principal.organization, connection, actor=here.person.id)
    flash("Ended: its next call is refused." if live else "It was ended before.")
    everybody = "yes" if request.form.get("all") == "yes" else None
    return redirect(url_for("connections.listed", all=everybody))


def _state(connection: Connection) -> str:
    if connection.revoked_at is not None:
        return "ended"
    if connection.expires_at is not None and connection.expires_at <= core().clock():
        return "expired"
    return "valid"
