"""Three ways to count who is inside: how each asks, and what each makes of the answers.

leases      a name for everybody inside, with the moment until which it is lent
counters    a number for each process, with the moment until which it is believed
windows     a number for each window of time; who stays is moved from window to window
"""

from __future__ import annotations

import struct
from typing import Any, NamedTuple, Protocol

from headgate.permits.redis.entry import Entry, Move, State
from headgate.permits.redis.tongue import Tongue
from headgate.stores.redis.wire import NONCE, Question

NUMBER = struct.Struct("<q").unpack_from
SEEN = struct.Struct("<qqq").unpack_from
# So many names are renewed by one question, so that no other question waits long.
NAMES = 250
# What a script says of a name: renewed, let in again, let in, not let in.
KEPT, IN, OUT = b"=+-"


class Window(NamedTuple):
    """Where somebody is counted: the number of a window, and when it was first written."""

    number: int
    birth: int


class Method(Protocol):
    """A way to count. `again` says whether a leave may be told twice.

    `moved` are the states of those that are kept up, `turns` is how often that is done in one ttl.
    """

    again: bool
    turns: int
    moved: frozenset[State]
    tongue: Tongue

    def enter(self, entry: Entry) -> Question: ...
    def entered(self, reply: bytes) -> Any: ...
    def leave(self, entry: Entry) -> Question: ...
    def left(self, reply: bytes) -> bool: ...
    def count(self, reply: bytes) -> int: ...
    def moves(self, key: str, entries: list[Entry], word: str) -> list[Move]: ...
    def renewed(self, reply: bytes) -> Any: ...
    def settle(self, move: Move, answer: Any) -> int: ...


class Leases:
    """Each permit is lent by name; `entered` answers with a place that says nothing."""

    again = True
    turns = 3
    moved = frozenset({State.HELD})

    def __init__(self, tongue: Tongue) -> None:
        self.tongue = tongue

    def enter(self, entry: Entry) -> Question:
        return self.tongue.ask(b"enter", entry.key, entry.ticket)

    def entered(self, reply: bytes) -> Any:
        """The place of who was let in, or None."""
        return {IN: "", OUT: None}[reply[NONCE]]

    def leave(self, entry: Entry) -> Question:
        return self.tongue.ask(b"leave", entry.key, entry.ticket)

    def left(self, reply: bytes) -> bool:
        """Whether the permit was there still."""
        return bool(told(reply))

    def count(self, reply: bytes) -> int:
        return told(reply)

    def moves(self, key: str, entries: list[Entry], word: str) -> list[Move]:
        """Renew all of them by name."""
        return [
            Move(batch, key, " ".join(entry.ticket for entry in batch))
            for batch in (entries[at : at + NAMES] for at in range(0, len(entries), NAMES))
        ]

    def renewed(self, reply: bytes) -> bytes:
        return reply[NONCE:]

    def settle(self, move: Move, answer: bytes) -> int:
        """How many were found to be zombies that were none before."""
        fresh = 0
        for entry, said in zip(move.entries, answer, strict=True):
            if entry.state is State.HELD:
                over = said == OUT
                fresh += over and not entry.reported
                # Once it is in again, it may be lost again.
                entry.reported = over
        return fresh


class Counters:
    """Each process has a number, in a field that is made anew at every turn.

    So whatever was counted there by mistake ends with the field, and the others go on.
    """

    again = False
    turns = 3
    moved = frozenset({State.HELD, State.ORPHAN})

    def __init__(self, tongue: Tongue) -> None:
        self.tongue = tongue

    def enter(self, entry: Entry) -> Question:
        return self.tongue.ask(b"enter", entry.key, entry.place)

    def entered(self, reply: bytes) -> Any:
        """The place of who was let in, which is the one it asked for, or None."""
        return "" if told(reply) else None

    def leave(self, entry: Entry) -> Question:
        return self.tongue.ask(b"leave", entry.key, entry.place)

    def left(self, reply: bytes) -> bool:
        """Whether the permit was there still."""
        return bool(told(reply))

    def count(self, reply: bytes) -> int:
        return told(reply)

    def moves(self, key: str, entries: list[Entry], word: str) -> list[Move]:
        """Let all of them go on in a field of this turn."""
        sources = " ".join(f"{field} {number}" for field, number in tally(entries).items())
        for entry in entries:
            entry.place = word
        return [Move(entries, key, word, sources)]

    def renewed(self, reply: bytes) -> int:
        return told(reply)

    def settle(self, move: Move, answer: int) -> int:
        """How many of them were no longer counted, and are too many now."""
        return min(answer, len(move.entries))


class Windows:
    """Who enters and leaves is counted in the window it is now; half of the ttl is a window."""

    again = False
    turns = 4
    moved = frozenset({State.HELD, State.ORPHAN})

    def __init__(self, tongue: Tongue) -> None:
        self.tongue = tongue

    def enter(self, entry: Entry) -> Question:
        return self.tongue.ask(b"enter", entry.key)

    def entered(self, reply: bytes) -> Window | None:
        """The window of who was let in, or None."""
        inside, *window = SEEN(reply, NONCE)
        return Window(*window) if inside else None

    def leave(self, entry: Entry) -> Question:
        return self.tongue.ask(b"leave", entry.key, *map(str, entry.place))

    def left(self, reply: bytes) -> bool:
        """Whether the permit was there still."""
        return bool(told(reply))

    def count(self, reply: bytes) -> int:
        return told(reply)

    def moves(self, key: str, entries: list[Entry], word: str) -> list[Move]:
        """Move all of them to the current window."""
        sources = " ".join(f"{w.number} {w.birth} {n}" for w, n in tally(entries).items())
        return [Move(entries, key, word, sources)]

    def renewed(self, reply: bytes) -> tuple[int, Window]:
        over, *window = SEEN(reply, NONCE)
        return over, Window(*window)

    def settle(self, move: Move, answer: tuple[int, Window]) -> int:
        """How many of them were no longer counted, and are too many now."""
        for entry in move.entries:
            entry.place = answer[1]
        return min(answer[0], sum(entry.state is State.HELD for entry in move.entries))


METHODS: dict[str, type[Leases] | type[Counters] | type[Windows]] = {
    "leases": Leases,
    "counters": Counters,
    "windows": Windows,
}


def told(reply: bytes) -> int:
    """The number in a reply."""
    return int(NUMBER(reply, NONCE)[0])


def tally(entries: list[Entry]) -> dict[Any, int]:
    """How many are counted in each place."""
    counts: dict[Any, int] = {}
    for entry in entries:
        counts[entry.place] = counts.get(entry.place, 0) + 1
    return counts
