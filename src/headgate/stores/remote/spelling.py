"""Spelling: a set of limits as JSON, so that a service can open what a program has.

    {"limits": [{"by": "TokenBucket", "rate": "100/min", "penalty": 1}], "name": "api"}

Limits are spelled by the words they are made with. `"told": true` says that each question brings
the time it is asked at: such limits have keys of their own, so nobody's clock is anybody else's.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from headgate.algorithms.fixed_window import FixedWindow
from headgate.algorithms.gcra import GCRA
from headgate.algorithms.leaky_bucket import LeakyBucket
from headgate.algorithms.limit import Limit
from headgate.algorithms.sliding_log import SlidingLog
from headgate.algorithms.sliding_window import SlidingWindow
from headgate.algorithms.token_bucket import TokenBucket
from headgate.algorithms.warm_up import WarmUp
from headgate.errors import LimitError
from headgate.stores.flat.rows import MOST

KINDS: dict[str, type[Limit]] = {
    kind.__name__: kind
    for kind in (
        FixedWindow, GCRA, LeakyBucket, SlidingLog, SlidingWindow, TokenBucket, WarmUp,
    )
}  # fmt: skip
# A name is no longer than this, and a key of one set of limits has no more cells.
LONGEST = 200
WIDEST = 20_000
WORDS = ("limits", "name", "told")
HEAD = ("by", "rate")


class Spelled(NamedTuple):
    """What a spelling says."""

    limits: tuple[Limit, ...]
    name: str
    told: bool

    def open(self) -> tuple[Limit, ...]:
        """The limits, for whoever opens them when they are needed."""
        return self.limits


def spell(limits: tuple[Limit, ...], name: str, told: bool) -> bytes:
    """The spelling of limits; an error if a service would not open them."""
    said: dict[str, Any] = {"limits": [words(limit) for limit in limits], "name": name}
    if told:
        said["told"] = True
    text = json.dumps(said, separators=(",", ":"))
    # What would be refused there is refused here, where it can be mended.
    read(text.encode())
    return text.encode()


def words(limit: Limit) -> dict[str, Any]:
    """A limit by the words it is made with."""
    return {"by": type(limit).__name__, "rate": str(limit.rate), **limit.options}


def read(text: bytes) -> Spelled:
    """What a spelling says; a ValueError says what is wrong with it."""
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError("limits are spelled as JSON") from None
    if not isinstance(said, dict) or not set(said) <= set(WORDS):
        raise ValueError(f"limits are spelled with {', '.join(WORDS)}")
    given, name, told = said.get("limits"), said.get("name", ""), said.get("told", False)
    if not isinstance(given, list) or not 1 <= len(given) <= MOST:
        raise ValueError(f"there are from 1 to {MOST} limits")
    if not isinstance(name, str) or len(name) > LONGEST:
        raise ValueError(f"a name is a text of at most {LONGEST} characters")
    if told is not True and told is not False:
        raise ValueError("told is true or false")
    limits = tuple(made(one) for one in given)
    if sum(limit.width for limit in limits) > WIDEST:
        raise LimitError(
            f"a service keeps at most {WIDEST:,} numbers a key, and {list(limits)!r} wants more; "
            "use SlidingWindow"
        )
    return Spelled(limits, name, told)


def made(said: Any) -> Limit:
    """The limit that is spelled so."""
    plain = isinstance(said, dict) and all(isinstance(said.get(word), str) for word in HEAD)
    if not plain or said["by"] not in KINDS:
        raise ValueError(f"a limit is spelled with rate and by, which is one of {', '.join(KINDS)}")
    options = {word: value for word, value in said.items() if word not in HEAD}
    try:
        return KINDS[said["by"]](said["rate"], **options)
    except TypeError as problem:
        raise ValueError(str(problem)) from None
