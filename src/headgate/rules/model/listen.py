"""Listen: where a gateway is reached, by clients and by whoever looks after it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headgate.errors import spelled as way
from headgate.rules.model.kinds import Listing, Misfit, Path, Plain, Report
from headgate.rules.model.place import LISTENER, NEAR, Place, listening
from headgate.rules.model.scalars import flag
from headgate.rules.model.secret import HIDDEN, SPARE
from headgate.rules.model.table import Table, spelled, strict, told

LONGEST = 4000


def _file(given: Any) -> str:
    if not isinstance(given, str) or not given:
        raise Misfit
    if len(given) > LONGEST or not given.isprintable():
        raise Misfit(f"; at most {LONGEST:,} characters that can be printed")
    return given


def file(says: str) -> Plain:
    """A kind of names of files; whether there is one is seen where it is needed."""
    return Plain(says, _file, {"type": "string", "minLength": 1, "maxLength": LONGEST})


@strict
@dataclass(frozen=True, repr=False)
class Tls:
    """What a listener shows to its clients, and asks of them."""

    certificate: Any = told(
        file("a file of certificates in PEM"), "Its certificate, and those above it."
    )
    key: Any = told(file("a file with a private key in PEM"), "Its private key.")
    clients: Any = told(
        file("a file of certificates in PEM"),
        "Who signs the certificates that clients have to show; they show none unless said here.",
        "",
    )


TLS = Table(Tls, "a mapping such as {certificate: web.pem, key: web.key}")


@strict
@dataclass(frozen=True, repr=False)
class Listen:
    """Where clients come in."""

    address: Any = told(LISTENER, "Where.")
    tls: Any = told(TLS, "What it shows to clients, who come in plain text unless said here.", None)
    proxy_protocol: Any = told(
        flag("whether a line about the client comes first"),
        "Whether each connection begins with the PROXY protocol.",
        False,
    )

    @property
    def place(self) -> Place:
        """Where that is; its scheme is https with TLS, and unix for a socket."""
        place = listening(self.address)
        return place if self.tls is None or place.path else place._replace(scheme="https")


LISTEN = Listing(Table(Listen, f"{LISTENER.says}, or a mapping with it", "address"))


@strict
@dataclass(frozen=True, repr=False)
class Admin:
    """Where whoever looks after the gateway asks how it is. It is not reached from elsewhere."""

    listen: Any = told(NEAR, "Where, on this machine alone.")
    token: Any = told(
        SPARE, "What has to be shown there; one is made at the start unless said here.", ""
    )

    @property
    def place(self) -> Place:
        """Where that is."""
        return listening(self.listen)

    def __repr__(self) -> str:
        said = [f"{name}={given!r}" for name, given in hushed(spelled(self)).items()]
        return f"Admin({', '.join(said)})"


def hushed(plain: Any) -> Any:
    """The plain data of an `Admin` with a mark where its token stands."""
    return {**plain, "token": HIDDEN} if isinstance(plain, dict) and "token" in plain else plain


def apart(listen: Sequence[Any], admin: Admin | None, report: Report, at: Path) -> None:
    """Whether each listener has a place to itself."""
    listeners: list[tuple[Any, Path]] = [
        (one, ("listen", number) if len(listen) > 1 else ("listen",))
        for number, one in enumerate(listen)
    ]
    if admin is not None:
        listeners.append((admin, ("admin",)))
    taken: dict[str, Path] = {}
    for one, where in listeners:
        place = one.place
        others = [taken[claim] for claim in place.claims if claim in taken]
        if others:
            said = f"{place} is taken by {way(others[0])}; choose another"
            report.add((*at, *where), said)
        for claim in place.claims:
            taken.setdefault(claim, where)


ADMIN = Table(Admin, f"{NEAR.says}, or a mapping with listen", "listen")
