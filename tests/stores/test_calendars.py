"""Bookings in windows of a calendar, whose lengths differ, together with another limit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from headgate import FixedWindow, Limit, ManualClock, TokenBucket
from headgate.stores.flat.table import Table
from tests.conformance.bare import SECOND, YEAR
from tests.servers.launch import Server
from tests.service.resp.staging import RespServiceHost
from tests.stores.redis.callers import Caller
from tests.stores.remote.callers import Remote

# Never asked for more than it holds.
AMPLE = TokenBucket("1000/s")
Open = Callable[[tuple[Limit, ...]], Any]


@pytest.fixture(params=["memory", "server", "service"])
def open_ledger(request: pytest.FixtureRequest) -> Iterator[Open]:
    """Opens ledgers in memory, on a server, or on a service."""
    if request.param == "memory":
        yield lambda limits: Table(limits, 16)
    elif request.param == "server":
        server: Server = request.getfixturevalue("valkey")
        with Caller(server.url) as caller:
            yield lambda limits: caller.open(limits, clock=ManualClock())
    else:
        with RespServiceHost() as host, Remote(host.url) as remote:
            yield lambda limits: remote.open(limits, clock=ManualClock())


@pytest.mark.parametrize(
    "limit",
    [
        FixedWindow("20 per 30day", calendar="month", zone="America/New_York"),
        FixedWindow("20 per 7day", calendar="week", zone="Europe/Berlin"),
        FixedWindow("20/day", calendar="day", zone="Europe/Berlin"),
    ],
    ids=repr,
)
def test_limit_with_room_to_spare_delays_no_booking_of_a_calendar(
    open_ledger: Open, limit: Limit
) -> None:
    alone, together = Table((limit,), 16), open_ledger((limit, AMPLE))

    for month in range(1, 13):
        now = round(datetime(2027, month, 27, 12, tzinfo=UTC).timestamp()) * SECOND
        expected = book_windows(alone, f"{month}", now)

        assert book_windows(together, f"{month}", now) == expected
        assert expected == sorted({*expected})


def book_windows(ledger: Any, key: str, now: int) -> list[float]:
    """For how long bookings of whole windows wait, one after another for more than a year."""
    return [ledger.book(key, 20, now, 30 * YEAR)[0].retry_after for _ in range(14)]
