"""AsyncLimiter: how often, for event loops. The same limits, stores and answers as `Limiter`."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Generator, Iterable
from math import inf
from typing import Any, ParamSpec, TypeVar

from headgate.algorithms.limit import Limit
from headgate.clock import Clock
from headgate.decision import Decision
from headgate.flow import Permit, title
from headgate.limiter import Limiter, Listener, Reservation
from headgate.rate import Rate
from headgate.stores.store import Store

P = ParamSpec("P")
R = TypeVar("R")


class AsyncLimiter:
    """`Limiter` for event loops: the same limits, stores and answers; every verb is awaited."""

    def __init__(
        self,
        *limits: Limit | Rate | str,
        store: Store | str = "memory://",
        name: str = "",
        clock: Clock | None = None,
    ) -> None:
        self._limiter = Limiter(*limits, store=store, name=name, clock=clock)

    @property
    def limits(self) -> tuple[Limit, ...]:
        """The limits, all of which must agree."""
        return self._limiter.limits

    async def take(self, key: str = "", cost: int = 1) -> Decision:
        """Spend `cost` now, or say no and spend nothing. Never waits; cost 0 only looks."""
        return self._limiter.take(key, cost)

    async def take_many(self, keys: Iterable[str], cost: int = 1) -> list[Decision]:
        """`take` for each key in turn, all at one moment."""
        return self._limiter.take_many(keys, cost)

    async def peek(self, key: str = "", cost: int = 1) -> Decision:
        """What `take` would say, with what is left now; nothing is spent."""
        return self._limiter.peek(key, cost)

    async def debit(self, key: str = "", cost: int = 1) -> Decision:
        """Spend `cost` although it may not be there; the key pays the debt off before it enters."""
        return self._limiter.debit(key, cost)

    async def refund(self, key: str = "", cost: int = 1) -> Decision:
        """Give `cost` back, up to what a fresh key has."""
        return self._limiter.refund(key, cost)

    async def reset(self, key: str = "") -> None:
        """Forget `key`: it is as if it had never been seen."""
        self._limiter.reset(key)

    async def reserve(self, key: str = "", cost: int = 1, timeout: float = inf) -> AsyncReservation:
        """Spend `cost` for the first moment it fits, within `timeout` seconds, and say when."""
        return AsyncReservation(self._limiter.reserve(key, cost, timeout))

    def acquire(
        self, key: str = "", cost: int = 1, timeout: float = inf, deadline: float = inf
    ) -> Acquire:
        """Wait until `cost` fits: `await` it, or go in with `async with`. See `Limiter.acquire`."""
        return Acquire(lambda: self._limiter._aacquire(key, cost, timeout, deadline))

    def guard(
        self, key: str | Callable[..., str] = "", cost: int = 1, timeout: float = 0.0
    ) -> Callable[[Callable[P, R]], Callable[P, R]]:
        """Decorate an `async def`: each call goes through `acquire` first. See `Limiter.guard`."""
        guard = self._limiter.guard(key, cost, timeout)

        def decorate(function: Callable[P, R]) -> Callable[P, R]:
            if not inspect.iscoroutinefunction(function):
                raise TypeError(
                    f"AsyncLimiter.guard: {title(function)} is not an async def; use Limiter.guard"
                )
            return guard(function)  # type: ignore[arg-type]

        return decorate

    async def change(self, *limits: Limit | Rate | str, carry: str = "scale") -> None:
        """Go on under other limits from now on. See `Limiter.change`."""
        self._limiter.change(*limits, carry=carry)

    def listen(self, listener: Listener) -> Listener:
        """Call `listener(key, decision)` after each decision; what it raises is only logged."""
        return self._limiter.listen(listener)

    def __repr__(self) -> str:
        return f"Async{self._limiter!r}"


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
        self._reservation.cancel()

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
