"""Text as it comes in, as it goes out, and as it is indexed."""

from __future__ import annotations

import re
import unicodedata
from datetime import UTC, datetime

from memscope.text.analyse import MONTHS

#: Characters of an author's name that go into the indexed text: more would push a passage out of the model's window.
LONGEST_INDEXED_NAME = 40

ELLIPSIS = "…"


class NulCharacter(ValueError):
    """The text holds U+0000, which no PostgreSQL text can."""


class LoneSurrogate(ValueError):
    """The text holds half of a surrogate pair, which is no character and has no UTF-8."""


def normalise(text: str) -> str:
    """The text in Unicode NFC, nothing else changed. Raises NulCharacter or LoneSurrogate."""
    if "\0" in text:
        raise NulCharacter("text holds U+0000")
    if _SURROGATE.search(text):
        raise LoneSurrogate("text holds an unpaired surrogate")
    return unicodedata.normalize("NFC", text)


def safe(text: str) -> tuple[str, int]:
    """The text without tag characters, bidi overrides and bidi isolates, and how many were left out.

    They hide text from people, or show it in another order than a machine reads it. The flags of England, Scotland and
    Wales are written with tag characters and stay, as do the joiners of emoji and of Persian.
    """
    if text.isascii():
        return text, 0
    cleaned = _UNSAFE.sub(lambda match: match.group("flag") or "", text)
    return cleaned, len(text) - len(cleaned)


def preview(text: str, limit: int = 200) -> str:
    """The text on one line in at most `limit` characters, cut after a word and with an ellipsis when it is longer."""
    line = " ".join(text.split())
    if len(line) <= limit:
        return line
    end = limit - len(ELLIPSIS)
    # the last space, unless that would drop a long stretch: scripts without spaces, keys
    space = line.rfind(" ", end - 40 if end > 60 else end // 2, end + 1)
    if space > 0:
        end = space
    while end > 0 and _joined(line, end):
        end -= 1
    return line[:end].rstrip() + ELLIPSIS


def indexed(content: str, author_name: str, created_at: datetime) -> str:
    """What is embedded and word-indexed for a memory or one passage of it: who said it and when, then the text.

    Questions name people and months far more often than texts do. The day is that of UTC, in English words.
    """
    day = created_at.astimezone(UTC) if created_at.tzinfo else created_at
    name = " ".join(author_name.split())[:LONGEST_INDEXED_NAME].rstrip()
    return f"{name} ({day.day} {MONTHS[day.month - 1].capitalize()} {day.year}): {content}"


_SURROGATE = re.compile("[\ud800-\udfff]")


def _flag(region: str) -> str:
    return "\U0001f3f4" + "".join(chr(0xE0000 + ord(letter)) for letter in region) + "\U000e007f"


_UNSAFE = re.compile(rf"(?P<flag>{'|'.join(map(_flag, ('gbeng', 'gbsct', 'gbwls')))})|[\U000e0000-\U000e007f\u202a-\u202e\u2066-\u2069]")


def _joined(line: str, end: int) -> bool:
    """Whether cutting before `line[end]` would tear a character as people see it."""
    before, after = line[end - 1], line[end]
    if after == "\u200d" or before == "\u200d" or unicodedata.category(after)[0] == "M":
        return True
    if "\U0001f3fb" <= after <= "\U0001f3ff" or "\U000e0020" <= after <= "\U000e007f":
        return True
    if _is_regional(before) and _is_regional(after):
        start = end
        while start > 0 and _is_regional(line[start - 1]):
            start -= 1
        return (end - start) % 2 == 1
    return False


def _is_regional(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"
