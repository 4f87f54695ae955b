"""Kinds: what a field of a rule may hold, told once for reading, for spelling and for the schema.

A kind reads what a person gave, plain data or a value that was read before, into a frozen value;
spells that value as the plain data one would type; and says in JSON Schema what it accepts. What
is wrong goes into a report with the way to it, so that one reading finds every mistake.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any, Protocol, TypeVar

from headgate.errors import Problem

V = TypeVar("V")
Path = tuple[str | int, ...]
Schema = dict[str, Any]

# As much of a wrong value as is shown.
SHOWN = 60
# What other forms take for true or false, and this one for a text.
TRUTHS = {"yes": "true", "on": "true", "y": "true", "no": "false", "off": "false", "n": "false"}
# Who has made so many mistakes in one file has made one many times; the rest is not looked at.
MOST = 100


class Report:
    """The problems found so far, each with the way to it from the top."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        # What leads to a name that is wrong, whatever it stands for.
        self.strays: set[Path] = set()
        self.wrong = 0

    def add(self, at: Path, message: str) -> None:
        """Something is wrong there."""
        self.problems.append(Problem(message, at))
        self.wrong += 1

    def stray(self, at: Path, message: str) -> None:
        """The name there is wrong."""
        self.strays.add(at)
        self.add(at, message)

    def warn(self, at: Path, message: str) -> None:
        """Something there is probably not what was meant."""
        self.problems.append(Problem(message, at, warning=True))

    @property
    def errors(self) -> tuple[Problem, ...]:
        """Those that are no mere warnings."""
        return tuple(problem for problem in self.problems if not problem.warning)

    @property
    def full(self) -> bool:
        """Whether enough was found."""
        return self.wrong >= MOST


class Kind(Protocol):
    """What a field may hold; `says` completes the sentence "it is ..."."""

    says: str

    def read(self, given: Any, at: Path, report: Report) -> Any:
        """The value given, or None and a problem in the report."""

    def spell(self, value: Any) -> Any:
        """The plain data one would type for the value."""

    def schema(self) -> Schema:
        """What is accepted, in JSON Schema."""


class Plain:
    """A kind made of a function from what was given to a value; a ValueError says what is wrong."""

    def __init__(
        self,
        says: str,
        make: Callable[[Any], Any],
        schema: Schema,
        spell: Callable[[Any], Any] = lambda value: value,
    ) -> None:
        self.says = says
        self._make = make
        self._schema = schema
        self._spell = spell

    def read(self, given: Any, at: Path, report: Report) -> Any:
        """The value given, or None and a problem."""
        try:
            return self._make(given)
        except Misfit as misfit:
            report.add(at, f"is {self.says}, not {shown(given)}{misfit.hint}")
        except (ArithmeticError, TypeError, ValueError) as problem:
            report.add(at, str(problem))
        return None

    def spell(self, value: Any) -> Any:
        """What one would type."""
        return self._spell(value)

    def schema(self) -> Schema:
        """In JSON Schema."""
        return dict(self._schema)


class Misfit(ValueError):
    """What was given is not of the kind at all."""

    def __init__(self, hint: str = "") -> None:
        super().__init__(hint)
        self.hint = hint


class Listing:
    """One of a kind or a list of them, kept as a tuple; a single one is spelled without brackets.

    Where what is alone may itself be a list, there is none that is not wrong.
    """

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.says = f"{kind.says}, or a list of them"

    def read(self, given: Any, at: Path, report: Report) -> Any:
        """A tuple of what was given."""
        if not isinstance(given, (list, tuple)):
            return (self.kind.read(given, at, report),)
        if not given:
            report.add(at, f"is {self.says}, not an empty list")
        return each(self.kind, given, at, report)

    def spell(self, value: Any) -> Any:
        """A list, or what is alone in it."""
        spelled = [self.kind.spell(one) for one in value]
        return spelled[0] if len(spelled) == 1 else spelled

    def schema(self) -> Schema:
        """One or several."""
        one = self.kind.schema()
        return {"anyOf": [one, {"type": "array", "items": one, "minItems": 1}]}


