"""Interview: what a server says of itself, asked within a bound of time."""

from __future__ import annotations

import secrets
from typing import Any, NamedTuple

from headgate.clock import SystemClock
from headgate.errors import StoreUnavailable
from headgate.stores.redis.line import Line
from headgate.stores.redis.place import Place
from headgate.stores.redis.wire import Refusal, command

# Seconds for one question, and for all pings together.
PATIENCE = 5.0
PINGS, LONGEST = 50, 1.5
SECTIONS = ("server", "memory", "persistence", "replication", "cluster")
# What scripts of limits do to a key, and those of `concurrent` beside that.
SCRIPTED = (
    "SET 1 x PX 1000", "GET 1", "GETRANGE 1 0 0", "SETRANGE 1 0 y", "PEXPIRE 1 1000", "DEL 1",
    "ZADD 2 1 x", "PEXPIRE 2 1000", "ZREMRANGEBYSCORE 2 0 0", "ZCARD 2", "DEL 2", "TIME",
)  # fmt: skip
HELD = (
    "HSET 1 a 1", "PEXPIRE 1 1000", "HGET 1 a", "HMGET 1 a", "HGETALL 1", "HINCRBY 1 a 1",
    "HSTRLEN 1 a", "HDEL 1 a", "ZADD 2 1 x", "PEXPIRE 2 1000", "ZSCORE 2 x", "ZCOUNT 2 0 1",
    "ZRANGE 2 0 0", "ZRANGEBYSCORE 2 0 1", "ZREM 2 x",
)  # fmt: skip
TRY = """\
local missing = {}
for number, line in ipairs(ARGV) do
  local words = {}
  for word in string.gmatch(line, '%S+') do words[#words + 1] = word end
  if words[1] ~= 'TIME' then words[2] = KEYS[words[2] + 0] end
  local reply = redis.pcall(unpack(words))
  if type(reply) == 'table' and reply.err then
    missing[#missing + 1] = words[1] .. ' ' .. reply.err
  end
end
return missing
"""


class Server(NamedTuple):
    """What is known of a server; what it would not tell is empty, and `trouble` says why.

    `info` is INFO by its fields. `skew` is how far its clock is ahead, in seconds, and `doubt` by
    how much that may be wrong. `pings` are seconds, sorted. `forbidden` are the commands that it
    refused, each with its words. `stuck` says whether it refused to write for its disk's sake.
    """

    place: str
    trouble: str = ""
    info: dict[str, str] = {}  # noqa: RUF012 - nobody changes it
    skew: float = 0.0
    doubt: float = 0.0
    pings: tuple[float, ...] = ()
    forbidden: tuple[str, ...] = ()
    cluster: dict[str, str] = {}  # noqa: RUF012 - nobody changes it
    stuck: bool = False


def interview(place: Place, held: bool, clock: SystemClock) -> Server:
    """Ask a server all there is to ask; `held` says whether places are kept there as well."""
    try:
        talk = Talk(place, clock)
    except StoreUnavailable as problem:
        return Server(str(place), str(problem))
    try:
        info = talk.info()
        pings = talk.ping()
        skew, doubt = talk.skew()
        writable = info.get("role", "master") == "master" and info.get("loading", "0") == "0"
        refused = talk.refused(held) if writable else ()
        forbidden = tuple(one for one in refused if not worded(one).startswith(OTHER))
        stuck = any(worded(one).startswith(STUCK) for one in refused)
        cluster = {}
        if info.get("cluster_enabled") == "1":
            cluster = fields(talk.ask("CLUSTER", "INFO"))
        return Server(str(place), "", info, skew, doubt, pings, forbidden, cluster, stuck)
    except StoreUnavailable as problem:
        return Server(str(place), str(problem))
    finally:
        talk.close()


class Talk:
    """A conversation with one server."""

    def __init__(self, place: Place, clock: SystemClock) -> None:
        self._clock = clock
        self._line = Line(place, clock, PATIENCE, self._deadline(), 0)

    def ask(self, *words: bytes | str | int) -> Any:
        """The answer to a command, which may be a Refusal."""
        return self._line.tell(command(*words), 1, self._deadline())[0]

    def info(self) -> dict[str, str]:
        """INFO by its fields; nothing if one may not ask for it."""
        found: dict[str, str] = {}
        for section in SECTIONS:
            found |= fields(self.ask("INFO", section))
        return found

    def ping(self) -> tuple[float, ...]:
        """How long it takes to answer, many times, from the shortest to the longest."""
        took: list[float] = []
        begun = self._clock.now()
        while len(took) < PINGS and self._clock.now() - begun < LONGEST * 1e6:
            since = self._clock.now()
            self.ask("PING")
            took.append((self._clock.now() - since) / 1e6)
        return tuple(sorted(took))

    def skew(self) -> tuple[float, float]:
        """How far its clock is ahead, and by how much that may be wrong: half the quickest trip."""
        best = (0.0, float("inf"))
        for _ in range(5):
            before = self._clock.now()
            reply = self.ask("TIME")
            after = self._clock.now()
            if not isinstance(reply, list) or len(reply) != 2:
                return 0.0, float("inf")
            there = int(reply[0]) * 1_000_000 + int(reply[1])
            doubt = (after - before) / 2e6
            if doubt < best[1]:
                best = ((there - (before + after) / 2) / 1e6, doubt)
        return best

    def refused(self, held: bool) -> tuple[str, ...]:
        """What it will not do, each command with what it said."""
        tag = secrets.token_hex(8)
        keys = [f"headgate:1:doctor:{number}:{{{tag}}}" for number in (1, 2)]
        tried = [*SCRIPTED, *(HELD if held else ())]
        found = self.ask("EVAL", TRY, 2, *keys, *tried)
        said = [f"EVAL {found}"] if isinstance(found, Refusal) else [*map(text, found or ())]
        unknown = self.ask("EVALSHA", "0" * 40, 1, keys[0])
        if isinstance(unknown, Refusal) and unknown.word != "NOSCRIPT":
            said.append(f"EVALSHA {unknown}")
        gone = self.ask("UNLINK", *keys)
        if isinstance(gone, Refusal) and gone.word != "CROSSSLOT":
            said.append(f"UNLINK {gone}")
        return tuple(said)

    def close(self) -> None:
        """Hang up."""
        self._line.close()

    def _deadline(self) -> int:
        return self._clock.now() + round(PATIENCE * 1e6)


# Who keeps a key, and whether there is room for it, are other questions than what one may do.
OTHER = ("MOVED", "ASK", "CLUSTERDOWN", "OOM", "MISCONF", "READONLY", "LOADING", "NOREPLICAS")
STUCK = "MISCONF"


def worded(one: str) -> str:
    """What a server said of a command that it refused."""
    return one.partition(" ")[2].lstrip("-")


def fields(reply: Any) -> dict[str, str]:
    """The lines `name:value` of a reply; nothing of a refusal."""
    if not isinstance(reply, bytes):
        return {}
    lines = reply.decode("utf-8", "replace").splitlines()
    return dict(line.split(":", 1) for line in lines if ":" in line)


def text(reply: Any) -> str:
    """A reply as text."""
    return reply.decode("utf-8", "replace") if isinstance(reply, bytes) else str(reply)
