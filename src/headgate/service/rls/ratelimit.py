"""RateLimit: decides the calls of Envoy's rate limit service, by files of theirs or rules of ours.

What files say holds for their domains. For others the rules in force do, with each descriptor taken
for a request (see `petition`); where there are none, all may go in. A limit that a call brings
along holds instead of either.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Iterable
from http import HTTPStatus
from typing import Any

from google.protobuf import json_format

from headgate.clock import Clock
from headgate.drive import adrive, drive
from headgate.errors import StoreUnavailable
from headgate.rules.live.gatekeeper import AsyncGatekeeper, aperform, perform
from headgate.rules.live.shelf import Shelf
from headgate.service.grpc.status import UNAVAILABLE, Status
from headgate.service.rls.case import Case, Terms, decide
from headgate.service.rls.count import DOWN, Ban, Count, Plain
from headgate.service.rls.domains import Descriptor, Domain, load
from headgate.service.rls.hatch import Hatch, Sign, Wicket
from headgate.service.rls.leaf import Leaf
from headgate.service.rls.messages import OVER_LIMIT, UNITS, Request, Response
from headgate.service.rls.petition import Petition
from headgate.service.rls.plea import Plea, about
from headgate.service.rls.query import Ask, Query, read
from headgate.service.rls.scribe import LARGEST
from headgate.service.rls.tree import Node, composed, grow, trace
from headgate.stores.shared.store import spelled

# So many calls are known by their bytes, of at most so many each.
KNOWN, LONGEST = 4096, 512
# So many limits that calls bring along are told apart.
OVERRIDES = 1000
# Before the names of what is counted here, in a store that others share.
REALM = "rls:"
Answer = bytes | Awaitable[bytes]
Reply = tuple[int, bytes]


class RateLimit:
    """Answers calls. The `sets` of a `teller` have the limiters of limits that are brought along.

    `url` is the store where what files limit is counted, and `clock` the one it goes by, as
    limiters take them.
    """

    def __init__(
        self,
        keeper: AsyncGatekeeper,
        teller: Any,
        url: str = "memory://",
        clock: Clock | None = None,
    ) -> None:
        self._lodge = keeper.lodge
        self._teller = teller
        self._clock = clock
        self._shelf = Shelf(url, clock, True, REALM)
        # Stores of earlier rules, which somebody may still be waiting for.
        self._left: list[Shelf] = []
        self._era = 0
        self._terms = Terms()
        self._trees: dict[str, Node] = {}
        self._known: dict[bytes, Case] = {}
        self._overrides: dict[tuple[int, int], Leaf] = {}
        self._plain = True
        # The rules that known calls were made ready for.
        self._book: Any = None

    def change(self, domains: Iterable[Domain], terms: Terms | None = None, url: str = "") -> None:
        """Go by these domains from now on; `load` reads them. What was counted stays counted.

        A descriptor whose limit is another one now begins anew.
        """
        trees = grow(domains)
        before = {leaf.title: leaf for leaf in self._leaves()}
        if url and url != self._shelf.url:
            self._left.append(self._shelf)
            self._shelf = Shelf(url, self._clock, True, REALM)
        self._trees = trees
        for leaf in self._leaves():
            if leaf.title in before:
                leaf.follow(before.pop(leaf.title))
        self._terms = Terms() if terms is None else terms
        self._plain = not any(self._terms)
        self._era += 1
        self._shelf.keep({titled(leaf) for leaf in self._leaves()}, self._era)
        self._known.clear()

    def reload(self, files: Iterable[str], terms: Terms | None = None, url: str = "") -> None:
        """Go by what these files say; raises `RulesError`, and changes nothing, if they are bad."""
        self.change(load(files), terms, url)

    def answer(self, message: bytes, call: object = None) -> Answer:
        """The answer to a `RateLimitRequest`, both as on the wire; raises a `Status` if none is."""
        if self._lodge.book is not self._book:
            self._book = self._lodge.book
            self._known.clear()
        case = self._known.get(message)
        if case is None:
            case = self._ready(message)
        if case.hatch is not None and self._plain:
            return case.hatch.answer()  # type: ignore[no-any-return]
        flow = decide(case, self._terms, self.now())
        return self._far(flow) if self._shelf.far else self._near(flow)

    def json(self, body: bytes) -> Reply | Awaitable[Reply]:
        """The status and the body that answer a call of `/json`."""
        try:
            message = json_format.Parse(body, Request()).SerializeToString()
        except (json_format.ParseError, UnicodeDecodeError, RecursionError):
            return self._wrong(HTTPStatus.BAD_REQUEST)
        try:
            answer = self.answer(message)
        except Status as problem:
            return self._faulty(problem)
        return jsoned(answer) if isinstance(answer, bytes) else self._json(answer)

    def rlconfig(self) -> str:
        """All limits of files, a line each, as the reference tells of them."""
        return "".join(f"{leaf}\n" for leaf in self._leaves())

    def status(self) -> dict[str, dict[str, int]]:
        """How many calls each limit of a file let in, refused, and would have refused."""
        return {
            leaf.title: {
                "passed": leaf.tally.passed,
                "refused": leaf.tally.refused,
                "shadowed": leaf.tally.shadowed,
            }
            for leaf in self._leaves()
        }

    @property
    def far(self) -> bool:
        """Whether answers are awaited."""
        return self._shelf.far

    @property
    def strict(self) -> bool:
        """Whether anybody is refused at all."""
        return self._lodge.enabled and not self._terms.shadow

    def now(self) -> int:
        """What time it is, in microseconds."""
        return self._lodge.clock.now()

    def find(self, domain: str, entries: Iterable[tuple[str, str]]) -> tuple[Leaf | None, str]:
        """The limit of a file that entries meet, and the key under which they count."""
        tree = self._trees.get(domain)
        return (None, "") if tree is None else trace(tree, domain, [*entries])

    def limiter(self, leaf: Leaf) -> Any:
        """What counts the keys of a limit: one for all that are limited alike."""
        shelf = self._shelf
        return shelf.limiter(self._era, titled(leaf), leaf.limits, "deny", False)

    async def close(self) -> None:
        """Close the connections to stores, if there are any."""
        for shelf in (self._shelf, *self._left):
            answer = shelf.close()
            if answer is not None:
                await answer

    def _near(self, flow: Any) -> bytes:
        try:
            found: bytes = drive(flow, perform)
        except StoreUnavailable:
            raise Status(UNAVAILABLE, DOWN) from None
        return found

    async def _far(self, flow: Any) -> bytes:
        try:
            return await adrive(flow, aperform)
        except StoreUnavailable:
            raise Status(UNAVAILABLE, DOWN) from None

    def _ready(self, message: bytes) -> Case:
        query = read(message)
        parts = self._parts(query)
        case = Case(query, parts, self._hatch(query, parts))
        if len(message) <= LONGEST:
            if len(self._known) >= KNOWN:
                self._known.clear()
            self._known[bytes(message)] = case
        return case

    def _parts(self, query: Query) -> tuple[Any, ...]:
        tree = self._trees.get(query.domain)
        if not self._lodge.enabled:
            return tuple(Plain() for _ in query.asks)
        if tree is None:
            return tuple(self._plea(query.domain, ask) for ask in query.asks)
        met = [
            (None, "") if ask.override else trace(tree, query.domain, ask.entries)
            for ask in query.asks
        ]
        replaced = {name for leaf, _ in met if leaf is not None for name in leaf.replaces}
        return tuple(
            self._part(query.domain, ask, leaf, key, replaced)
            for ask, (leaf, key) in zip(query.asks, met, strict=True)
        )

    def _part(self, domain: str, ask: Ask, leaf: Leaf | None, key: str, replaced: set[str]) -> Any:
        if ask.override is not None:
            return self._override(domain, ask, ask.override)
        if leaf is None:
            return Plain()
        if leaf.free:
            return Plain(LARGEST)
        if leaf.name in replaced:
            return Plain()
        if leaf.banned:
            return Ban(leaf, ask.hits)
        limiter = self.limiter(leaf)
        return Count(leaf, lambda: limiter, key, ask, self._known.clear)

    def _override(self, domain: str, ask: Ask, limit: tuple[int, int]) -> Any:
        leaf = self._overrides.get(limit)
        if leaf is None:
            if len(self._overrides) >= OVERRIDES:
                self._overrides.clear()
            leaf = self._overrides[limit] = brought(*limit)
        if leaf.banned:
            return Ban(leaf, ask.hits)
        limits, teller = leaf.limits, self._teller
        key = composed([domain, *(part for entry in ask.entries for part in entry)])
        return Count(leaf, lambda: teller.sets.find(limits, "rls"), key, ask, self._known.clear)

    def _plea(self, domain: str, ask: Ask) -> Any:
        if ask.override is not None:
            return self._override(domain, ask, ask.override)
        request = Petition(domain, ask.entries, self._lodge.book.rules.client)
        return Plea(self._lodge, request, ask.hits)

    def _hatch(self, query: Query, parts: tuple[Any, ...]) -> Any:
        if all(isinstance(part, Plain) for part in parts):
            return Sign(drive(decide(Case(query, parts, None), Terms(), 0), perform))
        if len(parts) != 1 or query.asks[0].hits <= 0 or self._shelf.far:
            return None
        part, ask = parts[0], query.asks[0]
        if isinstance(part, Count) and ask.override is None:
            leaf = part.leaf
            told = leaf.shadow or (leaf.later and ask.priced)
            return None if told else Hatch(leaf, part.find(), part.key, ask.hits)
        return self._wicket(part) if isinstance(part, Plea) and ask.hits == 1 else None

    def _wicket(self, plea: Plea) -> Any:
        request = plea.request
        met = [one for one in self._lodge.book.find(request) if about(one, request)]
        if len(met) != 1 or met[0].turnstile is None:
            return None
        key = "" if met[0].key is None else met[0].key(request)
        return Wicket(self._lodge, met[0].turnstile, key, request)

    def _leaves(self) -> list[Leaf]:
        return [leaf for tree in self._trees.values() for leaf in tree.leaves()]

    async def _json(self, answer: Awaitable[bytes]) -> Reply:
        try:
            return jsoned(await answer)
        except Status as problem:
            return self._faulty(problem)

    def _faulty(self, problem: Status) -> Reply:
        down = problem.code == UNAVAILABLE
        return self._wrong(HTTPStatus.INTERNAL_SERVER_ERROR if down else HTTPStatus.BAD_REQUEST)

    def _wrong(self, status: HTTPStatus) -> Reply:
        return status.value, f"{status.phrase}\n".encode()


def jsoned(answer: bytes) -> Reply:
    """An answer in JSON, with the status of HTTP that it has."""
    response = Response.FromString(answer)
    over = response.overall_code == OVER_LIMIT
    said = json.dumps(json_format.MessageToDict(response), separators=(",", ":"))
    status = HTTPStatus.TOO_MANY_REQUESTS if over else HTTPStatus.OK
    return status.value, said.encode()


def titled(leaf: Leaf) -> str:
    """What the limiter of all that are limited alike is called."""
    return spelled(leaf.limits)


def brought(count: int, unit: int) -> Leaf:
    """The limit that a call brings along."""
    policy = {"unit": UNITS[unit], "requests_per_unit": count}
    return Leaf("", Descriptor(key="limit", rate_limit=policy))
