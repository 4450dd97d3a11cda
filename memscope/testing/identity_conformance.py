"""What every identity provider has to do, as tests: subclass, and give a fixture `provider`, started with `Host()`."""

from __future__ import annotations

import base64
import copy
import hashlib
import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memscope.contracts.grants import SCOPES, AuthorizationRequest, GrantError, GrantReplayed, Grants
from memscope.contracts.identity import (
    Authenticated,
    BadCredential,
    BadFactor,
    Factors,
    IdentityProvider,
    Passwords,
    SecondFactors,
    Site,
    Tokens,
)
from memscope.model.ids import new_id
from memscope.testing.authenticator import Authenticator, challenge_of, code_of


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

    def items(self, organization: str, prefix: str) -> Mapping[str, Mapping[str, Any]]:
        """The records whose keys begin with a prefix, by key, in order."""
        found = {key: self.get(organization, key) for key in self.keys(organization, prefix)}
        return {key: value for key, value in found.items() if value is not None}

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
        assert token[-16:] not in host.records.everything
        hint = provider.token_hints(ids[0])[ids[2]]
        assert len(hint) <= 12
        assert token.endswith(hint[-4:])
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


class GrantConformance(IdentityConformance):
    """For a provider that is an authorization server for agents. Give a fixture `host` as well, the one it was started with."""

    def test_a_grant_from_registering_to_its_end(self, provider: Any, host: Host) -> None:
        """A code works once, a refresh token goes over into the next, and only hashes are kept."""
        grants: Grants = provider
        assert isinstance(grants, Grants)
        now = datetime(2026, 1, 5, 9, tzinfo=UTC)
        uri = "http://127.0.0.1/callback"
        client_id = str(grants.register_client({"redirect_uris": [uri], "token_endpoint_auth_method": "none"}, now)["client_id"])
        client = grants.find_client(client_id)
        assert client.redirect_uris == (uri,)
        grants.check_client(client_id, None, "none")
        organization, person = new_id(), new_id()
        assert not grants.lapsed(client, organization, now)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(b"v" * 43).digest()).rstrip(b"=").decode()
        asked = AuthorizationRequest(new_id(), client_id, uri, challenge, SCOPES, "https://m.example/mcp", None, now)
        code = grants.begin_grant(organization, person, asked, now)
        assert grants.begin_grant(organization, person, asked, now) == code
        with pytest.raises(GrantError):
            grants.exchange_code(client_id, code, "w" * 43, uri, None, now)
        granted = grants.exchange_code(client_id, code, "v" * 43, uri, None, now)
        found = provider.authenticate(granted.access_token)
        assert (found.organization, found.person, found.connection) == (organization, person, asked.id)
        assert (found.audience, found.scopes) == ("https://m.example/mcp", frozenset(SCOPES))
        assert found.expires_at is not None
        assert grants.grant_of(client_id, granted.refresh_token) == (organization, asked.id)
        following = grants.refresh(client_id, granted.refresh_token, None, None, now)
        assert following.refresh_token != granted.refresh_token
        assert grants.refresh(client_id, granted.refresh_token, None, None, now).refresh_token == following.refresh_token
        for secret in (code, granted.access_token, granted.refresh_token, following.refresh_token):
            assert secret not in host.records.everything
            assert secret[-16:] not in host.records.everything
        with pytest.raises(GrantReplayed):
            grants.exchange_code(client_id, code, "v" * 43, uri, None, now)
        with pytest.raises(GrantReplayed):
            grants.refresh(client_id, granted.refresh_token, None, None, now + timedelta(days=1))
        with pytest.raises(GrantError):
            grants.refresh(client_id, following.refresh_token, None, None, now + grants.lifetime)

    def test_clients_that_are_none(self, provider: Any) -> None:
        """And those that say what cannot be."""
        for unknown in ("", "x", "http://client.example/x.json"):
            with pytest.raises(GrantError):
                provider.find_client(unknown)
        for uri in ("http://elsewhere.example/", "javascript:/x", "https://host.example/#x", ""):
            with pytest.raises(GrantError):
                provider.register_client({"redirect_uris": [uri]}, datetime(2026, 1, 5, tzinfo=UTC))


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


