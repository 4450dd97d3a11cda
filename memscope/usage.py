"""Usage figures: how often things happen, by day, as numbers alone. No text, no query and no person's reading habits.

Noting is cheap and done in memory; `flush` adds what was noted to daily records (the server does so once a minute and at its
end). Reading counts what this process has not written yet; what other processes have not written is missing for a minute.
A day is a day in the organization's time zone, as it was set when the thing happened.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from memscope.clock import Clock
from memscope.contracts.storage import Records, Storage
from memscope.model.organization import Roster
from memscope.organizations.rosters import Rosters

log = logging.getLogger(__name__)

RECORDS = "usage"
KEPT = timedelta(days=731)
"""Daily figures older than two years are dropped."""
HOURS_KEPT = timedelta(hours=48)
FEW = 5
"""Groups of fewer people than this are never shown by themselves."""

CALLS = "calls"
"""By connection id: tool calls."""
FLAGGED_SAVES = "flagged_saves"
"""By connection id: saves that opened a review."""
MET = "met"
"""By memory id: recalls that returned it. Kept as one total for each memory with the day it was last met, not by day."""
SAVED = "saved"
"""By kind, `none` for none: memories saved."""
SAVED_IN = "saved_in"
"""By `organization`, `personal` or group id: memories saved there. Groups of fewer than five are left out."""
RECALLED = "recalled"
"""`found` and `empty`: recalls that returned something, and nothing."""
RECALLED_IN = "recalled_in"
"""By group id: recalls that named a group or returned something of it. Groups of fewer than five are left out."""
EMPTY_ABOUT = "empty_about"
"""By topic id or `none`: empty recalls that named a topic as a filter or in their words. The words are not kept."""
OPENED = "opened"
"""Recalls of which a result was opened by its id within half an hour, on the day of the recall."""
DECIDED = "decided"
"""By resolution: reviews decided."""
WAITED = "waited"
"""`seconds` that decided reviews had waited in all, and how many were decided `in_time`."""
RELATED = "related"
"""`duplicate` and `update`: saves that nearly repeat, or seem to update, what their author could read; `superseding`: those that replaced one."""
JUDGED, DIFFERS = "judged", "differs"
"""By plugin: texts judged; and by plugin, a tab and `combined -> its own`: those on which it was not of the verdict of all together."""
SHADOW_JUDGED, SHADOW_DIFFERS = "shadow_judged", "shadow_differs"
"""The same of plugins in shadow mode, against the verdict that took effect."""

CENSUS = "census"
"""One record a day of what there is: see `Census`."""
ALL = "all"
"""In a census: all shared memories together."""
STALE_AFTER = timedelta(days=90)
MET_SHARDS = 2
"""Hex digits of a memory's id by which totals are kept together; the last ones, which are random."""
BUCKETS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
"""Upper bounds of the latency classes, in milliseconds; one more class is above."""
TRAIL_MAX = 2000
"""Connections whose last recalls are remembered, to know an opened result."""
OPEN_WITHIN = timedelta(minutes=30)


@dataclass(frozen=True, slots=True)
class Met:
    """How often recalls returned one memory."""

    count: int = 0
    last: date | None = None


@dataclass(frozen=True, slots=True)
class Census:
    """How many shared memories there were at one time, by group id and for `ALL`; held ones only by topic id (`none` for none)."""

    at: datetime
    live: Mapping[str, int]
    superseded: Mapping[str, int]
    stale: Mapping[str, int]
    """Saved at least 90 days ago and not returned by a recall in the last 90."""
    held: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class LastError:
    """The last failure of a plugin; the message is empty when it might quote a memory."""

    type: str
    message: str
    hook: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Hour:
    """What a plugin did within one hour."""

    at: datetime
    calls: int
    errors: int
    p95_ms: float | None


@dataclass(frozen=True, slots=True)
class PluginFigures:
    """What a plugin did within the last 24 hours, on all workers."""

    calls: int = 0
    errors: int = 0
    p50_ms: float | None = None
    """From latency classes: the middle one's share of it."""
    p95_ms: float | None = None
    hours: tuple[Hour, ...] = ()
    """The last 24, oldest first."""
    last_error: LastError | None = None


@dataclass(slots=True)
class _Recalled:
    """A recall whose results may be opened yet."""

    until: datetime
    day: date
    memories: frozenset[str]


@dataclass(slots=True)
class _Buffer:
    """What was noted and not written."""

    counts: dict[tuple[str, str, date], dict[str, int]] = field(default_factory=dict)
    met: dict[tuple[str, str], dict[str, tuple[int, date]]] = field(default_factory=dict)
    hours: dict[str, dict[str, list[int]]] = field(default_factory=dict)
    errors: dict[str, dict[str, str]] = field(default_factory=dict)


