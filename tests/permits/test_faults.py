"""Servers that do not answer, answer too late, hand over or are split in parts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from headgate import ManualClock, RedisStore, StoreUnavailable, TokenBucket
from headgate.permits.redis.async_permits import AsyncRedisPermits
from headgate.permits.redis.methods import METHODS
from headgate.permits.redis.permits import RedisPermits
from headgate.stores.redis.async_store import AsyncRedisStore
from tests.pairs import pairs
from tests.permits.holders import COLOURS, Holder
from tests.servers.cluster import Cluster
from tests.servers.launch import Server
from tests.servers.proxy import Proxy
from tests.servers.sentinels import Sentinels
from tests.servers.waiting import until
from tests.stores.redis.callers import url

TTL = 8.0
SHORT = 0.5


@pytest.fixture
def behind(proxy: Proxy, method: str, colour: str, begun: ManualClock) -> Any:
    """A holder behind the proxy, who does not wait for long."""
    options = {"method": method, "clock": begun, "budget": SHORT}
    with Holder(proxy.url, 3, colour, **options) as holder:
        # What keeps up permits has more time; here it has none either.
        holder.permits._warden.store.budget = SHORT
        holder.permits._warden.store._span = 50_000
        yield holder


# What is asked does not arrive, or the answer does not.
LOSSES: dict[str, Callable[[Proxy], None]] = {
    "unheard": lambda proxy: proxy.blackhole(),
    "unanswered": lambda proxy: proxy.latency(30.0),
}
losses = pytest.mark.parametrize(("method", "colour", "loss"), pairs(METHODS, COLOURS, LOSSES))


def test_a_server_that_is_not_there_is_said_to_be_unavailable(method: str, colour: str) -> None:
    holder = Holder("redis://127.0.0.1:1", 3, colour, method=method, budget=SHORT)
    for call in (holder.enter, holder.inside):
        with pytest.raises(StoreUnavailable, match=r"^127.0.0.1:1 cannot be reached: "):
            call()
    assert holder.permits._book.idle
    holder.__exit__()


def test_a_server_that_does_not_answer_is_said_to_be_late(behind: Holder, proxy: Proxy) -> None:
    ticket = behind.enter()
    proxy.blackhole()
    for call in (behind.enter, behind.inside):
        with pytest.raises(StoreUnavailable, match=rf" did not answer within {SHORT} s$"):
            call()

    # Whoever leaves is not troubled with it.
    assert behind.leave(ticket)


@losses
def test_what_was_lost_on_the_way_is_free_within_one_ttl(
    behind: Holder, proxy: Proxy, valkey: Server, method: str, loss: str, begun: ManualClock
) -> None:
    with Holder(valkey.url, 3, method=method, clock=begun) as judge:
        kept, given = behind.enter(), behind.enter()
        LOSSES[loss](proxy)
        # Whether the server hears of it nobody knows: one comes in, one goes out.
        with pytest.raises(StoreUnavailable):
            behind.enter()
        assert behind.leave(given)
        behind.renew()
        proxy.heal()
        # Of a window it is not even known which one it was.
        for _ in range(6 if method == "windows" else 4):
            begun.advance(TTL / 4)
            behind.renew()

        assert (judge.inside(), len(judge.fill()), behind.zombies) == (1, 2, 0)
        assert behind.leave(kept)


def test_by_name_what_was_lost_on_the_way_is_given_back_at_once(
    proxy: Proxy, valkey: Server, begun: ManualClock
) -> None:
    with (
        Holder(proxy.url, 3, clock=begun, budget=SHORT) as holder,
        Holder(valkey.url, 3, clock=begun) as judge,
    ):
        holder.permits._warden.store = judge.permits.store
        # So that the server knows the script.
        judge.inside()
        proxy.latency(30.0)
        for _ in range(3):
            with pytest.raises(StoreUnavailable):
                holder.enter()
        until(lambda: judge.inside() == 3, "the server to have heard of it")
        holder.renew()

        assert judge.inside() == 0


def test_who_cannot_be_told_of_a_leave_is_told_when_it_is_back(
    behind: Holder, proxy: Proxy, valkey: Server, method: str, colour: str, begun: ManualClock
) -> None:
    with Holder(valkey.url, 3, method=method, clock=begun) as judge:
        tickets = behind.fill()
        # Nothing leaves, and that is known.
        proxy.refuse()
        proxy.reset()
        assert [behind.leave(ticket) for ticket in tickets[:2]] == [True, True]
        behind.renew()
        assert judge.inside() == 3
        proxy.heal()

        def tell() -> bool:
            behind.renew()
            # A task does not know whether what it wrote has left, unless it goes by name.
            if colour == "async" and method != "leases":
                begun.advance(TTL / 4)
            return judge.inside() == 1

        # Twice is enough, unless the machine stands still for longer than a call may take.
        until(tell, "the server to be told")
        assert behind.zombies == 0


@losses
def test_a_renewal_whose_answer_was_lost_counts_nobody_twice(
    behind: Holder, proxy: Proxy, valkey: Server, method: str, loss: str, begun: ManualClock
) -> None:
    with Holder(valkey.url, 3, method=method, clock=begun) as judge:
        tickets = behind.fill()
        begun.advance(TTL / 4)
        LOSSES[loss](proxy)
        behind.renew()
        # One leaves while nobody knows where it is counted.
        assert behind.leave(tickets[0])
        begun.advance(TTL / 4)
        behind.renew()
        proxy.heal()
        for _ in range(6):
            behind.renew()
            begun.advance(TTL / 4)

        assert (judge.inside(), len(judge.fill()), behind.zombies) == (2, 1, 0)


@losses
def test_zombies_are_told_of_although_the_answer_was_lost(
    behind: Holder, proxy: Proxy, valkey: Server, method: str, loss: str, begun: ManualClock
) -> None:
    with Holder(valkey.url, 3, method=method, clock=begun) as judge:
        behind.fill()
        begun.advance(TTL)
        judge.fill()
        LOSSES[loss](proxy)
        behind.renew()
        assert behind.zombies == 0
        proxy.heal()
        behind.renew()
        behind.renew()

        assert behind.zombies == 3


@pytest.mark.parametrize("turns", [0, 1, 2, 3])
def test_who_is_cancelled_on_the_way_in_gives_back_what_it_gets(
    server: Server, method: str, begun: ManualClock, turns: int
) -> None:
    async def scene() -> tuple[int, int]:
        permits = AsyncRedisPermits(server.url, 2, method, TTL, clock=begun, budget=10.0)
        # So that the line is there.
        await permits.inside("k")
        task = asyncio.ensure_future(permits.enter("k"))
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        # Whatever was asked before has been answered by now.
        await permits.inside("k")
        permits.renew()
        seen = await permits.inside("k"), permits.zombies
        await permits.close()
        return seen

    assert asyncio.run(scene()) == (0, 0)


def test_who_is_cancelled_on_the_way_out_has_left(
    server: Server, method: str, begun: ManualClock
) -> None:
    async def scene() -> tuple[int, bool]:
        permits = AsyncRedisPermits(server.url, 2, method, TTL, clock=begun, budget=10.0)
        ticket = await permits.enter("k")
        task = asyncio.ensure_future(permits.leave("k", ticket))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        # Leaves by name that nobody waited for are told once more, and then once more.
        for _ in range(2):
            await asyncio.to_thread(permits.renew)
        seen = await permits.inside("k"), permits._book.idle
        await permits.close()
        return seen

    assert asyncio.run(scene()) == (0, True)


def test_who_is_interrupted_on_the_way_in_gives_back_what_it_got(
    valkey: Server, begun: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Holder(valkey.url, 2, clock=begun) as holder:
        put = holder.permits.store.put

        def interrupted(*said: Any) -> None:
            put(*said)
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(holder.permits.store, "put", interrupted)
            with pytest.raises(KeyboardInterrupt):
                holder.enter()
        assert holder.inside() == 1
        holder.renew()

        assert (holder.inside(), holder.zombies) == (0, 0)


@pytest.mark.parametrize("order", ["before", "after"])
def test_who_leaves_while_it_is_being_renewed_has_left(
    server: Server, method: str, order: str, begun: ManualClock
) -> None:
    with Holder(server.url, 3, method=method, clock=begun) as holder:
        ticket, other = holder.enter(), holder.enter()
        book, warden = holder.permits._book, holder.permits._warden
        left = []

        def ask(*said: Any) -> Any:
            left.extend([holder.leave(ticket)] if order == "before" else [])
            answers = warden.ask(*said)
            left.extend([holder.leave(ticket)] if order == "after" else [])
            return answers

        begun.advance(TTL / 4)
        book.renew(ask)
        book.tidy(warden.ask)

        assert (left, holder.inside(), holder.zombies) == ([True], 1, 0)
        assert holder.leave(other)


def test_who_enters_while_others_are_being_renewed_is_counted_all_the_while(
    server: Server, method: str, begun: ManualClock
) -> None:
    with Holder(server.url, 3, method=method, clock=begun) as holder:
        first = holder.enter()
        flow = holder.permits._book.enter("k")
        put = next(flow)
        # The server has let it in, and the answer is not read yet.
        answer = holder.permits.store.put(put.question, put.read)
        begun.advance(0.5)
        holder.renew()
        assert holder.inside() == 2
        with pytest.raises(StopIteration) as over:
            flow.send(answer)
        for _ in range(5):
            begun.advance(TTL / 4)
            holder.renew()

        assert (holder.inside(), len(holder.fill())) == (2, 1)
        assert [holder.leave(first), holder.leave(over.value.value)] == [True, True]
        assert holder.zombies == 0


def test_what_nobody_knows_ends_although_others_come_and_go(
    server: Server, method: str, begun: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Holder(server.url, 3, method=method, clock=begun) as holder:
        put = holder.permits.store.put

        def lost(*said: Any) -> None:
            put(*said)
            raise StoreUnavailable("the answer was lost", "connection")

        with monkeypatch.context() as patch:
            patch.setattr(holder.permits.store, "put", lost)
            with pytest.raises(StoreUnavailable):
                holder.enter()
        # Nobody stays for long enough to be renewed.
        for _ in range(5):
            assert holder.leave(holder.enter())
            begun.advance(TTL / 4)

        assert holder.inside() == 0


@pytest.mark.parametrize("step", [-0.001, -0.5, -2.0])
def test_a_clock_that_steps_back_a_little_lets_nobody_in_twice(
    server: Server, method: str, begun: ManualClock, step: float
) -> None:
    # Just after a window has begun: its beginning comes again.
    begun.set(1_000_004.0001)
    with Holder(server.url, 3, method=method, clock=begun) as holder:
        holder.fill()
        begun.advance(step)

        assert (holder.enter(), holder.inside()) == (None, 3)


def test_all_that_is_kept_of_a_key_is_in_one_slot(
    valkey: Server, cluster: Cluster, method: str, begun: ManualClock
) -> None:
    keys = ["plain", "with {braces} and spaces", ""]
    with Holder(valkey.url, 2, method=method, clock=begun) as holder:
        for key in keys:
            holder.fill(key)
        for _ in range(3):
            begun.advance(TTL / 4)
            holder.renew()
        kept = valkey.ask("KEYS", "*")
        begins = [holder.permits._book.method.tongue.place(key).decode() for key in keys]

    assert len(kept) >= (9 if method == "windows" else 3)
    for begin in begins:
        assert len({cluster.slot(one) for one in kept if one.startswith(begin)}) == 1


def test_a_cluster_keeps_up_the_permits_of_all_its_parts(
    cluster: Cluster, method: str, colour: str, begun: ManualClock
) -> None:
    keys = [f"key:{number}" for number in range(12)]
    with Holder(url(cluster), 2, colour, method=method, clock=begun) as holder:
        held = {key: holder.enter(key) for key in keys}
        for _ in range(8):
            begun.advance(TTL / 4)
            holder.renew()

        assert [holder.inside(key) for key in keys] == [1] * 12
        assert [holder.leave(ticket, key) for key, ticket in held.items()] == [True] * 12
        assert holder.zombies == 0


def test_a_part_of_a_cluster_that_is_gone_holds_up_no_other(
    cluster: Cluster, method: str, begun: ManualClock
) -> None:
    keys = [f"key:{number}" for number in range(12)]
    options: dict[str, Any] = {"method": method, "clock": begun, "ttl": TTL}
    with Holder(url(cluster), 2, budget=SHORT, **options) as holder:
        for key in keys:
            until(lambda key=key: again(lambda: holder.enter(key)), "a permit")
        holder.renew()
        # Its questions are the first to be put.
        gone = cluster.owner(slot(cluster, holder, keys[0]))
        lost = [key for key in keys if cluster.owner(slot(cluster, holder, key)) is gone]
        assert 0 < len(lost) < 12
        gone.pause()
        for _ in range(8):
            begun.advance(TTL / 4)
            holder.renew()
        seen = [holder.inside(key) for key in keys if key not in lost]
        gone.resume()

        assert seen == [1] * (12 - len(lost))


@pytest.mark.parametrize("how", ["kill", "pause"])
def test_a_successor_hears_of_all_who_are_inside(
    sentinels: Sentinels, how: str, begun: ManualClock
) -> None:
    with Holder(url(sentinels), 3, clock=begun, ttl=1.0, budget=1.0) as holder:
        ticket = holder.enter()
        holder.renew()
        primary = sentinels.primary()
        primary.kill() if how == "kill" else primary.pause()
        until(lambda: sentinels.primary() is not primary, "another primary", 60.0)
        until(lambda: renewed(holder), "the successor to hear of it")
        until(lambda: again(holder.inside), "the successor to be found")

        assert (holder.inside(), len(holder.fill()), holder.zombies) == (1, 2, 0)
        assert holder.leave(ticket)


def test_a_journey_of_many_finds_the_successor_as_well(sentinels: Sentinels) -> None:
    store = RedisStore(url(sentinels), 5.0)
    ledger = store.open((TokenBucket("10 per 1000day"),), "many")
    ledger.take_many(["a", "b"], 1, 0)
    primary = sentinels.primary()
    primary.kill()
    until(lambda: sentinels.primary() is not primary, "another primary", 60.0)
    sentinels.settle()

    assert len(ledger.take_many(["a", "b"], 1, 0)) == 2
    store.close()


def test_a_store_may_be_shared(server: Server, method: str) -> None:
    store = RedisStore(server.url, 10.0)
    permits = [RedisPermits(store, 1, method, name=name) for name in ("a", "b")]

    assert [one.enter("k") is not None for one in permits] == [True, True]
    assert {one.store for one in permits} == {store}
    assert len({one._warden for one in permits}) == 1
    for one in permits:
        one.close()
    assert AsyncRedisPermits(AsyncRedisStore(server.url), 1)._warden is not None


def again(call: Callable[[], Any]) -> Any:
    """What it comes to, or False if the store does not answer."""
    try:
        return call()
    except StoreUnavailable:
        return False


def renewed(holder: Holder) -> bool:
    holder.renew()
    return not holder.permits._warden.failing


def slot(cluster: Cluster, holder: Holder, key: str) -> int:
    return cluster.slot(holder.permits._book.method.tongue.place(key).decode())
