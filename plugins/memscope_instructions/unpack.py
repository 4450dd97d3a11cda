"""Texts inside a text: comments, hidden elements, and what is encoded, reversed or shifted. Bounded in depth and work."""

from __future__ import annotations

import base64
import binascii
import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote_to_bytes

from memscope_instructions.normalise import View, normalise

DEPTH = 2
MOST_PARTS = 24
MOST_CHARACTERS = 16_000
"""Of all decoded parts of one text together."""

_HIDDEN = re.compile(
    r"<!--(?P<comment>.*?)(?:-->|$)"
    r"|^[ \t]*\[[^\]\n]{0,40}\]:[ ]*(?:#|<>|\S{1,40})[ ]*[\"'(](?P<reference>[^\n]{3,})[\"')]"
    r"|<(?P<tag>[a-z][a-z0-9]{0,9})\b(?P<attributes>[^<>]{0,300}?(?:display:\s*none|visibility:\s*hidden|opacity:\s*0(?![.\d]*[1-9])|font-size:\s*[01](?:px|pt|em)?\b"
    r"|color:\s*(?:white|#fff(?:fff)?|transparent)|\bhidden\b|aria-hidden|left:\s*-\d{3,})[^<>]{0,300})>(?P<element>.{3,2000}?)(?:</(?P=tag)>|$)"
    r"|/\*(?P<block>.{3,2000}?)\*/"
    r"|\b(?:alt|title|aria-label|content|data-[a-z-]{1,20})=(?P<quote>[\"'])(?P<attribute>[^\"'\n]{12,600})(?P=quote)"
    r"|^[ \t]*(?:#|//|--|;|%|REM\b)[ \t]*(?P<line>[^\n]{12,600})$",
    re.S | re.I | re.M,
)
_BASE64 = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{8,}(?:[\s\"'+]{1,4}[A-Za-z0-9+/_-]{12,}){0,40}={0,2}")
_HEX = re.compile(r"(?<![0-9A-Za-z])(?:(?:0x|\\x)?[0-9a-fA-F]{2}[\s:,]{0,2}){8,}(?![0-9A-Za-z])")
_BINARY = re.compile(r"(?:\b[01]{7,8}\b[\s,]{0,2}){4,}|\b(?:[01]{8}){4,}\b")
_DECIMAL = re.compile(r"(?:\b(?:3[2-9]|[4-9]\d|1[01]\d|12[0-6])\b[\s,;]{1,2}){7,}\d{2,3}\b")
_ESCAPED = re.compile(r"(?:%[0-9a-fA-F]{2}|&#x?[0-9a-fA-F]{1,6};|&[a-z]{2,6};|\\u\{?[0-9a-fA-F]{4,6}\}?|\\x[0-9a-fA-F]{2})")
_LINE = re.compile(r"[^\n]+")
_UNICODE = re.compile(r"\\u\{?([0-9a-fA-F]{4,6})\}?|\\x([0-9a-fA-F]{2})")
_MORSE = re.compile(r"(?<![.\-·−–])(?:[.\-·−–]{1,5}[ /|]{1,3}){9,}[.\-·−–]{1,5}")
_CHUNK = re.compile(r"[^\n.!?:>)(\u2192]{12,}")
_WORDS = re.compile(r"[^\W\d_]+")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_MORSE_LETTERS = dict(
    zip(
        [
            ".-",
            "-...",
            "-.-.",
            "-..",
            ".",
            "..-.",
            "--.",
            "....",
            "..",
            ".---",
            "-.-",
            ".-..",
            "--",
            "-.",
            "---",
            ".--.",
            "--.-",
            ".-.",
            "...",
            "-",
            "..-",
            "...-",
            ".--",
            "-..-",
            "-.--",
            "--..",
        ],
        _LETTERS,
        strict=True,
    )
)
_SHIFTS = {
    shift: str.maketrans(_LETTERS + _LETTERS.upper(), _LETTERS[shift:] + _LETTERS[:shift] + (_LETTERS[shift:] + _LETTERS[:shift]).upper())
    for shift in range(1, 26)
}
_ATBASH = str.maketrans(_LETTERS + _LETTERS.upper(), _LETTERS[::-1] + _LETTERS[::-1].upper())
_LEET = [str.maketrans("0134578@$!|9", f"o{one}eastbas{one}{one}g") for one in "il"]
_LEET_TOKEN = re.compile(
    r"(?<![\w@$])(?=[\w@$!|]{2,14}(?![\w@$]))[A-Za-z]*[0134579@$!|]+[A-Za-z][\w@$!|]*|(?<!\w)[A-Za-z]{1,9}[0134579@$!|]{1,2}[A-Za-z]*(?!\w)"
)
_COMMON = frozenset((Path(__file__).parent / "common_words.txt").read_text("utf-8").split())


@dataclass(frozen=True, slots=True)
class Part:
    """A text found inside the text that was handed in, and the range of code points there that it came from."""

    view: View
    kind: str
    """`hidden`, `invisible`, `encoded` or `reversed`."""
    start: int
    end: int
    decoded: bool
    """Whether its letters stand nowhere in the original as they are."""


def parts(view: View) -> list[Part]:
    """Every text inside a text, inner ones included, at most `MOST_PARTS` and `MOST_CHARACTERS` long together."""
    found: list[Part] = []
    left = MOST_CHARACTERS
    layer: list[tuple[View, tuple[int, int] | None]] = [(view, None)]
    for _ in range(DEPTH):
        inner: list[tuple[View, tuple[int, int] | None]] = []
        for outer, place in layer:
            turned = {(start, end) for kind, _, start, end in outer.payloads if kind == "reversed"}
            for kind, text, start, end in _inside(outer):
                left -= len(text)
                if left < 0 or len(found) >= MOST_PARTS:
                    return found
                in_original = kind == "invisible" or (start, end) in turned
                where = place or ((start, end) if in_original else outer.span(start, end))
                part = Part(normalise(text), kind, *where, kind != "hidden")
                found.append(part)
                inner.append((part.view, where))
        layer = inner
    return found


def _inside(view: View) -> Iterator[tuple[str, str, int, int]]:
    yield from view.payloads
    text = view.text
    for match in _HIDDEN.finditer(text):
        name = match.lastgroup or ""
        name = "element" if match.group("element") else "attribute" if match.group("attribute") else name
        inner = match.group(name)
        if inner and inner.strip():
            yield "hidden", inner, *match.span(name)
    for pattern, decode in _CODES:
        for match in pattern.finditer(text):
            for decoded in decode(match.group()):
                if decoded.strip() and decoded.strip() != match.group().strip():
                    yield "encoded", decoded, *match.span()
    yield from _turned(text)


def _readable(data: bytes) -> Iterator[str]:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return
    words = sum(c.isalpha() or c == " " for c in text) >= 0.75 * len(text) and (text.isprintable() or "\n" in text)
    if len(text) >= 6 and (words or (len(text) >= 24 and _BASE64.fullmatch(text))):
        yield text


def _base64(run: str) -> Iterator[str]:
    packed = re.sub(r"[^A-Za-z0-9+/_-]", "", run).replace("-", "+").replace("_", "/")
    if len(packed) < 16 or packed.islower() or (packed.isalpha() and sum(map(str.isupper, packed)) < 3):
        return
    try:
        yield from _readable(base64.b64decode(packed[: len(packed) - (len(packed) % 4 == 1)] + "=" * (-len(packed) % 4)))
    except (binascii.Error, ValueError):
        return


def _hex(run: str) -> Iterator[str]:
    digits = re.sub(r"0x|\\x|[^0-9a-fA-F]", "", run)
    yield from _readable(bytes.fromhex(digits[: len(digits) // 2 * 2]))


def _binary(run: str) -> Iterator[str]:
    groups = run.replace(",", " ").split()
    if len(groups) == 1:
        groups = [run[n : n + 8] for n in range(0, len(run) - 7, 8)]
    yield from _readable(bytes(int(group, 2) for group in groups))


def _decimal(run: str) -> Iterator[str]:
    yield from _readable(bytes(int(number) for number in re.findall(r"\d+", run) if int(number) < 256))


def _escaped(run: str) -> Iterator[str]:
    if len(_ESCAPED.findall(run)) < 3:
        return
    text = html.unescape(run)
    text = _UNICODE.sub(lambda m: chr(int(m.group(1) or m.group(2), 16)) if int(m.group(1) or m.group(2), 16) < 0x110000 else "", text)
    if "%" in text:
        text = unquote_to_bytes(text.encode("utf-8", "replace").replace(b"+", b" ")).decode("utf-8", "replace")
    if sum(c.isalpha() or c == " " for c in text) >= 0.7 * len(text) and len(text) >= 8:
        yield text


def _morse(run: str) -> Iterator[str]:
    plain = re.sub("[·]", ".", re.sub("[−–]", "-", run))
    words = [[_MORSE_LETTERS.get(code, "") for code in word.split()] for word in re.split(r"\s*[/|]\s*|\s{3,}", plain)]
    text = " ".join("".join(word) for word in words)
    if len(text) >= 8:
        yield text


_CODES = ((_BASE64, _base64), (_HEX, _hex), (_BINARY, _binary), (_DECIMAL, _decimal), (_LINE, _escaped), (_MORSE, _morse))


def _known(text: str) -> int:
    """Letters in common words, longer words counting more."""
    return sum(len(word) for word in _WORDS.findall(text) if len(word) > 1 and word in _COMMON)


def _turned(text: str) -> Iterator[tuple[str, str, int, int]]:
    """Stretches that say more when read backwards, with shifted letters or with letters for digits than as they stand."""
    if len(_LEET_TOKEN.findall(text)) >= 3:
        # a few such words are version numbers, units and names; a text written so has many, and they make sense
        plain = _known(text.lower())
        known, candidate = max((_known(candidate.lower()), candidate) for candidate in (text.translate(table) for table in _LEET))
        if known >= 1.5 * plain + 8 and known * 3 >= sum(map(len, _WORDS.findall(candidate))):
            yield "encoded", candidate, 0, len(text)
    for match in _CHUNK.finditer(text):
        chunk = match.group()
        lower = chunk.lower()
        letters = sum(len(word) for word in _WORDS.findall(lower))
        if letters < 12:
            continue
        plain = _known(lower)
        if plain * 3 > letters:
            continue
        best, how, turn = plain, "", ""
        backwards = chunk[::-1]
        candidates = [("reversed", backwards), ("encoded", chunk.translate(_SHIFTS[13]))]
        if plain * 6 < letters and len(chunk) <= 400 and re.search("[a-z]{3}", lower):
            candidates += [("encoded", chunk.translate(table)) for shift, table in _SHIFTS.items() if shift != 13]
            candidates += [("encoded", chunk.translate(_ATBASH)), ("reversed", backwards.translate(_SHIFTS[13]))]
            candidates += [("reversed", " ".join(word[::-1] for word in chunk.split(" ")))]
        for kind, candidate in candidates:
            known = _known(candidate.lower())
            if known > best:
                best, how, turn = known, kind, candidate
        if how and best * 3 >= letters and best >= 2 * plain + 6:
            yield how, turn, *match.span()
