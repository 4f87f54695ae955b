"""WSGI: the rules in front of any WSGI application.

    app = HeadgateMiddleware(app, "rules.yaml")

A refusal is answered before the application hears of the request. What is held, such as a place
under `concurrent`, is held until the answer is sent, or nobody wants it any more. Where a rule says
how fast an answer may flow, the thread that sends it waits; otherwise files that the server sends
by itself, through `wsgi.file_wrapper`, stay such files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from http import HTTPStatus
from typing import Any

from headgate.adapters.arrivals import Arrival, Finder, Reception
from headgate.adapters.http.dialects import Fields
from headgate.adapters.outflow import Outflow, ending, flow
from headgate.adapters.stay import Outcome, Stay, lines
from headgate.clock import Clock
from headgate.rules.live.gatekeeper import Gatekeeper
from headgate.rules.live.lodge import Source

Environ = dict[str, Any]
Start = Callable[..., Any]
App = Callable[[Environ, Start], Iterable[bytes]]
Lines = list[tuple[str, str]]

PHRASES = {status.value: f"{status.value} {status.phrase}" for status in HTTPStatus}


class HeadgateMiddleware:
    """Puts rules in front of an application.

    `rules` are a file, a `Rules` value, or a `Gatekeeper` that others use as well. `user` and
    `plan` are functions of the environ that say who a request is from and what they have booked;
    without them these are `REMOTE_USER` and `headgate.plan`. What was decided is in the environ as
    `headgate.entry`.
    """

    def __init__(
        self,
        app: App,
        rules: Source | Gatekeeper,
        store: str = "",
        user: Finder | None = None,
        plan: Finder | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.app = app
        self.keeper = rules if isinstance(rules, Gatekeeper) else Gatekeeper(rules, store, clock)
        self._reception = Reception(self.keeper, user or signed, plan or booked)

    def __call__(self, environ: Environ, start_response: Start) -> Iterable[bytes]:
        keeper, manners = self.keeper, self._reception.manners
        request = Arrival(environ, manners, environ)
        entry = environ["headgate.entry"] = keeper.enter(request)
        if entry.refusal is not None:
            answer = manners.herald.answer(entry, request.header("accept"))
            return refuse(request.method, start_response, *answer)
        if entry.owing or entry.bandwidth:
            reply = Reply(start_response, partial(manners.herald.fields, entry))
            reply.stay.add(keeper, entry)
            return reply.serve(self.app, environ)
        fields = lines(manners.herald.fields(entry))
        return self.app(environ, telling(start_response, fields) if fields else start_response)


class Reply:
    """An answer on its way, and the stay that lasts as long. `tell` says which headers to add."""

    __slots__ = ("_headers", "_start", "_tell", "stay")

    def __init__(self, start: Start, tell: Callable[[], Fields]) -> None:
        self.stay = Stay(Outcome(header=self._header))
        self._start = start
        self._tell = tell
        self._headers: Lines = []

    def serve(self, app: App, environ: Environ) -> Iterable[bytes]:
        """The body of the application's answer."""
        try:
            body = app(environ, self.start)
            if not self.stay.parties or self._lend(body, environ.get("wsgi.file_wrapper")):
                return body
            return Outflow(self.stay, body, getattr(body, "close", None))
        except BaseException:
            self.stay.leave(0)
            raise

    def start(self, status: str, headers: Lines, exc_info: Any = None) -> Any:
        """As the application begins its answer."""
        write = self._start(status, [*headers, *lines(self._tell())], exc_info)
        self._headers = headers
        self.stay.outcome.status = int(status[:3])
        return partial(self._write, write) if self.stay.parties else write

    def _header(self, name: str) -> str:
        return ", ".join(value for word, value in self._headers if word.lower() == name)

    def _write(self, write: Callable[[bytes], object], part: bytes) -> None:
        for piece in flow(self.stay, iter((part,))):
            write(piece)

    def _lend(self, body: Any, wrapper: Any) -> bool:
        # Whether the server sends a file by itself. It closes the file when it is done.
        if not isinstance(wrapper, type) or not isinstance(body, wrapper) or self.stay.measured:
            return False
        close = partial(ending, self.stay, getattr(body, "close", None))
        try:
            setattr(body, "close", close)  # noqa: B010 - nobody said that it can be set
        except (AttributeError, TypeError):
            # One that is made in C takes no other.
            return False
        return True


def telling(start: Start, fields: Lines) -> Start:
    """`start_response`, which adds headers."""

    def tell(status: str, headers: Lines, exc_info: Any = None) -> Any:
        return start(status, [*headers, *fields], exc_info)

    return tell


def refuse(method: str, start: Start, status: int, fields: Fields, body: bytes) -> Iterable[bytes]:
    """Answer in the application's place."""
    start(PHRASES.get(status) or f"{status} Refused", lines(fields))
    return [] if method == "HEAD" else [body]


def signed(environ: Environ) -> object:
    """Who is signed in, as the server has it."""
    return environ.get("REMOTE_USER")


def booked(environ: Environ) -> object:
    """The plan, where another middleware has put it into the environ."""
    return environ.get("headgate.plan")
