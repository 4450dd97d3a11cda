"""Texts made to hide a secret, to give one away, or to take time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memscope_secrets import memscope_detect_secrets
from memscope_secrets.fold import bare, fold

HIDDEN = [
    ("github_token", "鍵はghp_FAKEexample0FAKEexample0FAKEexample0です", "ghp_FAKEexample0FAKEexample0FAKEexample0"),
    ("github_token", "토큰ghp_FAKEexample0FAKEexample0FAKEexample0을 폐기", "ghp_FAKEexample0FAKEexample0FAKEexample0"),
    ("aws_access_key", "旧アクセスキーAKIAIOSFODNN7EXAMPLEは無効化予定", "AKIAIOSFODNN7EXAMPLE"),
    ("github_token", "ghp_FAKE\u200bexample0FAKEexample0\u2060FAKEexample0 here", "ghp_FAKE\u200bexample0FAKEexample0\u2060FAKEexample0"),
    ("google_api_key", "ＡＩｚａFAKEfake0123456789abcdefghijklmnop", "ＡＩｚａFAKEfake0123456789abcdefghijklmnop"),
    ("credit_card", "Karte ５１０５ １０５１ ０５１０ ５１００ bitte", "５１０５ １０５１ ０５１０ ５１００"),
    ("credit_card", "card 4111\u00a01111\u00a01111\u00a01111 on file", "4111\u00a01111\u00a01111\u00a01111"),
    ("credit_card", "bezahlt mit 4111\u20111111\u20111111\u20111111, Karte gesperrt", "4111\u20111111\u20111111\u20111111"),
    ("iban", "auf DE89\u202f3704\u202f0044\u202f0532\u202f0130\u202f00 bitte", "DE89\u202f3704\u202f0044\u202f0532\u202f0130\u202f00"),
    ("national_id", "आधार २३४१ २३४१ २३४६", "२३४१ २३४१ २३४६"),
    ("date_of_birth", "تاريخ الميلاد ١٢/٠٣/١٩٨٨", "١٢/٠٣/١٩٨٨"),
    ("password", "pass\u00adword: Kastanie-FAKE-77", "Kastanie-FAKE-77"),
    ("password", "ＰＡＳＳＷＯＲＤ：Kastanie-FAKE-77", "Kastanie-FAKE-77"),
]


@pytest.mark.parametrize(("type_", "text", "value"), HIDDEN)
def test_unicode_hides_nothing(type_: str, text: str, value: str) -> None:
    """Glued to other scripts, full-width, broken by invisible characters or odd spaces: found, at the place in the original."""
    assert value in [text[finding.start : finding.end] for finding in memscope_detect_secrets(text) if finding.type == type_]


_SECRETS = (
    "ghp_FAKEexample0FAKEexample0FAKEexample0",
    "postgres://rota_ro:FAKEpass99@db4.example:5432/rota",
    "password Kastanie-FAKE-77!",
    "https://hooks.slack.com/services/T00FAKE00/B00FAKE00/FAKEexample0",
    "DE89 3704 0044 0532 0130 00",
    "4111 1111 1111 1111",
    "jo.hart@example.org",
    "Authorization: Basic RkFLRTpFWEFNUExF",
    "SSN 219-09-9999",
    "api_key=fake0example1fake0example1fake0e",
    "-----BEGIN PRIVATE KEY-----\nFAKEFAKEEXAMPLEKEYMATERIAL0\n-----END PRIVATE KEY-----",
    "Udo hat Krebs und 52.300 EUR Gehalt",
)
_PIECES = st.one_of(st.sampled_from(_SECRETS), st.text(max_size=12), st.from_regex(r"[a-z0-9_=:/@. -]{0,12}", fullmatch=True))


@given(st.lists(_PIECES, max_size=8).map(" ".join))
def test_evidence_gives_nothing_away(text: str) -> None:
    """At most 16 characters are shown, fewer than 8 in a row of the secret, and none at all of a password."""
    for finding in memscope_detect_secrets(text):
        assert 0 <= finding.start < finding.end <= len(text)
        assert 0 < finding.confidence <= 1
        assert 0 < len(finding.masked) <= 16
        span = text[finding.start : finding.end]
        assert not any(finding.masked[at : at + 8] in span for at in range(len(finding.masked) - 7))
        if finding.type in ("password", "basic_auth", "connection_string", "webhook_url", "health", "salary"):
            assert set(finding.masked) == {"•"}


@given(st.text(max_size=200))
def test_folding_keeps_the_places(text: str) -> None:
    """Both forms have one length, and every character of theirs comes from its place in the original."""
    folded = fold(text)
    assert len(folded.plain) == len(folded.bare) == (len(text) if folded.origin is None else len(folded.origin))
    assert bare(folded.plain) == folded.bare
    for index in range(len(folded.plain)):
        start, end = folded.span(index, index + 1)
        assert end == start + 1 <= len(text)


@given(st.lists(_PIECES, max_size=6).map("\n".join))
def test_findings_do_not_overlap(text: str) -> None:
    """Two findings never share a place, so that masking them one after the other is safe."""
    findings = memscope_detect_secrets(text)
    assert all(first.end <= second.start for first, second in zip(findings, findings[1:], strict=False))


NASTY = [
    "a",
    "0",
    "1 ",
    "12-",
    "password:",
    'password="a',
    "pass=",
    "key-",
    "token ",
    "sk-",
    "eyJa.",
    "://",
    "http://a:",
    "postgres://a:b@",
    "aa://?&",
    "a@b.",
    "-----BEGIN PRIVATE KEY-----\n",
    "DE89 ",
    "+49 ",
    "+1(",
    "(",
    "uid=a;b=",
    "Main Street ",
    "12 rue de la ",
    "1 Aaa Bbb Ccc, ",
    "中路",
    "शारع",
    "شارع ",
    "密码",
    "パスワード:",
    "가나로 1 ",
    "salary 100k ",
    "diabetes ",
    "He has cancer. ",
    "born 1.1.",
    "4111 1111 1111 1111 ",
    "\u200b",
    "a\u200b",
    "０",
    "ß",
    "\n",
    "sv=2020-01-01&",
    "AKIA1234567890123456 ",
    "No. 1 Mah. ",
]


@pytest.mark.parametrize("piece", NASTY)
def test_long_repetition_comes_to_an_end(piece: str) -> None:
    """Eight thousand characters of what makes a careless expression try everything: it is read through, with findings in range."""
    text = (piece * 8000)[:8000]
    assert all(finding.end <= len(text) for finding in memscope_detect_secrets(text))


def test_a_secret_among_many_decoys_is_found() -> None:
    """No count of cue words makes the search give up."""
    text = "password: <x> " * 300 + "password: Kastanie-FAKE-77 " + "api_key=${KEY} " * 100
    assert "Kastanie-FAKE-77" in [text[finding.start : finding.end] for finding in memscope_detect_secrets(text)]
