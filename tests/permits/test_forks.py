"""A forked child has none of its parent's permits, and may have its own."""

from __future__ import annotations

import os
import threading
from typing import Any

import pytest

from headgate import ManualClock
from tests.permits.holders import Holder
from tests.servers.launch import Server
from tests.stores.redis.processes import together

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
TTL = 8.0


def test_a_child_gives_back_nothing_of_its_parents(server: Server, method: str) -> None:
    with Holder(server.url, 3, method=method, ttl=60.0) as holder:
        tickets = holder.fill()

        def child() -> Any:
            late = [holder.leave(ticket) for ticket in tickets]
            holder.run(holder.permits.close)
            return late, holder.inside(), holder.enter()

        assert together([child]) == [([False] * 3, 3, None)]
        assert [holder.leave(ticket) for ticket in tickets] == [True] * 3


def test_a_child_keeps_up_nothing_of_its_parents(
    server: Server, method: str, begun: ManualClock
) -> None:
    with (
        Holder(server.url, 3, method=method, clock=begun) as holder,
        Holder(server.url, 3, method=method, clock=begun) as judge,
    ):
        holder.fill()

        def child() -> None:
            for _ in range(6):
                begun.advance(TTL / 4)
                holder.renew()

        together([child])
        begun.advance(TTL)
        assert (judge.inside(), len(judge.fill())) == (0, 3)


def test_children_enter_and_leave_for_themselves(server: Server, method: str) -> None:
    with Holder(server.url, 3, method=method, ttl=60.0) as holder:
        ticket = holder.enter()

        def child() -> Any:
            mine = holder.enter()
            there = holder.permits._warden.awake
            return mine != ticket, there, holder.leave(mine), holder.leave(mine)

        assert together([child] * 2) == [(True, True, True, False)] * 2
        assert (holder.inside(), holder.leave(ticket)) == (1, True)


def test_a_child_that_is_forked_while_threads_come_and_go_enters_at_once(
    server: Server, method: str, scale: int
) -> None:
    with Holder(server.url, 100, method=method, ttl=0.3) as holder:
        over = threading.Event()

        def traffic() -> None:
            while not over.is_set():
                holder.permits.leave("k", holder.permits.enter("k"))

        threads = [threading.Thread(target=traffic) for _ in range(3)]
        for thread in threads:
            thread.start()
        try:
            told = [together([lambda: holder.enter() is not None])[0] for _ in range(3 * scale)]
        finally:
            over.set()
            for thread in threads:
                thread.join()

    assert told == [True] * 3 * scale
