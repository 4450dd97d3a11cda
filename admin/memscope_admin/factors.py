"""Second factors in the console: who needs one and from when on, where passkeys work, and what is told of every change."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from flask import current_app, redirect, request, url_for
from flask_login import current_user
from werkzeug.wrappers import Response

from memscope.contracts.identity import BadFactor, Factors, PasskeyOwner, SecondFactors, Site
from memscope.model.organization import Role
from memscope_admin.sessions import RECORDS, app, core, note, visitor
from memscope_admin.settings import ConsoleSettings

CHALLENGES_KEPT = 3
"""Challenges that one browser may have open: as many tabs."""
CHALLENGE_S = 300
"""How long a browser may take to answer; the provider holds to that too."""
NOTICES_KEPT = 10
WITHOUT = ("static", "sign_in.", "security.", "setup.factor", "setup.enter", "setup.account", "setup.welcome", "setup.password")
"""What somebody who must have a second factor still reaches without: the way to one, and out."""


def keeper() -> SecondFactors:
    """Who keeps second factors."""
    return app().identities.second_factors


def mine() -> Factors:
    """The visitor's own."""
    here = visitor()
    return keeper().factors(here.principal.organization, here.person.id)


# who needs one
def required(role: Role) -> bool:
    """Whether somebody of a role needs a second factor."""
    wanted = _settings().second_factor
    return wanted == "all" or (wanted == "admins" and role is Role.ADMIN)


def begin_grace(organization: str, person: str, role: Role) -> None:
    """Somebody signs in: where they need a second factor and have none, the time they may do without begins, once for all."""
    if required(role) and not keeper().factors(organization, person).any:
        since = {"since": core().clock().isoformat(), "over": False}
        core().storage.records(RECORDS).change(organization, _grace(person), lambda known: known or since)


def end_grace(organization: str, person: str) -> None:
    """Somebody has a second factor: should they ever lose it, they need another at once."""
    over = {"since": core().clock().isoformat(), "over": True}
    core().storage.records(RECORDS).put(organization, _grace(person), over)


def enrol_by() -> datetime | None:
    """When the visitor must have a second factor; None: they have one, or need none."""
    here = visitor()
    if not required(here.person.role) or mine().any:
        return None
    record = core().storage.records(RECORDS).get(here.principal.organization, _grace(here.person.id))
    if record is not None and record["over"]:
        return datetime.fromisoformat(record["since"])
    # Somebody who was made an administrator while signed in has no record until they sign in the next time.
    since = here.authenticated if record is None else datetime.fromisoformat(record["since"])
    return since + timedelta(days=_settings().second_factor_grace_days)


def lead() -> Response | None:
    """A `before_request` of everything: whoever must have a second factor by now is led to one and to nothing else."""
    if (request.endpoint or "").startswith(WITHOUT) or request.endpoint is None or not current_user.is_authenticated:
        return None
    due = enrol_by()
    return None if due is None or due > core().clock() else redirect(url_for("security.enrol"))


# passkeys
def site() -> Site | None:
    """Where passkeys work: the public address, or localhost by that name; None at any other."""
    public = core().settings.server.public_url
    parts = urlsplit(public or f"http://{request.host}")
    host = parts.hostname or ""
    if not (parts.scheme == "https" or host == "localhost") or (public and parts.netloc.casefold() != request.host.casefold()):
        return None
    return Site(host, f"{parts.scheme}://{parts.netloc.casefold()}")


def offered(options: str) -> Response:
    """Options for a browser's script. This browser alone may answer them: a cookie names the challenge.

    Not the session's: a script asks while a form may be on its way, and the later answer would undo the earlier one's session.
    """
    kept = [*_challenges(), json.loads(options)["challenge"]][-CHALLENGES_KEPT:]
    response = Response(options, mimetype="application/json")
    secure = bool(current_app.config["SESSION_COOKIE_SECURE"])
    response.set_cookie(_cookie(), ".".join(kept), CHALLENGE_S, path="/", secure=secure, httponly=True, samesite="Lax")
    return response


def _challenges() -> list[str]:
    return [one for one in request.cookies.get(_cookie(), "").split(".") if one]


def _cookie() -> str:
    return f"{current_app.config['SESSION_COOKIE_NAME']}-passkey"


def answered(answer: str) -> str:
    """The challenge that an answer is to, of those that this browser was given. BadFactor."""
    try:
        data = json.loads(answer)["response"]["clientDataJSON"]
        said = json.loads(base64.urlsafe_b64decode(data + "=" * (-len(data) % 4)))["challenge"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise BadFactor("unreadable answer") from None
    if said not in _challenges():
        raise BadFactor("no challenge of this browser")
    return str(said)


def owner_of(answer: str) -> PasskeyOwner:
    """Whom the passkey of a browser's answer proves. BadFactor."""
    here = site()
    if here is None:
        raise BadFactor("passkeys do not work here")
    return keeper().check_passkey(answer, answered(answer), here, core().clock())


def use_code(organization: str, person: str, text: str) -> str:
    """Use up a one-time code (six digits) or a recovery code; which of the two it was: `code` or `recovery`. BadFactor."""
    digits = "".join(text.split())
    if digits.isdigit() and len(digits) <= 8:
        keeper().check_code(organization, person, digits, core().clock())
        return "code"
    left = keeper().use_recovery_code(organization, person, text)
    note(organization, "recovery_code_used", person, left=left)
    tell(organization, person, f"A recovery code was used; {left} are left.")
    return "recovery"


# what is told
@dataclass(frozen=True, slots=True)
class Notice:
    """Something that happened to somebody's factors."""

    at: datetime
    text: str


def tell(organization: str, person: str, text: str) -> None:
    """Put something down for a person to read on their own security page. No secrets."""
    line = {"at": core().clock().isoformat(), "text": text}

    def more(known: Mapping[str, Any] | None) -> Mapping[str, Any]:
        return {"lines": [line, *(known or {"lines": []})["lines"]][:NOTICES_KEPT]}

    core().storage.records(RECORDS).change(organization, _notices(person), more)


def notices(organization: str, person: str) -> list[Notice]:
    """What happened to somebody's factors, newest first."""
    record = core().storage.records(RECORDS).get(organization, _notices(person))
    return [Notice(datetime.fromisoformat(line["at"]), line["text"]) for line in (record or {"lines": []})["lines"]]


def _settings() -> ConsoleSettings:
    found: ConsoleSettings = current_app.extensions["memscope_console"]
    return found


def _grace(person: str) -> str:
    return f"second_factor/{person}"


def _notices(person: str) -> str:
    return f"notices/{person}"
