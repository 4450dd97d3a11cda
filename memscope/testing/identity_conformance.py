"""What every identity provider has to do, as tests: subclass, and give a fixture `provider`, started with `Host()`."""

from __future__ import annotations

import copy
import hashlib
import threading
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from memscope.contracts.identity import Authenticated, BadCredential, IdentityProvider, Passwords, Tokens
from memscope.model.ids import new_id


class MemoryRecords:
    """Keyed records in memory (`memscope.contracts.storage.Records`)."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values: dict[tuple[str, str], Mapping[str, Any]] = {}

    def get(self, organization: str, key: str) -> Mapping[str, Any] | None:
        """The record, or None."""
        return copy.deepcopy(self._values.get((organization, key)))

    def put(self, organization: str, key: str, value: Mapping[str, Any]) -> None:
        """Insert or replace."""
        self._values[organization, key] = copy.deepcopy(value)

    def change(
        self, organization: str, key: str, change: Callable[[Mapping[str, Any] | None], Mapping[str, Any] | None]
    ) -> Mapping[str, Any] | None:
        """Read, change and write under a lock; None removes."""
        with self._lock:
            value = change(self.get(organization, key))
            if value is None:
                self._values.pop((organization, key), None)
            else:
                self.put(organization, key, value)
            return value

    def keys(self, organization: str, prefix: str) -> list[str]:
        """The keys that begin with a prefix, in order."""
        return sorted(key for owner, key in self._values if owner == organization and key.startswith(prefix))

    @property
    def everything(self) -> str:
        """All that was kept, as text: for tests that look for what should not be there."""
        return repr(self._values)


class Host:
    """What a provider is started with (`memscope.contracts.identity.IdentityHost`)."""

    def __init__(self) -> None:
        self.records = MemoryRecords()

    def seal_key(self, purpose: str) -> bytes:
        """32 bytes for one purpose."""
        return hashlib.sha256(purpose.encode()).digest()


class IdentityConformance:
    """For every provider: it knows its own, and says so when it is bad. Give a fixture `provider`."""

    def test_what_is_not_mine_is_none(self, provider: IdentityProvider) -> None:
        """So that the next provider is asked."""
        for token in ("", "x", "Bearer x", "not.a.token", "🛟", "a" * 10_000):
            assert provider.authenticate(token) is None

    def test_it_has_a_name_and_its_ways_to_sign_in(self, provider: IdentityProvider) -> None:
        """Names are unique within it."""
        assert provider.name
        names = [method.name for method in provider.login_methods()]
        assert len(names) == len(set(names))

    def test_nobody_is_provisioned_from_nothing(self, provider: IdentityProvider) -> None:
        """Without claims there is nobody to make."""
        assert provider.provision({}) is None


class TokenConformance(IdentityConformance):
    """For a provider that gives out access tokens too. Give a fixture `host` as well, the one it was started with."""

    def test_a_token_means_its_connection(self, provider: Any, host: Host) -> None:
        """Until it is dropped; only its hash is kept."""
        tokens: Tokens = provider
        assert isinstance(tokens, Tokens)
        ids = new_id(), new_id(), new_id()
        token = tokens.issue_token(*ids)
        assert provider.authenticate(token) == Authenticated(*ids)
        assert token not in host.records.everything
        assert token.rpartition(".")[2].rpartition("_")[2] not in host.records.everything
        other = provider.issue_token(ids[0], new_id(), new_id())
        provider.drop_token(ids[0], ids[2])
        provider.drop_token(ids[0], ids[2])
        with pytest.raises(BadCredential):
            provider.authenticate(token)
        assert provider.authenticate(other) is not None

    def test_a_changed_token_is_bad(self, provider: Any) -> None:
        """Mine, and bad: nobody else is asked."""
        token = provider.issue_token(new_id(), new_id(), new_id())
        changed = token[:-1] + ("a" if token[-1] != "a" else "b")
        with pytest.raises(BadCredential):
            provider.authenticate(changed)
        with pytest.raises(BadCredential):
            provider.authenticate(token + "x")


class PasswordConformance(IdentityConformance):
    """For a provider that keeps passwords too. Give a fixture `host` as well, the one it was started with."""

    def test_a_password_is_checked(self, provider: Any, host: Host) -> None:
        """By person and organization; only a hash is kept; the newest counts."""
        assert isinstance(provider, Passwords)
        organization, person = new_id(), new_id()
        first, second = "correct horse battery 1", "staple of another kind 2"
        assert not provider.has_password(organization, person)
        assert not provider.check_password(organization, person, first)
        provider.set_password(organization, person, first)
        assert provider.has_password(organization, person)
        assert provider.check_password(organization, person, first)
        assert not provider.check_password(organization, person, first + " ")
        assert not provider.check_password(organization, new_id(), first)
        assert not provider.check_password(new_id(), person, first)
        provider.set_password(organization, person, second)
        assert not provider.check_password(organization, person, first)
        assert provider.check_password(organization, person, second)
        assert first not in host.records.everything
        assert second not in host.records.everything

    def test_a_weak_password_is_refused_in_words(self, provider: Any) -> None:
        """And not kept."""
        organization, person = new_id(), new_id()
        for weak in ("", "short", "password"):
            with pytest.raises(ValueError, match=r"\w+ \w+"):
                provider.refuse_weak(weak)
            with pytest.raises(ValueError, match=r"\w+ \w+"):
                provider.set_password(organization, person, weak)
        assert not provider.has_password(organization, person)
