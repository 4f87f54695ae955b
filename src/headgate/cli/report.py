"""Reports: what good rules say, as a table for people or as plain data."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

from headgate.cli import forwarding
from headgate.cli.data import ruled
from headgate.cli.routes import Way, met, usual
from headgate.cli.trouble import harmless, lines, plainly
from headgate.cli.words import deeds, enforced, keyed, meets, otherwise
from headgate.errors import MissingExtra, Problem
from headgate.rules.documents.document import format_of
from headgate.rules.documents.document import read as document
from headgate.rules.model.rules import Rules
from headgate.rules.model.store import masked
from headgate.rules.review.lint import warnings

# Where nobody looks on, lines are as long as they need to be.
ENDLESS = 1000
HEADS = ("rule", "meets", "key", "may", "over", "mode")
# Columns that are left out where they say nothing but this.
USUAL = {"over": {"-", "reject"}, "mode": {"enforce"}}

# The lines of a cell, and the cells of a row.
Row = tuple[list[str], ...]


class Found(NamedTuple):
    """Good rules, and what they may not mean, each with its place."""

    file: str
    rules: Rules
    warnings: tuple[Problem, ...]


def read(file: str) -> Found:
    """The rules of a file; raises `RulesError` with all that is wrong, in those it names too."""
    rules = Rules.load(file)
    if rules.service is not None and rules.service.ratelimit.files:
        from headgate.service.rls.domains import load  # noqa: PLC0415 - it brings protobuf along

        load(rules.service.ratelimit.files)
    with open(file, "rb") as opened:
        written = document(opened.read(), format_of(file), file)
    placed = []
    for warning in warnings(rules):
        line, column = written.place(warning.path)
        placed.append(warning._replace(file=file, line=line, column=column))
    return Found(file, rules, tuple(placed))


def told(found: Found, routes: tuple[tuple[str, str], ...]) -> str:
    """All of it in JSON."""
    ways = [Way(f"{method} {path}", method, path) for method, path in routes]
    said = {
        "file": found.file,
        "good": True,
        "version": found.rules.digest,
        "store": masked(found.rules.store),
        "rules": [ruled(rule, found.rules) for rule in found.rules.rules],
        "gateway": None if found.rules.gateway is None else found.rules.gateway.hushed(),
        "routes": [
            {"route": way.label, "rules": [{"rule": rule.name, "if": also}
                                           for rule, also in met(found.rules, way)]}
            for way in ways or usual(found.rules)
        ],
        "warnings": [plainly(warning) for warning in found.warnings],
    }  # fmt: skip
    return json.dumps(said, indent=2)


def show(found: Found, routes: tuple[tuple[str, str], ...]) -> None:
    """All of it for people."""
    console = screen()
    rules = found.rules
    count = "1 rule" if len(rules.rules) == 1 else f"{len(rules.rules)} rules"
    head = f"{found.file}: {count}, version {rules.digest}, kept in {masked(rules.store)}"
    console.out(harmless(head), highlight=False)
    if rules.gateway is not None:
        console.out(harmless(forwarding.opened(rules.gateway)), highlight=False)
    if rules.rules:
        draw(console, *table(rules))
    if rules.gateway is not None and rules.gateway.routes:
        draw(console, *forwarding.table(rules.gateway))
    ways = [Way(f"{method} {path}", method, path) for method, path in routes] or usual(rules)
    if ways:
        filled = [([way.label], [crossed(rules, way)]) for way in ways]
        draw(console, ("route", "rules"), filled)
    if found.warnings:
        console.out("")
    for line in lines(found.file, found.warnings):
        console.out(line, highlight=False)


def screen() -> Any:
    """Where it is written: in colour where somebody looks on and has not asked for none."""
    try:
        from rich.console import Console  # noqa: PLC0415 - only who prints a table needs it
    except ImportError:
        raise MissingExtra("cli") from None
    seen = sys.stdout.isatty()
    coloured = seen and not os.environ.get("NO_COLOR")
    return Console(
        file=sys.stdout, width=None if seen else ENDLESS, color_system="auto" if coloured else None
    )


def draw(console: Any, heads: tuple[str, ...], filled: Sequence[Row]) -> None:
    """A table without rules around its cells, and nothing behind its lines."""
    from rich.table import Table  # noqa: PLC0415 - as above
    from rich.text import Text  # noqa: PLC0415 - as above

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for head in heads:
        table.add_column(head, overflow="fold")
    for row in filled:
        table.add_row(*[Text("\n".join(map(harmless, cell))) for cell in row])
    with console.capture() as drawn:
        console.print(table)
    for line in ("", *drawn.get().splitlines()):
        sys.stdout.write(f"{line.rstrip()}\n")


def table(rules: Rules) -> tuple[tuple[str, ...], list[Row]]:
    """What each rule is, in words, under heads; columns that tell of nothing are left out."""
    rows: list[Row] = [
        ([rule.name], meets(rule), keyed(rule), deeds(rule, rules), [otherwise(rule)],
         [enforced(rule)])
        for rule in rules.rules
    ]  # fmt: skip
    kept = [
        place
        for place, head in enumerate(HEADS)
        if head not in USUAL or any(row[place][0] not in USUAL[head] for row in rows)
    ]
    return tuple(HEADS[place] for place in kept), [tuple(row[at] for at in kept) for row in rows]


def crossed(rules: Rules, way: Way) -> str:
    """The rules of one route, in order."""
    found = [f"{rule.name} (if {also})" if also else rule.name for rule, also in met(rules, way)]
    return ", ".join(found) or "none"
