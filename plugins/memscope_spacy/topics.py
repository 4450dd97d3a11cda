"""Does a text belong to a topic that an organization described with a name, aliases, a sentence and some phrases?

Nothing here knows a topic beforehand: a text and a description become some twenty measures of likeness, and one small model,
trained on topics of many organizations, says what they are worth. So a topic works from the moment it is described.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Any

from memscope.contracts.guard import Span, TopicDescription
from memscope_spacy.features import Analysis
from memscope_spacy.words import Word, words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Embed = Callable[[str], Floats]

_COMMON_RANK = 1200
_LIKE = 0.75
_SHORTEST = 3
_HEAD = 4
_GENERIC = frozenset(
    [
        "project",
        "programme",
        "program",
        "projekt",
        "projet",
        "proyecto",
        "progetto",
        "the",
        "our",
        "und",
        "and",
        "der",
        "die",
        "das",
        "les",
        "des",
        "los",
        "las",
        "our",
        "team",
        "group",
    ]
)
_LOCK = Lock()


@dataclass(frozen=True, slots=True)
class Meanings:
    """What is needed to compare words and texts by meaning."""

    vector: Callable[[str], Floats]
    """The unit vector of a text from its word pieces."""
    rank: Callable[[str], int]
    """How frequent a word is: its rank over all languages, large when it is no piece of its own."""
    background: Floats
    """Vectors of texts on anything, to see what likeness is usual."""
    embedded_background: Floats
    profile: Callable[[str], Floats]
    """Log odds of the built-in topics for a text."""


@dataclass(frozen=True, slots=True)
class _Keyword:
    text: str
    weight: float
    source: str
    entity: bool


@dataclass(frozen=True)
class Prepared:
    """A description made ready for comparison."""

    topic: TopicDescription
    keywords: dict[str, list[_Keyword]]
    matcher: Any
    vectors: dict[str, Floats]
    centres: dict[str, tuple[Floats, Floats]]
    keyword_vectors: Floats
    profile: Floats
    phrases: list[frozenset[str]]
    embedded: dict[Any, dict[str, tuple[Floats, Floats, Floats]]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TextView:
    """What the measures need of a text."""

    analysis: Analysis
    vector: Floats
    word_vectors: Floats
    topical: Floats
    """Log odds of the built-in topics."""
    levels: Floats
    """Probabilities of the four levels."""
    embedding: Floats | None


@cache
def _language() -> Any:
    import spacy

    return spacy.blank("xx")


def _tokens(found: Sequence[Word]) -> list[tuple[str, int, int]]:
    """Folded words for the phrase matcher; scripts without blanks give single characters."""
    tokens: list[tuple[str, int, int]] = []
    for word in found:
        if word.unspaced:
            even = len(word.text) == word.end - word.start
            tokens.extend(
                (letter, word.start + place if even else word.start, word.start + place + 1 if even else word.end)
                for place, letter in enumerate(word.text)
            )
        else:
            tokens.append((word.text, word.start, word.end))
    return tokens


def prepare(topic: TopicDescription, meanings: Meanings) -> Prepared:
    """Make a description ready: phrase patterns, weighed words, vectors and what likeness is usual for it."""
    import numpy as np
    from spacy.matcher import PhraseMatcher
    from spacy.tokens import Doc

    keywords: dict[str, list[_Keyword]] = {}
    with _LOCK:
        language = _language()
        matcher = PhraseMatcher(language.vocab, attr="ORTH")
        for label, texts in (("name", (topic.name,)), ("alias", topic.aliases), ("phrase", topic.phrases)):
            for text in texts:
                tokens = [token for token, _, _ in _tokens(words(text))]
                if tokens:
                    matcher.add(label, [Doc(language.vocab, words=tokens)])
                short = [token for token in tokens if token not in _GENERIC]
                if label == "name" and short and len(short) < len(tokens):
                    matcher.add(label, [Doc(language.vocab, words=short)])
    for source, texts in (("name", (topic.name, *topic.aliases)), ("description", (topic.description,)), ("phrase", topic.phrases)):
        for text in texts:
            for place, word in enumerate(words(text)):
                if word.unspaced or len(word.text) < _SHORTEST or word.text in _GENERIC:
                    continue
                rank = meanings.rank(text[word.start : word.end])
                original = text[word.start]
                entity = original.isupper() and (place > 0 or source == "name")
                if rank < _COMMON_RANK and not (entity and source == "name"):
                    continue
                weight = math.log(rank + 20) / 12.4
                keywords.setdefault(word.text[:_HEAD], []).append(_Keyword(word.text, weight, source, entity))
    texts_of = {
        "name": [topic.name, *topic.aliases],
        "description": [topic.description or topic.name],
        "phrase": list(topic.phrases) or [topic.name],
    }
    vectors = {source: np.stack([meanings.vector(text) for text in texts]) for source, texts in texts_of.items()}
    centres = {source: _usual(rows, meanings.background) for source, rows in vectors.items()}
    unique = sorted({keyword.text for group in keywords.values() for keyword in group})
    keyword_vectors = (
        np.stack([meanings.vector(text) for text in unique]) if unique else np.zeros((0, meanings.background.shape[1]), np.float32)
    )
    described = ". ".join([topic.name, *topic.aliases, topic.description, *topic.phrases])
    return Prepared(
        topic,
        keywords,
        matcher,
        vectors,
        centres,
        keyword_vectors,
        meanings.profile(described),
        [frozenset(word.text for word in words(phrase)) for phrase in topic.phrases],
    )


def _usual(rows: Floats, background: Floats) -> tuple[Floats, Floats]:
    likeness = background @ rows.T
    return likeness.mean(0), likeness.std(0) + 1e-3


def _embedded(prepared: Prepared, embed: Embed, key: Any, meanings: Meanings) -> dict[str, tuple[Floats, Floats, Floats]]:
    import numpy as np

    found = prepared.embedded.get(key)
    if found is None:
        topic = prepared.topic
        texts_of = {
            "name": [topic.name, *topic.aliases],
            "description": [f"{topic.name}. {topic.description}"],
            "phrase": list(topic.phrases) or [topic.name],
        }
        found = {}
        for source, texts in texts_of.items():
            rows = np.stack([np.asarray(embed(text), dtype=np.float32).reshape(-1) for text in texts])
            found[source] = (rows, *_usual(rows, meanings.embedded_background))
        if len(prepared.embedded) >= 4:
            prepared.embedded.clear()
        prepared.embedded[key] = found
    return found


def _alike(text: str, keyword: str) -> bool:
    shared = 0
    for one, other in zip(text, keyword, strict=False):
        if one != other:
            break
        shared += 1
    return (
        shared >= max(_HEAD if min(len(text), len(keyword)) >= _HEAD else _SHORTEST, math.ceil(_LIKE * min(len(text), len(keyword))))
        and abs(len(text) - len(keyword)) <= 4
    )


@dataclass(frozen=True, slots=True)
class Likeness:
    """The measures of one text against one topic, and what in the text they rest on, strongest first."""

    plain: Floats
    embedded: Floats | None
    spans: tuple[Span, ...]


def measure_all(
    view: TextView, prepared: Sequence[Prepared], meanings: Meanings, embed: Embed | None = None, key: Any = None
) -> list[Likeness]:
    """Compare a text with topics. `embed` and its `key` for the cache are given together with an embedded text."""
    tokens = _tokens(view.analysis.words)
    named: list[list[tuple[str, Span]]] = [[] for _ in prepared]
    if tokens:
        from spacy.tokens import Doc

        with _LOCK:
            language = _language()
            with language.memory_zone():
                document = Doc(language.vocab, words=[token for token, _, _ in tokens])
                for found, one in zip(named, prepared, strict=True):
                    for label, start, end in one.matcher(document):
                        found.append((language.vocab.strings[label], Span(tokens[start][1], tokens[end - 1][2])))
    return [_measure(view, one, found, meanings, embed, key) for one, found in zip(prepared, named, strict=True)]


def _measure(
    view: TextView, prepared: Prepared, named_at: Sequence[tuple[str, Span]], meanings: Meanings, embed: Embed | None, key: Any
) -> Likeness:
    import numpy as np

    found_words = view.analysis.words
    text = view.analysis.text
    spans: list[tuple[float, Span]] = []
    counts = {"name": 0, "alias": 0, "phrase": 0}
    as_written = 0
    for label, span in named_at:
        counts[label] += 1
        spans.append((3.0, span))
        if label in ("name", "alias") and (text[span.start].isupper() or not text[span.start].islower()):
            as_written += 1
    sources = {"name": 0.0, "description": 0.0, "phrase": 0.0}
    entities: set[str] = set()
    seen: set[tuple[str, str]] = set()
    for word in found_words:
        if word.unspaced:
            continue
        for keyword in prepared.keywords.get(word.text[:_HEAD], ()):
            if not _alike(word.text, keyword.text):
                continue
            if keyword.entity and text[word.start].isupper():
                entities.add(keyword.text)
            if (keyword.source, keyword.text) not in seen:
                seen.add((keyword.source, keyword.text))
                sources[keyword.source] += keyword.weight
                spans.append((keyword.weight + (1 if keyword.entity else 0), Span(word.start, word.end)))
    phrase_words = {keyword for source, keyword in seen if source == "phrase"}
    best_phrase = max((len(phrase_words & phrase) for phrase in prepared.phrases), default=0)

    near = {}
    for source, rows in prepared.vectors.items():
        mean, spread = prepared.centres[source]
        near[source] = float(((rows @ view.vector - mean) / spread).max())
    aligned = 0.0
    if len(view.word_vectors) and len(prepared.keyword_vectors):
        best = np.sort((prepared.keyword_vectors @ view.word_vectors.T).max(1))
        aligned = float(best[-3:].mean())
    guarded = float(view.levels[2] + view.levels[3])
    named = float(counts["name"] + counts["alias"] > 0)
    topical = float(view.topical @ prepared.profile / (np.linalg.norm(view.topical) * np.linalg.norm(prepared.profile) + 1e-6))
    plain = np.array(
        [
            float(counts["name"] > 0), float(as_written > 0), float(counts["alias"] > 0), math.log1p(len(entities)), math.log1p(sources["name"]),
            math.log1p(sources["description"]), math.log1p(sources["phrase"]), math.log1p(best_phrase), aligned, near["name"] / 3,
            near["description"] / 3, near["phrase"] / 3, guarded, float(view.levels[0]), float(view.levels[1]),
            float(view.analysis.concepts["tech"] > 0), topical, named * guarded, math.log1p(len(entities)) * guarded,
            float(view.analysis.concepts["secrecy"] > 0), math.log1p(len(text)) / 5,
        ],
        dtype=np.float32,
    )  # fmt: skip
    embedded = None
    if embed is not None and view.embedding is not None:
        meant = {}
        for source, (rows, mean, spread) in _embedded(prepared, embed, key, meanings).items():
            meant[source] = float(((rows @ view.embedding - mean) / spread).max())
        most = max(meant.values())
        embedded = np.array(
            [meant["name"] / 3, meant["description"] / 3, meant["phrase"] / 3, most / 3, most / 3 * guarded], dtype=np.float32
        )
    strongest = sorted(spans, key=lambda pair: (-pair[0], pair[1].start))
    return Likeness(plain, embedded, tuple(dict.fromkeys(span for _, span in strongest))[:5])


def compared(likenesses: Sequence[Likeness]) -> list[Floats]:
    """What the model sees of each topic: its measures, how far each is above the best of the organization's other topics, and 1."""
    import numpy as np

    rows = np.stack([one.plain if one.embedded is None else np.concatenate([one.plain, one.embedded]) for one in likenesses])
    inputs = []
    for place, row in enumerate(rows):
        others = np.delete(rows, place, axis=0)
        best = others.max(0) if len(others) else np.zeros_like(row)
        inputs.append(np.concatenate([row, row - best, [1.0]]).astype(np.float32))
    return inputs
