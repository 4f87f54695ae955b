"""Domains: what files of envoyproxy/ratelimit say, read strictly and as they are.

    domain: edge
    descriptors:
      - key: remote_address
        rate_limit: {unit: minute, requests_per_unit: 20}
      - key: path
        value: /search*
        rate_limit: {limit: 20/s burst 40}

What they know is known here, and `limit` beside it: whatever a rule may say there, such as
`{rate: 100 per 90s, by: sliding_window}`. Anchors and merge keys are not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from headgate.algorithms.fixed_window import FixedWindow
from headgate.algorithms.limit import Limit
from headgate.errors import Problem, RulesError
from headgate.rate import Rate
from headgate.rules.documents.document import Document, format_of, read
from headgate.rules.documents.page import MOST_BYTES
from headgate.rules.model.allowance import LIMITS
from headgate.rules.model.kinds import (
    TRUTHS,
    Kind,
    Misfit,
    Path,
    Plain,
    Report,
    Series,
    closest,
    shown,
)
from headgate.rules.model.rules import placed
from headgate.rules.model.scalars import whole
from headgate.rules.model.sense import prove
from headgate.rules.model.table import Table, strict, told

DAY = 86_400
SECONDS = {
    "second": 1,
    "minute": 60,
    "hour": 3600,
    "day": DAY,
    "week": 7 * DAY,
    "month": 30 * DAY,
    "year": 365 * DAY,
}
MOST = (1 << 32) - 1
LONGEST = 4000
# What stands for a text may be spelled as a number, or as true or false: it is taken as spelled.
TEXTS = ("domain", "key", "value", "name", "unit")
SPELLED = re.compile(r"[^\s,\]}#]+")
LINE = re.compile(r"\r\n|\r|\n")
BY = "token_bucket"


def _flag(given: Any) -> bool:
    # Their reader takes more words for true and false than ours.
    word = given.lower() if isinstance(given, str) else given
    found = {"true": True, "false": False}.get(TRUTHS.get(word, ""), word)
    if not isinstance(found, bool):
        raise Misfit
    return found


def _unit(given: Any) -> str:
    if not isinstance(given, str):
        raise Misfit
    if given.lower() not in SECONDS:
        raise Misfit(closest(given, [*SECONDS]))
    return given.lower()


def _text(given: Any) -> str:
    if not isinstance(given, str):
        raise Misfit("; put it in quotes" if isinstance(given, float) else "")
    if len(given) > LONGEST:
        raise Misfit(f"; at most {LONGEST:,} characters")
    return given


def _metadata(given: Any) -> Any:
    if not isinstance(given, dict):
        raise Misfit
    return given


def switch(says: str) -> Kind:
    """A kind that is true or false, as they spell it."""
    return Plain(f"true or false, {says}", _flag, {"type": "boolean"})


UNIT = Plain("second, minute, hour, day, week, month or year", _unit, {"enum": [*SECONDS]})
COUNT = whole("how many", 0, MOST)
FREE = Plain("a mapping", _metadata, {"type": "object"})
NAME = Plain("a text", _text, {"type": "string", "minLength": 1, "maxLength": LONGEST})


@strict
@dataclass(frozen=True, repr=False)
class Replaced:
    """Another limit, by its name."""

    name: Any = told(NAME, "The name of the limit that does not count then.")


@strict
@dataclass(frozen=True, repr=False)
class Policy:
    """How much a descriptor may."""

    unit: Any = told(UNIT, "How long a window is.", "")
    requests_per_unit: Any = told(COUNT, "How much fits into one.", None)
    unlimited: Any = told(switch("whether nothing is counted"), "Whether all may go in.", False)
    name: Any = told(NAME, "What it is called.", "")
    replaces: Any = told(
        Series(Table(Replaced, "a mapping with a name"), "a list of mappings with a name"),
        "Limits that do not count where this one does.",
        (),
    )
    limit: Any = told(LIMITS, "A limit as a rule has it, instead of a window.", ())

    @property
    def free(self) -> bool:
        """Whether all may go in."""
        return bool(self.unlimited) or any(one.unlimited for one in self.limit)

    @property
    def limits(self) -> tuple[Limit, ...]:
        """What counts; nothing where all may go in."""
        if self.free:
            return ()
        if self.limit:
            return tuple(one.limit(BY, "") for one in self.limit)
        return (window(self.requests_per_unit, SECONDS[self.unit]),)

    def check(self, report: Report, at: Path) -> None:
        """Whether it is told in one way, and in full."""
        words = ("unit", "requests_per_unit")
        given = [word for word in words if getattr(self, word) not in ("", None)]
        if self.limit:
            for word in [*given, *(["unlimited"] if self.unlimited else [])]:
                report.add((*at, word), "stands beside limit, which says it all; leave one out")
            prove(self.limit, BY, report, (*at, "limit"))
        elif self.unlimited and self.unit:
            report.add((*at, "unit"), "is of no use to what is unlimited; leave one of them out")
        elif not self.unlimited:
            for word, kind in zip(words, (UNIT, COUNT), strict=True):
                if word not in given:
                    report.add(at, f'lacks "{word}", which is {kind.says}')
        for number, one in enumerate(self.replaces):
            if one.name == self.name:
                said = "is its own name; name another limit, or leave it out"
                report.add((*at, "replaces", number, "name"), said)


POLICY = Table(Policy, "a mapping such as {unit: minute, requests_per_unit: 20}")
NESTED = Table(dict, "a descriptor, which is a mapping with a key")
DESCRIPTORS = Series(NESTED, "a list of descriptors")


@strict
@dataclass(frozen=True, repr=False)
class Descriptor:
    """Which entry of a descriptor is meant, and what holds for it."""

    key: Any = told(NAME, "The key of the entry.")
    value: Any = told(NAME, "Its value, in which a * is any text; any value unless said here.", "")
    rate_limit: Any = told(POLICY, "How much it may.", None)
    shadow_mode: Any = told(
        switch("whether a no is only counted"), "Whether it is tried out.", False
    )
    quota_mode: Any = told(
        switch("whether it only refuses with all others of its kind"),
        "Whether it is a quota.",
        False,
    )
    detailed_metric: Any = told(switch("for their metrics"), "Known, and of no effect.", False)
    value_to_metric: Any = told(switch("for their metrics"), "Known, and of no effect.", False)
    share_threshold: Any = told(
        switch("whether all values count together"), "Whether all that fit the * are one.", False
    )
    metadata: Any = told(FREE, "What is told of a descriptor that may go in.", None)
    descriptors: Any = told(DESCRIPTORS, "What the next entry of the descriptor may be.", ())

    def check(self, report: Report, at: Path) -> None:
        """Whether the fields go together."""
        if self.share_threshold and "*" not in self.value:
            said = "is for values with a * in them; add one, or leave it out"
            report.add((*at, "share_threshold"), said)
        distinct(self.descriptors, report, (*at, "descriptors"))


NESTED.cls = Descriptor


@strict
@dataclass(frozen=True, repr=False)
class Domain:
    """One file: a domain, and the descriptors it knows."""

    domain: Any = told(NAME, "What calls name.")
    descriptors: Any = told(DESCRIPTORS, "The first entries of descriptors.", ())

    def check(self, report: Report, at: Path) -> None:
        """Whether all descriptors are different."""
        distinct(self.descriptors, report, (*at, "descriptors"))


WHOLE = Table(Domain, "a mapping with domain and descriptors")


def load(files: Iterable[str]) -> tuple[Domain, ...]:
    """The domains of these files; raises `RulesError` with all that is wrong."""
    found: dict[str, str] = {}
    domains: list[Domain] = []
    problems: list[Problem] = []
    for file in files:
        try:
            domain, document = parse(text_of(file), format_of(file), file)
        except RulesError as error:
            problems += error.problems
            continue
        name = domain.domain
        if name in found:
            said = f"{shown(name)} is the domain of {found[name]}; put both into one file"
            at: Path = ("domain",)
            problems.append(Problem(said, at, file, *document.place(at)))
        found[name] = file
        domains.append(domain)
    if problems:
        raise RulesError(tuple(problems))
    return tuple(domains)


def parse(said: str | bytes, form: str = "yaml", file: str = "") -> tuple[Domain, Document]:
    """The domain of a text, and the text taken apart."""
    document = read(said, form, file)
    lines = LINE.split(said if isinstance(said, str) else said.decode("utf-8"))
    data = tidied(document.data, (), document, lines)
    report = Report()
    found = WHOLE.read(data, (), report)
    if report.wrong:
        raise RulesError(placed(report, document, document))
    return found, document


def tidied(data: Any, path: Path, document: Document, lines: list[str]) -> Any:
    """The data without what is empty, as that is not said, and with texts as they are spelled."""
    if isinstance(data, list):
        return [tidied(one, (*path, place), document, lines) for place, one in enumerate(data)]
    if not isinstance(data, dict):
        return data
    found: dict[str, Any] = {}
    for name, value in data.items():
        here = (*path, name)
        if name == "metadata":
            found[name] = value
        elif name in TEXTS and isinstance(value, (bool, int)):
            line, column = document.place(here)
            spelled = SPELLED.match(lines[line - 1], column - 1)
            found[name] = spelled[0] if spelled else str(value)
        elif value not in (None, ""):
            found[name] = tidied(value, here, document, lines)
    return found


def text_of(file: str) -> bytes:
    """What stands in a file."""
    try:
        with open(file, "rb") as opened:
            return opened.read(MOST_BYTES + 1)
    except (OSError, ValueError) as problem:
        said = f"cannot be read: {getattr(problem, 'strerror', None) or problem}"
        raise RulesError((Problem(said, file=file),)) from None


def distinct(descriptors: Any, report: Report, at: Path) -> None:
    """Whether no two descriptors of one level are the same."""
    seen: dict[tuple[str, str], int] = {}
    for number, one in enumerate(descriptors):
        first = seen.setdefault((one.key, one.value), number)
        if first < number:
            report.add((*at, number, "key"), f"is that of [{first}], with the same value; keep one")


def window(count: int, seconds: int) -> Limit:
    """So much for each window of the clock."""
    return FixedWindow(Rate.of(count, seconds * 1_000_000))
