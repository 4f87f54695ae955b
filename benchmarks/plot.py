"""Plot: a run's figures as one picture, for those who would rather look."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from contestants import LOOP

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes

OURS_COLOUR = "#0b6e8a"
PEER_COLOUR = "#b8bec4"
FLOOR_COLOUR = "#e0a030"


def draw(results: dict[str, Any], path: Path) -> bool:
    """Write the picture to `path`; False where matplotlib is not installed."""
    try:
        import matplotlib as mpl
    except ImportError:
        return False
    mpl.use("svg")
    from matplotlib import pyplot

    # Text as text and no random ids: small, searchable, and the same for the same figures.
    mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "headgate"})
    figure, (speed, size, accuracy) = pyplot.subplots(
        3, 1, figsize=(9, 15), layout="constrained", height_ratios=(19, 13, 18)
    )
    _speed(speed, results["allowed"])
    _size(size, results["alone"], results["sizes"]["many"])
    _accuracy(accuracy, results["accuracy"])
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
    return True


def _speed(axes: Axes, allowed: dict[str, Any]) -> None:
    figures = {name: each["least"] for name, each in allowed.items() if name != LOOP}
    _bars(axes, figures, "{:,.0f} ns")
    axes.set_xscale("log")
    axes.set_xlim(10, 5 * max(figures.values()))
    axes.set_title("One allowed decision on a hot key, ns (logarithmic)", loc="left")


def _size(axes: Axes, sizes: dict[str, Any], keys: int) -> None:
    figures = {name: each["bytes"] for name, each in sizes.items() if "bytes" in each}
    _bars(axes, figures, "{:,.0f} B")
    axes.set_title(f"Resident bytes a key, {keys:,} keys", loc="left")


def _accuracy(axes: Axes, accuracy: dict[str, Any]) -> None:
    figures = {
        name: 100 * each["admitted"] / each["ideal_admitted"]
        for name, each in accuracy.items()
        if "failed" not in each
    }
    labels = {
        name: f"{{:.1f}} %, worst {accuracy[name]['worst']} (ideal {accuracy[name]['ideal_worst']})"
        for name in figures
    }
    _bars(axes, figures, labels)
    axes.axvline(100, color="#c8c8c8", linewidth=0.8, zorder=0)
    axes.set_title(
        "Admitted of what the exact definition admits, Poisson at 1.2 x 100 per 60 s;\n"
        "and the most an adversary got into any 60 s",
        loc="left",
    )


def _bars(axes: Axes, figures: dict[str, float], labels: str | dict[str, str]) -> None:
    """Horizontal bars, least first, each with its value."""
    ordered = sorted(figures.items(), key=lambda item: item[1])
    names = [name for name, _ in ordered]
    values = [value for _, value in ordered]
    bars = axes.barh(names, values, color=[_colour(name) for name in names], height=0.7)
    forms = [labels if isinstance(labels, str) else labels[name] for name in names]
    written = [form.format(value) for form, value in zip(forms, values, strict=True)]
    axes.bar_label(bars, written, padding=3, fontsize=8)
    axes.invert_yaxis()
    axes.margins(x=0.3)
    axes.tick_params(labelsize=9)
    axes.spines[["top", "right"]].set_visible(False)


def _colour(name: str) -> str:
    if name.startswith("floor"):
        return FLOOR_COLOUR
    return OURS_COLOUR if name.startswith("headgate") else PEER_COLOUR
