"""The OAuth authorization server behind `memscope.contracts.grants.Grants`."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import cached_property

from memscope.contracts.grants import AuthorizationRequest, Client, Granted, GrantError
from memscope.contracts.identity import IdentityHost
from memscope_accounts.clients import Registry
from memscope_accounts.documents import Documents
from memscope_accounts.grants import GrantRecords
from memscope_accounts.settings import AccountsSettings

NOT_KNOWN = "This client is not known here; register it anew."


class OAuth:
    """Clients, codes and tokens of one provider."""

    _settings: AccountsSettings
    _host: IdentityHost

    @cached_property
    def _registry(self) -> Registry:
        return Registry(self._host.seal_key("oauth/client"), self._host.seal_key("oauth/client secret"))

    @cached_property
    def documents(self) -> Documents:
        """Where clients' documents are fetched."""
        return Documents()

    @cached_property
    def _grants(self) -> GrantRecords:
        return GrantRecords(self._settings, self._host.records, self._host.seal_key("oauth/tokens"))

    @property
    def lifetime(self) -> timedelta:
        """As the settings say."""
        return timedelta(days=self._settings.grant_days)

    @property
    def takes_documents(self) -> bool:
        """As the settings say."""
        return self._settings.client_documents

    def register_client(self, metadata: Mapping[str, object], now: datetime) -> Mapping[str, object]:
        """Nothing is stored: the client's id holds what it said."""
        return self._registry.register(metadata, now)

    def find_client(self, client_id: str) -> Client:
        """A registered client, or one that a document describes."""
        if client_id.startswith("https:") and self._settings.client_documents:
            return self.documents.client(client_id)
        found = self._registry.find(client_id)
        if found is None:
            raise GrantError("invalid_client", NOT_KNOWN)
        return found

    def lapsed(self, client: Client, organization: str, now: datetime) -> bool:
        """Whoever was allowed once stays known to the organization."""
        if client.registered_at is None or now - client.registered_at < timedelta(hours=self._settings.client_hours):
            return False
        return self._host.records.get(organization, _used(client.id)) is None

    def check_client(self, client_id: str, secret: str | None, method: str) -> None:
        """By its secret, where it registered for having one."""
        # Ids are compared with the grant's: a document's host that is away keeps nobody from refreshing.
        documented = client_id.startswith("https:") and self._settings.client_documents
        wanted = "none" if documented else self.find_client(client_id).method
        if method != wanted:
            raise GrantError("invalid_client", f"This client authenticates with {wanted}.")
        if wanted != "none" and not self._registry.right_secret(client_id, secret or ""):
            raise GrantError("invalid_client", "The client's secret is wrong.")

    def begin_grant(self, organization: str, person: str, request: AuthorizationRequest, now: datetime) -> str:
        """The code of a request that a person allowed."""
        code = self._grants.begin(organization, person, request, now)
        self._host.records.put(organization, _used(request.client), {"at": now.isoformat()})
        return code

    def exchange_code(
        self, client_id: str, code: str, verifier: str, redirect_uri: str | None, audience: str | None, now: datetime
    ) -> Granted:
        """Tokens for a code, once."""
        return self._grants.exchange(client_id, code, verifier, redirect_uri, audience, now)

    def refresh(self, client_id: str, token: str, scopes: Sequence[str] | None, audience: str | None, now: datetime) -> Granted:
        """The next tokens."""
        return self._grants.refresh(client_id, token, scopes, audience, now)

    def grant_of(self, client_id: str, token: str) -> tuple[str, str] | None:
        """Which grant a token is of."""
        return self._grants.grant_of(client_id, token)


def _used(client_id: str) -> str:
    return f"client/{hashlib.sha256(client_id.encode()).hexdigest()}"
