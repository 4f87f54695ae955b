"""Speaker: how a policy stands that is alone, said the short way.

Most requests meet one rule with one limit. Whatever can be known of its headers before a request
comes is worked out once; what is said is what `Headers.render` says.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from headgate.adapters.http.dialects import SHORT, Fields, Headers, Policy
from headgate.adapters.http.fields import MOST
from headgate.decision import Decision

if TYPE_CHECKING:
    from headgate import _cython as cython
else:
    try:
        import cython
    except ImportError:
        from headgate import _cython as cython

if cython.compiled:
    from cython.cimports.headgate.adapters.http.quill import write

MILLION = 1_000_000
# As `Decision.why` has it.
NEVER = 2
FAR = 1 << 62
# As C numbers when compiled.
LARGEST = MOST

# The fields of one dialect: from what is left, the seconds, and the moment they end.
Write = Callable[[int, int, int], Fields]


class Speaker:
    """Says how a policy stands; a unit takes `pace` seconds, infinite if it comes with the rest."""

    __slots__ = ("clock", "line", "newest", "opening", "pace", "scale", "window", "writers")

    def __init__(
        self, policy: Policy, pace: float, headers: Headers, clock: Callable[[], int]
    ) -> None:
        self.line = (b"ratelimit-policy", policy.item)
        # As far as the number of what is left.
        self.opening = (policy.timeless % 0).removesuffix(b"0")
        self.pace = FAR if pace * MILLION >= FAR else round(pace * MILLION)
        self.window = policy.window
        # In a long window what is left has to last, for so long that nobody is too fast.
        self.scale = headers.safety * policy.quota if policy.window > SHORT else 0.0
        self.newest = headers.newest
        self.writers = [writer(policy, dialect, headers.dialects) for dialect in headers.dialects]
        self.clock = clock

    def say(self, decision: Decision) -> Fields:
        """The fields to send."""
        left = min(max(0, decision.remaining), LARGEST)
        due = self.due(decision, left)
        seconds = self.last(left, due)
        if not self.newest:
            return self.translate(left, seconds, due)
        if cython.compiled:
            return [self.line, (b"ratelimit", write(self.opening, left, seconds))]
        if seconds < 0:
            return [self.line, (b"ratelimit", b"%b%d" % (self.opening, left))]
        return [self.line, (b"ratelimit", b"%b%d;t=%d" % (self.opening, left, seconds))]

    def due(self, decision: Decision, left: int) -> int:
        """Microseconds until there is more; -1 if there never is."""
        if not decision.allowed:
            return -1 if decision.why == NEVER else decision.retry
        if left <= 0 and self.pace < decision.reset:
            # Nothing is left, but in the time that one unit takes there is one more.
            return self.pace
        return decision.reset

    def last(self, left: int, due: int) -> int:
        """The seconds that what is left has to last; -1 if there is no end."""
        if due < 0:
            return -1
        seconds = (due + MILLION - 1) // MILLION
        if left > 1 and seconds > 0 and self.scale > 0.0:
            least = min(left * self.window / self.scale, self.window)
            if seconds < least:
                seconds = int(least)
                seconds = seconds + 1 if seconds < least else seconds
        return seconds

    def translate(self, left: int, seconds: int, due: int) -> Fields:
        """The fields in each of several dialects, or in an older one."""
        # What has to last longer than until there is more ends with a whole second.
        ends = due if due > (seconds - 1) * MILLION else seconds * MILLION
        moment = -(-(self.clock() + max(0, ends)) // MILLION)
        return [field for write in self.writers for field in write(left, seconds, moment)]


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
