"""A server behind a gateway that says the bytes a test tells it to, when it tells it to.

The test is the server: it takes a connection, hears a request and answers, in the same thread in
which it is the client. So what happens first and what next stands there line by line.
"""

from __future__ import annotations

import socket
import ssl
import struct
from collections.abc import Callable
from types import TracebackType

from tests.gateway.talking import SECONDS, Silence

# Closing with this says RST, whatever was sent before.
ABRUPT = struct.pack("ii", 1, 0)
BLANK = b"\r\n\r\n"


class Backing:
    r"""A server of this machine, behind TLS if it has a `context`.

    with Backing() as server:
        caller = server.take()
        caller.head()
        caller.say(b"HTTP/1.1 204 No Content\r\n\r\n")
    """

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self.context = context
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.settimeout(SECONDS)
        self.callers: list[Caller] = []
        self.port: int = self.listener.getsockname()[1]

    def __enter__(self) -> Backing:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def url(self) -> str:
        scheme = "http" if self.context is None else "https"
        return f"{scheme}://127.0.0.1:{self.port}"

    def take(self) -> Caller:
        """The next connection."""
        try:
            line, _ = self.listener.accept()
        except TimeoutError:
            raise Silence(f"nobody connected in {SECONDS:g} s") from None
        if self.context is not None:
            line.settimeout(SECONDS)
            line = self.context.wrap_socket(line, server_side=True)
        self.callers.append(Caller(line))
        return self.callers[-1]

    def asked(self) -> bool:
        """Whether a connection waits to be taken."""
        self.listener.settimeout(0)
        try:
            line, _ = self.listener.accept()
        except BlockingIOError:
            return False
        finally:
            self.listener.settimeout(SECONDS)
        self.callers.append(Caller(line))
        return True

    def close(self) -> None:
        """Refuse connections from now on, and end those there are."""
        self.listener.close()
        for caller in self.callers:
            caller.close()


class Caller:
    """A connection of the gateway, from the server's side."""

    def __init__(self, line: socket.socket) -> None:
        self.line = line
        line.settimeout(SECONDS)
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.spare = b""

    def head(self) -> bytes:
        """The head of a request, with the blank line."""
        while BLANK not in self.spare:
            self.spare += self.more()
        head, _, self.spare = self.spare.partition(BLANK)
        return head + BLANK

    def read(self, size: int) -> bytes:
        """So many bytes of what comes next."""
        while len(self.spare) < size:
            self.spare += self.more()
        found, self.spare = self.spare[:size], self.spare[size:]
        return found

    def more(self) -> bytes:
        """What there is; the end is an error."""
        try:
            data = self.line.recv(1 << 16)
        except TimeoutError:
            raise Silence(f"nothing was asked in {SECONDS:g} s") from None
        if not data:
            raise AssertionError(f"the gateway hung up after {self.spare!r}")
        return data

    def say(self, *pieces: bytes, turn: Callable[[], None] = lambda: None) -> None:
        """Send the pieces, with a `turn` of the gateway after each."""
        for piece in pieces:
            self.line.sendall(piece)
            turn()

    def close(self) -> None:
        """Hang up."""
        self.line.close()

    def shut(self) -> None:
        """Say no more, and listen."""
        self.line.shutdown(socket.SHUT_WR)

    def reset(self) -> None:
        """Hang up in the middle of a word."""
        self.line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, ABRUPT)
        self.line.close()

    def ended(self, seconds: float = SECONDS) -> bytes:
        """What the gateway says until it hangs up, in whatever way."""
        found, self.spare = self.spare, b""
        self.line.settimeout(seconds)
        try:
            while data := self.line.recv(1 << 16):
                found += data
        except TimeoutError:
            raise Silence(f"the gateway did not hang up in {seconds:g} s") from None
        except ConnectionError:
            pass
        return found
