"""Fare: how calls to other services of ours are paid from the purse of the request they are for.

    fare = Fare("price.internal", "*.svc.cluster.local")
    client = httpx.AsyncClient(transport=Transport(httpx.AsyncHTTPTransport(), fare))

Nobody has to hand on the purse: middleware sets it for the request that is served, and `with
purse.part(10):` another one for what is done inside. A call that is made for no request, or to
somebody else, goes as it is.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, MutableMapping
from fnmatch import translate
from typing import Any

from headgate.budgets.purse import CURRENT, Loan
from headgate.drive import Flow, adrive, drive
from headgate.measures import number

# By these clients say that they found nobody to send a request to.
UNSENT = frozenset({
    "ClientConnectorError", "ConnectError", "ConnectTimeout", "ConnectionTimeoutError",
    "NewConnectionError", "PoolTimeout",
})  # fmt: skip


class Fare:
    """Gives calls to `hosts` what they may spend, and takes back what they leave.

    A host is a name, or a pattern such as `*.internal`; nobody else is ever sent a budget. A call
    is given the `share` of what is left: all of it, unless you say otherwise, which is right for
    calls that follow one another. For those that are made at once, `split` the purse.
    """

    def __init__(self, *hosts: str, share: float = 1.0) -> None:
        if not hosts or not all(isinstance(host, str) and host for host in hosts):
            raise ValueError('Fare: hosts are those of your services, such as "*.internal"')
        self.hosts = hosts
        self.share = number("Fare", "share", share, 0.0, 1.0)
        self._ours = re.compile("|".join(translate(host.lower()) for host in hosts))

    def run(
        self, host: str | None, headers: MutableMapping[str, str], send: Callable[[], Any]
    ) -> Any:
        """Send a request to a host, with these headers, and return the answer."""
        loan = self.lend(host)
        return send() if loan is None else drive(ride(loan, headers, send), lambda done: done)

    def arun(
        self, host: str | None, headers: MutableMapping[str, str], send: Callable[[], Any]
    ) -> Awaitable[Any]:
        """`run` for event loops."""
        loan = self.lend(host)
        going: Any = send() if loan is None else adrive(ride(loan, headers, send), arrived)
        return going  # type: ignore[no-any-return]

    def lend(self, host: str | None) -> Loan | None:
        """What a call to a host is given of the purse that is set; None if it is given nothing."""
        purse = CURRENT.get()
        if purse is None or self._ours.fullmatch((host or "").lower()) is None:
            return None
        return purse.lend(None if self.share == 1.0 else int(purse.fund.left * self.share))

    def __repr__(self) -> str:
        return f"Fare({', '.join(map(repr, self.hosts))})"


def ride(loan: Loan, headers: MutableMapping[str, str], send: Callable[[], Any]) -> Flow[Any]:
    """Send it with a loan, and settle that by the answer."""
    headers[loan.name] = loan.text
    try:
        answer = yield send()
    except BaseException as problem:
        if unsent(problem):
            loan.cancel()
        raise
    finally:
        # Clients that are sent elsewhere by the answer take the headers with them.
        headers.pop(loan.name, None)
    loan.settle(answer.headers.get(loan.name, ""))
    return answer


def unsent(problem: BaseException) -> bool:
    """Whether it is sure that nobody was sent the request."""
    # requests says it by the reason of the reason.
    inside = getattr(problem.args[0] if problem.args else None, "reason", None)
    kinds = {kind.__name__ for one in (problem, inside) for kind in type(one).__mro__}
    return not UNSENT.isdisjoint(kinds)


async def arrived(answer: Awaitable[Any]) -> Any:
    found: Any = await answer
    return found


def checked(who: str, fare: Any) -> Fare:
    """The fare, if it is one."""
    if not isinstance(fare, Fare):
        raise TypeError(f'{who}: fare is a Fare such as Fare("*.internal"), not {fare!r}')
    return fare
