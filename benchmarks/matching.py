"""Benchmark of finding the rules that a request meets, among ten, a thousand and ten thousand.

Of each kind of rules one matches, or in one row none. As in memory.py, everybody has a batch of
about a millisecond in turn, many times: read ratios inside one run. A hundred requests come in turn
from all over the rules; making them is not timed, taking the next one is (some 30 ns). In the
column "scattered" there is a request for each of the ten thousand rules, so that all of the index
and all of the requests have left the processor's caches when they are needed again. Asking the
rules one by one stands beside it for up to a thousand. How long it takes to make the rules and
their index is processor time, the least of three times.
"""

from __future__ import annotations

import argparse
import sys
import time
from itertools import cycle
from typing import TYPE_CHECKING, Any

import measure
import report
from contestants import Contestant, floors
from headgate.rules.matching.index import Condition, Index
from headgate.rules.matching.request import Request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from measure import Batch

ROUNDS, QUICK_ROUNDS = 200, 10
COUNTS = (10, 1_000, 10_000)
REQUESTS = 100
TARGET_NS = 3_000


def main(arguments: Sequence[str] | None = None) -> int:
    """Run everything; 0, or with `--assert` 1 if a target was missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smoke run of a few seconds")
    parser.add_argument("--assert", action="store_true", help="exit with 1 if a target is missed")
    options = parser.parse_args(arguments)
    built = {kind: building(kind) for kind in KINDS}
    entrants = [entrant(kind, count, REQUESTS) for kind in KINDS for count in COUNTS]
    entrants += [entrant(kind, COUNTS[-1], COUNTS[-1]) for kind in KINDS]
    entrants += [plain(count) for count in COUNTS[:2]]
    rounds = QUICK_ROUNDS if options.quick else ROUNDS
    figures = measure.interleave([*floors("method"), *entrants], prepare, rounds)
    for line in lines(figures, built):
        print(line)
    judged = [named(kind, count, REQUESTS) for kind in SINGLE for count in COUNTS]
    missed = [name for name in judged if figures[name].get("least", TARGET_NS) >= TARGET_NS]
    verdict = f"missed by {', '.join(missed)}" if missed else "met"
    print(f"target, below {TARGET_NS:,} ns where rules are of one kind: {verdict}")
    return 1 if missed and vars(options)["assert"] else 0


def by_path(number: int) -> tuple[Condition, Request]:
    """A rule for a tenant's orders, and a request for one of them."""
    rule = Condition((f"/v1/tenants/{number}/orders/**",))
    return rule, Request("GET", f"/v1/tenants/{number}/orders/1234")


def by_host(number: int) -> tuple[Condition, Request]:
    """A rule for a host of its own."""
    host = f"shop-{number}.example.com"
    return Condition.of({"host": [host]}), Request("GET", "/cart", host=host)


def by_header(number: int) -> tuple[Condition, Request]:
    """A rule for a header's value, under a path that all rules have."""
    rule = Condition.of({"path": ["/v1/**"], "header.x-tenant": [f"t{number}"]})
    return rule, Request("GET", "/v1/orders", {"host": "example.com", "x-tenant": f"t{number}"})


def by_method(number: int) -> tuple[Condition, Request]:
    """A rule for a method and a path."""
    rule = Condition.of({"method": ["POST"], "path": [f"/forms/{number}"]})
    return rule, Request("POST", f"/forms/{number}")


def by_network(number: int) -> tuple[Condition, Request]:
    """A rule for a network."""
    network = f"10.{number >> 8}.{number & 255}"
    return Condition.of({"client.ip": [f"{network}.0/24"]}), Request(client=f"{network}.7")


def by_all(number: int) -> tuple[Condition, Request]:
    """Rules of each of these kinds in turn."""
    return (by_path, by_host, by_header, by_method, by_network)[number % 5](number)


