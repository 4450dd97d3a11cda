"""Cutting a text into passages that fit the model's window."""

from __future__ import annotations

import re
from collections.abc import Sequence

#: Where a passage had best end, best first: paragraph, sentence (also of scripts without spaces), line, clause, space.
_ENDS = tuple(re.compile(pattern) for pattern in (r"\n\s*\n", r"[.!?…]['\")\]]*\s+|[。！？།။។]", r"\n", r"[;:,，、；：]\s*", r"\s+"))


def cut(text: str, offsets: Sequence[tuple[int, int]], limit: int) -> list[str]:
    """Passages of at most `limit` tokens each, in order; joined they are the text. `offsets` are the tokens' places."""
    passages, start, first = [], 0, 0
    while len(offsets) - first > limit:
        # up to here it fits; look for a good end in the second half of that, so that passages do not get tiny
        furthest = offsets[first + limit][0]
        earliest = offsets[first + limit // 2][0]
        end = _best_end(text, earliest, furthest)
        passages.append(text[start:end])
        start = end
        while first < len(offsets) and offsets[first][0] < end:
            first += 1
    passages.append(text[start:])
    return passages


def _best_end(text: str, earliest: int, furthest: int) -> int:
    for pattern in _ENDS:
        ends = [match.end() for match in pattern.finditer(text, earliest, furthest)]
        if ends:
            return ends[-1]
    return furthest
