"""Windows that follow the calendar of a place: long days, short days, months, weeks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from headgate import FixedWindow, Limiter, ManualClock, MemoryStore

MICROSECOND = timedelta(microseconds=1)
RATES = {"day": "3/day", "week": "3/week", "month": "3 per 30day"}

# calendar, zone, a local time in the window, its length in hours
LENGTHS = [
    pytest.param("day", "UTC", "2024-03-31T12:00", 24, id="a plain day"),
    pytest.param("day", "Europe/Berlin", "2024-03-31T12:00", 23, id="Berlin loses an hour"),
    pytest.param("day", "Europe/Berlin", "2024-10-27T12:00", 25, id="Berlin gains an hour"),
    pytest.param("day", "America/New_York", "2024-03-10T12:00", 23, id="New York loses an hour"),
    pytest.param("day", "America/New_York", "2024-11-03T12:00", 25, id="New York gains an hour"),
    pytest.param("day", "Pacific/Kiritimati", "2024-01-01T00:00", 24, id="fourteen hours ahead"),
    pytest.param("day", "Pacific/Pago_Pago", "2024-01-01T23:59", 24, id="eleven hours behind"),
    pytest.param("day", "Asia/Kathmandu", "2024-06-01T00:00", 24, id="five and three quarters"),
    pytest.param("week", "UTC", "2024-02-29T00:00", 168, id="a plain week"),
    pytest.param("week", "Europe/Berlin", "2024-03-31T23:59", 167, id="a week with a short Sunday"),
    pytest.param("week", "Europe/Berlin", "2024-10-21T00:00", 169, id="a week with a long Sunday"),
    pytest.param("month", "UTC", "2024-02-10T00:00", 29 * 24, id="a leap February"),
    pytest.param("month", "UTC", "2023-02-28T23:59", 28 * 24, id="a plain February"),
    pytest.param("month", "UTC", "2100-02-28T23:59", 28 * 24, id="2100 is no leap year"),
    pytest.param("month", "UTC", "2024-04-30T00:00", 30 * 24, id="April"),
    pytest.param("month", "UTC", "2024-12-31T23:59", 31 * 24, id="December"),
    pytest.param("month", "Europe/Berlin", "2024-03-01T00:00", 31 * 24 - 1, id="a short March"),
    pytest.param("month", "America/New_York", "2024-11-30T00:00", 721, id="a long November"),
]


@pytest.mark.parametrize(("calendar", "zone", "local", "hours"), LENGTHS)
def test_a_window_is_as_long_as_the_calendar_says(
    calendar: str, zone: str, local: str, hours: int
) -> None:
    limiter, clock = opened(calendar, zone, local)
    begin = clock.now() - into(calendar, zone, local)

    end = clock.now() + round(limiter.take(cost=3).retry_after * 1e6)
    ends = clock.now() + round(limiter.take().retry_after * 1e6)

    assert (end, ends - begin) == (clock.now(), hours * 3_600_000_000)


@pytest.mark.parametrize(("calendar", "zone", "local", "hours"), LENGTHS)
def test_a_window_ends_to_the_microsecond(calendar: str, zone: str, local: str, hours: int) -> None:
    limiter, clock = opened(calendar, zone, local)
    limiter.take(cost=3)
    end = clock.now() - into(calendar, zone, local) + hours * 3_600_000_000

    answers = []
    for moment in (end - 1, end):
        advance_to(clock, moment)
        answers.append(limiter.take().allowed)

    assert answers == [False, True]


@pytest.mark.parametrize(("calendar", "zone", "local", "hours"), LENGTHS)
def test_a_window_begins_to_the_microsecond(
    calendar: str, zone: str, local: str, hours: int
) -> None:
    begin = moment_of(zone, local) - into(calendar, zone, local)
    limiter, clock = at(calendar, zone, begin - 1)
    limiter.take(cost=3)

    advance_to(clock, begin)

    assert limiter.take(cost=3).allowed


def test_a_week_begins_on_monday() -> None:
    limiter, clock = opened("week", "UTC", "2024-02-25T23:59:59")
    sunday = limiter.take(cost=3)

    clock.advance(1.0)

    assert (sunday.allowed, limiter.take(cost=3).allowed) == (True, True)


def test_a_limiter_lives_through_the_months() -> None:
    limiter, clock = opened("month", "Europe/Berlin", "2023-11-15T08:00")

    admitted: dict[str, int] = {}
    for _ in range(150 * 8):
        local = (datetime(1970, 1, 1, tzinfo=UTC) + clock.now() * MICROSECOND).astimezone(
            ZoneInfo("Europe/Berlin")
        )
        admitted[f"{local:%Y-%m}"] = admitted.get(f"{local:%Y-%m}", 0) + limiter.take().allowed
        clock.advance(3 * 3600.0)

    assert admitted == dict.fromkeys(
        ["2023-11", "2023-12", "2024-01", "2024-02", "2024-03", "2024-04"], 3
    )


def test_a_debt_is_carried_into_the_next_month_and_paid_there() -> None:
    limiter, clock = opened("month", "UTC", "2024-01-20T00:00")
    limiter.debit(cost=8)

    left = []
    for local in ("2024-02-01T00:00", "2024-03-01T00:00", "2024-04-01T00:00"):
        advance_to(clock, moment_of("UTC", local))
        left.append(limiter.peek().remaining)

    # Eight owed: January pays three, February three, March two.
    assert left == [0, 1, 3]


def test_a_wait_for_the_next_month_knows_how_long_this_one_is() -> None:
    limiter, clock = opened("month", "UTC", "2024-02-28T00:00")
    limiter.take(cost=3)

    assert limiter.acquire().waited == 2 * 86_400.0


def test_a_debt_over_two_months_is_over_when_the_calendar_says() -> None:
    # From the end of January on: February has 29 days and no more.
    limiter, clock = opened("month", "UTC", "2024-01-31T00:00")
    limiter.debit(cost=6)

    clock.advance(limiter.take().retry_after)

    assert clock.now() == moment_of("UTC", "2024-03-01T00:00")


def test_a_debt_into_a_longer_month_is_kept_until_it_is_paid() -> None:
    # February has 28 days, so by its length the debt would be over three days before March is.
    clock = ManualClock(moment_of("UTC", "2023-02-10T00:00") / 1e6)
    limit = FixedWindow(RATES["month"], calendar="month")
    limiter = Limiter(limit, store=MemoryStore(capacity=8), clock=clock)
    limiter.debit("debtor", cost=6)

    advance_to(clock, moment_of("UTC", "2023-03-30T00:00"))
    for number in range(100):
        limiter.take(f"newcomer {number}")

    assert not limiter.take("debtor").allowed


@pytest.mark.parametrize("calendar", RATES)
def test_a_clock_that_goes_back_a_window_does_not_grant(calendar: str) -> None:
    limiter, clock = opened(calendar, "Europe/Berlin", "2024-03-31T12:00")
    limiter.take(cost=3)

    clock.advance(-40 * 86_400.0)

    assert not limiter.take().allowed


def test_two_limiters_of_one_limit_follow_their_own_clocks() -> None:
    limit = FixedWindow("3/day", calendar="day", zone="UTC")
    early = ManualClock(moment_of("UTC", "2024-01-01T23:59") / 1e6)
    late = ManualClock(moment_of("UTC", "2024-06-01T00:00") / 1e6)
    limiters = [Limiter(limit, clock=early), Limiter(limit, clock=late)]
    for limiter in limiters:
        limiter.take(cost=3)

    waits = [limiter.take().retry_after for limiter in limiters]

    assert waits == [60.0, 86_400.0]


def opened(calendar: str, zone: str, local: str) -> tuple[Limiter, ManualClock]:
    """A limiter of three a window, at a local time."""
    return at(calendar, zone, moment_of(zone, local))


def at(calendar: str, zone: str, moment: int) -> tuple[Limiter, ManualClock]:
    clock = ManualClock()
    advance_to(clock, moment)
    limit = FixedWindow(RATES[calendar], calendar=calendar, zone=zone)
    return Limiter(limit, clock=clock), clock


def moment_of(zone: str, local: str) -> int:
    moment = datetime.fromisoformat(local).replace(tzinfo=ZoneInfo(zone))
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // MICROSECOND


def into(calendar: str, zone: str, local: str) -> int:
    """How far into its window a local time is, by the days themselves."""
    day = datetime.fromisoformat(local)
    begin = day.replace(hour=0, minute=0, second=0)
    if calendar == "week":
        begin -= timedelta(days=day.weekday())
    if calendar == "month":
        begin = begin.replace(day=1)
    return moment_of(zone, local) - moment_of(zone, begin.isoformat())


def advance_to(clock: ManualClock, moment: int) -> None:
    """Set the clock to the microsecond, which a float of seconds since 1970 can just hold."""
    clock.set(moment / 1e6)
    assert clock.now() == moment
