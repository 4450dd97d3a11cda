"""Train the shipped weights: `python -m memscope_instructions.train --data DIR`. Needs scikit-learn; the plugin itself does not.

DIR holds `train/instructions_*.jsonl` (rows by several authors) and `train/ordinary_handbooks.jsonl`. The threshold comes from
cross-validation that leaves whole authors and whole repositories out, so it is set on wording that the weights never saw.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from memscope_instructions.features import CHAR_BITS, WORD_BITS, concept_size, sentences
from memscope_instructions.model import BLOCKS, Instance, Linear, Trees, combine, instances, summary
from memscope_instructions.normalise import View, normalise
from memscope_instructions.unpack import parts

if TYPE_CHECKING:
    from numpy.typing import NDArray

SEED = 0
_WORD = re.compile(r"[^\W\d_]+")
STRENGTH = 128.0
"""Inverse regularisation of the linear weights."""
SCALE = {"chars": 1.0, "words": 0.7, "concepts": 0.4}
SIZE = {"chars": 1 << CHAR_BITS, "words": 1 << WORD_BITS, "concepts": concept_size()}
TREES = {"max_iter": 120, "learning_rate": 0.05, "max_leaf_nodes": 8, "min_samples_leaf": 20, "l2_regularization": 1.0, "max_features": 0.3}
FORESTS = 4
"""So many runs of boosting, each with a seed of its own, are averaged."""
FALSE_ALARMS = 0.03
"""Aimed at on ordinary rows of authors left out."""
HANDBOOK_ALARMS = 0.005
"""Aimed at on paragraphs of repositories left out."""
BURIED = 60
"""So many long notes are put together of each author's rows: every second with an order amid two ordinary rows, and each once with an ordinary
row amid them, or amid a handbook paragraph."""
BURIED_WEIGHT = 0.3
"""What such a note counts for the trees beside a row that somebody wrote."""
_HIDING = re.compile("encod|invis|unicode|homoglyph|split|hidden-c|embedded|spaced")
NOTES = {"tags": 4.0, "selectors": 4.0, "zero_width": 2.0, "bidi": 2.0, "look_alikes": 2.0, "styled": 2.0, "spaced": 2.0}
"""Added to the logit of a text for each way of hiding words: no ordinary row of the data has one."""


@dataclass(frozen=True, slots=True)
class Text:
    """A labelled text and what of it is judged."""

    text: str
    order: bool
    author: str
    """Author of a row, or the repository of a handbook paragraph."""
    family: str
    handbook: bool
    view: View
    instances: list[Instance]


def _text(text: str, order: bool, author: str, family: str, handbook: bool = False) -> Text:
    view = normalise(text)
    return Text(text, order, author, family, handbook, view, instances(view, parts(view)))


def read(file: Path) -> list[tuple[str, bool, str]]:
    """Rows of a labelled file: text, whether it gives orders, source."""
    rows = (json.loads(line) for line in file.read_text("utf-8").splitlines())
    return [(row["text"], row["label"] == "instructions", row["source"]) for row in rows]


def own_rows() -> list[Text]:
    """The rows of this package (`rows_*.txt`): `+` orders, `-` ordinary."""
    lines = [line for file in sorted(Path(__file__).parent.glob("rows_*.txt")) for line in file.read_text("utf-8").splitlines()]
    return [_text(line[2:].replace("\\n", "\n"), line[0] == "+", "own", "own") for line in lines if line[:2] in ("+ ", "- ")]


def load(data: Path) -> list[Text]:
    """All texts of the training folder."""
    out: list[Text] = []
    for file in sorted((data / "train").glob("instructions_?.jsonl")):
        out += [_text(text, order, file.stem[-1], source.split("/", 1)[1]) for text, order, source in read(file)]
    for text, order, source in read(data / "train" / "ordinary_handbooks.jsonl"):
        out.append(_text(text, order, "/".join(source.split(":")[0].split("/")[1:3]), "handbook", True))
    return out


def common_words(data: Path) -> list[str]:
    """Single words that many texts hold, by which unpacking tells words from noise: of rows by four authors, or of 25 paragraphs."""
    authors: dict[str, set[str]] = defaultdict(set)
    paragraphs: Counter[str] = Counter()
    for file in sorted((data / "train").glob("*_?.jsonl")):
        for line in file.read_text("utf-8").splitlines():
            for word in _WORD.findall(json.loads(line)["text"].lower()):
                authors[word].add(file.stem[-1])
    for line in (data / "train" / "ordinary_handbooks.jsonl").read_text("utf-8").splitlines():
        paragraphs.update(set(_WORD.findall(json.loads(line)["text"].lower())))
    return sorted(word for word in {*authors, *paragraphs} if len(word) > 1 and (len(authors[word]) >= 4 or paragraphs[word] >= 25))


def _rows(found: Sequence[Instance], block: str) -> tuple[list[NDArray[np.int64]], list[NDArray[np.float32]]]:
    if block == "chars":
        return [one.grams.chars for one in found], [one.grams.char_counts for one in found]
    if block == "words":
        return [one.grams.words for one in found], [one.grams.word_counts for one in found]
    return [one.content.places for one in found], [np.ones(len(one.content.places), np.float32) for one in found]


def fit_linear(texts: Sequence[Text]) -> Linear:
    """Linear weights, learnt from whole texts."""
    import scipy.sparse as sparse
    from sklearn.linear_model import LogisticRegression

    found = [text.instances[0] for text in texts]
    idf: dict[str, NDArray[np.float32]] = {}
    blocks: list[Any] = []
    for block in BLOCKS:
        places, counts = _rows(found, block)
        seen = np.bincount(np.concatenate(places), minlength=SIZE[block])
        idf[block] = (np.log((1 + len(found)) / (1 + seen)) + 1).astype(np.float16).astype(np.float32)
        values = [count * idf[block][place] for place, count in zip(places, counts, strict=True)]
        lengths = [float(np.sqrt(value @ value)) or 1.0 for value in values]
        data = np.concatenate([value / length * SCALE[block] for value, length in zip(values, lengths, strict=True)])
        starts = np.cumsum([0, *(len(place) for place in places)])
        blocks.append(sparse.csr_matrix((data, np.concatenate(places), starts), shape=(len(found), SIZE[block])))
    labels = np.array([text.order for text in texts])
    learner = LogisticRegression(C=STRENGTH, solver="liblinear", random_state=SEED).fit(sparse.hstack(blocks).tocsr(), labels)
    flat = learner.coef_[0]
    weights: dict[str, NDArray[np.float32]] = {}
    start = 0
    for block in BLOCKS:
        weights[block] = (flat[start : start + SIZE[block]] * SCALE[block]).astype(np.float16).astype(np.float32)
        start += SIZE[block]
    return Linear(idf, weights, float(learner.intercept_[0]))


def buried(texts: Sequence[Text], author: str, repository: str) -> list[Text]:
    """Long notes out of the rows of one author and the paragraphs of one repository, with a sentence or two put in after some sentence."""
    random = np.random.default_rng([SEED, ord(author[0])])
    rows = [text for text in texts if text.author == author]
    paragraphs = [text.text for text in texts if text.author == repository and 150 < len(text.text) < 900]
    orders = [text.text for text in rows if text.order and 40 < len(text.text) < 260 and not _HIDING.search(text.family)]
    ordinary = [text.text for text in rows if not text.order]

    def one(among: Sequence[str]) -> str:
        return among[int(random.integers(len(among)))]

    made: list[Text] = []
    for number in range(BURIED):
        base = one(paragraphs) if number % 2 else f"{one(ordinary)} {one(ordinary)}"
        ends = [end for _, end in sentences(base)] or [len(base)]
        cut = ends[int(random.integers(len(ends)))]
        inner = [(one(ordinary), False)] if number % 2 else [(one(orders), True), (one(ordinary), False)]
        made += [_text(f"{base[:cut].rstrip()} {text} {base[cut:].lstrip()}", order, author, "buried") for text, order in inner]
    return made


def fit_trees(numbers: NDArray[np.float64], labels: NDArray[np.bool_], weights: NDArray[np.float64]) -> Trees:
    """Trees over summaries that were made by weights which never saw their texts."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    runs = [
        HistGradientBoostingClassifier(random_state=SEED + n, early_stopping=False, **TREES).fit(numbers, labels, weights)
        for n in range(FORESTS)
    ]
    grown = [step[0].nodes for run in runs for step in run._predictors]
    width = max(len(nodes) for nodes in grown)
    shape = (len(grown), width)
    feature, left, right = np.zeros(shape, np.int64), np.tile(np.arange(width), (len(grown), 1)), np.tile(np.arange(width), (len(grown), 1))
    limit, value = np.zeros(shape), np.zeros(shape)
    for row, nodes in enumerate(grown):
        for column, node in enumerate(nodes):
            if node["is_leaf"]:
                value[row, column] = node["value"] / FORESTS
            else:
                feature[row, column], limit[row, column] = node["feature_idx"], node["num_threshold"]
                left[row, column], right[row, column] = node["left"], node["right"]
    return Trees(float(runs[0]._baseline_prediction.ravel()[0]), feature, limit, left, right, value)


