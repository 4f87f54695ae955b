"""Servers: what is well with the servers of a store, and what is not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from headgate.doctor.finding import BAD, DOUBT, GOOD, UNKNOWN, Finding
from headgate.doctor.interview import Server
from headgate.stores.redis.place import Place, Route

# The oldest Redis whose scripts send on to replicas what they did.
OLDEST = (6, 2)
# Seconds that clocks may be apart, and that they may not.
ASKEW, WRONG = 1.0, 30.0
# From how full on it is soon to be full.
FULL, NEARLY = 0.98, 0.85
# The share of the budget that half of the answers may take.
SLOW = 0.25
SAFE = ("noeviction",)
# What has failed where these are not ok.
FAILED = {
    "rdb_last_bgsave_status": "could not save its data the last time",
    "aof_last_write_status": "could not write its log the last time",
}
HERE = ("localhost", "127.0.0.1", "::1")


def judged(server: Server, budget: float) -> Iterator[Finding]:
    """All that there is to say of one server."""
    if server.trouble:
        said = server.trouble.removeprefix(server.place).strip()
        yield Finding("store.reach", BAD, server.place, said)
        return
    yield Finding("store.reach", GOOD, server.place, "answers")
    if server.info:
        yield aged(server)
        yield evicting(server)
        yield roomy(server)
        yield serving(server)
        yield from stuck(server)
        yield from whole(server)
    else:
        yield Finding("store.version", UNKNOWN, server.place, "will not tell (INFO)")
    yield dated(server)
    yield permitted(server)
    yield prompt(server, budget)


def aged(server: Server) -> Finding:
    """Whether it is new enough."""
    info = server.info
    if "valkey_version" in info:
        return Finding("store.version", GOOD, server.place, f"is Valkey {info['valkey_version']}")
    said = info.get("redis_version", "")
    parts = [int(part) for part in said.split(".")[:2] if part.isdigit()]
    found = f"is Redis {said or 'of a version that it does not tell'}"
    if len(parts) < 2:
        return Finding("store.version", UNKNOWN, server.place, found)
    verdict = GOOD if tuple(parts) >= OLDEST else BAD
    return Finding("store.version", verdict, server.place, found)


def evicting(server: Server) -> Finding:
    """Whether it gives keys up that are in use; all of ours expire, so the volatile are ours."""
    policy = server.info.get("maxmemory_policy", "")
    if not policy:
        return Finding("store.eviction", UNKNOWN, server.place, "does not tell its policy")
    found = f"maxmemory-policy is {policy}"
    if policy in SAFE:
        return Finding("store.eviction", GOOD, server.place, found)
    bounded = number(server.info.get("maxmemory")) > 0
    if bounded:
        return Finding("store.eviction", BAD, server.place, found)
    return Finding("store.eviction", DOUBT, server.place, f"{found}, though no maxmemory is set")


def roomy(server: Server) -> Finding:
    """Whether there is room."""
    most, used = number(server.info.get("maxmemory")), number(server.info.get("used_memory"))
    if not most:
        return Finding("store.memory", GOOD, server.place, f"uses {size(used)}, without a bound")
    found = f"uses {size(used)} of {size(most)}"
    share = used / most
    verdict = BAD if share >= FULL else DOUBT if share >= NEARLY else GOOD
    return Finding("store.memory", verdict, server.place, found)


def serving(server: Server) -> Finding:
    """Whether it takes writes."""
    role = server.info.get("role", "")
    if role == "slave":
        primary = f"{server.info.get('master_host')}:{server.info.get('master_port')}"
        return Finding("store.role", BAD, server.place, f"is a replica of {primary}")
    return Finding("store.role", GOOD, server.place, "is a primary")


def stuck(server: Server) -> Iterator[Finding]:
    """What keeps it from writing, or may."""
    failed = [said for field, said in FAILED.items() if server.info.get(field, "ok") != "ok"]
    if server.info.get("loading", "0") != "0":
        yield Finding("store.writes", BAD, server.place, "is still loading its data")
    elif failed and server.stuck:
        yield Finding("store.writes", BAD, server.place, f"{failed[0]}, and refuses to write")
    elif failed:
        yield Finding("store.writes", DOUBT, server.place, f"{failed[0]}, and goes on")
    else:
        yield Finding("store.writes", GOOD, server.place, "writes")


def whole(server: Server) -> Iterator[Finding]:
    """Whether the cluster it is of is whole."""
    if not server.cluster:
        return
    state = server.cluster.get("cluster_state", "unknown")
    covered = number(server.cluster.get("cluster_slots_ok"))
    found = f"its cluster is {state}, with {covered:,} of 16,384 slots served"
    verdict = GOOD if state == "ok" and covered == 16_384 else BAD
    yield Finding("store.cluster", verdict, server.place, found)


def dated(server: Server) -> Finding:
    """Whether its clock and ours agree."""
    skew, doubt = server.skew, server.doubt
    if doubt == float("inf"):
        return Finding("store.clock", UNKNOWN, server.place, "does not tell the time")
    sure = max(0.0, abs(skew) - doubt)
    if sure < ASKEW:
        return Finding("store.clock", GOOD, server.place, "agrees with this machine to a second")
    way = "ahead of" if skew > 0 else "behind"
    found = f"is {abs(skew):,.0f} s {way} this machine"
    return Finding("store.clock", BAD if sure >= WRONG else DOUBT, server.place, found)


def permitted(server: Server) -> Finding:
    """Whether one may do there what is done."""
    if not server.forbidden:
        role = server.info.get("role", "master")
        if role != "master":
            return Finding("store.permissions", UNKNOWN, server.place, "not tried on a replica")
        return Finding("store.permissions", GOOD, server.place, "allows what is done there")
    words = [one.partition(" ")[0] for one in server.forbidden]
    first = server.forbidden[0].partition(" ")[2]
    found = f"refuses {', '.join(dict.fromkeys(words))}: {first}"
    return Finding("store.permissions", BAD, server.place, found)


def prompt(server: Server, budget: float) -> Finding:
    """Whether it answers in time."""
    pings = server.pings
    half, late = at(pings, 0.5), at(pings, 0.99)
    found = f"answers in {span(half)}, 99 of 100 in {span(late)}, within a budget of {span(budget)}"
    verdict = BAD if late >= budget else DOUBT if half >= budget * SLOW else GOOD
    return Finding("store.latency", verdict, server.place, found)


def reached(route: Route, servers: Sequence[Server]) -> Iterator[Finding]:
    """How one gets to the servers, and whether somebody takes over."""
    for place in route.seeds[:1]:
        yield from veiled(place if route.kind != "sentinel" else route.entry, route)
    if route.kind == "single" or any(server.trouble for server in servers):
        return
    lone = [
        server.place
        for server in servers
        if server.info.get("role") == "master" and server.info.get("connected_slaves") == "0"
    ]
    if lone:
        found = f"{', '.join(lone)} has no replica"
        yield Finding("store.failover", DOUBT, route.kind, found)
    else:
        yield Finding("store.failover", GOOD, route.kind, "every primary has a replica")


def veiled(place: Place, route: Route) -> Iterator[Finding]:
    """Whether others can read what goes there, or pose as it, or get in as well."""
    if all(near(seed) for seed in route.seeds):
        return
    if place.tls is None:
        what = "the password and all keys go" if place.password else "all keys go"
        yield Finding("store.tls", DOUBT, str(place), f"{what} there in plain text")
    elif not place.tls.verify_mode:
        found = "whoever stands between may pose as it, for ssl_cert_reqs is none"
        yield Finding("store.tls", BAD, str(place), found)
    else:
        yield Finding("store.tls", GOOD, str(place), "is reached with TLS")
    # Under TLS it may ask for a certificate, which is not told apart here.
    if not (place.password or place.username or place.provider or place.tls is not None):
        yield Finding("store.open", DOUBT, str(place), "lets in whoever reaches it")


def near(place: Place) -> bool:
    """Whether nobody is between."""
    return bool(place.path) or place.host in HERE or place.host.startswith("127.")


def number(said: str | None) -> int:
    """A whole number, 0 where there is none."""
    return int(said) if said and said.isdigit() else 0


def size(count: int) -> str:
    """A number of bytes, as people read it."""
    return f"{count / 1e6:,.1f} MB"


def span(seconds: float) -> str:
    """A short time in milliseconds."""
    return f"{seconds * 1e3:,.1f} ms"


def at(several: Sequence[float], share: float) -> float:
    """What so large a share is not above; 0 of none."""
    return several[min(len(several) - 1, int(len(several) * share))] if several else 0.0
