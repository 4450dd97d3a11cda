"""Words of any language without case and accents, with the places they came from."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import cache

_LETTERS = {
    "ø": "o",
    "æ": "ae",
    "œ": "oe",
    "ł": "l",
    "đ": "d",
    "ð": "d",
    "þ": "th",
    "ı": "i",
    "ى": "ي",
    "ة": "ه",
    "ـ": "",
    "ך": "כ",
    "ם": "מ",
    "ן": "נ",
    "ף": "פ",
    "ץ": "צ",
}
_VIRAMA = 9
_UNSPACED = ("CJK UNIFIED", "HIRAGANA", "KATAKANA", "HANGUL", "THAI", "LAO", "KHMER", "MYANMAR")


@cache
def fold_character(character: str) -> str:
    """One character without case, width and accent; nothing for a mark that stands alone."""
    folded = []
    for part in unicodedata.normalize("NFKD", character.casefold()):
        combining = unicodedata.combining(part)
        if combining and combining != _VIRAMA:
            continue
        folded.append(_LETTERS.get(part, part))
    return unicodedata.normalize("NFC", "".join(folded)).casefold()


@cache
def is_unspaced(character: str) -> bool:
    """Whether the character's script writes words without blanks between them."""
    return character > "\u0e00" and unicodedata.name(character, "").startswith(_UNSPACED)


@cache
def is_word(character: str) -> bool:
    """Whether the character belongs to a word: letters, digits and the marks of Indic scripts."""
    return character.isalnum() or unicodedata.category(character) in ("Mn", "Mc")


@dataclass(frozen=True, slots=True)
class Word:
    """A folded word and the half-open range of the original text that it came from."""

    text: str
    start: int
    end: int
    unspaced: bool
    """A run of a script without blanks: it may hold several words."""


def words(text: str) -> list[Word]:
    """The words of a text in order; runs of scripts without blanks are one word each."""
    found: list[Word] = []
    begin = -1
    kind = False
    parts: list[str] = []
    for place, character in enumerate(text):
        if is_word(character):
            unspaced = is_unspaced(character)
            if begin >= 0 and unspaced != kind:
                found.append(Word("".join(parts), begin, place, kind))
                begin, parts = -1, []
            if begin < 0:
                begin, kind = place, unspaced
            parts.append(fold_character(character))
        elif begin >= 0 and not (character in "'\u2019\u02bc" and place + 1 < len(text) and is_word(text[place + 1])):
            found.append(Word("".join(parts), begin, place, kind))
            begin, parts = -1, []
        elif begin >= 0:
            parts.append("'")
    if begin >= 0:
        found.append(Word("".join(parts), begin, len(text), kind))
    return [word for word in found if word.text]
