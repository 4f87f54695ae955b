"""Admin: where one sees how the gateway is, and has it do what there is to do, over HTTP.

    GET  /           the live page, and its files; these five need no token
    GET  /health     200, or 503 while nobody serves
    GET  /session    whether the page is known
    POST /login      a form with the token; the page that sends it has a cookie from then on
    POST /logout     it has none any more

    GET  /status     what all workers have counted
    GET  /reading    the same and more, as the page has it once a second
    GET  /metrics    that, as Prometheus reads it
    GET  /events     that, as a stream of events
    GET  /rules      the rules in force, one by one, as a file says them
    POST /reload     the rules are read again; 422 tells what is wrong with them
    POST /peek       how a key stands with a rule; nothing is spent
    POST /reset      it is as if the key had never been seen
    POST /trial      a rule is tried in shadow, beside those in force; without one, no longer
    POST /simulate   what algorithms would make of the same traffic
    POST /drain      what is under way is finished, and then the gateway ends

It listens on this machine alone. That keeps other machines out, and not the pages that somebody
here looks at with a browser: so a request has to name this machine by a name that nobody looks up,
and one that changes something must not come from a page, but from the one that stands here.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Protocol

from headgate.clock import SystemClock
from headgate.dashboard import shelf, simulation
from headgate.errors import MissingExtra
from headgate.rules.model.kinds import shown
from headgate.telemetry.prometheus import TYPE, exposition
from headgate.telemetry.reading import Reading
from headgate.workers.doors import Door
from headgate.workers.feed import Feed
from headgate.workers.letters import GUARDED, UNKEPT, Letter, told, written
from headgate.workers.porter import Porter
from headgate.workers.question import Question, Unclear

logger = logging.getLogger("headgate.workers")

# How long a request may take to come in, and how many may be under way.
PATIENCE = 5.0
MOST = 32
# How often pages are told how it stands.
PACE = 1.0
FULL = (("retry-after", "5"),)

Deed = Callable[[Question], Awaitable[Letter]]


class Office(Protocol):
    """Whom the admin asks."""

    @property
    def healthy(self) -> bool:
        """Whether requests are served, and will be."""

    async def status(self) -> dict[str, Any]:
        """What there is to know."""

    async def reading(self) -> Reading:
        """What there is to see."""

    async def reload(self) -> tuple[str, ...]:
        """Read the rules again; what is wrong with them."""

    async def order(self, order: str, **terms: Any) -> dict[str, Any]:
        """Have all workers do something about a rule; what they say, or what is the `problem`."""

    async def attempt(self, said: Any) -> tuple[str, ...]:
        """Try a rule in shadow, or none; what is wrong with it."""

    def listed(self) -> list[dict[str, Any]]:
        """The rules in force."""

    def drain(self) -> None:
        """Begin to finish."""


class Admin:
    """Answers at a door to whoever has the token, which may be another from now on."""

    def __init__(self, door: Door, token: str, office: Office) -> None:
        self.door = door
        self.feed = Feed()
        self._porter = Porter(token)
        self._office = office
        self._clock = SystemClock()
        self._server: asyncio.Server | None = None
        self._looking: asyncio.Task[None] | None = None
        self._guests: set[asyncio.StreamWriter] = set()
        # Simulations are made one after another: nobody needs all cores for them.
        self._playing = asyncio.Lock()
        # What anybody on this machine may ask for, and what only who is known.
        self._open: dict[str, Deed] = {
            "GET /health": self._health, "GET /session": self._session,
            "POST /login": self._login, "POST /logout": self._logout,
        }  # fmt: skip
        self._known: dict[str, Deed] = {
            "GET /status": self._status, "GET /reading": self._reading, "GET /rules": self._rules,
            "GET /metrics": self._metrics,
            "POST /reload": self._reload, "POST /peek": self._peek, "POST /reset": self._reset,
            "POST /trial": self._trial, "POST /simulate": self._simulate,
            "POST /drain": self._drain,
        }  # fmt: skip

    @property
    def token(self) -> str:
        """What has to be shown."""
        return self._porter.token

    @token.setter
    def token(self, token: str) -> None:
        self._porter.token = token

    async def open(self) -> None:
        """Answer from now on."""
        # Not start_unix_server: that may remove the file of a socket which others still have.
        self._server = await asyncio.start_server(self._meet, sock=self.door.lines[0])
        self._looking = asyncio.create_task(self._look())

    def close(self) -> None:
        """Answer no more."""
        self.feed.close()
        if self._looking is not None:
            self._looking.cancel()
        if self._server is not None:
            self._server.close()

    async def _look(self) -> None:
        # Also while no page is open: the next one wants to know what was before.
        while True:
            try:
                self.feed.beat(dict(await self._office.reading()))
            except Exception:
                logger.exception("the page is not told how it stands")
            await self._clock.asleep(PACE)

    async def _meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if len(self._guests) < MOST:
                self._guests.add(writer)
                with suppress(ConnectionError, EOFError, TimeoutError):
                    await self._talk(reader, writer)
        finally:
            self._guests.discard(writer)
            writer.close()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(PATIENCE):
                question = await Question.read(reader)
            letter = await self._answer(question)
        except Unclear as unclear:
            letter = told(unclear.status)
        if letter is None:
            await self.feed.serve(question, reader, writer)
            return
        await send(writer, letter.spelled())

    async def _answer(self, question: Question) -> Letter | None:
        # None if the answer is a stream, that does not end.
        asked = f"{question.method} {question.target}"
        deed = self._open.get(asked)
        leaf = shelf.find(question.target) if question.method == "GET" else None
        if deed is not None or leaf is not None:
            status = self._porter.greet(question)
            if status or deed is not None:
                return told(status) if deed is None or status else await deed(question)
            return file(question, leaf)
        status = self._porter.admit(question)
        if status == 401 and question.has("authorization"):
            await self._clock.asleep(self._porter.stray())
        if status:
            return told(status)
        deed = self._known.get(asked)
        if deed is not None:
            return await deed(question)
        if (question.method, question.path) == ("GET", "/events"):
            return told(503, FULL) if self.feed.full else None
        return told(404)

    async def _health(self, question: Question) -> Letter:
        healthy = self._office.healthy
        return written({"status": "ok"}) if healthy else written({"status": "unavailable"}, 503)

    async def _login(self, question: Question) -> Letter:
        wait = self._porter.login(question.form().get("token", ""))
        if not wait:
            logger.info("somebody has logged in at the admin's page")
            fields = (("location", "/"), ("set-cookie", self._porter.cookie()))
            return Letter(303, fields=UNKEPT + fields)
        logger.warning("somebody has shown the admin's page a wrong token")
        return told(401 if wait <= 1.0 else 429, (("retry-after", f"{wait:.0f}"),))

    async def _logout(self, question: Question) -> Letter:
        fields = (("location", "/"), ("set-cookie", self._porter.farewell()))
        return Letter(303, fields=UNKEPT + fields)

    async def _session(self, question: Question) -> Letter:
        # Whoever is not known is told so; a browser would make an error of any other answer.
        return written({"known": not self._porter.admit(question)})

    async def _status(self, question: Question) -> Letter:
        return written(await self._office.status())

    async def _reading(self, question: Question) -> Letter:
        return written(await self._office.reading())

    async def _metrics(self, question: Question) -> Letter:
        try:
            return Letter(200, exposition(await self._office.reading()).encode(), TYPE)
        except MissingExtra as missing:
            return written({"status": "not implemented", "problem": str(missing)}, 501)

    async def _rules(self, question: Question) -> Letter:
        return written({"rules": self._office.listed()})

    async def _reload(self, question: Question) -> Letter:
        logger.info("the admin was asked to reload")
        problems = await self._office.reload()
        said = {"status": "bad rules", "problems": problems}
        return written(said, 422) if problems else written({"status": "ok"})

    async def _peek(self, question: Question) -> Letter:
        return answered(await self._office.order("peek", **place(question)))

    async def _reset(self, question: Question) -> Letter:
        where = place(question)
        found = await self._office.order("reset", **where)
        if "problem" not in found:
            rule, key = where["rule"], shown(where["key"])
            logger.info("the admin was asked to forget the key %s at the rule %s", key, rule)
        return answered(found)

    async def _trial(self, question: Question) -> Letter:
        said = question.said()
        problems = await self._office.attempt(said)
        if problems:
            return written({"status": "bad rule", "problems": problems}, 422)
        over = said.get("rule") is None and "text" not in said
        what = "try no rule any more" if over else "try a rule in shadow"
        logger.info("the admin was asked to %s", what)
        return written({"status": "ok"})

    async def _simulate(self, question: Question) -> Letter:
        said = question.said()
        try:
            traffic = simulation.read(said)
        except ValueError as problem:
            return written({"status": "bad question", "problems": [str(problem)]}, 422)
        async with self._playing:
            return written(await asyncio.to_thread(simulation.play, traffic))

    async def _drain(self, question: Question) -> Letter:
        logger.info("the admin was asked to drain")
        self._office.drain()
        return written({"status": "draining"}, 202)


async def send(writer: asyncio.StreamWriter, data: bytes) -> None:
    """Send all of it, or hang up: what somebody does not take in would lie here for ever."""
    writer.transport.set_write_buffer_limits(0)
    writer.write(data)
    try:
        async with asyncio.timeout(PATIENCE):
            await writer.drain()
    except TimeoutError:
        writer.transport.abort()


def place(question: Question) -> dict[str, str]:
    """The rule, the key and its plan that are asked about."""
    given = question.said()
    found = {word: given.get(word, "") for word in ("rule", "key", "plan")}
    if not all(isinstance(value, str) for value in found.values()):
        raise Unclear(400)
    return found


def answered(found: dict[str, Any]) -> Letter:
    """What workers say to an order."""
    if "problem" in found:
        return written({"status": "not found", "problems": [found["problem"]]}, 404)
    return written(found)


def file(question: Question, leaf: Any) -> Letter:
    """A file of the page; a browser that has it asks whether it is still the same."""
    fields = (("cache-control", "no-cache"), ("etag", leaf.tag), *GUARDED)
    if question.single("if-none-match") == leaf.tag:
        return Letter(304, fields=fields)
    return Letter(200, leaf.body, leaf.kind, fields)
