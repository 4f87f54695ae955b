"""Outflow: the body of an answer on its way, as WSGI servers and Django take it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from headgate.adapters.stay import Stay
from headgate.rules.live.pieces import cut


class Outflow:
    """The parts of a body, counted, and held back as rules will have it.

    What the request holds is given back at the end of it, however that comes, and once: the last
    part is sent, the application fails, or `close` is called because nobody wants the rest.
    """

    __slots__ = ("_close", "_parts", "_stay")

    def __init__(
        self, stay: Stay, body: Iterable[bytes], close: Callable[[], object] | None
    ) -> None:
        self._stay = stay
        self._parts = flow(stay, iter(body))
        self._close = close

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        try:
            return next(self._parts)
        except StopIteration:
            self._stay.finish()
            self._stay.leave(self._stay.outcome.status)
            raise
        except BaseException:
            self._stay.leave(0)
            raise

    def close(self) -> None:
        """Close what the parts come from, and end the stay."""
        ending(self._stay, self._close)


def flow(stay: Stay, parts: Iterator[bytes]) -> Iterator[bytes]:
    """The parts, in pieces where they may not flow as they like; the thread waits for each."""
    size = stay.piece
    for part in parts:
        stay.outcome.size += len(part)
        stay.note(part)
        if not size:
            yield part
            continue
        for piece in cut(part, size):
            stay.pour(len(piece))
            yield piece


def ending(stay: Stay, close: Callable[[], object] | None) -> None:
    """Close something, and end the stay whatever comes of it."""
    try:
        if close is not None:
            close()
    finally:
        stay.leave(stay.outcome.status)
