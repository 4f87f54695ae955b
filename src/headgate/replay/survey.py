"""Surveys: which limits the traffic of a log asks for, and a rule to begin with."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from math import ceil, sqrt
from typing import Any, NamedTuple

from headgate.replay.demand import DEEPEST, Demands
from headgate.replay.fit import knows, wanted
from headgate.replay.hits import Hit
from headgate.replay.knee import Knee, Point, knee
from headgate.replay.loads import Crowd
from headgate.replay.player import Player
from headgate.replay.run import SECOND, Log, Progress, Span, Terms, common, counted, ordered, read
from headgate.rules.clients.client import Client
from headgate.rules.matching.facts import Fact, template
from headgate.rules.model.rule import Rule
from headgate.rules.model.rules import Rules

UNITS = {"s": 1, "min": 60, "h": 3600, "day": 86_400}
STEPS = (1, 2, 3, 5, 10, 15, 20, 30, 50, 100, 150, 200, 300, 500, 1000, 1500, 2000, 3000, 5000,
         10_000, 20_000, 30_000, 50_000, 100_000)  # fmt: skip
SHARES = (0.5, 0.9, 0.95, 0.99, 0.999, 1.0)
WINDOWS = ("s", "min", "h", "day")
# The knee of one part of the time may be so many times that of another.
STEADY = 1.5
PARTS = 4
ROUGH = (
    "stamps are whole seconds, so nobody can tell who was inside at the same time; write them with "
    "milliseconds, as $msec does"
)


class Wish(NamedTuple):
    """Which limit is looked for: for whom, how often it may refuse, and in which unit."""

    key: tuple[str, ...] = ("client.ip",)
    touch: float = 0.001
    # Whether that is a share of keys, and not of requests.
    keys: bool = True
    per: str = "min"
    path: tuple[str, ...] = ()
    client: Client = Client()


def survey(logs: list[Log], wish: Wish, terms: Terms, progress: Progress) -> dict[str, Any]:
    """Read logs, and tell which limits their traffic asks for."""
    form = common(logs)
    for part in wish.key:
        unknown = [
            one for one in template(part) if isinstance(one, Fact) and not knows(form, str(one))
        ]
        if unknown:
            raise ValueError(
                f"key: the log does not have {unknown[0]}; it has {', '.join(sorted(form.told))}"
            )
    # What it would allow does not matter here.
    rule = Rule(**about(wish), limit="1/s", **({"empty_key": "allow"} if wish.key else {}))
    rules = Rules([rule], client=wish.client)
    asker = Asker(rules, UNITS[wish.per] * SECOND)
    orders = ordered(logs, terms, wanted(rules))
    span = Span()
    for batch in span.over(counted(logs, orders, progress), terms.spread):
        asker.add(batch)
    return {
        "format": form.label,
        "files": [read(log, order) for log, order in zip(logs, orders, strict=True)],
        **span.told(),
        "limits": asked(asker.demands, wish),
        "knee": curve(asker.crowd),
    }  # fmt: skip


class Asker:
    """Who asks how often, and how long it takes."""

    def __init__(self, rules: Rules, period: int) -> None:
        self._player = Player(rules)
        self._ruling = self._player.book.rulings[0]
        self._plain = self._ruling.turnstile is not None and self._ruling.turnstile.near
        self.demands = Demands([*STEPS], period)
        self.crowd = Crowd()

    def add(self, hits: list[Hit]) -> None:
        """Requests, in the order of time."""
        for hit, key in self._keyed(hits):
            self.demands.add(key, hit.at)
        self.crowd.add(hits)

    def _keyed(self, hits: list[Hit]) -> Iterator[tuple[Hit, str]]:
        player, ruling = self._player, self._ruling
        for hit in hits:
            spot = hit.spot
            if not player.book.meant(spot.method, spot.path):
                continue
            if ruling.key is None:
                yield hit, ""
                continue
            key = player.client(hit) if self._plain else ruling.key(player.request(hit))
            if key:
                yield hit, key


def asked(demands: Demands, wish: Wish) -> dict[str, Any]:
    """How often keys ask, and which limits touch few of them."""
    people = list(demands.keys.values())
    table = {
        word: quantiles(sorted(one.busiest(number) for one in people))
        for number, word in enumerate(WINDOWS)
    }
    options = list(choices(demands, wish)) if people else []
    best = next(
        (one for one in options if one["burst"] <= one["count"]), options[-1] if options else None
    )
    sampled = demands.mask + 1
    return {
        "key": ", ".join(wish.key) or "all together",
        "keys": len(people) * sampled,
        "sampled": sampled > 1,
        "error": margin(wish, len(people)) if sampled > 1 else 0.0,
        "requests": demands.asked + demands.skipped,
        "touch": wish.touch,
        "of": "keys" if wish.keys and wish.key else "requests",
        "busiest": table,
        "options": options,
        "best": best,
        "rule": None if best is None else spelled(best, wish),
    }


def quantiles(values: Sequence[int]) -> dict[str, int]:
    """What so large a share of keys does not go beyond."""
    if not values:
        return {}
    return {
        f"{share:.1%}".replace(".0%", "%"): values[max(0, ceil(share * len(values)) - 1)]
        for share in SHARES
    }


def choices(demands: Demands, wish: Wish) -> Iterator[dict[str, Any]]:
    """For each rate, the smallest burst with which no more is touched than may be."""
    unit = UNITS[wish.per]
    last = 0
    for number, step in enumerate(STEPS):
        if wish.keys and wish.key:
            needs = sorted(one.needed(number) for one in demands.keys.values())
            burst, touched = few(needs, demands.period, wish.touch)
        else:
            burst, touched = shallow(demands.depths[number], wish.touch)
        if not burst:
            continue
        if burst == last == 1:
            # A greater rate changes nothing any more.
            return
        last = burst
        yield {
            "limit": f"{step}/{wish.per} burst {burst}", "count": step, "burst": burst,
            "touched": touched, "wait": round(burst * unit / step, 3),
        }  # fmt: skip


def few(needs: Sequence[int], period: int, touch: float) -> tuple[int, float]:
    """The burst that is enough for all but so large a share of keys, and the share it touches."""
    may = min(int(touch * len(needs)), len(needs) - 1)
    burst = -(-needs[len(needs) - 1 - may] // period)
    return burst, (len(needs) - bisect_right(needs, burst * period)) / len(needs)


def shallow(depths: Sequence[int], touch: float) -> tuple[int, float]:
    """The burst beyond which so small a share of requests goes, and that share; 0 if too deep."""
    whole = sum(depths)
    beyond = whole
    for depth, count in enumerate(depths):
        beyond -= count
        if beyond <= touch * whole:
            # The last one stands for all that are deeper.
            return (0, 0.0) if depth == DEEPEST else (max(1, depth), beyond / whole)
    return 0, 0.0


def margin(wish: Wish, keys: int) -> float:
    """By how much the share of touched keys may be off, where only some were followed (95 %)."""
    share = max(wish.touch, 1 / max(1, keys))
    return 1.96 * sqrt(share * (1 - share) / max(1, keys))


def spelled(best: dict[str, Any], wish: Wish) -> dict[str, Any]:
    """A rule to begin with, in shadow."""
    rule = about(wish)
    rule |= {"limit": best["limit"], "mode": "shadow"}
    # Whatever is suggested is a good rule.
    Rule(**rule)
    return rule


def about(wish: Wish) -> dict[str, Any]:
    """What a rule is about, and whom it counts."""
    rule: dict[str, Any] = {"name": "suggested"}
    if wish.path:
        rule["match"] = {"path": list(wish.path) if len(wish.path) > 1 else wish.path[0]}
    if wish.key:
        rule["key"] = list(wish.key) if len(wish.key) > 1 else wish.key[0]
    return rule


def curve(crowd: Crowd) -> dict[str, Any] | None:
    """The knee of a log whose requests say how long they took."""
    if not crowd.parts:
        return None
    if crowd.rough:
        return {"points": [], "concurrency": None, "flaws": [ROUGH], "rule": adaptive()}
    points = crowd.points()
    found = bent(points, knee(points))
    parts = [
        knee(crowd.points(part / PARTS, (part + 1) / PARTS)) for part in range(PARTS)
    ]  # fmt: skip
    sure = [one.concurrency for one in parts if one is not None and not one.flaw]
    if len(sure) > 1 and max(sure) > STEADY * min(sure):
        found["flaws"].append(
            f"the knee moves with time, between {min(sure):.0f} and {max(sure):.0f} at once"
        )
        found["rule"] = adaptive()
    return found


def bent(points: Sequence[Point], found: Knee | None) -> dict[str, Any]:
    """A knee as plain data, and the rule that follows: an adaptive one if it is not sure."""
    curve = [point._asdict() for point in points]
    if found is None:
        flaw = "there are too few points; it takes four loads of different sizes"
        return {"points": curve, "concurrency": None, "flaws": [flaw], "rule": adaptive()}
    fixed = {"name": "suggested", "concurrent": max(1, round(found.concurrency)), "mode": "shadow"}
    Rule(**fixed)
    return {
        "points": curve,
        "concurrency": round(found.concurrency, 2),
        "kneedle": round(found.kneedle, 2),
        "latency": found.latency,
        "throughput": found.throughput,
        "flaws": [found.flaw] if found.flaw else [],
        "rule": adaptive() if found.flaw else fixed,
    }


def adaptive() -> dict[str, Any]:
    """What finds the number by itself."""
    return {"name": "suggested", "adaptive": "vegas", "mode": "shadow"}
