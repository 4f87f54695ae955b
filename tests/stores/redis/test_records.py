"""What a server keeps: exact numbers, for as long as they matter, by its own clock."""

from __future__ import annotations

import struct
from functools import partial

import pytest

from headgate import (
    GCRA,
    FixedWindow,
    LeakyBucket,
    Limit,
    ManualClock,
    SlidingLog,
    SlidingWindow,
    SystemClock,
    TokenBucket,
    WarmUp,
)
from headgate.stores.flat.table import Table
from headgate.stores.store import FAR
from tests.conformance.limits import LIMITS
from tests.pairs import pairs
from tests.servers.launch import Server
from tests.servers.waiting import until
from tests.servers.wire import Wire
from tests.stores.redis.callers import COLOURS, Caller
from tests.stores.redis.conftest import KINDS
from tests.stores.redis.records import moment, place, read, value

EVERY = [limit for limits in LIMITS.values() for limit in limits]
SECOND = 1_000_000
# One unit each, which does not come back while the tests run.
SCARCE: list[tuple[Limit, ...]] = [
    (TokenBucket("1 per 3650day"),),
    (GCRA("1 per 3650day"),),
    (LeakyBucket("1 per 3650day"),),
    (FixedWindow("1 per 3650day"),),
    (FixedWindow("1 per 3650day", anchor="first"),),
    (SlidingWindow("1 per 3650day"),),
    (SlidingLog("1 per 3650day"),),
    (WarmUp("1 per 3650day", period=600.0),),
    (GCRA("1 per 3650day"), SlidingLog("1 per 3650day"), TokenBucket("9/s")),
    # In pages: one unit is left for whoever takes 99.
    (SlidingLog("100 per 3650day"),),
]
scarce = pytest.mark.parametrize("limits", SCARCE, ids=lambda limits: ", ".join(map(repr, limits)))


@pytest.mark.parametrize(
    ("limit", "verb", "server"),
    pairs([*EVERY, SlidingLog("100/s")], ["take", "book", "charge", "heavy"], KINDS),
    indirect=["server"],
    ids=lambda one: one if isinstance(one, str) else repr(one),
)
def test_a_record_is_kept_until_a_second_after_it_is_as_new(
    server: Server, limit: Limit, verb: str
) -> None:
    with Caller(server.url) as caller, server.wire() as wire:
        ledger = caller.open((limit,), "kept")
        decision = {
            "take": partial(ledger.take, "k", 1, 0, 0),
            "book": lambda: ledger.book("k", 1, 0, limit.horizon)[0],
            "charge": partial(ledger.charge, "k", 1, 0, FAR),
            "heavy": partial(ledger.charge, "k", limit.heaviest, 0, FAR),
        }[verb]()

        record = read(wire, place((limit,), "kept", "k"))

    matters = round(decision.reset_after * 1e6) + limit.lasting
    # Some servers look at the clock once more before they count from it.
    assert matters <= record.until - record.written <= matters + 3 * SECOND


@pytest.mark.parametrize("colour", COLOURS)
def test_a_key_that_is_an_hour_in_debt_is_kept_for_an_hour(server: Server, colour: str) -> None:
    limit = TokenBucket("1/s", burst=10)
    with Caller(server.url, colour) as caller, server.wire() as wire:
        caller.limiter(limit, name="debt").debit("k", 3610)

        record = read(wire, place((limit,), "debt", "k"))

    assert record.until - record.written >= 3600 * SECOND


def test_all_limits_of_a_key_are_kept_for_as_long_as_the_slowest(server: Server) -> None:
    limits = TokenBucket("10/s"), GCRA("1/day"), FixedWindow("5 per 1ms")
    with Caller(server.url) as caller, server.wire() as wire:
        caller.open(limits, "slow").take("k", 1, 0, 0)

        record = read(wire, place(limits, "slow", "k"))

    assert record.until - record.written >= 86_400 * SECOND


@pytest.mark.parametrize("colour", COLOURS)
def test_a_key_that_has_expired_is_as_new(server: Server, colour: str) -> None:
    limits = [
        TokenBucket("9 per 9ms"),
        GCRA("9 per 9ms"),
        LeakyBucket("9 per 9ms"),
        FixedWindow("9 per 9ms", anchor="first"),
        SlidingLog("9 per 9ms"),
        WarmUp("9 per 9ms", period=0.01),
    ]
    with Caller(server.url, colour) as caller:
        limiters = [caller.limiter(limit) for limit in limits]
        first = [limiter.take("k", 2) for limiter in limiters]
        until(lambda: server.ask("DBSIZE") == 0, "the keys to expire", seconds=30)

        assert [limiter.take("k", 2) for limiter in limiters] == first


@scarce
@pytest.mark.parametrize("verb", ["take", "never", "book", "peek"])
def test_a_refusal_writes_nothing(server: Server, limits: tuple[Limit, ...], verb: str) -> None:
    everything = min(limit.limit for limit in limits)
    with Caller(server.url) as caller, server.wire() as wire:
        ledger = caller.open(limits, "full")
        ledger.take("k", everything, 0, 0)
        before = kept(wire, limits)
        decision = {
            "take": partial(ledger.take, "k", 1, 0, 1_000),
            "never": partial(ledger.take, "k", everything + 1, 0, 1_000),
            "book": lambda: ledger.book("k", 1, 0, 1_000)[0],
            "peek": partial(ledger.peek, "k", 1, 0),
        }[verb]()

        assert (decision.allowed, kept(wire, limits)) == (False, before)


