"""Console sessions: a record each, so that signing out, disabling and revoking end them at once."""

from __future__ import annotations

import functools
import hashlib
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, ParamSpec, TypeVar

from flask import current_app, g, redirect, render_template, request, session, url_for
from flask_login import current_user, login_user, logout_user
from werkzeug.wrappers import Response

from memscope.app import MemScope
from memscope.core import Core
from memscope.model.ids import parse_reference
from memscope.model.organization import Organization, Person, Reader, Role, Roster
from memscope.model.principal import Principal
from memscope.organizations.signing_in import console_connection, note_sign_in, principal_on
from memscope_admin.forms.accounts import AgainForm
from memscope_admin.settings import ConsoleSettings

SEEN_EVERY = timedelta(minutes=1)
"""How often a session's use is written down at most."""
RECENT = timedelta(minutes=10)
"""How long after proving who it is somebody may do what asks for that."""
RECORDS = "admin"
FORM_KEPT = timedelta(hours=1)
"""How long a form waits for that proof."""
KEPT_SECRET = frozenset({"csrf_token", "password", "old", "code", "credential"})
"""Fields of a form that are not carried over a re-authentication."""
_PROGRAMS = (("Edg", "Edge"), ("OPR/", "Opera"), ("Firefox/", "Firefox"), ("Chrom", "Chrome"), ("Safari/", "Safari"))
"""What a browser's name for itself holds; each claims to be those that stand after it as well."""
_SYSTEMS = (
    ("Windows", "Windows"),
    ("Android", "Android"),
    ("iPhone", "iOS"),
    ("iPad", "iPadOS"),
    ("Mac OS X", "macOS"),
    ("Linux", "Linux"),
)
Arguments = ParamSpec("Arguments")
Given = TypeVar("Given")


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
    authenticated: datetime
    """When they last proved who they are."""
    factors: tuple[str, ...]
    """What they proved it with: of `password`, `code`, `recovery`, `passkey`, `link`."""

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


def sign_in(organization: Organization, person: Person, *factors: str) -> None:
    """Begin a session with a new id, and forget what the browser had before. `factors` are what proved who it is."""
    connection = console_connection(core(), organization.id, person.id)
    now = core().clock()
    records = core().storage.records(RECORDS)
    for key in records.keys(organization.id, f"session/{person.id}/"):
        if (known := records.get(organization.id, key)) is not None and _ended(known, now, person.role):
            records.change(organization.id, key, lambda _: None)
    record = {
        "connection": connection.id,
        "created": now.isoformat(),
        "seen": now.isoformat(),
        "authenticated": now.isoformat(),
        "factors": list(factors),
        "browser": (request.user_agent.string or "")[:200],
        "address": request.remote_addr or "",
    }
    note(organization.id, "sign_in", person.id, method=" and ".join(factors), address=request.remote_addr)
    _begin(organization.id, person.id, record)


def note(organization: str, action: str, person: str | None, **detail: str | int | bool | None) -> None:
    """Write something about signing in into the audit log. No secrets."""
    note_sign_in(core(), organization, action, person, **detail)


def authenticated_again(*factors: str) -> None:
    """Somebody signed in has proved anew who they are: the session goes on under a new id."""
    here = visitor()
    organization, person, secret = here.key.split("/")
    records = core().storage.records(RECORDS)
    key = _record_key(person, secret)
    record = records.get(organization, key)
    assert record is not None, "a visitor has a session"
    note(organization, "authenticated_again", person, method=" and ".join(factors), address=request.remote_addr)
    both = sorted({*record["factors"], *factors})
    _begin(organization, person, {**record, "authenticated": core().clock().isoformat(), "factors": both})


def _begin(organization: str, person: str, record: Mapping[str, Any]) -> None:
    records = core().storage.records(RECORDS)
    if current_user.is_authenticated:
        before, who, old = visitor().key.split("/")
        records.change(before, _record_key(who, old), lambda _: None)
    secret = secrets.token_urlsafe(32)
    records.put(organization, _record_key(person, secret), record)
    made = load(f"{organization}/{person}/{secret}")
    assert made is not None, "the connection was found just now"
    session.clear()
    # The token of the session before would be put into this page's forms.
    g.pop("csrf_token", None)
    login_user(made)


def ask_again() -> Response | str | None:
    """The page that asks for the password anew, when it was given more than ten minutes ago; None: go on.

    What was typed into a form is carried along, sealed, and offered for sending again afterwards; passwords and codes are not.
    """
    here = visitor()
    if core().clock() - here.authenticated < RECENT:
        return None
    if request.method in ("GET", "HEAD"):
        return redirect(url_for("sign_in.again", next=request.full_path.rstrip("?")))
    fields = {name: request.form.getlist(name) for name in request.form if name not in KEPT_SECRET}
    at = core().clock().isoformat()
    form = {"person": here.principal.person, "at": at, "path": request.full_path.rstrip("?"), "fields": fields}
    return again_page(AgainForm(formdata=None, data={"kept": core().keys.seal("console/again", form)}))


def again_page(form: AgainForm) -> str:
    """The page that asks somebody signed in for the proof anew."""
    here = visitor()
    factors = app().identities.second_factors.factors(here.principal.organization, here.principal.person)
    return render_template("sign_in/again.html", form=form, next=request.args.get("next", ""), factors=factors)


def recently_authenticated(view: Callable[Arguments, Given]) -> Callable[Arguments, Given | Response | str]:
    """For views of what is grave (factors, tokens, roles, export, erasing): who it is was proved within the last ten minutes.

    Stands below the route. Signing in counts; otherwise the password is asked for, and one comes back to the page or form.
    """

    @functools.wraps(view)
    def asking(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Given | Response | str:
        asked = ask_again()
        return view(*args, **kwargs) if asked is None else asked

    return asking


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
    return Visitor(key, found, roster, datetime.fromisoformat(record["authenticated"]), tuple(record["factors"]))


@dataclass(frozen=True, slots=True)
class Session:
    """A session in a list."""

    id: str
    created: datetime
    seen: datetime
    browser: str
    address: str
    factors: tuple[str, ...]
    """What its owner proved who they are with."""
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
            found.append(
                Session(key.removeprefix(prefix), created, seen, _browser(record["browser"]), record["address"], tuple(record["factors"]))
            )
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
        by = visitor().principal.person if current_user.is_authenticated else person
        note(organization, "sessions_ended", person, count=len(keys), by=by)
    return len(keys)


def my_preferences() -> Mapping[str, Any]:
    """What the visitor chose, read once a request."""
    if "preferences" not in g:
        here = visitor()
        g.preferences = preferences(here.principal.organization, here.principal.person)
    found: Mapping[str, Any] = g.preferences
    return found


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


def _browser(agent: str) -> str:
    """A browser's long name for itself in two words, where it is one of those in wide use; what it says otherwise."""
    program = next((name for mark, name in _PROGRAMS if mark in agent), None)
    system = next((name for mark, name in _SYSTEMS if mark in agent), None)
    return f"{program} on {system}" if program and system else agent


def _record_key(person: str, secret: str) -> str:
    return f"session/{person}/{hashlib.sha256(secret.encode()).hexdigest()}"
