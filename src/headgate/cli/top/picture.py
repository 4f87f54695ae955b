"""Picture: a glance as it is drawn, in as many lines and columns as there are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from headgate.cli.top.track import LENGTH, Glance, Pace
from headgate.cli.top.words import (
    PLAIN,
    STEPS,
    does,
    headline,
    heavies,
    paced,
    place,
    refusals,
    short,
    spark,
    troubles,
)
from headgate.cli.trouble import harmless
from headgate.errors import MissingExtra

try:
    from rich.console import Console, Group, RenderableType
    from rich.table import Table
    from rich.text import Text
except ImportError:
    raise MissingExtra("cli") from None

NAMES = ("allowed", "refused", "shadowed")
STYLES = ("green", "red", "yellow")
# Where there is room for it, how the refusals of a rule went on.
WIDE, TREND = 100, 20
# Lines that are always there: the head, three paces, and what is between the parts.
FRAME = 9
# So many keys and refusals where nobody counts the lines.
FEW = 10
HELP = "q ends it"


def picture(
    console: Console, glance: Glance, news: str = "", height: int = 0, live: bool = True
) -> RenderableType:
    """All of it, in no more lines than `height` unless that is 0; `news` is what is wrong."""
    reading = glance.reading
    wrong = [*([news] if news else []), *troubles(reading)]
    rules, keys, last = shares(reading, height and height - len(wrong))
    steps = STEPS if "utf" in console.encoding.lower() else PLAIN
    parts: list[RenderableType] = [
        line(" · ".join(headline(reading)) if steps == STEPS else " | ".join(headline(reading))),
        *(line(one, "bold red") for one in wrong),
        Text(),
        *paces(glance, min(LENGTH, max(8, console.width - 24)) if live else 0, steps),
        Text(),
        ruled(glance, rules, live and console.width >= WIDE, steps),
        *below(reading, keys, last),
    ]
    return Group(*parts, *([Text(), line(HELP, "dim")] if live else []))


def line(words: str, style: str = "") -> Text:
    """One line, cut where the terminal ends."""
    return Text(words, style, no_wrap=True, overflow="ellipsis")


def shares(reading: Any, height: int) -> tuple[int, int, int]:
    """How many rules, keys and refusals are shown."""
    rules, few = len(reading["rules"]), len(heavies(reading, FEW))
    last = min(FEW, len(reading["refusals"]))
    if not height:
        return rules, few, last
    # Each part below has a line of space and a head.
    room = max(3, height - FRAME - (2 if few else 0) - (2 if last else 0))
    few, last = min(few, room // 4), min(last, room // 4)
    shown = min(rules, room - few - last)
    # A line says how many rules there is no room for.
    return (shown if shown == rules else max(1, shown - 1)), few, last


def paces(glance: Glance, width: int, steps: str) -> Iterator[Text]:
    """How many are allowed, refused and shadowed in a second, now and lately."""
    for at, (name, style) in enumerate(zip(NAMES, STYLES, strict=True)):
        number = f"{paced(glance.total[at]):>8}/s" if glance.seconds else f"{'-':>8}/s"
        bars = spark((pace[at] for pace in glance.past), width, steps) if width else ""
        yield Text.assemble(f"{name:<9}", (number, style), "  ", (bars, style), no_wrap=True)


def ruled(glance: Glance, most: int, wide: bool = False, steps: str = STEPS) -> Table:
    """What each rule does: the busiest if there is no room for all, in the order of the rules."""
    rules = glance.reading["rules"]
    shown = busiest(glance, most)
    held = any(place(one) for one in rules.values())
    shadow = any(one["shadowed"] for one in rules.values())
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    made.add_column("rule", no_wrap=True, overflow="ellipsis", max_width=24)
    made.add_column("allows", no_wrap=True, overflow="ellipsis", ratio=1)
    heads = ["inside"] * held + ["allowed/s", "refused/s"] + ["shadow/s"] * shadow
    for head in (*heads, *["refused lately"] * wide, "allowed", "refused"):
        made.add_column(head, justify="right", no_wrap=True)
    for name in shown:
        rule, pace = rules[name], glance.paces.get(name)
        speed = numbers(pace)
        trend = [Text(spark(glance.trends.get(name, ()), TREND, steps), "red")] if wide else []
        made.add_row(
            Text(harmless(name)), Text(does(rule)), *[place(rule)] * held, *speed[:2],
            *speed[2:] * shadow, *trend, *totals(rule),
        )  # fmt: skip
    if len(shown) < len(rules):
        made.add_row(Text(f"and {len(rules) - len(shown)} more", "dim"))
    return made


def busiest(glance: Glance, most: int) -> Sequence[str]:
    """The rules that refuse most, then those that allow most."""
    names = [*glance.reading["rules"]]
    if most >= len(names):
        return names
    none = Pace()

    def busy(name: str) -> tuple[float, float]:
        pace = glance.paces.get(name, none)
        return -(pace.refused + pace.shadowed), -pace.allowed

    kept = set(sorted(names, key=busy)[:most])
    return [name for name in names if name in kept]


def numbers(pace: Pace | None) -> list[Text]:
    """How many a second; nothing where that is not known yet."""
    if pace is None:
        return [Text("-", "dim")] * 3
    return [
        Text(paced(number), style if number else "dim")
        for number, style in zip(pace, STYLES, strict=True)
    ]


def totals(rule: Any) -> list[Text]:
    """How many in all."""
    allowed = rule["allowed"] + rule["delayed"] + rule["failed_open"]
    refused = rule["refused"] + rule["failed_closed"]
    return [Text(short(allowed)), Text(short(refused))]


def below(reading: Any, keys: int, last: int) -> Iterator[RenderableType]:
    """Who is refused most, and the latest refusals."""
    rows = heavies(reading, keys)
    if rows:
        yield Text()
        made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
        made.add_column("key", no_wrap=True, overflow="ellipsis", max_width=40)
        made.add_column("by", no_wrap=True, overflow="ellipsis", max_width=24)
        made.add_column("asked", justify="right", no_wrap=True)
        made.add_column("refused", justify="right", no_wrap=True)
        for name, key, asked, refused in rows:
            made.add_row(Text(key), Text(name), short(asked), short(refused))
        yield made
    lines = refusals(reading, last)
    if lines:
        yield from (Text(), line("refused last", "dim"), *map(line, lines))
