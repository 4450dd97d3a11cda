"""Invitations: a one-time link by which a person sets the password that only they know."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import uuid
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from memscope.contracts.identity import Passwords
from memscope.contracts.storage import Operator, Transaction
from memscope.core import Core
from memscope.errors import Conflict, InvalidArgument, NotFound
from memscope.model.audit import Act
from memscope.model.organization import Organization, Person, Roster
from memscope.model.principal import Principal
from memscope.organizations.changes import Outcome, admins, carry_out
from memscope.organizations.passwords import names_of
from memscope.organizations.setting_up import LinkSpent

HOURS = 72
RESET_HOURS = 1
"""For somebody who has a password: the link replaces it."""


def invite(core: Core, principal: Principal, person_id: str, hours: int = HOURS) -> str:
    """A new one-time link's token for somebody active, good for so many hours; links made for them before stop working.

    Only its hash is kept.

    It sets their password, whether or not they have one: administrators neither see nor choose it.
    """

    def write(transaction: Transaction, roster: Roster) -> Outcome:
        if person_id not in roster.people:
            raise NotFound
        if not roster.people[person_id].active:
            raise Conflict("A disabled person cannot sign in; enable them first.")
        return Outcome(person_id, {"hours": hours})

    # The audit row first: no link is ever given out without one.
    carry_out(core, principal, "person.invite", admins, write)
    secret = secrets.token_urlsafe(32)
    record = {"hash": _hash(secret), "expires": (core.clock() + timedelta(hours=hours)).isoformat()}
    core.storage.records("setup").put(principal.organization, _key(person_id), record)
    return f"{uuid.UUID(principal.organization).hex}.{uuid.UUID(person_id).hex}.{secret}"


def invited(core: Core, token: str) -> tuple[Organization, Person]:
    """Whom a link's token is for, without using it up. LinkSpent."""
    organization, person, secret = _parsed(token)
    record = core.storage.records("setup").get(organization, _key(person))
    if not _good(record, secret, core.clock()):
        raise LinkSpent
    roster = core.rosters.current(organization)
    known = roster.people.get(person)
    if known is None or not known.active:
        raise LinkSpent
    return roster.organization, known


def accept(core: Core, passwords: Passwords, token: str, password: str) -> tuple[Organization, Person]:
    """Set the password and use the link up; of two at once one succeeds. InvalidArgument for a weak one: the link still works."""
    organization, person = invited(core, token)
    try:
        passwords.refuse_weak(password, names_of(organization, person.name, person.email))
    except ValueError as error:
        raise InvalidArgument("password", str(error)) from None
    secret, claimed = _parsed(token)[2], False

    def claim(record: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        nonlocal claimed
        claimed = _good(record, secret, core.clock())
        return None if claimed else record

    core.storage.records("setup").change(organization.id, _key(person.id), claim)
    if not claimed:
        raise LinkSpent
    with core.storage.begin(Operator("invitation", organization.id), Act("person.set_password", person.id, target=person.id)):
        pass
    passwords.set_password(organization.id, person.id, password)
    return organization, person


def withdraw(core: Core, organization: str, person: str) -> None:
    """Make a person's open link useless; nothing happens when there is none."""
    core.storage.records("setup").change(organization, _key(person), lambda _: None)


def _key(person: str) -> str:
    return f"invitation/{person}"


def _good(record: Mapping[str, Any] | None, secret: str, now: datetime) -> bool:
    return record is not None and hmac.compare_digest(record["hash"], _hash(secret)) and now < datetime.fromisoformat(record["expires"])


def _parsed(token: str) -> tuple[str, str, str]:
    try:
        organization, person, secret = token.split(".")
        return str(uuid.UUID(organization)), str(uuid.UUID(person)), secret
    except ValueError:
        raise LinkSpent from None


def _hash(secret: str) -> str:
    # The secret has 256 random bits, so a plain hash cannot be guessed backwards.
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
