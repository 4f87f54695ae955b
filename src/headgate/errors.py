"""What can go wrong, as one family.

    HeadgateError
    ├── Refused               the answer is no; `retry_after` says when to come back
    │   ├── LimitExceeded     too often; carries the decision
    │   │   └── CannotFit     more at once than there ever is; waiting will not help
    │   ├── BulkheadFull      too many at once
    │   ├── PacerFull         too many wait to leave, or one cannot leave in time
    │   ├── BreakerOpen       what one would call is failing
    │   ├── FundsExhausted    a request has spent its budget midway, and there is no more
    │   ├── PurseRefused      what a request brought of a budget does not count
    │   └── SystemBusy        the whole service is beyond what it can bear
    ├── StoreUnavailable      there is no answer: the store did not give one
    ├── StoreMismatch         two programs want one store in two ways (also a ValueError)
    ├── RateError             a rate is misspelled (also a ValueError)
    ├── LimitError            a limit cannot be kept exactly (also a ValueError)
    ├── RulesError            rules are wrong, each problem with its place (also a ValueError)
    └── MissingExtra          an optional dependency is absent (also an ImportError)

A no is a value: `take` returns a false `Decision`, and only those who asked to wait meet
`LimitExceeded`. All of them survive `pickle` and `copy`, so they may cross processes. No message
contains a key: keys are often names or addresses, and messages end in logs.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from headgate.decision import Decision

LONGEST_SHOWN = 100


class HeadgateError(Exception):
    """Catches everything that Headgate raises on purpose."""


class Refused(HeadgateError):
    """The answer is no, not now: in `retry_after` seconds it may be another one."""

    @property
    def retry_after(self) -> float:
        """In how many seconds to come back; 0 where that is not known."""
        return 0.0


class LimitExceeded(Refused):
    """The limit does not allow this now; `retry_after` says in how many seconds it will."""

    def __init__(self, decision: Decision, key: str = "") -> None:
        super().__init__(decision)
        self.decision = decision
        self.key = key

    @property
    def retry_after(self) -> float:
        """Seconds until the same request would be allowed; `inf` when it never will."""
        return self.decision.retry_after

    def __str__(self) -> str:
        if self.retry_after == inf:
            return f"over the limit {_limit(self.decision)}; waiting will not help"
        return f"over the limit {_limit(self.decision)}; try again in {_wait(self.retry_after)} s"


class CannotFit(LimitExceeded):
    """The request is larger than the limit ever allows at once, however long one waits."""

    def __str__(self) -> str:
        most = self.decision.limit
        advice = f"ask for at most {most}" if most > 0 else "it lets nothing in"
        return f"can never fit the limit {_limit(self.decision)}; {advice}"


class BulkheadFull(Refused):
    """All places are taken, and whoever asked would not wait, or not for so long.

    `reason` is `full` if it did not wait, `queue` if as many wait as may, `timeout` if its time was
    up. When a place will be free is not known, so `retry_after` is 0.
    """

    def __init__(self, name: str = "", limit: int = 0, reason: str = "full") -> None:
        super().__init__(name, limit, reason)
        self.name = name
        self.limit = limit
        self.reason = reason

    def __str__(self) -> str:
        named = f'the bulkhead "{self.name}"' if self.name else "the bulkhead"
        why = {
            "queue": "and so is its queue",
            "timeout": "and none became free in time",
        }.get(self.reason, "and nobody waits for one")
        return f"all {self.limit} places of {named} are taken, {why}"


class PacerFull(Refused):
    """The pacer does not let one go: too many wait already, or it would take too long.

    `reason` is `full` if as many wait as may, `timeout` if one could not leave in time.
    `retry_after` says when there will be a place in line, or how much longer it would have taken.
    """

    def __init__(
        self, name: str = "", size: float = inf, reason: str = "full", retry_after: float = 0.0
    ) -> None:
        super().__init__(name, size, reason, retry_after)
        self.name = name
        self.size = size
        self.reason = reason
        self._retry_after = retry_after

    @property
    def retry_after(self) -> float:
        """Seconds until another try could succeed, if nobody else comes meanwhile."""
        return self._retry_after

    def __str__(self) -> str:
        named = f'the pacer "{self.name}"' if self.name else "the pacer"
        full = f"has {self.size} in line, as many as may wait"
        why = "would let it go too late" if self.reason == "timeout" else full
        return f"{named} {why}; try again in {_wait(self.retry_after)} s"


class BreakerOpen(Refused):
    """The breaker lets nothing in, because what one would call is failing.

    Made by `BreakerOpen(name, retry_after)`. It has no constructor of its own: who meets an open
    breaker is refused thousands of times a second, and that would be a third of the cost.
    """

    @property
    def name(self) -> str:
        """The breaker's name, if it has one."""
        return self.args[0] if self.args else ""

    @property
    def retry_after(self) -> float:
        """Seconds until it lets a call try; `inf` while it is held open."""
        return self.args[1] if len(self.args) > 1 else 0.0

    def __str__(self) -> str:
        named = f'the breaker "{self.name}"' if self.name else "the breaker"
        if self.retry_after == inf:
            return f"{named} is held open"
        return f"{named} is open; try again in {_wait(self.retry_after)} s"


