"""What recall finds a memory by: terms and vectors of its open text, with who said it and when."""

from __future__ import annotations

from datetime import datetime

from memscope.contracts.embedding import Vectors
from memscope.contracts.storage import IndexEntry
from memscope.core import Core
from memscope.model.memory import Memory
from memscope.model.organization import Roster
from memscope.text.analyse import terms
from memscope.text.normalise import indexed


def passage_vectors(core: Core, open_text: str, author_name: str, created_at: datetime) -> Vectors | None:
    """One vector for each passage of a text, each passage headed by author and date; None while no model is loaded."""
    return core.embedding.passages(open_text, heading=lambda passage: indexed(passage, author_name, created_at))


def index_entry(core: Core, memory: Memory, roster: Roster, vectors: Vectors | None) -> IndexEntry:
    """The entry of a memory whose vectors were made before the transaction."""
    text = indexed(memory.open_text, roster.people[memory.author].name, memory.created_at)
    return IndexEntry(tuple(terms(text)), core.embedding.model.identity if vectors is not None else None, vectors)
