"""Connections: which agents act for whom; clients let in or kept out; tokens made and ended."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from flask import Blueprint, abort, flash, redirect, render_template, request, session, url_for
from werkzeug.wrappers import Response

from memscope.contracts.grants import GrantError, Grants
from memscope.errors import InvalidArgument
from memscope.organizations.client_lines import CLIENTS, lines
from memscope.organizations.clients import ClientRule, Standing, decide, list_client, programs, rule, set_rule, waiting
from memscope.organizations.connections import Shown, create_token, overview, revoke
from memscope_admin.forms.connections import ListedClientForm, RuleForm, TokenForm
from memscope_admin.forms.fields import lines as lines_of
from memscope_admin.navigation import admins_only, signed_in
from memscope_admin.sessions import app, core, principal, recently_authenticated, visitor
from memscope_admin.texts import several

pages = Blueprint("connections", __name__, url_prefix="/connections")
pages.before_request(signed_in)
Answer = str | tuple[str, int] | Response
DAYS = 90
A_PAGE = 50
FILTERS = ("all", "person", "stale", "unapproved", "ended")


@pages.get("")
def listed() -> str:
    """One's own; with `all` everybody's, for administrators. Every filter stands in the address."""
    here = visitor()
    chosen = _chosen()
    found = _visible(everybody="all" in chosen)
    person = here.roster.find_person(chosen["person"]) if "person" in chosen else None
    wanted = [
        one
        for one in found
        if ("ended" in chosen or one.state == "valid")
        and ("stale" not in chosen or one.stale)
        and ("unapproved" not in chosen or one.unapproved)
        and ("person" not in chosen or (person is not None and one.connection.person == person.id))
    ]
    first = max(request.args.get("from", 0, type=int), 0)
    after = first + A_PAGE if len(wanted) > first + A_PAGE else None
    return render_template(
        "connections/list.html",
        connections=wanted[first : first + A_PAGE],
        people=here.roster.people,
        chosen=chosen,
        unknown=chosen["person"] if "person" in chosen and person is None else None,
        after=after,
        waiting=_waiting() if here.admin else 0,
        approving=_rule() is not ClientRule.ANYBODY,
    )


@pages.get("/connect")
def connect() -> str:
    """The lines for each known client."""
    url = _address()
    client = request.args.get("client", "claude-code")
    client = client if client in CLIENTS else "generic"
    oauth = app().identities.grants is not None
    told = lines(client, url) if oauth else lines(client, url, "YOUR-TOKEN")
    return render_template("connections/connect.html", clients=CLIENTS, client=client, lines="\n".join(told), oauth=oauth)


@pages.route("/new", methods=["GET", "POST"])
@recently_authenticated
def add() -> Answer:
    """A token for an agent of one's own."""
    form = TokenForm(data={"client": request.args.get("client", "claude-code"), "days": DAYS})
    if request.method == "POST" and form.validate():
        here = visitor()
        try:
            expires = core().clock() + timedelta(days=form.days.data)
            tokens, organization = app().identities.tokens, here.principal.organization
            made, token = create_token(core(), tokens, organization, here.person.id, form.client.data, expires, actor=here.person.id)
        except InvalidArgument as error:
            form.client.errors = [error.message]
        else:
            # Shown by the next page, once: the cookie holds it sealed until then.
            session["token"] = core().keys.seal("console/token", [made.id, made.client, token])
            return redirect(url_for("connections.made"), 303)
    return render_template("connections/add.html", form=form, clients=CLIENTS), 422 if form.errors else 200


@pages.get("/made")
def made() -> Answer:
    """A new token, this once."""
    try:
        connection, client, token = core().keys.unseal("console/token", session.pop("token", ""))
    except ValueError:
        flash("A token is shown once. If it was not kept, end the connection and make another.")
        return redirect(url_for("connections.listed"))
    told = lines(client if client in CLIENTS else "generic", _address(), token)
    return render_template("connections/made.html", connection=connection, client=client, token=token, lines="\n".join(told))


@pages.post("/<connection_id>/revoke")
def end(connection_id: str) -> Response:
    """End a connection: one's own, or anybody's for administrators."""
    live = _end([connection_id])
    flash("Ended: its next call is refused." if live else "It was ended before.")
    return _back()


