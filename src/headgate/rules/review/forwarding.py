"""Forwarding: what a gateway is told that is probably not meant, each with what would be better."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import unquote

from headgate.errors import spelled
from headgate.rules.matching.paths import parse
from headgate.rules.model.gateway import Gateway
from headgate.rules.model.kinds import Path
from headgate.rules.model.place import EVERYWHERE, Place
from headgate.rules.model.route import Route
from headgate.rules.review.cover import encloses, steps
from headgate.rules.review.habits import literal

Warned = Iterator[tuple[Path, str]]

# No more routes are held against one another.
MOST = 1000
# One address by several names, as good as always.
HERE = ("localhost", "127.0.0.1", "::1")


def odd(gateway: Gateway) -> Warned:
    """All that is odd about a gateway, by the way to it from there."""
    yield from called(gateway)
    yield from circular(gateway)
    if not gateway.routes:
        said = "there is none, so every request is answered 404"
        yield ("routes",), f"{said}; write one such as {{upstream: http://127.0.0.1:9000}}"
    for number, route in enumerate(gateway.routes):
        yield from reached(gateway, number)
        for where, said in literal(route.match, ("match",)):
            yield ("routes", number, *where), said
        if not stripped(route):
            said = f"no path it meets begins with {route.path.strip}, so nothing is taken away"
            yield ("routes", number, "path", "strip"), f"{said}; match such paths, or leave it out"


def called(gateway: Gateway) -> Warned:
    """Upstreams that nothing goes to, and those that may be anybody."""
    used = {route.upstream for route in gateway.routes}
    for name, upstream in gateway.upstreams.items():
        if name not in used:
            yield ("upstreams", name), "no route leads to it; leave it out, or name it in one"
        if not upstream.tls.verify:
            said = "whoever stands between may pose as the server, and reads what is sent"
            yield ("upstreams", name, "tls", "verify"), f"{said}; say with ca whom to believe"


def circular(gateway: Gateway) -> Warned:
    """Servers that are the gateway itself."""
    listeners = {one.place[1:] for one in gateway.listen}
    lone = {route.upstream: number for number, route in reversed([*enumerate(gateway.routes)])}
    for name, upstream in gateway.groups.items():
        named = name in gateway.upstreams
        at: Path = ("upstreams", name) if named else ("routes", lone[name], "upstream")
        for place in upstream.places:
            if not listeners.isdisjoint(doors(place)):
                said = f"the gateway itself listens on {place}, so requests go in circles"
                yield at, f"{said}; write where the app is"


def doors(place: Place) -> set[tuple[str, int, str]]:
    """Where a gateway would listen that a connection to that place comes in at."""
    hosts = {place.host}
    if place.host in HERE:
        hosts |= {*HERE}
    if place.near and not place.path:
        hosts |= {*EVERYWHERE}
    return {(host, place.port, place.path) for host in hosts}


def reached(gateway: Gateway, number: int) -> Warned:
    """Whether an earlier route takes all that this one would get."""
    for earlier, route in enumerate(gateway.routes[:number] if number < MOST else ()):
        if encloses(route.match, gateway.routes[number].match):
            name = f'"{route.name}"' if route.name else spelled(("routes", earlier))
            said = f"is never reached: {name} meets all it would"
            yield ("routes", number), f"{said}; put it before that one"
            return


def stripped(route: Route) -> bool:
    """Whether there may be something to take away."""
    if route.path is None or not route.path.strip or not route.match.paths:
        return True
    prefix = [one for one in unquote(route.path.strip).split("/") if one]
    return any(begun(parse(path), prefix) for path in route.match.paths)


def begun(path: tuple[str, ...], prefix: list[str]) -> bool:
    """Whether what fits a pattern of paths can begin with these segments."""
    for number, segment in enumerate(prefix):
        if number == len(path):
            return False
        if path[number] == "**":
            return True
        if not steps(path[number], segment):
            return False
    return True
