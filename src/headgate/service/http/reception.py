"""Reception: where requests are dealt with that come in by a port, from their head to their answer.

What most ask, `take` for one key, is answered in one go, and compiled. The rest is the clerk's.
"""

from __future__ import annotations

from json import JSONDecoder
from json.scanner import make_scanner
from typing import Any

from headgate.adapters.http.herald import Herald
from headgate.adapters.http.problem import UNSTORED
from headgate.decision import Decision
from headgate.errors import HeadgateError
from headgate.rules.live.entry import Entry, Pass
from headgate.service.http.asking import AUTHORIZATION, identify
from headgate.service.http.basket import fetch
from headgate.service.http.clerk import Clerk, explain
from headgate.service.http.patron import Patron
from headgate.service.http.saying import JSON, Trouble, told
from headgate.wire.exchange import CHUNKED, Exchange
from headgate.wire.lines import CLOSE, CONTINUE, KEEP, LINES
from headgate.wire.phases import BODY, WAITING

# Reads JSON without looking whether a name stands twice in an object.
SCAN = make_scanner(JSONDecoder())  # type: ignore[arg-type]

POST = b"POST"
TAKE = b"/v1/take"
TYPE = b"application/json"
TYPED = b"content-type"
# As `Decision.why` has it.
UNKNOWN = 3
# As much as a limiter takes at once.
HEAVIEST = 1_000_000_000
MILLION = 1_000_000
# A longer key is noted by its digest.
LONGEST = 128


def receive(hall: Any, port: Any, peer: str) -> Patron:
    """A connection of whoever comes in by this port and speaks HTTP."""
    place = (port.caller, port.tls is None)
    receptions = hall.things.setdefault("http", {})
    found = receptions.get(place)
    if found is None:
        found = receptions[place] = Reception(hall, *place)
    return Patron(found, peer)


