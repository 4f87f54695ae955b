"""Methods: what can be called, by the name that is on the wire."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from headgate.service.grpc.call import Call
from headgate.wire.bell import Bell
from headgate.wire.house import House

# Bytes of a message at most, where there is one, and where there are many.
LONGEST = 65_536
LONGEST_STREAMED = 1_048_576

Answer = Callable[[bytes, Call], bytes | Awaitable[bytes]]


class Talker(Protocol):
    """Who is spoken to in a call of many messages, and speaks with `call.send` and `call.finish`.

    Status may be raised from `receive` and `end`, and ends the call. If it ends in any other way
    than by `finish`, the talker hears `cancel`, once, and nothing more.
    """

    def receive(self, message: bytes) -> None:
        """The client has sent a message."""

    def end(self) -> None:
        """The client will send no more."""

    def cancel(self) -> None:
        """Nobody listens any more."""


class Method:
    """One of them; `spare` says that anybody may call it, as often as they like."""

    __slots__ = ("answer", "open", "path", "spare")

    def __init__(self, path: str, answer: Any, open_: Any) -> None:
        self.path = path
        self.answer = answer
        self.open = open_
        self.spare = False


class Methods:
    """The methods of a service, `found` by their paths, such as b"/package.Service/Method".

    `most` is how many bytes a message has at most, `streamed` that of calls of many messages.
    """

    def __init__(self) -> None:
        self.found: dict[bytes, Method] = {}
        self.most = LONGEST
        self.streamed = LONGEST_STREAMED
        self._bell: Bell | None = None

    def unary(self, path: str, answer: Answer) -> None:
        """Have one message answered with one, at once or soon; Status may be raised instead."""
        self._keep(Method(path, answer, None))

    def stream(self, path: str, open: Callable[[Call], Talker]) -> None:  # noqa: A002 - as told
        """Have a talker made for each call, of as many messages as both sides like."""
        self._keep(Method(path, None, open))

    def spare(self, path: str) -> None:
        """Let anybody call a method, without a token, and do not count it."""
        self.found[path.encode()].spare = True

    def mourn(self, path: bytes, problem: BaseException, house: House) -> None:
        """Write down that a method failed; who called is not told why."""
        if self._bell is None:
            self._bell = Bell(logging.ERROR, house)
        trace = "".join(traceback.format_exception(problem))
        self._bell.ring("%s failed: %s", path.decode("latin-1"), trace)

    def _keep(self, method: Method) -> None:
        if not method.path.startswith("/"):
            raise ValueError(f'a path is such as "/package.Service/Method", not {method.path!r}')
        self.found[method.path.encode()] = method
