"""Text to terms: our own analyser for the word side of recall.

Storages index `terms`, a question is asked by `query_terms`. A change to what either returns needs a re-index, so
`ANALYSER` names the present way and storages keep it beside what they stored.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator

from memscope.text.stem import stem
from memscope.text.stop_words import STOP_WORDS

ANALYSER = "1"

#: A question has at most this many terms; of a longer one the most repeated, then the first, are kept.
MOST_QUERY_TERMS = 48
#: Longer terms (keys, encoded data) are cut: nobody types them, and an index has limits.
LONGEST_TERM = 64

# Scripts written without spaces between words: Thai, Lao, Tibetan, Burmese, Khmer, Japanese, Chinese; and Korean, whose
# endings stick to words.
_UNSPACED = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e80-\u0ecf\u0edc-\u0edf\u0f40-\u0fbc\u1000-\u103f\u1050-\u108f\u1100-\u11ff\u1780-\u17d3\u17dc\u17dd"
    "\u3005-\u3007\u3041-\u3096\u3099-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u3131-\u318e\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\ua9e0-\ua9ef\uaa60-\uaa7f\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff"
)
# Vowel signs of Indian scripts are no letters to `\w`, yet part of words.
_WORD = rf"(?:[^\W_{_UNSPACED}]|[\u0900-\u0963\u0966-\u0dff])"
_TOKEN = re.compile(
    rf"(?P<unspaced>[{_UNSPACED}]+)"
    r"|(?P<language>\b[A-Za-z](?:\+\+|#)(?!\w))"
    rf"|(?P<word>{_WORD}+(?:(?:[-_./\\@:'\u2019&+]|::|->){_WORD}+)*)"
    r"|(?P<sign>[\u2600-\u27bf\U0001f300-\U0001faff])"
)
_JOINERS = re.compile(r"[-_./\\@:'\u2019&+>]+")
_SEGMENTS = re.compile(r"[/\\@:]+")
_CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_IS_CAMEL = re.compile(r"[a-z][A-Z]|[A-Z]{2}[a-z]{2}")
_THOUSANDS = re.compile(r"(?<![\d.,])(\d{1,3}(?:[,\u2019'\u00a0\u202f]\d{3})+)(?![\d,])")
_DOTTED_NUMBER = re.compile(r"[vV]?(\d+(?:\.\d+)+)")
_DATE = re.compile(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})")
_MEASURE = re.compile(r"(\d+)([a-z]{1,3})")
_ORDINALS = frozenset(("st", "nd", "rd", "th"))

_MARKS = re.compile("[\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0640]")
_IGNORED = re.compile("[\u00ad\u200c\u200d\u2060\ufeff\ufe00-\ufe0f]")
_LETTERS = str.maketrans({"ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "đ": "d", "Đ": "D", "ı": "i", "æ": "ae", "Æ": "Ae", "œ": "oe", "Œ": "Oe"})

MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december",
)  # fmt: skip
_SHORT_MONTHS = {month[:3]: month for month in MONTHS} | {"sept": "september"}
#: Written like this they are names, not the words that they look like.
_ACRONYMS = frozenset(("IT", "US", "WHO"))


def terms(text: str) -> list[str]:
    """What a text is indexed under, in its order, with repeats: the length of the list is the text's length.

    Words are folded (case, accents, width) and stemmed; stop words are left out. Identifiers, paths, versions and dates
    give their parts and themselves. Runs of scripts without spaces give their characters and pairs of neighbours.
    """
    return list(_terms(text, asking=False))


def query_terms(text: str) -> list[str]:
    """The different terms that a question looks for, at most `MOST_QUERY_TERMS`, in order. Single characters of a run
    without spaces are looked for only where the run is no longer. Empty when the question says nothing."""
    counts = Counter(_terms(text, asking=True))
    if len(counts) <= MOST_QUERY_TERMS:
        return list(counts)
    kept = {term for term, _ in counts.most_common(MOST_QUERY_TERMS)}
    return [term for term in counts if term in kept]


def _terms(text: str, asking: bool) -> Iterator[str]:
    for match in _TOKEN.finditer(_simplify(text)):
        token = match.group()
        if match.lastgroup == "unspaced":
            yield from _pairs(token, asking)
        elif match.lastgroup == "word":
            yield from (term[:LONGEST_TERM] for term in _word(token))
        else:
            yield token.casefold()


def _simplify(text: str) -> str:
    """One width, no accents, ASCII digits, no characters that only steer rendering; case is kept for `CamelCase`."""
    if not text.isascii():
        text = unicodedata.normalize("NFD", unicodedata.normalize("NFKC", _IGNORED.sub("", text)))
        text = unicodedata.normalize("NFC", _MARKS.sub("", text)).translate(_LETTERS)
        if not text.isascii():
            text = "".join(str(unicodedata.digit(c)) if c.isdecimal() else c for c in text)
    return _THOUSANDS.sub(lambda match: re.sub(r"\D", "", match.group()), text)


def _pairs(run: str, asking: bool) -> Iterator[str]:
    letters: list[str] = []
    for character in run:
        if letters and unicodedata.category(character)[0] == "M":
            letters[-1] += character
        else:
            letters.append(character)
    if not asking or len(letters) == 1:
        yield from letters
    yield from map("".join, zip(letters, letters[1:], strict=False))


def _word(token: str) -> Iterator[str]:
    if number := _DOTTED_NUMBER.fullmatch(token):
        # 18.6.3 is found by 18.6 and by 18
        parts = number.group(1).split(".")
        yield from (".".join(parts[:count]) for count in range(len(parts), 0, -1))
        return
    if date := _DATE.fullmatch(token):
        year, month, day = map(int, date.groups())
        if 1 <= month <= 12:
            yield from (f"{year}-{month:02}-{day:02}", str(year), MONTHS[month - 1], str(day))
            return
    wholes = []
    segments = _SEGMENTS.split(token)
    for segment in segments:
        parts = [piece for part in _JOINERS.split(segment) for piece in _camel(part)]
        alone = len(parts) == len(segments) == 1
        for part in parts:
            if alone or len(part) > 1 or not part.isalpha():
                yield from _simple(part)
        if len(parts) > 1:
            wholes.append("".join(parts))
    if len(segments) > 1:
        wholes.append(_JOINERS.sub("", token))
    # a possessive is no name of its own
    if "'" not in token and "\u2019" not in token:
        yield from (stem(whole.casefold()) for whole in wholes)


def _camel(word: str) -> list[str]:
    if not _IS_CAMEL.search(word) or not word.isascii():
        return [word]
    return [piece for piece in _CAMEL.findall(word) if len(piece) > 1 or piece.isdecimal()] or [word]


def _simple(word: str) -> Iterator[str]:
    folded = word.casefold()
    if folded in STOP_WORDS and word not in _ACRONYMS:
        return
    if measure := _MEASURE.fullmatch(folded):
        number, unit = measure.groups()
        yield number
        if unit not in _ORDINALS:
            yield from (unit, folded)
        return
    if folded.isdecimal():
        yield folded.lstrip("0") or "0"
        return
    yield stem(_SHORT_MONTHS.get(folded, folded))
