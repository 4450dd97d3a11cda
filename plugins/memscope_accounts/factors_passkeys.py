"""Passkeys (WebAuthn): made with their owner verified and discoverable, so that one alone says who it is and proves it twice over.

A challenge needs no record until it is used: it holds when it expires and is authenticated with the server key. Used ones are
kept until they would have expired, so that each works once.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from memscope.contracts.identity import BadFactor, Passkey, PasskeyOwner, Site
from memscope.model.ids import new_id
from memscope_accounts.factors import OneTimeCodes, Record

CHALLENGE = timedelta(minutes=5)
PASSKEYS_MAX = 20
"""Passkeys of one person."""
NAME_MAX = 60
ANSWER_MAX = 16_384
"""Characters of a browser's answer."""
_NONCE, _TIME = 16, 8


class Passkeys(OneTimeCodes):
    """Passkeys beside the codes; the part of `Accounts` that keeps them."""

    def begin_passkey(self, organization: str, person: str, account: str, title: str, site: Site, now: datetime) -> str:
        """Options to make one."""
        from webauthn import generate_registration_options, options_to_json
        from webauthn.helpers.structs import (
            AuthenticatorSelectionCriteria,
            PublicKeyCredentialDescriptor,
            ResidentKeyRequirement,
            UserVerificationRequirement,
        )

        known = self._factors(organization, person).get("passkeys", {}).values()
        return options_to_json(
            generate_registration_options(
                rp_id=site.id,
                rp_name=site.name,
                # Who it is comes back at sign-in, before anything else is known of them.
                user_id=uuid.UUID(organization).bytes + uuid.UUID(person).bytes,
                user_name=account,
                user_display_name=title,
                challenge=self._challenge("make", now),
                timeout=int(CHALLENGE.total_seconds() * 1000),
                authenticator_selection=AuthenticatorSelectionCriteria(
                    resident_key=ResidentKeyRequirement.REQUIRED, user_verification=UserVerificationRequirement.REQUIRED
                ),
                exclude_credentials=[PublicKeyCredentialDescriptor(id=_bytes(one["credential"])) for one in known],
            )
        )

    def add_passkey(self, organization: str, person: str, name: str, answer: str, challenge: str, site: Site, now: datetime) -> Passkey:
        """Keep a new one."""
        from webauthn import verify_registration_response
        from webauthn.helpers.exceptions import WebAuthnException

        credential = _read(answer)
        expected = self._due("make", challenge, now)
        try:
            made = verify_registration_response(
                credential=credential,
                expected_challenge=expected,
                expected_rp_id=site.id,
                expected_origin=site.origin,
                require_user_verification=True,
            )
        except (WebAuthnException, ValueError, KeyError, TypeError) as error:
            raise BadFactor(f"passkey refused: {type(error).__name__}") from None
        self._use_up(organization, expected, now)
        id_, named = new_id(), _named(name)
        kept = {
            "name": named,
            "credential": _text(made.credential_id),
            "public_key": _text(made.credential_public_key),
            "count": made.sign_count,
            "site": site.id,
            "created": now.isoformat(),
            "used": None,
        }

        def add(record: Record) -> None:
            known = record.get("passkeys", {})
            if len(known) >= PASSKEYS_MAX:
                raise BadFactor("too many passkeys")
            if any(one["credential"] == kept["credential"] for one in known.values()):
                raise BadFactor("this passkey is known")
            record["passkeys"] = {**known, id_: kept}

        self._change(organization, person, add)
        return Passkey(id_, named, now, None)

    def rename_passkey(self, organization: str, person: str, passkey: str, name: str) -> None:
        """Give one another name."""

        def change(record: Record) -> None:
            known = record.get("passkeys", {})
            if passkey in known:
                record["passkeys"] = {**known, passkey: {**known[passkey], "name": _named(name)}}

        self._change(organization, person, change)

    def drop_passkey(self, organization: str, person: str, passkey: str) -> bool:
        """Forget one."""
        there = False

        def change(record: Record) -> None:
            nonlocal there
            known = record.get("passkeys", {})
            there = passkey in known
            record["passkeys"] = {id_: one for id_, one in known.items() if id_ != passkey}

        self._change(organization, person, change)
        return there

    def begin_passkey_sign_in(self, site: Site, now: datetime) -> str:
        """Options to sign in."""
        from webauthn import generate_authentication_options, options_to_json
        from webauthn.helpers.structs import UserVerificationRequirement

        return options_to_json(
            generate_authentication_options(
                rp_id=site.id,
                challenge=self._challenge("use", now),
                timeout=int(CHALLENGE.total_seconds() * 1000),
                user_verification=UserVerificationRequirement.REQUIRED,
            )
        )

    def check_passkey(self, answer: str, challenge: str, site: Site, now: datetime) -> PasskeyOwner:
        """Who it is."""
        from webauthn import verify_authentication_response
        from webauthn.helpers.exceptions import WebAuthnException

        credential = _read(answer)
        expected = self._due("use", challenge, now)
        organization, person = _owner(credential)
        wanted = credential.get("rawId")
        known = self._factors(organization, person).get("passkeys", {})
        found = next(((id_, one) for id_, one in known.items() if one["credential"] == wanted), None)
        if found is None:
            raise BadFactor("unknown passkey")
        id_, one = found
        try:
            # Refuses too when the signature counter did not rise, unless the authenticator keeps none: a copy has been used.
            verified = verify_authentication_response(
                credential=credential,
                expected_challenge=expected,
                expected_rp_id=site.id,
                expected_origin=site.origin,
                credential_public_key=_bytes(one["public_key"]),
                credential_current_sign_count=one["count"],
                require_user_verification=True,
            )
        except (WebAuthnException, ValueError, KeyError, TypeError) as error:
            raise BadFactor(f"passkey refused: {type(error).__name__}") from None
        self._use_up(organization, expected, now)

        def used(record: Record) -> None:
            keys = record.get("passkeys", {})
            if id_ not in keys or keys[id_]["count"] != one["count"]:
                raise BadFactor("passkey used elsewhere at once")
            record["passkeys"] = {**keys, id_: {**keys[id_], "count": verified.new_sign_count, "used": now.isoformat()}}

        self._change(organization, person, used)
        return PasskeyOwner(organization, person, one["name"])

    # challenges
    def _challenge(self, purpose: str, now: datetime) -> bytes:
        due = int((now + CHALLENGE).timestamp()).to_bytes(_TIME, "big")
        body = os.urandom(_NONCE) + due
        return body + hmac.digest(self._host.seal_key(f"challenge/{purpose}"), body, "sha256")

    def _due(self, purpose: str, challenge: str, now: datetime) -> bytes:
        """The challenge, when it was made here for this and has not expired."""
        raw = _bytes(challenge)
        body, mark = raw[: _NONCE + _TIME], raw[_NONCE + _TIME :]
        if not hmac.compare_digest(hmac.digest(self._host.seal_key(f"challenge/{purpose}"), body, "sha256"), mark):
            raise BadFactor("no challenge of this server")
        if int.from_bytes(body[_NONCE:], "big") <= now.timestamp():
            raise BadFactor("challenge expired")
        return raw

    def _use_up(self, organization: str, challenge: bytes, now: datetime) -> None:
        due = int.from_bytes(challenge[_NONCE : _NONCE + _TIME], "big")
        for key in self._records.keys(organization, "challenge/"):
            if int(key.split("/")[1]) <= now.timestamp():
                self._records.change(organization, key, lambda _: None)
        fresh = False

        def use(known: Mapping[str, Any] | None) -> Mapping[str, Any]:
            nonlocal fresh
            fresh = known is None
            return {"used": now.astimezone(UTC).isoformat()}

        self._records.change(organization, f"challenge/{due}/{hashlib.sha256(challenge).hexdigest()[:32]}", use)
        if not fresh:
            raise BadFactor("challenge used before")


def _read(answer: str) -> dict[str, Any]:
    try:
        if len(answer) > ANSWER_MAX:
            raise ValueError("too long")
        credential = json.loads(answer)
        if not isinstance(credential, dict) or not isinstance(credential.get("response"), dict):
            raise ValueError("no credential")
    except (ValueError, RecursionError):
        raise BadFactor("unreadable answer") from None
    return credential


def _owner(credential: Mapping[str, Any]) -> tuple[str, str]:
    handle = credential["response"].get("userHandle")
    raw = _bytes(handle) if isinstance(handle, str) else b""
    if len(raw) != 32:
        raise BadFactor("no user handle")
    return str(uuid.UUID(bytes=raw[:16])), str(uuid.UUID(bytes=raw[16:]))


def _bytes(text: str) -> bytes:
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError:
        raise BadFactor("no base64") from None


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _named(name: str) -> str:
    return " ".join(name.split())[:NAME_MAX] or "Passkey"
