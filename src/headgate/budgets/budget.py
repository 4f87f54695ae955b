"""Budget: what one request may cost in all the services it passes through.

    budget = Budget("1000/min", grant=20, plans={"vip": "unlimited", "free": 5}, keys=KEYS)

A request that comes in is granted an amount out of a token bucket, its account's. The amount
travels with it, signed, in a header; each service takes its price out of it with no call to
anybody, and passes on what is left. Where that does not suffice, one call asks the bucket for
another grant. What is left at the end goes back.

**What is promised.** Over all services, what is spent and was counted is never more than the bucket
has granted, with these exceptions, which are the price of not asking anybody:

- A header that somebody copies can be spent once more by each process of each service, within its
  life of `ttl` and the skew of clocks: at most its amount times the processes. With `once`, a
  store that they share, it is spent once.
- Nobody takes back what a process had when it was killed, or what a call had that brought no
  answer: it counts as spent. So a little less is let in, never more.
- What is granted is spent later. In any span t at most B + R t is spent, and what requests held
  that were under way when it began: with n of them at once and a grant of g, n g more. This
  accuracy is what is given up for doing without a call.

Under a plan that is `unlimited` nothing is counted, and nobody is asked.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable, Iterable
from typing import Any

from headgate.algorithms.token_bucket import TokenBucket
from headgate.async_limiter import AsyncLimiter
from headgate.budgets.counts import Counts, Tally
from headgate.budgets.fund import Fund
from headgate.budgets.guess import Guess
from headgate.budgets.marks import Marks
from headgate.budgets.mint import Key, Mint, named
from headgate.budgets.note import ANSWER, UNCOUNTED, Note, digest
from headgate.budgets.purse import Purse
from headgate.budgets.terms import Terms, Visit
from headgate.clock import Clock, SystemClock
from headgate.decision import Decision
from headgate.drive import Flow, adrive, drive
from headgate.errors import FundsExhausted, PurseRefused, StoreUnavailable
from headgate.flow import refusal
from headgate.limiter import Limiter
from headgate.rate import Rate
from headgate.stores.store import Store

logger = logging.getLogger("headgate")

# What is on its way back.
RETURNS: set[asyncio.Future[Any]] = set()


class Budget:
    """Grants requests what they may cost in all, and knows what others have granted.

    All services that share it have one `name`, and one of their `keys` in common; those that grant
    have one `limiter`, on a store that they share. It is a rate such as `"1000/min"`, a `Limiter`,
    or an `AsyncLimiter`, with which `open` and what it gives are awaited.

    A request is granted `grant`, or what `plans` says of its plan; `most` has it find out what
    requests really cost, and grants as much, up to so much. A header counts for `ttl` seconds, by
    clocks that differ by at most `skew`. Of requests without one, `missing` is what becomes; of
    those with one that is forged, expired, or was here before, `stranger`: `"grant"` has them come
    in here, `"refuse"` keeps them out. `memory` is how many headers are known again, and `once` the
    URL of a store where all processes know them.
    """

    def __init__(
        self,
        limiter: Limiter | AsyncLimiter | Rate | str,
        *,
        keys: Key | Iterable[Key],
        name: str = "budget",
        once: Store | str = "",
        clock: Clock | None = None,
        **terms: Any,
    ) -> None:
        self.name = named(name)
        self.mint = Mint(keys, name)
        self.terms = Terms(**terms)
        self.limiter = limits(limiter, name, clock)
        # Whether whoever is asked has to be awaited.
        self.far = isinstance(self.limiter, AsyncLimiter)
        self.done: Any = Done() if self.far else None
        self.terms.fit(min([limit.limit for limit in self.limiter.limits], default=1 << 50))
        self._heaviest = min([limit.heaviest for limit in self.limiter.limits], default=1 << 50)
        self._marks = Marks(self.terms.memory, self.terms.life)
        self._once = marker(once, self, clock) if once else None
        self._guess = Guess()
        self._clock = clock
        self.tally = Tally()

    @property
    def counts(self) -> Counts:
        """What became of it so far, in this process."""
        return self.tally.read()

    def open(
        self, header: str = "", account: str = "", plan: str = "", reserve: int = 0, route: str = ""
    ) -> Any:
        """The `Purse` of a request, by the header it brought, or newly granted to its account.

        Raises `LimitExceeded` if the limit has nothing for it, and `PurseRefused` if what it
        brought does not count. `reserve` is what it is granted at least, and what requests cost is
        found out for each `route`.
        """
        visit = Visit(account, plan, reserve, route)
        return self.admit(header, lambda: visit)

    def admit(self, header: str, visit: Callable[[], Visit]) -> Any:
        """The same; who it is is only asked where that matters."""
        return self.run(self._admit(header, visit))

    def peek(self, account: str = "", cost: int = 1) -> Any:
        """What the limit would say to `cost`, and what is left of it."""
        return self.limiter.peek(digest(account).hex(), cost)

    def reset(self, account: str = "") -> Any:
        """Forget what an account was granted."""
        return self.limiter.reset(digest(account).hex())

    def run(self, flow: Flow[Any]) -> Any:
        """Do what is told as a flow: here and now, or when it is awaited."""
        # What is yielded is done already, or awaited here: told once for both colours.
        return adrive(flow, arrived) if self.far else drive(flow, lambda answer: answer)

    def now(self) -> int:
        """The time of day, in microseconds."""
        # A clock of the system shows the date as it was when the clock was made, and steady time
        # since. Notes cross machines, which agree on the date and on nothing else; so it is asked
        # anew.
        return SystemClock().now() if self._clock is None else self._clock.now()

    def number(self) -> bytes:
        """A number that is used once."""
        return secrets.token_bytes(12)

    def issue(self, purse: Purse, kind: int, left: int, grant: int, number: bytes) -> str:
        """A note about a purse, as a header has it."""
        issued, life = self.now(), self.terms.ttl
        return self.mint.sign(Note(kind, purse.account, left, grant, issued, life, number))

    def pay(self, purse: Purse, cost: int) -> Flow[None]:
        """Spend what is not all there: ask for another grant."""
        fund, key = purse.fund, purse.account.hex()
        missing = fund.draw(cost)
        try:
            decision, amount = yield from self._ask(purse, key, missing)
        except BaseException:
            fund.undo(cost, missing)
            raise
        if not decision:
            fund.undo(cost, missing)
            fund.broken = True
            self.tally.add(exhausted_midway=1)
            raise FundsExhausted(decision, cost, cost - missing)
        fund.fill(cost, missing, amount)
        self.tally.add(granted=amount, spent=cost)
        if purse.closed and fund.left > 0:
            # It was closed meanwhile, and nobody else will see to it.
            yield from self._give(purse, fund.shut())

    def close(self, purse: Purse) -> Flow[None]:
        """Give back to the limit what is left of a purse."""
        fund, entered = purse.fund, purse.entered and not purse.closed
        left = purse.finish()
        if entered and not fund.uncounted:
            if fund.broken:
                self.tally.add(broken=1)
            else:
                self._guess.learn(purse.route, fund.brought + fund.granted - left)
        if left > 0:
            giving = self._give(purse, left)
            if self.far:
                yield outlasting(self.run(giving))
            else:
                yield from giving

    def __repr__(self) -> str:
        return f"<Budget {self.name!r}: {self.limiter!r}>"

    def _give(self, purse: Purse, left: int) -> Flow[None]:
        try:
            yield self.limiter.refund(purse.account.hex(), min(left, self._heaviest))
        except StoreUnavailable as problem:
            logger.warning("what was left of a budget could not be given back: %s", problem)
            self.tally.add(lost=left)
        else:
            self.tally.add(returned=left)

    def _ask(self, purse: Purse, key: str, missing: int) -> Flow[tuple[Decision, int]]:
        if missing == 0:
            return Decision(True), 0
        self.tally.add(reapplied=1)
        # Of what is granted after the end nothing would go back.
        amount = missing if purse.closed else max(missing, purse.grant)
        decision = yield self.limiter.take(key, amount)
        if not decision and missing <= decision.remaining < amount:
            # There is no whole grant any more, but enough for this, and something is done already.
            amount = missing
            decision = yield self.limiter.take(key, amount)
        return decision, amount

    def _admit(self, header: str, visit: Callable[[], Visit]) -> Flow[Purse]:
        note, reason = self._examine(header, self.now()) if header else (None, "missing")
        if not reason and note is not None:
            if self._once is not None and not (yield self._once.take(note.nonce.hex())):
                reason = "replayed"
            else:
                fund = Fund(note.left, bool(note.kind & UNCOUNTED))
                return Purse(self, fund, note.account, note.grant, note.nonce)
        terms = self.terms
        refused = (terms.missing if reason == "missing" else terms.stranger) == "refuse"
        if refused or reason != "missing":
            self.tally.add(**{reason: 1})
        if refused:
            raise PurseRefused(reason)
        return (yield from self._grant(visit()))

    def _examine(self, header: str, now: int) -> tuple[Note | None, str]:
        # What a note says, and why it does not count, if it does not.
        note = self.mint.read(header)
        if note is None or note.kind & ANSWER:
            return None, "forged"
        skew = self.terms.skew
        # It counts for as long as both sides will have it.
        expires = min(note.expires, note.issued + self.terms.ttl) + skew
        if now >= expires or note.issued > now + skew:
            return None, "expired"
        return note, self._marks.mark(note.nonce, expires, now)

    def _grant(self, visit: Visit) -> Flow[Purse]:
        amount, grant, uncounted = self.terms.sum(visit, self._guess.tell(visit.route))
        account = digest(visit.account)
        if uncounted:
            self.tally.add(uncounted=1)
            return Purse(self, Fund(0, True), account, grant)
        decision = yield self.limiter.take(account.hex(), amount)
        if not decision:
            self.tally.add(refused_at_entrance=1)
            raise refusal(decision, visit.account)
        self.tally.add(granted=amount, entered=1)
        return Purse(self, Fund(amount), account, grant, route=visit.route)


class Done:
    """What there is nothing more to wait for."""

    def __await__(self) -> Any:
        return iter(())


async def arrived(answer: Any) -> Any:
    return await answer


async def outlasting(giving: Any) -> None:
    # A request that is cancelled, perhaps again and again, does not wait for what it gives back.
    task = asyncio.ensure_future(giving)
    RETURNS.add(task)
    task.add_done_callback(RETURNS.discard)
    await asyncio.shield(task)


def limits(given: Any, name: str, clock: Clock | None) -> Limiter | AsyncLimiter:
    """The limiter meant: a rate is one of its own, in memory."""
    if isinstance(given, Limiter | AsyncLimiter):
        return given
    if isinstance(given, str | Rate):
        return Limiter(given, name=name, clock=clock)
    raise TypeError(
        f'Budget: limiter is a rate such as "1000/min", a Limiter or an AsyncLimiter, not {given!r}'
    )


def marker(store: Store | str, budget: Budget, clock: Clock | None) -> Any:
    """What knows all notes again: each may come once within its life, wherever that is."""
    kind = AsyncLimiter if budget.far else Limiter
    # A bucket of one, that is full again when its note has expired by everybody's clock.
    life = TokenBucket(f"1 per {max(1, -(-budget.terms.life // 1000))}ms")
    # Where it cannot be asked nobody knows, and that is no yes.
    return kind(
        life, store=store, name=f"{budget.name}:once", clock=clock, when_unavailable="raise"
    )
