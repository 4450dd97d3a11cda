"""Texts of memories on a page: invisible characters made visible, evidence marked, versions compared, times in the organization's zone."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from datetime import UTC, datetime
from difflib import SequenceMatcher
from zoneinfo import ZoneInfo

from markupsafe import Markup, escape

from memscope.memories.item import Mark

_KEPT = frozenset("\n\t ")
_WORDS = re.compile(r"\s+|\w+|[^\w\s]")


def visible(text: str) -> Markup:
    """The text as HTML, with each control, format, private and tag character shown as its code in a box."""
    if text.isprintable():
        return escape(text)
    parts = []
    for character in text:
        hidden = character not in _KEPT and unicodedata.category(character) in ("Cc", "Cf", "Co", "Cn", "Zl", "Zp")
        parts.append(Markup('<span class="hidden-character">U+{:04X}</span>').format(ord(character)) if hidden else escape(character))
    return Markup("").join(parts)


def marked(text: str, marks: Sequence[Mark]) -> Markup:
    """The text as HTML with its evidence in `<mark>`; each says what found it and how sure it is."""
    parts, position = [], 0
    for mark in marks:
        title = f"{words(mark.type)}, found by {mark.source}, {mark.confidence:.0%} sure"
        parts += [
            visible(text[position : mark.start]),
            Markup('<mark data-t="review-evidence" title="{}">{}<span class="visually-hidden"> ({})</span></mark>').format(
                title, visible(text[mark.start : mark.end]), title
            ),
        ]
        position = mark.end
    return Markup("").join([*parts, visible(text[position:])])


def compared(old: str, new: str) -> Markup:
    """What became of a text, word by word: `<del>` and `<ins>`, each with its sign."""
    before, after = _WORDS.findall(old), _WORDS.findall(new)
    parts = []
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal":
            parts.append(visible("".join(before[i1:i2])))
            continue
        if i2 > i1:
            parts.append(Markup('<del><span class="sign" aria-label="removed">−</span>{}</del>').format(visible("".join(before[i1:i2]))))
        if j2 > j1:
            parts.append(Markup('<ins><span class="sign" aria-label="added">+</span>{}</ins>').format(visible("".join(after[j1:j2]))))
    return Markup("").join(parts)


def words(label: str) -> str:
    """A label such as `highly_restricted` in words."""
    return label.replace("_", " ")


def when(moment: datetime | None, zone: str) -> Markup:
    """A time in the organization's zone, with the exact time in UTC beside it for machines and on hovering."""
    if moment is None:
        return Markup("never")
    utc = moment.astimezone(UTC)
    return Markup('<time datetime="{}" title="{} UTC">{}</time>').format(
        utc.isoformat(timespec="seconds"), f"{utc:%Y-%m-%d %H:%M:%S}", f"{moment.astimezone(ZoneInfo(zone)):%Y-%m-%d %H:%M}"
    )


def several(count: int, one: str, many: str | None = None) -> str:
    """A count with its noun."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def listing(names: Sequence[str], shown: int = 5) -> str:
    """Names in a sentence: up to five, then how many more."""
    if len(names) > shown:
        return f"{', '.join(names[:shown])} and {len(names) - shown} more"
    return " and ".join((", ".join(names[:-1]), names[-1])) if len(names) > 1 else "".join(names)
