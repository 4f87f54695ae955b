"""Advice: what a server says about its quotas, as its clients should take it.

Read are `Retry-After` in both of its forms, `RateLimit` and `RateLimit-Policy` as drafts 08 to 11
have them, the dictionary of draft 07, the three fields of draft 06, and `X-RateLimit-*`, whose
reset is a moment if it is too large to be anything else. The newest that says something is heard.

Headers come from anybody, so nothing that is in them raises, and none of it is believed blindly. A
field that breaks a rule anywhere is not there. A reset is at most ten minutes away. What a cache
had stored says nothing about now. And what is left is no promise.
"""

from __future__ import annotations

import re
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

from headgate.adapters.http.fields import Item, entries, items

# A reset further away is a mistake, or worse.
FARTHEST = 600.0
# Larger than these, a reset is a moment: in seconds since 1970, in milliseconds.
MOMENT = 10**9
MILLISECONDS = 10**12
# Longer than any that is meant well.
LONGEST = 4000
NUMBER = re.compile(r"[0-9]{1,64}(\.[0-9]{0,9})?")


class Heard(NamedTuple):
    """What is left under a policy, and for how many seconds that is all.

    `reset` is None where that was not said; `quota` and `window`, in seconds, are 0.
    """

    name: str
    remaining: int
    reset: float | None
    quota: int = 0
    window: int = 0


class Advice(NamedTuple):
    """When to come back, if that was said, and how the quotas stand."""

    retry_after: float | None = None
    standings: tuple[Heard, ...] = ()

    @property
    def wait(self) -> float:
        """Seconds to hold back before the next request; `Retry-After` has the last word."""
        return self.spent if self.retry_after is None else self.retry_after

    @property
    def spent(self) -> float:
        """Seconds until there is something left of every quota; 0 if there is."""
        return max(
            [heard.reset for heard in self.standings if not heard.remaining and heard.reset],
            default=0.0,
        )


def read(headers: Any, now: float) -> Advice:
    """What the headers of a response advise, at `now` seconds since 1970.

    Headers are any mapping of text, such as those of httpx, requests, aiohttp and urllib. Of a
    plain dict, names in lower case are found, and those spelled as they are in the RFCs.
    """
    sent = moment(spoken(headers, "Date"))
    age = numeral(spoken(headers, "Age")) or 0.0
    here = now if sent is None else sent
    retry_after = told(spoken(headers, "Retry-After"), here, age)
    if age > 0.0:
        return Advice(retry_after)
    for hear in (hear_items, hear_entries, hear_triple):
        standings = hear(headers)
        if standings:
            return Advice(retry_after, standings)
    return Advice(retry_after, hear_elders(headers, here))


def spoken(headers: Any, name: str) -> str:
    """A field as one text, however many lines it had; empty if it is not there."""
    found = [line for line in lines(headers, name) if isinstance(line, str)]
    text = ", ".join(found)
    return text.strip() if len(text) <= LONGEST else ""


def lines(headers: Any, name: str) -> list[Any]:
    # The first two answer with an empty list what the others have to be told to.
    for verb, default in (("get_list", ()), ("getlist", ()), ("getall", ([],)), ("get_all", ([],))):
        several = getattr(headers, verb, None)
        if callable(several):
            return list(several(name, *default))
    found = headers.get(name)
    return [headers.get(name.lower()) if found is None else found]


def told(text: str, here: float, age: float) -> float | None:
    """The seconds that `Retry-After` still asks for; None if it does not."""
    wait = numeral(text)
    if wait is None:
        until = moment(text)
        if until is None:
            return None
        wait = until - here
    return max(0.0, wait - age)


def moment(text: str) -> float | None:
    """A date as seconds since 1970; None if it is none."""
    if not 8 < len(text) < 64:
        return None
    try:
        found = parsedate_to_datetime(text)
        # HTTP knows one zone; a date without any is in it, too.
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError, TypeError, IndexError):
        return None


def numeral(text: str) -> float | None:
    return float(text) if NUMBER.fullmatch(text) else None


def hear_items(headers: Any) -> tuple[Heard, ...]:
    """Drafts 08 to 11: `RateLimit: "burst";r=50;t=30`."""
    try:
        found = items(spoken(headers, "RateLimit"))
        policies = hear_policies(headers)
        return tuple(heard(item, policies) for item in found)
    except ValueError:
        return ()


def heard(item: Item, policies: dict[str, tuple[int, int]]) -> Heard:
    name = titled(item)
    reset = min(float(counted(item, "t")), FARTHEST) if "t" in item.parameters else None
    return Heard(name, counted(item, "r"), reset, *policies.get(name, (0, 0)))


def hear_policies(headers: Any) -> dict[str, tuple[int, int]]:
    """`RateLimit-Policy: "burst";q=100;w=60` as quota and window, by name."""
    found: dict[str, tuple[int, int]] = {}
    try:
        for item in items(spoken(headers, "RateLimit-Policy")):
            window = counted(item, "w", 1) if "w" in item.parameters else 0
            found[titled(item)] = counted(item, "q"), window
    except ValueError:
        return {}
    return found


def titled(item: Item) -> str:
    if type(item.value) is not str:
        raise ValueError("a policy has a name")
    return item.value


def counted(item: Item, word: str, least: int = 0) -> int:
    value = item.parameters.get(word)
    if type(value) is not int or value < least:
        raise ValueError(f"{word} is a whole number of {least} or more")
    return value


def hear_entries(headers: Any) -> tuple[Heard, ...]:
    """Draft 07: `RateLimit: limit=100, remaining=50, reset=5`."""
    try:
        found = entries(spoken(headers, "RateLimit"))
    except ValueError:
        return ()
    values = [found[word].value if word in found else None for word in WORDS]
    return three(*values)


def hear_triple(headers: Any) -> tuple[Heard, ...]:
    """Drafts up to 06: `RateLimit-Limit: 100`, `-Remaining: 50`, `-Reset: 30`."""
    return three(*[first(spoken(headers, f"RateLimit-{word.title()}")) for word in WORDS])


def first(text: str) -> Any:
    # Before draft 06 the policies followed after the limit.
    try:
        return next((item.value for item in items(text)), None)
    except ValueError:
        return None


def three(limit: Any, remaining: Any, reset: Any) -> tuple[Heard, ...]:
    if type(remaining) is not int or remaining < 0:
        return ()
    quota = limit if type(limit) is int and limit > 0 else 0
    known = type(reset) is int and reset >= 0
    return (Heard("", remaining, min(float(reset), FARTHEST) if known else None, quota),)


def hear_elders(headers: Any, here: float) -> tuple[Heard, ...]:
    """`X-RateLimit-*` and `X-Rate-Limit-*`, which nobody ever wrote down."""
    for name in ("X-RateLimit", "X-Rate-Limit"):
        limit, remaining, reset = [
            numeral(spoken(headers, f"{name}-{word.title()}").partition(",")[0]) for word in WORDS
        ]
        if remaining is not None:
            return (Heard("", int(remaining), since(reset, here), int(limit or 0)),)
    return ()


def since(reset: float | None, here: float) -> float | None:
    """The seconds from here to a reset, which may be a moment."""
    if reset is None:
        return None
    if reset > MILLISECONDS:
        reset /= 1000
    if reset > MOMENT:
        reset -= here
    return min(max(0.0, reset), FARTHEST)


WORDS = ("limit", "remaining", "reset")
