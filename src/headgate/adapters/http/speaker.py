"""Speaker: how a policy stands that is alone, said the short way.

Most requests meet one rule with one limit. Whatever can be known of its headers before a request
comes is worked out once; what is said is what `Headers.render` says.
"""

from __future__ import annotations

from collections.abc import Callable

from headgate.adapters.http.dialects import SHORT, Fields, Headers, Policy
from headgate.adapters.http.fields import MOST
from headgate.decision import Decision

MILLION = 1_000_000
# As `Decision.why` has it.
NEVER = 2
FAR = 1 << 62

Say = Callable[[Decision], Fields]
# The fields of one dialect: from what is left, the seconds, and the moment they end.
Write = Callable[[int, int, int], Fields]


def speaker(policy: Policy, pace: float, headers: Headers, clock: Callable[[], int]) -> Say:
    """Says how a policy stands; a unit takes `pace` seconds, infinite if it comes with the rest."""
    one = Speaker(policy, pace, headers.safety)
    if headers.newest:
        return one.say
    writers = [writer(policy, dialect, headers.dialects) for dialect in headers.dialects]

    def say(decision: Decision) -> Fields:
        left, seconds, reset = one.read(decision)
        moment = -(-(clock() + reset) // MILLION)
        return [field for write in writers for field in write(left, seconds, moment)]

    return say


class Speaker:
    """Says in the newest dialect how a policy stands."""

    __slots__ = ("line", "pace", "scale", "timed", "timeless", "window")

    def __init__(self, policy: Policy, pace: float, safety: float) -> None:
        self.line = (b"ratelimit-policy", policy.item)
        self.timed = policy.timed
        self.timeless = policy.timeless
        self.pace = FAR if pace * MILLION >= FAR else round(pace * MILLION)
        self.window = policy.window
        # In a long window what is left has to last, for so long that nobody is too fast.
        self.scale = safety * policy.quota if policy.window > SHORT else 0.0

    def say(self, decision: Decision) -> Fields:
        """The fields to send."""
        left, seconds, _ = self.read(decision)
        if seconds < 0:
            return [self.line, (b"ratelimit", self.timeless % left)]
        return [self.line, (b"ratelimit", self.timed % (left, seconds))]

    def read(self, decision: Decision) -> tuple[int, int, int]:
        """What is left, for how many seconds, and for how many microseconds; -1 for ever."""
        left = decision.remaining
        reset = decision.reset
        if not decision.allowed:
            reset = decision.retry
            if decision.why == NEVER:
                return max(0, left), -1, 0
        elif left <= 0 and self.pace < reset:
            # Nothing is left, but in the time that one unit takes there is one more.
            reset = self.pace
        left = min(max(0, left), MOST)
        seconds = (reset + MILLION - 1) // MILLION
        if left > 1 and seconds > 0 and self.scale > 0.0:
            least = min(left * self.window / self.scale, self.window)
            if seconds < least:
                seconds = int(least)
                seconds = seconds + 1 if seconds < least else seconds
                reset = seconds * MILLION
        return left, seconds, reset


def writer(policy: Policy, dialect: str, dialects: tuple[str, ...]) -> Write:
    """Writes the fields of one dialect, beside the others that are spoken."""
    if dialect == "draft-11":
        line, timed, timeless = (b"ratelimit-policy", policy.item), policy.timed, policy.timeless
        return lambda left, seconds, _: [
            line,
            (b"ratelimit", timeless % left if seconds < 0 else timed % (left, seconds)),
        ]
    if dialect == "none":
        return lambda *_: []
    if dialect != "draft-06":
        return triple(policy, b"x-ratelimit", [], dialect == "x-epoch")
    said = b"%d;w=%d" % (min(policy.quota, MOST), policy.seconds)
    shown = policy.seconds > 0 and "draft-11" not in dialects
    return triple(policy, b"ratelimit", [(b"ratelimit-policy", said)] if shown else [], False)


def triple(policy: Policy, name: bytes, rest: Fields, epoch: bool) -> Write:
    """Writes limit, remaining and reset, and what else there is; no numbers without an end."""
    limit = (name + b"-limit", b"%d" % min(policy.quota, MOST))
    remaining, reset = name + b"-remaining", name + b"-reset"

    def write(left: int, seconds: int, moment: int) -> Fields:
        if seconds < 0:
            return rest
        end = moment if epoch else seconds
        return [limit, (remaining, b"%d" % left), (reset, b"%d" % end), *rest]

    return write
