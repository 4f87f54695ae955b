"""Ports: where a service is reached, and in which protocol it is spoken to there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headgate.rules.model.kinds import Listing, Misfit, Plain, closest, shown
from headgate.rules.model.listen import TLS
from headgate.rules.model.place import SECRET, Place, listening
from headgate.rules.model.scalars import RULE_NAME
from headgate.rules.model.table import Table, strict, told

SPOKEN = ("http", "grpc", "resp", "spop")
# What others call them.
MEANT = {"https": "http", "grpcs": "grpc", "h2c": "grpc", "redis": "resp", "rediss": "resp",
         "spoe": "spop", "tcp": "http"}  # fmt: skip
SAYS = "an address such as http://127.0.0.1:8081, grpc://:8082 or resp://unix:/run/limits.sock"
PATTERN = rf"^({'|'.join(SPOKEN)})://([^/@?#\s]*:[0-9]{{1,5}}|unix:/[^/\s]\S*)$"


def spoken(text: str) -> tuple[str, Place]:
    """What is spoken at an address, and where that is; a ValueError says what would be right."""
    scheme, mark, rest = text.partition("://")
    if not mark:
        raise ValueError(f"say what is spoken there, as in http://{text}")
    if scheme not in SPOKEN:
        meant = MEANT.get(scheme, "")
        if scheme in ("https", "grpcs", "rediss"):
            raise ValueError(f"write {meant}://{rest}, with tls beside it")
        hint = f"; write {meant}://{rest}" if meant else closest(scheme, SPOKEN)
        raise ValueError(f"there are {', '.join(SPOKEN)}{hint}")
    return scheme, listening(rest)


def _address(given: Any) -> str:
    if not isinstance(given, str) or not given:
        raise Misfit
    try:
        spoken(given)
    except ValueError as problem:
        # What stands before an @ is a password.
        veiled = SECRET.sub(r"\1***@", given, count=1)
        raise ValueError(f"is {SAYS}, not {shown(veiled)}; {problem}") from None
    return given


ADDRESS = Plain(SAYS, _address, {"type": "string", "pattern": PATTERN})


@strict
@dataclass(frozen=True, repr=False)
class Port:
    """Where a service is reached."""

    address: Any = told(ADDRESS, "Where, and what is spoken there.")
    tls: Any = told(TLS, "What it shows to clients, who come in plain text unless said here.", None)
    caller: Any = told(
        RULE_NAME, "Whom they are taken for who come in there and show no token.", ""
    )

    @property
    def speaks(self) -> str:
        """What is spoken there: http, grpc, resp or spop."""
        return spoken(self.address)[0]

    @property
    def place(self) -> Place:
        """Where that is."""
        return spoken(self.address)[1]


PORTS = Listing(Table(Port, f"{SAYS}, or a mapping with it", "address"))
