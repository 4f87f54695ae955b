"""Machine instructions of a decision (benchmarks/instructions.py)."""

from __future__ import annotations

from typing import Any

from reports.words import MADE, filled, number, table

FORMS = ("compiled", "interpreted")
HEAD = ["", *FORMS]
# As in benchmarks/callgrind.py: beyond it, two runs may differ by more than 0.5 %.
MAX_SPREAD = 0.0025


def page(measured: dict[str, Any]) -> str:
    """The page: a table, and what it was counted on."""
    rows = [[name, *cells(figures)] for name, figures in measured["rows"].items()]
    facts = [[name, value] for name, value in measured["machine"].items() if value]
    return filled(f"""\
# Instructions

{MADE}

Machine instructions of one decision, counted by valgrind: a yardstick for changes of the code,
because unlike times they do not depend on what else the machine does. They predict no speed: cache
misses, the kernel's part and waiting are not in them.

{table(HEAD, rows)}

"compiled" is the installed package, "interpreted" the same files without compiled modules. Of
`gateway`, `rls` (Envoy's ShouldRateLimit), `resp` (`HG.TAKE`) and `http` (`POST /v1/take`) all
processes of the server are counted, of `redis` the client alone. With one rule or four, a request
meets all of them, and the last one refuses; of 200 it meets one. A star marks a figure that is not
repeatable within 0.5 %.

{table(["counted on", ""], facts)}

[How it is counted](../../benchmarks/README.md#instructions); `make bench` does it again, and
compares with the numbers in `benchmarks/instructions.json`.
""")


def cells(figures: dict[str, Any]) -> list[str]:
    """A figure for each form; a star marks one that is not repeatable within 0.5 %."""
    found = []
    for form in FORMS:
        figure = figures.get(form)
        if figure is None:
            found.append("")
        else:
            star = r"\*" if figure["spread"] > MAX_SPREAD else ""
            found.append(f"{number(figure['instructions'])}{star}")
    return found
