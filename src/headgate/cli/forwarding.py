"""Forwarding: where a gateway listens and where requests go, said in few words."""

from __future__ import annotations

from collections.abc import Iterator

from headgate.cli.words import FEW, asked
from headgate.rules.model.gateway import Gateway
from headgate.rules.model.listen import Listen
from headgate.rules.model.route import KEEP, Route
from headgate.rules.model.scalars import lasting
from headgate.rules.model.table import spelled
from headgate.rules.model.upstream import Upstream

HEADS = ("route", "forwards", "to", "how")
# Columns that are left out where no route says anything there.
SPARE = ("route", "how")

# The lines of a cell, and the cells of a row.
Row = tuple[list[str], ...]


def opened(gateway: Gateway) -> str:
    """Where it listens, and with how many processes."""
    doors = [listener(one) for one in gateway.listen[:FEW]]
    more = [f"{len(gateway.listen) - FEW} more"] if len(gateway.listen) > FEW else []
    said = [f"the gateway listens on {' and '.join(doors + more)}"]
    said += [f"{gateway.workers} workers"] if gateway.workers > 1 else []
    said += [f"admin on {gateway.admin.listen}"] if gateway.admin is not None else []
    return ", ".join(said)


def listener(one: Listen) -> str:
    """One place where it listens."""
    how = ["tls"] if one.tls is not None else []
    how += ["proxy protocol"] if one.proxy_protocol else []
    return f"{one.address} ({', '.join(how)})" if how else str(one.address)


def table(gateway: Gateway) -> tuple[tuple[str, ...], list[Row]]:
    """What goes where, in words, under heads; columns that tell of nothing are left out."""
    groups = gateway.groups
    rows: list[Row] = [
        ([route.name] if route.name else [], [*asked(route.match)] or ["all"],
         [*aims(route.upstream, groups[route.upstream])],
         [*changed(route), *chosen(groups[route.upstream])])
        for route in gateway.routes
    ]  # fmt: skip
    kept = [
        place
        for place, head in enumerate(HEADS)
        if head not in SPARE or any(row[place] for row in rows)
    ]
    return tuple(HEADS[place] for place in kept), [tuple(row[at] for at in kept) for row in rows]


def aims(name: str, upstream: Upstream) -> Iterator[str]:
    """The servers of an upstream, under its name if it has one; not all of many."""
    if upstream.servers == (name,):
        yield name
        return
    yield f"{name}:"
    yield from upstream.servers[:FEW]
    if len(upstream.servers) > FEW:
        yield f"and {len(upstream.servers) - FEW} more"


def changed(route: Route) -> Iterator[str]:
    """What becomes of a request on the way, and how long it may take."""
    if route.host != KEEP:
        yield f"host {route.host}"
    if route.path is not None:
        yield f"path {route.path.strip}/... becomes {route.path.add}/..."
    if route.timeouts is not None:
        yield from (f"{word} {said}" for word, said in spelled(route.timeouts).items())
    if route.retries is not None:
        yield f"retries {route.retries.most}"
    if not route.upgrade:
        yield "no upgrades"


def chosen(upstream: Upstream) -> Iterator[str]:
    """Who of several is asked, and who is not."""
    if upstream.balance == "hash":
        yield f"hash of {', '.join(upstream.key)}"
    if upstream.health is not None:
        yield f"health {upstream.health.path} every {lasting(upstream.health.every)}"
    if upstream.breaker is None:
        yield "no breaker"
