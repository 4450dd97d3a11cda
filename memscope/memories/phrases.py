"""How often phrases stand in the memories that somebody may read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from memscope.contracts.storage import Browse, Listing, Transaction
from memscope.core import Core
from memscope.errors import InvalidArgument
from memscope.model.audience import Permission, Reach
from memscope.model.memory import Memory
from memscope.model.organization import Roster
from memscope.model.principal import Principal
from memscope.organizations.topics import plain
from memscope.policy.permissions import may
from memscope.work import read

SAMPLE = 2000
"""How many memories are looked through, the newest first."""
PAGE = 500
RECENT = timedelta(days=90)
WIDE_FROM = 20
"""Of fewer memories nothing can be said about how wide a phrase is."""


@dataclass(frozen=True, slots=True)
class Hits:
    """How often one phrase stands in memories."""

    phrase: str
    recent: int
    """In those saved in the last 90 days."""
    all: int


@dataclass(frozen=True, slots=True)
class PhraseHits:
    """How often phrases stand in the memories that somebody may read."""

    phrases: tuple[Hits, ...]
    looked_at: int
    more: bool
    """Whether there are older memories that were not looked at."""

    @property
    def wide(self) -> tuple[Hits, ...]:
        """The phrases that stand in more than half of what was looked at."""
        return tuple(one for one in self.phrases if one.all * 2 > self.looked_at >= WIDE_FROM)


def phrase_hits(core: Core, principal: Principal, phrases: Sequence[str]) -> PhraseHits:
    """Count phrases in the newest SAMPLE memories that the person may read in lists."""
    patterns = [_pattern(phrase) for phrase in phrases]
    recent, everywhere = [0] * len(phrases), [0] * len(phrases)
    since, looked_at, more = core.clock() - RECENT, 0, False
    for memory in readable(core, principal):
        if more := looked_at == SAMPLE:
            break
        looked_at += 1
        text = plain(memory.open_text)
        for index, pattern in enumerate(patterns):
            if pattern.search(text):
                everywhere[index] += 1
                recent[index] += memory.created_at >= since
    return PhraseHits(tuple(Hits(*found) for found in zip(phrases, recent, everywhere, strict=True)), looked_at, more)


def refuse_wide(hits: PhraseHits) -> None:
    """InvalidArgument for phrases that stand in more than half of what the person may read."""
    if not hits.wide:
        return
    one, others = hits.wide[0], len(hits.wide) - 1
    raise InvalidArgument(
        "phrases",
        f"\u201c{one.phrase}\u201d is too wide: {one.all * 100 // hits.looked_at} % of {'the newest ' if hits.more else ''}"
        f"{hits.looked_at:,} memories that you may read. Say it with more words, or leave it out."
        f"{f' {others} more are as wide.' if others else ''}",
    )


def readable(core: Core, principal: Principal, after: tuple[datetime, str] | None = None, page: int = PAGE) -> Iterator[Memory]:
    """The memories that the person may read in lists, newest first, each page in a transaction of its own."""

    def use(transaction: Transaction, roster: Roster, _: Reach) -> tuple[list[Memory], bool]:
        found = transaction.browse(Browse(Listing.ALL, page, core.clock(), after=after))
        reader = roster.readers[principal.person]
        return [memory for memory in found if may(reader, Permission.READ, memory, by_id=False)], len(found) == page

    more = True
    while more:
        found, more = read(core, principal, use)
        yield from found
        after = (found[-1].created_at, found[-1].id) if found else after
        more = more and bool(found)


def _pattern(phrase: str) -> re.Pattern[str]:
    """The phrase as it stands in a `plain` text: from the beginning of a word on, where its script has such."""
    wanted = plain(phrase)
    letter = wanted[:1]
    return re.compile((r"(?<!\w)" if letter.upper() != letter.lower() or letter.isdecimal() else "") + re.escape(wanted))
