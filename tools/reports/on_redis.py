"""Decisions on Redis, beside other libraries (benchmarks/on_redis.py)."""

from __future__ import annotations

from typing import Any

from reports.bars import bars
from reports.words import MADE, filled, machine, number, table, versions

CONTESTS = {"sync": "One caller", "async 64": "64 tasks", "async 256": "256 tasks"}
HEAD = ["", "decisions a second", "client us", "server us", "p50 ms", "p99 ms"]
FIELDS = ("median", "client_us", "server_us", "p50_ms", "p99_ms")


def picture(measured: dict[str, Any]) -> str:
    """256 tasks in one event loop: how many decisions a second."""
    values = {name: one["median"] for name, one in measured["async 256"].items()}
    return bars(values, "decisions a second, the median of all slices", "/s", most=True)


def page(measured: dict[str, Any]) -> str:
    """The page: a picture, a table for each contest, and leases."""
    contests = "\n\n".join(contest(measured, name, title) for name, title in CONTESTS.items())
    leased, together = measured["leased"], measured["saturated"]
    return filled(f"""\
# On Redis

{MADE}

Decisions on {measured["server"]} on the loopback, {measured["sizes"]["keys"]:,} keys, every one
a journey, everybody in
turn in slices of {measured["sizes"]["slice"]} s. {machine(measured)} Neighbours kept
{measured["neighbours"]:.1f} of the cores
busy: with more than a few tenths, believe neither rates nor shares of the ceiling, and of ratios
only the large ones.

![Decisions a second of 256 tasks](../pictures/bench_redis.svg)

{contests}

The ceiling is `redis-benchmark`, a client written in C, with our script and our keys. `client
us` is the CPU time of the
process for each decision, `server us` that of Redis; they suffer least from neighbours.

## Leases

One process on a hot key: {number(leased["median"])} decisions a second,
{leased["calls_a_decision"]:.3f} calls of
Redis for each.

{together["processes"]} processes on one key that always runs dry: {together["admitted"]:,} were
let in within
{together["seconds"]:.1f} s, {100 * together["share"]:.1f} % of what the limit gives, and in no
span more than B + R x
(span + ttl); {together["calls_a_yes"]:.3f} calls of Redis for each.

Measured were {versions(measured)}. [How it is measured, and what is not
fair](../../benchmarks/README.md#on-redis); `make bench` does it again.
""")


def contest(measured: dict[str, Any], name: str, title: str) -> str:
    """One table."""
    rows = [
        [who, *(number(one.get(field)) for field in FIELDS)]
        for who, one in measured[name].items()
        if isinstance(one, dict)
    ]
    return f"## {title}\n\n{table(HEAD, rows)}"