@scarce
def test_a_look_at_a_key_never_seen_leaves_no_trace(
    server: Server, limits: tuple[Limit, ...]
) -> None:
    with Caller(server.url) as caller:
        ledger = caller.open(limits)
        for act in (ledger.peek, lambda key, cost, now: ledger.charge(key, -cost, now, FAR)):
            act("k", 1, 0)

    assert server.ask("DBSIZE") == 0


def test_a_key_that_does_not_open_full_is_written_when_first_refused(server: Server) -> None:
    limit = TokenBucket("1 per 3650day", initial=0)
    with Caller(server.url) as caller, server.wire() as wire:
        ledger = caller.open((limit,), "shy")
        decisions = [ledger.take("k", 1, 0, 0)]
        first = read(wire, place((limit,), "shy", "k"))
        decisions += [ledger.take("k", 1, 0, 0)]
        second = read(wire, place((limit,), "shy", "k"))

    assert not any(decisions)
    assert first is not None
    assert second == first


def test_a_penalty_is_written(server: Server) -> None:
    limit = GCRA("5 per 1000day", penalty=2)
    with Caller(server.url) as caller, server.wire() as wire:
        ledger = caller.open((limit,), "full")
        ledger.take("k", 5, 0, 0)
        before = kept(wire, (limit,))

        ledger.take("k", 1, 0, 0)

        assert kept(wire, (limit,))[1] > before[1]


@pytest.mark.parametrize("colour", COLOURS)
@pytest.mark.parametrize("clock", [None, SystemClock(), SystemClock(offset=0)], ids=repr)
@pytest.mark.parametrize("limits", [("5/s",), ("5/s", GCRA("9/s"))], ids=["short", "long"])
def test_decisions_go_by_the_clock_of_the_server(
    server: Server, colour: str, clock: SystemClock | None, limits: tuple[object, ...]
) -> None:
    with Caller(server.url, colour) as caller, server.wire() as wire:
        limiter = caller.limiter(*limits, clock=clock, name="time")
        before = moment(wire)
        limiter.take("k")
        after = moment(wire)

        record = read(wire, place(limiter.limits, "time", "k"))

    assert before <= record.written <= after


def test_a_clock_of_ones_own_is_gone_by(server: Server, clock: ManualClock) -> None:
    clock.set(12_345.678901)
    with Caller(server.url) as caller, server.wire() as wire:
        limiter = caller.limiter("5/s", clock=clock, name="time")
        limiter.take("k")

        record = read(wire, place(limiter.limits, "time", "k"))

    assert record.written == 12_345_678_901


def test_clocks_of_callers_may_be_years_apart(server: Server) -> None:
    with Caller(server.url) as caller:
        early = caller.limiter("9 per 3650day", clock=SystemClock(offset=0), name="shared")
        late = caller.limiter("9 per 3650day", clock=SystemClock(), name="shared")

        left = [one.take("k").remaining for one in (early, late, early, late)]

    assert left == [8, 7, 6, 5]


@pytest.mark.parametrize(
    "limit",
    [
        TokenBucket("4000000000/s"),
        TokenBucket("999999999999 per 3650day", burst=1_000),
        GCRA("4000000000/s"),
        LeakyBucket("4000000000/s", penalty=7),
        FixedWindow("900000000000000/day"),
        FixedWindow("900000000000000/day", anchor="first"),
        SlidingWindow("80000000000/day", parts=24),
        WarmUp("4000000/s", period=600.0),
        SlidingLog("40/day"),
    ],
    ids=repr,
)
@pytest.mark.parametrize(
    "now", [0, 1 << 31, (1 << 32) + 1, 1_822_222_222_222_222, (1 << 52) - 5 * SECOND]
)
def test_large_numbers_are_kept_to_the_last_digit(server: Server, limit: Limit, now: int) -> None:
    table = Table((limit,), 4)
    most = limit.most
    with Caller(server.url) as caller, server.wire() as wire:
        ledger = caller.open((limit,), "large", ManualClock())
        told = [
            [
                one.take("k", most // 3 + 1, now, 0),
                one.take("k", most // 3, now + 1, 0),
                one.charge("k", min(limit.heaviest, 1 << 50), now + 2, FAR),
                one.charge("k", -most, now + 3, now),
                one.take("k", most, now + SECOND, limit.horizon),
            ]
            for one in (table, ledger)
        ]
        cells = read(wire, place((limit,), "large", "k")).cells

    assert (told[1], cells) == (told[0], table.read("k"))


def test_a_record_is_laid_out_as_documented(server: Server, clock: ManualClock) -> None:
    clock.set(7.0)
    limits = GCRA("10/s"), FixedWindow("5/min")
    with Caller(server.url) as caller, server.wire() as wire:
        caller.limiter(*limits, clock=clock, name="api").take("user:42", 2)
        names = wire.ask("KEYS", "*")
        raw = value(wire, place(limits, "api", "user:42"))

    assert names[0].startswith("headgate:1:api:")
    assert names[0].endswith(":{user:42}")
    # GCRA: stamp, tat, part. FixedWindow: the window's number, and what went in.
    assert raw == struct.pack("<Bqqqqqq", 1, 7_000_000, 7_000_000, 7_200_000, 0, 0, 2)


def kept(wire: Wire, limits: tuple[Limit, ...]) -> tuple[bytes | None, int]:
    """All that a server keeps for the key: the value, and when it expires."""
    where = place(limits, "full", "k")
    return value(wire, where), wire.ask("PEXPIRETIME", where)
