"""Exact search over a few memories: cosines with numpy, words by the share of the question that they cover."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from math import log

from memscope.contracts.embedding import Vectors
from memscope.contracts.storage import Hit, Question
from memscope.model.memory import Memory
from memscope_inprocess.tenant import Stored


def similarity(stored: Stored, vector: Vectors, model: str) -> float | None:
    """Cosine of the passage nearest to a vector; None when the memory has no vectors of the model."""
    passages = stored.vectors.get(model)
    return None if passages is None or not len(passages) else float((passages @ vector).max())


def neighbours(readable: Iterable[Memory]) -> dict[str, tuple[str, ...]]:
    """Memory id → ids of the memories saved just before and after it in the same run, among those given."""
    runs: defaultdict[str, list[str]] = defaultdict(list)
    for memory in sorted(readable, key=lambda memory: (memory.created_at, memory.id)):
        if memory.provenance.run_id is not None:
            runs[memory.provenance.run_id].append(memory.id)
    return {id_: tuple(run[max(0, here - 1) : here] + run[here + 1 : here + 2]) for run in runs.values() for here, id_ in enumerate(run)}


def find(passing: Sequence[Stored], question: Question) -> list[Hit]:
    """The best candidates of both legs among memories that are all within the reach and the filters."""
    held = {stored.memory.id: frozenset(question.terms).intersection(stored.terms) for stored in passing}
    idf = {}
    for term in question.terms:
        holding = sum(1 for terms in held.values() if term in terms)
        idf[term] = log(1 + (len(passing) - holding + 0.5) / (holding + 0.5))
    hits = []
    for stored in passing:
        memory, matched = stored.memory, tuple(term for term in question.terms if term in held[stored.memory.id])
        words = sum(idf[term] for term in matched) / sum(idf.values()) if matched else 0.0
        near = None
        if question.vector is not None and question.model is not None:
            near = similarity(stored, question.vector, question.model)
        hits.append(Hit(memory.id, memory.author, memory.created_at, memory.provenance.run_id, near, words, matched))
    by_vector = sorted((hit for hit in hits if hit.similarity is not None), key=lambda hit: (-(hit.similarity or 0), hit.memory))
    by_words = sorted((hit for hit in hits if hit.matched), key=lambda hit: (-hit.words, hit.memory))
    chosen = {hit.memory: hit for hit in (*by_vector[: question.candidates], *by_words[: question.candidates])}
    return list(chosen.values())
