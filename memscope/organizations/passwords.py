"""Passwords: what must not occur in one, and setting one anew on the server's machine."""

from __future__ import annotations

import re
import secrets

from memscope.contracts.identity import Passwords
from memscope.contracts.storage import Operator
from memscope.core import Core
from memscope.errors import InvalidArgument
from memscope.model.audit import Act
from memscope.model.organization import Organization, Person

RANDOM_BYTES = 15
"""Of a generated password: 20 characters."""


def names_of(organization: Organization, name: str, email: str) -> list[str]:
    """The names that go with a person: their own, their address's, their organization's; whole and in words."""
    whole = [organization.name, organization.slug, name, email, email.partition("@")[0]]
    return list(dict.fromkeys([*whole, *(word for text in whole[:3] for word in re.findall(r"\w+", text))]))


def generated_password() -> str:
    """A random password that can be typed."""
    return secrets.token_urlsafe(RANDOM_BYTES)


def reset_password(core: Core, passwords: Passwords, organization: str, person: Person, password: str) -> None:
    """Set a person's password, whatever it was. InvalidArgument, with the rule in words, when it is too weak."""
    try:
        passwords.refuse_weak(password, names_of(core.rosters.current(organization).organization, person.name, person.email))
    except ValueError as error:
        raise InvalidArgument("password", str(error)) from None
    # The audit row first: no password is ever changed without one.
    with core.storage.begin(Operator("person reset", organization), Act("person.reset_password", target=person.id)):
        pass
    passwords.set_password(organization, person.id, password)
