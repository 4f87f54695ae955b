"""Trial: your own rules, tried in virtual time. What the pytest fixture `headgate_rules` gives.

    def test_five_logins_a_minute(headgate_rules):
        trial = headgate_rules("rules.yaml")
        trial.assert_admits(5, "POST /login", client="203.0.113.7")
        trial.advance(60)
        trial.assert_admits(5, "POST /login", client="203.0.113.7")

Nothing is sent anywhere and nobody waits: the clock is moved by hand, what is counted is kept in
memory, and rules decide as they do in front of an app.
"""

from __future__ import annotations

from math import inf
from typing import Any

from headgate.clock import ManualClock
from headgate.rules.live.entry import Entry
from headgate.rules.live.gatekeeper import Gatekeeper
from headgate.rules.live.lodge import Source
from headgate.rules.matching.request import Request

# More than this is taken to be without end.
MOST = 10_000


class Trial:
    """Rules and a clock to try them with."""

    def __init__(self, rules: Source) -> None:
        self.clock = ManualClock()
        self.keeper = Gatekeeper(rules, "memory://", self.clock)

    def send(self, line: str, status: int = 200, **facts: Any) -> Entry:
        """Send `"POST /login?next=/home"` and have it answered with `status`; what became of it.

        Facts are those of `Request`: `client`, `user`, `plan`, `host`, `headers` ...
        """
        entry = self.hold(line, **facts)
        if entry:
            self.keeper.leave(entry, status)
        return entry

    def hold(self, line: str, **facts: Any) -> Entry:
        """`send` without an answer: whoever is let in stays inside until `leave`."""
        return self.keeper.enter(request(line, facts))

    def leave(self, entry: Entry, status: int = 200) -> None:
        """Answer a request that was held."""
        self.keeper.leave(entry, status)

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.clock.advance(seconds)

    def admitted(self, line: str, within: float = 0.0, status: int = 200, **facts: Any) -> int:
        """How many get in that come as soon as they may for `within` seconds, which then are over.

        Whoever is refused comes back at the moment it was told to.
        """
        end = self.clock.now() / 1e6 + within
        count = 0
        while count < MOST:
            entry = self.send(line, status, **facts)
            if entry:
                count += 1
                continue
            wait = entry.refusal.retry_after if entry.refusal is not None else inf
            if wait <= 0.0 or self.clock.now() / 1e6 + wait > end:
                break
            self.clock.advance(wait)
        self.clock.set(max(end, self.clock.now() / 1e6))
        return count

    def assert_admits(
        self, units: float, line: str, within: float = 0.0, status: int = 200, **facts: Any
    ) -> None:
        """Fail unless exactly so many get in; `inf` if there is to be no end of them."""
        found = self.admitted(line, within, status, **facts)
        if found != units and not (units == inf and found >= MOST):
            span = f" within {within:g} s" if within else " at once"
            said = "no end of them" if found >= MOST else f"{found}"
            raise AssertionError(f"{line}: {said} got in{span}, not {units:g}")

    def assert_refused(self, rule: str, line: str, **facts: Any) -> None:
        """Fail unless it is refused, and by this rule."""
        entry = self.send(line, **facts)
        if entry.rule != rule:
            by = f"was refused by {entry.rule}" if entry.rule else "got in"
            raise AssertionError(f"{line}: {by}, where {rule} was to refuse it")

    def __repr__(self) -> str:
        return f"<Trial: {self.keeper!r} at {self.clock.now() / 1e6:g} s>"


def request(line: str, facts: dict[str, Any]) -> Request:
    """The request that a line such as `GET /search?q=1` begins."""
    method, _, target = line.partition(" ")
    if not target.startswith("/"):
        raise ValueError(f'a request is a line such as "GET /search?q=1", not {line!r}')
    path, _, query = target.partition("?")
    return Request(method, path, query=query, **facts)