class SecondFactorConformance(IdentityConformance):
    """For a provider that keeps second factors too. Give a fixture `host` as well, the one it was started with."""

    now = datetime(2026, 11, 30, 12, 0, 10, tzinfo=UTC)
    site = Site("memory.example", "https://memory.example")

    def enrolled(self, provider: Any, organization: str, person: str) -> str:
        """Somebody with one-time codes; their secret. The code of `now` is used up."""
        enrolment = provider.begin_codes(organization, person, "bo@harbor.example", self.now)
        provider.turn_codes_on(organization, person, enrolment.sealed, code_of(enrolment.secret, self.now), self.now)
        return str(enrolment.secret)

    def with_passkey(self, provider: Any, organization: str, person: str) -> Authenticator:
        """Somebody with a passkey."""
        device = Authenticator(self.site.origin)
        options = provider.begin_passkey(organization, person, "bo@harbor.example", "Bo", self.site, self.now)
        provider.add_passkey(organization, person, "Telephone", device.make(options), challenge_of(options), self.site, self.now)
        return device

    def test_one_time_codes_are_on_once_the_first_was_right(self, provider: Any, host: Host) -> None:
        """And not before; the secret is not kept in clear."""
        assert isinstance(provider, SecondFactors)
        organization, person = new_id(), new_id()
        enrolment = provider.begin_codes(organization, person, "bo@harbor.example", self.now)
        assert enrolment.secret in enrolment.uri
        assert "bo%40harbor.example" in enrolment.uri or "bo@harbor.example" in enrolment.uri
        assert provider.begin_codes(organization, person, "bo@harbor.example", self.now, enrolment.sealed) == enrolment
        good = code_of(enrolment.secret, self.now)
        for wrong in (
            "",
            "000000" if good != "000000" else "000001",
            good[:5],
            f"{good}0",
            "abcdef",
            "\u0661\u0662\u0663\u0664\u0665\u0666",
        ):
            with pytest.raises(BadFactor):
                provider.turn_codes_on(organization, person, enrolment.sealed, wrong, self.now)
        late = self.now + timedelta(minutes=15)
        for owner, sealed, at in ((new_id(), enrolment.sealed, self.now), (person, "x", self.now), (person, enrolment.sealed, late)):
            with pytest.raises(BadFactor):
                provider.turn_codes_on(organization, owner, sealed, code_of(enrolment.secret, at), at)
        assert provider.factors(organization, person) == Factors()
        provider.turn_codes_on(organization, person, enrolment.sealed, good, self.now)
        assert provider.factors(organization, person).codes
        assert enrolment.secret not in host.records.everything

    def test_a_code_works_once_and_none_older_than_the_last(self, provider: Any) -> None:
        """The one of the step before is good, as long as no newer one was used; nobody else's ever."""
        organization, person = new_id(), new_id()
        secret = self.enrolled(provider, organization, person)
        with pytest.raises(BadFactor):
            provider.check_code(organization, person, code_of(secret, self.now), self.now)
        later = self.now + timedelta(seconds=60)
        for stale in (self.now, later - timedelta(seconds=60), later + timedelta(seconds=60)):
            with pytest.raises(BadFactor):
                provider.check_code(organization, person, code_of(secret, stale), later)
        provider.check_code(organization, person, code_of(secret, later), later)
        with pytest.raises(BadFactor):
            provider.check_code(organization, person, code_of(secret, later - timedelta(seconds=30)), later)
        after = later + timedelta(seconds=60)
        provider.check_code(organization, person, code_of(secret, after - timedelta(seconds=30)), after)
        for organization_, person_ in ((organization, new_id()), (new_id(), person)):
            with pytest.raises(BadFactor):
                provider.check_code(organization_, person_, code_of(secret, after), after)
        provider.turn_codes_off(organization, person)
        with pytest.raises(BadFactor):
            provider.check_code(organization, person, code_of(secret, after), after)

    def test_of_two_at_once_with_one_code_one_gets_in(self, provider: Any) -> None:
        """However close they are."""
        organization, person = new_id(), new_id()
        secret = self.enrolled(provider, organization, person)
        later = self.now + timedelta(seconds=30)
        outcomes: list[bool] = []

        def attempt() -> None:
            try:
                provider.check_code(organization, person, code_of(secret, later), later)
            except BadFactor:
                outcomes.append(False)
            else:
                outcomes.append(True)

        threads = [threading.Thread(target=attempt) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(outcomes) == [False] * 5 + [True]

    def test_recovery_codes_work_once_each_and_go_with_the_last_factor(self, provider: Any, host: Host) -> None:
        """Ten, kept as hashes; new ones replace the old."""
        organization, person = new_id(), new_id()
        self.enrolled(provider, organization, person)
        with pytest.raises(BadFactor):
            provider.use_recovery_code(organization, person, "AAAA-AAAA-AAAA-AAAA")
        old = provider.new_recovery_codes(organization, person)
        assert len(set(old)) == 10 == provider.factors(organization, person).recovery_codes
        assert provider.use_recovery_code(organization, person, f" {old[0].lower().replace('-', ' ')} ") == 9
        for wrong in (old[0], "", "AAAA-AAAA-AAAA-AAAA", old[1][:-1]):
            with pytest.raises(BadFactor):
                provider.use_recovery_code(organization, person, wrong)
        with pytest.raises(BadFactor):
            provider.use_recovery_code(organization, new_id(), old[1])
        new = provider.new_recovery_codes(organization, person)
        with pytest.raises(BadFactor):
            provider.use_recovery_code(organization, person, old[1])
        assert provider.use_recovery_code(organization, person, new[1]) == 9
        assert not any(code in host.records.everything or code.replace("-", "") in host.records.everything for code in (*old, *new))
        provider.turn_codes_off(organization, person)
        assert provider.factors(organization, person) == Factors()

    def test_a_passkey_says_who_it_is(self, provider: Any) -> None:
        """Again and again, each time to a new challenge."""
        organization, person = new_id(), new_id()
        device = self.with_passkey(provider, organization, person)
        (kept,) = provider.factors(organization, person).passkeys
        assert (kept.name, kept.created, kept.used) == ("Telephone", self.now, None)
        for minutes in (1, 2):
            now = self.now + timedelta(minutes=minutes)
            options = provider.begin_passkey_sign_in(self.site, now)
            owner = provider.check_passkey(device.answer(options), challenge_of(options), self.site, now)
            assert (owner.organization, owner.person, owner.name) == (organization, person, "Telephone")
            assert provider.factors(organization, person).passkeys[0].used == now
        provider.rename_passkey(organization, person, kept.id, "Key\n ring")
        assert provider.factors(organization, person).passkeys[0].name == "Key ring"
        assert not provider.drop_passkey(organization, new_id(), kept.id)
        assert provider.drop_passkey(organization, person, kept.id)
        assert not provider.drop_passkey(organization, person, kept.id)
        options = provider.begin_passkey_sign_in(self.site, self.now)
        with pytest.raises(BadFactor):
            provider.check_passkey(device.answer(options), challenge_of(options), self.site, self.now)

    def test_a_challenge_works_once_and_for_five_minutes(self, provider: Any) -> None:
        """And only for what it was made for, by this server."""
        organization, person = new_id(), new_id()
        device = self.with_passkey(provider, organization, person)
        options = provider.begin_passkey_sign_in(self.site, self.now)
        answer = device.answer(options)
        provider.check_passkey(answer, challenge_of(options), self.site, self.now)
        with pytest.raises(BadFactor):
            provider.check_passkey(device.answer(options), challenge_of(options), self.site, self.now)
        late = self.now + timedelta(minutes=5)
        options = provider.begin_passkey_sign_in(self.site, self.now)
        with pytest.raises(BadFactor):
            provider.check_passkey(device.answer(options), challenge_of(options), self.site, late)
        other = provider.begin_passkey_sign_in(self.site, self.now)
        with pytest.raises(BadFactor):
            provider.check_passkey(device.answer(options), challenge_of(other), self.site, self.now)
        for_making = challenge_of(provider.begin_passkey(organization, person, "bo@harbor.example", "Bo", self.site, self.now))
        for challenge in (for_making, "", "AAAA", challenge_of(options)[:-4] + "AAAA", "\u2603"):
            with pytest.raises(BadFactor):
                provider.check_passkey(device.answer(options), challenge, self.site, self.now)

    def test_a_passkey_is_refused_unless_all_of_it_is_right(self, provider: Any) -> None:
        """Unlocked by its owner, from the very origin, with a counter that rises; whatever else a browser sends."""
        organization, person = new_id(), new_id()
        device = self.with_passkey(provider, organization, person)

        def refused(answer: str, options: str, site: Site = self.site) -> None:
            with pytest.raises(BadFactor):
                provider.check_passkey(answer, challenge_of(options), site, self.now)

        def fresh() -> str:
            return str(provider.begin_passkey_sign_in(self.site, self.now))

        device.verified = False
        refused(device.answer(options := fresh()), options)
        device.verified, device.origin = True, "https://memory.example.evil"
        refused(device.answer(options := fresh()), options)
        device.origin = "https://memory.example:8443"
        refused(device.answer(options := fresh()), options)
        device.origin = self.site.origin
        refused(device.answer(options := fresh()), options, Site("example", self.site.origin))
        stranger = Authenticator(self.site.origin)
        stranger.user, stranger.id = device.user, device.id
        refused(stranger.answer(options := fresh()), options)
        provider.check_passkey(device.answer(options := fresh()), challenge_of(options), self.site, self.now)
        device.count -= 1
        refused(device.answer(options := fresh()), options)
        for nonsense in ("", "null", "[]", "{}", '{"response": {}}', '{"response": {"userHandle": "AAAA"}}', "[" * 5000, "x" * 20_000):
            refused(nonsense, fresh())
        another = Authenticator(self.site.origin)
        another.verified = False
        making = provider.begin_passkey(organization, person, "bo@harbor.example", "Bo", self.site, self.now)
        with pytest.raises(BadFactor):
            provider.add_passkey(organization, person, "x", another.make(making), challenge_of(making), self.site, self.now)
        assert len(provider.factors(organization, person).passkeys) == 1

    def test_factors_are_of_one_person_and_can_all_be_dropped(self, provider: Any) -> None:
        """With the recovery codes."""
        organization, person, other = new_id(), new_id(), new_id()
        self.enrolled(provider, organization, person)
        device = self.with_passkey(provider, organization, person)
        provider.new_recovery_codes(organization, person)
        self.enrolled(provider, organization, other)
        provider.turn_codes_off(organization, person)
        assert provider.factors(organization, person).recovery_codes == 10, "the passkey is left"
        provider.drop_factors(organization, person)
        assert provider.factors(organization, person) == Factors()
        options = provider.begin_passkey_sign_in(self.site, self.now)
        with pytest.raises(BadFactor):
            provider.check_passkey(device.answer(options), challenge_of(options), self.site, self.now)
        assert provider.factors(organization, other).codes
