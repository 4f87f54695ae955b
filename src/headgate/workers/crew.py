"""Crew: the workers of a gateway. Each has a post, where another stands as soon as it falls."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Sequence
from typing import Any

from headgate.clock import Clock
from headgate.rules.model.rules import Rules
from headgate.rules.watch.sources import Text
from headgate.telemetry.reading import Reading, WorkerReading
from headgate.workers.doors import Door
from headgate.workers.hand import GREETING, Hand
from headgate.workers.legacy import Legacy
from headgate.workers.rulebook import Rulebook, spelled
from headgate.workers.summary import joined

logger = logging.getLogger("headgate.workers")

MILLION = 1_000_000
# Who falls within so many microseconds of being up has hardly served; a post waits longer each time
# for the next, in seconds.
BRIEF = 5 * MILLION
LONGEST = 10
# How long an answer is waited for, how long rules may take to be read, and how much longer than its
# grace a worker may take to end.
ANSWER = 4.0
READING = 15.0
SLACK = 2.0
# How often workers are asked for a sign of life, in seconds, and how often in a row one may owe it.
# Rounds are counted and not time: where all of the machine stands still, none goes by.
ROUND = 5.0
MISSED = 6


class Stillborn(Exception):
    """A worker ended before it was up; says why."""


class Post:
    """A worker's place: whoever stands there listens on its sockets."""

    def __init__(
        self, book: Rulebook, slot: int, lines: Sequence[Sequence[socket.socket]], clock: Clock
    ) -> None:
        self._book = book
        self._slot = slot
        self._lines = lines
        self._clock = clock
        self._closing = False
        self._task: asyncio.Task[None] | None = None
        self._brief = 0
        self._began = 0
        self.hand: Hand | None = None
        self.restarts = 0
        # Whether the last one could not even begin.
        self.failed = False

    @property
    def up(self) -> bool:
        """Whether somebody stands there and serves."""
        return self.hand is not None and self.hand.up

    async def man(self) -> None:
        """Have somebody stand there from now on; raises `Stillborn` if the first one cannot."""
        hand = await self._call()
        if not hand.up:
            status = await hand.serve()
            self.hand = None
            raise Stillborn(hand.reason or f"a worker ended with {status} before it was up")
        self._task = asyncio.create_task(self._hold(hand))

    async def status(self) -> dict[str, Any]:
        """Who stands there, and what there is to know of it, as far as it answers."""
        hand = self.hand
        if hand is None:
            return {"slot": self._slot, "up": False, "restarts": self.restarts}
        return {**await hand.ask("status", ANSWER), **self._card(hand)}

    async def reading(self) -> tuple[WorkerReading, dict[str, Any]]:
        """Who stands there, and what it sees; nothing, if it does not answer."""
        hand = self.hand
        found = {} if hand is None else await hand.ask("reading", ANSWER)
        card: Any = {"slot": self._slot, "pid": 0, "up": False, "start": 0.0, "connections": 0}
        card |= {"requests": 0, "restarts": self.restarts}
        if hand is not None:
            card |= {**found.get("workers", [{}])[0], **self._card(hand)}
        return card, found

    async def reload(self, said: list[str]) -> dict[str, Any]:
        """Have it go by a text: which version it goes by then, and what was the matter."""
        hand = self.hand
        if hand is None:
            return {}
        answer = await hand.ask("reload", READING, text=said)
        # Whoever takes the place of one that has ended goes by it anyway.
        silent = hand.up and not answer
        return {"problem": f"worker {hand.pid} did not answer"} if silent else answer

    async def oblige(self, order: str, terms: dict[str, Any]) -> dict[str, Any]:
        """Have it do something about a rule; what it says to that, if anybody is there."""
        return {} if self.hand is None else await self.hand.ask(order, ANSWER, terms=terms)

    def retire(self) -> None:
        """Have nobody stand there after this one."""
        self._closing = True

    async def drain(self, grace: float) -> None:
        """Have it finish what is under way, for at most so many seconds, and nobody after it."""
        await self._leave(grace + SLACK, "drain", grace=grace)

    async def stop(self) -> None:
        """Have it end at once, and nobody after it."""
        await self._leave(SLACK, "stop")

    def _card(self, hand: Hand) -> dict[str, Any]:
        # Who stands here, and since when.
        return {
            "slot": self._slot,
            "pid": hand.pid,
            "up": hand.up,
            "start": self._began / MILLION,
            "restarts": self.restarts,
        }

    async def _call(self) -> Hand:
        text, trial = self._book.text, self._book.trial
        hand = self.hand = await Hand.start(self._book, self._slot, self._lines)
        self.failed = not await hand.begin()
        # Not before: how long it took to start says nothing of how long it served.
        self._began = self._clock.now()
        if hand.up and text != self._book.text:
            # Others were asked meanwhile. Nobody waits for its answer.
            hand.tell("reload", id=GREETING, text=spelled(self._book.text))
        if hand.up and trial is not self._book.trial:
            hand.tell("trial", id=GREETING, terms={"trial": self._book.trial})
        return hand

    async def _hold(self, hand: Hand) -> None:
        while True:
            status = await hand.serve()
            self.hand = None
            if self._closing:
                return
            lived = self._clock.now() - self._began
            self._brief = self._brief + 1 if lived < BRIEF else 0
            pause = min(max(0, self._brief - 1), LONGEST)
            when = f"in {pause} s" if pause else "at once"
            said = f": {hand.reason}" if hand.reason else ""
            logger.error("worker %d ended with %d%s; replaced %s", hand.pid, status, said, when)
            await self._clock.asleep(pause)
            self.restarts += 1
            hand = await self._next()

    async def _next(self) -> Hand:
        while True:
            try:
                hand = await self._call()
            except OSError as problem:
                # The system may be short of processes or memory, but not for ever.
                logger.error("no worker can be started: %s", problem)  # noqa: TRY400 - no trace
                await self._clock.asleep(LONGEST)
                continue
            if hand.up:
                logger.info("worker %d is in its place, by the rules in force", hand.pid)
            return hand

    async def _leave(self, seconds: float, order: str, **terms: Any) -> None:
        # Who does not stand there yet, or is not gone in time, is not waited for.
        self.retire()
        if self._task is not None and self.hand is not None:
            self.hand.tell(order, **terms)
            await asyncio.wait([self._task], timeout=seconds)
        if self._task is not None and not self._task.done():
            self._task.cancel()
            await asyncio.wait([self._task])
        if self.hand is not None:
            await self.hand.end()
            self.hand = None


