"""Names: which headers mean something to a gateway, and what. The others are passed on.

Names come in any case, and the same few come again and again. So what a name means is remembered as
it was spelled; what nobody has sent before is looked up the long way.
"""

from __future__ import annotations

PLAIN = 0
# For this connection only: not passed on.
HOP = 1
LENGTH = 2
CODING = 3
CONNECTION = 4
UPGRADE = 5
HOST = 6
EXPECT = 7
# What proxies say of clients; it is believed from some.
FORWARDED = 8
# No name that every server reads alike.
ODD = 9

MEANINGS = {
    b"connection": CONNECTION,
    b"content-length": LENGTH,
    b"expect": EXPECT,
    b"forwarded": FORWARDED,
    b"host": HOST,
    b"http2-settings": HOP,
    b"keep-alive": HOP,
    b"proxy-authenticate": HOP,
    b"proxy-authorization": HOP,
    b"proxy-connection": HOP,
    b"te": HOP,
    b"transfer-encoding": CODING,
    b"upgrade": UPGRADE,
    b"x-forwarded-for": FORWARDED,
    b"x-forwarded-host": FORWARDED,
    b"x-forwarded-port": FORWARDED,
    b"x-forwarded-prefix": FORWARDED,
    b"x-forwarded-proto": FORWARDED,
    b"x-forwarded-ssl": FORWARDED,
    b"x-real-ip": FORWARDED,
}
# What `Connection` names belongs to that connection, except what an answer cannot do without, and
# what is no name.
LASTING = frozenset({
    b"", b"authorization", b"cache-control", b"close", b"content-encoding", b"content-length",
    b"content-range", b"content-type", b"cookie", b"date", b"host", b"keep-alive", b"set-cookie",
    b"transfer-encoding", b"x-forwarded-for", b"x-forwarded-host", b"x-forwarded-proto",
})  # fmt: skip
# What has no place behind a body: who frames, routes or signs in does so before it.
UNTRAILED = frozenset({
    b"authorization", b"content-encoding", b"content-range", b"content-type", b"cookie",
    b"cache-control", b"set-cookie", b"trailer", b"www-authenticate",
})  # fmt: skip
# What `Connection` usually says, of the connection alone.
LOOSE = frozenset({b"close", b"keep-alive", b"Keep-Alive", b"Close", b"upgrade", b"Upgrade"})
# So many spellings are remembered, of at most so many bytes.
REMEMBERED = 4096
LONGEST = 64
# No length has more digits.
LARGEST = 18

KNOWN: dict[bytes, int] = {}


def meaning(name: bytes) -> int:
    """What a header of this name means."""
    found = KNOWN.get(name)
    return learn(name) if found is None else found


def learn(name: bytes) -> int:
    """What a name means that nobody has sent before, or not of late."""
    lowered = name.lower()
    found = MEANINGS.get(lowered, PLAIN)
    # Many servers take an underscore for a hyphen, so that one name could pass for another.
    if b"_" in lowered or not lowered:
        found = ODD
    if len(KNOWN) >= REMEMBERED:
        KNOWN.clear()
    if len(name) <= LONGEST:
        KNOWN[name] = found
    return found


def amount(value: bytes) -> int:
    """How long something is said to be; a ValueError if that is no length."""
    total = 0
    if not 0 < len(value) <= LARGEST:
        return trimmed(value)
    for digit in value:
        if not 48 <= digit <= 57:
            return trimmed(value)
        total = 10 * total + digit - 48
    return total


def trimmed(value: bytes) -> int:
    """A length with something around it: the parser leaves spaces on, and zeros before it."""
    digits = value.strip(b" \t")
    if not digits.isdigit() or len(digits.lstrip(b"0")) > LARGEST:
        raise ValueError
    return int(digits)


def untied(said: list[bytes], ties: bytes) -> list[bytes]:
    """Headers, name after value after name, without those that `Connection` names."""
    named = {tie.strip().lower() for tie in ties.split(b",")} - LASTING
    if not named:
        return said
    kept: list[bytes] = []
    for place in range(0, len(said), 2):
        if said[place].lower() not in named:
            kept += said[place : place + 2]
    return kept


def freed(head: bytes, ties: bytes) -> bytes:
    """Lines of a head without those that `Connection` names."""
    named = {tie.strip().lower() for tie in ties.split(b",")} - LASTING
    lines = head.split(b"\r\n")
    return b"\r\n".join(one for one in lines if one.partition(b":")[0].lower() not in named)
