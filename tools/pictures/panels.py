"""How the pictures of many limits beside each other are drawn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from pictures.colours import FAINT, IN, INK, OUT, QUIET
from pictures.workloads import CONTENDERS, RULES, SECONDS, SLOT, Figures

HIGHEST = 12.0


def workloads(figures: Figures) -> Figure:
    """A row for each limit, a column for each workload."""
    loads = [name for name in figures if " | " not in name]
    figure, grid = blank(len(CONTENDERS), len(loads), (10, 10.6))
    for column, load in enumerate(loads):
        for row, name in enumerate(CONTENDERS):
            axes = grid[row][column]
            offered, entered = figures[load], figures[f"{load} | {name}"]
            slots(axes, offered, QUIET)
            slots(axes, entered, IN)
            went = f"{sum(entered):g} of {sum(offered):g}"
            axes.set_title(went, loc="right", fontsize=8)
            axes.set(xlim=(0, SECONDS), ylim=(0, HIGHEST), xticks=(0, 3, 6), yticks=(0, 5, 10))
            axes.tick_params(left=False, bottom=False)
            axes.grid(visible=False)
        grid[0][column].set_title(load, loc="left", fontweight="bold")
    for row, name in enumerate(CONTENDERS):
        grid[row][0].set_ylabel(name.replace(", ", ",\n"), fontsize=8.5)
    figure.supxlabel("seconds", fontsize=9)
    legend(figure, Patch(color=QUIET, label="offered"), Patch(color=IN, label="went in"))
    return figure


def slots(axes: Axes, counts: list[float], colour: str) -> None:
    """A step for each slot; what does not fit goes on above the picture."""
    heights = [min(count, HIGHEST + 1) for count in counts]
    edges = [SLOT * number for number in range(len(counts) + 1)]
    axes.stairs(heights, edges, color=colour, fill=True, linewidth=0)


def worst(figures: Figures) -> Figure:
    """For each limit, what attackers got into spans of any length, below what is promised."""
    figure, grid = blank(2, 4, (10, 4.8))
    spans = figures["spans"]
    for number, name in enumerate(CONTENDERS):
        axes = grid[number // 4][number % 4]
        axes.plot(spans, figures[f"{name}, promised"], color=OUT, linewidth=1.4)
        axes.fill_between(spans, figures[name], color=IN, alpha=0.85, linewidth=0)
        axes.plot(spans, [10 * span for span in spans], color=INK, linewidth=0.9, linestyle="--")
        axes.set_title(name, fontsize=9)
        axes.set(xlim=(0.1, 2.5), ylim=(0, 50), xticks=(0.5, 1, 1.5, 2, 2.5))
    figure.supxlabel("length of the span, in seconds", fontsize=9)
    figure.supylabel("requests in the fullest span", fontsize=9)
    legend(
        figure,
        Patch(color=IN, label="what the worst of many attacks got in"),
        Line2D([], [], color=OUT, label="what is promised"),
        Line2D([], [], color=INK, linestyle="--", label="ten a second"),
    )
    return figure


def wrongly(figures: Figures) -> Figure:
    """A bar for each limit under each workload."""
    figure, grid = blank(1, len(figures), (10, 3.1))
    names = list(CONTENDERS)
    for column, (load, shares) in enumerate(figures.items()):
        axes = grid[0][column]
        bars = axes.barh(names, [100 * share for share in shares], color=OUT, height=0.6)
        axes.bar_label(bars, [f"{100 * share:.0f}" for share in shares], padding=3, fontsize=8)
        axes.set(xlim=(0, 119), ylim=(len(names) - 0.4, -0.6), xticks=(0, 50, 100))
        axes.set_title(load, loc="center")
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="y", visible=False)
    figure.supxlabel("per cent of the requests of a minute", fontsize=9)
    return figure


def capacity(figures: Figures) -> Figure:
    """For each rule, how many were inside, over how many there were to serve them."""
    figure, grid = blank(2, 2, (9, 4.6))
    workers = figures["workers"]
    seconds = range(len(workers) + 1)
    for number, name in enumerate(RULES):
        axes = grid[number // 2][number % 2]
        axes.stairs(workers, seconds, color=QUIET, fill=True, linewidth=0)
        axes.stairs(figures[name], seconds, color=IN, linewidth=1.4, baseline=None)
        axes.set_title(name)
        axes.set(xlim=(0, len(workers)), ylim=(0, 45))
        axes.spines["left"].set_color(FAINT)
    figure.supxlabel("seconds", fontsize=9)
    legend(
        figure,
        Patch(color=QUIET, label="workers there are"),
        Line2D([], [], color=IN, label="calls inside"),
    )
    return figure


def legend(figure: Figure, *marks: Any) -> None:
    """Say once, above all, what the colours are."""
    figure.legend(handles=marks, loc="outside upper center", ncols=len(marks))


def blank(rows: int, columns: int, size: tuple[float, float]) -> tuple[Figure, Any]:
    """A figure and its panels, all on the same axes."""
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    return figure, grid


DRAWN: dict[str, Callable[[Figures], Figure]] = {
    "workloads": workloads,
    "worst_windows": worst,
    "wrongly_refused": wrongly,
    "capacity": capacity,
}
