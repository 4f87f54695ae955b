"""Purse: what one request has to spend at one service, and what it gives others to spend."""

from __future__ import annotations

from contextvars import ContextVar
from math import inf
from typing import TYPE_CHECKING, Any

from headgate.budgets.fund import Fund
from headgate.budgets.note import ANSWER, BROKEN, UNCOUNTED, Note
from headgate.measures import whole

if TYPE_CHECKING:
    from headgate.budgets.budget import Budget


class Purse:
    """What a request has to spend here. A `Budget` makes it, and middleware keeps it for you.

    `spend` takes out of it with no call to anybody while it lasts. To call another service, `lend`
    it a part, or all, for the length of the call; to call several at once, `split` first. What is
    left goes back to whoever called us, or to the limit.

    Where the budget's limit is an `AsyncLimiter`, `spend` and `close` are awaited.
    """

    __slots__ = (
        "_answered", "_before", "_closed", "_nonce", "_parent", "account", "budget", "fund",
        "grant", "route",
    )  # fmt: skip

    def __init__(
        self,
        budget: Budget,
        fund: Fund,
        account: bytes,
        grant: int,
        nonce: bytes = b"",
        route: str = "",
        parent: Purse | None = None,
    ) -> None:
        self.budget = budget
        self.fund = fund
        self.account = account
        self.grant = grant
        self.route = route
        self._nonce = nonce
        self._parent = parent
        self._answered = self._closed = False
        # What was set before it was, and before that.
        self._before: Any = None

    @property
    def left(self) -> float:
        """How many units there are; infinite under a plan that is unlimited."""
        return inf if self.fund.uncounted else self.fund.left

    @property
    def spent(self) -> int:
        """How many units were spent of it here."""
        return self.fund.spent

    @property
    def unlimited(self) -> bool:
        """Whether nothing is counted."""
        return self.fund.uncounted

    @property
    def entered(self) -> bool:
        """Whether the request came in here, and not from another service of ours."""
        return not self._nonce and self._parent is None

    @property
    def broken(self) -> bool:
        """Whether funds were exhausted midway, here or in what was called."""
        return self.fund.broken

    @property
    def closed(self) -> bool:
        """Whether what was left has gone back."""
        return self._closed

    def spend(self, cost: int = 1) -> Any:
        """Spend `cost`; where there is less, the limit is asked for another grant, in one call.

        Raises `FundsExhausted`, and spends nothing, if it has none to give.
        """
        cost = whole("Purse", "cost", cost, 0, 1 << 50)
        if self.fund.pay(cost):
            self.budget.tally.add(spent=cost)
            return self.budget.done
        return self.budget.run(self.budget.pay(self, cost))

    def lend(self, most: int | None = None) -> Loan:
        """Give a call up to `most` of what is left, or all of it."""
        part = self.fund.lend(self._most(most))
        return Loan(self, part)

    def part(self, most: int | None = None) -> Purse:
        """A purse of its own with up to `most` of what is left, for something done at once.

            with purse.part(10):
                ...

        Inside, outgoing calls are paid from it; at the end what is left comes back to this one.
        """
        fund = Fund(self.fund.lend(self._most(most)), self.fund.uncounted)
        return Purse(self.budget, fund, self.account, self.grant, parent=self)

    def split(self, number: int) -> list[Purse]:
        """What is left in so many equal parts, for as many things that are done at once."""
        whole("Purse", "number", number, 1, 10_000)
        share, more = divmod(self.fund.left, number)
        return [self.part(share + (place < more)) for place in range(number)]

    def answer(self) -> str:
        """The header with which what is left goes back to whoever called, once; empty if nobody.

        What is spent from then on has to be granted anew.
        """
        if self._answered or not self._nonce or self.fund.uncounted:
            return ""
        self._answered = True
        granted = self.fund.granted
        kind = ANSWER | (BROKEN if self.fund.broken else 0)
        return self.budget.issue(self, kind, self.fund.empty(), granted, self._nonce)

    def close(self) -> Any:
        """Give back what is left, once: to the purse it is a part of, or to the limit."""
        return self.budget.run(self.budget.close(self))

    def finish(self) -> int:
        """Take what is left out of it for good, and give it to the purse that it is a part of.

        How much that has to go back to the limit. What comes back later is too late.
        """
        if self._closed:
            return 0
        self._closed = True
        fund, parent = self.fund, self._parent
        left = fund.shut()
        self.budget.tally.add(lost=fund.out)
        if parent is None:
            return left
        parent.regain(fund.brought, left, fund.granted, fund.broken)
        return 0

    def regain(self, part: int, back: int, granted: int, broken: bool) -> bool:
        """Take back what is left of a part, unless it is too late."""
        if broken:
            self.fund.broken = True
        return self.fund.regain(part, back, granted)

    def __enter__(self) -> Purse:
        self._before = CURRENT.get(), self._before
        CURRENT.set(self)
        return self

    def __exit__(self, *exc: object) -> None:
        self._leave()
        if self._parent is not None:
            self.finish()
        elif self.budget.far:
            raise TypeError("Purse: this one is awaited; use async with, or close it")
        else:
            self.close()

    def __aenter__(self) -> Any:
        return entered(self)

    def __aexit__(self, *exc: object) -> Any:
        self._leave()
        return left(self.close())

    def __repr__(self) -> str:
        return f"<Purse: {self.left:g} left, {self.spent} spent>"

    def _leave(self) -> None:
        before, self._before = self._before
        CURRENT.set(before)

    def _most(self, most: int | None) -> int:
        return 1 << 60 if most is None else whole("Purse", "most", most, 0, 1 << 60)


class Loan:
    """What a call is given to spend: send `text` in the header `name`, and `settle` the answer's.

    What is never settled was spent, as far as anybody knows. `part` is how much it is.
    """

    __slots__ = ("_nonce", "_open", "name", "part", "purse", "text")

    def __init__(self, purse: Purse, part: int) -> None:
        budget = purse.budget
        self.purse = purse
        self.part = part
        self.name = budget.terms.header
        self._nonce = budget.number()
        self._open = True
        kind = UNCOUNTED if purse.unlimited else 0
        self.text = budget.issue(purse, kind, part, purse.grant, self._nonce)

    def settle(self, text: str) -> bool:
        """Take back what an answer's header brings; whether it did. It counts for this call only.

        An answer that somebody has kept, or that belongs to another call, brings nothing.
        """
        budget = self.purse.budget
        if not text or self.purse.unlimited:
            return False
        note = budget.mint.read(text)
        if note is None or not self._fits(note):
            budget.tally.add(forged=1)
            return False
        if not self._open:
            return False
        self._open = False
        broken = bool(note.kind & BROKEN)
        return self.purse.regain(self.part, note.left, note.grant, broken)

    def cancel(self) -> None:
        """Take all of it back, where it is sure that nobody was sent it."""
        if self._open:
            self._open = False
            self.purse.regain(self.part, self.part, 0, False)

    def _fits(self, note: Note) -> bool:
        # Its number is that of one call, so it needs no time in which it counts.
        own = (note.nonce, note.account) == (self._nonce, self.purse.account)
        return own and bool(note.kind & ANSWER) and note.left <= self.part + note.grant


async def entered(purse: Purse) -> Purse:
    return purse.__enter__()


async def left(closing: Any) -> None:
    # Nothing has to be awaited where the budget's limit is a plain one.
    if closing is not None:
        await closing


# The purse that outgoing calls are paid from, where one is set.
CURRENT: ContextVar[Purse | None] = ContextVar("headgate_purse", default=None)
