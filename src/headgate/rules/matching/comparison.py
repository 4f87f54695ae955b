"""Comparison: one fact of a request, held against what a rule says of it.

A text is compared with a fact as it is, a number with what is a number: `1` is also `1.0` and `01`.
What is no number, or has more than 32 characters, is neither less nor more than any, and unequal to
all. `like` takes a glob, and for `path` a pattern as in a match. `client.ip` is compared with
addresses and networks. The method GET is also HEAD, a host has no capitals, and empty segments of
a path do not count, as everywhere in rules.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from headgate.rules.clients.address import Networks
from headgate.rules.matching.facts import Fact
from headgate.rules.matching.glob import Glob, wild
from headgate.rules.matching.paths import fits, parse, split
from headgate.rules.matching.request import Request

Test = Callable[[Request], bool]
Verdict = Callable[[str], bool]
Literal = str | int | Decimal

PATH = Fact("path")
CLIENT = Fact("client.ip")
BOUNDS: dict[str, Callable[[int | Decimal, int | Decimal], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
LONGEST_NUMBER = 32


@dataclass(frozen=True, slots=True)
class Comparison:
    """A fact, a sign (`==`, `!=`, `in`, `like`, `<`, `<=`, `>` or `>=`) and one literal or more.

    A ValueError says what cannot be compared in this way.
    """

    fact: Fact
    sign: str
    literals: tuple[Literal, ...]
    verdict: Verdict = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "verdict", judge(self.fact, self.sign, self.literals))

    def build(self, paths: Sequence[str]) -> Test:
        """What holds it against a request; `paths` are the rule's, for `path.NAME`."""
        return asking(self.fact, self.verdict, paths)

    def facts(self) -> tuple[Fact, ...]:
        """The one it reads."""
        return (self.fact,)

    def spell(self) -> str:
        """As one would type it."""
        spelled = ", ".join(map(spell, self.literals))
        return f"{self.fact} {self.sign} {f'[{spelled}]' if self.sign == 'in' else spelled}"


def spell(literal: Literal) -> str:
    """A text in quotes, or a number in digits."""
    if not isinstance(literal, str):
        return f"{literal:f}" if isinstance(literal, Decimal) else str(literal)
    escaped = literal.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def asking(fact: Fact, verdict: Verdict, paths: Sequence[str]) -> Test:
    """What reads a fact off a request and judges it; of the client it is the whole address."""
    if fact == PATH:
        return lambda request: verdict(request.path)
    if fact == CLIENT:
        return lambda request: verdict(request.address)
    read = fact.reader(paths)
    return lambda request: verdict(read(request))


def judge(fact: Fact, sign: str, literals: Sequence[Literal]) -> Verdict:
    """What judges the text of a fact by a comparison."""
    texts = [literal for literal in literals if isinstance(literal, str)]
    numbers = [literal for literal in literals if not isinstance(literal, str)]
    if sign in BOUNDS:
        if texts:
            raise ValueError(f"{sign} compares with a number; try {fact} {sign} 10")
        return bounded(sign, numbers[0])
    if numbers and (sign == "like" or fact in {PATH, CLIENT}):
        raise ValueError(f'{fact} {sign} compares with a text; try "{spell(numbers[0])}"')
    if sign == "like":
        return likeness(fact, texts[0])
    equal = equality(fact, texts, numbers)
    return equal if sign != "!=" else lambda text: not equal(text)


def bounded(sign: str, bound: int | Decimal) -> Verdict:
    """Whether a text is a number on the right side of the bound."""
    compare = BOUNDS[sign]

    def verdict(text: str) -> bool:
        found = number(text)
        return found is not None and compare(found, bound)

    return verdict


def likeness(fact: Fact, pattern: str) -> Verdict:
    """Whether a text fits the pattern."""
    if fact == CLIENT:
        raise ValueError('client.ip is in networks; try client.ip in ["10.0.0.0/8"]')
    if fact == PATH:
        return fits((pattern,))
    globs = [Glob(each).matches for each in fact.alike(pattern)]
    return globs[0] if len(globs) == 1 else lambda text: any(fit(text) for fit in globs)


def equality(fact: Fact, texts: Sequence[str], numbers: Sequence[int | Decimal]) -> Verdict:
    """Whether a text is one of those, or a number that is one of these."""
    if fact == CLIENT:
        return Networks(texts).holds
    if fact == PATH:
        patterns = [text for text in texts if wild(text) or "{" in text]
        if patterns:
            raise ValueError(f'path is compared as it is; try path like "{patterns[0]}"')
        paths = {parse(text) for text in texts}
        return lambda text: tuple(split(text)) in paths
    known = frozenset(each for text in texts for each in fact.alike(text))
    if not numbers:
        return known.__contains__
    counted = frozenset(numbers)
    return lambda text: text in known or number(text) in counted


def meeting(fact: Fact, values: Sequence[str]) -> Verdict:
    """What judges the text of a fact by the values of a match; a star makes a value a pattern."""
    if fact == CLIENT:
        return Networks(values).holds
    if fact == PATH:
        return fits(tuple(values))
    known = [each for value in values for each in fact.alike(value)]
    exact = frozenset(each for each in known if not wild(each))
    globs = [Glob(each).matches for each in known if wild(each)]
    if not globs:
        return exact.__contains__
    return lambda text: text in exact or any(fit(text) for fit in globs)


def number(text: str) -> int | Decimal | None:
    """The number that a text is, exactly; None if it is none."""
    whole, dot, rest = text.removeprefix("-").partition(".")
    spelled = whole.isdigit() and (rest.isdigit() or not dot)
    if not spelled or not text.isascii() or len(text) > LONGEST_NUMBER:
        return None
    return Decimal(text.rstrip("0")) if rest.strip("0") else int(text.partition(".")[0])
