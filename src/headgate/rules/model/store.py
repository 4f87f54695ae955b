"""Stores in rules: where what was counted is kept, as a URL that is checked when it is read.

No message and no print tells the secrets that a URL may hold.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl

from headgate.rules.model.kinds import Path, Report, Schema, closest, shown
from headgate.stores.redis.place import DEMANDS, hidden, route
from headgate.stores.remote.address import SCHEMES as SERVICES
from headgate.stores.remote.address import way

SCHEMES = (
    "memory", "shared", "redis", "rediss", "valkey", "valkeys", "unix", "redis+cluster",
    "rediss+cluster", "valkey+cluster", "valkeys+cluster", "redis+sentinel", "rediss+sentinel",
    "valkey+sentinel", "valkeys+sentinel", *SERVICES,
)  # fmt: skip
LEASED = "leased+"
LONGEST = 2000


class Keeping:
    """The kind of a store: its URL."""

    says = "an address such as memory://, shared://web or redis://host"

    def read(self, given: Any, at: Path, report: Report) -> Any:
        """The URL as it is, if there can be such a store."""
        if not isinstance(given, str) or not given:
            report.add(at, f"is {self.says}, not {shown(given)}")
            return None
        problem = flaw(given)
        if problem:
            report.add(at, f"is {self.says}, not {shown(masked(given))}; {problem}")
        return given

    def spell(self, value: Any) -> Any:
        """The URL."""
        return value

    def schema(self) -> Schema:
        """In JSON Schema."""
        words = "|".join(SCHEMES).replace("+", "[+]")
        return {"type": "string", "pattern": f"^(leased[+])?({words})://"}


def flaw(url: str) -> str:
    """What is wrong with the URL of a store; nothing if all is well."""
    plain = url.removeprefix(LEASED)
    scheme, mark, rest = plain.partition("://")
    if len(url) > LONGEST:
        return f"at most {LONGEST:,} characters"
    if not mark:
        return "after the word comes ://"
    if scheme not in SCHEMES:
        return closest(scheme, SCHEMES).removeprefix("; ") or f"there are {', '.join(SCHEMES)}"
    near = scheme in ("memory", "shared")
    if near and plain != url:
        return "leases are for servers; leave leased+ out"
    if scheme == "memory":
        return "nothing follows memory://" if rest else ""
    if scheme == "shared":
        return "" if rest else "write a name that processes find each other by, as in shared://web"
    return unreachable(scheme, rest)


def unreachable(scheme: str, rest: str) -> str:
    """What is wrong with the URL of a server."""
    demand = dict(parse_qsl(rest.partition("?")[2])).get("ssl_cert_reqs", "required")
    if demand not in DEMANDS:
        return f"ssl_cert_reqs is one of {', '.join(DEMANDS)}"
    # Without TLS, whose files need not be here where rules are only read.
    family, plus, kind = scheme.partition("+")
    plain = "unix" if family == "unix" else f"redis{plus}{kind}"
    try:
        if scheme in SERVICES:
            way(f"headgate://{rest}")
        else:
            route(f"{plain}://{rest}")
    except (TypeError, ValueError) as problem:
        return str(problem).partition(": ")[2] or str(problem)
    return ""


def masked(url: str) -> str:
    """The URL without its secrets, and a mark where they were."""
    plain = hidden(url)
    if plain == url:
        return url
    scheme, mark, rest = plain.partition("://")
    login = "***@" if "@" in url else ""
    return f"{scheme}{mark}{login}{rest}{'?***' if '?' in url else ''}"


STORE = Keeping()
