"""OAuth grants: codes, access tokens and refresh tokens, of which only hashes are kept. One record a grant."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from memscope.contracts.grants import AuthorizationRequest, Granted, GrantError, GrantReplayed
from memscope.contracts.identity import Authenticated, BadCredential
from memscope.contracts.storage import Records
from memscope_accounts.settings import AccountsSettings

CODE, ACCESS, REFRESH = "msc_", "msa_", "msr_"
"""How each begins, as access tokens of people begin with `msk_`."""
CODE_LASTS = timedelta(seconds=60)
ACCESS_TOKENS_MAX = 32
"""Live at once for one grant; hosts that refresh for every window stay below."""
CHAIN_MAX = 64
"""Earlier refresh tokens of one grant that are known when they come again."""
_VERIFIER = re.compile(r"[A-Za-z0-9._~-]{43,128}")
Record = Mapping[str, Any]


class GrantRecords:
    """`grant/CONNECTION` of an organization.

    `code`: hash, end, challenge, redirect address, whether used. `access`: [hash, end] of each. `refresh`: hash of the
    newest. `chain`: [hash, when replaced, salt] of earlier ones: the one after a refresh token is derived from it, the salt
    and the server key, so that a host that asks twice with the same one gets the same answer, and nothing that is stored
    gives a token away.
    """

    def __init__(self, settings: AccountsSettings, records: Records, key: bytes) -> None:
        self._records = records
        self._key = key
        self._access_lasts = timedelta(minutes=settings.access_minutes)
        self._grace = timedelta(seconds=settings.refresh_grace_s)
        self._lifetime = timedelta(days=settings.grant_days)

    def begin(self, organization: str, person: str, request: AuthorizationRequest, now: datetime) -> str:
        """The code for an allowed request. The same request allowed again, by the same person: the same code."""
        # Anybody may be sent the same request, also somebody of another organization: each gets a code of their own.
        secret = self._derived("code", f"{organization}.{person}.{request.id}")
        made: Record = {
            "person": person,
            "client": request.client,
            "audience": request.audience,
            "scopes": list(request.scopes),
            "end": (now + self._lifetime).isoformat(),
            "code": {
                "hash": hashed(secret),
                "end": (now + CODE_LASTS).isoformat(),
                "challenge": request.challenge,
                "redirect": request.redirect_uri,
                "used": False,
            },
            "access": [],
            "refresh": None,
            "chain": [],
        }
        kept = self._records.change(organization, f"grant/{request.id}", lambda known: made if known is None else known)
        if kept is None or kept["person"] != person:
            raise GrantError("access_denied", "This request was decided already.")
        return _written(CODE, organization, request.id, secret)

    def exchange(self, client: str, code: str, verifier: str, redirect_uri: str | None, audience: str | None, now: datetime) -> Granted:
        """Tokens for a code."""
        organization, connection, secret = _read(CODE, code)
        if _VERIFIER.fullmatch(verifier) is None:
            raise GrantError("invalid_request", "code_verifier must have 43 to 128 characters of A-Z, a-z, 0-9, -, ., _ and ~.")
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
        refresh, access = secrets.token_urlsafe(32), secrets.token_urlsafe(32)

        def exchanged(known: dict[str, Any]) -> dict[str, Any]:
            given = known["code"]
            if known["client"] != client or not hmac.compare_digest(given["hash"], hashed(secret)):
                raise _invalid("This code is not valid.")
            if given["used"]:
                raise GrantReplayed(organization, connection)
            if datetime.fromisoformat(given["end"]) <= now:
                raise _invalid("This code is too old: it lasts 60 seconds.")
            if redirect_uri is not None and redirect_uri != given["redirect"]:
                raise _invalid("redirect_uri is another than was asked with.")
            if not hmac.compare_digest(given["challenge"], challenge):
                raise _invalid("code_verifier does not belong to this code's challenge.")
            _same_audience(known, audience)
            known["code"] = {**given, "used": True}
            known["refresh"] = hashed(refresh)
            return self._with_access(known, access, now)

        return self._granted(organization, connection, access, refresh, self._change(organization, connection, exchanged), now)

    def refresh(self, client: str, token: str, scopes: Sequence[str] | None, audience: str | None, now: datetime) -> Granted:
        """New tokens for a refresh token. The grant keeps its scopes: fewer may be asked for, and change nothing."""
        organization, connection, secret = _read(REFRESH, token)
        access, salt = secrets.token_urlsafe(32), secrets.token_urlsafe(16)
        following = ""

        def refreshed(known: dict[str, Any]) -> dict[str, Any]:
            nonlocal following
            if known["client"] != client:
                raise _invalid("This refresh token is not valid.")
            if datetime.fromisoformat(known["end"]) <= now:
                raise _invalid("This grant has ended; ask the person anew.")
            _same_audience(known, audience)
            if scopes is not None and not set(scopes) <= set(known["scopes"]):
                raise GrantError("invalid_scope", "The person did not allow that much.")
            digest = hashed(secret)
            if known["refresh"] is not None and hmac.compare_digest(known["refresh"], digest):
                following = self._following(secret, salt)
                known["chain"] = [*known["chain"], [digest, now.isoformat(), salt]][-CHAIN_MAX:]
                known["refresh"] = hashed(following)
            else:
                following = self._newest(organization, connection, known["chain"], secret, now)
            return self._with_access(known, access, now)

        kept = self._change(organization, connection, refreshed)
        return self._granted(organization, connection, access, following, kept, now)

    def authenticate(self, token: str) -> Authenticated:
        """Whom an access token means; BadCredential."""
        try:
            organization, connection, secret = _read(ACCESS, token)
        except GrantError:
            raise BadCredential from None
        known = self._records.get(organization, f"grant/{connection}")
        digest = hashed(secret)
        for kept, end in [] if known is None else known["access"]:
            if hmac.compare_digest(kept, digest) and known is not None:
                return Authenticated(
                    organization, known["person"], connection, known["audience"], datetime.fromisoformat(end), frozenset(known["scopes"])
                )
        raise BadCredential

    def grant_of(self, client: str, token: str) -> tuple[str, str] | None:
        """Organization and connection of a client's access or refresh token, also of a refresh token that was replaced."""
        for prefix in (ACCESS, REFRESH):
            try:
                organization, connection, secret = _read(prefix, token)
            except GrantError:
                continue
            known = self._records.get(organization, f"grant/{connection}")
            if known is None or known["client"] != client:
                return None
            digests = [kept for kept, *_ in known["access" if prefix == ACCESS else "chain"]]
            digests += [known["refresh"]] if prefix == REFRESH and known["refresh"] is not None else []
            return (organization, connection) if any(hmac.compare_digest(kept, hashed(secret)) for kept in digests) else None
        return None

    def drop(self, organization: str, connection: str) -> None:
        """Forget a grant's tokens. That it was decided stays known, so that its request is not decided again."""
        key = f"grant/{connection}"
        self._records.change(
            organization,
            key,
            lambda known: (
                None if known is None else {**known, "code": {**known["code"], "used": True}, "access": [], "refresh": None, "chain": []}
            ),
        )

    def _change(self, organization: str, connection: str, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Record:
        def changed(known: Record | None) -> Record:
            if known is None:
                raise _invalid("This is not valid here.")
            return change(dict(known))

        kept = self._records.change(organization, f"grant/{connection}", changed)
        assert kept is not None, "a change of a grant keeps it"
        return kept

    def _with_access(self, known: dict[str, Any], secret: str, now: datetime) -> dict[str, Any]:
        live = [one for one in known["access"] if datetime.fromisoformat(one[1]) > now]
        end = min(now + self._access_lasts, datetime.fromisoformat(known["end"]))
        return {**known, "access": [*live, [hashed(secret), end.isoformat()]][-ACCESS_TOKENS_MAX:]}

    def _newest(self, organization: str, connection: str, chain: Sequence[Sequence[str]], secret: str, now: datetime) -> str:
        """The newest refresh token, from an earlier one that was replaced within the grace period."""
        digest = hashed(secret)
        place = next((number for number, (kept, *_) in enumerate(chain) if hmac.compare_digest(kept, digest)), None)
        if place is None:
            raise _invalid("This refresh token is not valid.")
        if now - datetime.fromisoformat(chain[place][1]) > self._grace:
            raise GrantReplayed(organization, connection)
        for _, _, salt in chain[place:]:
            secret = self._following(secret, salt)
        return secret

    def _granted(self, organization: str, connection: str, access: str, refresh: str, known: Record, now: datetime) -> Granted:
        return Granted(
            organization,
            connection,
            _written(ACCESS, organization, connection, access),
            int((datetime.fromisoformat(known["access"][-1][1]) - now).total_seconds()),
            _written(REFRESH, organization, connection, refresh),
            tuple(known["scopes"]),
        )

    def _following(self, secret: str, salt: str) -> str:
        return self._derived("refresh", f"{salt}.{secret}")

    def _derived(self, purpose: str, text: str) -> str:
        return base64.urlsafe_b64encode(hmac.digest(self._key, f"{purpose}.{text}".encode(), "sha256")).rstrip(b"=").decode()


def hashed(secret: str) -> str:
    """What is kept of a secret. It has 256 random bits, so a plain hash cannot be guessed backwards."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _written(prefix: str, organization: str, connection: str, secret: str) -> str:
    return f"{prefix}{uuid.UUID(organization).hex}_{uuid.UUID(connection).hex}_{secret}"


def _read(prefix: str, token: str) -> tuple[str, str, str]:
    if not token.startswith(prefix):
        raise _invalid("This is not valid here.")
    try:
        organization, connection, secret = token.removeprefix(prefix).split("_", 2)
        return str(uuid.UUID(organization)), str(uuid.UUID(connection)), secret
    except ValueError:
        raise _invalid("This is not valid here.") from None


def _same_audience(known: Record, audience: str | None) -> None:
    if audience is not None and audience != known["audience"]:
        raise GrantError("invalid_target", "resource is another than the person allowed.")


def _invalid(why: str) -> GrantError:
    return GrantError("invalid_grant", why)
