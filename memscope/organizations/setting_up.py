"""Setting up: the first organization, and the one-time link by which its first administrator comes in."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import uuid
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from memscope.contracts.identity import Passwords
from memscope.contracts.storage import Operator
from memscope.core import Core
from memscope.errors import Conflict, InvalidArgument
from memscope.model.audit import Act
from memscope.model.ids import new_id
from memscope.model.organization import Organization, Person, Role, Roster
from memscope.organizations.file import check_email, check_name
from memscope.organizations.passwords import names_of
from memscope.organizations.topics import built_in_topics

LINK_HOURS = 24
_LINK = "link"


class LinkSpent(Exception):
    """The link was used, has expired, or was never given out."""


def first_organization(core: Core) -> Organization | None:
    """Make the organization of a new installation, with the topics that each starts with; None when there is one already."""
    with core.storage.lead("first organization") as leading:
        if not leading or core.storage.organizations():
            return None
        organization = Organization(new_id(), "organization", "Organization", **core.settings.organization.values())
        act = Act("organization.create", target=organization.id)
        with core.storage.begin(Operator("first start", None), act) as transaction:
            transaction.write_organization(organization)
            for topic in built_in_topics():
                transaction.write_topic(topic)
        return organization


def make_link(core: Core, organization: str, *, recover: bool = False) -> str:
    """A new one-time link's token; links made before stop working. Only its hash is kept.

    Conflict when there is an active administrator already, unless to `recover` from having lost all of them.
    """
    if not recover and _has_admin(core.rosters.current(organization)):
        raise Conflict(
            "There is an administrator already, who can add people in the console.",
            hint="If nobody can sign in as one any more, use --recover.",
        )
    secret = secrets.token_urlsafe(32)
    expires = core.clock() + timedelta(hours=LINK_HOURS)
    with core.storage.begin(Operator("setup link", organization), Act("setup.link", target=organization, detail={"recover": recover})):
        pass
    record = {"hash": _hash(secret), "expires": expires.isoformat(), "recover": recover}
    core.storage.records("setup").put(organization, _LINK, record)
    return f"{uuid.UUID(organization).hex}.{secret}"


def link_organization(core: Core, token: str) -> Organization:
    """The organization that a link's token opens, without using it up. LinkSpent."""
    organization, secret = _parsed(token)
    record = core.storage.records("setup").get(organization, _LINK)
    try:
        roster = core.rosters.current(organization)
    except KeyError:
        raise LinkSpent from None
    if not _good(record, secret, core.clock(), roster):
        raise LinkSpent
    return roster.organization


def use_link(core: Core, passwords: Passwords, token: str, *, name: str, email: str, password: str) -> tuple[Organization, Person]:
    """Make the first administrator and use the link up; of two at once one succeeds, the other gets LinkSpent.

    With a link for recovery, a person who has the address already becomes an active administrator with the new password.
    InvalidArgument for a name, address or password that will not do; the link then still works.
    """
    name, email = check_name(name), check_email(email)
    organization = link_organization(core, token)
    try:
        passwords.refuse_weak(password, names_of(organization, name, email))
    except ValueError as error:
        raise InvalidArgument("password", str(error)) from None
    _, secret = _parsed(token)
    roster = core.rosters.current(organization.id)
    known = roster.find_person(email)
    claimed = False

    def claim(record: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        nonlocal claimed
        claimed = _good(record, secret, core.clock(), roster)
        return None if claimed else record

    core.storage.records("setup").change(organization.id, _LINK, claim)
    if not claimed:
        raise LinkSpent
    person = replace(known, name=name, role=Role.ADMIN, active=True) if known is not None else Person(new_id(), email, name, Role.ADMIN)
    with core.storage.begin(Operator("setup", organization.id), Act("setup.completed", person.id, target=person.id)) as transaction:
        transaction.write_person(person)
    passwords.set_password(organization.id, person.id, password)
    return organization, person


def _has_admin(roster: Roster) -> bool:
    return any(person.role is Role.ADMIN and person.active for person in roster.people.values())


def _good(record: Mapping[str, Any] | None, secret: str, now: datetime, roster: Roster) -> bool:
    if record is None or not hmac.compare_digest(record["hash"], _hash(secret)) or datetime.fromisoformat(record["expires"]) <= now:
        return False
    return bool(record["recover"]) or not _has_admin(roster)


def _parsed(token: str) -> tuple[str, str]:
    organization, _, secret = token.partition(".")
    try:
        return str(uuid.UUID(organization)), secret
    except ValueError:
        raise LinkSpent from None


def _hash(secret: str) -> str:
    # The secret has 256 random bits, so a plain hash cannot be guessed backwards.
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