class Series:
    """A list that is always one, and may be empty."""

    def __init__(self, kind: Kind, says: str) -> None:
        self.kind = kind
        self.says = says

    def read(self, given: Any, at: Path, report: Report) -> Any:
        """A tuple of what was given."""
        if isinstance(given, (list, tuple)):
            return each(self.kind, given, at, report)
        report.add(at, f"is {self.says}, not {shown(given)}")
        return ()

    def spell(self, value: Any) -> Any:
        """A list."""
        return [self.kind.spell(one) for one in value]

    def schema(self) -> Schema:
        """An array."""
        return {"type": "array", "items": self.kind.schema()}


def each(kind: Kind, given: Any, at: Path, report: Report) -> tuple[Any, ...]:
    """What stands in a list, one by one, until enough is wrong."""
    found = []
    for number, one in enumerate(given):
        if report.full:
            break
        found.append(kind.read(one, (*at, number), report))
    return tuple(found)


class Named(Mapping[str, V]):
    """A mapping that cannot be changed, with a name for each value."""

    __slots__ = ("_entries",)

    def __init__(self, entries: Mapping[str, V] | None = None) -> None:
        self._entries = dict(entries or {})

    def __getitem__(self, name: str) -> V:
        return self._entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __hash__(self) -> int:
        return hash(frozenset(self._entries.items()))

    def __repr__(self) -> str:
        return repr(self._entries)

    def __reduce__(self) -> tuple[Any, ...]:
        return Named, (self._entries,)


class Names:
    """A mapping from names to values of a kind."""

    def __init__(self, says: str, kind: Kind) -> None:
        self.says = says
        self.kind = kind

    def read(self, given: Any, at: Path, report: Report) -> Any:
        """A mapping that cannot be changed."""
        if not isinstance(given, Mapping):
            report.add(at, f"is {self.says}, not {shown(given)}")
            return Named()
        entries = {}
        for name, one in given.items():
            if report.full:
                break
            if not isinstance(name, str) or not name:
                report.stray((*at, str(name)), f"a name is a word, not {shown(name)}")
                continue
            entries[name] = self.kind.read(one, (*at, name), report)
        return Named(entries)

    def spell(self, value: Any) -> Any:
        """A plain mapping."""
        return {name: self.kind.spell(one) for name, one in value.items()}

    def schema(self) -> Schema:
        """An object with any names."""
        return {
            "type": "object", "additionalProperties": self.kind.schema(),
            "propertyNames": {"minLength": 1},
        }  # fmt: skip


def shown(given: Any) -> str:
    """What was given as a file spells it, and not all of it if it is long."""
    if given is None:
        return "nothing"
    if isinstance(given, bool):
        return "true" if given else "false"
    if isinstance(given, Mapping):
        return "a mapping" if given else "an empty mapping"
    if isinstance(given, (list, tuple)):
        return "a list" if given else "an empty list"
    if isinstance(given, str):
        return f'"{given}"' if len(given) <= SHOWN else f'"{given[:SHOWN]}..."'
    if isinstance(given, int) and abs(given) >= 10**SHOWN:
        return f"a number of more than {SHOWN} digits"
    return str(given)[:SHOWN]


def truth(given: Any) -> str:
    """A hint for a text that other forms take for true or false, else the empty string."""
    word = TRUTHS.get(given.lower(), "") if isinstance(given, str) else ""
    return f"; write {word}" if word else ""


def closest(word: Any, words: tuple[str, ...] | list[str]) -> str:
    """A hint for a word that is almost one of these, else the empty string."""
    lowered = {one.lower(): one for one in words}
    found = get_close_matches(str(word)[:SHOWN].lower(), lowered, n=1, cutoff=0.6)
    return f"; did you mean {lowered[found[0]]}?" if found else ""
