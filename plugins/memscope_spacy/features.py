"""A text as numbers. Training and classifying use the same functions; at run time numpy does all the arithmetic."""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from memscope_spacy.lexicon import Hit, lexicon
from memscope_spacy.words import Word, words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

GRAM_BITS = 16
_GRAMS = range(3, 6)
_UNSPACED_GRAMS = range(1, 4)
_NUMBER = re.compile(r"\d[\d.,\u00a0 ]*")
_MASK = "\u2022\u2022\u2022\u2022"
_MONEY = re.compile(r"[€$£¥₹₩%]")
_RARE = 1e-3
_UPPER = "A-Z\u00c0-\u00d6\u00d8-\u00de\u0100\u0104\u0106\u010c\u010e\u0110\u0118\u011a\u0130\u0141\u0143\u0147\u0150\u0158\u015a\u015e\u0160\u0164\u016e\u0170\u0179\u017b\u017d\u0386-\u03ab\u0410-\u042f\u0404\u0406\u0407\u0490"
_NAME = rf"[{_UPPER}](?:[.]|[\w'\u2019-]*[^\W\d{_UPPER}_][\w'\u2019-]*)"
_CAPITALISED = re.compile(rf"(?<!\w){_NAME}(?: (?:(?:&|de|del|della|da|dos|di|du|la|le|van|von|der|den|of|and) )?{_NAME}|(?: \d+)(?!\w))*")
_FOREIGN = 5
_ENDS = ".!?:;\n\u2022-"
_NOUNS = re.compile(
    r"\b(?:der|die|das|und|ist|nicht|mit|ein|eine|einen|den|dem|im|zum|zur|auf|wir|sie|von|f\u00fcr|wird|bis|bei|aus|liegt)\b",
    re.IGNORECASE,
)
_NOUN_ENDINGS = re.compile(r"\b[A-Z][a-z]*(?:ung|heit|keit|schaft)\b")


@dataclass(frozen=True)
class Analysis:
    """A text with its words and the concepts that they name."""

    text: str

    @cached_property
    def words(self) -> list[Word]:
        """Folded words with their places."""
        return words(self.text)

    @cached_property
    def hits(self) -> list[Hit]:
        """Concepts of the lexicon, each place once."""
        return sorted(set(lexicon().hits(self.words)), key=lambda hit: (hit.start, hit.end, hit.concept))

    @cached_property
    def names(self) -> list[tuple[int, int]]:
        """Where proper names stand, as far as capitals tell them (`names`)."""
        return names(self.text, self.words)

    def told(self, concepts: Collection[str]) -> bool:
        """Whether the text names one of the concepts other than inside a proper name: a Court Street tells of no court."""
        return any(
            hit.concept in concepts and not any(start <= hit.start and hit.end <= end for start, end in self.names) for hit in self.hits
        )

    @cached_property
    def concepts(self) -> Counter[str]:
        """How often each concept is named."""
        return Counter(hit.concept for hit in self.hits)


def names(text: str, analysed: Sequence[Word]) -> list[tuple[int, int]]:
    """Half-open ranges of proper names: capitalised words that do not begin a sentence, and those that follow one that does.

    None in a text that writes all nouns with a capital, as German does. Words all in capitals are no names: most are terms. A few letters
    of a script without blanks amid words of another script are a name too.
    """
    foreign = [(word.start, word.end) for word in analysed if word.unspaced and len(word.text) <= _FOREIGN]
    spaced = sum(not word.unspaced for word in analysed)
    found = foreign if 0 < len(foreign) <= spaced else []
    if len(_NOUNS.findall(text)) >= 2 or _NOUN_ENDINGS.search(text):
        return found
    for match in _CAPITALISED.finditer(text):
        start = match.start()
        before = text[:start].rstrip()
        if not before or before[-1] in _ENDS:
            _, blank, rest = match[0].partition(" ")
            start = match.end() - len(rest) if blank else match.end()
        if start < match.end():
            found.append((start, match.end()))
    return sorted(found)


