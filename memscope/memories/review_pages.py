"""The review queue page by page, with filters, as a person looks through it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice

from memscope.contracts.storage import Browse, Listing, Transaction
from memscope.core import Core
from memscope.memories.browse import open_cursor, seal_cursor
from memscope.memories.review import Queue, queue_items
from memscope.model.audience import Permission
from memscope.model.memory import Memory
from memscope.model.organization import Roster
from memscope.model.principal import Principal
from memscope.model.review import GRAVITY
from memscope.policy.permissions import may
from memscope.work import read

PAGE = 50
BATCH = 100
RANKED = 1_000
"""By demand, so many of the longest waiting are put in order."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which of what waits, and in which order."""

    kind: str | None = None
    """Only what waits for this above all: a flag."""
    mine: bool = False
    """Only what the person saved."""
    by_demand: bool = False
    """What recalls returned most often first, instead of what waits longest."""


@dataclass(frozen=True, slots=True)
class Neighbour:
    """Where a page beside this one begins, and the memory of it that is next to this page."""

    cursor: str | None
    """None: at the start."""
    number: int


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the queue."""

    queue: Queue
    """Its items, and how much waits in all, filtered or not."""
    met: Mapping[str, int]
    """Memory id -> how often recalls returned it."""
    before: Neighbour | None
    after: Neighbour | None


def review_page(core: Core, principal: Principal, wanted: Wanted, cursor: str | None = None, limit: int = PAGE) -> Page:
    """A page of what waits for the person's decision. InvalidArgument for a cursor of another list.

    A page past the end of what still waits is the first one.
    """
    sealed_to = [principal.person, "review", wanted.kind, "mine" if wanted.mine else None, "demand" if wanted.by_demand else None]
    after = open_cursor(core, cursor, sealed_to) if cursor is not None else None

    def use(transaction: Transaction, roster: Roster, _: object) -> Page:
        reader = roster.readers[principal.person]
        listing = Browse(Listing.REVIEW, BATCH, core.clock(), author=principal.person if wanted.mine else None)

        def fits(memory: Memory) -> bool:
            gravest = min(memory.flags, key=GRAVITY.index, default=None)
            return gravest is not None and wanted.kind in (None, gravest.value) and may(reader, Permission.REVIEW, memory)

        def seal(memory: Memory) -> str:
            return seal_cursor(core, listing.position(memory), sealed_to)

        order = _by_demand(core, principal, transaction, listing, fits) if wanted.by_demand else _by_age(transaction, listing, fits)
        found = list(islice(order(after, False), limit + 1))
        start = after if found else None
        if start is None and after is not None:
            found = list(islice(order(None, False), limit + 1))
        following = Neighbour(seal(found[limit - 1]), found[limit].number) if len(found) > limit else None
        before = None
        if start is not None and (preceding := list(islice(order(listing.position(found[0]), True), limit + 1))):
            before = Neighbour(seal(preceding[limit]) if len(preceding) > limit else None, preceding[0].number)
        shown = found[:limit]
        counts = core.usage.met(principal.organization, [memory.id for memory in shown])
        met = {memory: one.count for memory, one in counts.items()}
        items = queue_items(core, principal, transaction, roster, shown)
        return Page(Queue(items, transaction.count_reviews()), met, before, following)

    return read(core, principal, use)


_Order = Callable[[tuple[datetime, str] | None, bool], Iterator[Memory]]
"""What comes after a position of the queue (None: the start), or before it, nearest first."""


def _by_age(transaction: Transaction, listing: Browse, fits: Callable[[Memory], bool]) -> _Order:
    def order(after: tuple[datetime, str] | None, backwards: bool) -> Iterator[Memory]:
        while True:
            batch = transaction.browse(replace(listing, after=after, backwards=backwards))
            yield from filter(fits, batch)
            if len(batch) < listing.limit:
                return
            after = listing.position(batch[-1])

    return order


def _by_demand(core: Core, principal: Principal, transaction: Transaction, listing: Browse, fits: Callable[[Memory], bool]) -> _Order:
    waiting = list(islice(_by_age(transaction, listing, fits)(None, False), RANKED))
    counts = core.usage.met(principal.organization)

    def rank(position: tuple[datetime, str]) -> tuple[int, datetime, str]:
        known = counts.get(position[1])
        return (0 if known is None else -known.count, *position)

    def ranked(memory: Memory) -> tuple[int, datetime, str]:
        return rank(listing.position(memory))

    def order(after: tuple[datetime, str] | None, backwards: bool) -> Iterator[Memory]:
        in_order: Sequence[Memory] = sorted(waiting, key=ranked, reverse=backwards)
        if after is None:
            return iter(in_order)
        here = rank(after)
        return (memory for memory in in_order if (ranked(memory) < here if backwards else ranked(memory) > here))

    return order
