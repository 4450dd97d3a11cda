"""Second factors of people: one-time codes (RFC 6238) and recovery codes. All of a person's factors are one keyed record.

The record: `codes` holds the sealed secret and the last time step used; `recovery` a salt and hashes; `passkeys` are those of
`memscope_accounts.factors_passkeys`.
"""

from __future__ import annotations

import base64
import hmac
import json
import os
import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from memscope.contracts.identity import BadFactor, Enrolment, Factors, IdentityHost, Passkey
from memscope.contracts.storage import Records
from memscope_accounts.settings import AccountsSettings

ISSUER = "MemScope"
STEP_S = 30
"""Seconds that a one-time code is shown (RFC 6238, section 5.2)."""
STEPS_BACK = 1
"""The code shown just before is good too: people type slowly, and clocks differ. Each works once all the same."""
ENROLMENT = timedelta(minutes=15)
RECOVERY_CODES = 10
RECOVERY_BYTES = 10
"""80 random bits each."""
RECOVERY_COST = (2, 19456, 1)
"""Passes, KiB and lanes of argon2id for recovery codes: guessing 80 bits is hopeless already, and ten are hashed at a time."""
_LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
Record = dict[str, Any]


class OneTimeCodes:
    """One-time codes and recovery codes; the part of `Accounts` that keeps them."""

    _records: Records
    _host: IdentityHost
    _settings: AccountsSettings
    _hashing: threading.Semaphore

    def factors(self, organization: str, person: str) -> Factors:
        """What the person has."""
        record = self._factors(organization, person)
        passkeys = tuple(
            Passkey(
                id_,
                one["name"],
                datetime.fromisoformat(one["created"]),
                datetime.fromisoformat(one["used"]) if one["used"] is not None else None,
            )
            for id_, one in sorted(record.get("passkeys", {}).items(), key=lambda item: str(item[1]["created"]))
        )
        return Factors("codes" in record, passkeys, len(record.get("recovery", {}).get("hashes", ())))

    def drop_factors(self, organization: str, person: str) -> None:
        """Forget all of them."""
        self._records.change(organization, _key(person), lambda _: None)

    # one-time codes
    def begin_codes(self, organization: str, person: str, account: str, now: datetime, sealed: str | None = None) -> Enrolment:
        """A new secret, or the one of `sealed` again."""
        import pyotp

        secret = pyotp.random_base32() if sealed is None else self._opened(organization, person, sealed, now)
        if sealed is None:
            until = (now + ENROLMENT).isoformat()
            sealed = self._seal("enrolment", json.dumps({"secret": secret, "for": [organization, person], "until": until}))
        return Enrolment(secret, pyotp.TOTP(secret).provisioning_uri(name=account, issuer_name=ISSUER), sealed)

    def turn_codes_on(self, organization: str, person: str, sealed: str, code: str, now: datetime) -> None:
        """Keep the secret once its first code is right."""
        secret = self._opened(organization, person, sealed, now)
        step = _step_of(secret, code, now)
        if step is None:
            raise BadFactor("wrong code")
        kept = {"secret": self._seal("totp", json.dumps([secret, organization, person])), "last": step}
        self._change(organization, person, lambda record: record.update(codes=kept))

    def turn_codes_off(self, organization: str, person: str) -> None:
        """Forget the secret."""

        def change(record: Record) -> None:
            record.pop("codes", None)

        self._change(organization, person, change)

    def check_code(self, organization: str, person: str, code: str, now: datetime) -> None:
        """Use a code up."""
        known = self._factors(organization, person).get("codes")
        if known is None:
            raise BadFactor("no codes")
        secret, *owner = json.loads(self._unseal("totp", known["secret"]))
        if owner != [organization, person]:
            raise BadFactor("somebody else's secret")
        step = _step_of(secret, code, now)
        if step is None:
            raise BadFactor("wrong code")
        fresh = False

        def use(record: Record) -> None:
            nonlocal fresh
            codes = record.get("codes", {})
            fresh = codes.get("secret") == known["secret"] and step > codes["last"]
            if fresh:
                record["codes"] = {**codes, "last": step}

        # Under a lock: of two at once with one code, one gets in.
        self._change(organization, person, use)
        if not fresh:
            raise BadFactor("code used before")

    # recovery codes
    def new_recovery_codes(self, organization: str, person: str) -> Sequence[str]:
        """Ten new ones in place of the old."""
        codes = [base64.b32encode(secrets.token_bytes(RECOVERY_BYTES)).decode() for _ in range(RECOVERY_CODES)]
        salt = os.urandom(16)
        kept = {"salt": salt.hex(), "hashes": [self._hash(code, salt) for code in codes]}
        self._change(organization, person, lambda record: record.update(recovery=kept))
        return ["-".join(code[at : at + 4] for at in range(0, len(code), 4)) for code in codes]

    def use_recovery_code(self, organization: str, person: str, code: str) -> int:
        """Use one up."""
        plain = "".join(letter for letter in code.upper() if letter in _LETTERS)[:32]
        known = self._factors(organization, person).get("recovery")
        # Hashed whoever it is, so that the time does not tell who has any.
        hashed = self._hash(plain, bytes.fromhex(known["salt"]) if known else bytes(16))
        left = -1

        def use(record: Record) -> None:
            nonlocal left
            recovery = record.get("recovery", {"hashes": []})
            kept = [one for one in recovery["hashes"] if not hmac.compare_digest(one, hashed)]
            if len(kept) < len(recovery["hashes"]):
                left = len(kept)
                record["recovery"] = {**recovery, "hashes": kept}

        if known is not None:
            self._change(organization, person, use)
        if left < 0:
            raise BadFactor("wrong recovery code")
        return left

    # the record
    def _factors(self, organization: str, person: str) -> Record:
        return dict(self._records.get(organization, _key(person)) or {})

    def _change(self, organization: str, person: str, change: Callable[[Record], object]) -> None:
        def written(known: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
            record = dict(known or {})
            change(record)
            # Recovery codes stand in for other factors: without any they would be one of their own.
            return record if "codes" in record or record.get("passkeys") else None

        self._records.change(organization, _key(person), written)

    def _hash(self, code: str, salt: bytes) -> str:
        from argon2.low_level import Type, hash_secret_raw

        passes, memory, lanes = RECOVERY_COST
        with self._hashing:
            raw = hash_secret_raw(code.encode(), salt, passes, min(memory, self._settings.memory_kib), lanes, 32, Type.ID)
        return raw.hex()

    def _seal(self, purpose: str, text: str) -> str:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        nonce = os.urandom(12)
        sealed = AESGCM(self._host.seal_key(purpose)).encrypt(nonce, text.encode(), purpose.encode())
        return base64.urlsafe_b64encode(nonce + sealed).decode()

    def _unseal(self, purpose: str, text: str) -> str:
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        try:
            raw = base64.urlsafe_b64decode(text)
            return AESGCM(self._host.seal_key(purpose)).decrypt(raw[:12], raw[12:], purpose.encode()).decode()
        except (ValueError, InvalidTag):
            raise BadFactor("not sealed here") from None

    def _opened(self, organization: str, person: str, sealed: str, now: datetime) -> str:
        opened = json.loads(self._unseal("enrolment", sealed))
        if opened["for"] != [organization, person] or datetime.fromisoformat(opened["until"]) <= now:
            raise BadFactor("enrolment expired")
        return str(opened["secret"])


def _key(person: str) -> str:
    return f"factors/{person}"


def _step_of(secret: str, code: str, now: datetime) -> int | None:
    """The time step whose code this is, of those that are good now."""
    import pyotp

    digits = "".join(code.split())
    if not (digits.isascii() and digits.isdigit() and len(digits) == 6):
        return None
    codes, current = pyotp.TOTP(secret), int(now.timestamp()) // STEP_S
    good = [step for step in range(current - STEPS_BACK, current + 1) if hmac.compare_digest(codes.at(step * STEP_S), digits)]
    return max(good, default=None)
