"""A picture of measurements: a bar for each contestant, on a scale of tens."""

from __future__ import annotations

import io
import re

from pictures import dark
from pictures.colours import FAINT, IN, OUT


def bars(values: dict[str, float], label: str, unit: str, most: bool = False) -> str:
    """Contestants in their order, the best above: the least, or the most."""
    import matplotlib as mpl  # noqa: PLC0415 - pages without a picture do without it
    from matplotlib.figure import Figure  # noqa: PLC0415

    from pictures.drawing import STYLE  # noqa: PLC0415

    ordered = sorted(values, key=lambda name: values[name], reverse=most)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(8, 0.6 + 0.26 * len(ordered)), layout="constrained")
        axes = figure.subplots()
        lengths = [values[name] for name in ordered]
        drawn = axes.barh(ordered, lengths, color=[colour(name) for name in ordered], height=0.66)
        axes.bar_label(drawn, [f"{value:,.0f} {unit}" for value in lengths], padding=4, fontsize=8)
        axes.set_xscale("log")
        axes.set(xlabel=label, xlim=(min(lengths) / 2, max(lengths) * 3))
        axes.invert_yaxis()
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="y", visible=False)
        told = io.StringIO()
        about = {"Creator": None, "Date": None}
        figure.savefig(told, format="svg", metadata=about)
    shorter = re.sub(r"(\d\.\d\d)\d+", r"\1", told.getvalue())
    return dark.dressed(re.sub(r"\n\s*|\s+\n", "\n", shorter))


def colour(name: str) -> str:
    if name.startswith(("floor", "ceiling")):
        return FAINT
    return IN if name.startswith("headgate") else OUT
