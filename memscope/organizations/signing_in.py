"""From a credential to a principal."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import timedelta

from memscope.contracts.events import Event
from memscope.contracts.grants import WRITE, Grants
from memscope.contracts.identity import BadCredential, IdentityProvider, Passwords, SecondFactors, Tokens
from memscope.contracts.storage import Operator, Records, Storage
from memscope.core import Core
from memscope.errors import StartError
from memscope.keys import Keys
from memscope.model.audit import Act
from memscope.model.ids import new_id
from memscope.model.organization import Connection, ConnectionKind, Organization, Person
from memscope.model.principal import Principal

LAST_USED_EVERY = timedelta(minutes=1)
"""How often a connection's use is written down at most."""


class Host:
    """What the core gives one identity provider (`memscope.contracts.identity.IdentityHost`)."""

    def __init__(self, records: Records, keys: Keys, name: str) -> None:
        self.records = records
        self._keys = keys
        self._name = name

    def seal_key(self, purpose: str) -> bytes:
        """32 bytes for one purpose of this provider."""
        return self._keys.derive(f"identity/{self._name}/{purpose}")


@dataclass(frozen=True, slots=True)
class Identities:
    """The identity providers in the order of the settings."""

    providers: tuple[IdentityProvider, ...]

    @property
    def tokens(self) -> Tokens:
        """The first provider that gives out access tokens. StartError when none does."""
        for provider in self.providers:
            if isinstance(provider, Tokens):
                return provider
        raise StartError("None of the identity providers gives out access tokens; add accounts to [identity] providers.")

    @property
    def passwords(self) -> Passwords:
        """The first provider that keeps passwords. StartError when none does."""
        for provider in self.providers:
            if isinstance(provider, Passwords):
                return provider
        raise StartError("None of the identity providers keeps passwords; add accounts to [identity] providers.")

    @property
    def second_factors(self) -> SecondFactors:
        """The first provider that keeps second factors. StartError when none does."""
        for provider in self.providers:
            if isinstance(provider, SecondFactors):
                return provider
        raise StartError("None of the identity providers keeps second factors; add accounts to [identity] providers.")

    @property
    def grants(self) -> Grants | None:
        """The first provider that is an authorization server for agents; None: they use access tokens."""
        return next((provider for provider in self.providers if isinstance(provider, Grants)), None)


def authenticate(
    core: Core, identities: Identities, token: str, client_version: str | None = None, *, audience: str | None = None
) -> Principal | None:
    """Who a bearer token means now: None when it is nobody's, revoked, expired, or its person is disabled.

    A token that is bound to one resource (RFC 8707) means nobody at any other: `audience` is the one that is asked.
    """
    for provider in identities.providers:
        try:
            found = provider.authenticate(token)
        except BadCredential:
            return None
        if found is None:
            continue
        if found.audience not in (None, audience) or (found.expires_at is not None and found.expires_at <= core.clock()):
            return None
        principal = principal_on(core, found.organization, found.person, found.connection, client_version)
        if principal is None or found.scopes is None or WRITE in found.scopes:
            return principal
        return replace(principal, read_only=True)
    return None


def principal_on(core: Core, organization: str, person: str, connection_id: str, client_version: str | None = None) -> Principal | None:
    """The principal of a person on a connection of theirs; None when it was revoked or has expired, or the person is disabled."""
    connection = core.storage.connection(organization, connection_id)
    now = core.clock()
    if connection is None or connection.person != person or connection.revoked_at is not None:
        return None
    if connection.expires_at is not None and connection.expires_at <= now:
        return None
    known = core.rosters.current(organization).people.get(person)
    if known is None or not known.active:
        return None
    stated = client_version if client_version != connection.client_version else None
    if stated is not None or connection.last_used_at is None or now - connection.last_used_at >= LAST_USED_EVERY:
        core.storage.note_use(organization, connection_id, stated)
    return Principal(organization, person, connection_id, connection.kind, connection.client, client_version or connection.client_version)


def stdio_principal(core: Core, organization: str | None = None, email: str | None = None) -> Principal:
    """The principal of a process on the server's machine: the named person, or the only one there is.

    Among several people nobody is chosen, an administrator least of all. Each person has one stdio connection, made at
    its first use. Raises StartError with what to do.
    """
    tenant = choose_organization(core.storage, organization)
    roster = core.rosters.current(tenant.id)
    person = _choose_person(roster.people.values(), email)
    with core.storage.begin(Operator("stdio", tenant.id)) as transaction:
        known = [connection for connection in transaction.connections(person.id) if connection.kind is ConnectionKind.STDIO]
    if known:
        connection = known[0]
        if connection.revoked_at is not None:
            raise StartError(f"The stdio connection of {person.email} was revoked. An administrator can allow it again.")
    else:
        connection = Connection(new_id(), person.id, ConnectionKind.STDIO, "stdio", core.clock())
        with core.storage.begin(
            Operator("stdio", tenant.id), Act("connection.create", target=connection.id, detail={"kind": "stdio"})
        ) as transaction:
            transaction.write_connection(connection)
    return Principal(tenant.id, person.id, connection.id, ConnectionKind.STDIO, connection.client)


def console_connection(core: Core, organization: str, person: str) -> Connection:
    """The connection that stands for a person's console sessions; made at the first sign-in, and anew after it was revoked."""
    with core.storage.begin(Operator("console sign-in", organization)) as transaction:
        for connection in transaction.connections(person):
            if connection.kind is ConnectionKind.CONSOLE and connection.revoked_at is None:
                return connection
    made = Connection(new_id(), person, ConnectionKind.CONSOLE, "console", core.clock())
    act = Act("connection.create", person, target=made.id, detail={"kind": "console"})
    with core.storage.begin(Operator("console sign-in", organization), act) as transaction:
        transaction.write_connection(made)
    return made


def note_sign_in(core: Core, organization: str, action: str, person: str | None, **detail: str | int | bool | None) -> None:
    """Write something about signing in into the audit log, and tell plugins of it. `person` is None for an address that nobody has."""
    act = Act(f"console.{action}", person, target=person, detail=detail)
    with core.storage.begin(Operator("console sign-in", organization), act):
        pass
    core.hooks.event(Event(act.action, organization, core.clock(), person, person, detail))


def choose_organization(storage: Storage, slug: str | None) -> Organization:
    """The organization with this slug, or the only one. StartError when there is none, or several and no slug."""
    organizations = storage.organizations()
    if not organizations:
        raise StartError("There is no organization yet. Make one with `memscope org apply FILE.toml`.")
    if slug is None and len(organizations) == 1:
        return organizations[0]
    for organization in organizations:
        if organization.slug == slug:
            return organization
    names = ", ".join(organization.slug for organization in organizations)
    raise StartError(
        f"Name the organization with --org. There are: {names}."
        if slug is None
        else f"There is no organization {slug}. There are: {names}."
    )


def _choose_person(people: Iterable[Person], email: str | None) -> Person:
    active = sorted((person for person in people if person.active), key=lambda person: person.email)
    if email is None and len(active) == 1:
        return active[0]
    if email is None:
        raise StartError(
            "There are several people, so none is assumed: name yours with --person EMAIL, or use --token."
            if active
            else "There is nobody yet. Add people with `memscope org apply FILE.toml`."
        )
    for person in active:
        if person.email == email.strip().casefold():
            return person
    raise StartError(f"No active person has the address {email}.")