@dataclass(frozen=True, slots=True)
class Fold:
    """One author and one repository that no part of a model saw, and what it says of their texts."""

    author: str
    repository: str
    texts: list[Text]
    sums: list[list[float]]
    """Of the instances of each, by linear weights that never saw them."""
    logits: NDArray[np.float64]
    """By trees that never saw them either."""
    buried: list[tuple[Text, list[float]]]
    """Long notes put together of them, with sums likewise; for the trees alone."""


def folds(texts: Sequence[Text], extra: Sequence[Text]) -> list[Fold]:
    """Leave each author out once, each time with one of the repositories."""
    authors = sorted({text.author for text in texts if not text.handbook})
    repositories = sorted({text.author for text in texts if text.handbook})
    made: list[Fold] = []
    for number, author in enumerate(authors):
        repository = repositories[number % len(repositories)]
        linear = fit_linear([*(text for text in texts if text.author not in (author, repository)), *extra])
        held = [text for text in texts if text.author in (author, repository)]
        sums = [[linear.logit(one) for one in text.instances] for text in held]
        notes = [(text, [linear.logit(one) for one in text.instances]) for text in buried(texts, author, repository)]
        made.append(Fold(author, repository, held, sums, np.zeros(len(held)), notes))
    out: list[Fold] = []
    for fold in made:
        trees = fit_trees(*_summaries([other for other in made if other is not fold], {fold.author, fold.repository}))
        logits = [combine(t.view, t.instances, sums, trees, NOTES) for t, sums in zip(fold.texts, fold.sums, strict=True)]
        out.append(replace(fold, logits=np.array(logits)))
    return out


