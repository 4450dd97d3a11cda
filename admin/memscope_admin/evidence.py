"""Evidence on a page: each piece where it stands in the text, with what found it, how sure, and for which topic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from memscope.memories.item import Item, Mark
from memscope.model.organization import Roster
from memscope_admin.texts import visible, words

_RULES = frozenset({"secrets"})
"""Plugins that know by rules alone."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of evidence in words."""

    number: int
    what: str
    """Such as `HR` or `override`."""
    how: str
    """Such as `a phrase of the topic`."""
    rule: bool
    """Found by a rule, not by a model."""
    percent: int
    source: str
    text: str
    """The words that it is about; empty where it is about the text as a whole."""


def pieces(item: Item, roster: Roster) -> list[Piece]:
    """The evidence of a memory that waits, in the order of the text, then what stands nowhere in it."""
    found = []
    for number, mark in enumerate((*item.marks, *item.other_findings), 1):
        text = item.text[mark.start : mark.end] if 0 <= mark.start < mark.end <= len(item.text) else ""
        found.append(_piece(number, mark, text, roster))
    return found


def _piece(number: int, mark: Mark, text: str, roster: Roster) -> Piece:
    what, how, rule = words(mark.type), "the model", False
    if mark.type.startswith("topic_"):
        topic = roster.find_topic(mark.type.removeprefix("topic_"))
        if topic is not None:
            what = topic.name
            rule = text.casefold() in {phrase.casefold() for phrase in topic.phrases}
            how = "a phrase of the topic" if rule else "the model"
    elif mark.source in _RULES or (mark.source == "instructions" and mark.type != "model"):
        how, rule = "a rule", True
    return Piece(number, what, how, rule, round(mark.confidence * 100), mark.source, text)


def marked(item: Item, found: Sequence[Piece]) -> Markup:
    """The text as HTML with its evidence in `<mark>`, each numbered, focusable and saying what it is."""
    parts, position = [], 0
    for mark, piece in zip(item.marks, found, strict=False):
        title = f"{piece.what}: {piece.how}, {piece.percent} % sure"
        parts += [
            visible(item.text[position : mark.start]),
            Markup(
                '<mark id="evidence-{0}" class="{1}" tabindex="-1" data-t="review-evidence" title="{2}">{3}<sup aria-hidden="true">{0}</sup>'
                '<span class="visually-hidden"> ({2})</span></mark>'
            ).format(piece.number, "by-rule" if piece.rule else "by-model", title, visible(item.text[mark.start : mark.end])),
        ]
        position = mark.end
    return Markup("").join([*parts, visible(item.text[position:])])
