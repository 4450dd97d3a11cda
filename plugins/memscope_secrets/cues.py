"""Cue words: what stands near a secret and tells what it is, in many languages, from `cues.json`.

A word of the table stands for itself between word boundaries; `*` at its end lets any ending follow (`gehalt*`), `*` at its
front lets it close a compound (`*gehalt`). Words of scripts that put no spaces between words, or that glue particles to
them, match anywhere. Words in Latin letters count only in texts that may be in their language (`hasta` is ill in Turkish and
until in Spanish); which these are, the function words in the text tell. English counts everywhere.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from .fold import bare

_GLUED = re.compile("[\u0590-\u08ff\u0900-\u0dff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_LETTERS = "a-z\u00df-\u024f\u0370-\u052f\u0590-\u06ff\u1e00-\u1fff"
"""Letters, in bare form, of the scripts that put spaces between words."""
_WORD = re.compile(f"[{_LETTERS}]+")
_GOES_ON = frozenset(re.findall(f"[0-9{_LETTERS}]", "".join(map(chr, range(0x2000)))))
"""Characters that make a word another word when they follow it."""
_SHORT = re.compile("[\u0590-\u06ff]{1,3}")
"""Words of scripts that glue articles and prepositions to a word, too short to be looked for inside of others."""
_FUNCTION, _NOISE = "function", "noise"
"""Kinds with a use of their own: words that tell the language, and phrases in which a cue word is none (`password manager`)."""
_Meaning = tuple[str, str]
"""Kind and language of a word; the language is empty where the script tells it well enough."""


@dataclass(frozen=True, slots=True)
class Cues:
    """The cue words of one text: for each kind their ranges, in the order of their starts."""

    ranges: dict[str, list[tuple[int, int]]] = field(default_factory=dict)

    def of(self, kind: str) -> list[tuple[int, int]]:
        """All of a kind."""
        return self.ranges.get(kind, [])

    def between(self, kind: str, start: int, end: int) -> list[tuple[int, int]]:
        """Those of a kind that begin in `start <= position < end`."""
        found = self.of(kind)
        return found[bisect_left(found, (start, 0)) : bisect_left(found, (end, 0))]


_Meanings = frozenset[_Meaning]
_NOTHING: _Meanings = frozenset()


@dataclass(slots=True)
class _Node:
    """A place in the trie of words: how they go on, and what ends here."""

    after: dict[str, _Node] = field(default_factory=dict)
    whole: _Meanings = _NOTHING
    """Meanings when the word ends here; when the table is complete, those of `open` too."""
    open: _Meanings = _NOTHING
    """Meanings whatever letter follows; when the table is complete, those of shorter stems too."""

    def add(self, word: Iterable[str], meaning: _Meanings, *, open_end: bool) -> None:
        """Enter a word below this node."""
        node = self
        for char in word:
            node = node.after.setdefault(char, _Node())
        if open_end:
            node.open |= meaning
        else:
            node.whole |= meaning

    def complete(self, stems: _Meanings = _NOTHING) -> None:
        """Hand what stems mean down to the words that begin with them."""
        if self.open or self.whole:
            self.open |= stems
            self.whole |= self.open
            stems = self.open
        for node in self.after.values():
            node.complete(stems)


def _longest(text: str, start: int, node: _Node) -> tuple[int, _Meanings]:
    """End of the longest word of the trie that begins at `start`, and its meanings; a run of white space passes for one space."""
    position, end, meanings, size = start, start, _NOTHING, len(text)
    while True:
        if node.whole:
            here = node.open if position < size and text[position] in _GOES_ON else node.whole
            if here:
                end, meanings = position, here
        if position == size:
            return end, meanings
        char = text[position]
        if char in " \n\t":
            char = " "
            while text[position + 1 : position + 2] in (" ", "\n", "\t"):
                position += 1
        following = node.after.get(char)
        if following is None:
            return end, meanings
        node = following
        position += 1


def _ending(word: str, node: _Node) -> tuple[int, _Meanings]:
    """Length of the longest ending of `word` that the trie of reversed words knows, and its meanings."""
    length, meanings = 0, _NOTHING
    for count, char in enumerate(reversed(word), 1):
        following = node.after.get(char)
        if following is None:
            break
        node = following
        if node.whole:
            length, meanings = count, node.whole
    return length, meanings


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The table of cue words, ready to be looked for."""

    words: _Node
    """Words that begin where a word begins."""
    endings: _Node
    """Words that may close a compound, reversed."""
    glued: _Node
    """Words that begin anywhere."""

    def find(self, text: str) -> Cues:
        """The cues of a text in bare form (see `fold.bare`)."""
        hits = []
        for match in _WORD.finditer(text):
            start, stop = match.span()
            if start and text[start - 1].isdigit():
                continue  # The letters of a post code or a part number.
            end, meanings = _longest(text, start, self.words)
            if meanings:
                hits.append((start, end, meanings))
            length, meanings = _ending(match.group(), self.endings)
            if meanings:
                hits.append((stop - length, stop, meanings))
        if not text.isascii():
            for match in _GLUED.finditer(text):
                end, meanings = _longest(text, match.start(), self.glued)
                if meanings:
                    hits.append((match.start(), end, meanings))
        spoken = Counter(language for _, _, meanings in hits for kind, language in meanings if kind == _FUNCTION)
        most = max(spoken.values(), default=0)
        possible = {language for language, count in spoken.items() if 2 * count >= most} | {"", "en"}
        ranges: dict[str, set[tuple[int, int]]] = {}
        for start, end, meanings in hits:
            meant = {kind for kind, language in meanings if most < 2 or language in possible}
            for kind in () if _NOISE in meant else meant:
                ranges.setdefault(kind, set()).add((start, end))
        return Cues({kind: sorted(found) for kind, found in ranges.items()})


@cache
def lexicon() -> Lexicon:
    """The table of `cues.json`, read once a process."""
    table: dict[str, dict[str, list[str]]] = json.loads((Path(__file__).parent / "cues.json").read_text("utf-8"))
    words, endings, glued = _Node(), _Node(), _Node()
    for kind, languages in table.items():
        for language, entries in languages.items():
            for entry in entries:
                word = bare(entry.strip("*"))
                meaning = frozenset({(kind, language if re.search("[a-z]", word) else "")})
                if entry.startswith("*"):
                    endings.add(reversed(word), meaning, open_end=False)
                elif _GLUED.search(word[:1]) and not _SHORT.fullmatch(word):
                    glued.add(word, meaning, open_end=True)
                else:
                    words.add(word, meaning, open_end=entry.endswith("*") or bool(_GLUED.search(word) and not _SHORT.fullmatch(word)))
    for node in (words, endings, glued):
        node.complete()
    return Lexicon(words, endings, glued)
