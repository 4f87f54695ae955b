"""Refusals of every kind, each with what a gateway is asked and what is known of it."""

from __future__ import annotations

from typing import Any, NamedTuple
from unittest.mock import ANY

KEY = ("X-Api-Key", "ada")


class Refused(NamedTuple):
    """A rule, a request that is asked so often before, and what has to be told of the refusal.

    Of the numbers those are said that are not None. A pause of a breaker is as long as it likes.
    """

    rule: dict[str, Any]
    kind: str
    reason: str
    because: str
    source: str = ""
    key: str = ""
    hashed: bool = False
    policy: str = ""
    numbers: dict[str, Any] = {}  # noqa: RUF012 - nobody changes it
    before: int = 0
    headers: tuple[tuple[str, str], ...] = ()
    status: int = 429


HOUR = {"rate": "1/h", "burst": 1}
SPENT = {
    "cost": 1,
    "limit": 1,
    "remaining": 0,
    "reset": 3600.0,
    "retry_after": 3600.0,
    "waited": 0.0,
}
SOON = {"retry_after": 1.0, "waited": 0.0}

# By the path that the rule is about, which is its name as well.
REFUSALS = {
    "lone": Refused(
        {"limit": HOUR}, "limit", "limit",
        'By its limit "lone" it costs 1, and 0 of 1 are left; it would fit in 3600 s.',
        policy="lone", numbers=SPENT, before=1,
    ),
    "address": Refused(
        {"limit": HOUR, "key": "client.ip"}, "limit", "limit",
        'By its limit "address" it costs 1, and 0 of 1 are left; it would fit in 3600 s.',
        "client.ip", "127.0.0.1", policy="address", numbers=SPENT, before=1,
    ),
    "second": Refused(
        {"limit": ["10/s", "3/day"], "by": "sliding_log", "key": "client.ip"}, "limit", "limit",
        'By its limit "second:2" it costs 1, and 0 of 3 are left; it would fit in 86400 s.',
        "client.ip", "127.0.0.1", policy="second:2", before=3,
        numbers={"cost": 1, "limit": 3, "remaining": 0, "reset": 86400.0, "retry_after": 86400.0,
                 "waited": 0.0},
    ),
    "dear": Refused(
        {"limit": "10/h", "by": "fixed_window", "cost": 4}, "limit", "limit",
        'By its limit "dear" it costs 4, and 2 of 10 are left; it would fit in 800 s.',
        policy="dear", before=2,
        numbers={"cost": 4, "limit": 10, "remaining": 2, "reset": 800.0, "retry_after": 800.0,
                 "waited": 0.0},
    ),
    "never": Refused(
        {"limit": HOUR, "cost": 5}, "limit", "never",
        'By its limit "never" it costs 5, and of 1 at most there is never as much at once.',
        policy="never",
        numbers={"cost": 5, "limit": 1, "remaining": 1, "reset": 0.0, "waited": 0.0},
    ),
    "header": Refused(
        {"limit": HOUR, "key": "header.x-api-key"}, "limit", "limit",
        'By its limit "header" it costs 1, and 0 of 1 are left; it would fit in 3600 s.',
        "header.x-api-key", "ada", True, policy="header", numbers=SPENT, before=1, headers=(KEY,),
    ),
    "several": Refused(
        {"limit": HOUR, "key": ["header.x-api-key", "client.ip"]}, "limit", "limit",
        'By its limit "several" it costs 1, and 0 of 1 are left; it would fit in 3600 s.',
        "header.x-api-key, client.ip", "ada:127.0.0.1", True, policy="several", numbers=SPENT,
        before=1, headers=(KEY,),
    ),
    "booked": Refused(
        {"limit": "100/h", "key": "client.ip"}, "limit", "limit",
        'By its limit "booked" it costs 1, and 0 of 1 are left; it would fit in 3600 s.',
        "client.ip", "127.0.0.1", policy="booked", numbers=SPENT, before=1,
        headers=(("X-Plan", "small"),),
    ),
    "special": Refused(
        {"limit": "100/h", "key": "client.ip", "overrides": {"127.0.0.1": HOUR}}, "limit", "limit",
        'By its limit "special" it costs 1, and 0 of 1 are left; it would fit in 3600 s.',
        "client.ip", "127.0.0.1", policy="special", numbers=SPENT, before=1,
    ),
    "banned": Refused(
        {"deny": True}, "denied", "denied", "It lets in nobody whom it is about.",
        numbers={"retry_after": 0.0, "waited": 0.0}, status=403,
    ),
    "nameless": Refused(
        {"limit": HOUR, "key": "header.x-api-key"}, "key", "key",
        "The request has no header.x-api-key, so nobody knows whom to count.",
        "header.x-api-key", "", True, numbers={"retry_after": 0.0, "waited": 0.0}, status=403,
    ),
    "line": Refused(
        {"limit": HOUR, "over": {"wait": {"timeout": "2h", "queue": 0}}}, "capacity", "queue",
        "0 wait already, and no more may; its turn would come in 3600 s.",
        numbers={"limit": 0, "retry_after": 3600.0, "waited": 3600.0}, before=1, status=503,
    ),
    "broken": Refused(
        {"breaker": {"calls": 1, "failures": 0.5, "pause": "5s", "status": [200]}}, "capacity",
        "open", "Its breaker is open; it lets one try in {:g} s.",
        numbers={"retry_after": ANY, "waited": 0.0}, before=1, status=503,
    ),
    "full": Refused(
        {"concurrent": 1}, "capacity", "full",
        "The only place is taken, and nobody waits for one.",
        numbers={"limit": 1, "remaining": 0, **SOON}, status=503,
    ),
    "mine": Refused(
        {"concurrent": 1, "key": "client.ip"}, "limit", "full",
        "The only place is taken, and nobody waits for one.", "client.ip", "127.0.0.1",
        policy="mine", numbers={"limit": 1, "remaining": 0, **SOON},
    ),
    "found": Refused(
        {"adaptive": {"by": "aimd", "initial": 1, "floor": 1, "ceiling": 1}}, "capacity", "full",
        "The only place that it found for itself is taken, and nobody waits for one.",
        numbers={"limit": 1, "remaining": 0, **SOON}, status=503,
    ),
}  # fmt: skip
# Whom a server has to keep inside, so that another finds no room.
HELD = ("full", "mine", "found")
