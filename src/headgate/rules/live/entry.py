"""Entry: what became of one request: which rules it met, what each decided, and what it holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from headgate.decision import Decision
from headgate.rules.live.larder import LARGEST, Provision
from headgate.rules.live.pieces import piece

if TYPE_CHECKING:
    from headgate import _cython as cython
else:
    try:
        import cython
    except ImportError:
        from headgate import _cython as cython

# How long to stay away where nobody knows how long it takes.
SOON = 1.0


class Cause(NamedTuple):
    """What had no room: `places`, `adaptive`, `queue` or `breaker`, why not, and its bound."""

    what: str
    reason: str
    bound: int = 0


class Refusal:
    """A no, and all that an answer tells of it.

    `kind` is `limit` (too much), `capacity` (not now), `denied`, `key` (nobody to count) or
    `unavailable` (the store could not be asked). `status` is the rule's own, 0 if it has none.
    `cause` is what had no room, where it is not a limit; no answer tells of it.
    """

    __slots__ = ("cause", "kind", "policy", "retry_after", "rule", "status")

    def __init__(
        self,
        kind: str,
        rule: Any,
        status: int = 0,
        retry_after: float = 0.0,
        policy: str = "",
        cause: Cause | None = None,
    ) -> None:
        self.cause = cause
        self.kind = kind
        self.rule = rule
        self.status = status
        self.retry_after = retry_after
        self.policy = policy

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Refusal) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash(self._parts())

    def __repr__(self) -> str:
        return f"Refusal{self._parts()!r}"

    def _parts(self) -> tuple[object, ...]:
        return self.kind, self.rule, self.status, self.retry_after, self.policy


@cython.final
@cython.freelist(64)
@cython.cclass
class Pass:
    """What one rule decided about one request, and what undoes it."""

    __slots__ = ("booking", "cost", "decision", "key", "lane", "ruling")

    def __init__(
        self, ruling: Any, lane: Any, key: str, cost: int, decision: Decision, booking: Any
    ) -> None:
        self.fill(ruling, lane, key, cost, decision, booking)

    def fill(
        self, ruling: Any, lane: Any, key: str, cost: int, decision: Decision, booking: Any
    ) -> None:
        # The fast way to make one, as that of a decision.
        self.ruling = ruling
        self.lane = lane
        self.key = key
        self.cost = cost
        self.decision = decision
        self.booking = booking


@cython.final
@cython.freelist(64)
@cython.cclass
class Entry:
    """What became of a request; true if it may go in.

    `version` names the rules it was decided by, `rule` the one that refused it. `shadowed` are the
    rules that would have refused it if they were enforced. Where it is not `idle`, whoever is given
    an entry says how it ended, through the gatekeeper's `leave`.
    """

    __slots__ = (
        "bandwidth", "body", "calls", "complete", "owing", "passes", "places", "refusal", "request",
        "shadowed", "slots", "spare", "stocked", "version", "waited",
    )  # fmt: skip

    passes: Sequence[Pass]
    refusal: Refusal | None
    shadowed: Sequence[Any]
    slots: Sequence[Any]
    calls: Sequence[Any]
    places: Sequence[tuple[Any, Any, str]]
    bandwidth: Sequence[tuple[Any, str]]
    waited: float
    owing: bool
    # Who may want the answer again, and what was sent of it so far; and what is given instead.
    stocked: Sequence[Any]
    body: bytearray | None
    complete: bool
    spare: Provision | None

    def __init__(self, version: str, request: Any = None) -> None:
        self.fill(version, request)

    def fill(self, version: str, request: Any) -> None:
        # The fast way to make one, as that of a decision.
        self.version = version
        self.request = request
        self.refusal = None
        self.waited = 0.0
        self.owing = self.complete = False
        self.body = self.spare = None
        self.passes = self.shadowed = self.slots = self.calls = self.places = self.bandwidth = ()
        self.stocked = ()

    @property
    def rule(self) -> str:
        """The name of the rule that refused, or the empty string."""
        return "" if self.refusal is None else str(self.refusal.rule.name)

    @property
    def decisions(self) -> dict[str, Decision]:
        """What each rule that counts decided, by its name."""
        return {one.ruling.rule.name: one.decision for one in self.passes}

    @property
    def piece(self) -> int:
        """How many bytes of the answer to send at a time, so that they flow evenly."""
        return piece(self.bandwidth)

    def send(self, part: bytes) -> None:
        """Take note of a part of the answer, if somebody may want all of it again.

        Whoever has sent the last one says that it is `complete`.
        """
        body = self.body
        if body is not None and len(body) <= LARGEST:
            body += part

    @property
    def idle(self) -> bool:
        """Whether nothing is left to do when the request is answered."""
        return not self.owing

    def __bool__(self) -> bool:
        return self.refusal is None

    def __repr__(self) -> str:
        said = "allowed" if self else f"refused by {self.rule!r}"
        return f"<Entry: {said}, rules {self.version}>"
