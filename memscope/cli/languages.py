"""Guessing the language of a short text, for tables of scores: by script, and by common words where it is Latin."""

from __future__ import annotations

import re
from collections import Counter

_SCRIPTS = (
    ("ja", re.compile("[\u3040-\u30ff]")),
    ("ko", re.compile("[\uac00-\ud7af\u1100-\u11ff]")),
    ("zh", re.compile("[\u4e00-\u9fff]")),
    ("th", re.compile("[\u0e00-\u0e7f]")),
    ("ar", re.compile("[\u0600-\u06ff]")),
    ("he", re.compile("[\u0590-\u05ff]")),
    ("el", re.compile("[\u0370-\u03ff]")),
    ("ru", re.compile("[\u0400-\u04ff]")),
    ("hi", re.compile("[\u0900-\u097f]")),
)
"""Japanese before Chinese: its texts hold Chinese characters too."""
_WORDS = {
    "en": "the and of to is in for that with on are this be not from by at it we you will have was our all",
    "de": "der die das und nicht ist ein eine den mit von auf für wir im zu dem sich bei werden nur noch",
    "fr": "le la les des est et dans pour une sur pas du que qui nous avec au par ne plus vous il",
    "es": "el los las una que del por para con no es en se su como más lo nos desde cuando",
    "it": "il che di per non una con del sono gli della nel è più alla dal ogni dei anche",
    "pt": "não uma para com os dos que por da do em ao são mais pela foi as à você",
    "nl": "het een van niet en dat voor met zijn op aan de wij is ook naar bij uit",
    "pl": "nie się na jest że do przez od dla są oraz po tylko jak przy już albo w z i",
    "sv": "och att det som inte på är för med av den till ett har från vi kan ska",
    "cs": "je se na že pro jsou který aby nebo při jako už od do ve není",
    "tr": "bir ve bu için ile değil olarak çok daha var gibi kadar sonra da de",
}
_SETS = {language: frozenset(words.split()) for language, words in _WORDS.items()}
_WORD = re.compile(r"[^\W\d_]+")
SHARE_LEAST = 0.2
"""Of the letters of a text that a script must have to name its language."""


def guess(text: str) -> str:
    """A language code, or `other` when nothing speaks for one."""
    letters = sum(character.isalpha() for character in text) or 1
    for language, script in _SCRIPTS:
        if len(script.findall(text)) / letters >= SHARE_LEAST:
            return language
    words = Counter(word.casefold() for word in _WORD.findall(text))
    scores = {language: sum(words[word] for word in common) for language, common in _SETS.items()}
    best = max(scores, key=lambda language: (scores[language], language == "en"))
    return best if scores[best] else "other"
