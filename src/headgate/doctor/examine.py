"""Examine: all checks of one setup, in an order in which one mends them.

for one in examine("rules.yaml"):
    print(one)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from headgate.clock import SystemClock
from headgate.doctor.files import guarded
from headgate.doctor.finding import BAD, Finding
from headgate.doctor.interview import PATIENCE, Server, Talk, interview
from headgate.doctor.machine import Machine, fit, here
from headgate.doctor.servers import judged, reached
from headgate.doctor.settings import counting, exposed, legible, sheet, trusting
from headgate.errors import HeadgateError, StoreUnavailable
from headgate.rules.model.rules import Rules
from headgate.rules.model.store import LEASED, masked
from headgate.stores.redis.place import Place, Route, route
from headgate.stores.redis.store import BUDGET
from headgate.stores.redis.wire import Refusal
from headgate.stores.remote.address import SCHEMES as SERVICES
from headgate.stores.remote.address import way

# So many servers of a cluster are asked, all at once.
MOST = 32


def examine(file: str, store: str = "", machine: Machine | None = None) -> Iterator[Finding]:
    """What is found, good and bad; `store` is looked at instead of where the rules count."""
    page = sheet(file)
    yield from legible(page)
    rules = page.rules
    if rules is None:
        return
    yield from counting(page, rules)
    yield from trusting(page, rules)
    yield from exposed(page, rules)
    yield from guarded(page, rules)
    found = here() if machine is None else machine
    yield from fit(found, rules, file)
    url = store or rules.store
    if not url.startswith(("memory:", "shared:")) and found.has("hiredis"):
        yield from stored(url, rules)


def stored(url: str, rules: Rules) -> Iterator[Finding]:
    """What is found at a store on servers."""
    plain = url.removeprefix(LEASED)
    clock = SystemClock()
    try:
        if plain.startswith(SERVICES):
            yield from served(way(plain), clock)
            return
        road = route(plain)
        places = [*found(road, clock)]
    except (HeadgateError, ValueError) as problem:
        yield Finding("store.reach", BAD, masked(url), str(problem))
        return
    held = any(rule.concurrent for rule in rules.rules)
    servers = asked(places, held, clock)
    yield from reached(road, servers)
    for server in servers:
        yield from judged(server, road.budget or BUDGET)


def asked(places: Sequence[Place], held: bool, clock: SystemClock) -> list[Server]:
    """What servers say of themselves, all asked at once."""
    with ThreadPoolExecutor(len(places)) as pool:
        return [*pool.map(partial(interview, held=held, clock=clock), places)]


def served(road: Route, clock: SystemClock) -> Iterator[Finding]:
    """What is found at a service of headgate's own: whether it answers, and in time."""
    place = road.entry
    try:
        talk = Talk(place, clock)
    except StoreUnavailable as problem:
        yield Finding("store.reach", BAD, str(place), str(problem))
        return
    try:
        pings = talk.ping()
    except StoreUnavailable as problem:
        yield Finding("store.reach", BAD, str(place), str(problem))
        return
    finally:
        talk.close()
    yield from reached(road, ())
    for one in judged(Server(str(place), pings=pings, doubt=float("inf")), road.budget or BUDGET):
        if one.check in ("store.reach", "store.latency"):
            yield one


def found(road: Route, clock: SystemClock) -> Iterator[Place]:
    """The servers that keep keys: those of a cluster, or the primary that sentinels name."""
    if road.kind == "single":
        yield road.entry
        return
    problem: StoreUnavailable | None = None
    for seed in road.seeds:
        try:
            talk = Talk(seed, clock)
        except StoreUnavailable as trouble:
            problem = trouble
            continue
        try:
            reply = talk.ask(*inquiry(road))
        finally:
            talk.close()
        if isinstance(reply, list) and reply:
            yield from named(road, seed, reply)
            return
        said = reply if isinstance(reply, Refusal) else f"knows nothing of {road.name or 'slots'}"
        problem = StoreUnavailable(f"{seed}: {said}")
    raise problem or StoreUnavailable(f"nobody answered within {PATIENCE:g} s")


def inquiry(road: Route) -> tuple[str, ...]:
    """What one asks to learn who keeps the keys."""
    if road.kind == "cluster":
        return ("CLUSTER", "SLOTS")
    return ("SENTINEL", "GET-MASTER-ADDR-BY-NAME", road.name)


def named(road: Route, seed: Place, reply: list[object]) -> Iterator[Place]:
    """The servers that a reply names, each once."""
    if road.kind == "sentinel":
        host, port = reply
        yield road.entry.at(text(host), int(text(port)))
        return
    met: dict[tuple[str, int], None] = {}
    for one in reply:
        primary = one[2]  # type: ignore[index]
        met[text(primary[0]) or seed.host, int(primary[1])] = None
    for host, port in [*met][:MOST]:
        yield road.entry.at(host, port)


def text(said: object) -> str:
    """What a server said, as text."""
    return said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
