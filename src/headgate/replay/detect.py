"""Detect: in which format a log is written, told from its first lines or by who asks.

What a server writes behind the combined format is told from what it looks like in all of these
lines: addresses are what proxies said, thousandths are how long it took, and a name with dots is a
host.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from headgate.replay.fields import layout
from headgate.replay.keyed import Keyed
from headgate.replay.scan import Scanner
from headgate.replay.template import ALSO, COMBINED, COMMON, KNOWN, Template, template
from headgate.replay.words import NAMES, TIME
from headgate.rules.clients.address import parse

NAMED = ", ".join(sorted({*KNOWN, *ALSO, "json"}))
# So many lines are looked at, and so much of one is shown.
LOOKED = 50
SHOWN = 120
# The first that fits is it: the later ones fit lines of the earlier ones, too.
TRIED = ("istio", "envoy", "vhost", "combined", "common")
QUOTED = r'"(?:[^"\\]|\\.)*"'
SHAPE = rf"\S+ \S+ .*?\[[^\]]*\] {QUOTED} \S+ \S+"
BASES = {
    "combined": (COMBINED, re.compile(rf"{SHAPE} {QUOTED} {QUOTED}")),
    "common": (COMMON, re.compile(SHAPE)),
}
TOKEN = re.compile(rf" ({QUOTED}|\[[^\]]*\]|\S+)")
THOUSANDTHS = re.compile(r"\d+\.\d{3}")
HOSTED = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]*\.[A-Za-z]{2,}(?::\d+)?")


class Format(NamedTuple):
    """How a log is written, and what it tells of a request."""

    label: str
    reader: Callable[[frozenset[str] | None], Any]
    told: tuple[str, ...]
    headers: tuple[str, ...]
    # Whether headers are whole objects, so that any may be there.
    heads: bool = False


def detect(lines: Sequence[bytes], said: str = "") -> Format:
    """The format of a log that begins so; `said` names it. Raises ValueError if none fits."""
    if said and said not in KNOWN and said not in ALSO and said != "json":
        if not set(said) & {"$", "%"}:
            raise ValueError(
                f'format "{said}" is not known; there are {NAMED}, or the log_format of the server'
            )
        return written(template(said))
    word = ALSO.get(said, said)
    sample = [line for line in lines[:LOOKED] if line.strip()]
    if word == "json" or (not word and objects(sample)):
        return keyed(sample, said or "json")
    for name in (word,) if word else TRIED:
        found = fitting(name, sample)
        if found is not None:
            return written(found)
    if word:
        return written(template(KNOWN[word], word))
    shown = sample[0][:SHOWN].decode("utf-8", "replace") if sample else ""
    raise ValueError(
        f"no format that is known here fits its first lines, the first of which is {shown!r}; say "
        "which it is, or what the server's log_format is, with --format"
        if sample
        else "there is no line in it"
    )


def written(found: Template) -> Format:
    """The format of a template."""
    return Format(
        found.label, lambda wanted: Scanner(found, wanted), tuple(found.told), found.headers
    )


def objects(sample: list[bytes]) -> bool:
    """Whether most lines look like objects."""
    return sum(line.lstrip()[:1] == b"{" for line in sample) * 2 > len(sample)


def keyed(sample: list[bytes], label: str) -> Format:
    """The format of lines of JSON."""
    first: dict[str, Any] = {}
    for line in sample:
        try:
            one = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(one, dict) and TIME in layout(one).fields:
            first = one
            break
    form = layout(first)
    if "logger" in first and str(first["logger"]).startswith("http.log.access"):
        label = "json (Caddy)"
    told = tuple(NAMES[kind] for kind in sorted(form.fields))
    return Format(
        label, lambda wanted: Keyed(first, wanted), told, tuple(form.headers), bool(form.heads)
    )


def fitting(name: str, sample: list[bytes]) -> Template | None:
    """The template of this name, with what stands behind it, if it fits most lines."""
    found = template(KNOWN[name], name)
    if name in BASES:
        found = longer(name, sample)
    scanner = Scanner(found)
    hits = [scanner.read(line, 0, len(line)) for line in sample]
    good = [hit for hit in hits if hit is not None]
    if name == "vhost":
        good = [hit for hit in good if parse(hit.peer) is not None]
    return found if good and len(good) * 2 > len(sample) else None


def longer(name: str, sample: list[bytes]) -> Template:
    """The combined or the common format, and what stands behind it in these lines."""
    text, shape = BASES[name]
    rows = []
    for line in sample:
        plain = line.decode("latin-1")
        found = shape.match(plain)
        if found:
            rows.append([one[1] for one in TOKEN.finditer(plain, found.end())])
    width = min(map(len, rows), default=0)
    extra = ""
    seen: set[str] = set()
    for column in zip(*(row[:width] for row in rows), strict=True):
        variable = guess([one.strip('"') for one in column], seen)
        seen.add(variable)
        extra += f' "${variable}"' if column[0][:1] == '"' else f" ${variable}"
    known = [word for word in ("http_x_forwarded_for", "request_time", "host") if word in seen]
    if not known:
        return template(text, name)
    label = f"{name} with {', '.join(known)}"
    return template(text + extra, label)


def guess(column: list[str], seen: set[str]) -> str:
    """The variable whose values these may be; `other` if that cannot be told."""
    values = [value for value in column if value not in ("-", "")]
    options = (
        ("http_x_forwarded_for", addresses),
        ("request_time", THOUSANDTHS.fullmatch),
        ("host", HOSTED.fullmatch),
    )
    for name, test in options:
        if values and name not in seen and all(map(test, values)):
            return name
    return "other"


def addresses(value: str) -> bool:
    """Whether this is a list of addresses, as proxies make it."""
    return all(parse(one.strip()) is not None for one in value.split(","))
