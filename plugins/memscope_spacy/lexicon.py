"""Which concepts (pay, dismissal, secrecy, ...) a text names, by curated words and phrases in some thirty languages."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from memscope_spacy.words import Word, is_unspaced, words

_LONGEST_UNSPACED = 10
_SHORTEST_STEM = 2
_ARABIC_PREFIXES = ("وال", "بال", "لل", "ال", "و", "ب", "ل", "ف", "ك", "س", "ي", "ت", "ن")
_HEBREW_PREFIXES = ("וה", "שה", "ה", "ב", "ל", "מ", "ש", "ו", "כ")


@dataclass(frozen=True, slots=True)
class Hit:
    """A concept named in the text, and where (original offsets)."""

    concept: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Phrase:
    parts: tuple[tuple[str, bool], ...]
    """Folded words; True where any ending is welcome."""
    concepts: tuple[str, ...]


class Lexicon:
    """Phrases by their first word, stems by their letters, and unspaced strings; looked up in time linear in the text."""

    def __init__(self, concepts: dict[str, list[str]]) -> None:
        self.concepts = tuple(sorted(concepts))
        singles: dict[str, set[str]] = {}
        stems: dict[str, set[str]] = {}
        unspaced: dict[str, set[str]] = {}
        phrases: dict[tuple[tuple[str, bool], ...], set[str]] = {}
        for concept, entries in concepts.items():
            for entry in entries:
                parts = tuple(_parts(entry))
                joined = "".join(part for part, _ in parts)
                if not parts:
                    continue
                if any(is_unspaced(character) for character in joined):
                    unspaced.setdefault(joined, set()).add(concept)
                elif len(parts) > 1:
                    phrases.setdefault(parts, set()).add(concept)
                elif parts[0][1]:
                    stems.setdefault(joined, set()).add(concept)
                else:
                    singles.setdefault(joined, set()).add(concept)
        self._singles = {text: tuple(sorted(found)) for text, found in singles.items()}
        self._stems = {text: tuple(sorted(found)) for text, found in stems.items()}
        self._unspaced = {text: tuple(sorted(found)) for text, found in unspaced.items()}
        self._phrases: dict[str, list[_Phrase]] = {}
        self._phrase_stems: dict[str, list[_Phrase]] = {}
        for parts, found in phrases.items():
            first, open_end = parts[0]
            (self._phrase_stems if open_end else self._phrases).setdefault(first, []).append(_Phrase(parts, tuple(sorted(found))))

    def hits(self, text_words: Sequence[Word]) -> list[Hit]:
        """All hits in the words of a text, in their order."""
        found: list[Hit] = []
        for place, word in enumerate(text_words):
            if word.unspaced:
                found.extend(self._in_run(word))
                continue
            for form in _forms(word.text):
                for concept in self._singles.get(form, ()):
                    found.append(Hit(concept, word.start, word.end))
                for end in range(_SHORTEST_STEM, len(form) + 1):
                    for concept in self._stems.get(form[:end], ()):
                        found.append(Hit(concept, word.start, word.end))
                    for phrase in self._phrase_stems.get(form[:end], ()):
                        found.extend(_follow(phrase, text_words, place))
                for phrase in self._phrases.get(form, ()):
                    found.extend(_follow(phrase, text_words, place))
        return found

    def _in_run(self, word: Word) -> Iterator[Hit]:
        text = word.text
        exact = len(text) == word.end - word.start
        for start in range(len(text)):
            for end in range(start + 1, min(len(text), start + _LONGEST_UNSPACED) + 1):
                for concept in self._unspaced.get(text[start:end], ()):
                    yield Hit(concept, word.start + start, word.start + end) if exact else Hit(concept, word.start, word.end)


def _parts(entry: str) -> Iterator[tuple[str, bool]]:
    for piece in entry.split():
        open_end = piece.endswith("*")
        for word in words(piece.rstrip("*")):
            yield word.text, open_end


def _forms(text: str) -> Iterator[str]:
    yield text
    first = text[0]
    prefixes = _ARABIC_PREFIXES if "\u0600" <= first <= "\u06ff" else _HEBREW_PREFIXES if "\u0590" <= first <= "\u05ff" else ()
    for prefix in prefixes:
        if text.startswith(prefix) and len(text) - len(prefix) >= _SHORTEST_STEM:
            yield text[len(prefix) :]


def _follow(phrase: _Phrase, text_words: Sequence[Word], place: int) -> Iterator[Hit]:
    if place + len(phrase.parts) > len(text_words):
        return
    for offset, (part, open_end) in enumerate(phrase.parts[1:], start=1):
        text = text_words[place + offset].text
        if not (text.startswith(part) if open_end else text == part):
            return
    for concept in phrase.concepts:
        yield Hit(concept, text_words[place].start, text_words[place + len(phrase.parts) - 1].end)


@cache
def lexicon() -> Lexicon:
    """The lexicon that the package ships."""
    concepts: dict[str, list[str]] = json.loads((Path(__file__).parent / "lexicon.json").read_text(encoding="utf-8"))
    return Lexicon(concepts)
