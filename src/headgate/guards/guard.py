"""Guard: limiter, bulkhead, breaker, timeout and fallback around one function, in one line.

    @guard(limiter=Limiter("100/s"), bulkhead=Bulkhead(10), breaker=Breaker(), timeout=2.0,
           fallback=cached, key="user:{user_id}")
    async def fetch(user_id): ...

The order does not depend on how they are written. From the outside in:

    fallback(breaker(limiter(bulkhead(timeout(function)))))

- The fallback stands in for whatever goes wrong, a refusal too.
- An open breaker spends no token and takes no place.
- A refusal by limiter or bulkhead says nothing about the one who is called: the breaker does not
  count it, and a probe that was refused is given back.
- A place is taken last, so nobody holds one while waiting for a token. Who is refused a place has
  spent its token.
- The timeout is for the call alone: waiting has `patience`, and no breaker takes it for slowness.
  A call that is late is a timeout for the breaker, and dropped for the bulkhead.

All that is remembered is remembered by the objects given. They are built once and may guard many
functions; nothing is built when one is called. Layers that are not given cost nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import wraps
from inspect import iscoroutinefunction
from math import inf
from typing import Any, NamedTuple, ParamSpec, TypeVar

from headgate.async_limiter import AsyncLimiter
from headgate.breakers.breaker import Breaker
from headgate.bulkheads.async_bulkhead import AsyncBulkhead
from headgate.bulkheads.bulkhead import Bulkhead
from headgate.bulkheads.pool import Pool
from headgate.flow import refusal
from headgate.guards.rescue import Problems, exceptions, rescued
from headgate.limiter import Limiter
from headgate.measures import seconds
from headgate.wrapper import keyed, refuse, title, wrap

P = ParamSpec("P")
R = TypeVar("R")


def guard(
    *,
    limiter: Limiter | AsyncLimiter | None = None,
    bulkhead: Bulkhead | AsyncBulkhead | Pool | None = None,
    breaker: Breaker | None = None,
    timeout: float = inf,
    patience: float = 0.0,
    fallback: Any = ...,
    fallback_on: Problems = Exception,
    key: str | Callable[..., str] = "",
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorate a `def` or an `async def`: fallback(breaker(limiter(bulkhead(timeout(function))))).

    `key` is a template over the arguments, such as `"user:{user_id}"`, or a function of them, and
    all of them go by it; for keys of their own, stack several guards. `patience` is how many
    seconds limiter and bulkhead may each be waited for; a `Pool` has a queue instead.

    A call that takes longer than `timeout` seconds raises `TimeoutError`. An `async def` is
    cancelled; a `def` cannot be, so it needs a `Pool`, whose thread it is left in. There the time
    in the pool's queue counts too.

    When an exception of `fallback_on` comes out, the answer is `fallback`: a value, or what a
    function of the same arguments returns, which is told the exception if it has a parameter
    `problem` of its own. For an `async def` it may be one too. Cancellation is never caught.
    """
    given = Layers(limiter, bulkhead, breaker, timeout, patience)
    given.check()
    if given[:4] == Layers()[:4] and fallback is ...:
        raise TypeError("guard: give it a limiter, bulkhead, breaker, timeout or fallback")
    problems = exceptions(fallback_on)

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        given.suit(function)
        call = given.around(function, key)
        return call if fallback is ... else rescued(call, fallback, problems)

    return decorate


