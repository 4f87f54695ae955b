"""A bulkhead whose limit is changed: nobody is thrown out, and who fits comes in."""

from __future__ import annotations

import asyncio

import pytest

from headgate import AIMD, AsyncBulkhead, Bulkhead, BulkheadFull


def test_more_places_are_had_at_once() -> None:
    bulkhead = Bulkhead(1)
    slots = [bulkhead.take("a"), bulkhead.take("a")]

    bulkhead.change(2)
    slots += [bulkhead.take("a"), bulkhead.take("a"), bulkhead.take("b"), bulkhead.take("b")]

    assert [bool(slot) for slot in slots] == [True, False, True, False, True, True]


def test_who_is_inside_stays_when_there_are_fewer_places() -> None:
    bulkhead = Bulkhead(3)
    inside = [bulkhead.take() for _ in range(3)]

    bulkhead.change(1)
    inside[0].success()

    assert (bulkhead.inside(), bool(bulkhead.take())) == (2, False)


def test_who_waits_comes_in_when_there_is_room() -> None:
    async def hold(bulkhead: AsyncBulkhead) -> int:
        async with bulkhead.hold():
            return await bulkhead.inside()

    async def main() -> int:
        bulkhead = AsyncBulkhead(1)
        async with bulkhead.hold():
            waiting = asyncio.ensure_future(hold(bulkhead))
            await asyncio.sleep(0)
            bulkhead.change(2)
            return await waiting

    assert asyncio.run(main()) == 2


def test_places_shared_by_processes_are_changed_as_well() -> None:
    bulkhead = Bulkhead(1, store="shared://change-test", name="change")
    slots = [bulkhead.take()]

    bulkhead.change(3)
    slots += [bulkhead.take() for _ in range(3)]
    had = [bool(slot) for slot in slots]
    for slot in slots:
        slot.ignore()

    assert had == [True, True, True, False]


@pytest.mark.parametrize("limit", [0, -1, True, 1.5, "2"])
def test_a_limit_that_is_none_changes_nothing(limit: object) -> None:
    bulkhead = Bulkhead(2)

    with pytest.raises((TypeError, ValueError), match="Bulkhead: limit is"):
        bulkhead.change(limit)  # type: ignore[arg-type]

    assert repr(bulkhead) == "<Bulkhead: 0 of 2 inside>"


@pytest.mark.parametrize("queue", [-1, True, 1.5, "2"])
def test_a_queue_that_is_none_changes_nothing(queue: object) -> None:
    bulkhead = Bulkhead(2, queue=1)

    with pytest.raises((TypeError, ValueError), match="Bulkhead: queue is"):
        bulkhead.change(3, queue)  # type: ignore[arg-type]

    assert (bulkhead.limit, bulkhead.queue, repr(bulkhead)) == (2, 1, "<Bulkhead: 0 of 2 inside>")


@pytest.mark.parametrize("store", ["memory://", "shared://change-queue"])
def test_so_many_may_wait_as_was_said_last(store: str) -> None:
    async def hold(bulkhead: AsyncBulkhead) -> str:
        try:
            async with bulkhead.hold(timeout=60):
                return "inside"
        except BulkheadFull as full:
            return full.reason

    async def main() -> list[str]:
        bulkhead = AsyncBulkhead(1, queue=1, store=store, name="queue")
        async with bulkhead.hold():
            calls = [asyncio.ensure_future(hold(bulkhead)) for _ in range(2)]
            await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
            bulkhead.change(1, 3)
            calls += [asyncio.ensure_future(hold(bulkhead)) for _ in range(3)]
            await asyncio.wait(calls[2:], return_when=asyncio.FIRST_COMPLETED)
            bulkhead.change(1, 0)
            calls.append(asyncio.ensure_future(hold(bulkhead)))
            await asyncio.wait(calls[5:])
        return await asyncio.gather(*calls)

    assert asyncio.run(main()) == ["inside", "queue", "inside", "inside", "queue", "queue"]


def test_a_limit_that_finds_itself_is_not_changed() -> None:
    with pytest.raises(ValueError, match="a limit that finds itself is not changed"):
        Bulkhead(AIMD()).change(3)


def test_who_is_refused_hears_the_new_limit() -> None:
    bulkhead = Bulkhead(5, name="reports")
    bulkhead.change(1)

    with bulkhead.hold(), pytest.raises(BulkheadFull) as caught:
        bulkhead.hold(timeout=0).__enter__()

    assert str(caught.value) == (
        'all 1 places of the bulkhead "reports" are taken, and nobody waits for one'
    )
