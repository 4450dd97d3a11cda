"""Identity: who signed in. People and connections are domain; a provider says who, and keeps its own hashes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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

    def refuse_weak(self, password: str) -> None:
        """ValueError, with the rule in words, when a password is too weak to be kept."""

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
