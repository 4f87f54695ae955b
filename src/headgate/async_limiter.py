"""AsyncLimiter: how often, for event loops. The same limits, stores and answers as `Limiter`."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Generator, Iterable
from math import inf
from typing import Any, ParamSpec, TypeVar, cast

from headgate.algorithms.limit import Limit
from headgate.clock import Clock
from headgate.decision import Decision
from headgate.drive import adrive
from headgate.flow import Book, Booking, Permit, Release, Reservation, Sleep, acquire
from headgate.intake import CEILING, Awaited, checked, patience
from headgate.limiter import Limiter, Listener
from headgate.rate import Rate
from headgate.stores.store import Store
from headgate.wrapper import title, wrap

P = ParamSpec("P")
R = TypeVar("R")

# Bookings on their way back.
RETURNS: set[asyncio.Future[Any]] = set()


class AsyncLimiter:
    """`Limiter` for event loops: the same limits, stores and answers; every verb is awaited."""

    def __init__(
        self,
        *limits: Limit | Rate | str,
        store: Store | str = "memory://",
        name: str = "",
        clock: Clock | None = None,
        when_unavailable: str = "local",
    ) -> None:
        self._limiter = Limiter(
            *limits,
            store=cast("Store", Awaited(store)),
            name=name,
            clock=clock,
            when_unavailable=when_unavailable,
        )
        awaited = getattr(self._limiter.store, "awaited", False)
        # The ledger, if it has to be awaited.
        self._far: Any = self._limiter.ledger if awaited else None
        # How its store is doing.
        self._watch: Any = getattr(self._far, "watch", None)
        self._now = self._limiter.clock.now

    @property
    def limits(self) -> tuple[Limit, ...]:
        """The limits, all of which must agree."""
        return self._limiter.limits

    async def take(self, key: str = "", cost: int = 1) -> Decision:
        """Spend `cost` now, or say no and spend nothing. Never waits; cost 0 only looks."""
        if self._far is None:
            return self._limiter.take(key, cost)
        if type(key) is not str or type(cost) is not int or not 0 <= cost <= CEILING:
            key, cost = checked(key, cost)
        now = self._now()
        decision: Decision = await self._far.take(key, cost, now, 0)
        if self._watch is not None and self._watch.meter is not None:
            self._watch.meter.note(0, self._now() - now)
        if self._limiter.listeners:
            self._limiter._tell(key, decision)
        return decision

    async def take_many(self, keys: Iterable[str], cost: int = 1) -> list[Decision]:
        """`take` for each key in turn, all at one moment."""
        if self._far is None:
            return self._limiter.take_many(keys, cost)
        return list(await asyncio.gather(*[self.take(key, cost) for key in keys]))

    async def peek(self, key: str = "", cost: int = 1) -> Decision:
        """What `take` would say, with what is left now; nothing is spent."""
        return await self._arrived(self._limiter.peek(key, cost))

    async def debit(self, key: str = "", cost: int = 1) -> Decision:
        """Spend `cost` although it may not be there; the key pays the debt off before it enters."""
        return await self._arrived(self._limiter.debit(key, cost))

    async def refund(self, key: str = "", cost: int = 1) -> Decision:
        """Give `cost` back, up to what a fresh key has."""
        return await self._arrived(self._limiter.refund(key, cost))

    async def reset(self, key: str = "") -> None:
        """Forget `key`: it is as if it had never been seen."""
        if self._far is None:
            self._limiter.reset(key)
        else:
            await self._far.forget(checked(key, 0)[0])

    async def reserve(self, key: str = "", cost: int = 1, timeout: float = inf) -> AsyncReservation:
        """Spend `cost` for the first moment it fits, within `timeout` seconds, and say when."""
        if self._far is None:
            return AsyncReservation(self._limiter.reserve(key, cost, timeout))
        within = patience(timeout, inf, 0, self._limiter._horizon())
        booking = await self._book(Book(key, cost, within))
        return AsyncReservation(Reservation(key, cost, booking, self._limiter._release))

    def acquire(
        self, key: str = "", cost: int = 1, timeout: float = inf, deadline: float = inf
    ) -> Acquire:
        """Wait until `cost` fits: `await` it, or go in with `async with`. See `Limiter.acquire`."""
        return Acquire(lambda: self._acquire(key, cost, timeout, deadline))

    def guard(
        self, key: str | Callable[..., str] = "", cost: int = 1, timeout: float = 0.0
    ) -> Callable[[Callable[P, R]], Callable[P, R]]:
        """Decorate an `async def`: each call goes through `acquire` first. See `Limiter.guard`."""

        def decorate(function: Callable[P, R]) -> Callable[P, R]:
            if not inspect.iscoroutinefunction(function):
                raise TypeError(
                    f"AsyncLimiter.guard: {title(function)} is not an async def; use Limiter.guard"
                )
            return wrap(
                function,  # type: ignore[arg-type]
                key,
                str,
                lambda name: self._acquire(name, cost, timeout, inf),
            )

        return decorate

    async def change(self, *limits: Limit | Rate | str, carry: str = "scale") -> None:
        """Go on under other limits from now on. See `Limiter.change`."""
        self._limiter.change(*limits, carry=carry)

    def listen(self, listener: Listener) -> Listener:
        """Call `listener(key, decision)` after each decision; what it raises is only logged."""
        return self._limiter.listen(listener)

    def __repr__(self) -> str:
        return f"Async{self._limiter!r}"

    async def _arrived(self, answer: Any) -> Decision:
        # What a distant store answers is on its way.
        decision: Decision = answer if self._far is None else await answer
        return decision

    async def _acquire(self, key: str, cost: int, timeout: float, deadline: float) -> Permit:
        limiter = self._limiter
        if self._far is None:
            return await limiter._aacquire(key, cost, timeout, deadline)
        within = patience(timeout, deadline, limiter.clock.now(), limiter._horizon())
        return await adrive(acquire(key, cost, within), self._perform)

    async def _perform(self, effect: Any) -> Any:
        if isinstance(effect, Book):
            return await self._book(effect)
        if isinstance(effect, Sleep):
            return await self._limiter.clock.asleep(effect.seconds)
        return await self._limiter._release(effect)

    async def _book(self, effect: Book) -> Booking:
        key, units = checked(effect.key, effect.cost)
        now = self._limiter.clock.now()
        booking = asyncio.ensure_future(self._far.book(key, units, now, effect.patience))
        try:
            answer = await asyncio.shield(booking)
        except asyncio.CancelledError:
            # It may arrive all the same; then nobody is there to use it.
            booking.add_done_callback(lambda done: self._return(key, units, now, done))
            raise
        return self._limiter._booked(key, now, *answer)

    def _return(self, key: str, units: int, now: int, done: asyncio.Future[Any]) -> None:
        if done.cancelled() or done.exception() is not None or not done.result()[0]:
            return
        effect = Release(key, units, self._limiter._booked(key, now, *done.result()))
        task = asyncio.ensure_future(self._limiter._release(effect))
        RETURNS.add(task)
        task.add_done_callback(RETURNS.discard)


class AsyncReservation:
    """`Reservation` for event loops: `cancel` is awaited."""

    __slots__ = ("_reservation",)

    def __init__(self, reservation: Reservation) -> None:
        self._reservation = reservation

    @property
    def decision(self) -> Decision:
        """What was decided when it was booked."""
        return self._reservation.decision

    @property
    def wait(self) -> float:
        """Seconds from the booking until it may act; infinite if there was no room."""
        return self._reservation.wait

    async def cancel(self) -> None:
        """Give the units back that no later booking counts on, once."""
        answer = self._reservation._cancel()
        if answer is not None:
            await answer

    def __bool__(self) -> bool:
        return bool(self._reservation)

    def __repr__(self) -> str:
        return f"Async{self._reservation!r}"


class Acquire:
    """A wait that has not begun: `await` it, or enter it with `async with`."""

    __slots__ = ("_begin",)

    def __init__(self, begin: Callable[[], Awaitable[Permit]]) -> None:
        self._begin = begin

    def __await__(self) -> Generator[Any, Any, Permit]:
        return self._begin().__await__()

    async def __aenter__(self) -> Permit:
        return await self._begin()

    async def __aexit__(self, *exc: object) -> None:
        return None
