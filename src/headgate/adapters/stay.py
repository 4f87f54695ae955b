"""Stay: a request while it is inside. Several gatekeepers may have let it in, one after another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Protocol

from headgate.adapters.arrivals import Arrival
from headgate.rules.live.entry import Entry
from headgate.rules.live.gatekeeper import Header, nothing


class Outcome:
    """How an answer turned out: its status, its headers by their names, the bytes of its body."""

    __slots__ = ("header", "size", "status")

    def __init__(self, status: int = 0, header: Header = nothing) -> None:
        self.status = status
        self.header = header
        self.size = 0


class Keeper(Protocol):
    """As much of a gatekeeper as is needed to leave."""

    @property
    def pour(self) -> Callable[[Entry, int], None]:
        """See `Gatekeeper.pour`."""

    @property
    def leave(self) -> Callable[[Entry, int, Header, int], None]:
        """See `Gatekeeper.leave`."""


class Stay:
    """What a request was given: by whom, to give it back, and what of it is yet to be told."""

    __slots__ = ("arrival", "outcome", "parties", "untold")

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome
        self.arrival: Arrival | None = None
        self.parties: list[tuple[Keeper, Entry]] = []
        self.untold: list[Entry] = []

    def add(self, keeper: Keeper, entry: Entry) -> None:
        """Take an entry up."""
        self.untold.append(entry)
        if entry.owing or entry.bandwidth:
            self.parties.append((keeper, entry))

    @property
    def piece(self) -> int:
        """How many bytes of the answer to send at a time; 0 if it may all be sent at once."""
        return min((entry.piece for _, entry in self.parties if entry.bandwidth), default=0)

    @property
    def measured(self) -> bool:
        """Whether somebody has to know what is sent."""
        return any(measured(entry) for _, entry in self.parties)

    def note(self, part: bytes) -> None:
        """Let those know who may want the answer again."""
        for _, entry in self.parties:
            entry.send(part)

    def finish(self) -> None:
        """Let those know that the answer is whole."""
        for _, entry in self.parties:
            entry.complete = True

    def pour(self, size: int) -> None:
        """Wait until so many bytes of the answer may be sent, by all who mind."""
        for keeper, entry in self.parties:
            keeper.pour(entry, size)

    def leave(self, status: int) -> None:
        """Give everything back. A second time there is nothing left: an entry is left once."""
        outcome = self.outcome
        with ExitStack() as stack:
            for keeper, entry in self.parties:
                stack.callback(keeper.leave, entry, status, outcome.header, outcome.size)


def measured(entry: Entry) -> bool:
    """Whether somebody has to know what is sent in answer."""
    later = any(one.ruling.fee.later for one in entry.passes)
    return later or bool(entry.bandwidth) or entry.body is not None


def together(entries: Sequence[Entry]) -> Entry:
    """Several entries of one request as one, to be told of at once. The last may be a refusal."""
    if len(entries) == 1:
        return entries[0]
    last = entries[-1]
    found = Entry(last.version, last.request)
    found.passes = [one for entry in entries for one in entry.passes]
    found.places = [place for entry in entries for place in entry.places]
    found.refusal = last.refusal
    found.spare = last.spare
    return found


def lines(fields: Sequence[tuple[bytes, bytes]]) -> list[tuple[str, str]]:
    """Headers as WSGI has them."""
    return [(name.decode(), value.decode()) for name, value in fields]
