"""Places: where a gateway listens and where it sends requests, read from their addresses.

    127.0.0.1:8080   [::1]:8080   :8080   unix:/run/web.sock          where it listens
    http://10.0.0.1:9000   https://a.example   unix:/run/app.sock     where a server is

One place has one spelling as a `Place`, whatever its address looks like: hosts are in lower case,
and IPv6 is as RFC 5952 has it. What is no address is a ValueError that says what would be right.
No host is looked up.
"""

from __future__ import annotations

import re
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import Any, NamedTuple

from headgate.rules.model.kinds import Misfit, Plain, shown

PORTS = {"http": 80, "https": 443}
UNIX = "unix:"
LONGEST = 300
# What the address of a socket has room for.
LONGEST_PATH = 107
LABEL = "[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
HOST = re.compile(rf"{LABEL}(?:\.{LABEL})*")
# A host that ends in a number is an IPv4 address to whoever looks it up, however it is written.
NUMERIC = re.compile("[0-9]+|0x[0-9a-f]*")
PORT = re.compile("0|[1-9][0-9]{0,4}")
SECRET = re.compile("(.*//)?.*@")
# All interfaces: of both families, and of one each.
EVERYWHERE = ("", "0.0.0.0", "::")  # noqa: S104 - nothing is bound here


class Place(NamedTuple):
    """Where a connection leads: `scheme` is http, https or unix.

    A socket has a `path`, and all else a `host` and a `port`; no host is all interfaces.
    """

    scheme: str
    host: str = ""
    port: int = 0
    path: str = ""

    @property
    def near(self) -> bool:
        """Whether nobody gets there from another machine."""
        four = self.host.startswith("127.") and NUMERIC.fullmatch(self.host.rpartition(".")[2])
        return self.scheme == "unix" or self.host in ("localhost", "::1") or bool(four)

    @property
    def claims(self) -> tuple[str, ...]:
        """What nobody else can listen on beside it; port 0 is a free one, and claims nothing."""
        if self.path:
            return (str(self),)
        hosts = (self.host,) if self.host else EVERYWHERE
        return tuple(f"{host}:{self.port}" for host in hosts) if self.port else ()

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{UNIX}{self.path}" if self.path else f"{host}:{self.port}"


def address(text: str) -> Place:
    """The place of a server: `http://host:port`, `https://host:port` or `unix:/path`."""
    tidy(text)
    if text.startswith(UNIX):
        return socket(text)
    scheme, mark, rest = text.partition("://")
    if not mark or scheme not in PORTS:
        raise ValueError(f"write http://{rest if mark else text.lstrip('/')}, or https://")
    host, slash, path = rest.partition("/")
    if path or "?" in host or "#" in host:
        plain = re.split("[/?#]", rest)[0]
        raise ValueError(f"only a host and a port stand there; write {scheme}://{plain}")
    host, port = parted(host)
    if not host:
        raise ValueError("write a host, as in http://127.0.0.1:9000")
    if port == 0:
        raise ValueError("ports go from 1 to 65535")
    return Place(scheme, host, PORTS[scheme] if port is None else port)


def listening(text: str) -> Place:
    """Where to listen: `host:port`, `[ipv6]:port`, `:port` for all interfaces, or `unix:/path`."""
    tidy(text)
    if text.startswith(UNIX):
        return socket(text)
    if "//" in text:
        raise ValueError("http or https is not said there; write a host and a port")
    if text.isdigit():
        raise ValueError(f"write 127.0.0.1:{text}, or :{text} for all interfaces")
    if text.startswith("*:"):
        raise ValueError(f"write {text[1:]} for all interfaces")
    host, port = parted(text)
    if port is None:
        raise ValueError("write a port after it, as in 127.0.0.1:8080")
    return Place("http", host, port)


def tidy(text: str) -> None:
    """Refuse what no address looks like."""
    if len(text) > LONGEST:
        raise ValueError(f"at most {LONGEST} characters")
    if not text.isascii() or not text.isprintable() or " " in text:
        raise ValueError("write it in ASCII and without blanks")
    if "@" in text and not text.startswith(UNIX):
        raise ValueError("a name and a password cannot stand there; leave them out")


