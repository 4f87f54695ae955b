"""How the pictures are drawn: plain, in colours that colour-blind readers tell apart.

They are drawn on white; `dark` gives them their other colours.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from pictures import panels
from pictures.colours import IN, INK, OUT, QUIET
from pictures.figures import LIMIT, SECONDS, SLOT, Figures

STYLE: Any = {
    "axes.axisbelow": True,
    "axes.edgecolor": "#999999",
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 10,
    "figure.facecolor": "white",
    "font.family": ["DejaVu Sans", "sans-serif"],
    "font.size": 9,
    "grid.color": "#eeeeee",
    "legend.frameon": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "headgate",
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}

# Where windows or their parts turn, drawn as lines.
EDGES = {"fixed_window": 1.0, "sliding_window": 0.2}


def of(name: str) -> Callable[[Figures], Figure]:
    """How the picture of that name is drawn."""
    special = {"same_burst": same_burst, "boundary": attacks, "warm_up": warming, **panels.DRAWN}
    return special.get(name) or room(EDGES.get(name, 0.0))


def same_burst(figures: Figures) -> Figure:
    """Small multiples: the same axes for every algorithm."""
    figure, areas = blank(rows=4, columns=2, size=(9, 9.5))
    for number, (name, counts) in enumerate(figures.items()):
        axes = areas[number // 2][number % 2]
        slots(axes, figures["offered"], QUIET)
        if number:
            slots(axes, counts, IN)
            accumulate(axes, counts)
        axes.set_title(name if number else "what is offered: 5/s, a rush of 100, then 20/s")
        axes.set(xlim=(0, SECONDS), ylim=(0, 20), yticks=(0, 5, 10, 15, 20))
        if number % 2:
            right = axes.secondary_yaxis("right", functions=(unscale, scale))
            right.set(yticks=(0, 20, 40, 60, 80))
            right.spines["right"].set_visible(False)
    captions(figure, areas)
    return figure


def slots(axes: Axes, counts: list[float], colour: str) -> None:
    """A step for each tenth of a second, as high as its count."""
    edges = [SLOT * number for number in range(len(counts) + 1)]
    axes.stairs(counts, edges, color=colour, fill=True)


def accumulate(axes: Axes, counts: list[float]) -> None:
    """How many went in so far, as a line, with the last number written at its end."""
    sums = [scale(sum(counts[: number + 1])) for number in range(len(counts))]
    ends = [SLOT * (number + 1) for number in range(len(counts))]
    axes.plot(ends, sums, color=OUT, linewidth=1.6)
    axes.text(SECONDS - 0.1, sums[-1] + 1, f"{sum(counts):g}", ha="right", color=OUT)


def scale(total: float) -> float:
    """Totals are drawn a quarter as high as the counts of single slots."""
    return total / 4


def unscale(height: float) -> float:
    """The total that is drawn at `height`."""
    return height * 4


def captions(figure: Figure, areas: Any) -> None:
    """Say once what the axes and colours are."""
    for axes in areas[-1]:
        axes.set_xlabel("seconds")
    figure.supylabel("requests in a tenth of a second", fontsize=9)
    figure.legend(
        handles=[
            Patch(color=QUIET, label="offered"),
            Patch(color=IN, label="went in"),
            Line2D([], [], color=OUT, label="went in so far (right axis)"),
        ],
        loc="outside upper center",
        ncols=3,
    )


def attacks(figures: Figures) -> Figure:
    """One bar for each limit, against the number it promises for a second."""
    figure, areas = blank(rows=1, columns=1, size=(8, 3.8))
    axes = areas[0][0]
    ordered = sorted(figures.items(), key=lambda item: -item[1][0])
    values = [counts[0] for _, counts in ordered]
    colours = [OUT if value > LIMIT + 1 else IN for value in values]
    bars = axes.barh([name for name, _ in ordered], values, color=colours, height=0.62)
    axes.bar_label(bars, [f"{value:g}" for value in values], padding=4)
    axes.axvline(LIMIT, color=INK, linewidth=1, linestyle=(0, (4, 3)))
    axes.text(LIMIT + 0.3, -0.75, f"{LIMIT} a second", va="center", fontsize=8.5)
    axes.set(xlim=(0, 44), ylim=(len(values) - 0.4, -1.1), xlabel="requests in the fullest second")
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)
    return figure


def warming(figures: Figures) -> Figure:
    """The speed as steps over time, and the two speeds it moves between."""
    figure, areas = blank(rows=1, columns=1, size=(8, 3.2))
    axes = areas[0][0]
    ((name, speeds),) = figures.items()
    axes.stairs(speeds, [0.2 * number for number in range(len(speeds) + 1)], color=IN, fill=True)
    for height, words in ((100, "warm: the rate"), (100 / 3, "cold: a third of it")):
        axes.axhline(height, color=INK, linewidth=0.9, linestyle=(0, (4, 3)))
        axes.text(16.1, height, words, va="center", fontsize=8.5)
    axes.text(8.0, 10, "idle, and\ngrowing cold", ha="center", fontsize=8.5)
    axes.set(xlim=(0, 16), ylim=(0, 118), xlabel="seconds", ylabel="let in a second")
    axes.set_title(f"{name} under a client that takes all it can get")
    return figure


def room(edge: float) -> Callable[[Figures], Figure]:
    """How to draw the room over time, and above it who went in; `edge` is where windows turn."""

    def draw(figures: Figures) -> Figure:
        figure, areas = blank(rows=2, columns=1, size=(8, 3.6), heights=(1, 3.4))
        doors, level = areas[0][0], areas[1][0]
        doors.plot(figures["in"], [1.0] * len(figures["in"]), "|", color=IN, markersize=11)
        doors.plot(figures["out"], [0.0] * len(figures["out"]), "|", color=OUT, markersize=11)
        doors.set(ylim=(-0.7, 1.7), yticks=(0, 1), yticklabels=("refused", "went in"))
        doors.tick_params(axis="both", length=0, labelbottom=False)
        doors.spines[["left", "bottom"]].set_visible(False)
        doors.grid(visible=False)
        level.plot(figures["at"], figures["room"], color=IN, linewidth=1.4)
        level.fill_between(figures["at"], figures["room"], color=IN, alpha=0.12, linewidth=0)
        level.set(xlabel="seconds", ylabel="room left, in requests", xlim=(0, 4))
        level.set_ylim(0, max(figures["room"]) * 1.08)
        level.locator_params(axis="y", integer=True, nbins=6)
        for number in range(1, round(4 / edge) if edge else 0):
            level.axvline(number * edge, color="#999999", linewidth=0.7, linestyle=(0, (2, 3)))
        return figure

    return draw


def blank(
    rows: int, columns: int, size: tuple[float, float], heights: tuple[float, ...] = ()
) -> tuple[Figure, Any]:
    """A figure and its panels, all on the same axes across."""
    figure = Figure(figsize=size, layout="constrained")
    areas = figure.subplots(
        rows, columns, sharex=True, squeeze=False, height_ratios=heights or [1] * rows
    )
    return figure, areas
