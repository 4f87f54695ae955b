"""The simulator: plays traffic against a limiter in virtual time and keeps the history.

    limiter = Limiter("10/s", clock=ManualClock())
    history = play(limiter, burst(20), steady(every=0.05, until=2.0, start=1.0))
    assert_bounded(history, most=20, span=1.0)

What was admitted is counted from the history, never asked of the limiter: this is how its
promises are proved, and yours can be.
"""

from __future__ import annotations

import heapq
from collections.abc import Generator, Iterable, Iterator
from typing import NamedTuple

from headgate.clock import ManualClock, microseconds
from headgate.decision import Decision
from headgate.limiter import Limiter
from headgate.testing.traffic import Client, Request, Trace


class Entry(NamedTuple):
    """One line of history: who asked for how much at `at` seconds, and what was decided."""

    at: float
    key: str
    cost: int
    decision: Decision


History = list[Entry]


def play(limiter: Limiter, *traffic: Trace | Client) -> History:
    """Make every request of `traffic` in the order of time, and record what was decided.

    The limiter's clock is a `ManualClock`; it is moved to the moment of each request. Traces run
    side by side; where two ask at one moment, the one given first goes first.
    """
    clock = limiter.clock
    if not isinstance(clock, ManualClock):
        raise TypeError(f"play: the limiter's clock is a ManualClock, not {clock!r}")
    history: History = []
    clients = [client(trace) for trace in traffic]
    waiting: list[tuple[float, int, Request]] = []
    for number, one in enumerate(clients):
        push(waiting, number, next(one, None))
    while waiting:
        at, number, request = heapq.heappop(waiting)
        clock.set(at)
        decision = limiter.take(request.key, request.cost)
        history.append(Entry(at, request.key, request.cost, decision))
        push(waiting, number, answer(clients[number], decision))
    return history


def client(trace: Trace | Client) -> Client:
    """The trace as somebody who can be answered."""
    if isinstance(trace, Generator):
        return trace
    return unmoved(trace)


def unmoved(trace: Trace) -> Client:
    """A client who makes its requests whatever it is answered."""
    for request in trace:
        yield Request(*request)


def answer(one: Client, decision: Decision) -> Request | None:
    """Tell a client what was decided; its next request, or none."""
    try:
        return one.send(decision)
    except StopIteration:
        return None


def push(waiting: list[tuple[float, int, Request]], number: int, request: Request | None) -> None:
    if request is not None:
        request = Request(*request)
        heapq.heappush(waiting, (request.at, number, request))


def admitted(history: Iterable[Entry], key: str | None = None) -> int:
    """How many units went in, of `key` or of all keys."""
    return sum(entry.cost for entry in allowed(history, key))


def most_in_any(history: Iterable[Entry], span: float, key: str | None = None) -> int:
    """The most units that went in within any `span` seconds, exactly.

    Spans are half open, (t - span, t]: what went in exactly `span` apart is never in one.
    """
    return fullest(history, span, key)[0]


def timeline(
    history: Iterable[Entry], every: float, until: float, key: str | None = None
) -> list[int]:
    """The units that went in during each `every` seconds from 0 on, for a picture of it."""
    width = microseconds(every)
    counts = [0] * -(-microseconds(until) // width)
    for entry in allowed(history, key):
        place = microseconds(entry.at) // width
        if place < len(counts):
            counts[place] += entry.cost
    return counts


def assert_admits(history: Iterable[Entry], units: int, key: str | None = None) -> None:
    """Fail unless exactly `units` went in."""
    found = admitted(history, key)
    if found != units:
        raise AssertionError(f"{found} units went in, not {units}")


def assert_bounded(
    history: Iterable[Entry], most: int, span: float, key: str | None = None
) -> None:
    """Fail if more than `most` units went in within any `span` seconds, saying where."""
    units, end = fullest(history, span, key)
    if units > most:
        raise AssertionError(
            f"{units} units went in within {span:g} s, up to {end / 1e6:.6f} s; {most} may"
        )


def fullest(history: Iterable[Entry], span: float, key: str | None) -> tuple[int, int]:
    """The most units in any span, and the moment (microseconds) at which that span ends."""
    width = microseconds(span)
    entries = sorted((microseconds(entry.at), entry.cost) for entry in allowed(history, key))
    best, end, inside, oldest = 0, 0, 0, 0
    for at, cost in entries:
        inside += cost
        while entries[oldest][0] <= at - width:
            inside -= entries[oldest][1]
            oldest += 1
        if inside > best:
            best, end = inside, at
    return best, end


def allowed(history: Iterable[Entry], key: str | None) -> Iterator[Entry]:
    return (entry for entry in history if entry.decision and key in (None, entry.key))