def socket(text: str) -> Place:
    """The place of a socket in the file system."""
    path = text.removeprefix(UNIX)
    if not path.startswith("/") or path.startswith("//") or path.endswith("/"):
        raise ValueError("write the whole path of a socket, as in unix:/run/app.sock")
    if len(path) > LONGEST_PATH:
        raise ValueError(f"the path of a socket has at most {LONGEST_PATH} characters")
    return Place("unix", path=path)


def parted(text: str) -> tuple[str, int | None]:
    """A host, which may be empty, and a port, if there is one."""
    if text.startswith("["):
        inside, closed, rest = text[1:].partition("]")
        if not closed or (rest and rest[0] != ":"):
            raise ValueError("an IPv6 address stands in brackets, as in [::1]:8080")
        return sixth(inside), numbered(rest[1:]) if rest else None
    host, colon, port = text.partition(":")
    if ":" in port:
        raise ValueError("an IPv6 address stands in brackets, as in [::1]:8080")
    return known(host) if host else "", numbered(port) if colon else None


def sixth(text: str) -> str:
    """An IPv6 address, spelled as it is best."""
    try:
        # What ipaddress takes for a zone is none of a listener's or a server's.
        return str(IPv6Address(text if "%" not in text else ""))
    except AddressValueError:
        raise ValueError("in brackets stands an IPv6 address, as in [::1]:8080") from None


def known(text: str) -> str:
    """A host in lower case, if there can be one that is called so."""
    host = text.lower()
    if NUMERIC.fullmatch(host.rpartition(".")[2]):
        try:
            return str(IPv4Address(host))
        except AddressValueError:
            raise ValueError("an IPv4 address is four numbers from 0 to 255") from None
    if len(host) > 253 or HOST.fullmatch(host) is None:
        raise ValueError("a host is letters, digits and - . _, as in a.example")
    return host


def numbered(text: str) -> int:
    """A port."""
    if PORT.fullmatch(text) is None or int(text) > 65_535:
        raise ValueError("a port is a number up to 65535")
    return int(text)


def _server(given: Any) -> str:
    return _kept(given, address, SERVER_SAYS)


def _listener(given: Any) -> str:
    if isinstance(given, int) and not isinstance(given, bool) and 0 <= given <= 65_535:
        raise Misfit(f"; write 127.0.0.1:{given}, or :{given} for all interfaces")
    return _kept(given, listening, LISTEN_SAYS)


def _near(given: Any) -> str:
    text = _kept(given, listening, NEAR_SAYS)
    if not listening(text).near:
        raise Misfit("; others reach it there, so write 127.0.0.1")
    return text


def _kept(given: Any, read: Any, says: str) -> str:
    if not isinstance(given, str) or not given:
        raise Misfit
    try:
        read(given)
    except ValueError as problem:
        # What stands before an @ is a password.
        veiled = SECRET.sub(r"\1***@", given, count=1)
        raise ValueError(f"is {says}, not {shown(veiled)}; {problem}") from None
    return given


SERVER_SAYS = "an address such as http://127.0.0.1:9000, https://a.example or unix:/run/app.sock"
LISTEN_SAYS = "an address such as 127.0.0.1:8080, [::1]:8080, :8080 or unix:/run/web.sock"
NEAR_SAYS = "an address of this machine such as 127.0.0.1:9901 or unix:/run/admin.sock"
SERVER_PATTERN = r"^(https?://[^/@?#\s]+/?|unix:/[^/\s]\S*)$"
LISTEN_PATTERN = r"^([^/@?#\s]*:[0-9]{1,5}|unix:/[^/\s]\S*)$"
SERVER = Plain(SERVER_SAYS, _server, {"type": "string", "pattern": SERVER_PATTERN})
LISTENER = Plain(LISTEN_SAYS, _listener, {"type": "string", "pattern": LISTEN_PATTERN})
NEAR = Plain(NEAR_SAYS, _near, {"type": "string", "pattern": LISTEN_PATTERN})
