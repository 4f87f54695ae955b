"""Who guards a call, and how: breakers closed and open, and places in a bulkhead that is free.

As in contestants.py, each is a few objects and the statement its users write. What is guarded is
always the same function, which answers at once, or fails if it is told to; a breaker is opened by
letting it fail, so that it has the state it has in real life.
"""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

from contestants import LOOP, Contestant

if TYPE_CHECKING:
    from collections.abc import Callable

    Build = Callable[[], dict[str, Any]]

OURS = "headgate"
BARE = "bare call"
RAISE = "bare raise"
# Long enough that no breaker tries again while it is measured.
HOUR = 3600
# More failures in a row than anybody needs to open.
FAILURES = 30
PLACES = 10

# What a caller writes who can do without.
REFUSED = "try:\n   call(key)\n  except Refusal:\n   pass"
AREFUSED = "try:\n   await call(key)\n  except Refusal:\n   pass"


class Failure(Exception):
    """What the function raises that is told to fail."""


def work(key: str | None) -> str:
    """Answer, or fail if there is no key."""
    if key is None:
        raise Failure
    return key


async def awork(key: str | None) -> str:
    """The same, awaited."""
    if key is None:
        raise Failure
    return key


def breakers(opened: bool) -> list[Contestant]:
    """Breakers around a `def`."""
    call = REFUSED if opened else "call(key)"
    bare = _raising if opened else lambda: {"call": work}
    return [
        _entrant(LOOP, "", dict, ""),
        _entrant(RAISE if opened else BARE, "", bare, call),
        _entrant(OURS, "headgate", lambda: _headgate(work), call),
        _entrant("circuitbreaker", "circuitbreaker", lambda: _circuitbreaker(work), call),
        _entrant("pybreaker", "pybreaker", _pybreaker, call),
        _entrant("aiobreaker", "aiobreaker", lambda: _aiobreaker(work), call),
        _entrant("purgatory", "purgatory", _purgatory, call),
    ]


def abreakers(opened: bool) -> list[Contestant]:
    """Breakers around an `async def`; that of pybreaker is for Tornado's coroutines."""
    call = AREFUSED if opened else "await call(key)"
    bare = _araising if opened else lambda: {"call": awork}
    return [
        _entrant(LOOP, "", dict, ""),
        _entrant(RAISE if opened else BARE, "", bare, call),
        _entrant(OURS, "headgate", lambda: _headgate(awork), call),
        _entrant("circuitbreaker", "circuitbreaker", lambda: _circuitbreaker(awork), call),
        _entrant("aiobreaker", "aiobreaker", lambda: _aiobreaker(awork), call),
        _entrant("purgatory", "purgatory", _apurgatory, call),
        _entrant("hyx", "hyx", _hyx, call),
    ]


def bulkheads() -> list[Contestant]:
    """A place held up by `with`, all of them free."""
    return [
        _entrant(LOOP, "", dict, ""),
        _entrant(OURS, "headgate", _bulkhead, "with gate.hold(): pass"),
        _entrant("threading.Semaphore", "", _threads, "with gate: pass"),
    ]


def abulkheads() -> list[Contestant]:
    """The same by `async with`."""
    return [
        _entrant(LOOP, "", dict, ""),
        _entrant(OURS, "headgate", _bulkhead, "async with gate.hold(): pass"),
        _entrant("asyncio.Semaphore", "", _tasks, "async with gate: pass"),
        _entrant("hyx", "hyx", _hyx_bulkhead, "async with gate: pass"),
    ]


def _entrant(name: str, package: str, build: Build, call: str) -> Contestant:
    return Contestant(name, package, lambda *_: build(), call)


def _threads() -> dict[str, Any]:
    return {"gate": threading.Semaphore(PLACES)}


def _tasks() -> dict[str, Any]:
    return {"gate": asyncio.Semaphore(PLACES)}


def _raising() -> dict[str, Any]:
    def call(key: str) -> str:
        raise Failure

    return {"call": call, "Refusal": Failure}


def _araising() -> dict[str, Any]:
    async def call(key: str) -> str:
        raise Failure

    return {"call": call, "Refusal": Failure}


def _headgate(function: Any) -> dict[str, Any]:
    from headgate import Breaker, BreakerOpen

    breaker = Breaker(pause=HOUR, longest=HOUR)
    return {"call": breaker.guard()(function), "Refusal": BreakerOpen}


def _circuitbreaker(function: Any) -> dict[str, Any]:
    from circuitbreaker import CircuitBreakerError, circuit

    return {"call": circuit(recovery_timeout=HOUR)(function), "Refusal": CircuitBreakerError}


def _pybreaker() -> dict[str, Any]:
    from pybreaker import CircuitBreaker, CircuitBreakerError

    return {"call": CircuitBreaker(reset_timeout=HOUR)(work), "Refusal": CircuitBreakerError}


def _aiobreaker(function: Any) -> dict[str, Any]:
    from datetime import timedelta

    from aiobreaker import CircuitBreaker, CircuitBreakerError

    breaker = CircuitBreaker(timeout_duration=timedelta(seconds=HOUR))
    return {"call": breaker(function), "Refusal": CircuitBreakerError}


def _purgatory() -> dict[str, Any]:
    from purgatory import SyncCircuitBreakerFactory
    from purgatory.domain.model import OpenedState

    factory = SyncCircuitBreakerFactory(default_ttl=HOUR)
    return {"call": factory("work")(work), "Refusal": OpenedState}


def _apurgatory() -> dict[str, Any]:
    from purgatory import AsyncCircuitBreakerFactory
    from purgatory.domain.model import OpenedState

    factory = AsyncCircuitBreakerFactory(default_ttl=HOUR)
    return {"call": factory("work")(awork), "Refusal": OpenedState}


def _hyx() -> dict[str, Any]:
    from hyx.circuitbreaker import consecutive_breaker
    from hyx.circuitbreaker.exceptions import BreakerFailing

    return {
        "call": consecutive_breaker(recovery_time_secs=HOUR)(awork),
        "Refusal": BreakerFailing,
    }


def _bulkhead() -> dict[str, Any]:
    from headgate import Bulkhead

    return {"gate": Bulkhead(PLACES)}


def _hyx_bulkhead() -> dict[str, Any]:
    from hyx.bulkhead import bulkhead

    return {"gate": bulkhead(max_concurrency=PLACES, max_capacity=2 * PLACES)}
