"""The keys of the console: the one table that the key map and the help page are made from."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Key:
    """What one or several keys do."""

    keys: tuple[str, ...]
    does: str


EVERYWHERE = (
    Key(("?",), "this list"),
    Key(("/",), "to the filter or search field"),
    Key(("Esc",), "close a dialog"),
    Key(("g",), "then a letter: to a page"),
)
REVIEW = (
    Key(("a",), "approve it, or all that are ticked"),
    Key(("r",), "choose where it goes instead"),
    Key(("t",), "tighten it to its author, or all that are ticked"),
    Key(("h",), "tighten it to the level chosen"),
    Key(("o",), "open the memory"),
    Key(("w",), "why who can read it"),
    Key(("s",), "skip to the next"),
    Key(("z", "u"), "take the last decision back"),
    Key(("j", "k"), "next, previous"),
    Key(("n", "p"), "next, previous piece of evidence"),
    Key(("x", "Shift+x"), "tick this one, or all from the last ticked"),
)
