"""Usage figures: nothing is lost when workers write at once, days are the organization's, little is kept and no text."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta

import pytest
from memscope_inprocess.storage import InProcessStorage

from memscope import usage
from memscope.errors import Unavailable
from memscope.memories.noting import _topics_in
from memscope.organizations.rosters import Rosters
from memscope.testing.builders import Builder, empty, harbor
from memscope.usage import Usage

NOW = datetime(2026, 11, 30, 23, 30, tzinfo=UTC)


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    """Late on the 30th of November in UTC."""
    return Clock()


@pytest.fixture
def storage() -> InProcessStorage:
    """An empty one."""
    return InProcessStorage()


def worker(storage: InProcessStorage, clock: Clock) -> Usage:
    """The figures of one process."""
    return Usage(storage, Rosters(storage), clock)


def made(storage: InProcessStorage, organization: Builder) -> str:
    """The id of an organization that storage now has."""
    organization.store(storage)
    return organization.organization.id


def test_what_was_noted_counts_before_and_after_it_is_written(storage: InProcessStorage, clock: Clock) -> None:
    org, counted = made(storage, harbor()), worker(storage, clock)
    counted.note(org, usage.CALLS, "c1")
    counted.note(org, usage.CALLS, "c1", 2)
    counted.note(org, usage.CALLS, "c2")
    assert counted.totals(org, usage.CALLS, NOW.date()) == {"c1": 3, "c2": 1}
    counted.flush()
    counted.note(org, usage.CALLS, "c2")
    assert counted.totals(org, usage.CALLS, NOW.date()) == {"c1": 3, "c2": 2}
    assert worker(storage, clock).totals(org, usage.CALLS, NOW.date()) == {"c1": 3, "c2": 1}


def test_workers_that_write_at_once_lose_nothing(storage: InProcessStorage, clock: Clock) -> None:
    org = made(storage, harbor())
    workers = [worker(storage, clock) for _ in range(4)]

    def work(counted: Usage) -> None:
        for turn in range(100):
            counted.note(org, usage.SAVED, "note")
            counted.note(org, usage.MET, "0190aa")
            counted.note_plugin("plain", 3.0)
            if turn % 7 == 0:
                counted.flush()
        counted.flush()

    with ThreadPoolExecutor(8) as pool:
        # Each worker's calls come from two threads, as a server's do.
        list(pool.map(work, workers * 2))
    fresh = worker(storage, clock)
    assert fresh.totals(org, usage.SAVED, NOW.date()) == {"note": 800}
    assert fresh.met(org, ["0190aa"])["0190aa"].count == 800
    assert fresh.plugins()["plain"].calls == 800


def test_a_reader_sees_each_count_once_while_it_is_written(storage: InProcessStorage, clock: Clock) -> None:
    org, counted = made(storage, harbor()), worker(storage, clock)
    with ThreadPoolExecutor(2) as pool:
        for total in range(1, 60):
            counted.note(org, usage.SAVED, "note")
            writing = pool.submit(counted.flush)
            assert counted.totals(org, usage.SAVED, NOW.date()) == {"note": total}
            writing.result()


def test_what_cannot_be_written_is_kept(storage: InProcessStorage, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    org, counted = made(storage, harbor()), worker(storage, clock)
    counted.note(org, usage.SAVED, "note")

    def away(plugin: str) -> object:
        raise Unavailable

    with monkeypatch.context() as patch:
        patch.setattr(storage, "records", away)
        with pytest.raises(Unavailable):
            counted.flush()
        counted.note(org, usage.SAVED, "note")
    counted.flush()
    assert worker(storage, clock).totals(org, usage.SAVED, NOW.date()) == {"note": 2}


def test_a_day_is_the_organizations(storage: InProcessStorage, clock: Clock) -> None:
    org = made(storage, empty(timezone="Pacific/Auckland"))
    counted = worker(storage, clock)
    counted.note(org, usage.SAVED, "note")
    assert list(counted.days(org, usage.SAVED, date(2026, 11, 1), date(2026, 12, 31))) == [date(2026, 12, 1)]
    assert counted.today(org) == date(2026, 12, 1)


@pytest.mark.parametrize("days", [0, 6, 29, 89, 200, 730])
def test_a_range_holds_its_days_and_no_others(storage: InProcessStorage, clock: Clock, days: int) -> None:
    org, counted = made(storage, harbor()), worker(storage, clock)
    for back in range(0, 760, 1):
        counted.note(org, usage.SAVED, "note", day=NOW.date() - timedelta(days=back))
    counted.flush()
    found = counted.days(org, usage.SAVED, NOW.date() - timedelta(days=days))
    assert list(found) == [NOW.date() - timedelta(days=back) for back in range(days, -1, -1)]
    assert counted.days(org, usage.SAVED, NOW.date(), NOW.date() - timedelta(days=1)) == {}


def test_old_days_and_memories_that_are_gone_are_dropped(storage: InProcessStorage, clock: Clock) -> None:
    org, counted = made(storage, harbor()), worker(storage, clock)
    counted.note(org, usage.SAVED, "note", day=NOW.date() - timedelta(days=732))
    counted.note(org, usage.SAVED, "note", day=NOW.date() - timedelta(days=730))
    counted.note(org, usage.MET, "aaaa")
    counted.note(org, usage.MET, "bbaa")
    counted.note_plugin("plain", 1.0)
    counted.flush()
    clock.now += timedelta(hours=49)
    counted.prune(org, ["aaaa"])
    kept = storage.records(usage.RECORDS).keys(org, "")
    assert kept == [f"{usage.MET}/aa"]
    assert set(counted.met(org)) == {"aaaa"}


def test_of_memories_a_total_and_the_last_day_are_kept(storage: InProcessStorage, clock: Clock) -> None:
    org, counted = made(storage, harbor()), worker(storage, clock)
    counted.note(org, usage.MET, "aaaa")
    counted.flush()
    clock.now += timedelta(days=3)
    counted.note(org, usage.MET, "aaaa")
    counted.note(org, usage.MET, "bbbb", day=NOW.date())
    assert counted.met(org, ["aaaa", "cccc"]) == {"aaaa": usage.Met(2, NOW.date() + timedelta(days=3))}
    assert counted.totals(org, usage.MET, NOW.date() + timedelta(days=1)) == {"aaaa": 2}


def test_an_opened_result_counts_once_for_its_recall(storage: InProcessStorage, clock: Clock) -> None:
    org, counted = made(storage, harbor()), worker(storage, clock)
    counted.recalled(org, "c1", ["m1", "m2"])
    counted.opened(org, "c2", "m1")
    counted.opened(org, "c1", "m3")
    assert counted.totals(org, usage.OPENED, NOW.date()) == {}
    counted.opened(org, "c1", "m1")
    counted.opened(org, "c1", "m2")
    assert counted.totals(org, usage.OPENED, NOW.date()) == {"": 1}
    counted.recalled(org, "c1", ["m1"])
    clock.now += timedelta(minutes=31)
    counted.opened(org, "c1", "m1")
    assert counted.totals(org, usage.OPENED, NOW.date()) == {"": 1}


def test_the_figures_of_plugins_are_of_the_last_day(storage: InProcessStorage, clock: Clock) -> None:
    made(storage, harbor())
    counted = worker(storage, clock)
    counted.note_plugin("plain", 3.0)
    clock.now += timedelta(hours=20)
    for _ in range(19):
        counted.note_plugin("plain", 4.0)
    counted.note_plugin("plain", 900.0)
    counted.note_plugin("plain", None, ("memscope_event", "ValueError", "no"))
    found = counted.plugins()["plain"]
    assert (found.calls, found.errors) == (22, 1)
    assert found.p50_ms is not None and 2 <= found.p50_ms <= 5
    assert len(found.hours) == 24
    assert (found.hours[-1].calls, found.hours[-1].errors, found.hours[3].calls) == (21, 1, 1)
    assert found.last_error == usage.LastError("ValueError", "no", "memscope_event", clock.now)
    clock.now += timedelta(hours=5)
    counted.flush()
    assert worker(storage, clock).plugins()["plain"].calls == 21


def test_a_server_without_an_organization_counts_its_plugins_later(storage: InProcessStorage, clock: Clock) -> None:
    counted = worker(storage, clock)
    counted.note_plugin("plain", 3.0)
    counted.flush()
    assert counted.plugins()["plain"].calls == 1
    made(storage, harbor())
    counted.flush()
    assert worker(storage, clock).plugins()["plain"].calls == 1


def test_topics_are_found_as_whole_words(storage: InProcessStorage) -> None:
    org = harbor()
    roster = storage.roster(made(storage, org))
    assert _topics_in("what did hr say of chrome", roster) == {org.topics["HR"].id}
    assert _topics_in("chrome", roster) == set()
