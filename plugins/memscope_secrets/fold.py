"""A text made plain for matching, every character still knowing where it came from.

Look-alike forms (full-width letters, digits of other scripts, no-break spaces, typographic dashes and quotes) become
their plain ones, and characters that nobody sees are dropped, so that a key with a zero-width space inside is a key.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

_QUOTES = {"‘": "'", "’": "'", "‚": "'", "‛": "'", "′": "'", "“": '"', "”": '"', "„": '"', "‟": '"', "″": '"'}
_SEEN_MARKS = {
    "\N{COMBINING GRAPHEME JOINER}",
    "\N{HANGUL FILLER}",
    "\N{HALFWIDTH HANGUL FILLER}",
    "\N{HANGUL CHOSEONG FILLER}",
    "\N{HANGUL JUNGSEONG FILLER}",
    "\N{KHMER VOWEL INHERENT AQ}",
    "\N{KHMER VOWEL INHERENT AA}",
}


@lru_cache(maxsize=4096)
def _plain_form(char: str) -> str:
    """The one character that this one stands for, or nothing when it cannot be seen."""
    if char in "\n\t":
        return char
    if char in _QUOTES:
        return _QUOTES[char]
    category = unicodedata.category(char)
    if category == "Cf" or char in _SEEN_MARKS or "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef":
        return ""
    if category == "Zs":
        return " "
    if category in ("Zl", "Zp", "Cc"):
        return "\n" if char in "\r\v\f\x85\u2028\u2029" else " "
    if category == "Pd" or char == "\N{MINUS SIGN}":
        return "-"
    if category == "Nd":
        return str(unicodedata.digit(char))
    normal = unicodedata.normalize("NFKC", char)
    return normal if len(normal) == 1 else char


@lru_cache(maxsize=4096)
def _bare_form(char: str) -> str:
    """Lower case; Latin, Greek and Arabic letters without their marks. Always one character."""
    lower = char.lower()
    base = unicodedata.normalize("NFD", lower)[0]
    if base != lower and not (base < "\u0370" or "\u0370" <= base <= "\u03ff" or "\u0620" <= base <= "\u06ff"):
        base = lower if len(lower) == 1 else char
    return {"ı": "i", "ł": "l", "ø": "o", "đ": "d", "ς": "σ", "ى": "ي", "ی": "ي", "ک": "ك", "ة": "ه", "ß": "s"}.get(base, base)


def bare(text: str) -> str:
    """`text` in the form in which words are compared: plain, lower case, without marks; as many characters as the plain text has."""
    plain = text if text.isascii() else "".join(map(_plain_form, text))
    return plain.lower() if plain.isascii() else "".join(map(_bare_form, plain))


@dataclass(frozen=True, slots=True)
class Folded:
    """A text in two forms of equal length, and where their characters lie in the original."""

    plain: str
    """Look-alikes folded, invisible characters dropped; case and accents as they were."""
    bare: str
    """The same in lower case without accents: what cue words are compared with."""
    origin: Sequence[int] | None
    """Index in the original of each character; None when nothing was dropped."""

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The half-open range in the original text that a non-empty range here came from."""
        return (start, end) if self.origin is None else (self.origin[start], self.origin[end - 1] + 1)


def fold(text: str) -> Folded:
    """Both forms of `text`."""
    if text.isascii() and "\r" not in text:
        return Folded(text, text.lower(), None)
    forms = [_plain_form(char) for char in text]
    plain = "".join(forms)
    origin = None if len(plain) == len(text) else [index for index, form in enumerate(forms) if form]
    return Folded(plain, bare(plain), origin)
