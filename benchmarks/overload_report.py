"""Report on overload: a run's figures as tables and a picture, and what was promised of them."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import report
from targets import Target

if TYPE_CHECKING:
    from collections.abc import Iterator

OURS = "BBR"
# With less of the core than this, or visitors later than that, neighbours are what is measured.
UNDISTURBED, LATE_MS = 0.8, 50.0
COLUMNS = {
    "offered": "offered/s",
    "goodput": "good/s",
    "refused": "refused/s",
    "share": "% of core",
    "given": "% given",
    "p50_ms": "p50 ms",
    "p99_ms": "p99 ms",
    "refusal_p99_ms": "refusal p99 ms",
    "late_p99_ms": "visitors late ms",
    "inside": "inside",
    "limit": "limit",
    # As long as it was calm is not at all.
    "recovery": "recovery s",
}
NAMES = {"none": "no limit", "fixed 500": "fixed, too high", "fixed 2": "fixed, too low"}
# Blue for ours; the others apart from it and from each other, also in print.
LOOKS = {
    "none": ("#999999", ":", "o"),
    "fixed 500": ("#999999", "--", "s"),
    "fixed 2": ("#999999", "-.", "v"),
    "AIMD": ("#e69f00", "-", "^"),
    "Vegas": ("#009e73", "-", "D"),
    "Gradient": ("#d55e00", "-", "P"),
    "BBR": ("#0072b2", "-", "o"),
}


def targets(results: dict[str, Any]) -> list[Target]:
    """Every promise; goodput is judged as a part of the core that neighbours left."""
    figures = results["figures"]
    ours = figures.get(OURS, {})
    best = max(each["share"] for loads in figures.values() for each in loads.values())
    found = []
    for load in ("5", "10"):
        at = _undisturbed(ours.get(load))
        parts = None if at is None else 100 * at["share"] / best
        found.append(_at_least(f"% of the best goodput at any load, {load} x", 90, parts))
        wait = None if at is None else at["refusal_p99_ms"]
        found.append(_at_most(f"ms until a refusal, p99, {load} x", 20, wait))
    ten = _undisturbed(ours.get("10"))
    back = None if ten is None else ten["recovery"]
    found.append(_at_most("s until nearly all are served after 10 x", 5, back))
    return found


def tables(results: dict[str, Any], judged: list[Target]) -> Iterator[str]:
    """The lines to print."""
    facts = results["machine"]
    build = "compiled" if facts["compiled"] else "interpreted"
    yield f"{facts['processor']}, {facts['cores']} cores, {facts['python']}, headgate {build}"
    service = results["service"]
    yield (
        f"a request waits {service['wait'] * 1000:g} ms and burns {service['cost'] * 1000:g} ms; "
        f"capacity {results['capacity']:.0f}/s; medians of {results['effort']['rounds']} rounds"
    )
    for load in next(iter(results["figures"].values())):
        yield ""
        yield f"{load} x capacity"
        yield from report._aligned(_rows(results["figures"], load))
    given = [at["given"] for loads in results["figures"].values() for at in loads.values()]
    yield ""
    yield (
        f"neighbours left the service {100 * min(given):.0f} to {100 * max(given):.0f} % of its "
        f"core; nothing is judged below {100 * UNDISTURBED:.0f} %, or if visitors were late"
    )
    yield "targets"
    yield from report._aligned(_target_rows(judged))


def draw(results: dict[str, Any], path: Path) -> None:
    """Two panels over the offered load: goodput, and the p99 of what was good."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))
    import matplotlib as mpl

    import plots
    from pictures import drawing

    with mpl.rc_context(drawing.STYLE):
        figure, panels = drawing.blank(rows=2, columns=1, size=(8, 7))
        upper, lower = panels[0][0], panels[1][0]
        for name, loads in results["figures"].items():
            colour, line, marker = LOOKS[name]
            at = [float(load) for load in loads]
            look = {"color": colour, "linestyle": line, "marker": marker, "markersize": 5}
            share = [100 * each["share"] for each in loads.values()]
            upper.plot(at, share, label=NAMES.get(name, name), **look)
            waits = [each["p99_ms"] if each["goodput"] >= 1 else None for each in loads.values()]
            lower.plot(at, waits, **look)
        upper.set_title("goodput: of the CPU there was, the part that went into answers within 1 s")
        upper.set(ylabel="%", ylim=(0, 105))
        lower.set_title("how long good answers took, 99th percentile")
        lower.set(ylabel="ms", ylim=(0, None), xscale="log", xlabel="offered load / capacity")
        lower.set_xticks([float(load) for load in loads], [f"{load} x" for load in loads])
        lower.minorticks_off()
        figure.legend(loc="outside right upper")
        drawn = io.StringIO()
        figure.savefig(drawn, format="svg", metadata={"Creator": None, "Date": None})
    path.write_text(plots.compact(drawn.getvalue()))


def _rows(figures: dict[str, Any], load: str) -> Iterator[list[str]]:
    columns = [key for key in COLUMNS if any(key in loads[load] for loads in figures.values())]
    yield ["", *(COLUMNS[key] for key in columns)]
    for name, loads in figures.items():
        at = loads[load]
        yield [NAMES.get(name, name), *(_cell(key, at.get(key)) for key in columns)]


def _cell(key: str, value: float | None) -> str:
    if value is None:
        return ""
    if key in ("share", "given"):
        return f"{100 * value:.0f}"
    return (
        f"{value:,.1f}" if key.endswith("ms") or key in ("inside", "recovery") else f"{value:,.0f}"
    )


def _target_rows(judged: list[Target]) -> Iterator[list[str]]:
    yield ["", "median", ""]
    words = {True: "met", False: "MISSED", None: "not judged"}
    for target in judged:
        yield [target.promise, report._number(target.value, 1), words[target.met]]


def _undisturbed(at: dict[str, Any] | None) -> dict[str, Any] | None:
    """The figures, if they are the service's and not its neighbours'."""
    if at is None or at["given"] < UNDISTURBED or at["late_p99_ms"] > LATE_MS:
        return None
    return at


def _at_least(promise: str, goal: float, value: float | None) -> Target:
    met = None if value is None else value >= goal
    return Target(f">= {goal} {promise}", value, value, goal, met)


def _at_most(promise: str, goal: float, value: float | None) -> Target:
    met = None if value is None else value <= goal
    return Target(f"<= {goal} {promise}", value, value, goal, met)
