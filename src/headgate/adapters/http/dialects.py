"""Dialects: one state of quotas, said in each of the ways that clients read.

| dialect | fields |
| --- | --- |
| `draft-11` | `RateLimit-Policy: "burst";q=100;w=60`, `RateLimit: "burst";r=50;t=30` |
| `draft-06` | `RateLimit-Limit`, `-Remaining`, `-Reset` in seconds, `RateLimit-Policy: 100;w=60` |
| `x-epoch` | `X-RateLimit-Limit`, `-Remaining`, `-Reset` as a moment, in seconds since 1970 |
| `x-delta` | the same, with `-Reset` in seconds from now |
| `none` | nothing |

The first two have the syntax of these revisions of draft-ietf-httpapi-ratelimit-headers, which is
no standard yet. All are said from one reading of the same numbers, so they cannot disagree.

`draft-11` tells of every policy. The others know one set of numbers, so they tell of the policy
that is nearest to its end, by what is left; one whose end is not a matter of time, such as how many
requests there may be at once, has no place in them. Two of them share a name for two things:
beside `draft-11`, `draft-06` leaves out its `RateLimit-Policy`.

**How long it has to last is sometimes said to be longer.** Who has 10,000 left and is told that
there will be more in 10 seconds may well spread them over these, a thousand a second where the
policy means ten. Where a window is longer than a minute, what is left is said to have to last for
so long that nobody goes at more than `safety` times the policy's own pace: 10 times, if not told
otherwise. `safety=inf` says how long it is until there is more, and nothing else.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from math import ceil
from typing import NamedTuple

from headgate.adapters.http.fields import MOST, integer, sequence, string
from headgate.measures import number, whole

DIALECTS = ("draft-11", "draft-06", "x-epoch", "x-delta", "none")
UNITS = ("requests", "content-bytes", "concurrent-requests")
# Up to so many seconds a window is short: what is left in it may be used at once.
SHORT = 60.0

Fields = list[tuple[bytes, bytes]]


@dataclass(frozen=True)
class Policy:
    """So many of a `unit` per `window` seconds, under a name; a window of 0 is none.

    A window is said in whole seconds, rounded up. One below a second cannot be said, and neither
    can that of a number of requests at once, which has none. What is said of a policy is made when
    it is: `seconds` is its window, `item` the policy, and `timed` and `timeless` take the numbers
    of a standing.
    """

    name: str
    quota: int
    window: float
    unit: str = "requests"
    seconds: int = field(init=False, repr=False, compare=False)
    item: bytes = field(init=False, repr=False, compare=False)
    timed: bytes = field(init=False, repr=False, compare=False)
    timeless: bytes = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        title = named(self.name)
        quota = integer(whole("Policy", "quota", self.quota, 0, 1 << 62))
        number("Policy", "window", self.window, 0.0, float(MOST))
        if self.unit not in UNITS:
            raise ValueError(f"Policy: {unknown('unit', self.unit, UNITS)}")
        sayable = self.window >= 1.0 and self.unit != "concurrent-requests"
        seconds = ceil(self.window) if sayable else 0
        window = f";w={seconds}" if seconds else ""
        unit = f";qu={string(self.unit)}" if self.unit != "requests" else ""
        left = title.replace("%", "%%") + ";r=%d"
        self._keep("seconds", seconds)
        self._keep("item", f"{title};q={quota}{window}{unit}".encode("ascii"))
        self._keep("timed", f"{left};t=%d".encode("ascii"))
        self._keep("timeless", left.encode("ascii"))

    def _keep(self, word: str, value: object) -> None:
        object.__setattr__(self, word, value)


def named(name: str) -> str:
    """A name as a field has it."""
    if not isinstance(name, str) or not name:
        raise TypeError(f"Policy: name is a text, not {name!r}")
    try:
        return string(name)
    except ValueError:
        raise ValueError(
            f"Policy: a name is printable ASCII, as headers are, not {name!a}"
        ) from None


class Standing(NamedTuple):
    """How much of a policy is left, and for how many seconds that is all.

    `reset` is None where it is not a matter of time. `partition` says whose quota it is, if that
    is to be said at all: see `partition`.
    """

    policy: Policy
    remaining: int
    reset: float | None
    partition: bytes = b""


def partition(key: str, secret: bytes) -> bytes:
    """12 bytes that stand for a key and do not give it away to those without the secret."""
    if not secret:
        raise ValueError("partition: a secret has at least one byte")
    return hmac.digest(secret, key.encode("utf-8", "surrogatepass"), "sha256")[:12]


@dataclass(frozen=True)
class Headers:
    """Says how quotas stand, in each of the dialects named."""

    dialects: tuple[str, ...] = ("draft-11",)
    safety: float = 10.0
    newest: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check(self.dialects)
        number("Headers", "safety", self.safety, 1.0)
        object.__setattr__(self, "newest", self.dialects == ("draft-11",))

    def render(
        self, policies: Sequence[Policy], standings: Sequence[Standing], now: float = 0.0
    ) -> Fields:
        """The fields to send; `now`, in seconds since 1970, matters to `x-epoch` alone."""
        readings = [read(standing, self.safety) for standing in standings]
        fields: Fields = []
        for dialect in self.dialects:
            taken = dialect == "draft-06" and "draft-11" in self.dialects
            fields += WRITERS[dialect](() if taken else policies, readings, now)
        return fields


# A policy, how much is said to be left, for how many seconds, and the standing this is said of.
Reading = tuple[Policy, int, int | None, Standing]


def check(dialects: tuple[str, ...]) -> None:
    """Refuse dialects that are none, or that contradict each other."""
    if not isinstance(dialects, tuple) or not dialects:
        raise TypeError(f'Headers: dialects are a tuple such as ("draft-11",), not {dialects!r}')
    for dialect in dialects:
        if dialect not in DIALECTS:
            raise ValueError(f"Headers: {unknown('dialect', dialect, DIALECTS)}")
        if dialects.count(dialect) > 1:
            raise ValueError(f'Headers: the dialect "{dialect}" is named twice')
    if "x-epoch" in dialects and "x-delta" in dialects:
        raise ValueError(
            'Headers: "x-epoch" and "x-delta" mean two things by X-RateLimit-Reset; choose one'
        )
    if "none" in dialects and len(dialects) > 1:
        raise ValueError('Headers: "none" stands alone; leave it out or the others')


def unknown(noun: str, word: object, known: tuple[str, ...]) -> str:
    close = get_close_matches(str(word), known, 1, 0.5)
    return f"unknown {noun} {word!r}; try {close[0] if close else ', '.join(known)}"


def read(standing: Standing, safety: float) -> Reading:
    """What is said of a standing in any dialect."""
    policy, left, reset, _ = standing
    if not 0 <= left <= MOST:
        left = 0 if left < 0 else MOST
    if reset is None or not reset <= MOST:
        return policy, left, None, standing
    seconds = ceil(reset) if reset > 0.0 else 0
    # Where nothing more is to come, all of it is there, and the policy says how much that is.
    if policy.window > SHORT and seconds > 0 and left > 1:
        least = left * policy.window / (safety * policy.quota) if policy.quota else 0.0
        if seconds < least:
            seconds = ceil(min(least, policy.window))
            standing = standing._replace(reset=float(seconds))
    return policy, left, seconds, standing


def write_names(policies: Sequence[Policy], readings: list[Reading], now: float) -> Fields:
    fields: Fields = []
    if policies:
        fields.append((b"ratelimit-policy", b", ".join([policy.item for policy in policies])))
    if readings:
        fields.append((b"ratelimit", b", ".join([told(reading) for reading in readings])))
    return fields


def told(reading: Reading) -> bytes:
    policy, left, seconds, standing = reading
    said = policy.timeless % left if seconds is None else policy.timed % (left, seconds)
    if not standing.partition:
        return said
    return said + b";pk=" + sequence(standing.partition).encode("ascii")


def write_triple(policies: Sequence[Policy], readings: list[Reading], now: float) -> Fields:
    # No two may have the same quota; of those that do, the longest window binds most.
    windows: dict[int, int] = {}
    for policy in policies:
        if policy.seconds:
            quota = min(policy.quota, MOST)
            windows[quota] = max(policy.seconds, windows.get(quota, 0))
    said = b", ".join([b"%d;w=%d" % pair for pair in windows.items()])
    fields = three(b"ratelimit", readings, lambda seconds, _: seconds)
    return [*fields, (b"ratelimit-policy", said)] if said else fields


def write_delta(policies: Sequence[Policy], readings: list[Reading], now: float) -> Fields:
    return three(b"x-ratelimit", readings, lambda seconds, _: seconds)


def write_epoch(policies: Sequence[Policy], readings: list[Reading], now: float) -> Fields:
    return three(b"x-ratelimit", readings, lambda _, reset: ceil(now + max(0.0, reset)))


def three(name: bytes, readings: list[Reading], moment: Callable[[int, float], int]) -> Fields:
    """The three fields about the policy that is nearest to its end; none if none has a time."""
    # The least left first, and of two with as much, the one that takes longer.
    timed = [
        (left, -seconds, policy.quota, standing.reset)
        for policy, left, seconds, standing in readings
        if seconds is not None and standing.reset is not None
    ]
    if not timed:
        return []
    left, seconds, quota, reset = min(timed)
    return [
        (name + b"-limit", b"%d" % min(quota, MOST)),
        (name + b"-remaining", b"%d" % left),
        (name + b"-reset", b"%d" % moment(-seconds, reset)),
    ]


WRITERS: dict[str, Callable[[Sequence[Policy], list[Reading], float], Fields]] = {
    "draft-11": write_names,
    "draft-06": write_triple,
    "x-epoch": write_epoch,
    "x-delta": write_delta,
    "none": lambda policies, readings, now: [],
}
