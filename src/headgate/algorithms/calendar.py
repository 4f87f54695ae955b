"""Calendar frames: where a day, a week or a month of a time zone begins and ends."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from headgate.errors import LimitError

DAY = 86_400 * 1_000_000
# What a rate spells for each: a calendar day may have 23 or 25 hours, a month 28 to 31 days.
PERIODS = {"day": DAY, "week": 7 * DAY, "month": 30 * DAY}
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Days are numbered from 1970, so that a number times its length is a time, and as small.
FIRST = EPOCH.toordinal()


def frame(now: int, calendar: str, zone: str) -> tuple[int, int, int]:
    """The number of the calendar window that `now` is in, when it begins and when it ends."""
    there = find(zone)
    today = (EPOCH + timedelta(microseconds=now)).astimezone(there).date()
    if calendar == "day":
        number, begin, end = today.toordinal() - FIRST, today, today + timedelta(days=1)
    elif calendar == "week":
        begin = today - timedelta(days=today.weekday())
        number, end = (begin.toordinal() - FIRST + 3) // 7, begin + timedelta(days=7)
    else:
        begin = today.replace(day=1)
        number, end = (
            (begin.year - 1970) * 12 + begin.month,
            (begin + timedelta(days=31)).replace(day=1),
        )
    return number, midnight(begin, there), midnight(end, there)


def midnight(day: date, there: ZoneInfo) -> int:
    """When `day` begins there, in microseconds."""
    moment = datetime(day.year, day.month, day.day, tzinfo=there)
    return (moment - EPOCH) // timedelta(microseconds=1)


def place(zone: Any) -> str:
    """The name of a time zone, if there is one of that name."""
    if not isinstance(zone, str):
        raise TypeError(f"FixedWindow: zone is the name of a time zone, not {zone!r}")
    return find(zone).key


@lru_cache(maxsize=32)
def find(zone: str) -> ZoneInfo:
    """The time zone of that name, or an error that says how zones are named."""
    try:
        return ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise LimitError(
            f'FixedWindow: zone {zone!r} is not known; try "UTC" or a name like "Europe/Berlin"'
        ) from None
