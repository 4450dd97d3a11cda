"""Hosts, origins, bearer tokens, and mending of JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import Headers

from memscope.serving.gate import Hosts, bearer, mend, same
from memscope.settings import ServerSettings

HOSTS = Hosts(ServerSettings(host="0.0.0.0", public_url="https://memory.example.com", allowed_hosts=["Intern.example", "one.example:8443"]))


@pytest.mark.parametrize(
    "header",
    [
        "localhost",
        "LOCALHOST:8765",
        "127.0.0.1:1",
        "[::1]:8765",
        "[::1]",
        "memory.example.com",
        "memory.example.com:443",
        "intern.example:9",
        "one.example:8443",
    ],
)
def test_our_own_names_are_answered(header: str) -> None:
    assert HOSTS.host(header)


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "evil.example",
        "0.0.0.0",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "one.example",
        "one.example:1",
        "[",
        "a@b:c:d",
    ],
)
def test_other_names_are_not(header: str | None) -> None:
    assert not HOSTS.host(header)


def test_the_address_it_listens_on_is_its_name_too() -> None:
    assert Hosts(ServerSettings(host="192.0.2.7")).host("192.0.2.7:8765")
    assert not Hosts(ServerSettings()).host("192.0.2.7:8765")


@pytest.mark.parametrize("origin", [None, "http://localhost:6274", "https://memory.example.com"])
def test_our_own_pages_may_use_it(origin: str | None) -> None:
    assert HOSTS.origin(origin)


@pytest.mark.parametrize(
    "origin", ["", "null", "https://evil.example", "http://localhost.evil.example", "file://", "chrome-extension://localhost"]
)
def test_other_pages_may_not(origin: str) -> None:
    assert not HOSTS.origin(origin)


@pytest.mark.parametrize(
    ("header", "token"),
    [("Bearer abc", "abc"), ("bearer  abc ", "abc"), ("Basic abc", None), ("Bearer", None), ("Bearer ", None), ("", None)],
)
def test_bearer_tokens(header: str, token: str | None) -> None:
    assert bearer(Headers({"authorization": header})) == token


def test_an_endless_token_is_none() -> None:
    assert bearer(Headers({"authorization": "Bearer " + "x" * 9000})) is None


def test_tokens_are_compared_whole() -> None:
    assert same("ä", "ä")
    assert not same("a", "ab")
    assert not same(None, "a")


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (rb'"\ud800"', "\0"),
        (rb'"\uDC00x"', "\0x"),
        (rb'"\ud83d\ude00"', "😀"),
        (rb'"\ud83d\ud83d\ude00"', "\0😀"),
        (rb'"\\ud800"', "\\ud800"),
        (rb'"\\\ud800"', "\\\0"),
        (rb'"\ud83dx\ude00"', "\0x\0"),
    ],
)
def test_halves_of_surrogate_pairs_become_nul(body: bytes, text: str) -> None:
    assert json.loads(mend(body)) == text


@given(st.recursive(st.text() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=5))
def test_json_without_halves_stays_as_it_is(value: Any) -> None:
    for ascii_ in (True, False):
        body = json.dumps(value, ensure_ascii=ascii_).encode()
        assert mend(body) == body


@given(st.text(max_size=8).map(lambda text: text.replace("\0", "")), st.sampled_from(["\ud800", "\udfff"]))
def test_whatever_stands_around_a_half_is_kept(text: str, half: str) -> None:
    assert json.loads(mend(json.dumps(text + half + text).encode())) == text + "\0" + text
