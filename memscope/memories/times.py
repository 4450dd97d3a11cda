"""Times that people and agents write."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from memscope.errors import InvalidArgument

YEARS_MAX = 5
HANDOFF_DEFAULT = timedelta(days=7)
HANDOFF_MAX = timedelta(days=30)
_TAKES = "an ISO date such as 2027-01-31 or a date and time such as 2027-01-31T18:00:00Z"


def parse_moment(parameter: str, text: str, timezone: str, *, end_of_day: bool) -> datetime:
    """The instant an ISO 8601 text means, in UTC.

    A plain date means the end of that day in the organization's time zone (with `end_of_day`), else its beginning; a
    time without a zone is in that zone. Raises InvalidArgument for anything else.
    """
    zone = ZoneInfo(timezone)
    written = text.strip()
    try:
        if len(written) <= 10:
            day = date.fromisoformat(written)
            start = datetime.combine(day + timedelta(days=1) if end_of_day else day, time(), zone)
        else:
            start = datetime.fromisoformat(written)
            if start.tzinfo is None:
                start = start.replace(tzinfo=zone)
        return start.astimezone(UTC)
    except (ValueError, OverflowError):
        raise InvalidArgument(parameter, f"{parameter} must be {_TAKES}.") from None


def parse_valid_until(text: str, timezone: str, now: datetime) -> datetime:
    """When a memory expires: in the future, within five calendar years."""
    moment = parse_moment("valid_until", text, timezone, end_of_day=True)
    if moment <= now:
        raise InvalidArgument("valid_until", "valid_until must be in the future.", hint="Leave it out for a memory that stays valid.")
    local = now.astimezone(ZoneInfo(timezone))
    # The last day counts whole, so that the same date five years on is still accepted.
    last = datetime.combine(_years_later(local.date()) + timedelta(days=1), time(), local.tzinfo)
    if moment > last:
        raise InvalidArgument("valid_until", f"valid_until must lie within {YEARS_MAX} years.")
    return moment


def parse_handoff_until(text: str | None, timezone: str, now: datetime) -> datetime:
    """When a handoff note expires: after 7 days unless said otherwise, after 30 at the latest."""
    if text is None:
        return now + HANDOFF_DEFAULT
    moment = parse_valid_until(text, timezone, now)
    # A plain date thirty days on ends up to a day later than thirty times 24 hours, and is meant.
    if moment > now + HANDOFF_MAX + timedelta(days=1 if len(text.strip()) <= 10 else 0):
        raise InvalidArgument(
            "valid_until", "A handoff note is valid for at most 30 days.", hint="Choose an earlier valid_until, or another kind."
        )
    return moment


def _years_later(day: date) -> date:
    try:
        return day.replace(year=day.year + YEARS_MAX)
    except ValueError:  # 29 February
        return day.replace(year=day.year + YEARS_MAX, day=28)
