"""Diagrams without a script in the page: a sequence becomes a drawing, a flowchart a list.

Viewers that know mermaid draw the blocks themselves; the site may ask nobody, so it is done here,
for as much of the language as the pages use. Anything else is an error that names the line.
"""

from __future__ import annotations

import html
import re

BLOCK = re.compile(r"^```mermaid\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
PARTICIPANT = re.compile(r"participant (?P<name>\w+)(?: as (?P<title>.+))?$")
MESSAGE = re.compile(r"(?P<a>\w+)(?P<arrow>--?>>)(?P<b>\w+): (?P<words>.+)$")
EDGE = re.compile(
    r"(?P<a>\w+)(?P<first>\S.*?)? -->(?:\|(?P<label>[^|]+)\|)? (?P<b>\w+)(?P<then>.*)$"
)
SHAPE = re.compile(r'^[\[{]"?(?P<words>.*?)"?[]}]$')
WIDE, STEP, TOP = 190, 40, 56


class DiagramError(Exception):
    """A line of a diagram that cannot be drawn here."""


def planted(page: str) -> str:
    """The page with drawings and lists in the place of mermaid's blocks."""
    return BLOCK.sub(lambda block: shown(block["text"]), page)


def shown(text: str) -> str:
    """One diagram as HTML."""
    first, *lines = [line.strip() for line in text.splitlines() if line.strip()]
    if first == "sequenceDiagram":
        return sequence(lines)
    if first.startswith("flowchart"):
        return tree(lines)
    raise DiagramError(f"{first!r}: sequenceDiagram or flowchart can be shown")


def sequence(lines: list[str]) -> str:
    """Who says what to whom, from top to bottom."""
    at: dict[str, int] = {}
    drawn: list[str] = []
    height = TOP
    for line in lines:
        if found := PARTICIPANT.match(line):
            at[found["name"]] = WIDE // 2 + WIDE * len(at)
            drawn.append(head(at[found["name"]], found["title"] or found["name"]))
        elif found := MESSAGE.match(line):
            height += STEP
            drawn.append(message(at[found["a"]], at[found["b"]], height, found))
        else:
            raise DiagramError(f"{line!r}: participant NAME, or A->>B: words")
    lives = [f'<path class="life" d="M{x} 40V{height + 20}"/>' for x in at.values()]
    size = f'viewBox="0 0 {WIDE * len(at) + 40} {height + 24}"'
    return f'<svg class="sequence" role="img" {size}>{"".join(lives + drawn)}</svg>'


def head(x: int, title: str) -> str:
    box = f'<rect x="{x - 84}" y="8" width="168" height="32" rx="6"/>'
    return f'{box}<text class="who" x="{x}" y="29">{html.escape(title)}</text>'


def message(a: int, b: int, y: int, found: re.Match[str]) -> str:
    """An arrow with its words above it; a loop where somebody asks itself."""
    kind = "back" if found["arrow"] == "-->>" else "there"
    words = html.escape(found["words"])
    if a == b:
        line = f'<path class="{kind}" d="M{a} {y - 12}h22v16h-18"/>{tip(a + 2, y + 4, -1)}'
        return f'{line}<text class="own" x="{a + 30}" y="{y}">{words}</text>'
    way = 1 if b > a else -1
    line = f'<path class="{kind}" d="M{a} {y}H{b - 4 * way}"/>{tip(b, y, way)}'
    return f'{line}<text x="{(a + b) // 2}" y="{y - 7}">{words}</text>'


def tip(x: int, y: int, way: int) -> str:
    return f'<path class="tip" d="M{x} {y}l{-8 * way} -4v8z"/>'


def tree(lines: list[str]) -> str:
    """Questions, and under each its answers; one that is reached twice is told once."""
    names: dict[str, str] = {}
    after: dict[str, list[tuple[str, str]]] = {}
    for line in lines:
        found = EDGE.match(line)
        if not found:
            raise DiagramError(f"{line!r}: A[words] -->|answer| B[words]")
        for name, shape in ((found["a"], found["first"]), (found["b"], found["then"])):
            if shape and (words := SHAPE.match(shape)):
                names[name] = words["words"].replace("<br>", " ")
        after.setdefault(found["a"], []).append((found["label"] or "", found["b"]))
    return f'<ul class="tree">{branch(next(iter(after)), "", names, after, set())}</ul>'


def branch(
    name: str,
    label: str,
    names: dict[str, str],
    after: dict[str, list[tuple[str, str]]],
    told: set[str],
) -> str:
    words = html.escape(names[name])
    spoken = words if words.endswith("?") else f"<code>{words}</code>"
    answer = f"<b>{html.escape(label)}</b>: " if label else ""
    if name in told:
        return f"<li>{answer}{spoken} (as above)</li>"
    told.add(name)
    below = "".join(branch(next_, said, names, after, told) for said, next_ in after.get(name, []))
    return f"<li>{answer}{spoken}{f'<ul>{below}</ul>' if below else ''}</li>"
