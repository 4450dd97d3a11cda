"""Insights: is memory useful and safe, in daily numbers of the whole organization, and of groups of five people or more.

Nothing here tells of one memory, one person or one query.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta

from memscope import usage
from memscope.core import Core
from memscope.errors import Forbidden, InvalidArgument
from memscope.model.organization import Role, Roster
from memscope.model.principal import Principal
from memscope.usage import Census

RANGE_MAX = 731
"""Days: two years, as long as figures are kept."""
FIGURES = (usage.SAVED, usage.RECALLED, usage.OPENED, usage.RELATED, usage.DECIDED, usage.WAITED)

Daily = Mapping[date, Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class GroupFigures:
    """A team or project; the numbers are None when too few people are in it."""

    name: str
    saved: int | None
    recalled: int | None
    live: int | None
    stale: int | None


@dataclass(frozen=True, slots=True)
class Insights:
    """The figures of a range of days."""

    days: tuple[date, ...]
    daily: Mapping[str, Daily]
    """By figure (`FIGURES`): counts by key of each day that has any."""
    totals: Mapping[str, Mapping[str, int]]
    """By figure: its totals over the range, by key."""
    empty_about: Mapping[str, int] | None
    """By topic name; None when too few people are in the organization."""
    held: Mapping[str, int] | None
    """By topic name, at the last census of the range; None as above, or when there was none."""
    census: Census | None
    groups: tuple[GroupFigures, ...]
    first: date | None
    """The first day with any figure; None when there is none yet."""
    few: bool
    """Whether too few people are in the organization to say what is asked and held by topic."""


def insights(core: Core, principal: Principal, since: date, until: date) -> Insights:
    """The figures from one day to another, both included.

    Forbidden for all but administrators; InvalidArgument for a range that is reversed or over two years.
    """
    organization = principal.organization
    roster = core.rosters.current(organization)
    if roster.people[principal.person].role is not Role.ADMIN:
        raise Forbidden("Insights are for administrators.")
    if until < since:
        raise InvalidArgument("until", f"The range is reversed: it ends on {until}, before it begins on {since}.")
    if (until - since).days >= RANGE_MAX:
        raise InvalidArgument("since", f"The range is over two years: {(until - since).days + 1} days. Figures are kept for two years.")

    few = sum(person.active for person in roster.people.values()) < usage.FEW
    counted = core.usage.census(organization, until)
    empty = core.usage.totals(organization, usage.EMPTY_ABOUT, since, until)
    return Insights(
        tuple(since + timedelta(days=offset) for offset in range((until - since).days + 1)),
        {figure: core.usage.days(organization, figure, since, until) for figure in FIGURES},
        {figure: core.usage.totals(organization, figure, since, until) for figure in FIGURES},
        empty_about=None if few else _by_topic(roster, empty),
        held=None if few or counted is None else _by_topic(roster, counted.held),
        census=counted,
        groups=_groups(core, roster, since, until, counted),
        first=core.usage.first_day(organization),
        few=few,
    )


def _by_topic(roster: Roster, counts: Mapping[str, int]) -> dict[str, int]:
    named: dict[str, int] = {}
    for topic, count in counts.items():
        name = roster.topics[topic].name if topic in roster.topics else "no topic" if topic == "none" else "a topic that was removed"
        named[name] = named.get(name, 0) + count
    return dict(sorted(named.items(), key=lambda item: (-item[1], item[0])))


def _groups(core: Core, roster: Roster, since: date, until: date, counted: Census | None) -> tuple[GroupFigures, ...]:
    saved = core.usage.totals(roster.organization.id, usage.SAVED_IN, since, until)
    recalled = core.usage.totals(roster.organization.id, usage.RECALLED_IN, since, until)
    found = []
    for group in sorted(roster.groups.values(), key=lambda group: (group.kind.value, group.name.casefold())):
        if not usage.big_enough(roster, group.id):
            found.append(GroupFigures(group.name, None, None, None, None))
            continue
        live = counted.live.get(group.id, 0) if counted else None
        stale = counted.stale.get(group.id, 0) if counted else None
        found.append(GroupFigures(group.name, saved.get(group.id, 0), recalled.get(group.id, 0), live, stale))
    return tuple(found)
