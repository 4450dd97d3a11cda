"""Near duplicates that the author may read: told in answers, and the source of what a repeated text inherits."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from memscope.contracts.embedding import Vectors
from memscope.contracts.storage import Transaction
from memscope.core import Core
from memscope.guarding.route import NEARLY_EQUAL, Inherited
from memscope.model.audience import Permission
from memscope.model.memory import Memory
from memscope.model.organization import Roster
from memscope.model.principal import Principal
from memscope.policy.permissions import may
from memscope.text.analyse import terms
from memscope.text.normalise import preview
from memscope.work import read

NEIGHBOURS = 5
UPDATE = 0.75
"""Cosine from which two texts are about the same thing, so that one may be the other's newer state."""
RELATED = 0.6
SHOWN = 5
SHARED_TERMS = 0.5
"""Short texts and texts in languages that the model hardly knows come out alike; those told again share words too."""


@dataclass(frozen=True, slots=True)
class Near:
    """A memory like the text being saved."""

    memory: Memory
    similarity: float
    """Cosine of the bare texts; below `NEARLY_EQUAL` where they share too few words."""


@dataclass(frozen=True, slots=True)
class Related:
    """A memory like the one saved, for the answer."""

    id: str
    number: int
    preview: str
    similarity: float
    relation: str
    """`duplicate`, `update` or `related`."""


def near(core: Core, principal: Principal, text: str, vectors: Vectors | None) -> tuple[Near, ...]:
    """The memories most like a text that the principal may read, most alike first; none while no model is loaded.

    Stored vectors hold author and date, which make strangers alike; so the nearest by them are compared by their text.
    """
    if vectors is None:
        return ()
    some = vectors[:4]

    def use(transaction: Transaction, roster: Roster, _: object) -> list[Memory]:
        identity = core.embedding.model.identity
        ids = dict.fromkeys(memory for vector in some for memory, _ in transaction.nearest(vector, identity, NEIGHBOURS))
        reader = roster.readers[principal.person]
        return [memory for memory in transaction.memories(list(ids)).values() if may(reader, Permission.READ, memory, by_id=False)]

    candidates = read(core, principal, use)
    bare = core.embedding.texts([text, *(memory.open_text for memory in candidates)])
    if bare is None:
        return ()
    mine = frozenset(terms(text))
    found = [
        Near(memory, _alike(float(bare[0] @ vector), mine, frozenset(terms(memory.open_text)), text == memory.open_text))
        for memory, vector in zip(candidates, bare[1:], strict=True)
    ]
    return tuple(sorted((item for item in found if item.similarity >= RELATED), key=lambda item: (-item.similarity, item.memory.id)))


def _alike(cosine: float, mine: frozenset[str], theirs: frozenset[str], same: bool) -> float:
    if same:
        return 1.0
    shared = len(mine & theirs) / max(1, min(len(mine), len(theirs)))
    return min(1.0, cosine) if shared >= SHARED_TERMS else min(cosine, NEARLY_EQUAL - 0.01)


def inherited(found: Sequence[Near], *others: Memory) -> Inherited:
    """What a text inherits from memories that it nearly equals, and from those it replaces or corrects."""
    return Inherited.of(*others, *(item.memory for item in found if item.similarity >= NEARLY_EQUAL))


def related(found: Sequence[Near], content: str, leave_out: frozenset[str] = frozenset()) -> tuple[Related, ...]:
    """The answer's list. What waits as instructions, and what is replaced already, is not in it."""
    shown = [item for item in found if not item.memory.tainted and not item.memory.superseded and item.memory.id not in leave_out]
    return tuple(
        Related(item.memory.id, item.memory.number, preview(item.memory.open_text), round(item.similarity, 3), _relation(item, content))
        for item in shown[:SHOWN]
    )


_FACTS = re.compile(r"\d[\d.,:/-]*|\b(?:no|not|never|longer|without|nicht|kein\w*|ne|pas|plus|no)\b", re.IGNORECASE)


def _relation(item: Near, content: str) -> str:
    """Numbers and negations make an update of what would else be the same told again."""
    same_facts = sorted(_FACTS.findall(item.memory.open_text.lower())) == sorted(_FACTS.findall(content.lower()))
    if item.similarity >= NEARLY_EQUAL and same_facts:
        return "duplicate"
    return "update" if item.similarity >= UPDATE else "related"
