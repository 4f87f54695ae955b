"""A ledger over the API: each verb is a question about one rule, on one connection."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

from headgate import Decision
from headgate.clock import microseconds
from headgate.stores.store import FAR
from tests.service.http.staging import posted, told
from tests.service.spelling import spelled

if TYPE_CHECKING:
    from headgate import Limit
    from tests.gateway.talking import Answer, Talk
    from tests.service.http.staging import HttpServiceHost as Stage

VERDICT = {True: 200, False: 429}


def rule(name: str, limits: tuple[Limit, ...]) -> dict[str, Any]:
    """A rule that counts each key by these limits."""
    return {"name": name, "key": "header.x-user", "empty_key": "share", "limit": spelled(limits)}


class Asked:
    """The limits of `rule`, asked of a service over `talk`; its clock is set before each."""

    def __init__(self, stage: Stage, talk: Talk, rule: str, limits: tuple[Limit, ...]) -> None:
        self.clock = stage.clock
        self.talk = talk
        self.rule = rule
        # The names under which a rule tells of limits that have none of their own.
        several = len(limits) > 1
        self.limits = {
            limit.options.get("name") or (f"{rule}:{number}" if several else rule): limit
            for number, limit in enumerate(limits, 1)
        }
        self.tickets: dict[tuple[str, int, int], str] = {}

    def take(self, key: str, cost: int, now: int, patience: int) -> Decision:
        if patience == 0:
            return self.judged(self.ask("take", now, key, cost=cost))
        answer = self.ask("reserve", now, key, cost=cost, timeout=patience / 1e6)
        decision = self.judged(answer)
        if decision:
            said = told(answer)
            assert said["wait"] == said["retry_after"]
            due = now + microseconds(decision.retry_after)
            self.tickets[key, cost, due] = said["id"]
        return decision

    def peek(self, key: str, cost: int, now: int) -> Decision:
        return self.judged(self.ask("peek", now, key, cost=cost))

    def charge(self, key: str, cost: int, now: int, due: int) -> Decision:
        if due != FAR:
            ticket = self.tickets.pop((key, -cost, due))
            return self.done(self.say("cancel", now, {"id": ticket}))
        return self.done(self.ask("refund" if cost < 0 else "debit", now, key, cost=abs(cost)))

    def forget(self, key: str) -> None:
        answer = self.say("reset", None, {"rule": self.rule, "key": key})
        assert (answer.status, answer.body) == (204, b"")

    def ask(self, verb: str, now: int, key: str, **more: Any) -> Answer:
        return self.say(verb, now, {"rule": self.rule, "key": key, **more})

    def say(self, verb: str, now: int | None, said: dict[str, Any]) -> Answer:
        if now is not None:
            self.clock.set(now / 1e6)
        self.talk.send(posted(f"/v1/{verb}", said))
        answer = self.talk.hear("POST")
        assert answer is not None
        return answer

    def judged(self, answer: Answer) -> Decision:
        """A decision whose status says the same."""
        decision = self.heard(answer)
        assert answer.status == VERDICT[decision.allowed]
        return decision

    def done(self, answer: Answer) -> Decision:
        """How a key stands after what is never refused."""
        assert answer.status == 200
        return self.heard(answer)

    def heard(self, answer: Answer) -> Decision:
        """What was said, every word of it."""
        said = told(answer)
        limit = self.limits[said["rule"]]
        retry = inf if said["retry_after"] is None else said["retry_after"]
        decision = Decision(
            said["allowed"], limit.limit, said["remaining"], retry, said["reset_after"], limit.name
        )
        assert (said["limit"], said["degraded"]) == (limit.limit, False)
        assert said["reason"] == decision.reason
        return decision

    def take_many(self, keys: Any, cost: int, now: int) -> list[Decision]:
        return [self.take(key, cost, now, 0) for key in keys]
