"""Clerk: which commands there are, who may give them, and who carries them out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from itertools import count
from typing import Any

from headgate.service.resp import manners
from headgate.service.resp.asked import Asked
from headgate.service.resp.kept import Kept
from headgate.service.resp.lent import Lent
from headgate.service.resp.ruled import Ruled
from headgate.service.resp.spoken import error, trouble, usage
from headgate.service.resp.throttle import Throttle

NO_AUTH = error("Authentication required.", "NOAUTH")
# A browser can be made to send these lines to any address: whoever says so is hung up on.
FOREIGN = (b"POST", b"HOST:", b"GET")
UNBOUND = 1 << 30

Answer = bytes | Awaitable[bytes]


class Verb:
    """A command: who carries it out, from how many words to how many, and whether anybody may.

    Who carries it out is told the guest and the words, and answers bytes, now or later.
    """

    __slots__ = ("free", "least", "most", "run", "says")

    def __init__(
        self, run: Callable[[Any, list[bytes]], Answer], least: int, most: int, says: str,
        free: bool = False,
    ) -> None:  # fmt: skip
        self.run = run
        self.least = least
        self.most = most
        self.says = says
        self.free = free


class Clerk:
    """Answers the commands of all who ask a hall."""

    def __init__(self, hall: Any) -> None:
        self.hall = hall
        self.number = count(1).__next__
        self.verbs: dict[bytes, Verb] = {**verbs(hall), **MANNERS}

    def answer(self, guest: Any, words: list[bytes]) -> Answer:
        """What is said to a command, now or later; nothing that goes wrong leaves it."""
        verb = self.verbs.get(words[0])
        if verb is None:
            verb = self.verbs.get(words[0].upper())
        try:
            if verb is None:
                return unheard(guest, words)
            if not verb.free:
                problem = self._bar(guest)
                if problem:
                    return problem
            if not verb.least <= len(words) <= verb.most:
                return usage(words[0].decode("ascii", "replace"))
            return verb.run(guest, words)
        except Exception as problem:
            return trouble(problem)

    def _bar(self, guest: Any) -> bytes:
        # What is said to whoever may not ask, or not so often.
        self.hall.asked += 1
        self.hall.meters["resp"].note(0, -1)
        caller = guest.caller
        if caller is None:
            return NO_AUTH if self.hall.callers.needed else b""
        decision = caller.take(1)
        if decision:
            return b""
        self.hall.refused += 1
        return error(
            f'caller "{caller.name}" asks too often; try again in {decision.retry_after:.3f} s',
            "LIMITED",
        )


def verbs(hall: Any) -> dict[bytes, Verb]:
    """What a service is asked for, by those who are known."""
    throttle, ruled, kept = Throttle(hall), Ruled(hall), Kept(hall)
    asked, lent = Asked(hall), Lent(hall)
    return {
        b"HG.TAKE": Verb(ruled.take, 3, 6, "spends what a rule lets a key spend, or says no"),
        b"HG.PEEK": Verb(ruled.peek, 3, 6, "what HG.TAKE would say"),
        b"HG.DEBIT": Verb(ruled.debit, 3, 6, "spends whatever is left"),
        b"HG.REFUND": Verb(ruled.refund, 3, 6, "gives back"),
        b"HG.RESET": Verb(ruled.reset, 3, 5, "forgets a key"),
        b"HG.RULES": Verb(ruled.rules, 1, 1, "the names of the rules"),
        b"HG.RESERVE": Verb(kept.reserve, 4, 7, "books for when there is room, by an id"),
        b"HG.COMMIT": Verb(kept.commit, 2, 3, "keeps what was booked, or so much of it"),
        b"HG.CANCEL": Verb(kept.cancel, 2, 2, "gives back what was booked"),
        b"HG.HOLD": Verb(kept.hold, 3, 6, "holds a place of a rule for a time, by an id"),
        b"HG.RENEW": Verb(kept.renew, 2, 3, "holds it for longer"),
        b"HG.RELEASE": Verb(kept.release, 2, 2, "gives a place back"),
        b"HG.INSIDE": Verb(kept.inside, 3, 5, "how many places are held"),
        b"CL.THROTTLE": Verb(throttle.cell, 5, 6, "as redis-cell has it"),
        b"THROTTLE": Verb(throttle.crab, 5, 6, "as throttlecrab has it"),
        b"HG.ASK": Verb(asked.ask, 5, 11, "for stores of Headgate: a verb of known limits"),
        b"HG.OPEN": Verb(asked.open, 5, 11, "for stores of Headgate: the same, in full"),
        b"HG.BEAT": Verb(asked.beat, 3, 3, "for stores of Headgate: a sign of life"),
        b"HG.LEND": Verb(lent.lend, 8, 8, "for bulkheads of Headgate: places by name"),
    }


def unheard(guest: Any, words: list[bytes]) -> bytes:
    """There is no such command."""
    if words[0].upper() in FOREIGN:
        guest.leave()
        return error("this is no HTTP server")
    if guest.stranger:
        return NO_AUTH
    said = " ".join(f"'{manners.shown(word)}'" for word in words[1:5])
    return error(f"unknown command '{manners.shown(words[0])}', with args beginning with: {said}")


MANNERS = {
    b"PING": Verb(manners.ping, 1, 2, "whether anybody is there"),
    b"ECHO": Verb(manners.echo, 2, 2, "says it again"),
    b"QUIT": Verb(manners.leave, 1, UNBOUND, "hangs up", True),
    b"AUTH": Verb(manners.auth, 2, 3, "shows a token", True),
    b"HELLO": Verb(manners.hello, 1, UNBOUND, "chooses the protocol's version", True),
    b"RESET": Verb(manners.reset, 1, 1, "begins anew", True),
    b"SELECT": Verb(manners.select, 2, 2, "chooses the one database there is"),
    b"CLIENT": Verb(manners.client, 2, UNBOUND, "says who one is"),
    b"COMMAND": Verb(manners.command, 1, UNBOUND, "the commands there are"),
    b"CONFIG": Verb(manners.config, 2, UNBOUND, "nothing"),
    b"INFO": Verb(manners.info, 1, UNBOUND, "how it is"),
    b"TIME": Verb(manners.time, 1, 1, "what time it is"),
}


def clerk(hall: Any) -> Clerk:
    """The clerk of a hall, one for all who ask it."""
    found = hall.things.get("resp")
    if found is None:
        found = hall.things["resp"] = Clerk(hall)
    return found  # type: ignore[no-any-return]
