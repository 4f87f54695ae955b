"""Report on Redis: a run's figures as tables for people, and the promises held against them."""

from __future__ import annotations

from math import nan
from statistics import median
from typing import TYPE_CHECKING, Any

import report
from ceiling import CEILING
from leases import BURST, RATE
from redis_contestants import OURS, awaited, callers
from targets import Target

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    # In the middle, which is judged, and at best.
    Figure = tuple[float | None, float | None]

CLIENTS = ("redis", "hiredis", "coredis", "uvloop")
CONTESTS = {
    "sync": "one caller that waits for every answer",
    "async 64": "64 tasks in one event loop",
    "async 256": "256 tasks in one event loop",
}


def packages() -> list[str]:
    """What the contestants are, and the clients they lean on."""
    return [each.package for each in [*callers(), *awaited()]] + [*CLIENTS]


def targets(results: dict[str, Any]) -> list[Target]:
    """Every promise; `met` is None where the run did not measure what it takes."""
    sync, crowd = results["sync"], results["async 256"]
    hot, saturated = results["leased"], results["saturated"]
    return [
        _at_least("x the fastest peer, 256 tasks", 5, _lead(crowd)),
        _at_least("% of the server's ceiling, 256 tasks", 80, _height(crowd)),
        _at_least("x the fastest peer, one caller", 1.5, _lead(sync)),
        _at_least("leased decisions a second, one process", 1_000_000, _both(hot)),
        _at_least(
            "units to spare under B + R x (span + ttl), leased, 4 processes",
            0,
            (saturated.get("spare"), None),
        ),
    ]


def tables(results: dict[str, Any], judged: list[Target]) -> Iterator[str]:
    """The lines to print."""
    facts = results["machine"]
    build = "compiled" if facts["compiled"] else "interpreted"
    yield f"{facts['processor']}, {facts['cores']} cores, {facts['python']}, headgate {build}"
    named = [f"{name} {version}" for name, version in results["versions"].items()]
    yield ", ".join([results["server"], results["loop"], *named])
    if results["neighbours"] is not None:
        yield f"others kept {results['neighbours']:.1f} cores busy meanwhile"
    for contest, title in CONTESTS.items():
        yield ""
        yield f"{title}, {results['sizes']['keys']:,} keys"
        yield from report._aligned(_rows(results[contest]))
    yield ""
    yield from _leases(results)
    yield ""
    yield "targets"
    yield from report._aligned(_target_rows(judged))
    yield from _omissions(results)


def _lead(figures: dict[str, Any]) -> Figure:
    """How many times the rate of the fastest peer we have."""
    return _ratio(figures, [name for name in figures if not name.startswith((OURS, CEILING))], 1)


def _height(figures: dict[str, Any]) -> Figure:
    """How near we come to the ceiling, in hundredths."""
    return _ratio(figures, [name for name in figures if name.startswith(CEILING)], 100)


def _ratio(figures: dict[str, Any], others: list[str], unit: int) -> Figure:
    """Us against the strongest, round by round, in the middle; and our best against their best."""
    ours = figures.get(OURS)
    if ours is None or not others:
        return None, None
    best = ours["best"] / max(figures[name]["best"] for name in others)
    return unit * min(_paired(ours, figures[name]) for name in others), unit * best


def _paired(ours: dict[str, Any], theirs: dict[str, Any]) -> float:
    """The median of what they make of it in the same round: a drift touches both alike."""
    pairs = zip(ours["rates"], theirs["rates"], strict=True)
    return float(median([one / other for one, other in pairs if one and other] or [nan]))


def _both(figures: dict[str, Any]) -> Figure:
    return figures.get("median"), figures.get("best")


def _at_least(promise: str, goal: float, figure: Figure) -> Target:
    middle, best = figure
    met = None if middle is None else middle >= goal
    return Target(f">= {goal:,} {promise}", best, middle, goal, met)


def _rows(figures: dict[str, Any]) -> Iterator[list[str]]:
    above = max((e["median"] for name, e in figures.items() if name.startswith(CEILING)), default=0)
    yield [
        "",
        "best/s",
        "median/s",
        "/ headgate",
        "client us",
        "server us",
        "p50 ms",
        "p99 ms",
        "% of ceiling" if above else "",
    ]
    ours = figures.get(OURS, {}).get("median")
    for name, each in figures.items():
        yield [
            name,
            report._number(each["best"]),
            report._number(each["median"]),
            report._number(each["median"] / ours if ours else None, 2),
            report._number(each["client_us"], 1),
            report._number(each["server_us"], 1),
            report._number(each["p50_ms"], 2),
            report._number(each["p99_ms"], 2),
            report._number(100 * each["median"] / above if above else None),
        ]


def _leases(results: dict[str, Any]) -> Iterator[str]:
    hot, crowd = results["leased"], results["saturated"]
    if hot:
        yield "leased, one process on a key that never runs dry"
        yield f"  {hot['best']:,.0f} decisions a second (median {hot['median']:,.0f})"
        calls = f"{hot['calls_a_decision']:.5f} calls of Redis"
        yield f"  {hot['client_us']:.2f} us of CPU and {calls} for each"
        yield f"  {hot['x_memory']:.2f} times as long as in memory, fetching included"
    if crowd:
        key = f"one key of {RATE:,}/s, burst {BURST:,}"
        yield f"leased, {crowd['processes']} processes on {key}, {crowd['seconds']:.1f} s"
        alone = f"{crowd['degraded']:,} of them without the server"
        yield f"  {crowd['rate']:,.0f} decisions a second in all, {alone}"
        share = f"{100 * crowd['share']:.1f} % of B + R x t"
        yield f"  {crowd['admitted']:,} admitted, {share}"
        yield f"  {crowd['calls_a_yes']:.3f} calls of Redis for each admitted"


def _target_rows(judged: Iterable[Target]) -> Iterator[list[str]]:
    yield ["", "median", "best", ""]
    words = {True: "met", False: "MISSED", None: "not measured"}
    for target in judged:
        figures = [
            report._number(each, 0 if target.goal >= 1000 else 2)
            for each in (target.median, target.value)
        ]
        yield [target.promise, *figures, words[target.met]]


def _omissions(results: dict[str, Any]) -> Iterator[str]:
    """Who is not in the tables, or not with every slice, and why."""
    reasons = [f"{name}: {reason}" for name, reason in results["absent"].items()]
    for contest, failures in results["failed"].items():
        reasons += [f"{name} ({contest}): {why}" for name, why in failures.items()]
    for contest in CONTESTS:
        for name, each in results[contest].items():
            if each["discarded"]:
                lost = f"{each['discarded']} of {each['slices'] + each['discarded']} slices"
                reasons.append(f"{name} ({contest}): {lost} decided without the server")
    if reasons:
        yield ""
        yield "left out"
        yield from (f"  {reason}" for reason in reasons)
