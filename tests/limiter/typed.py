"""What a type checker knows of the surface: checked by test_types.py, never run."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, assert_type

from headgate import (
    AsyncLimiter,
    AsyncReservation,
    Decision,
    FixedWindow,
    Limiter,
    Permit,
    Rate,
    Reservation,
    TokenBucket,
)

limiter = Limiter("100/min", Rate("5/s"), TokenBucket("20/s", burst=40), name="typed")

assert_type(limiter.take("a"), Decision)
assert_type(limiter.take_many(["a", "b"], cost=2), list[Decision])
assert_type(limiter.peek("a"), Decision)
assert_type(limiter.debit("a", 3), Decision)
assert_type(limiter.refund("a", 3), Decision)
assert_type(limiter.reserve("a"), Reservation)
assert_type(limiter.reserve("a").wait, float)
assert_type(limiter.take("a").retry_after, float)
assert_type(limiter.take("a").remaining, int)

with limiter.acquire("a", timeout=2) as permit:
    assert_type(permit, Permit)
    assert_type(permit.waited, float)


@limiter.guard("user:{user_id}")
def send(user_id: int, text: str = "") -> str:
    """A guarded function keeps its types."""
    return f"{user_id} {text}"


assert_type(send(1, text="hello"), str)
send("1")  # type: ignore[arg-type]
send(1, words="hello")  # type: ignore[call-arg]


@limiter.guard(lambda user_id: f"user:{user_id}", timeout=1.0)
async def post(user_id: int) -> bytes:
    """A guarded coroutine function is still one."""
    return bytes(user_id)


posting = assert_type(post(1), Coroutine[Any, Any, bytes])


class Account:
    """A guarded method is still one."""

    @limiter.guard("{self.name}")
    def pay(self, amount: int) -> float:
        """Pay."""
        return float(amount)


assert_type(Account().pay(1), float)

limiter.take(5)  # type: ignore[arg-type]
limiter.take("a", 0.5)  # type: ignore[arg-type]
Limiter(5)  # type: ignore[arg-type]
FixedWindow("5/s", burst=5)  # type: ignore[call-arg]


async def wait() -> None:
    """The same, awaited."""
    patient = AsyncLimiter("100/min")
    assert_type(await patient.take("a"), Decision)
    assert_type(await patient.take_many(["a"]), list[Decision])
    assert_type(await patient.acquire("a"), Permit)
    assert_type(await patient.reserve("a"), AsyncReservation)
    async with patient.acquire("a", deadline=5.0) as permit:
        assert_type(permit, Permit)

    @patient.guard("{name}")
    async def work(name: str) -> int:
        return len(name)

    assert_type(await work("a"), int)