def by_none(number: int) -> tuple[Condition, Request]:
    """The same rules, and a request that meets none of them."""
    request = Request("GET", f"/v1/tenants/{number}/refunds/1234", host="example.com", client="::1")
    return by_all(number)[0], request


SINGLE: dict[str, Callable[[int], tuple[Condition, Request]]] = {
    "path": by_path,
    "host": by_host,
    "header": by_header,
    "method and path": by_method,
    "network": by_network,
}
KINDS = SINGLE | {"all kinds": by_all, "no match": by_none}
PLAIN = "paths, one by one"


def entrant(kind: str, count: int, requests: int) -> Contestant:
    """An index of so many rules, and so many requests."""

    def build(*_: int) -> dict[str, Any]:
        rules, asked = made(kind, count, requests)
        find = Index(rules).find
        wanted = 0 if kind == "no match" else 1
        if any(len(find(request)) != wanted for request in asked):
            raise RuntimeError(f"{kind}: a request meets other than {wanted} of {count:,} rules")
        return {"find": find, "requests": cycle(asked)}

    name = named(kind, count, requests)
    return Contestant(name, "headgate", build, "find(next(requests))", "")


def plain(count: int) -> Contestant:
    """The same rules asked one after another."""

    def build(*_: int) -> dict[str, Any]:
        rules, requests = made("path", count, REQUESTS)
        tests = [rule.build() for rule in rules]

        def find(request: Request) -> list[int]:
            return [number for number, test in enumerate(tests) if test(request)]

        return {"find": find, "requests": cycle(requests)}

    name = named(PLAIN, count, REQUESTS)
    return Contestant(name, "headgate", build, "find(next(requests))", "")


def named(kind: str, count: int, requests: int) -> str:
    """What it is called among the figures."""
    return f"{count:,} of {kind}" + (" scattered" if requests > REQUESTS else "")


def made(kind: str, count: int, requests: int) -> tuple[list[Condition], list[Request]]:
    """Rules of a kind, and requests from all over them."""
    pairs = [KINDS[kind](number) for number in range(count)]
    spread = [number * 7919 % count for number in range(min(count, requests))]
    return [rule for rule, _ in pairs], [pairs[number][1] for number in spread]


def prepare(entrant: Contestant) -> Batch:
    """A batch of about a millisecond."""
    return measure.batch_on_one_key(measure.loop(entrant, entrant.build(0, 0, 0)))


def lines(figures: dict[str, dict[str, Any]], built: dict[str, float]) -> Iterator[str]:
    """The table."""
    facts = report.machine()
    yield f"{facts['processor']}, {facts['cores']} cores, {facts['python']}"
    yield "ns to find the rules of a request, wall, least and (median) of all rounds"
    heads = [*(f"{count:,} rules" for count in COUNTS), "scattered", "built in"]
    yield f"{'':20}{''.join(f'{head:>22}' for head in heads)}"
    for kind in [*KINDS, PLAIN]:
        names = [named(kind, count, REQUESTS) for count in COUNTS]
        names.append(named(kind, COUNTS[-1], COUNTS[-1]))
        cells = [cell(figures.get(name)) for name in names]
        cells.append(f"{built[kind]:.2f} s" if kind in built else "")
        yield f"{kind:20}{''.join(f'{each:>22}' for each in cells)}".rstrip()


def cell(timing: dict[str, Any] | None) -> str:
    """One figure, or why there is none."""
    if timing is None:
        return ""
    if "failed" in timing:
        return str(timing["failed"])
    return f"{timing['least']:,.0f} ({timing['median']:,.0f})"


def building(kind: str) -> float:
    """Seconds to make the most rules and their index."""
    taken = []
    for _ in range(3):
        began = time.process_time()
        Index(KINDS[kind](number)[0] for number in range(COUNTS[-1]))
        taken.append(time.process_time() - began)
    return min(taken)


if __name__ == "__main__":
    sys.exit(main())
