"""Detour: the whole way through rules, for requests that meet several, or one that does more.

It is the way they go in front of an app, told by the same flows. Who has to wait is set aside until
its time has come, and whoever holds something gives it back when the log says that the request was
over.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from functools import partial
from typing import Any

from headgate.drive import drive
from headgate.errors import BulkheadFull
from headgate.replay.bench import Berth
from headgate.replay.hits import Hit
from headgate.rules.live.entry import Entry
from headgate.rules.live.gatekeeper import perform
from headgate.rules.live.visit import Hands, enter, leave

ALLOWED, DELAYED, REFUSED, SHADOWED = range(4)
MILLION = 1_000_000


class Nap:
    """That somebody has to wait so long."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds


class Visit:
    """A request on its way through rules."""

    def __init__(self, hit: Hit, entry: Entry, rulings: Any, flow: Any) -> None:
        self.hit = hit
        self.entry = entry
        self.rulings = rulings
        self.flow = flow
        # What it stands in line for.
        self.berth: Berth | None = None


class Detour:
    """The visits of a player that are not over yet."""

    def __init__(self, player: Any) -> None:
        self._player = player
        self._hands = Hands(Nap, lambda berth: berth, player.clock.now)
        # What is to be done when, in that order.
        self._agenda: list[tuple[int, int, Callable[[], object]]] = []
        self._tickets = 0

    def visit(self, hit: Hit) -> None:
        """Take a request through all the rules that it meets."""
        player = self._player
        request = player.request(hit)
        rulings = player.book.find(request)
        if not rulings:
            player.free += 1
            player.settle(hit, "", "", ALLOWED)
            return
        entry = Entry(player.book.version, request)
        flow = enter(entry, rulings, player.book.plan, self._hands)
        self._go(Visit(hit, entry, rulings, flow), None)

    def attend(self, until: int) -> None:
        """Do what was due before then, and at that moment."""
        player, agenda = self._player, self._agenda
        while agenda and agenda[0][0] <= until:
            moment, _, act = heapq.heappop(agenda)
            player.open -= 1
            player.clock.moment = moment
            act()
        player.clock.moment = until

    def finish(self) -> None:
        """Do all that is left to do: nobody comes any more."""
        while self._agenda:
            self.attend(self._agenda[0][0])

    def _book(self, moment: int, act: Callable[[], object]) -> None:
        self._player.open += 1
        self._tickets += 1
        heapq.heappush(self._agenda, (moment, self._tickets, act))

    def _go(self, visit: Visit, answer: Any) -> None:
        # Go on with a visit until it is over, or has to wait.
        flow = visit.flow
        try:
            full = isinstance(answer, BulkheadFull)
            effect = flow.throw(answer) if full else flow.send(answer)
            while True:
                try:
                    said = effect()
                    if self._waits(visit, said):
                        return
                except BulkheadFull as problem:
                    effect = flow.throw(problem)
                else:
                    effect = flow.send(said)
        except StopIteration:
            self._close(visit)

    def _waits(self, visit: Visit, said: Any) -> bool:
        # Whether what was done is to wait, for a time or for a place.
        now = self._player.clock.moment
        if isinstance(said, Nap):
            self._book(now + round(said.seconds * MILLION), partial(self._go, visit, None))
            return True
        if not isinstance(said, Berth) or said.enter(partial(self._wake, visit, said)):
            return False
        visit.berth = said
        self._book(now + round(said.patience * MILLION), partial(self._admit, visit, said))
        return True

    def _wake(self, visit: Visit, berth: Berth) -> None:
        # Somebody left, and it is the turn of this one.
        self._book(self._player.clock.moment, partial(self._admit, visit, berth))

    def _admit(self, visit: Visit, berth: Berth) -> None:
        # It has a place by now, or has waited for long enough.
        if visit.berth is not berth:
            return
        visit.berth = None
        try:
            berth.settle()
        except BulkheadFull as problem:
            self._go(visit, problem)
            return
        waited = (self._player.clock.moment - visit.hit.at) / MILLION
        visit.entry.waited = max(visit.entry.waited, waited)
        self._go(visit, berth)

    def _close(self, visit: Visit) -> None:
        # Count what became of a request, and see to it when it is over.
        player, entry, hit = self._player, visit.entry, visit.hit
        shadowed = {rule.name for rule in entry.shadowed}
        keys = {one.ruling.name: one.key for one in entry.passes}
        key = ""
        for ruling in visit.rulings:
            key = whom(ruling, keys, entry)
            self._count(ruling, hit, key, entry, shadowed)
            if entry.refusal is not None and entry.refusal.rule is ruling.rule:
                break
        if entry.refusal is not None:
            player.settle(hit, entry.rule, key, REFUSED)
            return
        whole = SHADOWED if shadowed else DELAYED if entry.waited > 0.0 else ALLOWED
        player.settle(hit, "", "", whole)
        if entry.owing and hit.took > 0:
            self._book(player.clock.moment + hit.took, partial(over, entry, hit))
        elif entry.owing:
            over(entry, hit)

    def _count(
        self, ruling: Any, hit: Hit, key: str, entry: Entry, shadowed: set[str]
    ) -> None:  # fmt: skip
        score = self._player.scores[ruling.name]
        refusal = entry.refusal
        outcome = ALLOWED
        if refusal is not None and refusal.rule is ruling.rule:
            outcome = REFUSED
            score.kinds[refusal.kind] = score.kinds.get(refusal.kind, 0) + 1
        elif ruling.name in shadowed:
            outcome = SHADOWED
        elif entry.waited > 0.0 and ruling.patience > 0.0 and refusal is None:
            outcome = DELAYED
            score.waited += round(entry.waited * MILLION)
        known = score.add(hit.at, key, outcome)
        if known > 0:
            self._player.widen(score, known)


def whom(ruling: Any, keys: dict[str, str], entry: Entry) -> str:
    """Who asked, by the key of a rule, or by their address where all are counted together."""
    request: Any = entry.request
    if ruling.key is None:
        return str(request.client)
    key = keys.get(ruling.name)
    return key if key is not None else str(ruling.key(request))


def over(entry: Entry, hit: Hit) -> None:
    """A request is over, and says how it ended."""
    headers = hit.headers or {}
    status = hit.status if hit.status >= 0 else 200
    drive(leave(entry, status, lambda name: headers.get(name, ""), hit.size), perform)
