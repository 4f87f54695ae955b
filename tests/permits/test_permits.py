"""Permits on every server, by every method, in both colours: what the contract says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headgate import ManualClock
from headgate.permits.redis.async_permits import AsyncRedisPermits
from headgate.permits.redis.permits import RedisPermits
from tests.permits.holders import Holder
from tests.servers.launch import Server

Hire = Callable[..., Holder]
TTL = 8.0


def test_as_many_enter_as_there_are_places_and_who_leaves_makes_room(hire: Hire) -> None:
    holder = hire(3)
    tickets = holder.fill()

    assert (len(tickets), holder.inside()) == (3, 3)
    assert [holder.leave(tickets[1]), holder.inside()] == [True, 2]
    assert [holder.enter() is None, holder.enter() is None] == [False, True]


def test_processes_share_the_places(hire: Hire) -> None:
    first, second = hire(3), hire(3)
    ticket = first.enter()
    others = second.fill()

    assert (len(others), first.enter(), first.inside(), second.inside()) == (2, None, 3, 3)
    assert first.leave(ticket)
    assert second.enter() is not None


def test_keys_and_names_have_places_of_their_own(hire: Hire) -> None:
    holder, other = hire(2), hire(2, name="other")
    taken = [len(holder.fill(key)) for key in ("a", "b", "", "a key\nof {any} kind")]

    assert taken == [2, 2, 2, 2]
    assert [other.inside("a"), len(other.fill("a")), holder.inside("a")] == [0, 2, 2]


def test_whoever_is_refused_changes_nothing(hire: Hire, server: Server) -> None:
    # The published sample counts the refused as well, and shuts for good.
    holder = hire(2)
    first, _ = holder.fill()
    before = contents(server)

    assert [holder.enter() for _ in range(50)] == [None] * 50
    assert contents(server) == before
    assert holder.leave(first)
    assert holder.enter() is not None


def test_a_permit_is_given_back_once_and_by_who_has_it(hire: Hire) -> None:
    holder, other = hire(2), hire(2)
    first, second = holder.fill()

    assert [other.leave(first), holder.leave("nobody's"), holder.leave(first, "another key")] == [
        False, False, False,
    ]  # fmt: skip
    assert [holder.leave(first), holder.leave(first), holder.leave(first)] == [True, False, False]
    assert (holder.inside(), holder.zombies, other.zombies) == (1, 0, 0)


def test_a_permit_that_is_kept_up_is_held_for_as_long_as_one_likes(
    hire: Hire, begun: ManualClock
) -> None:
    holder, other = hire(2), hire(2)
    tickets = holder.fill()
    for _ in range(60):
        begun.advance(TTL / 4)
        holder.renew()
        assert (other.enter(), other.inside()) == (None, 2)

    assert [holder.leave(ticket) for ticket in tickets] == [True, True]
    assert (holder.zombies, other.inside(), len(other.fill())) == (0, 0, 2)


def test_what_a_crashed_process_had_is_free_within_one_ttl(hire: Hire, begun: ManualClock) -> None:
    holder, other = hire(5), hire(5)
    kept = [other.enter(), other.enter()]
    holder.fill()
    begun.advance(TTL / 4)
    holder.renew()
    other.renew()
    holder.crash()

    assert other.enter() is None
    for _ in range(4):
        begun.advance(TTL / 4)
        other.renew()
    assert (other.inside(), len(other.fill()), other.zombies) == (2, 3, 0)
    assert [other.leave(ticket) for ticket in kept] == [True, True]


def test_leaving_late_does_no_harm_to_who_came_instead(
    hire: Hire, begun: ManualClock, warned: Callable[[], list[str]]
) -> None:
    holder, other = hire(2, name="pool"), hire(2, name="pool")
    late = holder.fill()
    begun.advance(TTL)
    others = other.fill()

    assert len(others) == 2
    assert [holder.leave(ticket) for ticket in late] == [False, False]
    assert (other.inside(), other.enter()) == (2, None)
    assert [other.leave(ticket) for ticket in others] == [True, True]
    assert (holder.zombies, other.zombies, other.inside()) == (2, 0, 0)
    said = "permits 'pool': 1 inside outlived its permit, and others may have been let in instead"
    assert warned() == [said, said]


def test_a_renewal_that_comes_too_late_reports_each_zombie_once(
    hire: Hire, method: str, begun: ManualClock, warned: Callable[[], list[str]]
) -> None:
    holder, other = hire(3, name="pool"), hire(3, name="pool")
    late = holder.fill()
    begun.advance(TTL)
    others = [other.enter(), other.enter()]
    holder.renew()
    holder.renew()

    # One of the three had room; by name the others stay out, a number says how many there are.
    assert holder.zombies == 2
    assert other.inside() == {"leases": 3, "counters": 5, "windows": 5}[method]
    assert warned() == [
        "permits 'pool': 2 inside outlived their permits, and others may have been let in instead"
    ]
    assert (other.enter(), holder.enter()) == (None, None)
    for ticket in late:
        holder.leave(ticket)
    for ticket in others:
        assert other.leave(ticket)
    assert (other.inside(), holder.zombies, other.zombies) == (0, 2, 0)


def test_a_zombie_is_let_in_again_when_there_is_room(hire: Hire, begun: ManualClock) -> None:
    holder, other = hire(1), hire(1)
    late = holder.enter()
    begun.advance(TTL)
    ticket = other.enter()
    holder.renew()
    assert other.leave(ticket)
    holder.renew()

    assert (holder.zombies, other.inside(), other.enter()) == (1, 1, None)
    assert holder.leave(late)
    assert other.inside() == 0


def test_a_renewal_that_comes_too_late_with_room_left_loses_nothing(
    hire: Hire, begun: ManualClock
) -> None:
    holder, other = hire(3), hire(3)
    tickets = [holder.enter(), holder.enter()]
    begun.advance(10 * TTL)
    assert other.inside() == 0
    holder.renew()

    assert (other.inside(), len(other.fill()), holder.zombies) == (2, 1, 0)
    assert [holder.leave(ticket) for ticket in tickets] == [True, True]


def test_a_server_that_was_emptied_hears_of_all_who_are_inside(
    hire: Hire, server: Server, begun: ManualClock
) -> None:
    holder, other = hire(3), hire(3)
    tickets = [holder.enter(), holder.enter(), other.enter()]
    server.flush()
    begun.advance(0.01)
    holder.renew()

    assert (other.inside(), len(other.fill())) == (2, 1)
    other.renew()
    # Two of the other's are inside, and only one of them had room.
    assert (holder.zombies, other.zombies) == (0, 1)
    assert [holder.leave(ticket) for ticket in tickets[:2]] == [True, True]


def test_who_leaves_after_the_server_was_emptied_takes_nobody_off(
    hire: Hire, server: Server, begun: ManualClock
) -> None:
    holder, other = hire(2), hire(2)
    late = holder.fill()
    server.flush()
    begun.advance(0.01)
    others = other.fill()

    assert len(others) == 2
    assert [holder.leave(ticket) for ticket in late] == [False, False]
    assert (other.inside(), other.enter(), holder.zombies) == (2, None, 2)


@pytest.mark.parametrize("step", [-0.5, -6.0, -3600.0])
def test_a_clock_that_steps_back_lends_nothing_for_longer_than_the_ttl(
    hire: Hire, begun: ManualClock, step: float
) -> None:
    crashed, holder = hire(3), hire(3)
    crashed.enter()
    ticket = holder.enter()
    crashed.crash()
    begun.advance(step)
    for _ in range(6):
        holder.renew()
        begun.advance(TTL / 4)

    assert (holder.inside(), len(holder.fill()), holder.zombies) == (1, 2, 0)
    assert holder.leave(ticket)


def test_a_limit_that_is_changed_counts_those_who_are_inside(hire: Hire) -> None:
    old, new = hire(4, name="pool"), hire(4, name="pool")
    tickets = old.fill()
    new.permits.limit = 2
    for ticket in tickets[:3]:
        assert new.enter() is None
        old.leave(ticket)

    assert (new.permits.limit, new.enter() is None, new.enter()) == (2, False, None)


def test_closing_gives_back_what_is_held(hire: Hire) -> None:
    holder, other = hire(3), hire(3)
    ticket, *_ = holder.fill()
    holder.run(holder.permits.close)

    assert (other.inside(), holder.leave(ticket)) == (0, False)
    assert holder.enter() is not None


@pytest.mark.parametrize("kind", [RedisPermits, AsyncRedisPermits])
@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"limit": 0}, "ValueError: {}: limit is 1 or more, not 0"),
        ({"limit": 2.5}, "TypeError: {}: limit is a whole number, not 2.5"),
        ({"ttl": 0.01}, "ValueError: {}: ttl is from 0.1 to 86400, not 0.01"),
        ({"ttl": "30"}, "TypeError: {}: ttl is a number, not '30'"),
        ({"ttl": float("inf")}, "ValueError: {}: ttl is from 0.1 to 86400, not inf"),
        (
            {"method": "lease"},
            'ValueError: {}: method is one of "leases", "counters", "windows", not \'lease\'',
        ),
        ({"name": 3}, "TypeError: {}: name is a str, not 3"),
        ({"budget": 0}, "ValueError: budget is a number of seconds above 0, not 0"),
    ],
    ids=str,
)
def test_what_cannot_be_is_refused_with_what_could(
    kind: Any, options: dict[str, Any], error: str
) -> None:
    with pytest.raises((TypeError, ValueError)) as refusal:
        kind("redis://localhost", **{"limit": 3, **options})

    name = kind.__name__
    assert f"{type(refusal.value).__name__}: {refusal.value}" == error.format(name)


def test_a_key_is_a_str(hire: Hire) -> None:
    holder = hire(1)
    for call in (holder.enter, holder.inside, lambda key: holder.leave("x", key)):
        with pytest.raises(TypeError, match=r"^a key is a str, not 7$"):
            call(7)  # type: ignore[arg-type]


def test_permits_print_what_they_are_and_no_secret() -> None:
    permits = RedisPermits("redis://me:secret@localhost:7000/2", 5, "counters", name="pool")

    assert repr(permits) == "RedisPermits('redis://localhost:7000', 5, 'counters', name='pool')"


def contents(server: Server) -> dict[str, str]:
    """Everything a server has, as it would be written to a file."""
    with server.wire() as wire:
        return {key: wire.ask("DUMP", key) for key in wire.ask("KEYS", "*")}
