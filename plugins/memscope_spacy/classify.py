"""From a text to a verdict: three linear members, their combination, the organization's own topics, evidence."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Any

from memscope.contracts.guard import GuardContext, Span, TopicDescription
from memscope.contracts.sensitivity import LOW_CONFIDENCE, Evidence, SensitivityVerdict, TopicMatch
from memscope.model.memory import Sensitivity
from memscope_spacy import features, topics
from memscope_spacy.features import Analysis
from memscope_spacy.weights import HEADS, TOPICS, Weights, shipped

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

RAISING = ("health", "pay", "dismiss", "dispute", "deal", "secrecy", "conflict", "finance", "legal", "hr")
"""Concepts of the lexicon that are shown as evidence of a raised level, the gravest first."""
TELLING = (*RAISING, "amount", "home")
"""Concepts that can found a level above internal."""
_EVIDENCE_NAMES = {"dismiss": "dismissal", "hr": "people", "finance": "money"}
_PREPARED_MAX = 512
_SPANS_MAX = 3
_EVIDENCE_MAX = 6
_NEAR_ONE = 0.99


class Classifier:
    """Scores texts with one set of weights. Thread-safe; what is prepared per topic is kept by its description."""

    def __init__(self, weights: Weights) -> None:

        self.weights = weights
        self._cutter = features.tokenizer(weights.pieces, weights["piece_scores"].tolist())
        self._ranks = {piece: place for place, piece in enumerate(weights.pieces)}
        self._prepared: OrderedDict[TopicDescription, topics.Prepared] = OrderedDict()
        self._lock = Lock()
        self.meanings = topics.Meanings(
            vector=lambda text: self.vectors([text])[0],
            rank=self._rank,
            background=weights["background"],
            embedded_background=weights["embedded_background"],
            profile=lambda text: self.topic_odds(self.members(Analysis(text), None)),
        )

    def _rank(self, word: str) -> int:
        forms = {word, word.lower()}
        return min((self._ranks.get("\u2581" + form, len(self._ranks) * 2) for form in forms), default=0)

    def vectors(self, texts: Sequence[str]) -> Floats:
        """Unit vectors of texts from their word pieces, shape (texts, dimensions)."""
        import numpy as np

        codes, book = self.weights["vector_codes"], self.weights["vector_book"]
        parts = np.arange(len(book))
        rows = np.zeros((len(texts), book.shape[0] * book.shape[2]), dtype=np.float32)
        for row, text in enumerate(texts):
            found = features.cut(self._cutter, text)
            known = found.pieces < len(codes)
            table = book[parts, codes[found.pieces[known]]].reshape(-1, rows.shape[1])
            rows[row] = found.shares[known] @ table
        return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-6), dtype=np.float32)

    def members(self, analysis: Analysis, embedding: Floats | None) -> list[Floats]:
        """The score of each member for each head; the last member speaks only where there is an embedding."""
        import numpy as np

        weights = self.weights
        lexical = features.lexical(analysis)
        found = features.cut(self._cutter, analysis.text)
        by_words = lexical @ weights["words.lexical"] + found.shares @ weights["words.pieces"][found.pieces] + weights["words.bias"]
        places, values = features.grams(analysis)
        weighed = values * weights["grams.rarity"][places]
        norm = float(np.linalg.norm(weighed)) or 1.0
        by_grams = (weighed / norm) @ weights["grams.places"][places] + weights["grams.bias"]
        scores = [by_words, by_grams]
        if embedding is not None:
            scores.append(lexical @ weights["meaning.lexical"] + embedding @ weights["meaning.embedding"] + weights["meaning.bias"])
        return [np.asarray(score, dtype=np.float32) for score in scores]

    def topic_odds(self, members: list[Floats]) -> Floats:
        """Calibrated log odds of the built-in topics."""
        import numpy as np

        stack = self.weights[f"stack.topics.{len(members)}"]
        return np.array(
            [
                stack[place, 0] + sum(stack[place, 1 + number] * member[place] for number, member in enumerate(members))
                for place in range(len(TOPICS))
            ],
            dtype=np.float32,
        )

    def level_odds(self, members: list[Floats], topic_odds: Floats, added: float, cues: Floats) -> Floats:
        """Calibrated log probabilities of the levels."""
        import numpy as np

        given = np.concatenate([*(member[len(TOPICS) :] for member in members), topic_odds, [added], cues, [1.0]])
        scores = given @ self.weights[f"stack.levels.{len(members)}"]
        scores = scores - scores.max()
        return np.asarray(scores - np.log(np.exp(scores).sum()), dtype=np.float32)

    def prepared(self, topic: TopicDescription) -> topics.Prepared:
        """What is kept of a topic; a changed description is another topic."""
        with self._lock:
            found = self._prepared.get(topic)
            if found is not None:
                self._prepared.move_to_end(topic)
                return found
        found = topics.prepare(topic, self.meanings)
        with self._lock:
            self._prepared[topic] = found
            while len(self._prepared) > _PREPARED_MAX:
                self._prepared.popitem(last=False)
        return found

    def view(self, analysis: Analysis, members: list[Floats], embedding: Floats | None) -> topics.TextView:
        """What the measures of added topics need of a text."""
        import numpy as np

        odds = self.topic_odds(members)
        text_words = [analysis.text[word.start : word.end] for word in analysis.words if not word.unspaced and len(word.text) > 3][:80]
        levels = np.exp(self.level_odds(members, odds, UNKNOWN, cues(analysis)))
        vectors = self.vectors([analysis.text[:2000], *text_words])
        return topics.TextView(analysis, vectors[0], vectors[1:], odds, levels, embedding)

    def classify(self, text: str, context: GuardContext) -> SensitivityVerdict:
        """The whole verdict."""
        import numpy as np

        analysis = Analysis(text)
        if not analysis.words:
            return SensitivityVerdict(Sensitivity.INTERNAL, _NEAR_ONE)
        embedding = None
        key: Hashable = None
        if context.embed is not None:
            embedding = np.asarray(context.embed(text), dtype=np.float32).reshape(-1)
            if embedding.shape[0] == self.weights["embedded_background"].shape[1]:
                key = context.embed
            else:
                embedding = None
        members = self.members(analysis, embedding)
        odds = self.topic_odds(members)
        matches: list[TopicMatch] = []
        added = UNKNOWN
        thresholds = self.weights.settings["thresholds"]
        confidences = [_probability(float(value)) for value in odds]
        least = [max(thresholds[key], floor) for key, floor in zip(TOPICS, floors(analysis, self.weights.settings["short"]), strict=True)]
        found = {key: place for place, key in enumerate(TOPICS) if confidences[place] >= least[place]}
        for topic in context.topics:
            if topic.key in found:
                place = found[topic.key]
                matches.append(TopicMatch(topic.key, round(confidences[place], 3), self._topic_spans(analysis, place)))
        own = [topic for topic in context.topics if topic.key not in TOPICS]
        if own:
            view = self.view(analysis, members, embedding)
            embed = context.embed if key is not None else None
            measured = topics.measure_all(view, [self.prepared(topic) for topic in own], self.meanings, embed, key)
            for topic, likeness, inputs in zip(own, measured, topics.compared(measured), strict=True):
                score = float(inputs @ self.weights["match.embedded" if embed else "match.plain"])
                added = max(added, score)
                if _probability(score) >= thresholds["added"]:
                    matches.append(TopicMatch(topic.key, round(_probability(score), 3), likeness.spans[:_SPANS_MAX]))
        levels = np.exp(self.level_odds(members, odds, added, cues(analysis)))
        caution = self.weights.settings["caution"]
        level = Sensitivity(choose(levels, analysis, caution, bool(found or matches)))
        if level > Sensitivity.INTERNAL and analysis.names and not analysis.told(TELLING):
            level = max(Sensitivity.INTERNAL, min(level, self._level_without_names(analysis)))
        confidence = round(min(float(levels[int(level)]), _NEAR_ONE), 3)
        if level <= Sensitivity.INTERNAL and confidence >= LOW_CONFIDENCE:
            # The level has weighed the topics already: where it is surely low, none is said so surely that it would raise it after all.
            matches = [replace(match, confidence=min(match.confidence, round(confidence - 0.001, 3))) for match in matches]
        matches.sort(key=lambda match: -match.confidence)
        return SensitivityVerdict(level, confidence, tuple(matches), self._evidence(analysis, level, levels))

    def _level_without_names(self, analysis: Analysis) -> Sensitivity:
        """The level of the text without its proper names, which by themselves raise nothing."""
        import numpy as np

        bare = Analysis(features.nameless(analysis))
        members = self.members(bare, None)
        odds = self.topic_odds(members)
        levels = np.exp(self.level_odds(members, odds, UNKNOWN, cues(bare)))
        thresholds = self.weights.settings["thresholds"]
        least = [max(thresholds[key], floor) for key, floor in zip(TOPICS, floors(bare, self.weights.settings["short"]), strict=True)]
        topical = any(_probability(float(value)) >= floor for value, floor in zip(odds, least, strict=True))
        return Sensitivity(choose(levels, bare, self.weights.settings["caution"], topical))

    def _topic_spans(self, analysis: Analysis, place: int) -> tuple[Span, ...]:
        spans = [(2.0, Span(hit.start, hit.end)) for hit in analysis.hits if hit.concept == HEADS[place]]
        found = features.cut(self._cutter, analysis.text)
        worth = self.weights["words.pieces"][found.pieces, place] * found.shares
        for number in worth.argsort()[::-1][: _SPANS_MAX * 2]:
            start, end = found.spans[int(number)]
            while start < end and analysis.text[start].isspace():
                start += 1
            if worth[number] > 0 and end - start > 2:
                spans.append((float(worth[number]), Span(start, end)))
        spans.sort(key=lambda pair: (-pair[0], pair[1].start))
        kept: list[Span] = []
        for _, span in spans:
            if len(kept) == _SPANS_MAX:
                break
            if all(span.end <= other.start or span.start >= other.end for other in kept):
                kept.append(span)
        return tuple(kept)

    def _evidence(self, analysis: Analysis, level: Sensitivity, levels: Floats) -> tuple[Evidence, ...]:
        if level is Sensitivity.INTERNAL:
            return ()
        wanted = ("published",) if level is Sensitivity.PUBLIC else RAISING
        confidence = round(min(float(levels[int(level) :].sum()) if level > Sensitivity.INTERNAL else float(levels[0]), _NEAR_ONE), 3)
        hits = sorted((hit for hit in analysis.hits if hit.concept in wanted), key=lambda hit: (wanted.index(hit.concept), hit.start))
        return tuple(
            Evidence(_EVIDENCE_NAMES.get(hit.concept, hit.concept), Span(hit.start, hit.end), confidence) for hit in hits[:_EVIDENCE_MAX]
        )


UNKNOWN = -4.0
"""The log odds of an added topic where there is none."""


def cues(analysis: Analysis) -> Floats:
    """Concepts that bear on the level, as the combination sees them."""
    import numpy as np

    return np.array(
        [min(analysis.concepts[name], 2) / 2 for name in ("published", "secrecy", "health", "pay", "dismiss", "process", "tech")],
        dtype=np.float32,
    )


SHORT_WORDS = 12
"""A text below so many words says little to judge a topic by."""
FEWEST = 4
"""Words below which a text that names no concept is but a name or two."""


def floors(analysis: Analysis, short: dict[str, float]) -> list[float]:
    """What each built-in topic needs at least in a short text: less where a concept of it is named outside a proper name."""
    if len(analysis.words) >= SHORT_WORDS:
        return [0.0] * len(TOPICS)
    return [short["named" if analysis.told((concept,)) else "unnamed"] for concept in TOPICS]


def choose(levels: Any, analysis: Analysis, caution: dict[str, float], topical: bool) -> int:
    """0 to 3 from the probabilities of the levels.

    It is the likeliest level, but public needs a cue; a level above internal needs a concept or a topic (`topical`) to found it, or near
    certainty, and the highest needs both; three words that name no concept are but names; and where one is there, a fair chance of the highest forbids the low ones. A level that is not
    founded gives way to the lower one, whose low probability is then the verdict's confidence, so that a person looks.
    """
    level = int(levels.argmax())
    if level == 0 and (levels[0] < caution["public"] or not analysis.concepts["published"]):
        level = 1 + int(levels[1:].argmax())
    told = analysis.told(TELLING)
    if not told and _amount(analysis) < FEWEST:
        return min(level, 1)
    founded = told or topical
    if level >= 2 and not founded and levels[2] + levels[3] < caution["unfounded"]:
        level = 1
    if level == 3 and not (told and topical) and levels[3] < caution["thin"]:
        level = 2
    if level < 2 and levels[3] >= caution["highest" if told and topical else "fair"] and founded:
        level = 2
    return level


def _amount(analysis: Analysis) -> float:
    """Words; two letters of a script without blanks count as one."""
    return sum(len(word.text) / 2 if word.unspaced else 1 for word in analysis.words)


def _probability(odds: float) -> float:
    import math

    return 1 / (1 + math.exp(-max(min(odds, 30.0), -30.0)))


@cache
def shipped_classifier() -> Classifier:
    """The classifier with the shipped weights."""
    return Classifier(shipped())
