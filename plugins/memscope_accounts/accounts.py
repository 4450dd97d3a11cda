"""Passwords and access tokens of people, kept in keyed records."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
import uuid
from collections import OrderedDict
from collections.abc import Mapping, Sequence

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerifyMismatchError

from memscope.contracts.identity import Authenticated, BadCredential, IdentityHost, LoginMethod
from memscope_accounts.factors_passkeys import Passkeys
from memscope_accounts.grants import ACCESS
from memscope_accounts.oauth import OAuth
from memscope_accounts.settings import AccountsSettings

PREFIX = "msk_"
"""Every token begins so: secret scanners and `authenticate` know it by this."""
PASSWORD_MAX = 256
GUESSED_MAX = 100
"""Characters that the estimate of guesses looks at: its time grows with them."""
NAME_MIN = 4
"""Characters of a name below which it may occur by chance."""
SCORE_MIN = 3
"""Of zxcvbn's 0 to 4: withstands 10^8 guesses."""
CACHE_MAX = 1024


class Accounts(OAuth, Passkeys):
    """A token is `msk_ORGANIZATION_CONNECTION_SECRET`; only the secret's hash is kept.

    The organization's id stands in clear before the secret, so that a token is looked up by exact key. Whether the
    connection and the person are still allowed in is the core's business, at every call.
    """

    name = "accounts"

    def __init__(self, settings: AccountsSettings) -> None:
        self._settings = settings
        self._hasher = PasswordHasher(settings.time_cost, settings.memory_kib, settings.parallelism)
        self._hashing = threading.Semaphore(settings.hashes_at_once)
        self._dummy: str | None = None
        self._verified: OrderedDict[bytes, Authenticated] = OrderedDict()
        self._lock = threading.Lock()

    def start(self, host: IdentityHost) -> None:
        """Remember where the records are."""
        self._host = host
        self._records = host.records

    def login_methods(self) -> Sequence[LoginMethod]:
        """People sign in with their e-mail address and password, or with a passkey."""
        return (LoginMethod("password", "E-mail and password"), LoginMethod("passkey", "Passkey"))

    def provision(self, claims: Mapping[str, str]) -> str | None:
        """Nobody is made at sign-in: people are added by an administrator."""
        return None

    # tokens
    def issue_token(self, organization: str, person: str, connection: str) -> str:
        """A new token; 256 random bits."""
        secret = secrets.token_urlsafe(32)
        self._records.put(organization, f"token/{connection}", {"person": person, "hash": _hash(secret), "end": secret[-4:]})
        return f"{PREFIX}{uuid.UUID(organization).hex}_{uuid.UUID(connection).hex}_{secret}"

    def drop_token(self, organization: str, connection: str) -> None:
        """Forget the hash, and whatever a grant has."""
        self._records.change(organization, f"token/{connection}", lambda _: None)
        self._grants.drop(organization, connection)
        with self._lock:
            self._verified.clear()

    def authenticate(self, token: str) -> Authenticated | None:
        """Whom a token means."""
        if not token.startswith((PREFIX, ACCESS)):
            return None
        # A verified token is remembered by its digest: what may have changed since is asked of the core's own tables.
        digest = hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
        with self._lock:
            if (known := self._verified.get(digest)) is not None:
                return known
        found = self._grants.authenticate(token) if token.startswith(ACCESS) else self._token(token)
        with self._lock:
            self._verified[digest] = found
            while len(self._verified) > CACHE_MAX:
                self._verified.popitem(last=False)
        return found

    def _token(self, token: str) -> Authenticated:
        try:
            organization, connection, secret = token.removeprefix(PREFIX).split("_", 2)
            organization, connection = str(uuid.UUID(organization)), str(uuid.UUID(connection))
        except ValueError:
            raise BadCredential from None
        record = self._records.get(organization, f"token/{connection}")
        if not hmac.compare_digest(_hash(secret), record["hash"] if record else _hash("")) or record is None:
            raise BadCredential
        return Authenticated(organization, record["person"], connection)

    def token_hints(self, organization: str) -> Mapping[str, str]:
        """Such as `msk_…x7Qa`."""
        kept = self._records.items(organization, "token/")
        return {key.removeprefix("token/"): f"{PREFIX}…{record['end']}" for key, record in kept.items() if "end" in record}

    # passwords
    def refuse_weak(self, password: str, names: Sequence[str] = ()) -> None:
        """ValueError when it is too short, too long or easily guessed, or holds one of the names or this product's."""
        if not self._settings.password_min <= len(password) <= PASSWORD_MAX:
            raise ValueError(f"A password has {self._settings.password_min} to {PASSWORD_MAX} characters.")
        folded = password.casefold()
        for name in (*names, "MemScope"):
            if len(name) >= NAME_MIN and name.casefold() in folded:
                raise ValueError(f"A password does not hold names that go with it, as this one holds {name}.")
        # Imported here: it loads lists of words and of passwords known from breaches.
        from zxcvbn import zxcvbn

        if zxcvbn(password[:GUESSED_MAX], max_length=GUESSED_MAX)["score"] < SCORE_MIN:
            raise ValueError(
                "This password is easily guessed: common, repeated or in the order of the alphabet or keyboard. Take a few words."
            )

    def has_password(self, organization: str, person: str) -> bool:
        """Whether the person has one."""
        return self._records.get(organization, f"password/{person}") is not None

    def set_password(self, organization: str, person: str, password: str) -> None:
        """Keep an argon2id hash; ValueError with the rule when it is too weak."""
        self.refuse_weak(password)
        self._keep(organization, person, password)

    def _keep(self, organization: str, person: str, password: str) -> None:
        with self._hashing:
            hashed = self._hasher.hash(password)
        self._records.put(organization, f"password/{person}", {"hash": hashed})

    def check_password(self, organization: str, person: str, password: str) -> bool:
        """Whether it is the person's password; a hash is computed for people without one too."""
        record = self._records.get(organization, f"password/{person}")
        with self._hashing:
            if self._dummy is None:
                self._dummy = self._hasher.hash(secrets.token_urlsafe(16))
            try:
                self._hasher.verify(record["hash"] if record else self._dummy, password[: PASSWORD_MAX + 1])
            except (VerifyMismatchError, InvalidHashError):
                return False
        if record is None:
            return False
        if self._hasher.check_needs_rehash(record["hash"]):
            # It is the right one, whatever would be asked of a new one today; unless another was set meanwhile.
            with self._hashing:
                hashed = self._hasher.hash(password)
            again = {"hash": hashed}
            self._records.change(organization, f"password/{person}", lambda known: again if known == record else known)
        return True


def _hash(secret: str) -> str:
    # The secret has 256 random bits, so a plain hash cannot be guessed backwards.
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
