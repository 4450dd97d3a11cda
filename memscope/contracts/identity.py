"""Identity: who signed in. People and connections are domain; a provider says who, and keeps its own hashes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, runtime_checkable

from memscope.contracts.storage import Records


class BadCredential(Exception):
    """The credential is this provider's and is not good: no other provider is asked."""


@dataclass(frozen=True, slots=True)
class Authenticated:
    """Whom a credential means. Whether that person and connection are still allowed in is the core's business."""

    organization: str
    person: str
    connection: str
    audience: str | None = None
    """The address of the one resource that the credential is for (RFC 8707); None: not bound to one."""
    expires_at: datetime | None = None
    """When the credential itself ends, which may be before its connection does."""
    scopes: frozenset[str] | None = None
    """What the person allowed; None: everything that the person may do."""


@dataclass(frozen=True, slots=True)
class LoginMethod:
    """A way to sign in to the console."""

    name: str
    title: str


class IdentityHost(Protocol):
    """What the core gives a provider."""

    @property
    def records(self) -> Records:
        """Keyed records of this provider alone."""

    def seal_key(self, purpose: str) -> bytes:
        """32 bytes derived from the server key for one purpose of this provider."""


class IdentityProvider(Protocol):
    """A provider of `memscope_identity`. Thread-safe."""

    @property
    def name(self) -> str:
        """The name by which `[identity] providers` lists it."""

    def start(self, host: IdentityHost) -> None:
        """Called once before anything else."""

    def authenticate(self, token: str) -> Authenticated | None:
        """Whom a bearer token means; None when it is not this provider's; raises BadCredential when it is, and is bad."""

    def login_methods(self) -> Sequence[LoginMethod]:
        """How people sign in to the console through this provider."""

    def provision(self, claims: Mapping[str, str]) -> str | None:
        """The e-mail address to make a person for at first sign-in, or None: only people who exist may sign in."""


@runtime_checkable
class Passwords(Protocol):
    """A provider that keeps passwords."""

    def refuse_weak(self, password: str, names: Sequence[str] = ()) -> None:
        """ValueError, with the rule in words, when a password is too weak to be kept, or holds one of the names."""

    def has_password(self, organization: str, person: str) -> bool:
        """Whether the person has one."""

    def set_password(self, organization: str, person: str, password: str) -> None:
        """Keep a password; ValueError, with the rule in words, when it is too weak."""

    def check_password(self, organization: str, person: str, password: str) -> bool:
        """Whether it is that person's password. Takes as long for a person without one."""


@runtime_checkable
class Tokens(Protocol):
    """A provider that gives out access tokens."""

    def issue_token(self, organization: str, person: str, connection: str) -> str:
        """A new token for a connection. The text is returned once; only its hash is kept."""

    def drop_token(self, organization: str, connection: str) -> None:
        """Forget a connection's token; nothing happens when there is none."""

    def token_hints(self, organization: str) -> Mapping[str, str]:
        """Connection id → how its token begins and ends, for people to know it by."""


@dataclass(frozen=True, slots=True)
class Passkey:
    """A passkey as a page lists it."""

    id: str
    name: str
    created: datetime
    used: datetime | None


@dataclass(frozen=True, slots=True)
class Factors:
    """What somebody has beside a password."""

    codes: bool = False
    """Whether one-time codes are on."""
    passkeys: tuple[Passkey, ...] = ()
    recovery_codes: int = 0
    """How many are left; they stand in for the others and are no factor of their own."""

    @property
    def any(self) -> bool:
        """Whether there is a second factor."""
        return self.codes or bool(self.passkeys)


@dataclass(frozen=True, slots=True)
class Enrolment:
    """One-time codes about to be turned on. Nothing is kept until a first code was right."""

    secret: str
    """For typing into the app: base32."""
    uri: str
    """For its camera: `otpauth://…`."""
    sealed: str
    """The same for the provider alone, to be handed back with the first code; good for a quarter of an hour."""


@dataclass(frozen=True, slots=True)
class Site:
    """Where passkeys are used: they work nowhere else."""

    id: str
    """The host's name."""
    origin: str
    """`https://HOST[:PORT]`, or http on `localhost`."""
    name: str = "MemScope"


@dataclass(frozen=True, slots=True)
class PasskeyOwner:
    """Whom a passkey proved. It was unlocked by its owner (finger, face, PIN): two factors in one."""

    organization: str
    person: str
    name: str
    """The passkey's."""


class BadFactor(Exception):
    """A code or passkey that proves nothing; its text is for logs, not for whoever tried."""


@runtime_checkable
class SecondFactors(Protocol):
    """A provider that keeps second factors: one-time codes (RFC 6238), recovery codes and passkeys (WebAuthn)."""

    def factors(self, organization: str, person: str) -> Factors:
        """What the person has."""

    def drop_factors(self, organization: str, person: str) -> None:
        """Forget all of them, recovery codes too."""

    def begin_codes(self, organization: str, person: str, account: str, now: datetime, sealed: str | None = None) -> Enrolment:
        """A new secret for an app that shows `account`; or the one of `sealed` again. BadFactor when that has expired."""

    def turn_codes_on(self, organization: str, person: str, sealed: str, code: str, now: datetime) -> None:
        """Keep the secret of an enrolment once its first code is right; BadFactor."""

    def turn_codes_off(self, organization: str, person: str) -> None:
        """Forget the secret; recovery codes too when no passkey is left."""

    def check_code(self, organization: str, person: str, code: str, now: datetime) -> None:
        """Use a one-time code up. BadFactor when it is wrong, was used, or is older than one that was."""

    def new_recovery_codes(self, organization: str, person: str) -> Sequence[str]:
        """Ten new ones in place of the old; told this once, kept as hashes."""

    def use_recovery_code(self, organization: str, person: str, code: str) -> int:
        """Use a recovery code up; how many are left. BadFactor."""

    def begin_passkey(self, organization: str, person: str, account: str, title: str, site: Site, now: datetime) -> str:
        """Options, as JSON for the browser, to make a passkey for an account with a title (the person's name)."""

    def add_passkey(self, organization: str, person: str, name: str, answer: str, challenge: str, site: Site, now: datetime) -> Passkey:
        """Keep the passkey of a browser's answer to the options with this challenge. BadFactor."""

    def rename_passkey(self, organization: str, person: str, passkey: str, name: str) -> None:
        """Give a passkey another name; nothing happens when it is gone."""

    def drop_passkey(self, organization: str, person: str, passkey: str) -> bool:
        """Forget a passkey; recovery codes too when no factor is left. Whether it was there."""

    def begin_passkey_sign_in(self, site: Site, now: datetime) -> str:
        """Options, as JSON for the browser, to sign in as whoever has a passkey here."""

    def check_passkey(self, answer: str, challenge: str, site: Site, now: datetime) -> PasskeyOwner:
        """Who a browser's answer to the options with this challenge is. A challenge works once, for five minutes. BadFactor."""
