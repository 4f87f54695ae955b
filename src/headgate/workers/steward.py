"""Steward: does what the admin is asked for, with what the master and its workers can do."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from textwrap import dedent
from typing import TYPE_CHECKING, Any

from headgate.clock import SystemClock
from headgate.errors import HeadgateError, Problem, RulesError
from headgate.rules.documents.document import read
from headgate.rules.live.trial import Trial
from headgate.rules.model.table import spelled
from headgate.telemetry.reading import Reading

if TYPE_CHECKING:
    from headgate.workers.master import Master


class Steward:
    """Whom the admin of a master asks."""

    def __init__(self, master: Master) -> None:
        self._master = master
        self._clock = SystemClock()
        # One rule is tried after another: what was said last holds.
        self._trying = asyncio.Lock()

    @property
    def healthy(self) -> bool:
        """Whether requests are served, and will be."""
        return self._master.healthy

    async def status(self) -> dict[str, Any]:
        """What all workers have to tell."""
        return await self._master.status()

    async def reading(self) -> Reading:
        """What all workers see, as if they were one."""
        return await self._master.reading()

    async def reload(self) -> tuple[str, ...]:
        """Have all workers read the rules again; what is wrong with them."""
        return await self._master.reload()

    def drain(self) -> None:
        """Begin to finish what is under way, and then end."""
        self._master.drain()

    async def order(self, order: str, **terms: Any) -> dict[str, Any]:
        """Have all workers do something about a rule; what they say, or what is the `problem`."""
        said = await self._master.crew.oblige(order, **terms)
        if not said:
            return {"problem": "no worker answers"}
        wrong = [one for one in said if "problem" in one]
        own = self._master.store.startswith("memory:")
        return wrong[0] if wrong else tightest(said, own)

    async def attempt(self, said: dict[str, Any]) -> tuple[str, ...]:
        """Try a rule in shadow, or none any more; what is wrong with it, all of it."""
        rule, moment = said.get("rule"), self._clock.now()
        try:
            if "text" in said:
                rule = written(said["text"])
            over = rule is None and "text" not in said
            trial = None if over else {"rule": checked(rule, moment), "since": moment}
        except RulesError as problem:
            return tuple(str(one) for one in problem.problems)
        async with self._trying:
            return tuple(dict.fromkeys(await self._master.crew.attempt(trial)))

    def listed(self) -> list[dict[str, Any]]:
        """The rules in force, as a rule file says them."""
        return [{"name": one.name, "rule": spelled(one)} for one in self._master.rules.rules]


def written(text: Any) -> Any:
    """The rule that a text in YAML says, or in JSON."""
    if not isinstance(text, str):
        raise RulesError((Problem("a rule is a text in YAML, or an object of JSON"),))
    stripped = text.lstrip()
    if stripped.startswith("- "):
        # As it stands in a file, where it is one of a list.
        text = dedent(f"  {stripped[2:]}")
    try:
        return read(text, "yaml").data
    except HeadgateError as problem:
        if isinstance(problem, RulesError):
            raise
        raise RulesError((Problem(str(problem)),)) from None


def checked(rule: Any, moment: int) -> dict[str, Any]:
    """The rule, if it is one; raises `RulesError` with all that is wrong with it."""
    if not isinstance(rule, dict):
        raise RulesError(
            (Problem("lacks a rule; write for example limit: 20/s and key: client.ip"),)
        )
    return Trial(rule, moment).said


# Of a breaker, the worst last.
STATES = ("", "closed", "metrics_only", "forced_closed", "half_open", "open", "forced_open")


def tightest(said: Sequence[dict[str, Any]], own: bool) -> dict[str, Any]:
    """Of what workers say, that of the one where least is left; `own` if each has its own."""

    def left(one: dict[str, Any]) -> float:
        return min((each["remaining"] / max(1, each["limit"]) for each in one["limits"]), default=1)

    least: dict[str, Any] = min(said, key=left)
    found = {**least}
    places = [one["places"] for one in said if one["places"] is not None]
    if places:
        found["places"] = {
            "limit": sum(one["limit"] for one in places) if own else places[0]["limit"],
            "inside": (sum if own else max)(one["inside"] for one in places),
            "waiting": sum(one["waiting"] for one in places),
        }
    # Each has breakers of its own, wherever they count.
    found["breaker"] = max((one["breaker"] for one in said), key=STATES.index)
    return {**found, "workers": len(said), "own": own and len(said) > 1}
