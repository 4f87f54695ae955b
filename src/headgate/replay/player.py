"""Player: plays the requests of a log to rules, in the log's own time, and keeps the score.

Most requests meet one rule that only counts: those go through its turnstile, and all of that is
compiled. All others make a detour.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headgate.replay.bench import Bench
from headgate.replay.detour import Detour
from headgate.replay.dial import Dial
from headgate.replay.hits import Hit, Spot
from headgate.replay.score import Score
from headgate.rules.clients.client import NOBODY, Client, Found
from headgate.rules.live.entry import Entry
from headgate.rules.live.ruleset import Ruleset
from headgate.rules.live.turnstile import Turnstile
from headgate.rules.matching.request import Request
from headgate.rules.model.rules import Rules

ALLOWED = 0
REFUSED = 2
# So many clients are remembered at once, and so many keys are kept.
REMEMBERED = 1 << 18
MOST_KEYS = 1_000_000
FOREVER = 1 << 62
FORWARDED = "x-forwarded-for"


class Way:
    """Where requests for one spot go, as far as the spot alone tells."""

    __slots__ = ("free", "score", "turnstile")

    turnstile: Turnstile | None
    score: Score | None

    def __init__(self, turnstile: Turnstile | None, score: Score | None, free: bool) -> None:
        self.turnstile = turnstile
        self.score = score
        # Whether they meet no rule at all.
        self.free = free


class Player:
    """Rules, and what they do to the requests of a log: `play` each list of hits, then `finish`.

    `number` tells two players apart who are played the same hits. `told` is called with every
    verdict: the hit, the name of the rule that refused it and the key it was counted under.
    """

    __slots__ = (
        "bench", "book", "clients", "clock", "detour", "finder", "free", "number", "open", "plain",
        "rules", "scores", "told", "total", "unseen",
    )  # fmt: skip

    clock: Dial
    total: Score
    scores: dict[str, Score]
    clients: dict[str, str]

    def __init__(
        self, rules: Rules, number: int = 0, told: Callable[[Hit, str, str], object] | None = None
    ) -> None:
        self.rules = rules
        self.number = number
        self.told = told
        self.clock = Dial()
        self.bench = Bench(self.clock)
        self.book = Ruleset(rules, self.bench)  # type: ignore[arg-type]
        self.finder = Finder(rules.client)
        # Whether no header tells of the client but the usual one.
        self.plain = rules.client.header == FORWARDED
        self.clients = {}
        self.detour = Detour(self)
        # How much there is to attend to.
        self.open = 0
        # Those that met no rule; and those who came by a proxy that is believed, where the log
        # does not have what it said.
        self.free = self.unseen = 0
        self.total = Score("", FOREVER)
        self.scores = {}
        for ruling in self.book.rulings:
            self.scores[ruling.name] = Score(ruling.name, self.bench.widen(ruling.name, 0))

    def play(self, hits: list[Hit]) -> None:
        """Decide about requests, which come in the order of time."""
        for each in hits:
            self.decide(each)

    def decide(self, hit: Hit) -> None:
        """Decide about one request."""
        self.clock.moment = hit.at
        if self.open > 0:
            self.detour.attend(hit.at)
        way = hit.spot.notes[self.number]
        if way is None:
            way = self.meet(hit.spot)
        self.walk(way, hit)

    def finish(self) -> None:
        """Do all that is left to do: nobody comes any more."""
        self.detour.finish()

    def walk(self, way: Way, hit: Hit) -> None:
        turnstile = way.turnstile
        if turnstile is not None:
            if turnstile.near:
                key = self.client(hit)
                entry = turnstile.weigh(key, None)
            else:
                request = self.request(hit)
                entry = turnstile.enter(request)
                key = self.key(entry, request)
            self.judge(way.score, hit, key, entry)
        elif way.free:
            self.free += 1
            self.settle(hit, "", "", ALLOWED)
        else:
            self.detour.visit(hit)

    def judge(self, score: Score | None, hit: Hit, key: str, entry: Entry) -> None:
        # What a turnstile said.
        if score is None:
            return
        refusal = entry.refusal
        if refusal is None:
            known = score.add(hit.at, key, ALLOWED)
            self.settle(hit, "", key, ALLOWED)
        else:
            kinds = score.kinds
            kinds[refusal.kind] = kinds.get(refusal.kind, 0) + 1
            known = score.add(hit.at, key, REFUSED)
            self.settle(hit, score.name, key, REFUSED)
        if known > 0:
            self.widen(score, known)

    def settle(self, hit: Hit, rule: str, key: str, outcome: int) -> None:
        """Take note of what became of a request as a whole."""
        self.total.sum(hit.at, outcome)
        if self.told is not None:
            self.told(hit, rule, key)

    def meet(self, spot: Spot) -> Way:
        """Where requests for this spot go."""
        rulings = self.book.meant(spot.method, spot.path)
        way = Way(None, None, rulings == ())
        if rulings is not None and len(rulings) == 1 and rulings[0].turnstile is not None:
            way = Way(rulings[0].turnstile, self.scores[rulings[0].name], False)
        spot.notes[self.number] = way
        return way

    def client(self, hit: Hit) -> str:
        """The key of the client's address."""
        if not self.plain and hit.headers is not None:
            who, blind = self.finder.find(hit)
            self.unseen += blind
            return str(who.key)
        place = f"{hit.peer} {hit.forwarded}" if hit.forwarded else hit.peer
        found = self.clients.get(place)
        if found is None:
            who, blind = self.finder.find(hit)
            found = who.key
            if blind:
                self.unseen += 1
                return found
            if len(self.clients) >= REMEMBERED:
                self.clients.clear()
            self.clients[place] = found
        return found

    def request(self, hit: Hit) -> Request:
        """The request as rules ask about it."""
        spot = hit.spot
        headers: Any = hit.headers or ()
        if hit.forwarded:
            headers = {**(hit.headers or {}), FORWARDED: hit.forwarded}
        if hit.host:
            headers = {**(headers or {}), "host": hit.host}
        key = self.client(hit)
        return Comer(
            self.finder, hit, spot.method, spot.path, headers, spot.query, hit.host or spot.host,
            hit.scheme or "http", key, user=hit.user,
        )  # fmt: skip

    def key(self, entry: Entry, request: Request) -> str:
        """Whom to name as the one who asked, where a rule counts all together or not at all."""
        for one in entry.passes:
            if one.key:
                return str(one.key)
        return request.client

    def widen(self, score: Score, known: int) -> None:
        """See that there is room for more keys."""
        if len(score.keys) >= MOST_KEYS:
            score.prune()
        more = max(1, MOST_KEYS - len(score.keys))
        score.room = min(self.bench.widen(score.name, known + 1), known + more)


