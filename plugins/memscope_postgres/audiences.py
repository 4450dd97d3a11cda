"""Audiences as small integers, and reaches turned into the variables and arrays that the queries use.

The integers never leave this package.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from memscope.contracts.storage import UnknownAudience
from memscope.model.audience import Audience, Permission, Place, Reach, Scope, Sensitivity

if TYPE_CHECKING:
    from memscope_postgres.organizations import Run

COLUMNS = "audience_id, scope, group_id, person_id, sensitivity, topics, held"


def key_values(audience: Audience) -> tuple[str, str | None, str | None, int, list[str], bool]:
    """The columns beside the id."""
    place = audience.place
    return place.scope.value, place.group, place.person, int(audience.sensitivity), sorted(audience.topics), audience.held


def from_row(row: tuple[Any, ...]) -> tuple[int, Audience]:
    """An id and its audience from a row of `COLUMNS`."""
    number, scope, group, person, sensitivity, topics, held = row
    return number, Audience(Place(Scope(scope), group, person), Sensitivity(sensitivity), frozenset(topics), held)


def array(values: Iterable[int | str]) -> str:
    """Values as the text of an array; they hold no comma or quote."""
    return "{" + ",".join(map(str, values)) + "}"


class Audiences:
    """The audiences of one organization as far as this process has seen them: they only ever grow."""

    def __init__(self, organization: str) -> None:
        self._organization = organization
        self._lock = threading.Lock()
        self._ids: dict[Audience, int] = {}
        self._values: dict[int, Audience] = {}
        self._last = 0

    def load(self, run: Run) -> None:
        """Read those that are new, in whatever transaction `run` is."""
        rows = run(
            f"SELECT {COLUMNS} FROM memscope.audience WHERE org_id = %s AND audience_id > %s ORDER BY audience_id",
            (self._organization, self._last),
        ).fetchall()
        with self._lock:
            for number, audience in map(from_row, rows):
                self._ids[audience] = number
                self._values[number] = audience
                self._last = max(self._last, number)

    def up_to(self, last: int) -> frozenset[Audience]:
        """Those with ids up to one."""
        with self._lock:
            return frozenset(audience for audience, number in self._ids.items() if number <= last)

    def id(self, run: Run, audience: Audience) -> int:
        """The id of one; UnknownAudience when storage has none."""
        if (number := self._ids.get(audience)) is None:
            self.load(run)
            if (number := self._ids.get(audience)) is None:
                raise UnknownAudience(audience)
        return number

    def value(self, run: Run, number: int) -> Audience:
        """The audience with an id."""
        if (audience := self._values.get(number)) is None:
            self.load(run)
            audience = self._values[number]
        return audience

    def ids(self, audiences: frozenset[Audience], load: Callable[[], None]) -> frozenset[int]:
        """The ids of a set. One that storage does not know has no memories and is left out."""
        found = [self._ids.get(audience) for audience in audiences]
        if None in found:
            load()
            found = [self._ids.get(audience) for audience in audiences]
        return frozenset(number for number in found if number is not None)


@dataclass(frozen=True, eq=False)
class Terms:
    """A reach in the database's terms: sets of ids. Compared by identity, as reaches are."""

    person: str
    anybody: frozenset[int]
    mine: frozenset[int]
    """Beyond `anybody`, for the author: 2a while every version is the author's own, 2a + 1 when somebody else changed the text."""
    reviewer: frozenset[int]
    revealed: frozenset[str]
    forgotten: bool
    """Whether forgotten memories show: a reach for RESTORE."""

    def opens(self, audience: int, author: str, own: bool) -> bool:
        """Whether an audience is open to this person, as anybody or as the author."""
        return audience in self.anybody or (author == self.person and 2 * audience + (not own) in self.mine)

    def within(self, audiences: frozenset[int]) -> Terms:
        """What a hard filter leaves of it for searching."""
        mine = frozenset(number for number in self.mine if number // 2 in audiences)
        return replace(self, anybody=self.anybody & audiences, mine=mine)

    @cached_property
    def arrays(self) -> dict[str, str]:
        """The parameters of the queries."""
        return {"me": self.person, "anybody": array(self.anybody), "mine": array(self.mine), "reviewer": array(self.reviewer)}


class Translation:
    """Remembers the terms of each reach for as long as somebody holds the reach."""

    def __init__(self) -> None:
        self._terms: WeakKeyDictionary[Reach, Terms] = WeakKeyDictionary()

    def of(self, reach: Reach, audiences: Audiences, load: Callable[[], None]) -> Terms:
        """The terms of a reach; `load` reads audiences that are not known yet."""
        if (terms := self._terms.get(reach)) is None:
            author = audiences.ids(reach.author - reach.anybody, load)
            coauthor = audiences.ids(reach.coauthor - reach.anybody, load)
            terms = self._terms[reach] = Terms(
                person=reach.person,
                anybody=audiences.ids(reach.anybody, load),
                mine=frozenset([2 * number for number in author] + [2 * number + 1 for number in coauthor]),
                reviewer=audiences.ids(reach.reviewer, load),
                revealed=reach.revealed if reach.permission is Permission.READ else frozenset(),
                forgotten=reach.permission is Permission.RESTORE,
            )
        return terms
