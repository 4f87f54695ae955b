"""Over: what happens to a request when a rule says no. Reject, wait, degrade or redirect."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headgate.rules.model.kinds import (
    Misfit,
    Named,
    Names,
    Path,
    Plain,
    Report,
    Schema,
    closest,
    shown,
)  # fmt: skip
from headgate.rules.model.scalars import STATUS, seconds, text, whole
from headgate.rules.model.table import Table, strict, told

HEADER = text("a header's value", 8_000)
BODY = text("a text to answer with", 100_000)
ELSEWHERE = (301, 302, 303, 307, 308)


def _elsewhere(given: Any) -> int:
    if isinstance(given, bool) or not isinstance(given, int) or given not in ELSEWHERE:
        raise Misfit
    return given


MOVED = Plain("301, 302, 303, 307 or 308", _elsewhere, {"enum": [*ELSEWHERE]})


@strict
@dataclass(frozen=True, repr=False)
class Reject:
    """Answered at once, with a status: 429 for too much, 503 where the service cannot now."""

    status: Any = told(STATUS, "The status; 429 or 503 unless said here.", 0)


@strict
@dataclass(frozen=True, repr=False)
class Wait:
    """Held back until it fits, at most so long and with at most so many others; else rejected."""

    timeout: Any = told(seconds("the longest wait", 0.001), "The longest wait.")
    queue: Any = told(whole("how many may wait", 0), "How many may wait at once.", 1000)
    status: Any = told(STATUS, "The status for whom it was too long.", 0)


@strict
@dataclass(frozen=True, repr=False)
class Degrade:
    """Answered with something less: a body kept ready, or the last good answer there was."""

    status: Any = told(STATUS, "The status of the lesser answer.", 200)
    headers: Any = told(Names("a mapping of headers", HEADER), "Its headers.", Named())
    body: Any = told(BODY, "Its body.", "")
    stale: Any = told(
        seconds("how old an answer may be"),
        "Answer with the last good answer to the same request, if it is no older.",
        0.0,
    )

    def check(self, report: Report, at: Path) -> None:
        """Headers are sent as they are, so they must be such as can be sent."""
        for name, value in self.headers.items():
            here = (*at, "headers", name)
            if not name.replace("-", "").isalnum() or not name.isascii():
                report.stray(here, f"a header's name is letters, digits and -, not {shown(name)}")
            elif not value.isascii() or not value.isprintable():
                report.add(here, f"a header's value is printable ASCII, not {shown(value)}")


@strict
@dataclass(frozen=True, repr=False)
class Redirect:
    """Sent elsewhere, to a page that explains."""

    to: Any = told(text("an address such as /busy or https://example.com/busy"), "Where to.")
    status: Any = told(MOVED, "With which status.", 302)

    def check(self, report: Report, at: Path) -> None:
        """An address that any browser understands, and that no header is split by."""
        clean = self.to.isascii() and self.to.isprintable() and " " not in self.to
        if not clean or not self.to.startswith(("/", "http://", "https://")):
            report.add((*at, "to"), f"is /a/path or an http address, not {shown(self.to)}")


WAYS = {
    "reject": Table(Reject, "a status such as 503, or a mapping with status", "status"),
    "wait": Table(Wait, "a duration such as 2s, or a mapping with timeout", "timeout"),
    "degrade": Table(Degrade, "a mapping with status, headers, body or stale"),
    "redirect": Table(Redirect, "an address such as /busy, or a mapping with to", "to"),
}
CLASSES: dict[type, str] = {
    Reject: "reject",
    Wait: "wait",
    Degrade: "degrade",
    Redirect: "redirect",
}
# A number of seconds, as durations may be.
SECONDS = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,9})?")
EXAMPLES = {"wait": "wait 2s", "redirect": "redirect /busy"}


class Ways:
    """The kind of `over`: a word, a word and what goes with it, or a mapping with that word."""

    says = "reject, wait 2s, redirect /busy, or a mapping such as {degrade: {body: ...}}"

    def read(self, given: Any, at: Path, report: Report) -> Any:
        """One of the four ways."""
        if type(given) in CLASSES:
            return given
        if isinstance(given, str):
            return self._word(given, at, report)
        if not isinstance(given, Mapping) or not given:
            report.add(at, f"is {self.says}, not {shown(given)}")
            return None
        for way in given:
            if way not in WAYS:
                hint = closest(way, [*WAYS]) or f"; there are {', '.join(WAYS)}"
                report.stray((*at, str(way)), f"there is no such way{hint}")
                return None
        if len(given) > 1:
            report.add(at, f"is one way, not {len(given)}: {', '.join(given)}; keep one of them")
            return None
        way, terms = next(iter(given.items()))
        return WAYS[way].read(terms, (*at, way), report)

    def spell(self, value: Any) -> Any:
        """The word, or a mapping with it."""
        way = CLASSES[type(value)]
        terms = WAYS[way].spell(value)
        if terms == {}:
            return way
        return {way: terms} if isinstance(terms, Mapping) else f"{way} {terms}"

    def schema(self) -> Schema:
        """A word or a mapping."""
        words = {
            "type": "string",
            "pattern": r"^(reject( +[0-9]{3} *)?|wait .+|redirect .+|degrade)$",
        }
        maps = [
            {"type": "object", "properties": {way: table.schema()}, "required": [way],
             "additionalProperties": False}
            for way, table in WAYS.items()
        ]  # fmt: skip
        return {"anyOf": [words, *maps]}

    def _word(self, given: str, at: Path, report: Report) -> Any:
        way, _, rest = given.partition(" ")
        terms: Any = rest.strip()
        if way not in WAYS:
            report.add(at, f"is {self.says}, not {shown(given)}{closest(way, [*WAYS])}")
        elif way == "degrade" and terms:
            report.add(at, "degrade with terms is a mapping: {degrade: {status: 200, body: ...}}")
        elif way in EXAMPLES and not terms:
            report.add(at, f"{way} what? write {EXAMPLES[way]}")
        else:
            if way == "reject" and terms.isascii() and terms.isdigit() and len(terms) == 3:
                terms = int(terms)
            elif way == "wait" and SECONDS.fullmatch(terms):
                terms = float(terms) if "." in terms else int(terms)
            return WAYS[way].read({} if terms == "" else terms, at, report)
        return None


OVER = Ways()