class Finder:
    """Who the client of a hit is, by what rules believe."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.header = client.header
        self._believing = bool(client.trusted_proxies or client.trusted_hops)

    def find(self, hit: Hit) -> tuple[Found, bool]:
        """Who it is, and whether that may be a proxy, as the log does not have what it said."""
        peer, said = self.said(hit)
        if not peer:
            return NOBODY, False
        blind = self._believing and not said and self._client.meet(peer)[1]
        return self._client.find(peer, [said] if said else []), blind

    def believes(self, hit: Hit) -> bool:
        """Whether who connected is a proxy that is believed."""
        peer, _ = self.said(hit)
        return bool(peer) and self._client.meet(peer)[1]

    def said(self, hit: Hit) -> tuple[str, str]:
        """Who connected, and what they said of the client."""
        said = hit.forwarded
        if self.header != FORWARDED:
            said = (hit.headers or {}).get(self.header, "")
        peer = hit.peer
        if not peer and said:
            # Who wrote the line saw the last of them.
            said, _, peer = said.rpartition(",")
            peer = peer.strip()
        return peer, said


class Comer(Request):
    """A request of a log; its whole address, and who wrote its headers, are found if asked for."""

    __slots__ = ("finder", "hit")

    def __init__(self, finder: Finder, hit: Hit, *said: Any, **options: Any) -> None:
        super().__init__(*said, **options)
        self.finder = finder
        self.hit = hit

    @property
    def address(self) -> str:
        """The client's whole address."""
        return self.finder.find(self.hit)[0].address

    @property
    def vouched(self) -> bool:
        """Whether headers were written by a proxy that is believed."""
        return self.finder.believes(self.hit)
