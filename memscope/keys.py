"""The server key: one secret signs and seals everything."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import secrets
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from memscope.errors import StartError

KEY_BYTES = 32


class Keys:
    """Keys for separate purposes, derived from the server key by HMAC-SHA-256."""

    def __init__(self, server_key: bytes) -> None:
        if len(server_key) < KEY_BYTES:
            raise StartError(f"The server key must have at least {KEY_BYTES} bytes.")
        self._server_key = server_key

    def derive(self, purpose: str) -> bytes:
        """32 bytes that only this purpose has."""
        return hmac.digest(self._server_key, purpose.encode(), "sha256")

    def digest(self, purpose: str, value: object) -> str:
        """Keyed digest (64 hex digits) of a value's canonical JSON: tells whether two values are equal, and nothing else."""
        canonical = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hmac.new(self.derive(purpose), canonical.encode(), hashlib.sha256).hexdigest()

    def seal(self, purpose: str, value: Any) -> str:
        """A text that only this server can make and open (AES-256-GCM), safe in a URL."""
        nonce = os.urandom(12)
        sealed = AESGCM(self.derive(purpose)).encrypt(nonce, json.dumps(value).encode(), purpose.encode())
        return base64.urlsafe_b64encode(nonce + sealed).rstrip(b"=").decode()

    def unseal(self, purpose: str, text: str) -> Any:
        """What `seal` was given; ValueError for anything else."""
        try:
            raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
            return json.loads(AESGCM(self.derive(purpose)).decrypt(raw[:12], raw[12:], purpose.encode()))
        except (ValueError, InvalidTag):
            raise ValueError("not sealed by this server for this purpose") from None


def read_server_key(configured: str | None, data_dir: Path) -> bytes:
    """The key from the setting (text of at least 32 bytes), else from `server.key` in the data folder, made at the first start.

    Raises StartError when the file is there and cannot be used.
    """
    if configured:
        return configured.encode()
    path = data_dir / "server.key"
    try:
        # O_EXCL: of two processes that start at once, one makes the key and the other reads it.
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        key = _read(path)
    else:
        key = secrets.token_hex(KEY_BYTES)
        with os.fdopen(descriptor, "w") as file:
            file.write(key + "\n")
            file.flush()
            os.fsync(file.fileno())
    return key.encode()


def _read(path: Path) -> str:
    try:
        key = path.read_text().strip()
    except OSError as error:
        raise StartError(f"The server key {path} cannot be read ({error.strerror}). Start as the user who owns it.") from None
    if len(key) < KEY_BYTES:
        raise StartError(
            f"The server key {path} is damaged. Put back the copy from your backup: what was sealed with it opens with no other."
        )
    return key
