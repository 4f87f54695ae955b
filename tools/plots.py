"""Draw the pictures of the documentation into docs/pictures, from the library's own simulator.

    python tools/plots.py            draw them all
    python tools/plots.py --check    fail if one shows other figures than the library gives today

Each picture carries a digest of its figures, so that what it shows can be checked without drawing
it: the same figures may come out as other bytes under another version of matplotlib.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from pictures import dark, figures, workloads

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
SHOWN: dict[str, Callable[[], figures.Figures]] = {
    "same_burst": figures.same_burst,
    "boundary": figures.attacks,
    "warm_up": figures.warming,
    "workloads": workloads.workloads,
    "worst_windows": workloads.worst,
    "wrongly_refused": workloads.wrongly,
    "capacity": workloads.capacity,
    **{name: figures.room_of(limit) for name, limit in figures.OWN.items()},
}


def main(arguments: list[str]) -> int:
    """Draw, or check, and say which pictures are stale."""
    if arguments == ["--check"]:
        stale = [name for name in SHOWN if digest(SHOWN[name]()) != drawn_from(name)]
        for name in stale:
            print(f"docs/pictures/{name}.svg is stale: run tools/plots.py")
        return 1 if stale else 0
    for name in SHOWN:
        (PICTURES / f"{name}.svg").write_text(picture(name))
    # Those that show measurements are drawn where they are measured (benchmarks/).
    for path in PICTURES.glob("*.svg"):
        path.write_text(dark.dressed(path.read_text()))
    return 0


def drawn_from(name: str) -> str:
    """The digest of the figures that the picture on disk was drawn from."""
    path = PICTURES / f"{name}.svg"
    text = path.read_text() if path.exists() else ""
    return text.partition("figures ")[2][:16]


def picture(name: str) -> str:
    """The picture as SVG: text as text, no date and no random names, so small and stable."""
    import matplotlib as mpl  # noqa: PLC0415 - checking does without it

    from pictures import drawing  # noqa: PLC0415

    shown = SHOWN[name]()
    about = {"Creator": None, "Date": None, "Description": f"figures {digest(shown)}"}
    drawn = io.StringIO()
    with mpl.rc_context(drawing.STYLE):
        figure: Figure = drawing.of(name)(shown)
        figure.savefig(drawn, format="svg", metadata=about)
    return dark.dressed(compact(drawn.getvalue()))


def digest(shown: figures.Figures) -> str:
    """The figures as a short number: other figures, another number."""
    return hashlib.sha256(json.dumps(shown).encode()).hexdigest()[:16]


def compact(drawn: str) -> str:
    """The picture without indentation, and to a hundredth of a point: smaller by a quarter."""
    shorter = re.sub(r"(\d\.\d\d)\d+", r"\1", drawn)
    return re.sub(r"\n\s*|\s+\n", "\n", shorter)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
