"""Calendar frames: where a day, a week or a month of a time zone begins and ends."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from headgate.errors import LimitError

DAY = 86_400 * 1_000_000
# What a rate spells for each: a calendar day may have 23 or 25 hours, a month 28 to 31 days.
PERIODS = {"day": DAY, "week": 7 * DAY, "month": 30 * DAY}
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def frame(now: int, calendar: str, zone: str) -> tuple[int, int, int]:
    """The number of the calendar window that `now` is in, when it begins and when it ends."""
    place = find(zone)
    today = (EPOCH + timedelta(microseconds=now)).astimezone(place).date()
    if calendar == "day":
        number, begin, end = today.toordinal(), today, today + timedelta(days=1)
    elif calendar == "week":
        begin = today - timedelta(days=today.weekday())
        number, end = (begin.toordinal() - 1) // 7, begin + timedelta(days=7)
    else:
        begin = today.replace(day=1)
        number, end = begin.year * 12 + begin.month, (begin + timedelta(days=31)).replace(day=1)
    return number, midnight(begin, place), midnight(end, place)


def midnight(day: date, place: ZoneInfo) -> int:
    """When `day` begins in `place`, in microseconds."""
    moment = datetime(day.year, day.month, day.day, tzinfo=place)
    return (moment - EPOCH) // timedelta(microseconds=1)


@lru_cache(maxsize=32)
def find(zone: str) -> ZoneInfo:
    """The time zone of that name, or an error that says how zones are named."""
    try:
        return ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise LimitError(
            f'FixedWindow: unknown time zone {zone!r}; try "UTC" or a name like "Europe/Berlin"'
        ) from None
