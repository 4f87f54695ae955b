"""Any sequence of entering, leaving, crashing and passing time: as many inside as there are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate import ManualClock
from headgate.permits.redis import tongue
from tests.permits.holders import Holder
from tests.servers.launch import Server

TTL, LIMIT, PROCESSES = 8.0, 4, 3
# A step is what a process does: enter, leave the oldest or the newest, or let time pass.
STEPS = st.lists(
    st.tuples(st.integers(0, PROCESSES - 1), st.sampled_from(["enter", "enter", "old", "new"]))
    | st.tuples(st.just(-1), st.sampled_from([0.001, 0.4, 1.0, 1.9])),
    max_size=40,
)


class Fleet:
    """Processes that keep up their permits in time, and a count of who is inside by hand."""

    def __init__(self, server: Server, method: str, clock: ManualClock) -> None:
        self.clock = clock
        self.holders = [
            Holder(server.url, LIMIT, method=method, clock=clock, ttl=TTL) for _ in range(PROCESSES)
        ]
        self.held: list[list[Any]] = [[] for _ in self.holders]
        self.renewed = clock.now()

    def play(self, steps: list[tuple[int, Any]]) -> None:
        """Take the steps, and look after each whether all agree."""
        for number, what in steps:
            if number < 0:
                self.wait(what)
            elif what == "enter":
                self.enter(number)
            elif self.held[number]:
                ticket = self.held[number].pop(0 if what == "old" else -1)
                assert self.holders[number].leave(ticket)
            self.agree()

    def enter(self, number: int) -> None:
        room = sum(map(len, self.held)) < LIMIT
        ticket = self.holders[number].enter()
        assert (ticket is not None) == room
        self.held[number] += [ticket] if ticket is not None else []

    def wait(self, seconds: float) -> None:
        self.clock.advance(seconds)
        # A quarter of the ttl is the longest that anybody goes without.
        if self.clock.now() - self.renewed >= 0.1 * TTL * 1e6:
            self.renewed = self.clock.now()
            for holder in self.holders:
                holder.renew()

    def agree(self) -> None:
        assert {holder.inside() for holder in self.holders} == {sum(map(len, self.held))}

    def close(self) -> None:
        for holder in self.holders:
            holder.run(holder.permits.close)


@settings(max_examples=settings().max_examples // 2)
@given(steps=STEPS)
@pytest.mark.parametrize("method", ["leases", "counters", "windows"])
def test_as_many_are_inside_as_have_entered_and_not_left(
    valkey_process: Server, method: str, steps: list[tuple[int, Any]]
) -> None:
    valkey_process.flush()
    clock = ManualClock(1_000_003.25)
    fleet = Fleet(valkey_process, method, clock)
    try:
        fleet.play(steps)
        # And so it stays: what is right by chance goes wrong when a window falls out of sight.
        fleet.play([(-1, 1.9)] * 10)
    finally:
        fleet.close()
    assert fleet.holders[0].zombies == 0


def across(server: Server, clock: ManualClock) -> list[int]:
    """How many are counted, window by window, when one of two leaves in another than it came."""
    with Holder(server.url, 3, method="windows", clock=clock) as holder:
        first, _ = holder.enter(), holder.enter()
        clock.advance(3.9)
        assert holder.leave(first)
        counts = []
        for _ in range(3):
            holder.renew()
            counts.append(holder.inside())
            clock.advance(4.0)
        return counts


def test_an_end_in_another_window_is_counted_where_its_beginning_is(
    valkey: Server, begun: ManualClock
) -> None:
    assert across(valkey, begun) == [1, 1, 1]


def test_if_it_were_not_its_end_would_stay_behind_and_one_too_many_be_let_in(
    valkey: Server, begun: ManualClock, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # The wrong variant: one less in the current window, and nobody is moved along with it. The end
    # is then counted in a window where its beginning never was.
    script = (tongue.HERE / "windows.lua").read_text()
    assert script.count("add(from, -1)") == 1
    (tmp_path / "windows.lua").write_text(script.replace("add(from, -1)", "add(current, -1)"))
    monkeypatch.setattr(tongue, "HERE", tmp_path)

    assert across(valkey, begun) == [1, 0, 1]


def test_whoever_has_left_is_off_the_list_at_once(valkey: Server, begun: ManualClock) -> None:
    with Holder(valkey.url, 3, method="windows", clock=begun) as holder:
        first, second = holder.enter(), holder.enter()
        holder.leave(first)
        same = list(holder.permits._book.pages["k"])
        begun.advance(4.0)
        holder.leave(second)

        assert (same, holder.permits._book.idle) == ([second], True)


def test_a_process_that_dies_right_after_an_end_leaves_no_end_behind(
    valkey: Server, begun: ManualClock
) -> None:
    dying = Holder(valkey.url, 3, method="windows", clock=begun)
    with Holder(valkey.url, 3, method="windows", clock=begun) as holder:
        ticket = dying.enter()
        holder.fill()
        begun.advance(3.9)
        dying.leave(ticket)
        counts = []
        # From here on only the other makes its rounds.
        for _ in range(3):
            holder.renew()
            counts.append((holder.inside(), len(holder.fill())))
            begun.advance(2.0)

        assert counts == [(2, 1), (3, 0), (3, 0)]


def test_who_leaves_in_another_window_is_taken_off_where_it_is_counted(
    valkey: Server, begun: ManualClock
) -> None:
    with Holder(valkey.url, 3, method="windows", clock=begun) as holder:
        tickets = holder.fill()
        begun.advance(4.0)
        for ticket in tickets[:2]:
            holder.leave(ticket)

        assert window(valkey, begun.now() // 4_000_000 - 1) == 1
        assert (holder.inside(), len(holder.fill())) == (1, 2)


def test_windows_are_kept_for_three_windows(valkey: Server, begun: ManualClock) -> None:
    with Holder(valkey.url, 3, method="windows", ttl=120.0) as holder:
        holder.enter()
        lasts = [valkey.ask("PTTL", key) for key in valkey.ask("KEYS", "*")]

        assert [180_000 <= left <= 181_001 for left in lasts] == [True]


def window(server: Server, number: int) -> int:
    """What is counted in a window."""
    with server.wire() as wire:
        (key,) = wire.ask("KEYS", f"*:{number}")
        raw = wire.ask("GET", key).encode("utf-8", "surrogateescape")
    return int.from_bytes(raw[:8], "little", signed=True)
