"""Visits: a request goes through the rules it meets, told once as flows for both colours.

First every rule that counts is asked, each taking what the request costs; then, if one of them says
to wait, all is waited for at once; then places are held, and breakers asked last, right before the
request goes in. Where one refuses, what the others took is given back: a refused request has spent
nothing. What a flow yields is a function to be called, and awaited if its answer can be.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import inf
from typing import Any

from headgate.drive import Flow
from headgate.errors import BulkheadFull, StoreUnavailable
from headgate.rules.live.entry import SOON, Cause, Entry, Pass, Refusal
from headgate.rules.live.ruling import Lane, Ruling
from headgate.rules.live.stock import lay, prepare
from headgate.rules.live.tally import count
from headgate.rules.live.trial import heard
from headgate.rules.live.turnstile import refusal
from headgate.rules.matching.request import Request

Plan = Callable[[Request], str]
Later = list[tuple[Ruling, Lane | None, str]]
# The status of a request whose client went away; it says nothing about who was to answer it.
GONE = 499


class Hands:
    """How one colour does what takes time: sleeping, and waiting for a place; and the time."""

    __slots__ = ("hold", "now", "sleep")

    def __init__(
        self, sleep: Callable[[float], Any], hold: Callable[[Any], Any], now: Callable[[], int]
    ) -> None:
        self.sleep = sleep
        self.hold = hold
        self.now = now


def enter(entry: Entry, rulings: Sequence[Ruling], plan: Plan, hands: Hands) -> Flow[Entry]:
    """Take the request of an entry through the rules it meets."""
    later: Later = []
    try:
        yield from ask(entry, rulings, plan, later)
        waits = entry.refusal is None and entry.waited > 0.0
        if waits:
            yield from rest(entry, hands)
        for ruling, lane, key in later:
            if entry.refusal is None:
                yield from hold(entry, ruling, lane, key, hands)
        for ruling, _, key in later:
            if entry.refusal is None:
                attempt(entry, ruling, key)
    except BaseException:
        yield from undo(entry)
        raise
    count(entry, heard(entry, rulings), hands.now(), waits)
    prepare(entry, rulings)
    if entry.refusal is not None:
        yield from undo(entry)
    else:
        after = any(one.ruling.afterwards for one in entry.passes)
        entry.owing = after or bool(entry.slots or entry.calls or entry.body is not None)
    return entry


def leave(entry: Entry, status: int, header: Callable[[str], str], size: int) -> Flow[None]:
    """What is due when a request was answered; status 0 if it was not, 499 if nobody waited."""
    entry.owing = False
    calls, entry.calls = entry.calls, ()
    for ruling, call in calls:
        if status == GONE:
            call.ignore()
        elif status == 0 or status in ruling.failures:
            call.fail()
        call.end()
    slots, entry.slots = entry.slots, ()
    for slot in slots:
        settle(slot, status)
    lay(entry, status, header)
    for one in entry.passes:
        yield from account(one, entry.request, status, header, size)


def pour(entry: Entry, size: int, hands: Hands) -> Flow[None]:
    """Wait until so many bytes of the answer may be sent, by every rule that minds."""
    bookings: list[Any] = []
    try:
        for limiter, key in entry.bandwidth:
            booking = yield from draw(limiter, key, size, hands)
            bookings.append(booking)
        wait = max(booking.wait for booking in bookings)
        if 0.0 < wait < inf:
            yield partial(hands.sleep, wait)
    except BaseException:
        for booking in bookings:
            yield booking.cancel
        raise


def draw(limiter: Any, key: str, size: int, hands: Hands) -> Flow[Any]:
    """Book so many bytes. Where nobody may be let through unasked, wait for who can be asked.

    If there are more of them than ever fit, because rules have changed, they are paid for in parts.
    """
    while True:
        booking = yield partial(limiter.reserve, key, size)
        reason = booking.decision.reason
        if reason == "never":
            part = max(1, min(limit.limit for limit in limiter.limits))
            booking = yield partial(limiter.reserve, key, part)
            reason = booking.decision.reason
            if reason == "":
                yield partial(hands.sleep, booking.wait)
                size -= part
                continue
        if reason != "unavailable":
            return booking
        yield partial(hands.sleep, SOON)


def ask(entry: Entry, rulings: Sequence[Ruling], plan: Plan, later: Later) -> Flow[None]:
    """Take what the request costs from every rule that counts."""
    request = entry.request
    for ruling in rulings:
        rule = ruling.rule
        key = "" if ruling.key is None else ruling.key(request)
        bar = ruling.bar(key)
        if bar is not None:
            refuse(entry, ruling, key, bar)
        elif ruling.counts(key):
            lane = ruling.lane(plan(request) if ruling.plans else "", key)
            if lane is not None and lane.limiter is not None:
                yield from take(entry, ruling, lane, key)
            if lane is not None and lane.bandwidth is not None and ruling.enforced(key):
                entry.bandwidth = (*entry.bandwidth, (lane.bandwidth, key))
            if rule.concurrent or rule.adaptive or rule.breaker:
                later.append((ruling, lane, key))
        if entry.refusal is not None:
            return


def take(entry: Entry, ruling: Ruling, lane: Lane, key: str) -> Flow[None]:
    """Take the cost from one limiter, for now or for the moment it is due."""
    limiter = lane.limiter
    cost = ruling.fee.units(entry.request)
    booking = None
    if ruling.fee.pends(entry.request):
        decision = yield partial(limiter.peek, key, cost)
    else:
        booking = yield partial(limiter.reserve, key, cost, ruling.wait(key))
        decision = booking.decision
    entry.passes = (*entry.passes, Pass(ruling, lane, key, cost, decision, booking))
    if not decision:
        refuse(entry, ruling, key, refusal(ruling, decision))
        return
    wait = decision.retry_after if booking is not None else 0.0
    if wait > 0.0 and ruling.crowd is not None and ruling.crowd.waiting >= ruling.queue:
        cause = Cause("queue", "queue", ruling.queue)
        refuse(entry, ruling, key, Refusal("capacity", ruling.rule, ruling.status, wait, "", cause))
    entry.waited = max(entry.waited, wait)


def rest(entry: Entry, hands: Hands) -> Flow[None]:
    """Wait until all that was booked is due."""
    granted = [one for one in entry.passes if one.decision and one.decision.retry_after > 0.0]
    crowds = [one.ruling.crowd for one in granted if one.ruling.crowd is not None]
    for crowd in crowds:
        crowd.waiting += 1
    try:
        yield partial(hands.sleep, entry.waited)
    finally:
        for crowd in crowds:
            crowd.waiting -= 1


def hold(entry: Entry, ruling: Ruling, lane: Lane | None, key: str, hands: Hands) -> Flow[None]:
    """Hold a place in every bulkhead of one rule."""
    rule = ruling.rule
    places = [] if lane is None or lane.bulkhead is None else [(lane.bulkhead, key)]
    for bulkhead, name in [*places, *ruling.guards()]:
        try:
            slot = yield from occupy(bulkhead, name, ruling, lane, key, hands)
        except BulkheadFull as full:
            mine = ruling.key is not None and name == key and full.reason != "queue"
            kind = "limit" if mine else "capacity"
            what = "places" if lane is not None and bulkhead is lane.bulkhead else "adaptive"
            cause = Cause(what, full.reason, full.limit)
            refused = Refusal(kind, rule, ruling.status, SOON, ruling.name, cause)
            refuse(entry, ruling, key, refused)
        except StoreUnavailable:
            refuse(entry, ruling, key, Refusal("unavailable", rule, 0, SOON))
        else:
            entry.slots = entry.slots if slot is None else (*entry.slots, slot)
            if lane is not None and name == key and bulkhead is lane.bulkhead:
                entry.places = (*entry.places, (ruling, lane, key))
        if entry.refusal is not None:
            return


def occupy(
    bulkhead: Any, name: str, ruling: Ruling, lane: Lane | None, key: str, hands: Hands
) -> Flow[Any]:
    """A place in one bulkhead; where its store cannot be asked, as the rule will have it."""
    slot = bulkhead.hold(name, ruling.wait(key))
    try:
        yield partial(hands.hold, slot)
    except StoreUnavailable:
        mode = ruling.rule.when_unavailable
        if mode == "deny" or lane is None:
            raise
        if mode == "allow":
            return None
        slot = ruling.spare(lane).hold(name, ruling.wait(key))
        yield partial(hands.hold, slot)
    return slot


def attempt(entry: Entry, ruling: Ruling, key: str) -> None:
    """Ask the breaker of one rule."""
    breaker = ruling.breaker()
    if breaker is None:
        return
    call = breaker.hold(key)
    call.begin()
    if call:
        entry.calls = (*entry.calls, (ruling, call))
        return
    wait = call.refusal().retry_after
    cause = Cause("breaker", breaker.state(key))
    refuse(entry, ruling, key, Refusal("capacity", ruling.rule, ruling.status, wait, "", cause))


def undo(entry: Entry) -> Flow[None]:
    """Give back all that was taken: the request does not go in."""
    slots, entry.slots = entry.slots, ()
    for slot in slots:
        slot.ignore()
    calls, entry.calls = entry.calls, ()
    for _, call in calls:
        call.ignore()
        call.end()
    for one in entry.passes:
        yield from release(one)


def release(one: Pass) -> Flow[None]:
    """Give back what one rule took."""
    booking, one.booking = one.booking, None
    if booking:
        yield booking.cancel


def account(
    one: Pass, request: Request, status: int, header: Callable[[str], str], size: int
) -> Flow[None]:
    """Charge what is only known now, or give back what does not count."""
    ruling = one.ruling
    if ruling.counted is not None and status not in ruling.counted:
        yield from release(one)
        return
    if not ruling.fee.later or one.lane.limiter is None or not one.decision:
        return
    limiter = one.lane.limiter
    # More than a limit can owe is as much as it can.
    most = min([limit.heaviest for limit in limiter.limits], default=0)
    cost = min(most, ruling.fee.charge(request, header, size))
    if cost:
        ruling.tally.charge(cost)
        yield partial(limiter.debit, one.key, cost)


def settle(slot: Any, status: int) -> None:
    """Give a place back, with what its limit may learn from how it ended."""
    if status in (503, 504):
        slot.dropped()
    elif status in (0, 101, GONE):
        # How long a WebSocket was open says nothing about how long an answer takes.
        slot.ignore()
    else:
        slot.success()


def refuse(entry: Entry, ruling: Ruling, key: str, refused: Refusal) -> None:
    """Refuse, where the rule is enforced; else remember that it would have been refused."""
    if ruling.enforced(key):
        entry.refusal = refused
    else:
        entry.shadowed = (*entry.shadowed, ruling.rule)
