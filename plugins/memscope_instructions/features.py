"""A text as numbers: hashed n-grams of characters and words, and pairs of concepts. numpy only; training uses the same."""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from memscope_instructions.lexicon import Hit, lexicon
from memscope_instructions.rules import FAMILIES, Firing, families, shapes

if TYPE_CHECKING:
    from numpy.typing import NDArray

CHAR_BITS = 18
WORD_BITS = 16
WINDOW = 7
"""Two concepts within so many words of each other are near."""
NEIGHBOURS = 24
"""So many concepts after one are looked at."""
_MULTIPLIERS = np.array(
    [0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93, 0xA0761D6478BD642F], dtype=np.uint64
)
_MIX = np.uint64(0xFF51AFD7ED558CCD)
_SHIFT = np.uint64(32)
_SPACE = re.compile(r"\s+")
_DIGITS = re.compile(r"\d")
_BREAK = re.compile(
    r"(?<=[.!?;\u0964\u06d4\u061f])[\"'\u00bb\u201d)\]]*\s+|(?<=[\u3002\uff01\uff1f])|\n\s*|(?=<!--)|(?<=-->)|\s+(?=[-*\u2022]\s)"
)


@dataclass(frozen=True, slots=True)
class Grams:
    """Places in the two hashed tables and how often each occurred."""

    chars: NDArray[np.int64]
    char_counts: NDArray[np.float32]
    words: NDArray[np.int64]
    word_counts: NDArray[np.float32]


def _unique(values: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    places, counts = np.unique(values, return_counts=True)
    return places, (1 + np.log(counts)).astype(np.float32)


def grams(text: str, words: list[tuple[str, int, int]]) -> Grams:
    """Character n-grams 2 to 5 and words 1 to 2 (`words`: the text's), without case, every digit as 0, all white space as one blank."""
    plain = " " + _DIGITS.sub("0", _SPACE.sub(" ", text.casefold()).strip()) + " "
    codes = np.frombuffer(plain.encode("utf-32-le", "surrogatepass"), dtype=np.uint32).astype(np.uint64)
    places: list[NDArray[np.int64]] = []
    with np.errstate(over="ignore"):
        total = codes * _MULTIPLIERS[0]
        for length in range(2, 6):
            if len(codes) < length:
                break
            total = total[:-1] + codes[length - 1 :] * _MULTIPLIERS[length - 1]
            mixed = (total ^ (total >> _SHIFT)) * _MIX
            places.append((mixed >> np.uint64(64 - CHAR_BITS)).astype(np.int64))
    singles = np.array([zlib.crc32(_DIGITS.sub("0", word).encode("utf-8", "surrogatepass")) for word, _, _ in words], dtype=np.uint64)
    with np.errstate(over="ignore"):
        pairs = singles[:-1] * _MULTIPLIERS[0] + singles[1:] * _MULTIPLIERS[1]
        both = np.concatenate((singles * _MULTIPLIERS[2], pairs))
        hashed = (((both ^ (both >> _SHIFT)) * _MIX) >> np.uint64(64 - WORD_BITS)).astype(np.int64)
    return Grams(*_unique(np.concatenate(places) if places else np.zeros(0, np.int64)), *_unique(hashed))


def sentences(text: str) -> list[tuple[int, int]]:
    """The sentences and lines of a text as half-open ranges; very short ones go with the next."""
    cuts = [0, *(match.end() for match in _BREAK.finditer(text)), len(text)]
    out: list[tuple[int, int]] = []
    start = 0
    for end in cuts[1:]:
        if end - start >= 12 or end == len(text):
            if text[start:end].strip():
                out.append((start, end))
            start = end
    return out


@dataclass(frozen=True, slots=True)
class Content:
    """What a text holds beside its letters."""

    places: NDArray[np.int64]
    """In the concept table: concepts, two in a sentence, one soon after another, families, families of a text that reports."""
    firings: tuple[Firing, ...]


def content(text: str, words: list[tuple[str, int, int]], hits: list[Hit], ranges: list[tuple[int, int]]) -> Content:
    """Find the families of a text with these words and concepts whose sentences are `ranges`, and all places in the table."""
    count = len(lexicon().names)
    places: set[int] = set()
    firings = shapes(text)
    position = 0
    reports = False
    sentence = np.full(len(hits), -1)
    for number, (_, end) in enumerate(ranges):
        first = position
        while position < len(hits) and words[hits[position].first][1] < end:
            position += 1
        sentence[first:position] = number
        inside = hits[first:position]
        present = sorted({hit.concept for hit in inside})
        reports = reports or lexicon().names.index("REPORT") in present
        places.update(present)
        for n, concept in enumerate(present):
            places.update(count + concept * count + other for other in present[n + 1 :])
        firings += families(inside, words)
    concepts = np.array([hit.concept for hit in hits], dtype=np.int64)
    firsts, ends = np.array([hit.first for hit in hits], dtype=np.int64), np.array([hit.end for hit in hits], dtype=np.int64)
    for step in range(1, min(NEIGHBOURS, len(hits))):
        gap = firsts[step:] - ends[:-step]
        near = (gap >= 0) & (gap < WINDOW) & (concepts[step:] != concepts[:-step]) & (sentence[step:] == sentence[:-step])
        places.update(np.unique(count + count * count + concepts[:-step][near] * count + concepts[step:][near]).tolist())
    base = count + 2 * count * count
    for firing in firings:
        number = FAMILIES.index(firing.family)
        places.add(base + number)
        if reports:
            places.add(base + len(FAMILIES) + number)
    return Content(np.array(sorted(places), dtype=np.int64), tuple(firings))


def concept_size() -> int:
    """The length of the concept table."""
    count = len(lexicon().names)
    return count + 2 * count * count + 2 * len(FAMILIES)
