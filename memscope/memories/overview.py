"""What the overview counts, each by itself, so that one that fails takes no other with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from memscope import usage
from memscope.contracts.storage import Browse, Listing, Transaction
from memscope.core import Core
from memscope.errors import Forbidden
from memscope.model.audience import Reach, Sensitivity
from memscope.model.organization import Role, Roster
from memscope.model.principal import Principal
from memscope.organizations.connections import STALE_AFTER, connections
from memscope.work import read

DAYS = 30


@dataclass(frozen=True, slots=True)
class Waiting:
    """Memories that wait for a decision of the person."""

    total: int
    mine: int
    """Those that the person saved."""
    oldest: datetime | None
    """Since when the longest waiting one does."""


def waiting(core: Core, principal: Principal) -> Waiting:
    """The person's review queue in numbers."""

    def use(transaction: Transaction, roster: Roster, _: Reach) -> Waiting:
        total = transaction.count_reviews()
        if not total:
            return Waiting(0, 0, None)
        found = transaction.browse(Browse(Listing.REVIEW, 1, core.clock()))
        opened = min((review.opened_at for memory in found for review in memory.reviews), default=None)
        return Waiting(total, transaction.count_reviews(mine=True), opened)

    return read(core, principal, use)


def gaps(core: Core, principal: Principal) -> Sequence[str]:
    """Names of the sensitive topics that no team guards. Texts on them are held. Forbidden for all but administrators."""
    roster = _administrators(core, principal)
    return sorted(topic.name for topic in roster.topics.values() if not topic.teams and topic.sensitivity >= Sensitivity.RESTRICTED)


def unused(core: Core, principal: Principal, *, everybody: bool) -> int:
    """How many valid connections, the person's own or `everybody`'s, nobody used for a month."""
    if everybody:
        _administrators(core, principal)
    now = core.clock()
    return sum(
        one.revoked_at is None
        and (one.expires_at is None or one.expires_at > now)
        and now - (one.last_used_at or one.created_at) >= STALE_AFTER
        for one in connections(core, principal.organization, None if everybody else principal.person)
    )


@dataclass(frozen=True, slots=True)
class Use:
    """Saves and recalls by day."""

    days: tuple[date, ...]
    saved: tuple[int, ...]
    recalled: tuple[int, ...]


def use_by_day(core: Core, principal: Principal) -> Use:
    """Saves and recalls of the organization in the last 30 days. Forbidden for all but administrators."""
    _administrators(core, principal)
    today = core.usage.today(principal.organization)
    days = tuple(today - timedelta(days=back) for back in range(DAYS - 1, -1, -1))
    saved, recalled = (core.usage.days(principal.organization, figure, days[0]) for figure in (usage.SAVED, usage.RECALLED))
    return Use(days, *(tuple(sum(counts.get(day, {}).values()) for day in days) for counts in (saved, recalled)))


def _administrators(core: Core, principal: Principal) -> Roster:
    roster = core.rosters.known(principal.organization)
    if roster.people[principal.person].role is not Role.ADMIN:
        raise Forbidden("This is for administrators.")
    return roster