@pages.post("/end")
def end_several() -> Response:
    """End those that are ticked."""
    wanted = list(dict.fromkeys(request.form.getlist("connection")))[: A_PAGE * 4]
    if not wanted:
        flash("Nothing was ticked.")
    else:
        flash(f"{several(_end(wanted), 'connection')} ended: the next call of each is refused.")
    return _back()


@pages.get("/clients")
def clients() -> Answer:
    """The organization's rule about clients, those that wait, and those decided about."""
    return _clients(RuleForm(data={"rule": _rule().value}), ListedClientForm())


@pages.post("/clients/rule")
def change_rule() -> Answer:
    """Change the rule."""
    if (stranger := admins_only()) is not None:
        return stranger
    form = RuleForm()
    if not form.validate():
        return _clients(form, ListedClientForm())
    set_rule(core(), principal(), ClientRule(form.rule.data))
    flash("Saved.")
    return redirect(url_for("connections.clients"), 303)


@pages.post("/clients/<software>")
def decide_client(software: str) -> Answer:
    """Approve or refuse a client."""
    if (stranger := admins_only()) is not None:
        return stranger
    decision = request.form.get("decision")
    if decision not in ("approve", "refuse"):
        abort(400)
    decided = decide(core(), principal(), software, decision == "approve")
    flash(f"{decided.name} is approved." if decided.state is Standing.APPROVED else f"{decided.name} is refused, and what it had is ended.")
    return redirect(url_for("connections.clients"), 303)


@pages.post("/clients/new")
def list_by_hand() -> Answer:
    """Register a client by hand, approved; for clients that cannot register themselves."""
    if (stranger := admins_only()) is not None:
        return stranger
    form = ListedClientForm()
    grants = _grants()
    if form.validate():
        method = "client_secret_basic" if form.secret.data else "none"
        metadata = {"client_name": form.name.data, "redirect_uris": lines_of(form.redirect_uris.data), "token_endpoint_auth_method": method}
        try:
            made = grants.register_client(metadata, core().clock())
        except GrantError as error:
            form.redirect_uris.errors = [error.description]
        else:
            list_client(core(), principal(), grants.find_client(str(made["client_id"])))
            return render_template("connections/client.html", made=made)
    return _clients(RuleForm(formdata=None, data={"rule": _rule().value}), form)


def _clients(form: RuleForm, new: ListedClientForm) -> Answer:
    if (stranger := admins_only()) is not None:
        return stranger
    found = programs(core(), principal().organization)
    page = render_template("connections/clients.html", form=form, new=new, programs=found, people=visitor().roster.people, rule=_rule())
    return page, 422 if form.errors or new.errors else 200


def _rule() -> ClientRule:
    return rule(core(), principal().organization)


def _grants() -> Grants:
    grants = app().identities.grants
    return grants if grants is not None else abort(404)


def _waiting() -> int:
    return waiting(core(), principal().organization)


def _visible(*, everybody: bool) -> Sequence[Shown]:
    here = visitor()
    return overview(core(), app().identities.tokens, here.principal.organization, None if everybody else here.person.id)


def _end(wanted: list[str]) -> int:
    """End connections; how many were live. 404 when one is none that this person may see."""
    here = visitor()
    known = {one.connection.id: one.connection for one in _visible(everybody=here.admin)}
    if not known.keys() >= set(wanted):
        abort(404)
    tokens, organization = app().identities.tokens, here.principal.organization
    return sum(revoke(core(), tokens, organization, known[one], actor=here.person.id) for one in wanted)


def _chosen() -> dict[str, str]:
    """The filters of the address that mean something to this person."""
    admin = visitor().admin
    chosen: dict[str, Any] = {name: request.args[name] for name in FILTERS if request.args.get(name)}
    if not admin:
        chosen.pop("all", None)
        chosen.pop("person", None)
    elif "person" in chosen:
        chosen["all"] = "yes"
    return chosen


def _back() -> Response:
    kept: dict[str, Any] = {name: request.form[name] for name in FILTERS if request.form.get(name)}
    return redirect(url_for("connections.listed", **kept), 303)


def _address() -> str:
    return (core().settings.server.public_url or request.host_url).rstrip("/")
