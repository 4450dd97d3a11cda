"""From a proof to a session: the second proof where there is one, the device remembered, the way on."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from flask import Response as FlaskResponse
from flask import after_this_request, current_app, redirect, request, session, url_for
from werkzeug.wrappers import Response

from memscope.model.organization import Organization, Person
from memscope_admin import factors
from memscope_admin.errors import back
from memscope_admin.sessions import core, sign_in
from memscope_admin.throttle import Throttle

PENDING = timedelta(minutes=10)
"""How long after the first proof the second may come."""
DEVICE_DAYS = 180
DEVICE_PEOPLE = 8
"""People whom one browser is known for at most: the last ones."""


@dataclass(frozen=True, slots=True)
class Pending:
    """Somebody who gave the first proof and still owes the second."""

    organization: Organization
    person: Person
    proof: str


def admit(organization: Organization, person: Person, proof: str, target: str | None) -> Response:
    """After the first proof (`password` or `link`): ask for the second where the person has one, else begin the session."""
    if factors.keeper().factors(organization.id, person.id).any:
        session.clear()
        now = core().clock().isoformat()
        session["second"] = {"organization": organization.id, "person": person.id, "proof": proof, "at": now}
        return redirect(url_for("sign_in.second", next=target or None))
    enter(organization, person, proof)
    return redirect(back(target))


def pending() -> Pending | None:
    """Who owes the second proof in this browser; None when nobody, or no longer."""
    kept = session.get("second")
    if kept is None or core().clock() - datetime.fromisoformat(kept["at"]) >= PENDING:
        return None
    roster = core().rosters.current(kept["organization"])
    person = roster.people.get(kept["person"])
    return Pending(roster.organization, person, kept["proof"]) if person is not None and person.active else None


def enter(organization: Organization, person: Person, *proofs: str) -> None:
    """Begin the session, and remember the device as one that the person signs in from."""
    factors.begin_grace(organization.id, person.id, person.role)
    _remember_device(organization.id, person.id)
    sign_in(organization, person, *proofs)
    Throttle(core(), organization.id, "", "").prune()


def device(organization: str | None, person: str | None) -> str | None:
    """The id of this browser when the person signed in from it before."""
    known = _device()
    return known["id"] if organization and person and _mark(organization, person) in known["people"] else None


def _device() -> dict[str, Any]:
    try:
        found: dict[str, Any] = core().keys.unseal("console/device", request.cookies.get(_cookie(), ""))
    except ValueError:
        return {"id": secrets.token_urlsafe(16), "people": []}
    return found


def _remember_device(organization: str, person: str) -> None:
    known, mark = _device(), _mark(organization, person)
    people = [mark, *(one for one in known["people"] if one != mark)][:DEVICE_PEOPLE]
    sealed = core().keys.seal("console/device", {"id": known["id"], "people": people})

    @after_this_request
    def remember(response: FlaskResponse) -> FlaskResponse:
        secure = bool(current_app.config["SESSION_COOKIE_SECURE"])
        response.set_cookie(_cookie(), sealed, timedelta(days=DEVICE_DAYS), path="/", secure=secure, httponly=True, samesite="Lax")
        return response


def _mark(organization: str, person: str) -> str:
    return core().keys.digest("console/device", [organization, person])[:32]


def _cookie() -> str:
    return f"{current_app.config['SESSION_COOKIE_NAME']}-device"
