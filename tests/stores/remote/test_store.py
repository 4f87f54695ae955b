"""A service as a store: in both colours, for limiters, leases, rules and bulkheads."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from headgate import (
    AsyncBulkhead,
    AsyncLimiter,
    Bulkhead,
    BulkheadFull,
    FixedWindow,
    LeasedStore,
    Limiter,
    ManualClock,
    StoreUnavailable,
    TokenBucket,
)
from headgate.rules import AsyncGatekeeper, Gatekeeper, Request, Rules
from headgate.service.resp import asked
from headgate.stores.remote.store import RemoteStore
from tests.servers.launch import Server
from tests.service.resp.staging import RespServiceHost as Stage
from tests.service.resp.staging import known, plan
from tests.stores.redis.callers import COLOURS
from tests.stores.remote.callers import Remote

TOKEN = "a-token-of-sixteen"


@pytest.fixture(params=COLOURS)
def caller(request: pytest.FixtureRequest, service: Stage) -> Any:
    """A store of each colour."""
    with Remote(service.url, request.param) as found:
        yield found


def test_every_verb_answers_by_the_time_of_the_service(caller: Any, service: Stage) -> None:
    limiter = caller.limiter("5/min")

    taken = limiter.take("k", 4)
    refused = limiter.take("k", 2)
    service.clock.advance(12.0)
    told = [
        limiter.peek("k", 2).remaining,
        limiter.debit("k", 6).remaining,
        limiter.peek("k").retry_after,
        limiter.refund("k", 6).remaining,
        [bool(one) for one in limiter.take_many(["k", "k", "k"])],
    ]
    limiter.reset("k")

    assert (taken.allowed, taken.remaining, taken.reset_after) == (True, 1, 48.0)
    assert (refused.reason, refused.retry_after, refused.rule) == ("limit", 12.0, "5/min")
    assert told == [2, 0, 60.0, 2, [True, True, False]]
    assert limiter.peek("k").remaining == 5
    assert limiter.take("k", 6).reason == "never"


def test_a_booking_is_undone_to_the_letter(caller: Any, service: Stage) -> None:
    limiter = caller.limiter("5/min", FixedWindow("100/h"))
    before = limiter.take("k", 1)
    booking = limiter.reserve("k", 5)
    service.clock.advance(3.0)
    waited = booking.wait
    booking.cancel()
    service.clock.advance(-3.0)

    assert waited == 12.0
    assert limiter.peek("k") == before


def test_a_booking_that_the_service_has_forgotten_is_given_back_all_the_same(
    caller: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asked, "TICKETS", 1)
    limiter = caller.limiter("5/min")
    first, _ = limiter.reserve("k", 2), limiter.reserve("other", 1)
    first.cancel()

    assert limiter.peek("k").remaining == 5


def test_limits_are_told_in_full_once_and_again_when_they_were_forgotten(
    caller: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asked, "KNOWN", 1)
    first, second = (
        caller.limiter("5/min", name=f"{caller.colour}-first"),
        caller.limiter("5/min", name=f"{caller.colour}-second"),
    )

    assert [one.take("k").remaining for one in (first, second, first, second)] == [4, 4, 3, 3]


def test_names_and_limits_tell_keys_apart(caller: Any) -> None:
    one = caller.limiter("5/min", name=f"{caller.colour}-one-of-all")
    answers = [
        one.take("k").remaining,
        caller.limiter("5/min", name=f"{caller.colour}-one-of-all").take("k").remaining,
        caller.limiter("6/min", name=f"{caller.colour}-one-of-all").take("k").remaining,
        caller.limiter("5/min", name=f"{caller.colour}-another-of-all").take("k").remaining,
    ]

    assert answers == [4, 3, 5, 4]


@pytest.mark.parametrize("key", ["", "a b\r\n", "\u00e9\u4e16", "\ud800", "x" * 100_000])
def test_any_text_is_a_key(caller: Any, key: str) -> None:
    limiter = caller.limiter("5/min")

    assert [limiter.take(key).remaining for _ in range(2)] == [4, 3]
    assert limiter.take(key + "!").remaining == 4


def test_a_clock_of_ones_own_is_ones_own(caller: Any, service: Stage) -> None:
    clock = ManualClock(7.0)
    mine = caller.limiter("5/min", name=f"{caller.colour}-told", clock=clock)
    theirs = caller.limiter("5/min", name=f"{caller.colour}-told")
    full = mine.take("k", 5)
    clock.advance(12.0)

    assert full.allowed
    assert [bool(mine.take("k")) for _ in range(2)] == [True, False]
    assert theirs.take("k").remaining == 4


def test_many_of_a_loop_that_ask_the_same_travel_together(service: Stage) -> None:
    async def crowd() -> list[bool]:
        limiter = AsyncLimiter(
            "7/min", store=RemoteStore(service.url, True, 10.0), when_unavailable="raise"
        )
        await limiter.take("other")
        before = service.hall.asked
        answers = await asyncio.gather(*[limiter.take("k") for _ in range(20)])
        assert service.hall.asked == before + 1
        return [bool(one) for one in answers]

    assert sum(asyncio.run(crowd())) == 7


def test_what_is_left_is_as_exact_as_in_memory_when_many_spend_it(service: Stage) -> None:
    async def crowd() -> int:
        stores = [RemoteStore(service.url, True, 10.0) for _ in range(4)]
        limiters = [
            AsyncLimiter("40/min", store=one, name="crowd", when_unavailable="raise")
            for one in stores
        ]
        answers = await asyncio.gather(*[limiters[n % 4].take("k") for n in range(200)])
        for store in stores:
            await store.close()
        return sum(map(bool, answers))

    assert asyncio.run(crowd()) == 40


# Leases.


def test_a_lease_is_spent_without_asking_and_no_more_than_there_is(service: Stage) -> None:
    store = LeasedStore(RemoteStore(service.url, budget=10.0))
    limiter = Limiter("100/min", store=store, name="leased", when_unavailable="raise")
    before = service.hall.asked
    answers = [limiter.take("k") for _ in range(300)]
    asked_for = service.hall.asked - before
    store.close()

    assert 50 <= sum(map(bool, answers)) <= 100
    assert asked_for < 60
    assert not limiter.take("k", 101)


def test_a_refusal_is_remembered_until_the_moment_it_names(service: Stage) -> None:
    limiter = Limiter(
        FixedWindow("5/min"), store=f"leased+{service.url}?budget=10", name="refused",
        when_unavailable="raise",
    )  # fmt: skip
    while limiter.take("k"):
        pass
    before = service.hall.asked
    answers = [limiter.take("k").reason for _ in range(100)]
    unasked = service.hall.asked == before
    limiter.refund("k", 3)

    assert set(answers) == {"limit"}
    assert unasked
    assert limiter.take("k")


def test_a_lease_may_be_had_in_an_event_loop(service: Stage) -> None:
    async def spend() -> int:
        store = LeasedStore(RemoteStore(service.url, True, 10.0))
        limiter = AsyncLimiter("100/min", store=store, name="aleased", when_unavailable="raise")
        answers = [bool(await limiter.take("k")) for _ in range(120)]
        await store.close()
        return sum(answers)

    assert 50 <= asyncio.run(spend()) <= 100


@pytest.mark.parametrize(
    ("spent", "terms", "units", "left"),
    [
        # need, want, least
        (0, (1, 1, 1), 1, 9),
        (0, (1, 4, 1), 4, 6),
        (0, (1, 100, 1), 5, 5),
        (0, (7, 100, 1), 7, 3),
        (0, (1, 100, 8), 8, 2),
        (9, (1, 100, 1), 1, 0),
        (9, (1, 100, 2), 0, 1),
        (10, (1, 1, 1), 0, 0),
    ],
)
def test_no_more_than_half_of_what_is_left_is_lent(
    caller: Any, spent: int, terms: tuple[int, int, int], units: int, left: int
) -> None:
    ledger = caller.open((TokenBucket("10/min"),))
    ledger.charge("k", spent, 0, 1 << 52)
    need, want, least = terms
    lease = ledger.lease("k", need, 0, want, least)

    assert lease.units == units
    assert bool(lease.decision) is bool(units)
    assert lease.decision.remaining == left


def test_what_a_lease_has_not_spent_goes_back_first(caller: Any) -> None:
    ledger = caller.open((TokenBucket("10/min"),))
    first = ledger.lease("k", 1, 0, 5, 1)
    again = ledger.lease("k", 1, 0, 4, 1, 5, first.moment)

    assert (first.units, again.units, again.decision.remaining) == (5, 4, 6)


# A service that keeps its state on a server itself.


@pytest.mark.parametrize("colour", COLOURS)
def test_a_service_may_keep_its_state_elsewhere(valkey: Server, colour: str) -> None:
    with (
        Stage(store=f"{valkey.url}?budget=9", clock=None) as stage,
        Remote(stage.url, colour) as caller,
    ):
        limiter = caller.limiter("5/min")
        answers = [
            limiter.take("k", 4).remaining,
            limiter.take("k", 2).reason,
            limiter.peek("k").remaining,
            limiter.debit("k", 3).remaining,
            limiter.refund("k", 7).remaining,
            [one.remaining for one in limiter.take_many(["k", "k"])],
        ]
        booking = limiter.reserve("k", 5)
        booking.cancel()
        after = limiter.peek("k").remaining
        lease = caller.open((TokenBucket("10/min"),)).lease("k", 1, 0, 4, 1)
        limiter.reset("k")

        assert answers == [1, "limit", 1, 0, 5, [4, 3]]
        assert after == 3
        assert lease.units == 4
        assert limiter.peek("k").remaining == 5


def test_a_service_that_keeps_its_state_elsewhere_takes_no_time_from_others(
    valkey: Server,
) -> None:
    with Stage(store=valkey.url) as stage, Remote(stage.url) as caller:
        limiter = caller.limiter("5/min", clock=ManualClock())

        with pytest.raises(StoreUnavailable, match="kept on another server, which has its own"):
            limiter.take("k")


# Who may ask.


def test_a_token_is_shown_in_the_address() -> None:
    with Stage(callers={"shop": known(TOKEN)}) as stage:
        address = f"127.0.0.1:{stage.port}?budget=10"
        known_one = Limiter("5/min", store=f"headgate://:{TOKEN}@{address}",
                            when_unavailable="raise")  # fmt: skip
        by_name = Limiter("5/min", store=f"headgate://shop:{TOKEN}@{address}",
                          when_unavailable="raise")  # fmt: skip
        wrong = Limiter("5/min", store=f"headgate://:nobody@{address}", when_unavailable="raise")
        unknown = Limiter("5/min", store=f"headgate://{address}", when_unavailable="raise")

        assert [known_one.take("k").remaining, by_name.take("k").remaining] == [4, 3]
        with pytest.raises(StoreUnavailable, match="WRONGPASS") as refused:
            wrong.take("k")
        with pytest.raises(StoreUnavailable, match="NOAUTH"):
            unknown.take("k")

    assert TOKEN not in str(refused.value)


def test_a_caller_of_some_rules_keeps_limits_of_those_names_alone() -> None:
    with Stage(callers={"desk": known(TOKEN, rules=("api",))}) as stage:
        url = f"headgate://:{TOKEN}@127.0.0.1:{stage.port}?budget=10"
        own = Limiter("5/min", store=url, name="api", when_unavailable="raise")
        other = Limiter("5/min", store=url, name="other", when_unavailable="raise")

        assert own.take("k")
        with pytest.raises(StoreUnavailable, match='caller "desk" may not ask "other"'):
            other.take("k")


@pytest.mark.parametrize("colour", COLOURS)
def test_a_service_may_speak_tls(papers: tuple[Path, Path, Path], colour: str) -> None:
    authority, certificate, key = papers
    with Stage(tls={"certificate": str(certificate), "key": str(key)}) as stage:
        address = f"127.0.0.1:{stage.port}?budget=10"
        trusting = f"headgates://{address}&ssl_ca_certs={authority}"
        with Remote(trusting, colour) as caller:
            limiter = caller.limiter("5/min")

            assert [limiter.take("k").remaining for _ in range(2)] == [4, 3]
        for url in (f"headgates://{address}", f"headgate://{address}"):
            with Remote(url, colour) as caller, pytest.raises(StoreUnavailable):
                caller.limiter("5/min").take("k")


# Rules and bulkheads.


@pytest.mark.parametrize("kind", [Gatekeeper, AsyncGatekeeper])
def test_rules_may_count_on_a_service(service: Stage, kind: Any) -> None:
    name = f"rule-{kind.__name__}"
    text = f"""
        version: 1
        store: {service.url}?budget=10
        rules: [{{name: {name}, key: client.ip, limit: 3/min, concurrent: 9}}]
    """
    keeper = kind(Rules.read(text))
    request = Request("GET", "/", client="203.0.113.7")

    async def ask() -> Counter[bool]:
        found = []
        for _ in range(5):
            entry = await keeper.enter(request)
            found.append(bool(entry))
            await keeper.leave(entry)
        await keeper.close()
        return Counter(found)

    def tell() -> Counter[bool]:
        found = []
        for _ in range(5):
            entry = keeper.enter(request)
            found.append(bool(entry))
            keeper.leave(entry)
        keeper.close()
        return Counter(found)

    answers = asyncio.run(ask()) if kind is AsyncGatekeeper else tell()

    assert answers == {True: 3, False: 2}


def test_a_bulkhead_on_a_service_is_one_for_all_who_have_it(service: Stage) -> None:
    one, other = (Bulkhead(2, store=service.url, name="room") for _ in range(2))
    with one.hold("k"), other.hold("k"):
        with pytest.raises(BulkheadFull), one.hold("k", timeout=0.0):
            pass
        with one.hold("another"):
            pass
        assert one.inside("k") == other.inside("k") == 2

    assert one.inside("k") == 0


def test_a_bulkhead_in_a_loop_is_one_with_those_in_threads(service: Stage) -> None:
    async def enter() -> None:
        room = AsyncBulkhead(1, store=service.url, name="lone")
        lone = Bulkhead(1, store=service.url, name="lone")
        async with room.hold("k"):
            assert await room.inside("k") == 1
            with pytest.raises(BulkheadFull), lone.hold("k", timeout=0.0):
                pass

    asyncio.run(enter())


def test_a_place_whose_holder_is_not_heard_of_is_free_again(service: Stage) -> None:
    words = ["HG.LEND", "dead", "k", b"12345678"]
    enter = [*words, "enter", 1, 1_000_000]
    answers = [
        service.ask(*enter, "first"),
        service.ask(*enter, "second"),
    ]
    service.clock.advance(0.9)
    kept = service.ask(*words, "renew", 1, 1_000_000, "first second")
    service.clock.advance(1.0)
    freed = service.ask(*enter, "second")
    lost = service.ask(*words, "renew", 1, 1_000_000, "first second")

    assert [answer[8:] for answer in (*answers, kept, freed, lost)] == ["+", "-", "=-", "+", "-="]


@pytest.mark.parametrize("method", ["counters", "windows"])
def test_a_service_counts_by_leases_alone(service: Stage, method: str) -> None:
    with pytest.raises(ValueError, match=f"a service counts by \"leases\", not '{method}'"):
        Bulkhead(2, store=service.url, method=method)


# What strangers may say.


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["HG.ASK", "x" * 40, "k", "n", 1], "NOSCRIPT these limits are not known by that name"),
        (["HG.OPEN", "{}", "k", "n", 1], "ERR there are from 1 to 8 limits"),
        (["HG.OPEN", "SPEC", "k", "n" * 65, 1], "ERR a nonce has at most 64 bytes"),
        (["HG.OPEN", "SPEC", "k", "n", 0], "ERR cost is a whole number from 1 to"),
        (["HG.OPEN", "SPEC", "k", "n", 1, 1001], "ERR times is a whole number from 1 to 1000"),
        (["HG.OPEN", "SPEC", "k", "n", 1, 1, 1], "ERR after a nonce come a cost and how often"),
        (["HG.OPEN", "SPEC", "k", "n", "fly", 1, 0, "", 0, "", ""], "ERR verb is one of take"),
        (["HG.OPEN", "SPEC", "k", "n", "take", -1, 0, "", 0, "", ""], "ERR cost is 0 or more"),
        (["HG.OPEN", "SPEC", "k", "n", "charge", 1 << 50, 0, "", 0, "", ""], "ERR cost is at most"),
        (["HG.OPEN", "SPEC", "k", "n", "take", 1, 1 << 60, "", 0, "", ""], "ERR patience is a who"),
        (["HG.OPEN", "SPEC", "k", "n", "lease", 1, 1, "", 1, "x", ""], "ERR what goes back is a"),
        (["HG.OPEN", "TOLD", "k", "n", "take", 1, 0, "", 0, "", ""], "ERR now is a whole number"),
        (["HG.LEND", "a", "k", "n", "fly", 1, 1_000_000, "a"], "ERR verb is one of enter"),
        (["HG.LEND", "a", "k", "n", "enter", 1, 1_000_000, "a b"], "ERR verb is one of enter"),
        (["HG.LEND", "a", "k", "n", "enter", 0, 1_000_000, "a"], "ERR limit is a whole number"),
        (["HG.LEND", "a", "k", "n", "enter", 1, 1, "a"], "ERR ttl is a whole number from 100000"),
        (["HG.LEND", "a", "k", "n", "renew", 1, 1_000_000, "a" * 65], "ERR who is inside has a"),
        (["HG.LEND", "a" * 201, "k", "n", "enter", 1, 1_000_000, "a"], "ERR a name has at most"),
    ],
)
def test_what_is_no_question_is_refused(service: Stage, words: list[Any], problem: str) -> None:
    limits = '"limits":[{"by":"GCRA","rate":"5/s"}]'
    spelled = {"SPEC": f"{{{limits}}}", "TOLD": f'{{{limits},"told":true}}'}
    answer = service.ask(*[spelled.get(word, word) for word in words])

    assert str(answer).startswith(problem)


def test_only_who_booked_cancels_by_the_ticket(service: Stage) -> None:
    # Of another key it is not known, and so it is given back as any units are.
    spec = '{"limits":[{"by":"GCRA","rate":"5/min"}],"name":"ticket"}'
    book = ["HG.OPEN", spec, "k", b"12345678", "book", 3, 0, "", 0, "", ""]
    with service.talk() as talk:
        talk.send(b"")
        ticket = talk.ask(*book)[-16:].encode("utf-8", "surrogateescape")
        talk.ask("HG.OPEN", spec, "other", b"12345678", "release", 3, 0, "", 0, ticket, "")
        left = talk.ask("HG.OPEN", spec, "k", b"12345678", "peek", 0, 0, "", 0, "", "")

    assert left.encode("utf-8", "surrogateescape")[17] == 2


def test_signs_of_life_are_counted_for_a_while(service: Stage) -> None:
    def beat(name: str) -> int:
        said = service.ask("HG.BEAT", name, b"12345678")
        return int.from_bytes(said.encode("utf-8", "surrogateescape")[8:], "little")

    service.tick(60.0)
    alone = [beat("a" * 32), beat("b" * 32), beat("a" * 32)]
    service.tick(10.0)
    later = beat("a" * 32)
    service.tick(10.0)

    assert (*alone, later, beat("c" * 32)) == (1, 2, 2, 2, 2)


def test_the_rules_of_the_service_are_not_touched_by_limits_of_that_name() -> None:
    with Stage(plan()) as stage, Remote(stage.url) as caller:
        caller.limiter("5/min", name="api").take("k", 5)

        assert stage.ask("HG.TAKE", "api", "k")[0] == 1


def test_many_keys_of_a_clock_of_ones_own_are_all_kept(service: Stage) -> None:
    with Remote(service.url) as caller:
        limiter = caller.limiter("5/min", clock=ManualClock(5.0))
        answers = [[bool(limiter.take(str(key), 5)) for key in range(500)] for _ in range(2)]

    assert [sum(found) for found in answers] == [500, 0]