class FundsExhausted(Refused):
    """A request, done in part, has spent its budget: `cost` is what was next, `left` was there."""

    reason = "funds"

    def __init__(self, decision: Decision, cost: int = 0, left: int = 0) -> None:
        super().__init__(decision, cost, left)
        self.decision, self.cost, self.left = decision, cost, left

    @property
    def retry_after(self) -> float:
        """Seconds until there would be more, which says nothing of whether to begin again."""
        return self.decision.retry_after

    def __str__(self) -> str:
        return f"funds exhausted midway: {self.cost} needed, {self.left} left"


class PurseRefused(Refused):
    """The budget that a request brought is `missing`, `forged`, `expired` or `replayed`."""

    @property
    def reason(self) -> str:
        return str(self.args[0])

    def __str__(self) -> str:
        return f"the request's budget is {self.reason}"


class SystemBusy(Refused):
    """The whole service is beyond a bound: `reason` is which, `value` what it is, `bound` the most.

    `reason` is one of `cpu`, `memory`, `load`, `latency`, `inside` and `rate`.
    """

    def __init__(self, reason: str, value: float = 0.0, bound: float = 0.0) -> None:
        super().__init__(reason, value, bound)
        self.reason = reason
        self.value = value
        self.bound = bound

    def __str__(self) -> str:
        return f"the system is busy: {self.reason} is {self.value:.4g}, at most {self.bound:.4g}"


class StoreUnavailable(HeadgateError):
    """The store did not answer, so nobody knows whether the limit allows this.

    `kind` says why in a word: `timeout`, `connection`, `protocol`, `crowded`, or the first word of
    the server's own refusal in lower case, such as `oom`, `readonly`, `loading` or `noauth`.
    `unknown` says whether the request may have been counted all the same: it was sent, and the
    answer did not arrive.
    """

    def __init__(self, message: str, kind: str = "", unknown: bool = True) -> None:
        super().__init__(message, kind, unknown)
        self.kind = kind
        self.unknown = unknown

    def __str__(self) -> str:
        return str(self.args[0])


class StoreMismatch(HeadgateError, ValueError):
    """Other processes use the store with settings that this program does not share."""


class RateError(HeadgateError, ValueError):
    """A rate is misspelled: `problem` at `place` (counted from 0) of `text`, and a `hint`.

    The message counts columns from 1, as editors do.
    """

    def __init__(self, text: str, place: int, problem: str, hint: str) -> None:
        super().__init__(text, place, problem, hint)
        self.text = text
        self.place = place
        self.problem = problem
        self.hint = hint

    def __str__(self) -> str:
        shown = self.text if len(self.text) <= LONGEST_SHOWN else self.text[:40] + "..."
        message = f'rate "{shown}": {self.problem} at column {self.place + 1}; {self.hint}'
        # The text may come from anywhere: no control character of it may reach a terminal or a log.
        return message.encode("unicode_escape").decode("ascii")


class LimitError(HeadgateError, ValueError):
    """The limit is spelled well but cannot be kept exactly, for instance beyond 2**53."""


class Problem(NamedTuple):
    """One thing that is wrong with rules: where, and what would be right.

    `path` leads to it from the top, as in `("rules", 2, "limit")`; `line` and `column` count from
    1, and are 0 where the rules are no text. A warning leaves the rules as good as they are.
    """

    message: str
    path: tuple[str | int, ...] = ()
    file: str = ""
    line: int = 0
    column: int = 0
    warning: bool = False

    def __str__(self) -> str:
        place = f"{self.file or 'rules'}:{self.line}:{self.column}: " if self.line else ""
        if self.file and not self.line:
            place = f"{self.file}: "
        trail = spelled(self.path)
        said = f"{place}{trail}: {self.message}" if trail else f"{place}{self.message}"
        # What is quoted may come from anywhere: no control character of it may reach a terminal.
        return said if said.isprintable() else said.encode("unicode_escape").decode("ascii")


def spelled(path: tuple[str | int, ...]) -> str:
    """The way to a place as people write it: `rules[2].limit`."""
    said = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return said.removeprefix(".")


class RulesError(HeadgateError, ValueError):
    """Rules are wrong, and `problems` says in how many ways; nothing was changed by them."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__(problems)
        self.problems = problems

    def __str__(self) -> str:
        return "\n".join(map(str, self.problems))


class MissingExtra(HeadgateError, ImportError):
    """A feature needs the optional dependencies named `extra`, and they are not installed."""

    def __init__(self, extra: str) -> None:
        super().__init__(extra)
        self.extra = extra
        # ImportError prints `msg`, while `args` stays what the constructor takes, as pickle wants.
        self.msg = f'the extra "{extra}" is not installed; try pip install "headgate[{extra}]"'


def _limit(decision: Decision) -> str:
    return decision.rule or f"of {decision.limit}"


def _wait(seconds: float) -> str:
    """Spell `seconds` to the millisecond, rounded up so that who obeys is not refused again."""
    milliseconds = -(-round(seconds * 1_000_000) // 1000)
    return f"{milliseconds // 1000}.{milliseconds % 1000:03}"
