"""A client asks to act for somebody: the person decides. Begins at `/oauth/authorize`, ends at the client's own address."""

from __future__ import annotations

import hmac

from flask import Blueprint, abort, current_app, redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from memscope.contracts.grants import Grants
from memscope.mcp_server.limits import Limits
from memscope.organizations import granting
from memscope.organizations.clients import Standing, ask_for
from memscope.organizations.granting import Misdirected, Question, Redirected
from memscope.serving.gate import MCP_PATH, address_of
from memscope_admin.errors import page
from memscope_admin.navigation import signed_in
from memscope_admin.security import without_scripts
from memscope_admin.sessions import app, core, principal, visitor

pages = Blueprint("consent", __name__)
ASKED = 60
"""Authorization requests a minute, from one address: each may fetch a document."""
LIMIT = "memscope_authorization_requests"
"""Where the application keeps the count of them."""
Answer = str | tuple[str, int] | Response


@pages.get("/authorize")
def begin() -> Answer:
    """Check what a client asks; signed in or not. RateLimited."""
    # Here and not at `/oauth/authorize`, which leads here: this address can be asked without the other.
    limit: Limits = current_app.extensions[LIMIT]
    limit.take(request.remote_addr or "?")
    issuer = _issuer()
    given = {name: request.args.getlist(name) for name in request.args}
    try:
        sealed = granting.ask(core(), _grants(), given, f"{issuer}{MCP_PATH}", issuer)
    except Misdirected as error:
        return _cannot(error)
    except Redirected as error:
        back = granting.target(error.address)
        if back.here:
            return redirect(error.address)
        # Nobody is sent to somebody else's page unasked: anybody may have written the link that led here.
        without_scripts()
        return render_template("consent/back.html", address=error.address, target=back, why=error.why), 400
    return redirect(url_for("consent.show", sealed=sealed))


@pages.get("/consent/<sealed>")
def show(sealed: str) -> Answer:
    """Ask the person."""
    if (stranger := signed_in()) is not None:
        return stranger
    try:
        asked = granting.question(core(), _grants(), principal(), sealed)
    except Misdirected as error:
        return _cannot(error)
    return _page(sealed, asked)


@pages.post("/consent/<sealed>")
def decide(sealed: str) -> Answer:
    """Allow, cancel, or ask an administrator. What is allowed is what this session was shown, whole."""
    if (stranger := signed_in()) is not None:
        return stranger
    if not hmac.compare_digest(request.form.get("approval", "").encode(), _approval(sealed).encode()):
        abort(400)
    try:
        asked = granting.question(core(), _grants(), principal(), sealed)
    except Misdirected as error:
        return _cannot(error)
    match request.form.get("decision"):
        case "allow":
            if not asked.standing.allowed:
                return _page(sealed, asked), 409
            return redirect(granting.allow(core(), _grants(), principal(), asked), 303)
        case "cancel":
            return redirect(granting.refuse(core(), principal(), asked), 303)
        case "ask" if asked.standing in (Standing.UNKNOWN, Standing.WAITING):
            ask_for(core(), principal(), asked.client)
            return redirect(url_for("consent.show", sealed=sealed), 303)
    return abort(400)


def _page(sealed: str, asked: Question) -> str:
    without_scripts(asked.target.source)
    until = asked.request.asked_at + granting.REQUEST_LASTS
    return render_template("consent/ask.html", asked=asked, approval=_approval(sealed), until=until, standing=asked.standing.value, menu=())


def _approval(sealed: str) -> str:
    return core().keys.digest("oauth/approval", [visitor().key, sealed])


def _cannot(error: Misdirected) -> tuple[str, int]:
    return page(400, "This client cannot be connected", error.description)


def _grants() -> Grants:
    grants = app().identities.grants
    return grants if grants is not None else abort(404)


def _issuer() -> str:
    headers = [(b"host", request.environ.get("HTTP_HOST", "").encode("latin-1"))]
    return address_of(core().settings.server, {"type": "http", "scheme": request.scheme, "headers": headers})
