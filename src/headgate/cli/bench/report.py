"""Report: what was measured, as plain data and as a table."""

from __future__ import annotations

import os
import platform
from typing import Any

from headgate import COMPILED, __version__
from headgate.cli.bench.rounds import Figures
from headgate.cli.bench.stage import spelled
from headgate.cli.bench.subjects import Plan, share
from headgate.cli.report import draw, screen
from headgate.cli.trouble import harmless
from headgate.rules.model.store import masked

HEADS = ("", "median", "least", "9 in 10 below", "CPU", "a second")
MICROSECONDS = 10_000


def told(
    plan: Plan, said: dict[str, Any], found: dict[str, Figures], rounds: int
) -> dict[str, Any]:
    """All of it, in nanoseconds."""
    return {
        "version": __version__,
        "compiled": COMPILED,
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "store": masked(said["store"]),
        "limits": spelled(plan),
        "admitted": share(plan) if plan.limits else None,
        "rounds": rounds,
        "nanoseconds": {
            name: {
                "median": round(one.median, 1),
                "least": round(one.least, 1),
                "nine_in_ten": round(one.most, 1),
                "cpu": round(one.cpu, 1),
            }
            for name, one in found.items()
        },
    }


def show(report: dict[str, Any]) -> None:
    """All of it for people."""
    console = screen()
    form = "compiled" if report["compiled"] else "interpreted"
    console.out(
        f"headgate {report['version']}, {form}; Python {report['python']}, {report['machine']}, "
        f"{report['cores']} cores",
        highlight=False,
    )
    limits = f", {' and '.join(report['limits'])}" if report["limits"] else ""
    where = f"{report['store']}{limits}; {report['rounds']} rounds"
    console.out(harmless(where), highlight=False)
    draw(
        console,
        HEADS,
        [([name], *cells(one)) for name, one in report["nanoseconds"].items()],
    )
    if report["admitted"] is not None:
        console.out("")
        console.out(f"Of 1000 in a row, {report['admitted']:.1%} were let in.", highlight=False)


def cells(one: dict[str, float]) -> tuple[list[str], ...]:
    """One row: times, and how many that is in a second."""
    times = [[spoken(one[word])] for word in ("median", "least", "nine_in_ten", "cpu")]
    return (*times, [f"{1e9 / one['median']:,.0f}" if one["median"] else ""])


def spoken(nanoseconds: float) -> str:
    """How long, in a unit that needs no many digits."""
    if nanoseconds >= MICROSECONDS:
        return f"{nanoseconds / 1000:,.1f} us"
    return f"{nanoseconds:,.0f} ns"
