"""How often one connection may call."""

from __future__ import annotations

from pathlib import Path

import pytest

from memscope.errors import RateLimited
from memscope.mcp_server.limits import Limits


def test_a_minutes_calls_at_once_and_then_at_the_even_rate() -> None:
    now = [0.0]
    limits = Limits(3, clock=lambda: now[0])
    for _ in range(3):
        limits.take("a")
    with pytest.raises(RateLimited) as caught:
        limits.take("a")
    assert caught.value.details["retry_after_s"] == 20
    now[0] = 15.0
    with pytest.raises(RateLimited) as caught:
        limits.take("a")
    assert caught.value.details["retry_after_s"] == 5
    now[0] = 20.0
    limits.take("a")
    with pytest.raises(RateLimited):
        limits.take("a")


def test_connections_do_not_share_a_limit() -> None:
    limits = Limits(1, clock=lambda: 0.0)
    limits.take("a")
    limits.take("b")


def test_waiting_long_saves_up_no_more_than_a_minute() -> None:
    now = [0.0]
    limits = Limits(2, clock=lambda: now[0])
    limits.take("a")
    now[0] = 10_000.0
    limits.take("a")
    limits.take("a")
    with pytest.raises(RateLimited):
        limits.take("a")


def test_processes_with_one_file_count_together(tmp_path: Path) -> None:
    one, two = (Limits(3, clock=lambda: 5.0, file=tmp_path / "limits") for _ in range(2))
    one.take("a")
    two.take("a")
    one.take("a")
    with pytest.raises(RateLimited):
        two.take("a")
    two.take("b")


def test_very_many_connections_keep_their_own_counts() -> None:
    limits = Limits(2, clock=lambda: 0.0)
    names = [f"connection {number}" for number in range(8_000)]
    for name in names:
        limits.take(name)
    for name in names:
        limits.take(name)
    for name in names[::100]:
        with pytest.raises(RateLimited):
            limits.take(name)


def test_a_table_full_of_callers_lets_new_ones_in() -> None:
    limits = Limits(1, clock=lambda: 0.0)
    for number in range(40_000):
        limits.take(f"connection {number}")
