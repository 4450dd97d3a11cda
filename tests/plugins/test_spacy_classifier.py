"""The sensitivity classifier with its shipped weights: levels, topics, evidence, near misses, topics of an organization, speed."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from memscope_secrets import memscope_detect_secrets
from memscope_spacy import memscope_classify_sensitivity
from memscope_spacy.weights import TOPICS, digest

from memscope.contracts.embedding import Vectors
from memscope.contracts.guard import GuardContext, TopicDescription
from memscope.contracts.sensitivity import LOW_CONFIDENCE, SensitivityVerdict
from memscope.model.memory import Sensitivity

DATA = Path(__file__).parent.parent / "data"
PACKAGE = Path(__file__).parent.parent.parent / "plugins" / "memscope_spacy"
BUILT_IN = tuple(TopicDescription(key, key.title()) for key in TOPICS)
HERON = TopicDescription(
    "heron",
    "Project Heron",
    ("Heron", "the Sandelholt deal"),
    "The unannounced licensing of our muscle drug to Sandelholt Pharma of Copenhagen.",
    ("what the Danes pay upfront",),
)
CONTEXT = GuardContext(topics=BUILT_IN)


def verdict(text: str, *topics: TopicDescription, embed: Callable[[str], Vectors] | None = None) -> SensitivityVerdict:
    """What the hook says."""
    found = memscope_classify_sensitivity(text, GuardContext(topics=(*BUILT_IN, *topics), embed=embed))
    assert found is not None
    return found


@pytest.mark.parametrize(
    "text",
    [
        "Code review on Thursday, two approvals before merging.",
        "Query performance: the list now loads in 0.6 s after adding the index.",
        "The error budget of the search service is burnt to 12 percent this month.",
        "Terminate the worker process with SIGTERM, wait 20 seconds, then kill it.",
        "The contract tests between booking and billing fail because a field was renamed.",
        "Balance the load between both nodes, the weights are equal.",
        "Leave the window in the printer room open when you go.",
        "Die Kontrakttests zwischen den beiden Diensten laufen wieder, der Build ist grün.",
        "代码评审完成，两个小建议，可以合并。",
        "コードレビューは午前中に返してください。",
    ],
)
def test_near_misses_stay_internal(text: str) -> None:
    found = verdict(text)
    assert found.sensitivity is Sensitivity.INTERNAL
    assert found.topics == ()


@pytest.mark.parametrize(
    "text",
    [
        "Maria Kowalska and Jean Dupont meet Acme GmbH in Berlin on Monday.",
        "Dr. Priya Raman, Oluwaseun Adeyemi, Kim Min-jun: table 4.",
        "Siemens, Toyota, Carrefour, Petrobras",
    ],
)
def test_names_alone_raise_nothing(text: str) -> None:
    assert verdict(text).sensitivity is Sensitivity.INTERNAL


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("Her salary goes from 61,000 to 68,000 in March, nobody on the team may know.", "hr"),
        ("Wir kündigen ihm am Freitag, er weiß noch nichts davon.", "hr"),
        ("Elle a un cancer du sein, l'équipe sait seulement qu'elle est absente.", "hr"),
        ("Our lawyer says settle for up to 400k before the hearing, strictly confidential.", "legal"),
        ("Unpublished half-year result: loss of 4.1 million, release on Thursday, silence until then.", "finance"),
    ],
)
def test_grave_matters_are_highly_restricted_with_their_topic(text: str, topic: str) -> None:
    found = verdict(text)
    assert found.sensitivity is Sensitivity.HIGHLY_RESTRICTED
    assert topic in {match.key for match in found.topics}
    assert found.evidence


def test_public_needs_a_published_cue() -> None:
    published = verdict("The annual report was published today, revenue rose by 4 percent; download it from our website.")
    assert published.sensitivity is Sensitivity.PUBLIC
    assert {evidence.type for evidence in published.evidence} == {"published"}
    assert verdict("Revenue rose by 4 percent.").sensitivity > Sensitivity.PUBLIC


def test_only_topics_of_the_organization_are_named() -> None:
    text = "Her salary goes from 61,000 to 68,000 in March, nobody may know."
    assert memscope_classify_sensitivity(text, GuardContext()).topics == ()  # type: ignore[union-attr]


def test_spans_and_confidences_are_in_range() -> None:
    text = "Privat: die Kündigung für Jörg liegt bereit 🙂, Abfindung 40.000 €. Project Heron bleibt geheim."
    found = verdict(text, HERON)
    for span in [*(span for match in found.topics for span in match.spans), *(evidence.span for evidence in found.evidence)]:
        assert 0 <= span.start < span.end <= len(text)
        assert text[span.start : span.end].strip()
    assert all(
        0 <= number <= 1
        for number in [
            found.confidence,
            *(match.confidence for match in found.topics),
            *(evidence.confidence for evidence in found.evidence),
        ]
    )


def test_a_described_topic_works_at_once_and_ends_with_its_description() -> None:
    text = "Sandelholt wants to sign Heron on the 3rd; Copenhagen pays 40 upfront, nothing announced yet."
    assert "heron" in {match.key for match in verdict(text, HERON).topics}
    other = TopicDescription("heron", "Cafeteria", (), "Menus and opening hours of the cafeteria.", ("soup of the day",))
    assert "heron" not in {match.key for match in verdict(text, other).topics}
    assert verdict(text).sensitivity > Sensitivity.INTERNAL


def test_a_topic_mentioned_in_passing_is_never_surer_than_a_sure_low_level() -> None:
    """So the core, which raises a text by a topic that is surer than its low level, leaves it where it is."""
    seen = 0
    for line in (DATA / "sensitivity_h.jsonl").read_text(encoding="utf-8").splitlines():
        found = memscope_classify_sensitivity(json.loads(line)["text"], CONTEXT)
        assert found is not None
        if found.sensitivity <= Sensitivity.INTERNAL and found.confidence >= LOW_CONFIDENCE:
            seen += len(found.topics)
            assert all(match.confidence < found.confidence for match in found.topics)
    assert seen > 20


def test_the_name_of_a_topic_in_another_sense_is_no_match() -> None:
    assert verdict("A heron sits at the pond again, photos are in the random channel.", HERON).topics == ()


def test_a_broken_or_strange_embedder_dimension_is_left_aside() -> None:
    def embed(text: str) -> Vectors:
        return np.ones(7, dtype=np.float32)

    text = "Our lawyer says settle for up to 400k before the hearing."
    assert verdict(text, HERON, embed=embed) == verdict(text, HERON)


def test_an_embedder_is_asked_once_for_the_text_and_once_for_each_part_of_a_topic() -> None:
    asked: list[str] = []

    def embed(text: str) -> Vectors:
        asked.append(text)
        values = np.random.default_rng(len(text)).standard_normal(384).astype(np.float32)
        return np.asarray(values / np.linalg.norm(values), dtype=np.float32)

    topic = TopicDescription("quarry", "Quarry", ("the pit",), "Buying the quarry.", ("price of the quarry",))
    verdict("First note on the quarry.", topic, embed=embed)
    first = len(asked)
    verdict("Second note on the quarry.", topic, embed=embed)
    assert len(asked) == first + 1


def test_one_text_always_gets_one_verdict() -> None:
    text = "Il licenziamento parte lunedì, lui non sa niente."
    assert len({verdict(text, HERON) for _ in range(3)}) == 1


@pytest.mark.parametrize("text", ["", " ", "\u2022" * 30, "?", "\u0000", "🙂🙂"])
def test_texts_without_words_are_internal(text: str) -> None:
    assert verdict(text, HERON).sensitivity is Sensitivity.INTERNAL


@pytest.mark.parametrize("unit", ["a", "別", "do not tell ", "e\u0301", "\u2022", "1 ", "\u200d", "لا أحد ", "salary "])
def test_hostile_text_takes_bounded_time(unit: str) -> None:
    text = (unit * 8000)[:8000]
    verdict("warm", HERON)
    start = time.process_time()
    verdict(text, HERON)
    assert time.process_time() - start < 0.5


@cache
def _scored() -> tuple[dict[str, float], float, float]:
    """F1 of the built-in topics, accuracy of the level, share of the highest taken for low, on the rows in the tree."""
    told: dict[str, list[tuple[bool, bool]]] = {topic: [] for topic in TOPICS}
    right = low = highest = rows = 0
    for path in sorted(DATA.glob("sensitivity_?.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines()[::4]:
            row = json.loads(line)
            found = memscope_classify_sensitivity(row["text"], CONTEXT)
            assert found is not None
            implied = max((int(finding.sensitivity) for finding in memscope_detect_secrets(row["text"])), default=0)
            level, expected = max(int(found.sensitivity), implied), int(Sensitivity.parse(row["sensitivity"]))
            rows += 1
            right += level == expected
            highest += expected == 3
            low += expected == 3 and level < 2
            keys = {match.key for match in found.topics}
            for topic in TOPICS:
                told[topic].append((topic in row["topics"], topic in keys))
    scores = {}
    for topic, answers in told.items():
        both = sum(expected and said for expected, said in answers)
        scores[topic] = 2 * both / sum(expected + said for expected, said in answers)
    return scores, right / rows, low / highest


def test_the_shipped_weights_know_the_rows_in_the_tree() -> None:
    """Rows that they were trained on: a floor that tells broken weights, no measure of how they do elsewhere."""
    scores, accuracy, low = _scored()
    assert min(scores.values()) >= 0.85
    assert accuracy >= 0.85
    assert low <= 0.02


def test_the_weights_are_small_and_hold_no_pickle() -> None:
    assert sum(path.stat().st_size for path in PACKAGE.glob("model.*")) < 5_000_000
    with np.load(PACKAGE / "model.npz", allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    assert all(values.dtype != object for values in arrays.values())
    assert json.loads((PACKAGE / "model.json").read_text(encoding="utf-8"))["digest"] == digest(arrays)
