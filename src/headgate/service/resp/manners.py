"""Manners: what clients say of themselves, and want to know of a server, before they ask anything.

Enough of it that clients of Redis connect as they are set up, in any language.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from headgate.measures import MILLION
from headgate.service.resp.numbers import Wrong
from headgate.service.resp.spoken import NOTHING, NULL, OK, bulk, error, spoken

# The Redis that clients take it for which look at its number.
LIKE = "7.4.0"
LONGEST = 200
BAD_PASS = error("invalid username-password pair or user is disabled.", "WRONGPASS")
UNKEPT = error(
    "AUTH <password> called without any password configured for the default user. Are you sure "
    "your configuration is correct?"
)
NO_PROTOCOL = error("unsupported protocol version", "NOPROTO")
ALONE = error("a service has one database; SELECT 0 or none")
# What a client may tell of itself that makes no difference here.
IDLE = (b"SETINFO", b"NO-EVICT", b"NO-TOUCH", b"TRACKING", b"CACHING")


def ping(guest: Any, words: list[bytes]) -> bytes:
    """`PING [message]`."""
    return b"+PONG\r\n" if len(words) == 1 else bulk(words[1])


def echo(guest: Any, words: list[bytes]) -> bytes:
    """`ECHO message`."""
    return bulk(words[1])


def leave(guest: Any, words: list[bytes]) -> bytes:
    """`QUIT`."""
    guest.leave()
    return OK


def select(guest: Any, words: list[bytes]) -> bytes:
    """`SELECT 0`."""
    return OK if words[1] == b"0" else ALONE


def time(guest: Any, words: list[bytes]) -> bytes:
    """`TIME`: seconds and microseconds of the day that it is."""
    seconds, rest = divmod(guest.hall.keeper.lodge.clock.now(), MILLION)
    return spoken([str(seconds), str(rest)])


def reset(guest: Any, words: list[bytes]) -> bytes:
    """`RESET`: as if nothing had been said yet."""
    guest.renew()
    return b"+RESET\r\n"


def auth(guest: Any, words: list[bytes]) -> bytes:
    """`AUTH [name] token`."""
    name, token = (b"", words[1]) if len(words) == 2 else (words[1], words[2])
    return prove(guest, name, token) or OK


def prove(guest: Any, name: bytes, token: bytes) -> bytes:
    """Take a guest for whoever has the token; what is wrong, if it cannot be."""
    callers = guest.hall.callers
    if not callers.needed:
        return UNKEPT
    caller = callers.known(token.decode("utf-8", "surrogateescape"))
    if caller is None or name not in (b"", b"default", caller.name.encode()):
        return BAD_PASS
    guest.caller = caller
    return b""


def hello(guest: Any, words: list[bytes]) -> bytes:
    """`HELLO [2 | 3] [AUTH name token] [SETNAME name]`."""
    modern, name, place = guest.modern, guest.name, 2
    if len(words) > 1:
        if words[1] not in (b"2", b"3"):
            return NO_PROTOCOL
        modern = words[1] == b"3"
    while place < len(words):
        word, left = words[place].upper(), len(words) - place - 1
        if word == b"AUTH" and left >= 2:
            problem = prove(guest, words[place + 1], words[place + 2])
            if problem:
                return problem
            place += 3
        elif word == b"SETNAME" and left >= 1:
            name = called(words[place + 1])
            place += 2
        else:
            raise Wrong(f"syntax error in HELLO option '{shown(words[place])}'")
    if guest.stranger:
        return error(
            "HELLO must be called with the client already authenticated, otherwise the HELLO "
            "<proto> AUTH <user> <pass> option can be used to authenticate the client and select "
            "the RESP protocol version at the same time",
            "NOAUTH",
        )
    guest.modern, guest.name = modern, name
    return spoken(told(guest), modern)


def told(guest: Any) -> dict[str, Any]:
    """What a server says of itself first."""
    return {
        "server": "headgate",
        "version": LIKE,
        "proto": 3 if guest.modern else 2,
        "id": guest.number,
        "mode": "standalone",
        "role": "master",
        "modules": [],
    }


def client(guest: Any, words: list[bytes]) -> bytes:
    """`CLIENT SETNAME`, `GETNAME`, `ID`, `INFO` and what makes no difference."""
    word = words[1].upper()
    # Whoever wants no replies would take those that come for answers to what it asks next.
    if word in IDLE or (word == b"REPLY" and [one.upper() for one in words[2:]] == [b"ON"]):
        return OK
    if word == b"SETNAME" and len(words) == 3:
        guest.name = called(words[2])
        return OK
    if word == b"GETNAME":
        nothing = NOTHING if guest.modern else NULL
        return bulk(guest.name) if guest.name else nothing
    if word == b"ID":
        return spoken(guest.number)
    if word == b"INFO":
        return bulk(b"id=%d name=%b resp=%d\n" % (guest.number, guest.name, 2 + guest.modern))
    return error(f"unknown subcommand '{shown(words[1])}'. Try CLIENT SETNAME, GETNAME, ID or INFO")


def info(guest: Any, words: list[bytes]) -> bytes:
    """`INFO`: as much as clients look for, and how many are here."""
    hall = guest.hall
    said = {
        "redis_version": LIKE,
        "redis_mode": "standalone",
        "server_name": "headgate",
        "process_id": os.getpid(),
        "python_version": ".".join(map(str, sys.version_info[:3])),
        "loading": 0,
        "role": "master",
        "connected_clients": len(hall.guests),
        "total_commands_processed": hall.asked,
    }
    lines = [f"{word}:{value}\r\n" for word, value in said.items()]
    return bulk(("# Server\r\n" + "".join(lines)).encode())


def command(guest: Any, words: list[bytes]) -> bytes:
    """`COMMAND`, `COMMAND COUNT`, `DOCS`, `INFO` and `LIST`: what there is."""
    verbs = guest.clerk.verbs
    word = words[1].upper() if len(words) > 1 else b""
    if word == b"COUNT":
        return spoken(len(verbs))
    if word == b"LIST":
        return spoken([verb.lower() for verb in verbs])
    asked = [verb.upper() for verb in words[2:]] or [*verbs]
    if word == b"DOCS":
        docs = {
            verb.lower(): {"summary": verbs[verb].says, "arity": arity(verbs[verb])}
            for verb in asked
            if verb in verbs
        }
        return spoken(docs, guest.modern)
    if word in (b"", b"INFO"):
        return spoken([row(verb, verbs[verb]) if verb in verbs else None for verb in asked],
                      guest.modern)  # fmt: skip
    return error(f"unknown subcommand '{shown(words[1])}'. Try COMMAND COUNT, DOCS, INFO or LIST")


def row(verb: bytes, found: Any) -> list[Any]:
    """A command as clients of clusters look for its key: they need none here."""
    return [verb.lower(), arity(found), [], 0, 0, 0, [], [], [], []]


def arity(found: Any) -> int:
    """How many words a command has; below zero, how many at least."""
    least: int = found.least
    return least if least == found.most else -least


def called(name: bytes) -> bytes:
    """The name of a connection."""
    if len(name) > LONGEST or any(not 33 <= sign <= 126 for sign in name):
        raise Wrong("Client names cannot contain spaces, newlines or special characters.")
    return name


def config(guest: Any, words: list[bytes]) -> bytes:
    """`CONFIG GET`: nothing is told of it here."""
    return spoken({}, guest.modern)


def shown(word: bytes) -> str:
    """A word of a client's, short enough to be said again."""
    return word[:64].decode("utf-8", "replace")
