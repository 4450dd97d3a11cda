"""Words, concepts and features of the sensitivity classifier: places, scripts, bounded work."""

from __future__ import annotations

import json
import time
from importlib.resources import files

import pytest
from memscope_spacy.features import Analysis, grams, lexical
from memscope_spacy.lexicon import Lexicon, lexicon
from memscope_spacy.words import words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Kündigung für Zoë", ["kundigung", "fur", "zoe"]),
        ("ŁÓDŹ, Straße; ﬁne", ["lodz", "strasse", "fine"]),
        ("l'avocat d’Élise", ["l'avocat", "d'elise"]),
        ("لا أحد يَعلم", ["لا", "احد", "يعلم"]),
        ("कैंसर का इलाज", ["कैंसर", "का", "इलाज"]),
        ("ｆｕｌｌ ｗｉｄｔｈ", ["full", "width"]),
    ],
)
def test_words_lose_case_and_accents(text: str, expected: list[str]) -> None:
    assert [word.text for word in words(text)] == expected


def test_places_point_at_the_original_text() -> None:
    text = "Die Kündigung: 王工年薪 \u2022\u2022\u2022\u2022 E\u0301t\u00e9."
    for word in words(text):
        assert text[word.start : word.end].strip()
        assert not any(character.isspace() for character in text[word.start : word.end])


@pytest.mark.parametrize(
    ("text", "concept", "found"),
    [
        ("Die Kündigung liegt bereit", "dismiss", "Kündigung"),
        ("Personne ne sait qu'elle part", "secrecy", "Personne ne sait"),
        ("老陈查出肺癌，下周住院", "health", "肺癌"),
        ("ونوقّع العقد غداً", "legal", "العقد"),
        ("उसे कैंसर है", "health", "कैंसर"),
        ("Зарплата нового руководителя", "pay", "Зарплата"),
        ("연봉 협상 결과", "pay", "연봉"),
        ("It is on our website since Monday", "published", "on our website"),
    ],
)
def test_a_concept_is_found_where_it_stands(text: str, concept: str, found: str) -> None:
    assert found in {text[hit.start : hit.end] for hit in lexicon().hits(words(text)) if hit.concept == concept}


def test_a_stem_needs_the_beginning_of_a_word_and_a_phrase_all_its_words() -> None:
    small = Lexicon({"one": ["legal*"], "two": ["not a word"]})
    assert [hit.concept for hit in small.hits(words("illegal"))] == []
    assert [hit.concept for hit in small.hits(words("legally, not a word"))] == ["one", "two"]
    assert [hit.concept for hit in small.hits(words("not a sword"))] == []


def test_the_lexicon_speaks_many_languages_and_repeats_nothing() -> None:
    concepts: dict[str, list[str]] = json.loads((files("memscope_spacy") / "lexicon.json").read_text(encoding="utf-8"))
    assert len(concepts) >= 12
    for concept, entries in concepts.items():
        assert len(entries) == len(set(entries)), concept
        assert len(entries) > 40, concept


def test_features_do_not_depend_on_what_was_seen_before() -> None:
    first = Analysis("The tribunal hears the claim on Monday.")
    again = Analysis("The tribunal hears the claim on Monday.")
    lexical(Analysis("Something else entirely"))
    assert (lexical(first) == lexical(again)).all()
    assert (grams(first)[0] == grams(again)[0]).all()


@pytest.mark.parametrize("text", ["", " ", "\u2022" * 20, "\ud83d\ude00", "\u0301\u0301", "7", "."])
def test_texts_without_words_have_features(text: str) -> None:
    analysis = Analysis(text)
    assert len(lexical(analysis)) == len(lexical(Analysis("Two words")))
    places, values = grams(analysis)
    assert len(places) == len(values)


@pytest.mark.parametrize("unit", ["a", "別", "do not ", "e\u0301", "\u2022", "ก", "\u200d", "لا "])
def test_work_on_hostile_text_is_bounded(unit: str) -> None:
    text = (unit * 8000)[:8000]
    start = time.process_time()
    analysis = Analysis(text)
    lexical(analysis)
    grams(analysis)
    assert time.process_time() - start < 1
