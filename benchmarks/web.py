"""Benchmark of what a limit adds to a web request: Headgate's adapters beside the peers.

Prints tables and writes `results/web.json`. Applications are called in process, without a socket.
As in memory.py, everybody has a batch of a millisecond or two in turn, many times: read ratios
inside one run. A request that is let in is judged by the processor time that it takes above the
bare application's; one that is refused, by all that it takes. Ratios are taken round by round, from
batches that followed each other within milliseconds, and the one in the middle counts.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from dataclasses import asdict
from itertools import cycle, repeat
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import matching
import measure
import report
import web_asgi
import web_wsgi
from contestants import CLOCK, Contestant, floors
from targets import Target
from web_contestants import AMPLE, BARE, CLIENTS, OURS, SPENT, Site, check

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from measure import Batch, Figures, Sample

RESULTS = Path(__file__).parent / "results"
ROUNDS, QUICK_ROUNDS = 60, 5
SITES: dict[str, Callable[[], list[Site]]] = {
    "Starlette": web_asgi.starlette_sites,
    "FastAPI": web_asgi.fastapi_sites,
    "Flask": web_wsgi.flask_sites,
    "Django": web_wsgi.django_sites,
}
VERDICTS = {"allowed": AMPLE, "refused": SPENT}
AWAITED = ("Starlette", "FastAPI")
# Where the bar was set the bare application took 15 us, and 12 more was the most.
BAR_US, SHARE = 12, 0.8
RULES, MATCHING_US = 10_000, 3


def main(arguments: Sequence[str] | None = None) -> int:
    """Run everything; 0, or with `--assert` 1 if a target was missed."""
    options = _options(arguments)
    results = run(QUICK_ROUNDS if options.quick else ROUNDS, options.only or [*SITES])
    judged = targets(results)
    results["targets"] = [asdict(target) for target in judged]
    for line in tables(results, judged):
        print(line)
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(results, indent=2) + "\n")
    missed = any(target.met is False for target in judged)
    return 1 if missed and vars(options)["assert"] else 0


def run(rounds: int, frameworks: Sequence[str]) -> dict[str, Any]:
    """All contests, one after another; within each, everybody in turn."""
    sites = {framework: SITES[framework]() for framework in frameworks}
    present, absent = report.versions(site.package for group in sites.values() for site in group)
    results: dict[str, Any] = {
        "machine": report.machine(),
        "versions": present,
        "absent": absent,
        "rounds": rounds,
        "failed": {},
    }
    for framework, group in sites.items():
        entrants = [site for site in group if site.package in present]
        for verdict, limit in VERDICTS.items() if group[0] in entrants else ():
            name = f"{framework} {verdict}"
            print(f"{name} ...", file=sys.stderr, flush=True)
            contest = _awaited if framework in AWAITED else _called
            samples, failed = contest(entrants, limit, rounds)
            results[name] = figures(samples, verdict) if BARE in samples else {}
            results["failed"][name] = {each: got["failed"] for each, got in failed.items()}
    print("matching ...", file=sys.stderr, flush=True)
    results["matching"] = _matching(rounds)
    return results


def figures(samples: dict[str, list[Sample]], verdict: str) -> Figures:
    """Microseconds of a request: what it takes above the bare one, or if it is refused, in all.

    `least` is from the shortest batches of each, `bare` the part of what the bare one takes, and
    `ours` how much of it Headgate takes; both in the middle of all rounds.
    """
    bare = samples[BARE]
    idle = [(0.0, 0.0)] * len(bare)
    floors = {name: bare if verdict == "allowed" and name != BARE else idle for name in samples}
    spent = {name: _less(taken, floors[name]) for name, taken in samples.items() if name != CLOCK}
    return {
        name: {
            "cpu": median(cpu for _, cpu in taken) / 1e3,
            "wall": median(wall for wall, _ in taken) / 1e3,
            "least": (_least(samples[name]) - _least(floors[name])) / 1e3,
            "bare": _ratio(taken, bare),
            "ours": _ratio(spent[OURS], taken) if OURS in spent and name != BARE else None,
        }
        for name, taken in spent.items()
    }


def targets(results: dict[str, Any]) -> list[Target]:
    """Every promise; judged by the ratios of single rounds, that of the least times beside them."""
    added = "of bare Starlette, added by the middleware with its headers"
    return [
        _of_bare(results, "Starlette allowed", SHARE, added),
        # Flask and Django are asked first, who is signed in, say: a refusal passes through them.
        *(
            _of_bare(results, f"{framework} refused", 1, f"of bare {framework}, for a refusal")
            for framework in AWAITED
        ),
        _of_peer(results, "Flask allowed", "flask-limiter, headers"),
        _of_peer(results, "Django allowed", "django-ratelimit"),
        _found(results["matching"]),
    ]


def tables(results: dict[str, Any], judged: list[Target]) -> Iterator[str]:
    """The lines to print."""
    facts = results["machine"]
    build = "compiled" if facts["compiled"] else "interpreted"
    yield f"{facts['processor']}, {facts['cores']} cores, {facts['python']}, headgate {build}"
    yield ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    for framework in SITES:
        if f"{framework} allowed" in results:
            yield ""
            yield f"{framework}: us of CPU that a limit adds to a request, and of a refusal in all"
            yield from report._aligned(_rows(results, framework))
    yield ""
    yield "targets"
    yield from report._aligned(report._target_rows(judged))
    yield from _remark(results.get("Starlette allowed", {}))
    left_out = [f"{name}: {why}" for name, why in results["absent"].items()]
    for contest, failures in results["failed"].items():
        left_out += [f"{name} ({contest}): {why}" for name, why in failures.items()]
    if left_out:
        yield from ("", "left out", *(f"  {reason}" for reason in left_out))


def _awaited(sites: list[Site], limit: int, rounds: int) -> tuple[dict[str, list[Sample]], Figures]:
    """Applications that are awaited, one request after another in one event loop."""
    known = {site.name: site for site in sites}
    with asyncio.Runner() as runner:

        def prepare(entrant: Contestant) -> Batch:
            site = known[entrant.name]
            app = runner.run(_made(site, limit))
            check(site, lambda client: runner.run(web_asgi.answer(app, client)), limit)
            names = {"app": app, "receive": web_asgi.receive, "send": web_asgi.send}
            run = measure.loop(entrant, names | _requests(web_asgi), "async ")
            size = measure.batch_size(lambda keys: runner.run(measure.timed_awaited(run, keys, 1)))
            return lambda: runner.run(measure.timed_awaited(run, repeat(measure.HOT, size), size))

        return measure.sampled(_entrants(sites, web_asgi), prepare, rounds)


async def _made(site: Site, limit: int) -> Any:
    # Some look for the event loop as they are built.
    return site.build(limit)


def _called(sites: list[Site], limit: int, rounds: int) -> tuple[dict[str, list[Sample]], Figures]:
    """Applications that are called."""
    known = {site.name: site for site in sites}

    def prepare(entrant: Contestant) -> Batch:
        site = known[entrant.name]
        app = site.build(limit)
        check(site, lambda client: web_wsgi.answer(app, client), limit)
        names = {"app": app, "serve": web_wsgi.serve, "start": web_wsgi.start}
        return measure.batch_on_one_key(measure.loop(entrant, names | _requests(web_wsgi)))

    return measure.sampled(_entrants(sites, web_wsgi), prepare, rounds)


def _entrants(sites: list[Site], kind: Any) -> list[Contestant]:
    return [Contestant(site.name, site.package, lambda *_: {}, kind.CALL) for site in sites]


def _requests(kind: Any) -> dict[str, Any]:
    """Those of all clients, in turn and without end."""
    return {"requests": cycle([kind.request(client) for client in range(CLIENTS)])}


def _matching(rounds: int) -> Figures:
    """Finding one rule among ten thousand, for each kind of rule."""
    entrants = [matching.entrant(kind, RULES, matching.REQUESTS) for kind in matching.SINGLE]
    figures = measure.interleave([*floors("method"), *entrants], matching.prepare, rounds)
    return {entrant.name: figures[entrant.name] for entrant in entrants}


def _less(taken: list[Sample], floor: list[Sample]) -> list[Sample]:
    """What is left of each batch without the one of the same round that nobody can do without."""
    pairs = zip(taken, floor, strict=True)
    return [(wall - idle, cpu - rest) for (wall, cpu), (idle, rest) in pairs]


def _least(taken: list[Sample]) -> float:
    return min(cpu for _, cpu in taken)


def _ratio(ones: list[Sample], others: list[Sample]) -> float:
    return median(one / other for (_, one), (_, other) in zip(ones, others, strict=True))


def _rows(results: dict[str, Any], framework: str) -> Iterator[list[str]]:
    yield ["", "cpu", "wall", "x headgate", "refused", "wall", "x bare", "x headgate"]
    allowed, refused = results[f"{framework} allowed"], results[f"{framework} refused"]
    for name, each in allowed.items():
        cells = [name, f"{each['cpu']:.1f}", f"{each['wall']:.1f}", _times(each)]
        turned = refused.get(name)
        if turned is None or name == BARE:
            yield [*cells, "", "", "", ""]
            continue
        ratios = [f"{turned['bare']:.2f}", _times(turned)]
        yield [*cells, f"{turned['cpu']:.1f}", f"{turned['wall']:.1f}", *ratios]


def _times(figure: dict[str, Any]) -> str:
    return f"{1 / figure['ours']:.2f}" if figure["ours"] else ""


def _remark(allowed: Figures) -> Iterator[str]:
    if OURS in allowed:
        added, bare = allowed[OURS]["cpu"], allowed[BARE]["cpu"]
        yield (
            f"Starlette: {added:.1f} us added to {bare:.1f} us; that is {added * 15 / bare:.1f} us "
            f"where the bare application takes 15, and the bar is {BAR_US} us there"
        )


def _of_bare(results: dict[str, Any], contest: str, goal: float, promise: str) -> Target:
    figures = results.get(contest, {})
    if OURS not in figures:
        return Target(f"<= {goal} {promise}", None, None, goal, None)
    ours = figures[OURS]
    least = ours["least"] / figures[BARE]["least"]
    return Target(f"<= {goal} {promise}", least, ours["bare"], goal, ours["bare"] <= goal)


def _of_peer(results: dict[str, Any], contest: str, peer: str) -> Target:
    figures = results.get(contest, {})
    promise = f"<= 0.2 of what {peer} adds"
    if not {OURS, peer} <= figures.keys():
        return Target(promise, None, None, 0.2, None)
    theirs = figures[peer]
    least = figures[OURS]["least"] / theirs["least"]
    return Target(promise, least, theirs["ours"], 0.2, theirs["ours"] <= 0.2)


def _found(figures: Figures) -> Target:
    least = max(each["least"] for each in figures.values()) / 1e3
    middle = max(each["median"] for each in figures.values()) / 1e3
    promise = f"<= {MATCHING_US} us to find one of {RULES:,} rules, wall, of the slowest kind"
    return Target(promise, least, middle, MATCHING_US, least <= MATCHING_US)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a smoke run of a few seconds")
    parser.add_argument(
        "--only",
        action="append",
        choices=[*SITES],
        help="only the sites of this framework; may be given again",
    )
    parser.add_argument("--json", type=Path, default=RESULTS / "web.json", metavar="PATH")
    parser.add_argument("--assert", action="store_true", help="exit with 1 if a target is missed")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
