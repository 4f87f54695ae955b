"""What is said to Redis clients: values as bytes of the protocol, and what went wrong as errors."""

from __future__ import annotations

import logging
from typing import Any

from headgate.decision import REASONS, Decision
from headgate.errors import HeadgateError, StoreUnavailable
from headgate.stores.remote.tongue import DEGRADED, VERDICT

# As a decision counts them; its own are C numbers when compiled.
ALLOWED, NEVER = 0, 2
PACKED = VERDICT.pack
OK = b"+OK\r\n"
NULL = b"$-1\r\n"
# Of RESP3, where nothing has a sign of its own.
NOTHING = b"_\r\n"
# So much is said of what is wrong.
LONGEST = 500
REASON = [b"$%d\r\n%b\r\n" % (len(word), word.encode()) for word in REASONS]

logger = logging.getLogger("headgate.service")


def decided(decision: Decision) -> bytes:
    """A decision in eight parts, whole numbers and strings, times in microseconds.

    Whether it may, the limit, what is left, when to come back (-1 if that would not help), when all
    is as new, why not, which limit it was, and whether that was decided without the store.
    """
    name = decision.rule.encode("utf-8", "surrogateescape")
    why = decision.why
    return b"*8\r\n:%d\r\n:%d\r\n:%d\r\n:%d\r\n:%d\r\n%b$%d\r\n%b\r\n:%d\r\n" % (
        why == ALLOWED,
        decision.limit,
        decision.remaining,
        -1 if why == NEVER else decision.retry,
        decision.reset,
        REASON[why],
        len(name),
        name,
        decision.degraded,
    )


def celled(decision: Decision) -> bytes:
    """A decision as redis-cell tells it, in whole seconds."""
    why = decision.why
    return b"*5\r\n:%d\r\n:%d\r\n:%d\r\n:%d\r\n:%d\r\n" % (
        why != ALLOWED,
        decision.limit,
        decision.remaining,
        -1 if why in (ALLOWED, NEVER) else rounded(decision.retry),
        rounded(decision.reset),
    )


def crabbed(decision: Decision, enough: int) -> bytes:
    """A decision as throttlecrab tells it; what never fits is to come back after `enough`."""
    why = decision.why
    return b"*5\r\n:%d\r\n:%d\r\n:%d\r\n:%d\r\n:%d\r\n" % (
        why == ALLOWED,
        decision.limit,
        decision.remaining,
        rounded(decision.reset),
        enough if why == NEVER else 0 if why == ALLOWED else rounded(decision.retry),
    )


def verdict(decision: Decision, number: int, units: int) -> bytes:
    """A decision as `stores/remote/tongue.py` reads it: `number` is that of its limit."""
    code = number + 16 * decision.why + (DEGRADED if decision.degraded else 0)
    return PACKED(code, units or decision.retry, decision.remaining, decision.reset)


def rounded(span: int) -> int:
    """Microseconds in seconds, up as soon as there is a millisecond more."""
    return (span // 1000 + 999) // 1000


def bulk(text: bytes) -> bytes:
    """A string."""
    return b"$%d\r\n%b\r\n" % (len(text), text)


def spoken(value: Any, modern: bool = False) -> bytes:
    """A value: a number, a text, bytes, nothing, or a list or a mapping of values."""
    if value is None:
        return NOTHING if modern else NULL
    if isinstance(value, int):
        return b":%d\r\n" % value
    if isinstance(value, str):
        return bulk(value.encode("utf-8", "surrogateescape"))
    if isinstance(value, dict):
        parts = [spoken(part, modern) for pair in value.items() for part in pair]
        sign = b"%%%d\r\n" % len(value) if modern else b"*%d\r\n" % len(parts)
        return sign + b"".join(parts)
    if isinstance(value, (list, tuple)):
        return b"*%d\r\n" % len(value) + b"".join(spoken(part, modern) for part in value)
    return bulk(value)


def error(text: str, word: str = "ERR") -> bytes:
    """What is wrong, in a line."""
    said = " ".join(text.split())[:LONGEST]
    shown = said if said.isprintable() else said.encode("unicode_escape").decode("ascii")
    return f"-{word} {shown}\r\n".encode("utf-8", "backslashreplace")


def trouble(problem: BaseException) -> bytes:
    """What went wrong with a command, for whoever gave it."""
    if isinstance(problem, StoreUnavailable):
        return error(str(problem), "UNAVAILABLE")
    if isinstance(problem, (HeadgateError, ValueError)):
        return error(str(problem))
    logger.error("a command failed", exc_info=problem)
    return error("the service failed at it; its log says how")


def usage(verb: str) -> bytes:
    """There are too many words, or too few."""
    return error(f"wrong number of arguments for '{verb.lower()}' command")


def denied(caller: Any, what: str) -> bytes:
    """Who is known may not ask for that."""
    return error(f'caller "{caller.name}" may not ask "{what}"', "NOPERM")
