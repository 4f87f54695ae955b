"""Decision: the answer to one question, true when allowed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headgate import _cython as cython
else:
    try:
        import cython
    except ImportError:
        from headgate import _cython as cython

# Written as numbers because compiled code keeps them in C; `reason` gives them words.
ALLOWED = 0
OVER = 1
NEVER = 2
UNKNOWN = 3
REASONS = ("", "limit", "never", "unavailable")
ENDLESS = (1 << 53) - 1


@cython.final
@cython.freelist(64)
@cython.no_gc
@cython.cclass
class Decision:
    """Whether the request may go in, how much is left, and when to come back.

    A decision is true when allowed. Times are seconds. `remaining` and `limit` are those of the
    tightest limit asked; `rule` names it, and where the answer is no, it is the one that refused.
    """

    __slots__ = ("allowed", "degraded", "limit", "remaining", "reset", "retry", "source", "why")

    allowed: bool
    degraded: bool
    limit: int
    remaining: int
    retry: int
    reset: int
    why: int
    source: object

    def __init__(
        self,
        allowed: bool,
        limit: int = ENDLESS,
        remaining: int = ENDLESS,
        retry_after: float = 0.0,
        reset_after: float = 0.0,
        rule: str = "",
        degraded: bool = False,
        reason: str = "",
    ) -> None:
        never = retry_after == float("inf")
        self.allowed = allowed
        self.degraded = degraded
        self.limit = limit
        self.remaining = remaining
        self.retry = 0 if never else round(retry_after * 1_000_000)
        self.reset = round(reset_after * 1_000_000)
        self.why = ALLOWED if allowed else (NEVER if never else OVER)
        if reason == "unavailable":
            self.why = UNKNOWN
        self.source = rule

    def fill(
        self, why: int, limit: int, remaining: int, retry: int, reset: int, source: object
    ) -> None:
        # The fast way to make one: `Decision.__new__`, then this, all of it in C when compiled.
        self.allowed = why == 0
        self.degraded = False
        self.limit = limit
        self.remaining = remaining
        self.retry = retry
        self.reset = reset
        self.why = why
        self.source = source

    def __bool__(self) -> bool:
        return self.allowed

    @property
    def retry_after(self) -> float:
        """Seconds until the same request would go in; 0.0 if it did, infinite if it never will.

        For a reservation that was granted: seconds until it may act.
        """
        if self.why == NEVER:
            return float("inf")
        return self.retry / 1e6

    @property
    def reset_after(self) -> float:
        """Seconds until the key is as if it had never been used, if it keeps quiet."""
        return self.reset / 1e6

    @property
    def reason(self) -> str:
        """Empty when allowed; `limit` when it was too much; `never` when it can never fit;
        `unavailable` when the store could not be asked and the answer is no therefore.
        """
        return REASONS[self.why]

    @property
    def rule(self) -> str:
        """The name of the limit that refused, or, where allowed, of the tightest one."""
        return "" if self.source is None else str(self.source)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Decision):
            return NotImplemented
        return self._fields() == other._fields()

    def __hash__(self) -> int:
        return hash(self._fields())

    def _fields(self) -> tuple[object, ...]:
        return (
            self.allowed,
            self.limit,
            self.remaining,
            self.retry_after,
            self.reset_after,
            self.rule,
            self.degraded,
            self.reason,
        )

    def __repr__(self) -> str:
        words = ("allowed", "limit", "remaining", "retry_after", "reset_after", "rule", "degraded")
        said = zip(words, self._fields(), strict=False)
        return f"Decision({', '.join(f'{word}={value!r}' for word, value in said)})"

    def __reduce__(self) -> tuple[object, ...]:
        return (Decision, self._fields())
