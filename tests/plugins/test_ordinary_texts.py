"""Plain short texts stay plain: through the three default plugins as they ship, none is raised, has a topic, or reads like orders."""

from __future__ import annotations

from functools import cache
from itertools import product
from pathlib import Path

import pytest
from memscope_instructions import memscope_detect_instructions
from memscope_secrets import memscope_detect_secrets
from memscope_spacy import memscope_classify_sensitivity

from memscope.contracts.guard import GuardContext, TopicDescription
from memscope.model.memory import Sensitivity
from memscope.organizations.topics import built_in_topics

SENTENCES = (Path(__file__).parent.parent / "data" / "ordinary_short.txt").read_text(encoding="utf-8").splitlines()
"""Written for this test; the shipped weights are trained on none of them. Near misses (error budget, code review, ...) are among them."""
NAMES = (
    "Zanele Mokoena", "Björn Åkesson", "María José Ibáñez", "Wojciech Żak", "Nguyễn Thị Mai", "Aoife Ní Bhriain", "Giorgos", "Amina",
    "Tremont & Sons", "Volkshaus AG", "Kestrel Systems", "Oakfield Bakery", "Hotel Adria", "Lindqvist", "Nordwind",
    "Reykjavík", "São Paulo", "Ulaanbaatar", "Baden-Baden", "Lake Titicaca", "Kyōto", "Falcon 9", "Nightingale", "Ганна Шевчук",
    "田中さくら", "김민준", "李娜", "ليلى حداد", "प्रिया शर्मा", "Dr. Okonkwo", "St. James", "Elm Street",
)  # fmt: skip
TELLING_NAMES = ("Lindqvist Legal", "Mercy Hospital", "Goldcrest Capital", "Banco del Sur", "Judge Judy", "Court Street", "Cash & Carry")
"""Names that say a subject word. At the beginning of a sentence a capital does not tell them from the word."""
FRAMES = (
    "{one}",
    "{one}, {other}",
    "{one} and {other}",
    "We met {one} in the corridor.",
    "The picture shows {one} with {other}.",
    "{one} is the answer to question five.",
    "Route: {one}, then {other}.",
    "The room is called {one}.",
    "{one} waves at {other}.",
    "Postcard from {one}.",
    "{one} liegt neben {other}.",
    "Voici {one} et {other}.",
    "Aquí está {one}.",
    "To jest {one}.",
    "Это {one}.",
)


@cache
def context() -> GuardContext:
    """An organization as it is at the start."""
    return GuardContext(
        topics=tuple(TopicDescription(t.key, t.name, t.aliases, t.description, t.phrases, t.sensitivity) for t in built_in_topics())
    )


def said(text: str) -> tuple[bool, tuple[str, ...], bool, int]:
    """Whether it is above internal, its topics, whether it reads like orders, and how many secrets it holds."""
    verdict = memscope_classify_sensitivity(text, context())
    orders = memscope_detect_instructions(text, context())
    assert verdict is not None
    assert orders is not None
    topics = tuple(match.key for match in verdict.topics)
    return verdict.sensitivity > Sensitivity.INTERNAL, topics, orders.flag, len(memscope_detect_secrets(text) or ())


def test_there_are_enough_of_them() -> None:
    assert len(set(SENTENCES)) >= 150


@pytest.mark.parametrize("text", SENTENCES)
def test_an_ordinary_sentence_is_nothing_else(text: str) -> None:
    assert said(text) == (False, (), False, 0)


def test_names_alone_never_raise_a_level() -> None:
    """Every frame with every name, and a second name that goes round."""
    raised = []
    for place, (frame, name) in enumerate(product(FRAMES, NAMES)):
        text = frame.format(one=name, other=NAMES[(place * 7 + 3) % len(NAMES)])
        verdict = memscope_classify_sensitivity(text, context())
        assert verdict is not None
        if verdict.sensitivity > Sensitivity.INTERNAL:
            raised.append((text, verdict.sensitivity.label))
    assert raised == []


@pytest.mark.parametrize("name", TELLING_NAMES)
@pytest.mark.parametrize("frame", ["We met {name} in the corridor.", "The room is called {name}.", "The bus stops at {name} at noon."])
def test_a_name_that_says_a_subject_word_raises_nothing_inside_a_sentence(frame: str, name: str) -> None:
    verdict = memscope_classify_sensitivity(frame.format(name=name), context())
    assert verdict is not None
    assert verdict.sensitivity <= Sensitivity.INTERNAL


@pytest.mark.parametrize("number", range(4))
def test_names_beside_an_ordinary_sentence_raise_nothing(number: int) -> None:
    raised = []
    for place, sentence in enumerate(SENTENCES):
        frame = FRAMES[(place * 3 + number) % len(FRAMES)]
        one, other = NAMES[(place * 5 + number * 7) % len(NAMES)], NAMES[(place + number) % len(NAMES)]
        text = f"{sentence} {frame.format(one=one, other=other)}"
        verdict = memscope_classify_sensitivity(text, context())
        assert verdict is not None
        if verdict.sensitivity > Sensitivity.INTERNAL:
            raised.append((text, verdict.sensitivity.label))
    assert raised == []
