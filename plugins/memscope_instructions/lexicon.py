"""Concepts that steering an AI is made of, as words and phrases of many languages (`concepts_*.txt`).

A concept means the same in every language, so what is learnt of a pair of concepts in one language holds in the others.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_TOKEN = re.compile(r"[^\W_]+(?:[\u0900-\u0dff\u0e31-\u0e4e\u200c]+[^\W_]*)*")
_MARKS = re.compile("[\u0300-\u036f\u064b-\u065f\u0670\u0640\u0591-\u05c7\u200c\u200d]")
_UNSPACED = re.compile("[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]")
_LETTERS = str.maketrans(
    {
        "ø": "o",
        "ł": "l",
        "đ": "d",
        "ı": "i",
        "æ": "ae",
        "œ": "oe",
        "ß": "ss",
        "ك": "ک",
        "ي": "ی",
        "ى": "ی",
        "أ": "ا",
        "إ": "ا",
        "آ": "ا",
        "ة": "ه",
    }
)
_PREFIXES = ("وال", "بال", "لل", "ال", "و", "ب", "ل", "ف", "س", "ו", "ה", "ל", "ב", "ש", "כ", "מ")
# Scripts whose languages are few enough to try all of them; of the many in Latin letters the likeliest are tried.
_LATIN_CHOICES = 2
_LONGEST_PREFIX = 20


def fold(word: str) -> str:
    """A word without case, accents and the like, as the lexicon has it."""
    if word > "\u2e80" and len(word) == 1:
        return word
    word = word.casefold()
    if not word.isascii():
        word = _MARKS.sub("", unicodedata.normalize("NFD", word.translate(_LETTERS)))
        word = unicodedata.normalize("NFC", word)
    return word


def tokens(text: str) -> list[tuple[str, int, int]]:
    """The folded words of a text and where they stand. Characters of scripts without spaces are words of their own."""
    found: list[tuple[str, int, int]] = []
    for match in _TOKEN.finditer(text):
        word = match.group()
        if _UNSPACED.search(word):
            found += [(fold(c), match.start() + n, match.start() + n + 1) for n, c in enumerate(word)]
        else:
            found.append((fold(word), *match.span()))
    return found


@dataclass(frozen=True, slots=True)
class Hit:
    """A concept in a text: its number and its words (half-open, numbers of tokens)."""

    concept: int
    first: int
    end: int


@dataclass(frozen=True, slots=True)
class _Phrase:
    concept: int
    language: str
    words: tuple[tuple[str, bool], ...]


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The compiled concepts."""

    names: tuple[str, ...]
    exact: dict[str, list[_Phrase]]
    prefix: dict[str, list[_Phrase]]
    stop: dict[str, frozenset[str]]
    """Of each language in Latin letters: its most frequent words."""

    def hits(self, words: list[tuple[str, int, int]]) -> list[Hit]:
        """The concepts of a text in the order of their words; each place counts once for a concept."""
        languages = self.languages(words)
        plain = [word for word, _, _ in words]
        found: set[tuple[int, int, int]] = set()
        for place, word in enumerate(plain):
            forms = (
                (word, *(word[len(p) :] for p in _PREFIXES if word.startswith(p) and len(word) > len(p) + 1))
                if word[:1] > "\u0580"
                else (word,)
            )
            for form in forms:
                phrases = self.exact.get(form, ())
                for length in range(2, min(len(form), _LONGEST_PREFIX) + 1):
                    more = self.prefix.get(form[:length])
                    if more:
                        phrases = [*phrases, *more]
                for phrase in phrases:
                    if phrase.language in languages and _follows(phrase.words, plain, place):
                        found.add((place, place + len(phrase.words), phrase.concept))
        return [Hit(concept, first, end) for first, end, concept in sorted(found)]

    def languages(self, words: list[tuple[str, int, int]]) -> frozenset[str]:
        """English, every language not in Latin letters, and of the others the likeliest by their frequent words, all without any."""
        plain = Counter(word for word, _, _ in words)
        counts = {language: sum(plain[word] for word in frequent & plain.keys()) for language, frequent in self.stop.items()}
        likely = sorted(counts, key=lambda language: -counts[language])[:_LATIN_CHOICES]
        if not counts[likely[0]]:
            return frozenset(("", *counts))
        return frozenset(("", "en", *(language for language in likely if counts[language])))


def _follows(words: tuple[tuple[str, bool], ...], plain: list[str], place: int) -> bool:
    if place + len(words) > len(plain):
        return False
    for n in range(1, len(words)):
        word, open_end = words[n]
        there = plain[place + n]
        if there != word and not (open_end and there.startswith(word)):
            return False
    return True


@cache
def lexicon() -> Lexicon:
    """The lexicon of this package, read once."""
    names: list[str] = []
    exact: dict[str, list[_Phrase]] = {}
    prefix: dict[str, list[_Phrase]] = {}
    stop: dict[str, frozenset[str]] = {}
    language = ""
    for file in sorted(Path(__file__).parent.glob("concepts_*.txt")):
        for line in file.read_text("utf-8").splitlines():
            if line.startswith("@"):
                language = line[1:].strip()
            elif ":" in line:
                name, _, entries = line.partition(":")
                if name == "STOP":
                    stop[language] = frozenset(fold(word.strip()) for word in entries.split("|"))
                    continue
                if name not in names:
                    names.append(name)
                for entry in entries.split("|"):
                    open_end = entry.rstrip().endswith("*")
                    words = [word for word, _, _ in tokens(entry)]
                    if not words or (open_end and len(words) == 1 and len(words[0]) < 2):
                        continue
                    latin = language in stop
                    phrase = _Phrase(
                        names.index(name),
                        language if latin else "",
                        tuple((w, open_end and n == len(words) - 1) for n, w in enumerate(words)),
                    )
                    table = prefix if len(words) == 1 and open_end else exact
                    table.setdefault(words[0], []).append(phrase)
    return Lexicon(tuple(names), exact, prefix, stop)
