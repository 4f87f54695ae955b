"""What a case of the corpus is: bytes that a client sends, and what may come of them.

Whatever comes of them, it is one of six things. Each says which statuses the client hears, in
order, and which requests the upstream sees; the connection is closed by the gateway if the last
status is a bad one, and by the client otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass

HOST = b"Host: a.test"
CHUNKED = b"Transfer-Encoding: chunked"
# What a front that is led astray takes for a body, and a server for a request.
HIDDEN = b"GET /hidden HTTP/1.1\r\nHost: a.test\r\n\r\n"


@dataclass(frozen=True)
class Refused:
    """Answered with this status and closed; the upstream sees nothing at all."""

    status: int = 400

    @property
    def statuses(self) -> tuple[int, ...]:
        return (self.status,)

    @property
    def visits(self) -> tuple[Passed, ...]:
        return ()


@dataclass(frozen=True)
class Cut:
    """The same for a fault in the body: the upstream may see a beginning, and never a whole."""

    status: int = 400

    @property
    def statuses(self) -> tuple[int, ...]:
        return (self.status,)

    @property
    def visits(self) -> tuple[Passed, ...]:
        return ()


@dataclass(frozen=True)
class Passed:
    """The upstream sees exactly one request, and this is its meaning.

    `has` are headers it sees, as they are, once; `lacks` are names of those that it does not see.
    """

    method: str = "GET"
    target: str = "/case"
    body: bytes = b""
    has: tuple[tuple[str, str], ...] = ()
    lacks: tuple[str, ...] = ()
    host: str = "a.test"

    @property
    def statuses(self) -> tuple[int, ...]:
        return (200,)

    @property
    def visits(self) -> tuple[Passed, ...]:
        return (self,)


@dataclass(frozen=True)
class Two:
    """Two requests were meant, and the upstream sees these two, in order."""

    first: Passed
    second: Passed

    @property
    def statuses(self) -> tuple[int, ...]:
        return (200, 200)

    @property
    def visits(self) -> tuple[Passed, ...]:
        return (self.first, self.second)


@dataclass(frozen=True)
class Then:
    """The first passes; what comes after it is refused."""

    first: Passed
    status: int = 400

    @property
    def statuses(self) -> tuple[int, ...]:
        return (200, self.status)

    @property
    def visits(self) -> tuple[Passed, ...]:
        return (self.first,)


@dataclass(frozen=True)
class Left:
    """More was promised, and the client leaves instead: the upstream never sees a whole."""

    @property
    def statuses(self) -> tuple[int, ...]:
        return ()

    @property
    def visits(self) -> tuple[Passed, ...]:
        return ()


Outcome = Refused | Cut | Left | Passed | Two | Then


@dataclass(frozen=True)
class Case:
    """Bytes, and the outcomes of which one has to come true.

    `later` is sent when the gateway says 100. `strange` names upstreams that refuse the very
    request that is meant, so that nothing can be learned from them.
    """

    name: str
    data: bytes
    expected: tuple[Outcome, ...]
    later: bytes = b""
    strange: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.name


def case(
    name: str, data: bytes, *expected: Outcome, later: bytes = b"", strange: tuple[str, ...] = ()
) -> Case:
    """A case as a line of a table."""
    return Case(name, data, expected or (Refused(),), later, strange)


def ask(*lines: bytes, body: bytes = b"") -> bytes:
    """A request of these lines, each with its end, and a body as it is."""
    return b"\r\n".join([*lines, b"", body])


def get(*fields: bytes, body: bytes = b"") -> bytes:
    """A GET of /case with a host, and these lines after it."""
    return ask(b"GET /case HTTP/1.1", HOST, *fields, body=body)


def post(*fields: bytes, body: bytes = b"") -> bytes:
    """A POST of /case with a host, and these lines after it."""
    return ask(b"POST /case HTTP/1.1", HOST, *fields, body=body)


def line(text: bytes) -> bytes:
    """A request with this as its first line."""
    return ask(text, HOST)
