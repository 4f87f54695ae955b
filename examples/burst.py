"""A burst against every algorithm, drawn in the terminal.

Run it with `make burst`. First a simulation: a hundred requests arrive in one second, then twenty a
second for five more, and seven limits of ten a second say who goes in. The clock is moved by hand,
so six seconds pass in no time and come out the same every time. Then two seconds on the machine's
own clock: twenty callers wait in line.
"""

from __future__ import annotations

import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TYPE_CHECKING, NamedTuple

import headgate
from headgate import (
    GCRA,
    FixedWindow,
    LeakyBucket,
    Limiter,
    ManualClock,
    MissingExtra,
    SlidingLog,
    SlidingWindow,
    TokenBucket,
    WarmUp,
)

try:
    from rich import box
    from rich.console import Console
    from rich.live import Live
    from rich.table import Table
    from rich.text import Text
except ImportError:
    sys.exit(str(MissingExtra("demo")))

if TYPE_CHECKING:
    from headgate.algorithms.limit import Limit

LIMITS = [
    TokenBucket("10/s", burst=20),
    GCRA("10/s", burst=5),
    LeakyBucket("10/s", burst=1),
    FixedWindow("10/s"),
    SlidingWindow("10/s"),
    SlidingLog("10/s"),
    WarmUp("10/s", period=4),
]

# Milliseconds from the start of the picture; one column of it is a tenth of a second.
SECOND = 1000
COLUMN = 100
SPAN = 6 * SECOND
OFFERED = [*range(0, SECOND, 10), *range(SECOND, SPAN, 50)]

# Half a second before the turn of a window, so that the burst straddles it.
START = 1_000_000.5

# Not the full block: rows would touch.
BLOCKS = "▁▂▃▄▅▆▇"
TALLEST = 10
CALLERS = 20


class History(NamedTuple):
    """When requests went in, and how long the first one refused was told to wait."""

    moments: list[int]
    retry_after: float


def main() -> None:
    """Draw the simulation, then the line."""
    console = Console(highlight=False)
    histories = [(limit, play(limit)) for limit in LIMITS]
    form = "compiled" if headgate.COMPILED else "interpreted"
    console.print(f"\n[bold]Headgate {headgate.__version__}[/] [dim]({form})[/]")
    console.print("100 requests in the first second, then 20 a second; every limit is 10/s.\n")
    console.print(timeline(histories))
    console.print(totals(histories))
    stand_in_line(console)


def play(limit: Limit) -> History:
    """Offer every request to a fresh limiter, moving its clock by hand."""
    clock = ManualClock(START)
    limiter = Limiter(limit, clock=clock)
    moments: list[int] = []
    told: list[float] = []
    for moment in OFFERED:
        clock.set(START + moment / SECOND)
        decision = limiter.take("visitor")
        if decision:
            moments.append(moment)
        else:
            told.append(decision.retry_after)
    return History(moments, told[0])


def timeline(histories: list[tuple[Limit, History]]) -> Table:
    """One row per limit, one column per tenth of a second, higher where more went in."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(justify="right", no_wrap=True)
    grid.add_column(no_wrap=True)
    grid.add_row(Text("offered", "dim"), row(OFFERED, "grey62", "grey62"))
    for limit, history in histories:
        grid.add_row(Text(type(limit).__name__, "bold"), row(history.moments, "green", "yellow"))
    seconds = "".join(f"{second} s".ljust(SECOND // COLUMN) for second in range(SPAN // SECOND))
    grid.add_row("", Text(seconds, "dim"))
    return grid


def row(moments: list[int], calm: str, rush: str) -> Text:
    """The blocks of one row: `rush` where more than the rate went in, a dot where nobody did."""
    counts = Counter(moment // COLUMN for moment in moments)
    text = Text()
    for column in range(SPAN // COLUMN):
        count = counts[column]
        if count == 0:
            text.append("·", "red dim")
            continue
        height = min(count, TALLEST) * (len(BLOCKS) - 1) // TALLEST
        text.append(BLOCKS[height], rush if count > 1 else calm)
    return text


def totals(histories: list[tuple[Limit, History]]) -> Table:
    """The same in numbers."""
    table = Table(box=box.SIMPLE_HEAD, header_style="dim")
    table.add_column("limit", no_wrap=True)
    for heading in ("went in", "refused", "most in 1 s", "first wait"):
        table.add_column(heading, justify="right")
    for limit, (moments, retry_after) in histories:
        table.add_row(
            Text(repr(limit)),
            Text(str(len(moments)), "green"),
            Text(str(len(OFFERED) - len(moments)), "red"),
            str(most_in_a_second(moments)),
            f"{retry_after:.3f} s",
        )
    return table


def most_in_a_second(moments: list[int]) -> int:
    """The largest number that went in within any one second, wherever it begins."""
    return max(sum(start <= moment < start + SECOND for moment in moments) for start in moments)


def stand_in_line(console: Console) -> None:
    """Let callers in as their turn comes, each in a thread of its own."""
    limiter = Limiter("10/s burst 5")
    console.print(f"Now on the real clock: {CALLERS} callers acquire at 10/s burst 5.\n")

    def call() -> float:
        with limiter.acquire("door") as permit:
            return permit.waited

    waits: list[float] = []
    with Live(line(waits), console=console) as live, ThreadPoolExecutor(CALLERS) as pool:
        for caller in as_completed([pool.submit(call) for _ in range(CALLERS)]):
            waits.append(caller.result())
            live.update(line(waits), refresh=True)
    console.print()


def line(waits: list[float]) -> Text:
    """Who is in, who stands outside, and how long the last one waited."""
    text = Text("  ")
    text.append("█ " * len(waits), "green")
    text.append("· " * (CALLERS - len(waits)), "dim")
    text.append(f" {len(waits):2} in, the last waited {max(waits, default=0.0):.2f} s")
    return text


if __name__ == "__main__":
    main()
