"""Judge: what an exception says about the one who was called."""

from __future__ import annotations

from typing import Any

from headgate.errors import Refused, StoreUnavailable
from headgate.window import FAILURE, SUCCESS, TIMEOUT

Kinds = type[BaseException] | tuple[type[BaseException], ...]

# The outcome of a call that says nothing about what was called: it was cancelled, or never made.
IGNORED = -1


class Judge:
    """An exception of `counts` is a failure, unless it is one of `ignores`, which is nothing."""

    __slots__ = ("counts", "ignores")

    def __init__(self, counts: Kinds, ignores: Kinds) -> None:
        self.counts = kinds("counts", counts)
        # Our own refusals, and a store of ours that is down, say nothing about who is called.
        self.ignores = (*kinds("ignores", ignores), Refused, StoreUnavailable)

    def outcome(self, problem: BaseException) -> int:
        """What came of the call that raised it.

        Who answers with an error that does not count has answered; who was cancelled has not.
        """
        if isinstance(problem, self.ignores):
            return IGNORED
        if isinstance(problem, self.counts):
            return TIMEOUT if isinstance(problem, TimeoutError) else FAILURE
        return SUCCESS if isinstance(problem, Exception) else IGNORED


def kinds(word: str, value: Any) -> tuple[type[BaseException], ...]:
    """The exceptions meant."""
    found = value if isinstance(value, tuple) else (value,)
    for kind in found:
        if not (isinstance(kind, type) and issubclass(kind, BaseException)):
            raise TypeError(f"Breaker: {word} is one or more exceptions, not {kind!r}")
    return found