def nameless(analysis: Analysis) -> str:
    """The text with each proper name replaced by a letter."""
    parts, position = [], 0
    for start, end in analysis.names:
        parts += [analysis.text[position:start], "X"]
        position = end
    return "".join([*parts, analysis.text[position:]])


def lexical(analysis: Analysis) -> Floats:
    """Concepts, pairs of concepts in one text, and a few measures of its form."""
    import numpy as np

    names = lexicon().concepts
    counts = np.array([analysis.concepts[name] for name in names], dtype=np.float32)
    present = np.minimum(counts, 1)
    rows, columns = np.tril_indices(len(names), -1)
    text = analysis.text
    form = [
        np.log1p(len(text)) / 3,
        np.log1p(len(_NUMBER.findall(text))),
        np.log1p(len(analysis.words)) / 3,
        float(bool(_MONEY.search(text))),
        np.log1p(text.count("\n")),
        float(_MASK in text),
    ]
    return np.concatenate([np.log1p(counts), present[rows] * present[columns], np.array(form, dtype=np.float32)]).astype(np.float32)


def grams(analysis: Analysis) -> tuple[NDArray[np.int64], Floats]:
    """Places of words, neighbouring words and character n-grams in a hashed table, and how often each occurs (dampened)."""
    import numpy as np

    counts: Counter[int] = Counter()
    previous = ""
    for word in analysis.words:
        text = _digits(word.text)
        if word.unspaced:
            for length in _UNSPACED_GRAMS:
                counts.update(_place("z", text[start : start + length]) for start in range(len(text) - length + 1))
            previous = ""
            continue
        counts[_place("w", text)] += 1
        if previous:
            counts[_place("p", previous + " " + text)] += 1
        previous = text
        edged = f"<{text[:40]}>"
        for length in _GRAMS:
            counts.update(_place("c", edged[start : start + length]) for start in range(len(edged) - length + 1))
    places = np.fromiter(counts, dtype=np.int64, count=len(counts))
    values = 1 + np.log(np.fromiter(counts.values(), dtype=np.float32, count=len(counts)))
    return places, values.astype(np.float32)


def _digits(text: str) -> str:
    return "".join("0" if character.isdigit() else character for character in text)


def _place(kind: str, text: str) -> int:
    return zlib.crc32((kind + text).encode("utf-8", "surrogatepass")) & ((1 << GRAM_BITS) - 1)


def tokenizer(pieces: Sequence[str], scores: Sequence[float]) -> Any:
    """Cuts a text into the given pieces, the likeliest way; number 0 is what no piece covers, piece i is number i + 1."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    cutter = Tokenizer(models.Unigram([("<unk>", 0.0), *zip(pieces, map(float, scores), strict=True)], unk_id=0, byte_fallback=False))
    cutter.normalizer = normalizers.NFKC()
    cutter.pre_tokenizer = pre_tokenizers.Metaspace(replacement="\u2581", prepend_scheme="always")
    return cutter


@dataclass(frozen=True, slots=True)
class Cut:
    """The pieces of a text: which, how much each counts (they sum to 1), and where it stands."""

    pieces: NDArray[np.int64]
    shares: Floats
    spans: list[tuple[int, int]]


def cut(cutter: Any, text: str) -> Cut:
    """Cut a text; frequent pieces count less (their frequency follows from their rank)."""
    import numpy as np

    encoding = cutter.encode(text, add_special_tokens=False)
    kept = [(number - 1, span) for number, span in zip(encoding.ids, encoding.offsets, strict=True) if number > 0]
    pieces = np.array([piece for piece, _ in kept], dtype=np.int64)
    # Zipf's law over a vocabulary of a quarter million, weighed by a / (a + p) as smooth inverse frequency does.
    weights = _RARE / (_RARE + 1 / ((pieces + 20) * 12.4)) if kept else np.zeros(0)
    return Cut(pieces, (weights / max(weights.sum(), 1e-9)).astype(np.float32), [span for _, span in kept])
