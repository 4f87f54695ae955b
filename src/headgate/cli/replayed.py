"""Replayed: what came of a replay, for people at a terminal, and how far it is meanwhile."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from headgate.cli.report import Row, draw, screen
from headgate.cli.trouble import harmless
from headgate.errors import MissingExtra
from headgate.replay.page import HEADS

Advance = Callable[[int, int, int], object]
# Columns that are left out where all of it is this.
USUAL = {"mode": "enforce", "shadowed": "0", "waited": "0"}


@contextmanager
def progress(wanted: bool) -> Iterator[Advance]:
    """A bar with how fast it is and how long it still takes; none where nobody looks on."""
    if not wanted or not sys.stderr.isatty():
        yield lambda seen, whole, lines: None
        return
    try:
        from rich.console import Console  # noqa: PLC0415 - only who looks on needs it
        from rich.progress import (  # noqa: PLC0415 - as above
            BarColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )
    except ImportError:
        raise MissingExtra("cli") from None
    bar = Progress(
        TextColumn("{task.fields[lines]:,} lines"), BarColumn(),
        TextColumn("{task.percentage:3.0f} %"),
        TextColumn("{task.fields[pace]:,.0f} lines/s"), TimeRemainingColumn(),
        console=Console(file=sys.stderr), transient=True,
    )  # fmt: skip
    with bar:
        task = bar.add_task("", total=None, lines=0, pace=0.0)

        def advance(seen: int, whole: int, lines: int) -> None:
            pace = lines / max(1e-6, bar.tasks[0].elapsed or 0.0)
            bar.update(task, total=whole or None, completed=seen, lines=lines, pace=pace)

        yield advance


def show(report: dict[str, Any], page: str) -> None:
    """All of it."""
    console = screen()

    def say(line: str) -> None:
        console.out(harmless(line), highlight=False)

    for one in report["files"]:
        for line in read(one):
            say(line)
    when = f", {report['from']} to {report['until']}" if report["from"] else ""
    say(f"{report['requests']:,} requests{when}")
    for note in report["notes"]:
        say(f"note: {note}")
    for side in (report["rules"], report["against"]):
        if side is not None:
            say("")
            told(console, say, side)
    if report["diff"] is not None:
        say("")
        differ(console, say, report)
    if page:
        say("")
        say(f"the page with plots is {page}")


def read(one: dict[str, Any]) -> Iterator[str]:
    """How reading one log went."""
    odd = [
        f"{one[word]:,} {label}"
        for word, label in (
            ("broken", "broken"),
            ("asides", "without a request"),
            ("late", "too late"),
        )
        if one[word]
    ]
    yield f"{one['file']}: {one['lines']:,} lines, {', '.join([one['format'], *odd])}"
    if one["flaw"]:
        yield f"  {one['flaw']}"
    for example in one["examples"]:
        yield f"  line {example['line']:,} is broken: {example['text']}"


def told(console: Any, say: Callable[[str], object], side: dict[str, Any]) -> None:
    """What one rule file did."""
    words = [
        f"{side['asked'] - side['refused']:,} let in",
        f"{side['refused']:,} refused ({share(side['share'])})",
    ]
    words += [f"{side['delayed']:,} of them after a wait"] if side["delayed"] else []
    words += [f"{side['shadowed']:,} only because of shadow"] if side["shadowed"] else []
    words += [f"{side['unruled']:,} met no rule"] if side["unruled"] else []
    say(f"{side['file']}, version {side['version']}: {', '.join(words)}")
    for note in side["notes"]:
        say(f"  {note['rule']}: {note['text']}" if note["rule"] else f"  {note['text']}")
    if side["rules"]:
        rows = [row(one) for one in side["rules"]]
        kept = [
            at for at, head in enumerate(HEADS)
            if head not in USUAL or any(line[at] != [USUAL[head]] for line in rows)
        ]  # fmt: skip
        draw(
            console,
            tuple(HEADS[at] for at in kept),
            [tuple(line[at] for at in kept) for line in rows],
        )
    for one in side["rules"]:
        if one["top"]:
            say("")
            worst = one["peak"]
            say(f"{one['rule']} hits most, worst at {worst['at']}:")
            draw(
                console, ("key", "asked", "refused", "shadowed"), [keyed(key) for key in one["top"]]
            )


def row(one: dict[str, Any]) -> Row:
    """A rule in the table."""
    mode = one["mode"] if one["rollout"] == 100 else f"{one['mode']} for {one['rollout']:g}%"
    return (
        [one["rule"]], [one["key"] or "-"], one["terms"] or ["-"], [mode], [f"{one['asked']:,}"],
        [f"{one['refused']:,}"], [share(one["share"])], [f"{one['shadowed']:,}"],
        [f"{one['delayed']:,}"], [f"{one['keys']:,}"], [f"{one['keys_refused']:,}"],
    )  # fmt: skip


def keyed(one: dict[str, Any]) -> Row:
    """Somebody in the table."""
    return (
        [one["key"] or "-"],
        [f"{one['asked']:,}"],
        [f"{one['refused']:,}"],
        [f"{one['shadowed']:,}"],
    )


def differ(console: Any, say: Callable[[str], object], report: dict[str, Any]) -> None:
    """What two rule files do not agree upon."""
    diff, old, new = report["diff"], report["rules"]["file"], report["against"]["file"]
    say(
        f"refused by both: {diff['both']:,}; by {old} alone: {diff['only_old']:,}; by {new} alone: "
        f"{diff['only_new']:,}; {diff['keys_concerned']:,} keys fare differently"
    )
    if diff["rules"]:
        rows: list[Row] = [
            ([one["old"] or "let in"], [one["new"] or "let in"], [f"{one['requests']:,}"])
            for one in diff["rules"]
        ]
        draw(console, (old, new, "requests"), rows)
    if diff["keys"]:
        rows = [
            (
                [one["key"] or "-"],
                [f"{new if one['refused_by'] == 'new' else old}: {one['rule']}"],
                [f"{one['requests']:,}"],
            )
            for one in diff["keys"]
        ]
        draw(console, ("key", "refused only by", "requests"), rows)


def share(number: float) -> str:
    """A share as people read it."""
    return f"{number * 100:.3g}%"
