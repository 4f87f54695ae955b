"""Match: which requests a rule is about. Facts, and what each of them may be; all must hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headgate.errors import RulesError
from headgate.rules.clients.address import Networks
from headgate.rules.matching.facts import FAMILIES, WORDS, Fact
from headgate.rules.matching.glob import Glob, wild
from headgate.rules.matching.paths import LONGEST, parse
from headgate.rules.model.kinds import SHOWN, Path, Report, Schema, closest, shown

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT")
# Others that look like a misspelling of one of these.
RARE = ("REPORT", "PURGE", "QUERY", "COPY", "MOVE", "LOCK", "UNLOCK", "SEARCH", "LABEL", "MERGE")
SCHEMES = ("http", "https", "ws", "wss")
NOT = "not"
# What some facts look like, in the words of JSON Schema.
SHAPES = {
    "path": "^/",
    "method": "^[A-Za-z*?-]+$",
    "client.ip": "^[0-9A-Fa-f.:]+(/[0-9]+)?$",
    "scheme": "^(http|https|ws|wss|.*[*?].*)$",
}
# More alternatives than this are a table, not a rule.
MOST = 10_000
FACTS = (
    f"^({'|'.join(WORDS).replace('.', '[.]')}|({'|'.join(FAMILIES)})[.][A-Za-z0-9._-]{{1,100}})$"
)


class Match:
    """Conditions that must all hold, and others of which none may: `Match({"path": "/v1/**"})`.

    A condition is a fact and one or several values, of which one must be true of it. `*` in a value
    stands for any characters. A method of GET is also HEAD, for frameworks answer both alike. What
    must not be stands under `not`.
    """

    __slots__ = ("conditions", "exceptions")

    conditions: dict[str, tuple[str, ...]]
    exceptions: dict[str, tuple[str, ...]]

    def __init__(self, given: Mapping[str, Any] | None = None) -> None:
        report = Report()
        found = made({}, {}) if given is None else MATCH.read(given, (), report)
        if report.wrong:
            raise RulesError(report.errors)
        object.__setattr__(self, "conditions", found.conditions)
        object.__setattr__(self, "exceptions", found.exceptions)

    def spelled(self) -> dict[str, Any]:
        """As one would type it."""
        plain = {fact: lone(values) for fact, values in self.conditions.items()}
        if self.exceptions:
            plain[NOT] = {fact: lone(values) for fact, values in self.exceptions.items()}
        return plain

    @property
    def paths(self) -> tuple[str, ...]:
        """The path patterns, of which one must fit; none if any path does."""
        return self.conditions.get("path", ())

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a Match is frozen; make a new one")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Match):
            return NotImplemented
        return (self.conditions, self.exceptions) == (other.conditions, other.exceptions)

    def __hash__(self) -> int:
        return hash((frozenset(self.conditions.items()), frozenset(self.exceptions.items())))

    def __bool__(self) -> bool:
        return bool(self.conditions or self.exceptions)

    def __repr__(self) -> str:
        return f"Match({self.spelled()!r})" if self else "Match()"

    def __reduce__(self) -> tuple[Any, ...]:
        return made, (self.conditions, self.exceptions)


class Matching:
    """The kind of a match: a mapping from facts to values."""

    says = "a mapping from facts to values, such as {method: POST, path: /login}"

    def read(self, given: Any, at: Path, report: Report) -> Any:
        """A match."""
        if isinstance(given, Match):
            return given
        if not isinstance(given, Mapping) or not given:
            hint = "" if given != {} else "; leave it out for all requests"
            report.add(at, f"is {self.says}, not {shown(given)}{hint}")
            return None
        rest = {fact: value for fact, value in given.items() if fact != NOT}
        before = report.wrong
        found = conditions(rest, at, report)
        exceptions = excepted(given[NOT], at, report) if NOT in given else {}
        return made(found, exceptions) if report.wrong == before else None

    def spell(self, value: Any) -> Any:
        """A mapping."""
        return value.spelled()

    def schema(self) -> Schema:
        """An object whose names are facts."""
        scalar = {"type": ["string", "integer", "boolean"]}
        known = {word: several({"type": "string", "pattern": SHAPES[word]}) for word in SHAPES}
        facts = {
            "type": "object",
            "minProperties": 1,
            "properties": known,
            "patternProperties": {FACTS: several(scalar)},
            "additionalProperties": False,
        }
        return {**facts, "properties": {**known, NOT: facts}}


def several(one: Schema) -> Schema:
    """One of these, or a list of them, in JSON Schema."""
    return {"anyOf": [one, {"type": "array", "items": one, "minItems": 1}]}


def made(found: dict[str, tuple[str, ...]], exceptions: dict[str, tuple[str, ...]]) -> Match:
    """A match of what was read already."""
    match = object.__new__(Match)
    object.__setattr__(match, "conditions", found)
    object.__setattr__(match, "exceptions", exceptions)
    return match


def excepted(given: Any, at: Path, report: Report) -> dict[str, tuple[str, ...]]:
    """What must not be."""
    if not isinstance(given, Mapping) or not given:
        report.add((*at, NOT), f"is {Matching.says}, not {shown(given)}")
        return {}
    return conditions(given, (*at, NOT), report)


def conditions(given: Mapping[Any, Any], at: Path, report: Report) -> dict[str, tuple[str, ...]]:
    """Facts, and what each of them may be."""
    found: dict[str, tuple[str, ...]] = {}
    for word, value in given.items():
        here = (*at, str(word))
        if report.full:
            break
        try:
            fact = str(Fact.parse(word))
        except (TypeError, ValueError) as problem:
            hint = closest(word, [*WORDS, NOT])
            meant = hint == closest(NOT, [NOT])
            report.stray(here, f"unknown fact {shown(word)}{hint}" if meant else str(problem))
            continue
        if fact in found:
            report.stray(here, f"stands twice, in capitals or not; keep one {fact}")
            continue
        several = value if isinstance(value, (list, tuple)) else [value]
        if not several or len(several) > MOST:
            report.add(here, f"is a value, or a list of 1 to {MOST:,}, not of {len(several):,}")
            continue
        found[fact] = tuple(
            one(fact, each, here if several is not value else (*here, number), report)
            for number, each in enumerate(several)
        )
    return found


def one(fact: str, given: Any, at: Path, report: Report) -> str:
    """One value that a fact may have."""
    if isinstance(given, bool):
        given = "true" if given else "false"
    elif isinstance(given, int) and abs(given) < 10**SHOWN:
        given = str(given)
    if not isinstance(given, str):
        hint = f'; write "{given}"' if isinstance(given, float) else ""
        report.add(at, f"is a word, or a list of words, not {shown(given)}{hint}")
        return ""
    try:
        return proper(fact, given)
    except ValueError as problem:
        report.add(at, str(problem))
        return ""


def proper(fact: str, value: str) -> str:
    """The value as it is compared, if the fact can have it; a ValueError says what is wrong."""
    if fact == "path":
        parse(value)
        return value
    if fact == "client.ip":
        return Networks([value]).cidrs[0]
    if wild(value) or len(value) > LONGEST:
        Glob(value)
    if fact == "host":
        return hosted(value)
    if fact == "scheme" and not wild(value) and value.lower() not in SCHEMES:
        raise ValueError(f"a scheme is http, https, ws or wss, not {shown(value)}")
    if fact == "scheme":
        return value.lower()
    return called(value) if fact == "method" else value


def hosted(value: str) -> str:
    """A host as requests have it: no capitals, no port, no scheme."""
    host = value.lower()
    if "/" in host or host.count(":") == 1 or host.endswith("."):
        plain = host.rpartition("//")[2].partition("/")[0].partition(":")[0].removesuffix(".")
        said = "a host has no scheme, port, path or dot at its end"
        raise ValueError(f"{said}; try {plain or 'example.com'}")
    return host


def called(value: str) -> str:
    """A method in capitals."""
    word = value.upper()
    if word in METHODS or word in RARE:
        return word
    hint = closest(word, METHODS)
    plain = word.replace("-", "").replace("*", "").replace("?", "")
    if wild(word) and not plain.strip("ABCDEFGHIJKLMNOPQRSTUVWXYZ"):
        return word
    if hint or not plain.isalpha() or not plain.isascii():
        raise ValueError(f"a method is one such as GET or POST, not {shown(value)}{hint}")
    return word


def valid(word: Any) -> bool:
    """Whether it names a fact, or what must not be."""
    try:
        return word == NOT or bool(Fact.parse(word))
    except (TypeError, ValueError):
        return False


def lone(values: tuple[str, ...]) -> Any:
    """A single value without brackets."""
    return values[0] if len(values) == 1 else [*values]


MATCH = Matching()