class Usage:
    """Counts what is used. Thread-safe; noting never raises and never waits for storage."""

    def __init__(self, storage: Storage, rosters: Rosters, clock: Clock) -> None:
        self._storage = storage
        self._rosters = rosters
        self._clock = clock
        self._buffer = _Buffer()
        self._lock = threading.Lock()
        # Held while one record moves from the buffer to storage, so that a reader sees it in just one of them.
        self._moving = threading.Lock()
        self._trail: OrderedDict[str, deque[_Recalled]] = OrderedDict()
        self._home: str | None = None

    @property
    def _records(self) -> Records:
        return self._storage.records(RECORDS)

    def today(self, organization: str) -> date:
        """The day it is in the organization's time zone."""
        return self._clock().astimezone(ZoneInfo(self._rosters.known(organization).organization.timezone)).date()

    # noting
    def note(self, organization: str, figure: str, key: str = "", count: int = 1, *, day: date | None = None) -> None:
        """Count something that happened, today unless `day` says otherwise."""
        try:
            day = day or self.today(organization)
        except Exception:
            # A figure is not worth a call: what cannot be dated is not counted.
            log.warning("a figure (%s) was not counted", figure)
            return
        with self._lock:
            if figure == MET:
                shard = self._buffer.met.setdefault((organization, key[-MET_SHARDS:]), {})
                before, _ = shard.get(key, (0, day))
                shard[key] = (before + count, day)
            else:
                counts = self._buffer.counts.setdefault((organization, figure, day), {})
                counts[key] = counts.get(key, 0) + count

    def note_plugin(self, plugin: str, milliseconds: float | None, failed: tuple[str, str, str] | None = None) -> None:
        """Count a call of a plugin: how long it took (None: it has no verdict), and what failed as (hook, type, message)."""
        try:
            now = self._clock()
        except Exception:
            log.warning("a call of plugin %s was not counted", plugin)
            return
        with self._lock:
            figures = self._buffer.hours.setdefault(_hour(now), {}).setdefault(plugin, [0] * (3 + len(BUCKETS)))
            figures[0] += 1
            if milliseconds is not None:
                figures[2 + next((place for place, most in enumerate(BUCKETS) if milliseconds <= most), len(BUCKETS))] += 1
            if failed is not None:
                figures[1] += 1
                hook, kind, message = failed
                self._buffer.errors[plugin] = {"hook": hook, "type": kind, "message": message, "at": now.isoformat()}

    def recalled(self, organization: str, connection: str, memories: Iterable[str]) -> None:
        """Note what a recall returned, so that opening one of them is known."""
        found = frozenset(memories)
        try:
            now, day = self._clock(), self.today(organization)
        except Exception:
            log.warning("a recall was not counted")
            return
        for memory in found:
            self.note(organization, MET, memory, day=day)
        with self._lock:
            trail = self._trail.setdefault(connection, deque(maxlen=5))
            trail.append(_Recalled(now + OPEN_WITHIN, day, found))
            self._trail.move_to_end(connection)
            while len(self._trail) > TRAIL_MAX:
                self._trail.popitem(last=False)

    def opened(self, organization: str, connection: str, memory: str) -> None:
        """Note that a connection opened a memory: counts once for the last recall of the connection that returned it."""
        with self._lock:
            trail = self._trail.get(connection, deque())
            now = self._clock()
            found = next((recall for recall in reversed(trail) if memory in recall.memories and recall.until >= now), None)
            if found is None:
                return
            trail.remove(found)
        self.note(organization, OPENED, day=found.day)

    # writing
    def flush(self) -> None:
        """Add what was noted to the daily records. Raises Unavailable; what was not written is kept for the next time."""
        with self._lock:
            counts, met, hours, errors = (list(part) for part in self._parts())
        for organization, figure, day in counts:
            self._move(self._buffer.counts, (organization, figure, day), organization, f"{figure}/{day.isoformat()}", _add_counts)
        for organization, shard in met:
            self._move(self._buffer.met, (organization, shard), organization, f"{MET}/{shard}", _add_met)
        home = self.home() if hours or errors else None
        if home is None:
            return
        for hour in hours:
            self._move(self._buffer.hours, hour, home, f"hour/{hour}", _add_hours)
        for plugin in errors:
            self._move(self._buffer.errors, plugin, home, f"error/{plugin}", _later)

    def _parts(self) -> tuple[dict[Any, Any], ...]:
        return self._buffer.counts, self._buffer.met, self._buffer.hours, self._buffer.errors

    def _move(self, part: dict[Any, Any], name: Any, organization: str, key: str, add: Callable[[Any, Any], Any]) -> None:
        with self._moving:
            with self._lock:
                noted = part.pop(name, None)
            if noted is None:
                return
            try:
                self._records.change(organization, key, lambda before: add(dict(before or {}), noted))
            except BaseException:
                with self._lock:
                    part[name] = add(noted, part[name]) if name in part else noted
                raise

    def drop(self, organization: str, memory: str) -> None:
        """Drop what is counted of an erased memory."""
        shard = memory[-MET_SHARDS:]
        with self._moving:
            with self._lock:
                self._buffer.met.get((organization, shard), {}).pop(memory, None)
            self._records.change(
                organization, f"{MET}/{shard}", lambda before: {name: met for name, met in (before or {}).items() if name != memory} or None
            )

    def prune(self, organization: str, alive: Iterable[str] | None = None) -> None:
        """Drop daily figures past their time, and the totals of memories that are gone when those `alive` are given."""
        oldest = (self.today(organization) - KEPT).isoformat()
        hour = _hour(self._clock() - HOURS_KEPT)
        for key in self._records.keys(organization, ""):
            figure, _, day = key.partition("/")
            if (figure == "hour" and day < hour) or (figure not in ("hour", "error", MET) and day < oldest):
                self._records.change(organization, key, lambda _: None)
        if alive is None:
            return
        known = frozenset(alive)
        for key, totals in self._records.items(organization, f"{MET}/").items():
            if totals.keys() - known:
                self._records.change(
                    organization, key, lambda before: {memory: met for memory, met in (before or {}).items() if memory in known} or None
                )

    def keep_census(self, organization: str, found: Census) -> None:
        """Keep the census of today, in place of an earlier one of the day."""
        value = {name: getattr(found, name) for name in ("live", "superseded", "stale", "held")}
        day = self.today(organization).isoformat()
        self._records.put(organization, f"{CENSUS}/{day}", value | {"at": found.at.isoformat()})

    # reading
    def census(self, organization: str, until: date | None = None) -> Census | None:
        """The last census taken up to a day (today); None when there is none."""
        last = (until or self.today(organization)).isoformat()
        days = [key for key in self._records.keys(organization, f"{CENSUS}/") if key.partition("/")[2] <= last]
        record = self._records.get(organization, days[-1]) if days else None
        if record is None:
            return None
        return Census(datetime.fromisoformat(record["at"]), record["live"], record["superseded"], record["stale"], record["held"])

    def days(self, organization: str, figure: str, since: date, until: date | None = None) -> dict[date, dict[str, int]]:
        """Counts by key of each day from `since` to `until` (today), both included; days without any are left out. Not for `met`."""
        until = until or self.today(organization)
        found: dict[date, dict[str, int]] = {}
        with self._moving:
            for prefix in _prefixes(since, until):
                for key, counts in self._records.items(organization, f"{figure}/{prefix}").items():
                    day = date.fromisoformat(key.rpartition("/")[2])
                    if since <= day <= until:
                        found[day] = dict(counts)
            with self._lock:
                for (owner, name, day), counts in self._buffer.counts.items():
                    if owner == organization and name == figure and since <= day <= until:
                        found[day] = _add_counts(found.get(day, {}), counts)
        return dict(sorted(found.items()))

    def totals(self, organization: str, figure: str, since: date, until: date | None = None) -> Mapping[str, int]:
        """Counts by key from `since` to `until` (today), both included.

        Of `met` only totals are kept: for each memory met last within these days, how often it was met ever.
        """
        if figure == MET:
            until = until or self.today(organization)
            return {memory: met.count for memory, met in self.met(organization).items() if met.last and since <= met.last <= until}
        total: dict[str, int] = {}
        for counts in self.days(organization, figure, since, until).values():
            _add_counts(total, counts)
        return total

    def met(self, organization: str, memories: Sequence[str] | None = None) -> dict[str, Met]:
        """How often recalls returned each of these memories, or each that any recall returned; those never met are left out."""
        shards = None if memories is None else {memory[-MET_SHARDS:] for memory in memories}
        found: dict[str, Any] = {}
        with self._moving:
            if shards is None or len(shards) > 16:
                for totals in self._records.items(organization, f"{MET}/").values():
                    found.update(totals)
            else:
                for shard in shards:
                    found.update(self._records.get(organization, f"{MET}/{shard}") or {})
            with self._lock:
                for (owner, _), noted in self._buffer.met.items():
                    if owner == organization:
                        _add_met(found, noted)
        wanted = found if memories is None else [memory for memory in memories if memory in found]
        return {memory: Met(found[memory][0], _day(found[memory][1])) for memory in wanted}

    def first_day(self, organization: str) -> date | None:
        """The first day with any figure; None when there is none yet."""
        with self._lock:
            days = [day for owner, _, day in self._buffer.counts if owner == organization]
        for figure in (SAVED, RECALLED, CALLS):
            days += [date.fromisoformat(key.rpartition("/")[2]) for key in self._records.keys(organization, f"{figure}/")[:1]]
        return min(days, default=None)

    def plugins(self) -> dict[str, PluginFigures]:
        """What each plugin did within the last 24 hours. Plugins are the server's, so these are of all organizations together."""
        now = self._clock()
        hours = [now.astimezone(UTC).replace(minute=0, second=0, microsecond=0) - timedelta(hours=23 - back) for back in range(24)]
        home = self.home()
        by_hour: dict[str, dict[str, list[int]]] = {}
        errors: dict[str, Any] = {}
        with self._moving:
            if home is not None:
                for prefix in sorted({hours[0].date().isoformat(), hours[-1].date().isoformat()}):
                    for key, figures in self._records.items(home, f"hour/{prefix}").items():
                        by_hour[key.partition("/")[2]] = {plugin: list(numbers) for plugin, numbers in figures.items()}
                errors = {key.partition("/")[2]: error for key, error in self._records.items(home, "error/").items()}
            with self._lock:
                for hour, figures in self._buffer.hours.items():
                    by_hour[hour] = _add_hours(by_hour.get(hour, {}), figures)
                errors |= self._buffer.errors
        names = {plugin for hour in hours for plugin in by_hour.get(_hour(hour), {})} | set(errors)
        return {plugin: _plugin(plugin, hours, by_hour, errors.get(plugin)) for plugin in names}

    def home(self) -> str | None:
        """The organization with whose records figures of the whole server are kept: the oldest; None where there is none yet."""
        if self._home is None:
            self._home = min((organization.id for organization in self._storage.organizations()), default=None)
        return self._home


