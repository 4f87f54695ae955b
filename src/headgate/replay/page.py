"""Pages: the report of a replay as one HTML file, which needs nothing but itself.

The script that draws is plotly's, taken from the package that is installed. Names in a report come
from strangers: in the text they are escaped, and the script is given them as data.
"""

from __future__ import annotations

import json
from html import escape
from importlib.resources import files
from typing import Any

from headgate.errors import MissingExtra

# What is told of each rule.
HEADS = (
    "rule", "key", "may", "mode", "asked", "refused", "share", "shadowed", "waited", "keys",
    "keys hit",
)  # fmt: skip

# Nothing is fetched, whatever stands in the page.
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; font-src data:"
)
SHELL = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{title}</title>
<link rel="icon" href="data:,">
<style>{style}</style>
</head>
<body>
{body}
<script type="application/json" id="report">{data}</script>
<script>{library}</script>
<script>{script}</script>
</body>
</html>
"""


def page(report: dict[str, Any]) -> str:
    """The whole page; raises `MissingExtra` where plotly is not installed."""
    rules = report["rules"]
    title = f"What {rules['file']} would have done"
    if report["against"] is not None:
        title = f"{rules['file']} against {report['against']['file']}"
    # Within a script only this could end it.
    data = json.dumps(report).replace("<", "\\u003c")
    return SHELL.format(
        policy=POLICY, title=safe(title), style=part("page.css"), script=part("page.js"),
        library=library(), data=data, body="\n".join(body(title, report)),
    )  # fmt: skip


def library() -> str:
    """The script that draws."""
    try:
        from plotly.offline import get_plotlyjs  # noqa: PLC0415 - only a page needs it
    except ImportError:
        raise MissingExtra("replay") from None
    return str(get_plotlyjs())


def part(name: str) -> str:
    """A file that stands beside this one."""
    return files("headgate.replay").joinpath(name).read_text("utf-8")


def safe(said: object) -> str:
    """A text that is nothing but text."""
    return escape("".join(one if one.isprintable() else "\ufffd" for one in str(said)))


def body(title: str, report: dict[str, Any]) -> list[str]:
    """What stands in the page, piece by piece."""
    when = "no time at all"
    if report["from"]:
        when = f"{report['from'][:19]} to {report['until'][:19]} UTC"
    found = [
        f"<header><h1>{safe(title)}</h1>",
        f"<p>{report['requests']:,} requests, {safe(when)}, {safe(report['format'])}</p></header>",
        "<main>",
    ]
    found += [f'<p class="note">{safe(note)}</p>' for note in report["notes"]]
    if report["diff"] is not None:
        found += diff(report)
    found += side(report["rules"], "rules")
    if report["against"] is not None:
        found += side(report["against"], "against")
    return [*found, *logs(report["files"]), "</main>"]


def tiles(pairs: list[tuple[str, str, str]]) -> str:
    """Numbers in large type."""
    cells = "".join(
        f'<div class="tile {kind}"><b>{safe(value)}</b><span>{safe(label)}</span></div>'
        for value, label, kind in pairs
    )
    return f'<div class="tiles">{cells}</div>'


def side(told: dict[str, Any], name: str) -> list[str]:
    """What one rule file did."""
    found = [
        f"<section><h2>{safe(told['file'])} <small>version {safe(told['version'])}</small></h2>",
        tiles(totals(told)),
        chart(f"{name}.timeline", "Requests over time"),
    ]
    found += [f'<p class="note">{noted(one)}</p>' for one in told["notes"]]
    rows = [row(one) for one in told["rules"]]
    found += [table(HEADS, rows), "</section>"]
    for number, one in enumerate(told["rules"]):
        found += ruled(one, f"{name}.{number}")
    return found


def noted(note: dict[str, str]) -> str:
    """What was left out of a rule."""
    return (
        f"<b>{safe(note['rule'])}</b>: {safe(note['text'])}" if note["rule"] else safe(note["text"])
    )


def totals(told: dict[str, Any]) -> list[tuple[str, str, str]]:
    """The numbers of one rule file."""
    found = [
        (f"{told['asked']:,}", "requests", ""),
        (f"{told['allowed']:,}", "let in at once", "allowed"),
        (f"{told['refused']:,}", f"refused, {percent(told['share'])}", "refused"),
    ]
    if told["delayed"]:
        found.append((f"{told['delayed']:,}", "made to wait", "delayed"))
    if told["shadowed"]:
        found.append((f"{told['shadowed']:,}", "would be refused, but for shadow", "shadowed"))
    return [*found, (f"{told['unruled']:,}", "met no rule", "")]


def row(one: dict[str, Any]) -> list[str]:
    """A rule in the table."""
    mode = one["mode"] if one["rollout"] == 100 else f"{one['mode']} for {one['rollout']:g} %"
    return [
        one["rule"], one["key"] or "all together", ", ".join(one["terms"]), mode,
        f"{one['asked']:,}", f"{one['refused']:,}", percent(one["share"]), f"{one['shadowed']:,}",
        f"{one['delayed']:,}", f"{one['keys']:,}", f"{one['keys_refused']:,}",
    ]  # fmt: skip


def ruled(one: dict[str, Any], name: str) -> list[str]:
    """A rule on its own."""
    if not one["asked"]:
        return []
    found = [
        f"<section><h3>Rule {safe(one['rule'])}</h3>",
        chart(f"{name}.timeline", "Requests over time"),
    ]
    if one["top"]:
        found.append(chart(f"{name}.top", "Who would be hit"))
    if one["heat"]["rows"]:
        found.append(chart(f"{name}.heat", "When they would be hit"))
    return [*found, "</section>"]


def diff(report: dict[str, Any]) -> list[str]:
    """What two rule files do not agree upon."""
    told, old, new = report["diff"], report["rules"]["file"], report["against"]["file"]
    rows = [
        [one["old"] or "let in", one["new"] or "let in", f"{one['requests']:,}"]
        for one in told["rules"]
    ]
    return [
        "<section><h2>What changes</h2>",
        tiles([
            (f"{told['only_new']:,}", f"refused by {new} alone", "refused"),
            (f"{told['only_old']:,}", f"refused by {old} alone", "allowed"),
            (f"{told['both']:,}", "refused by both", ""),
            (f"{told['neither']:,}", "let in by both", ""),
            (f"{told['keys_concerned']:,}", "keys fare differently", ""),
        ]),
        chart("diff.timeline", "Refused requests over time"),
        chart("diff.keys", "Who fares differently") if told["keys"] else "",
        table((f"by {old}", f"by {new}", "requests"), rows) if rows else "",
        "</section>",
    ]  # fmt: skip


def logs(read: list[dict[str, Any]]) -> list[str]:
    """How reading went."""
    heads = ("log", "format", "lines", "broken", "no request", "too late")
    rows = [
        [one["file"], one["format"],
         *(f"{one[word]:,}" for word in ("lines", "broken", "asides", "late"))]
        for one in read
    ]  # fmt: skip
    found = ["<section><h2>What was read</h2>", table(heads, rows)]
    for one in read:
        if one["flaw"]:
            found.append(f'<p class="note"><b>{safe(one["file"])}</b> {safe(one["flaw"])}</p>')
        found += [
            f"<p>{safe(one['file'])}, line {example['line']:,} is none: "
            f"<code>{safe(example['text'])}</code></p>"
            for example in one["examples"]
        ]
    return [*found, "</section>"]


def table(heads: tuple[str, ...], rows: list[list[str]]) -> str:
    """A table of texts; what looks like a number stands at the right."""
    top = "".join(f"<th>{safe(one)}</th>" for one in heads)
    lines = "".join(
        "<tr>" + "".join(f"<td{numeric(one)}>{safe(one)}</td>" for one in line) + "</tr>"
        for line in rows
    )
    whole = f"<table><thead><tr>{top}</tr></thead><tbody>{lines}</tbody></table>"
    return f'<div class="wide">{whole}</div>'


def numeric(said: str) -> str:
    """How a cell is marked that holds a number."""
    return (
        ' class="number"'
        if said[:1].isdigit() and said.rstrip(" %").replace(",", "").replace(".", "").isdigit()
        else ""
    )


def chart(name: str, label: str) -> str:
    """A place where something is drawn."""
    return (
        f"<figure><figcaption>{safe(label)}</figcaption>"
        f'<div class="chart" data-chart="{safe(name)}" role="img" aria-label="{safe(label)}"></div>'
        "</figure>"
    )


def percent(share: float) -> str:
    """A share as people read it."""
    return f"{share * 100:.3g} %"
