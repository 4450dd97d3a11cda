"""Console sessions: a record each, so that signing out, disabling and revoking end them at once."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from flask import current_app, request, session
from flask_login import current_user, login_user, logout_user

from memscope.app import MemScope
from memscope.core import Core
from memscope.model.ids import parse_reference
from memscope.model.organization import Organization, Person, Reader, Role, Roster
from memscope.model.principal import Principal
from memscope.organizations.signing_in import console_connection, note_sign_in, principal_on
from memscope_admin.settings import ConsoleSettings

SEEN_EVERY = timedelta(minutes=1)
"""How often a session's use is written down at most."""
RECORDS = "admin"


def app() -> MemScope:
    """The composed application."""
    found: MemScope = current_app.extensions["memscope"]
    return found


def core() -> Core:
    """Its core."""
    return app().core


@dataclass(frozen=True, slots=True)
class Visitor:
    """Somebody signed in, as Flask-Login wants them."""

    key: str
    """`organization/person/secret`: what the cookie holds."""
    principal: Principal
    roster: Roster

    is_authenticated = True
    is_active = True
    is_anonymous = False

    def get_id(self) -> str:
        """What the cookie holds."""
        return self.key

    @property
    def person(self) -> Person:
        """Who it is."""
        return self.roster.people[self.principal.person]

    @property
    def reader(self) -> Reader:
        """What policy knows of them."""
        return self.roster.readers[self.principal.person]

    @property
    def organization(self) -> Organization:
        """Theirs."""
        return self.roster.organization

    @property
    def admin(self) -> bool:
        """Whether they are an administrator."""
        return self.person.role is Role.ADMIN

    @property
    def owner(self) -> bool:
        """Whether they own a group."""
        return bool(self.reader.owns)


def visitor() -> Visitor:
    """Whoever is signed in; only where a page requires it."""
    found: Visitor = current_user._get_current_object()
    return found


def principal() -> Principal:
    """The signed-in person on their console connection."""
    return visitor().principal


def sign_in(organization: Organization, person: Person) -> None:
    """Begin a session with a new id, and forget what the browser had before."""
    connection = console_connection(core(), organization.id, person.id)
    secret = secrets.token_urlsafe(32)
    now = core().clock()
    records = core().storage.records(RECORDS)
    for key in records.keys(organization.id, f"session/{person.id}/"):
        if (known := records.get(organization.id, key)) is not None and _ended(known, now, person.role):
            records.change(organization.id, key, lambda _: None)
    record = {
        "connection": connection.id,
        "created": now.isoformat(),
        "seen": now.isoformat(),
        "browser": (request.user_agent.string or "")[:200],
        "address": request.remote_addr or "",
    }
    records.put(organization.id, _record_key(person.id, secret), record)
    note_sign_in(core(), organization.id, "sign_in", person.id, method="password")
    made = load(f"{organization.id}/{person.id}/{secret}")
    assert made is not None
    session.clear()
    login_user(made)


def sign_out() -> None:
    """End the session."""
    here = visitor()
    _, person, secret = here.key.split("/")
    core().storage.records(RECORDS).change(here.principal.organization, _record_key(person, secret), lambda _: None)
    note_sign_in(core(), here.principal.organization, "sign_out", person)
    logout_user()
    session.clear()


def load(key: str) -> Visitor | None:
    """The session that a cookie means: None when it has ended, its connection was revoked or its person is disabled."""
    organization, _, rest = key.partition("/")
    person, _, secret = rest.partition("/")
    if not isinstance(parse_reference(organization), str):
        return None
    records = core().storage.records(RECORDS)
    name = _record_key(person, secret)
    record = records.get(organization, name)
    if record is None:
        return None
    found = principal_on(core(), organization, person, record["connection"])
    now = core().clock()
    roster = core().rosters.known(organization)
    if found is None or _ended(record, now, roster.people[person].role):
        records.change(organization, name, lambda _: None)
        return None
    if now - datetime.fromisoformat(record["seen"]) >= SEEN_EVERY:
        records.change(organization, name, lambda known: None if known is None else {**known, "seen": now.isoformat()})
    return Visitor(key, found, roster)


@dataclass(frozen=True, slots=True)
class Session:
    """A session in a list."""

    id: str
    created: datetime
    seen: datetime
    browser: str
    address: str
    here: bool = False


def sessions(organization: str, person: Person) -> list[Session]:
    """A person's sessions that last, most recently used first."""
    records = core().storage.records(RECORDS)
    now = core().clock()
    prefix = f"session/{person.id}/"
    found = []
    for key in records.keys(organization, prefix):
        record = records.get(organization, key)
        if record is not None and not _ended(record, now, person.role):
            created, seen = datetime.fromisoformat(record["created"]), datetime.fromisoformat(record["seen"])
            found.append(Session(key.removeprefix(prefix), created, seen, record["browser"], record["address"]))
    here = current_session()
    return [replace(one, here=one.id == here) for one in sorted(found, key=lambda one: one.seen, reverse=True)]


def current_session() -> str:
    """Id of this browser's session in the list."""
    return _record_key("", visitor().key.rsplit("/", 1)[1]).rsplit("/", 1)[1]


def end_sessions(organization: str, person: str, *, only: str | None = None, but: str | None = None) -> int:
    """End a person's sessions: all, one, or all but one; returns how many."""
    records = core().storage.records(RECORDS)
    prefix = f"session/{person}/"
    keys = [
        key for key in records.keys(organization, prefix) if key.removeprefix(prefix) != but and only in (None, key.removeprefix(prefix))
    ]
    for key in keys:
        records.change(organization, key, lambda _: None)
    if keys:
        note_sign_in(core(), organization, "sessions_ended", person, count=len(keys), by=visitor().principal.person)
    return len(keys)


def preferences(organization: str, person: str) -> Mapping[str, Any]:
    """What the person chose of the console's looks."""
    return core().storage.records(RECORDS).get(organization, f"preferences/{person}") or {}


def set_preferences(organization: str, person: str, chosen: Mapping[str, Any]) -> None:
    """Keep what the person chose."""
    core().storage.records(RECORDS).put(organization, f"preferences/{person}", chosen)


def _ended(record: Mapping[str, Any], now: datetime, role: Role) -> bool:
    settings: ConsoleSettings = current_app.extensions["memscope_console"]
    longest = settings.admin_longest_hours if role is Role.ADMIN else settings.longest_hours
    created, seen = datetime.fromisoformat(record["created"]), datetime.fromisoformat(record["seen"])
    return now - seen >= timedelta(hours=settings.idle_hours) or now - created >= timedelta(hours=longest)


def _record_key(person: str, secret: str) -> str:
    return f"session/{person}/{hashlib.sha256(secret.encode()).hexdigest()}"
