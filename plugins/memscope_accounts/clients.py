"""OAuth clients: what they say of themselves, checked; registered ones are remembered in their own id."""

from __future__ import annotations

import base64
import hmac
import json
import re
import secrets
import zlib
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from memscope.contracts.grants import LOOPBACK, Client, GrantError
from memscope.text.normalise import LoneSurrogate, NulCharacter, normalise

METHODS = ("none", "client_secret_basic", "client_secret_post")
NAME_MAX = 100
REDIRECTS_MAX = 10
REDIRECT_MAX = 500
"""Characters of one redirect address."""
UNNAMED = "A client without a name"
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]{1,40}")
_HOST = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*|[0-9a-f:.]*:[0-9a-f:.]*")
"""A name, or an address of IPv6: nothing that would mean more in a content security policy."""
_PRINTABLE = re.compile(r"[!-~]+")
#: Schemes with which a browser itself would do something, or send the code in clear.
_REFUSED_SCHEMES = frozenset(
    {"javascript", "data", "vbscript", "file", "blob", "about", "filesystem", "ftp", "ws", "wss", "mailto", "tel", "view-source"}
)
_ID = re.compile(r"mc_([A-Za-z0-9_-]{1,8000})\.([A-Za-z0-9_-]{22})")


class Registry:
    """Clients that registered themselves (RFC 7591).

    Anybody may register, so nothing is stored: the id holds what was said, signed with the server key. A secret, where
    one is asked for, is derived from the id.
    """

    def __init__(self, key: bytes, secret_key: bytes) -> None:
        self._key = key
        self._secret_key = secret_key

    def register(self, metadata: Mapping[str, object], now: datetime) -> Mapping[str, object]:
        """The registration's answer. GrantError."""
        method = metadata.get("token_endpoint_auth_method") or "client_secret_basic"
        if method not in METHODS:
            raise GrantError("invalid_client_metadata", f"token_endpoint_auth_method may be one of {', '.join(METHODS)}.")
        for field, needed in (("grant_types", "authorization_code"), ("response_types", "code")):
            said = metadata.get(field)
            if said is not None and (not isinstance(said, list) or needed not in said):
                raise GrantError("invalid_client_metadata", f"{field} must hold {needed}.")
        name, redirects = named(metadata.get("client_name")), redirect_uris(metadata.get("redirect_uris"))
        issued = int(now.timestamp())
        # A secret is of one registration: whoever says the same in the same second gets another.
        alone = [] if method == "none" else [secrets.token_urlsafe(12)]
        said = json.dumps([name, list(redirects), METHODS.index(str(method)), issued, *alone], separators=(",", ":"), ensure_ascii=False)
        payload = _text(zlib.compress(said.encode(), 9))
        client_id = f"mc_{payload}.{self._signature(payload)}"
        answer: dict[str, object] = {
            "client_id": client_id,
            "client_id_issued_at": issued,
            "client_name": name,
            "redirect_uris": list(redirects),
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": method,
        }
        if method != "none":
            answer |= {"client_secret": self._secret(client_id), "client_secret_expires_at": 0}
        return answer

    def find(self, client_id: str) -> Client | None:
        """The client that this id means; None when it is none of ours."""
        match = _ID.fullmatch(client_id)
        if match is None or not hmac.compare_digest(match[2], self._signature(match[1])):
            return None
        name, redirects, method, issued, *_ = json.loads(zlib.decompress(_bytes(match[1])))
        return Client(client_id, name, tuple(redirects), METHODS[method], None, datetime.fromtimestamp(issued, UTC))

    def right_secret(self, client_id: str, secret: str) -> bool:
        """Whether it is the client's, in constant time."""
        return hmac.compare_digest(secret.encode("utf-8", "surrogatepass"), self._secret(client_id).encode())

    def _signature(self, payload: str) -> str:
        return _text(hmac.digest(self._key, payload.encode(), "sha256")[:16])

    def _secret(self, client_id: str) -> str:
        return _text(hmac.digest(self._secret_key, client_id.encode(), "sha256"))


def described(document: Any, url: str) -> Client:
    """The client of a client id metadata document that was fetched from `url`. GrantError."""
    if not isinstance(document, dict) or document.get("client_id") != url:
        raise GrantError("invalid_client", "The client's document does not name its own address as client_id.")
    if "client_secret" in document or document.get("token_endpoint_auth_method", "none") != "none":
        raise GrantError("invalid_client", "A client that is described by a document authenticates with method none here.")
    host = urlsplit(url).hostname or ""
    try:
        return Client(url, named(document.get("client_name") or host), redirect_uris(document.get("redirect_uris")), host=host)
    except GrantError as error:
        raise GrantError("invalid_client", f"The client's document cannot be used: {error.description}") from None


def named(value: object) -> str:
    """What a client calls itself, on one line and without characters that are not seen."""
    if value is not None and not isinstance(value, str):
        raise GrantError("invalid_client_metadata", "client_name must be a text.")
    try:
        seen = "".join(character for character in normalise(value or "") if character.isprintable() or character.isspace())
    except (NulCharacter, LoneSurrogate):
        raise GrantError("invalid_client_metadata", "client_name holds characters that cannot be shown.") from None
    return " ".join(seen.split())[:NAME_MAX] or UNNAMED


def redirect_uris(value: object) -> tuple[str, ...]:
    """Redirect addresses as registered: https, http to this very machine, or a scheme of the program's own. GrantError."""
    if not isinstance(value, list) or not 1 <= len(value) <= REDIRECTS_MAX or not all(isinstance(uri, str) for uri in value):
        raise GrantError("invalid_redirect_uri", f"redirect_uris must be a list of 1 to {REDIRECTS_MAX} addresses.")
    for uri in value:
        if (wrong := _wrong(uri)) is not None:
            raise GrantError("invalid_redirect_uri", f"A redirect address {wrong}.")
    return tuple(dict.fromkeys(value))


def _wrong(uri: str) -> str | None:
    if len(uri) > REDIRECT_MAX or _PRINTABLE.fullmatch(uri) is None or any(character in uri for character in '\\"<>^`{|}'):
        return f"has at most {REDIRECT_MAX} characters, all of them allowed in an address"
    try:
        parts = urlsplit(uri)
        host = parts.hostname
        parts.port  # noqa: B018 - raises for a port that is none
    except ValueError:
        return "must be a whole address"
    if "#" in uri:
        return "has no fragment"
    if parts.username is not None or parts.password is not None:
        return "names nobody before its host"
    if parts.scheme == "https":
        return None if host and _HOST.fullmatch(host) else "must name a host"
    if parts.scheme == "http":
        return None if host in LOOPBACK else "is http to this very machine only; use https"
    if _SCHEME.fullmatch(parts.scheme) is None or parts.scheme in _REFUSED_SCHEMES or not uri.startswith(f"{parts.scheme}:/"):
        return "is https, http to this very machine, or a scheme of the program's own followed by :/"
    return None


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _bytes(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