class Layers(NamedTuple):
    """What is put around a function, but for the fallback."""

    limiter: Any = None
    bulkhead: Any = None
    breaker: Any = None
    timeout: float = inf
    patience: float = 0.0

    def check(self) -> None:
        """Refuse what is not what it should be."""
        kinds: dict[str, tuple[Any, str]] = {
            "limiter": (
                (Limiter, AsyncLimiter),
                'a Limiter or AsyncLimiter such as Limiter("9/s")',
            ),
            "bulkhead": (
                (Bulkhead, AsyncBulkhead, Pool),
                "a Bulkhead, AsyncBulkhead or Pool such as Bulkhead(10)",
            ),
            "breaker": (Breaker, "a Breaker such as Breaker()"),
        }
        for word, (kind, right) in kinds.items():
            value = getattr(self, word)
            if value is not None and not isinstance(value, kind):
                raise TypeError(f"guard: {word} is {right}, not {value!r}")
        seconds("guard", "timeout", self.timeout, 0.001)
        seconds("guard", "patience", self.patience)

    def suit(self, function: Callable[..., Any]) -> None:
        """Refuse a function that these cannot be put around."""
        if not callable(function):
            raise TypeError(f"guard: decorate a def or an async def, not {function!r}")
        refuse("", function, "guard a function that loops over it")
        name = title(function)
        if iscoroutinefunction(function):
            if self.pooled():
                raise TypeError(f"guard: {name} is an async def, which needs no Pool; use Bulkhead")
            return
        if isinstance(self.limiter, AsyncLimiter):
            raise TypeError(f"guard: {name} is a def, and AsyncLimiter is awaited; use Limiter")
        if isinstance(self.bulkhead, AsyncBulkhead):
            raise TypeError(f"guard: {name} is a def, and AsyncBulkhead is awaited; use Bulkhead")
        if self.timeout < inf and not self.pooled():
            raise TypeError(
                f"guard: {name} is a def, and no thread can be stopped; for a timeout give it "
                "threads to leave it in: bulkhead=Pool(10)"
            )

    def around(self, function: Callable[P, R], key: str | Callable[..., str]) -> Callable[P, R]:
        """The function with all of it around it, outermost the breaker."""
        keys = [self.limiter, self.breaker, None if self.pooled() else self.bulkhead]
        spelled = not isinstance(key, str) or "{" in key
        waits = self.patience > 0 or self.pooled()
        if (spelled and keys.count(None) < 2) or (waits and self.breaker is not None):
            # The key is spelled once, and the breaker hears when the waiting is over.
            hold = self.breaker.hold if self.breaker is not None else lambda key: FREE
            inner = self.within(started(function), first)
            return held(function, keyed(function, key), hold, inner)
        call = self.within(function, key)
        return self.breaker.guard(key)(call) if self.breaker is not None else call  # type: ignore[no-any-return]

    def pooled(self) -> bool:
        """Whether calls are made in threads of their own."""
        return isinstance(self.bulkhead, Pool)

    def within(self, function: Callable[..., Any], key: str | Callable[..., str]) -> Any:
        """The function with all but the breaker around it."""
        call = function
        if self.timeout < inf and not self.pooled():
            call = hurried(call, self.timeout)
        if self.pooled():
            call = self.bulkhead.guard(self.timeout)(call)
        elif self.bulkhead is not None:
            call = self.bulkhead.guard(key, self.patience)(call)
        if self.limiter is None:
            return call
        if self.patience > 0:
            return self.limiter.guard(key, 1, self.patience)(call)
        return wrap(call, key, self.enter, self.aenter)

    def enter(self, key: str) -> None:
        """Past the limiter, which nobody waits for: what `take` says is much cheaper to know."""
        decision = self.limiter.take(key)
        if not decision:
            raise refusal(decision, key)

    async def aenter(self, key: str) -> None:
        """The same in a task, whatever the limiter's colour."""
        if not isinstance(self.limiter, AsyncLimiter):
            self.enter(key)
        elif not (decision := await self.limiter.take(key)):
            raise refusal(decision, key)


def first(key: str, /, *args: Any, **kwargs: Any) -> str:
    """The key, where it comes before the arguments."""
    return key


def held(
    function: Callable[P, R],
    name: Callable[..., str],
    hold: Callable[[str], Any],
    inner: Callable[..., Any],
) -> Callable[P, R]:
    """`inner(key, call, ...)` within `hold(key)`, as if it were the function."""
    if iscoroutinefunction(function):

        @wraps(function)
        async def aguarded(*args: P.args, **kwargs: P.kwargs) -> Any:
            key = name(*args, **kwargs)
            with hold(key) as call:
                return call.judge(await inner(key, call, *args, **kwargs))

        return aguarded  # type: ignore[return-value]

    @wraps(function)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
        key = name(*args, **kwargs)
        with hold(key) as call:
            return call.judge(inner(key, call, *args, **kwargs))  # type: ignore[no-any-return]

    return guarded


def started(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function behind a key and a call, which hears when it starts."""
    if iscoroutinefunction(function):

        async def acalled(key: str, call: Any, /, *args: Any, **kwargs: Any) -> Any:
            call.start()
            return await function(*args, **kwargs)

        return acalled

    def called(key: str, call: Any, /, *args: Any, **kwargs: Any) -> Any:
        call.start()
        return function(*args, **kwargs)

    return called


def hurried(function: Callable[..., Any], timeout: float) -> Callable[..., Any]:
    """The function, cancelled after so many seconds, which raises `TimeoutError`."""

    @wraps(function)
    async def ahurried(*args: Any, **kwargs: Any) -> Any:
        async with asyncio.timeout(timeout):
            return await function(*args, **kwargs)

    return ahurried


class Free:
    """A call that no breaker looks at."""

    __slots__ = ()

    def __enter__(self) -> Free:
        return self

    def __exit__(self, *exc: object) -> None:
        return None

    def start(self) -> None:
        return None

    def judge(self, result: Any) -> Any:
        return result


FREE = Free()
