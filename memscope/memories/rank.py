"""Ranking: fuse the meaning and the word side into an absolute score, keep one voice from filling the page. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from itertools import islice

from memscope.contracts.storage import Hit, Question
from memscope.model.memory import Memory

MEANING = 0.5
"""Weight of the meaning side; the word side has the rest (docs/benchmarks.md has what other weights gave)."""
NEIGHBOUR = 0.4
"""How much of what is missing to 1 a memory gets from its better neighbour in the same run."""
IMPORTANCE = 0.05
"""Importance 1 raises a score by this share over importance 0."""
LIFT = 0.15
"""Lying in a named team or project raises a score by this share."""
WINDOW = 10
"""The half-page rule counts in windows of so many results."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate and how good a match it is."""

    hit: Hit
    score: float
    """0..1, absolute: it depends on the question and the memory (and its neighbours in the run), not on what else was found."""


def rank(hits: Sequence[Hit], question: Question) -> list[Ranked]:
    """Fuse the two sides, best first; equal ones by newest and id.

    Neither side is stretched to fill 0..1, so that the best of bad matches stays a bad match.
    """
    base = {hit.memory: _base(hit, question) for hit in hits}
    ranked = []
    for hit in hits:
        nearby = max((base.get(other, 0.0) for other in hit.neighbours), default=0.0)
        ranked.append(Ranked(hit, base[hit.memory] + NEIGHBOUR * nearby * (1 - base[hit.memory])))
    return in_order(ranked)


def lifted(ranked: Ranked, memory: Memory, groups: Set[str]) -> Ranked:
    """The candidate raised by its importance and by lying in a group asked for; a bad match stays a bad one."""
    factor = 1 + IMPORTANCE * (memory.importance - 0.5) + (LIFT if memory.place.group in groups else 0.0)
    return Ranked(ranked.hit, min(1.0, ranked.score * factor))


def in_order(ranked: Sequence[Ranked]) -> list[Ranked]:
    """Best first; equal ones by newest and id."""
    return sorted(ranked, key=_by_score)


def _base(hit: Hit, question: Question) -> float:
    meaning = max(hit.similarity or 0.0, 0.0)
    if question.vector is None:
        return hit.words
    return MEANING * meaning + (1 - MEANING) * hit.words if question.terms else meaning


def _by_score(ranked: Ranked) -> tuple[float, float, str]:
    return -ranked.score, -ranked.hit.created_at.timestamp(), ranked.hit.memory


def falling(scores: Sequence[float]) -> list[float]:
    """Scores that never rise with rank: where a voice was kept back, what follows is not shown as better than what precedes."""
    falling, last = [], 1.0
    for score in scores:
        last = min(last, score)
        falling.append(round(last, 4))
    return falling


def one_voice_at_most_half(ordered: Iterable[Memory], limit: int, person: str) -> list[Memory]:
    """The order in which, with four or more asked for, one other author fills at most half of each window of ten while others match.

    Greedy from the top, and the same for every limit of at least four, so that the first results of a longer list are
    the shorter list.
    """
    candidates = iter(ordered)
    if limit < 4:
        return list(islice(candidates, limit))
    kept_back: list[Memory] = []
    chosen: list[Memory] = []
    while len(chosen) < limit:
        window = chosen[len(chosen) - len(chosen) % WINDOW :]

        def fits(memory: Memory, window: Sequence[Memory] = window) -> bool:
            return memory.author == person or sum(other.author == memory.author for other in window) < WINDOW // 2

        pick = next((memory for memory in kept_back if fits(memory)), None)
        if pick is not None:
            kept_back.remove(pick)
        else:
            for memory in candidates:
                if fits(memory):
                    pick = memory
                    break
                kept_back.append(memory)
        if pick is None:
            if not kept_back:
                break
            pick = kept_back.pop(0)  # nobody else matches any more
        chosen.append(pick)
    return chosen