def big_enough(roster: Roster, group: str) -> bool:
    """Whether a group has enough active people to be counted by itself."""
    return group in roster.groups and sum(roster.people[person].active for person in roster.memberships.get(group, ())) >= FEW


def _hour(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H")


def _day(value: date | str) -> date:
    return value if isinstance(value, date) else date.fromisoformat(value)


def _prefixes(since: date, until: date) -> list[str]:
    """Beginnings of the days' names that together hold them all: months, or years where those are fewer looks."""
    if until < since:
        return []
    months = (until.year - since.year) * 12 + until.month - since.month
    if months > 5:
        return [str(year) for year in range(since.year, until.year + 1)]
    return [f"{since.year + (since.month - 1 + n) // 12}-{(since.month - 1 + n) % 12 + 1:02}" for n in range(months + 1)]


def _add_counts(before: dict[str, int], more: Mapping[str, int]) -> dict[str, int]:
    for key, count in more.items():
        before[key] = before.get(key, 0) + count
    return before


def _add_met(before: dict[str, Any], more: Mapping[str, tuple[int, date | str]]) -> dict[str, Any]:
    for memory, (count, day) in more.items():
        known, last = before.get(memory, (0, day))
        before[memory] = [known + count, max(_day(last), _day(day)).isoformat()]
    return before


def _add_hours(before: dict[str, list[int]], more: Mapping[str, Sequence[int]]) -> dict[str, list[int]]:
    for plugin, numbers in more.items():
        before[plugin] = [a + b for a, b in zip(before.get(plugin, [0] * len(numbers)), numbers, strict=True)]
    return before


def _later(before: dict[str, str], more: dict[str, str]) -> dict[str, str]:
    return before if before.get("at", "") > more["at"] else more


def _plugin(name: str, hours: Sequence[datetime], by_hour: Mapping[str, Mapping[str, Sequence[int]]], error: Any) -> PluginFigures:
    nothing = [0] * (3 + len(BUCKETS))
    rows = [by_hour.get(_hour(hour), {}).get(name, nothing) for hour in hours]
    together = [sum(numbers) for numbers in zip(*rows, strict=True)]
    return PluginFigures(
        calls=together[0],
        errors=together[1],
        p50_ms=_quantile(together[2:], 0.5),
        p95_ms=_quantile(together[2:], 0.95),
        hours=tuple(Hour(hour, row[0], row[1], _quantile(row[2:], 0.95)) for hour, row in zip(hours, rows, strict=True)),
        last_error=None
        if error is None
        else LastError(error["type"], error["message"], error["hook"], datetime.fromisoformat(error["at"])),
    )


def _quantile(classes: Sequence[int], share: float) -> float | None:
    """A quantile in milliseconds, spread evenly within its class; None without calls."""
    total = sum(classes)
    if not total:
        return None
    wanted, below = total * share, 0
    for place, count in enumerate(classes):
        if count and below + count >= wanted:
            least = BUCKETS[place - 1] if place else 0
            most = BUCKETS[place] if place < len(BUCKETS) else BUCKETS[-1] * 2
            return round(least + (most - least) * (wanted - below) / count, 1)
        below += count
    return None
