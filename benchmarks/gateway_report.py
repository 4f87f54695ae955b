"""Report on gateways: a run's figures as tables and a picture, and what was promised of them."""

from __future__ import annotations

import io
import sys
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import plot
import report
from gateway_contestants import ADDRESSES, CONTESTS, ENVOY, MANY, NGINX, ON_REDIS, ONE, OURS
from redis_report import _target_rows
from targets import Target

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateway_slices import Slice

    # In the middle, which is judged, and at best.
    Ratio = tuple[float | None, float | None]

COLUMNS = ("rate", "cpu_us", "p50_ms", "p99_ms")
TITLES = {
    "1 KB": "files of 1 KB",
    "100 KB": "files of 100 KB",
    "addresses": f"files of 1 KB for {ADDRESSES:,} addresses in turn",
    "refused": "everybody refused",
}


def figures(board: dict[str, list[Slice]]) -> dict[str, Any]:
    """Medians of each proxy's slices, and all of them."""
    return {
        name: {column: median(getattr(each, column) for each in taken) for column in COLUMNS}
        | {"slices": [asdict(each) for each in taken]}
        for name, taken in board.items()
    }


def targets(results: dict[str, Any]) -> list[Target]:
    """Every promise; judged by the ratios of single rounds, that of the best slices beside them."""
    small, large, many = (results["contests"][name] for name in ("1 KB", "100 KB", "addresses"))
    return [
        _at_least("% of nginx's requests a second, 1 KB", 80, _part(small, OURS, NGINX)),
        _at_least("% of nginx's requests a second, 100 KB", 100, _part(large, OURS, NGINX)),
        _at_most("x nginx's p99, 1 KB", 1.5, _ratio(small, OURS, NGINX, "p99_ms")),
        _at_most("x nginx's p99, 100 KB", 1.5, _ratio(large, OURS, NGINX, "p99_ms")),
        _at_least("x Envoy's requests a second, 1 KB", 1.7, _ratio(small, OURS, ENVOY)),
        _at_least(f"% of one address with {ADDRESSES:,}", 90, _part(many, MANY, ONE)),
        _at_least("% of nginx with a decision on Redis", 55, _part(small, ON_REDIS, NGINX)),
    ]


def tables(results: dict[str, Any], judged: list[Target]) -> Iterator[str]:
    """The lines to print."""
    facts, sizes = results["machine"], results["sizes"]
    build = "compiled" if facts["compiled"] else "interpreted"
    yield f"{facts['processor']}, {facts['cores']} cores, {facts['python']}, headgate {build}"
    yield ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    yield (
        f"medians of {sizes['rounds']} rounds of {sizes['seconds']} s, "
        f"{sizes['connections']} connections, one worker each"
    )
    if results["neighbours"] is not None:
        yield f"others kept {results['neighbours']:.1f} cores busy meanwhile"
    yield (
        "{again:,} slices of which the host kept more than {most:.0%} were taken again, "
        "{still:,} of them count for want of better"
    ).format(**results["stolen"])
    for name, board in results["contests"].items():
        if board:
            yield ""
            yield TITLES[name]
            yield from report._aligned(_rows(board, CONTESTS[name].proxies[0]))
    yield ""
    yield "targets"
    yield from report._aligned(_target_rows(judged))
    if results["failed"]:
        yield from ("", "left out", *(f"  {who}: {why}" for who, why in results["failed"].items()))


def draw(results: dict[str, Any], path: Path) -> None:
    """A row of panels for each size of file: requests a second, p99, and CPU of a request."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))
    import matplotlib as mpl
    from matplotlib.figure import Figure

    import plots
    from pictures import drawing

    sizes = {name: results["contests"][name] for name in ("1 KB", "100 KB")}
    titles = {"rate": "requests a second", "p99_ms": "p99, ms", "cpu_us": "CPU of a request, us"}
    with mpl.rc_context(drawing.STYLE):
        figure = Figure(figsize=(10, 4.5), layout="constrained")
        panels = figure.subplots(2, 3)
        for row, (size, board) in zip(panels, sizes.items(), strict=True):
            for axes, (column, title) in zip(row, titles.items(), strict=True):
                _bars(axes, {name: each[column] for name, each in board.items()})
                axes.set_title(f"{size}: {title}")
            for axes in row[1:]:
                axes.set_yticklabels([])
        drawn = io.StringIO()
        figure.savefig(drawn, format="svg", metadata={"Creator": None, "Date": None})
    path.write_text(plots.compact(drawn.getvalue()))


def _bars(axes: Any, values: dict[str, float]) -> None:
    """One bar for each, in the order they are measured in, with its figure."""
    bars = axes.barh([*values], [*values.values()], color=[plot._colour(name) for name in values])
    digits = 0 if max(values.values(), default=0) >= 1000 else 1
    axes.bar_label(bars, [f"{value:,.{digits}f}" for value in values.values()], padding=3)
    axes.invert_yaxis()
    axes.margins(x=0.25)
    axes.set_xticks([])


def _rows(board: dict[str, Any], first: str) -> Iterator[list[str]]:
    """`%` is of the first one's: requests by the wall clock, and by CPU of the proxy."""
    yield ["", "requests/s", "%", "cpu us", "% by cpu", "% of core", "p50 ms", "p99 ms", "x p99"]
    for name, each in board.items():
        wall, slower = _part(board, name, first)[0], _ratio(board, first, name, "cpu_us")[0]
        yield [
            name,
            report._number(each["rate"]),
            report._number(wall),
            report._number(each["cpu_us"], 1),
            report._number(None if slower is None else 100 * slower),
            report._number(each["rate"] * each["cpu_us"] / 1e4),
            report._number(each["p50_ms"], 2),
            report._number(each["p99_ms"], 2),
            report._number(_ratio(board, name, first, "p99_ms")[0], 2),
        ]


def _part(board: dict[str, Any], one: str, other: str) -> Ratio:
    """Requests a second, in hundredths of the other's."""
    middle, best = _ratio(board, one, other)
    return (None, None) if middle is None or best is None else (100 * middle, 100 * best)


def _ratio(board: dict[str, Any], one: str, other: str, column: str = "rate") -> Ratio:
    """One against the other, round by round, in the middle; and the best slice of each."""
    if one not in board or other not in board:
        return None, None
    ones, others = ([each[column] for each in board[name]["slices"]] for name in (one, other))
    best = max if column == "rate" else min
    pairs = zip(ones, others, strict=True)
    return median(mine / theirs for mine, theirs in pairs), best(ones) / best(others)


def _at_least(promise: str, goal: float, ratio: Ratio) -> Target:
    middle, best = ratio
    met = None if middle is None else middle >= goal
    return Target(f">= {goal} {promise}", best, middle, goal, met)


def _at_most(promise: str, goal: float, ratio: Ratio) -> Target:
    middle, best = ratio
    met = None if middle is None else middle <= goal
    return Target(f"<= {goal} {promise}", best, middle, goal, met)
