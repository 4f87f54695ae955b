"""Errand: a question on its way to a server, and who waits for the answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from headgate.errors import StoreUnavailable
from headgate.stores.redis.wire import DECISION, NONCE, Question, again, bulk

Future = asyncio.Future[Any]

# How many that ask the same go together.
TOGETHER = 32
TIMES = [bulk(b"%d" % often) for often in range(TOGETHER + 1)]


class Errand:
    """A question on its way, who waits for it, and what makes an answer of the reply.

    Without a question it is a plain command. `nonce` and `time` are the line's: what the reply has
    to begin with, and when it was asked; so is `spot`, where it stands among what is to be sent.
    `riders` ask the same and travel with it.
    """

    __slots__ = ("future", "nonce", "question", "read", "riders", "spot", "time")

    riders: list[Errand] | None

    def __init__(
        self, question: Question | None, future: Future, read: Callable[[bytes], Any] | None
    ) -> None:
        self.question = question
        self.future = future
        self.read = read
        self.nonce = b""
        self.time = self.spot = 0
        self.riders = None

    def join(self, other: Errand, out: list[bytes], time: int) -> bool:
        """Take another along in what is to be sent, if it asks the same; not if it is too many."""
        if self.time != time:
            # Who has waited for the connection has less time left.
            return False
        mine, question = self.question, other.question
        if mine is None or question is None or self.read is None or not question.joint:
            return False
        if mine.rest != question.rest or mine.quick != question.quick:
            return False
        if self.riders is None:
            self.riders = []
            out[self.spot] = question.joint
        elif len(self.riders) >= TOGETHER - 1:
            return False
        self.riders.append(other)
        out[self.spot + 2] = question.along + TIMES[len(self.riders) + 1]
        other.time = time
        return True

    def all(self) -> list[Errand]:
        """It, and those that travel with it."""
        return [self] if self.riders is None else [self, *self.riders]


def part(reply: Any, number: int) -> Any:
    """What a reply says to one of those that travelled together; a refusal says it to all."""
    if number == 0 or type(reply) is not bytes:
        return reply
    said: bytes = reply
    # Nobody reads what stands in the place of the nonce.
    return said[number * DECISION : number * DECISION + NONCE + DECISION]


def fail(errand: Errand, problem: StoreUnavailable) -> None:
    """Tell whoever waits; who was cancelled or has gone does not ask what became of it."""
    if not errand.future.done():
        errand.future.set_exception(again(problem))
        errand.future.exception()