class Crew:
    """All workers of a gateway."""

    def __init__(self, book: Rulebook, doors: Sequence[Door], count: int, clock: Clock) -> None:
        self.posts = [
            Post(book, slot, [door.share(slot, count) for door in doors], clock)
            for slot in range(count)
        ]
        self._book = book
        self._clock = clock
        self._rounds: asyncio.Task[None] | None = None
        self._legacy = Legacy()

    @property
    def up(self) -> bool:
        """Whether anybody serves."""
        return any(post.up for post in self.posts)

    async def man(self) -> None:
        """Have all of them serve; raises `Stillborn`, and nobody is left, if one cannot."""
        starting = [asyncio.create_task(post.man()) for post in self.posts]
        try:
            await asyncio.gather(*starting)
        except BaseException:
            for task in starting:
                task.cancel()
            await asyncio.wait(starting)
            await self.stop()
            raise
        self._rounds = asyncio.create_task(self._walk())

    async def status(self) -> list[dict[str, Any]]:
        """What each has to tell."""
        return await asyncio.gather(*(post.status() for post in self.posts))

    async def reading(self, rules: Rules) -> Reading:
        """What all of them see under these rules, and what those have counted that are gone."""
        found = await asyncio.gather(*(post.reading() for post in self.posts))
        one = joined(found, self._book.orders.serves, rules, self._clock.now())
        return self._legacy.amend(one, found, self._book.board)

    async def oblige(self, order: str, **terms: Any) -> list[dict[str, Any]]:
        """Have all do something about a rule; what those say who are there."""
        several = (post.oblige(order, terms) for post in self.posts)
        return [one for one in await asyncio.gather(*several) if one]

    async def attempt(self, trial: dict[str, Any] | None) -> list[str]:
        """Have all try a rule, also those who come later; or what keeps them from it."""
        before, self._book.trial = self._book.trial, trial
        said = await self.oblige("trial", trial=trial)
        problems = [one["problem"] for one in said if one.get("problem")]
        if problems:
            self._book.trial = before
            await self.oblige("trial", trial=before)
        return problems

    async def reload(self, text: Text) -> list[dict[str, Any]]:
        """Have all go by this text; what each says to that, if it says anything.

        Whoever comes later goes by it, too, unless it was refused and nobody took it.
        """
        before, self._book.text = self._book.text, text
        plain = spelled(text)
        asked = await asyncio.gather(*(post.reload(plain) for post in self.posts))
        said = [one for one in asked if one]
        if said and all(one["problem"] for one in said) and self._book.text is text:
            self._book.text = before
        return said

    def reopen(self) -> None:
        """Have all begin their files anew, also those who are about to be up."""
        for hand in self._hands:
            hand.tell("reopen")

    def retire(self) -> None:
        """Replace nobody any more."""
        for post in self.posts:
            post.retire()

    async def drain(self, grace: float) -> None:
        """Have all finish what is under way, for at most so many seconds."""
        await asyncio.gather(*(post.drain(grace) for post in self.posts))
        self._rest()

    async def stop(self) -> None:
        """Have all end at once."""
        await asyncio.gather(*(post.stop() for post in self.posts))
        self._rest()

    async def _walk(self) -> None:
        while True:
            await self._clock.asleep(ROUND)
            self._visit()
            if self._book.orders.watch and not self.up and any(post.failed for post in self.posts):
                # Nobody can begin by what was in force, so nobody is there to find what is better.
                await self._book.look()

    def _visit(self) -> None:
        # Who owes too many signs of life is killed, and then replaced as if it had fallen.
        for hand in self._hands:
            if hand.up and hand.silent < MISSED:
                hand.greet()
            elif hand.up:
                silence = MISSED * ROUND
                logger.error("worker %d has not answered for %g s and is killed", hand.pid, silence)
                hand.kill()

    @property
    def _hands(self) -> list[Hand]:
        return [post.hand for post in self.posts if post.hand is not None]

    def _rest(self) -> None:
        if self._rounds is not None:
            self._rounds.cancel()
        self._book.close()
