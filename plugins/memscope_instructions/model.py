"""The shipped weights and what they say of a text. numpy only."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from memscope_instructions.features import Content, Grams, content, grams, sentences
from memscope_instructions.lexicon import Hit, lexicon, tokens
from memscope_instructions.normalise import View, normalise
from memscope_instructions.rules import FAMILIES
from memscope_instructions.unpack import Part, parts

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_SENTENCES = 48
"""Of one text; in a longer one neighbours are judged together."""
DECODED = 0.5
"""Added to the weighted sum of a decoded part: whoever encodes a sentence has a reason."""
BLOCKS = ("chars", "words", "concepts")


@dataclass(frozen=True, slots=True)
class Instance:
    """A text that is judged: the whole, a sentence of it, or a part that was hidden in it."""

    text: str
    kind: str
    """`whole`, `sentence`, or the kind of a `Part`."""
    start: int
    end: int
    """In the view for `whole` and `sentence`, else in the original."""
    grams: Grams
    content: Content
    part: Part | None = None


def _alone(text: str, kind: str, start: int, end: int, part: Part | None = None) -> Instance:
    words = tokens(text)
    return Instance(text, kind, start, end, grams(text, words), content(text, words, lexicon().hits(words), sentences(text)), part)


def instances(view: View, found: list[Part]) -> list[Instance]:
    """Everything of a text that is judged; the first is the whole."""
    text, ranges = view.text, sentences(view.text)
    words = tokens(text)
    hits = lexicon().hits(words)
    out = [Instance(text, "whole", 0, len(text), grams(text, words), content(text, words, hits, ranges))]
    step = -(-len(ranges) // MOST_SENTENCES) or 1
    first = 0
    for n in range(0, len(ranges) if len(ranges) > 1 else 0, step):
        start, end = ranges[n][0], ranges[min(n + step, len(ranges)) - 1][1]
        last = first
        while last < len(words) and words[last][1] < end:
            last += 1
        inside = [(word, at - start, to - start) for word, at, to in words[first:last]]
        shown = [Hit(hit.concept, hit.first - first, hit.end - first) for hit in hits if hit.first >= first and hit.end <= last]
        piece = text[start:end]
        local = [(at - start, to - start) for at, to in ranges[n : n + step]]
        out.append(Instance(piece, "sentence", start, end, grams(piece, inside), content(piece, inside, shown, local)))
        first = last
    out += [_alone(part.view.text, part.kind, part.start, part.end, part) for part in found if part.view.text.strip()]
    return out


SUMMARY = 11
"""Numbers of a summary before those of concepts and families."""


def summary(view: View, found: list[Instance], logits: list[float]) -> NDArray[np.float64]:
    """What the trees decide by: the weighted sums of a text's instances, its size, and its concepts and families."""
    whole = found[0]
    sentences_ = sorted((v for one, v in zip(found, logits, strict=True) if one.kind == "sentence"), reverse=True) or [logits[0]]
    hidden = [v for one, v in zip(found, logits, strict=True) if one.part is not None]
    names = len(lexicon().names)
    base = names + 2 * names * names
    out = np.zeros(SUMMARY + names + len(FAMILIES))
    count = len(whole.content.firings)
    out[:SUMMARY] = (
        logits[0], sentences_[0], sentences_[min(1, len(sentences_) - 1)], sum(sentences_) / len(sentences_), max(hidden, default=-4.0),
        np.log(len(view.text) + 1), len(sentences_), len(hidden), len(view.notes), count, count / np.log(20 + len(view.text)),
    )  # fmt: skip
    places = whole.content.places
    out[SUMMARY + places[places < names]] = 1
    out[SUMMARY + names + places[(places >= base) & (places < base + len(FAMILIES))] - base] = 1
    return out


@dataclass(frozen=True, slots=True)
class Trees:
    """Boosted regression trees; one row a tree, one column a node, a leaf is its own child."""

    base: float
    feature: NDArray[np.int64]
    limit: NDArray[np.float64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    value: NDArray[np.float64]

    def total(self, numbers: NDArray[np.float64]) -> float:
        """The sum of the leaves that the numbers lead to."""
        rows = np.arange(len(self.feature))
        node = np.zeros(len(self.feature), np.int64)
        while True:
            goes_left = numbers[self.feature[rows, node]] <= self.limit[rows, node]
            following = np.where(goes_left, self.left[rows, node], self.right[rows, node])
            if np.array_equal(following, node):
                return self.base + float(self.value[rows, node].sum())
            node = following


@dataclass(frozen=True, slots=True)
class Linear:
    """Weights over hashed n-grams and concepts."""

    idf: dict[str, NDArray[np.float32]]
    weights: dict[str, NDArray[np.float32]]
    bias: float

    def logit(self, found: Instance) -> float:
        """The weighted sum of one instance, each block scaled to length one."""
        total = self.bias
        ones = np.ones(len(found.content.places), np.float32)
        for block, places, counts in (
            ("chars", found.grams.chars, found.grams.char_counts),
            ("words", found.grams.words, found.grams.word_counts),
            ("concepts", found.content.places, ones),
        ):
            values = counts * self.idf[block][places]
            length = float(np.sqrt(values @ values))
            if length:
                total += float(values @ self.weights[block][places]) / length
        return total


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the weights say of one text."""

    logit: float
    """Above `Model.threshold`: orders to an AI."""
    view: View
    instances: list[Instance]
    logits: list[float]


@dataclass(frozen=True, slots=True)
class Model:
    """Linear weights judge each instance of a text, trees weigh these judgements, and each way of hiding words adds something."""

    linear: Linear
    trees: Trees
    notes: dict[str, float]
    threshold: float

    def judge(self, text: str) -> Judgement:
        """Judge a text."""
        view = normalise(text)
        found = instances(view, parts(view))
        logits = [self.linear.logit(one) for one in found]
        logit = combine(view, found, logits, self.trees, self.notes)
        return Judgement(logit, view, found, logits)

    def calibrated(self, logit: float, shift: float = 0.0) -> float:
        """0..1 with .5 at the threshold lowered by `shift`."""
        return float(1 / (1 + np.exp(-np.clip(logit - self.threshold + shift, -30, 30))))


def combine(view: View, found: list[Instance], logits: list[float], trees: Trees, notes: dict[str, float]) -> float:
    """The logit of a text: what the trees say, at least what the weights say of a decoded part, more for each way of hiding words."""
    decoded = [logit + DECODED for one, logit in zip(found, logits, strict=True) if one.part is not None and one.part.decoded]
    return max(trees.total(summary(view, found, logits)), *decoded, -30.0) + sum(notes.get(note, 0.0) for note in view.notes)


@cache
def model() -> Model:
    """The weights of this package, read once."""
    folder = Path(__file__).parent
    described = json.loads((folder / "MODEL.json").read_text("utf-8"))
    with np.load(folder / "weights.npz", allow_pickle=False) as arrays:
        idf = {block: arrays[f"{block}_idf"].astype(np.float32) for block in BLOCKS}
        weights = {block: arrays[f"{block}_weights"].astype(np.float32) for block in BLOCKS}
        trees = Trees(
            described["trees_base"],
            arrays["trees_feature"].astype(np.int64),
            arrays["trees_limit"],
            arrays["trees_left"].astype(np.int64),
            arrays["trees_right"].astype(np.int64),
            arrays["trees_value"],
        )
    return Model(Linear(idf, weights, described["bias"]), trees, described["notes"], described["threshold"])