def _summaries(held: Sequence[Fold], without: set[str]) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.float64]]:
    """Summaries, labels and weights: each text once, though a repository may be left out in two folds, and the notes put together, none of them of a
    text that is to stay unseen."""
    seen = {id(text): (text, sums) for fold in held for text, sums in zip(fold.texts, fold.sums, strict=True) if text.author not in without}
    rows = [*seen.values(), *(note for fold in held if fold.repository not in without for note in fold.buried)]
    numbers = [summary(text.view, text.instances, sums) for text, sums in rows]
    weights = np.where(np.arange(len(rows)) < len(seen), 1.0, BURIED_WEIGHT)
    return np.array(numbers), np.array([text.order for text, _ in rows]), weights


def threshold(held: Sequence[Fold]) -> float:
    """The lowest threshold with at most the false alarms aimed at, on ordinary rows and on handbooks."""
    rows = [s for fold in held for t, s in zip(fold.texts, fold.logits, strict=True) if not t.order and not t.handbook]
    books = [s for fold in held for t, s in zip(fold.texts, fold.logits, strict=True) if t.handbook]
    return float(max(np.quantile(rows, 1 - FALSE_ALARMS), np.quantile(books, 1 - HANDBOOK_ALARMS)))


def digest(arrays: Mapping[str, NDArray[Any]]) -> str:
    """SHA-256 of arrays: names, kinds, shapes and numbers. Two trainings that agree in it made the same weights."""
    total = hashlib.sha256()
    for name in sorted(arrays):
        total.update(f"{name} {arrays[name].dtype.str} {arrays[name].shape}\n".encode())
        total.update(arrays[name].tobytes())
    return total.hexdigest()


def main(arguments: Sequence[str] | None = None) -> int:
    """Train and write `weights.npz` and `MODEL.json` into the package."""
    parser = argparse.ArgumentParser(prog="memscope_instructions.train", description=__doc__)
    parser.add_argument(
        "--data", type=Path, required=True, help="folder with train/instructions_*.jsonl and train/ordinary_handbooks.jsonl"
    )
    parser.add_argument("--out", type=Path, default=Path(__file__).parent, help="folder to write to")
    parser.add_argument("--words", action="store_true", help="only write common_words.txt anew; train afterwards")
    options = parser.parse_args(arguments)
    if options.words:
        (options.out / "common_words.txt").write_text("\n".join(common_words(options.data)) + "\n", "utf-8")
        return 0
    texts, extra = load(options.data), own_rows()
    held = folds(texts, extra)
    linear, trees = fit_linear([*texts, *extra]), fit_trees(*_summaries(held, set()))
    arrays: dict[str, Any] = {
        f"{block}_{name}": getattr(linear, name)[block].astype(np.float16) for block in BLOCKS for name in ("idf", "weights")
    }
    arrays |= {f"trees_{name}": getattr(trees, name).astype(np.int16) for name in ("feature", "left", "right")}
    arrays |= {"trees_limit": trees.limit, "trees_value": trees.value}
    np.savez_compressed(options.out / "weights.npz", **arrays)
    described = {
        "version": "1",
        "bias": linear.bias,
        "trees_base": trees.base,
        "threshold": round(threshold(held), 4),
        "notes": NOTES,
        "rows": sum(not text.handbook for text in texts),
        "own_rows": len(extra),
        "handbook_paragraphs": sum(text.handbook for text in texts),
        "digest": digest(arrays),
    }
    (options.out / "MODEL.json").write_text(json.dumps(described, indent=1) + "\n", "utf-8")
    print(json.dumps(described), file=sys.stderr)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
