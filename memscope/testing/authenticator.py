"""Second factors in software, for tests: a passkey's authenticator with the browser before it, and an app for one-time codes."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
from datetime import datetime
from typing import Any

import cbor2
import pyotp
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

_PRESENT, _VERIFIED, _ATTESTED = 0x01, 0x04, 0x40


class Authenticator:
    """One device with one passkey. Fields may be changed to see what a server makes of it."""

    def __init__(self, origin: str) -> None:
        self.origin = origin
        self.verified = True
        """Whether its owner unlocks it."""
        self.count = 0
        """Signatures so far, as it tells them."""
        self.id = secrets.token_bytes(32)
        self.user = b""
        self._key = ec.generate_private_key(ec.SECP256R1())

    def make(self, options: str) -> str:
        """The browser's answer to options for making a passkey."""
        said = json.loads(options)
        self.user = _bytes(said["user"]["id"])
        point = self._key.public_key().public_numbers()
        key = cbor2.dumps({1: 2, 3: -7, -1: 1, -2: point.x.to_bytes(32, "big"), -3: point.y.to_bytes(32, "big")})
        attested = bytes(16) + len(self.id).to_bytes(2, "big") + self.id + key
        data = self._data(said["rp"]["id"], _ATTESTED) + attested
        attestation = cbor2.dumps({"fmt": "none", "attStmt": {}, "authData": data})
        client = self._client("webauthn.create", said["challenge"])
        return self._answer({"clientDataJSON": _text(client), "attestationObject": _text(attestation), "transports": ["internal"]})

    def answer(self, options: str) -> str:
        """The browser's answer to options for signing in."""
        said = json.loads(options)
        self.count += 1
        data, client = self._data(said["rpId"], 0), self._client("webauthn.get", said["challenge"])
        signature = self._key.sign(data + hashlib.sha256(client).digest(), ec.ECDSA(hashes.SHA256()))
        return self._answer(
            {
                "clientDataJSON": _text(client),
                "authenticatorData": _text(data),
                "signature": _text(signature),
                "userHandle": _text(self.user),
            }
        )

    def _data(self, site: str, flags: int) -> bytes:
        flags |= _PRESENT | (_VERIFIED if self.verified else 0)
        return hashlib.sha256(site.encode()).digest() + bytes([flags]) + self.count.to_bytes(4, "big")

    def _client(self, kind: str, challenge: str) -> bytes:
        return json.dumps({"type": kind, "challenge": challenge, "origin": self.origin, "crossOrigin": False}).encode()

    def _answer(self, response: dict[str, Any]) -> str:
        id_ = _text(self.id)
        return json.dumps({"id": id_, "rawId": id_, "type": "public-key", "response": response, "clientExtensionResults": {}})


def challenge_of(options: str) -> str:
    """The challenge that options for a browser hold."""
    return str(json.loads(options)["challenge"])


def code_of(secret: str, now: datetime) -> str:
    """The one-time code that an app with this secret shows at a time."""
    return pyotp.TOTP(secret).at(now)


def _bytes(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