class Reception:
    """Where requests are dealt with. `caller` is whom they are taken for who show no token."""

    __slots__ = (
        "__weakref__", "book", "caller", "clerk", "clock", "hall", "hearsay", "herald", "house",
        "paused", "private", "scheme", "scroll",
    )  # fmt: skip

    def __init__(self, hall: Any, caller: str = "", plain: bool = True) -> None:
        self.hall = hall
        self.house = hall.house
        self.clock = hall.keeper.lodge.clock
        self.scroll = hall.house.scroll
        self.scheme = "http" if plain else "https"
        self.caller = caller
        # What inlets ask of whom they are handed to.
        self.paused: set[Any] = set()
        self.hearsay = self.private = b""
        self.book: Any = None
        self.herald: Any = None
        self.clerk = Clerk(self)

    def admit(self, exchange: Exchange) -> None:
        """A request's head is there, or it is its turn."""
        self.hall.asked += 1
        exchange.began = self.clock.now()
        if exchange.fault:
            self.clerk.object(exchange, exchange.fault)
        elif exchange.whole:
            self.attend(exchange)
        else:
            if exchange.length == CHUNKED:
                fetch(exchange)
                exchange.inlet.resume()
            if exchange.expects:
                exchange.expects = False
                exchange.inlet.write(CONTINUE)

    def complete(self, exchange: Exchange) -> None:
        """The body of a request is whole."""
        inlet = exchange.inlet
        if inlet.queue and inlet.queue[0] is exchange and not exchange.over:
            inlet.phase = WAITING
            self.attend(exchange)

    def attend(self, exchange: Exchange) -> None:
        """Answer a request that is whole."""
        quick = exchange.target == TAKE and exchange.method == POST and exchange.length > 0
        if not (quick and self.take(exchange)):
            self.clerk.attend(exchange)

    def take(self, exchange: Exchange) -> bool:
        """Answer `take` for one key; False, and nothing is done, if there is more to it."""
        question = plain(exchange)
        if question is None:
            return False
        rule, key, cost, plan = question
        if self.caller or self.hall.callers.needed:
            try:
                caller = identify(self.hall, self.caller, exchange, AUTHORIZATION)
            except Trouble:
                return False
            exchange.inlet.caller = caller
            if caller is not None and not (caller.may(rule) and caller.take(1)):
                return False
        try:
            found = self.hall.teller.take(rule, key, cost, plan)
        except HeadgateError as problem:
            self.reply(exchange, *explain(problem))
            return True
        if type(found) is Decision:
            self.reply(exchange, *self.declare(rule, key, plan, found, 1))
        else:
            self.clerk.wait(exchange, self.later(rule, key, plan, found))
        return True

    async def later(self, rule: str, key: str, plan: str, found: Any) -> Any:
        """The answer once a store has given its own."""
        return self.declare(rule, key, plan, await found, 1)

    def declare(self, rule: str, key: str, plan: str, decision: Decision, count: int) -> Any:
        """What is answered to a decision, and noted of it if it counts."""
        if count:
            self.note(decision)
        body = told(decision)
        fields = [JSON, (b"content-length", b"%d" % len(body)), UNSTORED]
        fields += self.standing(rule, key, plan, decision)
        if decision.allowed:
            return 200, fields, body
        status = 429
        if decision.why == UNKNOWN:
            status = 503
        elif decision.limit == 0 and self.barred(rule, key):
            status = 403
        wait = decision.retry
        if wait > 0:
            fields.append((b"retry-after", b"%d" % ((wait + MILLION - 1) // MILLION)))
        elif status == 503:
            fields.append((b"retry-after", b"1"))
        return status, fields, body

    def standing(self, rule: str, key: str, plan: str, decision: Decision) -> Any:
        """The headers that tell how a limit stands."""
        book = self.hall.keeper.lodge.book
        if book is not self.book:
            self.learn(book)
        till = self.hall.teller.find(rule)
        if till is None or not decision.limit:
            return []
        ruling = till.ruling
        lane = ruling.main
        if lane is None:
            lane = ruling.lane(plan, till.name(key))
        if lane is None or lane.limiter is None:
            return []
        entry = Entry(book.version)
        entry.passes = (Pass(ruling, lane, key, 1, decision, None),)
        herald: Herald = self.herald
        return herald.fields(entry)

    def learn(self, book: Any) -> None:
        """Other rules are in force: they may tell of limits in another way."""
        self.book = book
        self.herald = self.clerk.arrivals.manners.herald

    def barred(self, rule: str, key: str) -> bool:
        """Whether a rule lets nobody in, or nobody without a key."""
        till = self.hall.teller.find(rule)
        return till is not None and till.bar(till.name(key)) is not None

    def note(self, decision: Decision) -> None:
        """Take note of what somebody was told."""
        if not decision.allowed:
            self.hall.refused += 1

    def reply(self, exchange: Exchange, status: int, fields: Any, body: bytes) -> None:
        """Answer a request."""
        if exchange.over:
            return
        if not exchange.whole or self.hall.closing:
            exchange.keep = False
        exchange.status = status
        exchange.begun = exchange.over = True
        self.hall.meters["http"].note(status, self.clock.now() - exchange.began)
        scroll = self.scroll
        scroll.add(LINES.get(status) or b"HTTP/1.1 %d \r\n" % status)
        for name, value in fields:
            scroll.line(name, value)
        if not exchange.keep:
            scroll.add(CLOSE)
        elif exchange.old:
            scroll.add(KEEP)
        scroll.add(b"\r\n")
        if exchange.method != b"HEAD":
            scroll.add(body)
        inlet = exchange.inlet
        inlet.write(scroll.take())
        exchange.outlet = exchange.backlog = None
        inlet.advance(exchange)

    def expect(self, exchange: Exchange) -> None:
        """Set the time by which a client has to go on; a store has its own."""
        inlet = exchange.inlet
        inlet.deadline = self.house.now + self.house.until_body if inlet.phase == BODY else 0

    def spoil(self, exchange: Exchange, status: int) -> None:
        """What was to be the body of a request is none, or does not come."""
        if not exchange.over:
            exchange.keep = False
            self.clerk.object(exchange, status)

    def greet(self, inlet: Any) -> None:
        """A client has connected."""
        self.hall.greet(inlet)

    def part(self, inlet: Any) -> None:
        """A client has gone."""
        self.hall.part(inlet)
        self.paused.discard(inlet)
        queue, inlet.queue = inlet.queue, []
        if queue and not queue[0].over:
            self.clerk.abandon(queue[0])


def plain(exchange: Exchange) -> tuple[str, str, int | None, str] | None:
    """The rule, key, cost and plan of a question for one key; None if there is more to it."""
    if not typed(exchange):
        return None
    try:
        text = b"".join(exchange.backlog or ()).decode("utf-8")
        said, end = SCAN(text, 0)
    except Exception:
        # What is wrong is found out by who can say it.
        return None
    if type(said) is not dict or end != len(text):
        return None
    rule, key, plan = said.get("rule"), said.get("key"), said.get("plan", "")
    if type(rule) is not str or type(key) is not str or type(plan) is not str:
        return None
    cost = said.get("cost", 1)
    if type(cost) is not int or not 0 <= cost <= HEAVIEST or len(key) > LONGEST or not rule:
        return None
    # Whatever stands there twice, or has another name, has more quotes.
    words = 2 + ("plan" in said)
    known = words + ("cost" in said)
    if len(said) != known or text.count('"') != 2 * (words + known) or "\\" in text:
        return None
    return rule, key, cost if "cost" in said else None, plan


def typed(exchange: Exchange) -> bool:
    """Whether the body is said to be JSON, in so many words."""
    said = exchange.said
    for place in range(0, len(said), 2):
        name = said[place]
        if len(name) == len(TYPED) and name.lower() == TYPED:
            return said[place + 1] == TYPE
    return False
