"""Tables: frozen values whose fields say what they hold, and what that means to a person.

    @strict
    @dataclass(frozen=True, repr=False)
    class Redirect:
        to: Any = told(TEXT, "Where to.")
        status: Any = told(STATUS, "With which status.", 302)

Made in code or read from a file, a value goes through the kinds of its fields; the schema and the
reference are made of the same fields. `check(report, at)`, where there is one, looks at how fields
go together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, field, fields
from functools import wraps
from typing import Any, TypeVar

from headgate.errors import RulesError
from headgate.rules.model.kinds import Kind, Path, Report, Schema, closest, shown, truth

V = TypeVar("V")

OFF = "; leave it out"


def told(kind: Kind, says: str, default: Any = MISSING) -> Any:
    """A field of that kind, with a sentence for whoever writes rules."""
    return field(default=default, metadata={"kind": kind, "says": says})


def strict(cls: type[V]) -> type[V]:
    """The class, whose values are read as they are made: `RulesError` tells of all that is wrong.

    They print as one would type them, unless the class says otherwise.
    """
    made: Any = cls.__init__

    @wraps(made)
    def make(self: V, *values: Any, **given: Any) -> None:
        report = Report()
        admit(cls, given, (), report)
        if report.wrong:
            raise RulesError(report.errors)
        made(self, *values, **given)
        settle(self)

    cls.__init__ = make  # type: ignore[method-assign, assignment]
    if "__repr__" not in vars(cls):
        cls.__repr__ = typed  # type: ignore[method-assign]
    return cls


def settle(value: Any) -> None:
    """Read every field of a value made in code, or raise `RulesError` with all that is wrong."""
    report = Report()
    for one in fields(value):
        given = getattr(value, one.name)
        if given is not one.default:
            object.__setattr__(value, one.name, kind(one).read(given, (one.name,), report))
    if hasattr(value, "check") and not report.wrong:
        value.check(report, ())
    if report.wrong:
        raise RulesError(report.errors)


def typed(value: Any) -> str:
    """The value as one would type it: what is not the default, in the words of a rule file."""
    said = [f"{name}={given!r}" for name, given in spelled(value).items()]
    return f"{type(value).__name__}({', '.join(said)})"


def spelled(value: Any) -> dict[str, Any]:
    """The fields that are not the default, as plain data."""
    return {
        one.name: kind(one).spell(getattr(value, one.name))
        for one in fields(value)
        if getattr(value, one.name) != one.default
    }


def kind(one: Field[Any]) -> Kind:
    """What the field holds."""
    return one.metadata["kind"]  # type: ignore[no-any-return]


def blamed(problem: Exception, at: Path, words: Sequence[str]) -> Path:
    """Where the mistake is: at the field that a message names, else at all of them."""
    head, _, said = str(problem).partition(": ")
    for word in words:
        if said.startswith(f"{word} ") or f", {word}=" in head:
            return (*at, word)
    spoken = said.replace(";", " ").replace("=", " ").split()
    return next(((*at, word) for word in words if word in spoken), at)


class Table:
    """The kind of a table: a mapping with the fields of `cls`.

    What is no mapping stands for the field `short`, if there is one; `alone` names that field's
    value where even that is given in another way, as in `breaker: true`. A list stands for the
    field `series`, if there is one.
    """

    def __init__(
        self, cls: type, says: str, short: str = "", alone: tuple[Any, ...] = (), series: str = ""
    ) -> None:
        self.cls = cls
        self.says = says
        self.short = short
        self.alone = alone
        self.series = series

    def read(self, given: Any, at: Path, report: Report) -> Any:
        """A value of the class, or None and what is wrong with it."""
        if isinstance(given, self.cls):
            return given
        if isinstance(given, Mapping):
            return self._fill(dict(given), at, report, {})
        if self.series and isinstance(given, (list, tuple)):
            return self._fill({self.series: given}, at, report, {self.series: at})
        if any(given is one for one in self.alone):
            return self._fill({}, at, report, {})
        # What may be true is no text.
        texts = (str,) if self.alone else ()
        off = bool(self.alone) and (given is False or truth(given).endswith("false"))
        barred = off or given is None or isinstance(given, (list, tuple, *texts))
        if self.short and not barred:
            return self._fill({self.short: given}, at, report, {self.short: at})
        hint = OFF if off else truth(given) if self.alone else ""
        report.add(at, f"is {self.says}, not {shown(given)}{hint}")
        return None

    def spell(self, value: Any) -> Any:
        """A mapping, or what is short for it."""
        plain = spelled(value)
        if not plain and self.alone:
            return self.alone[0]
        found = [*plain]
        return plain[found[0]] if found in ([self.short], [self.series]) else plain

    def schema(self) -> Schema:
        """An object, or what is short for it."""
        found = [closed(self.cls)]
        if self.short:
            found += [kind(one).schema() for one in fields(self.cls) if one.name == self.short]
        if self.series:
            found += [kind(one).schema() for one in fields(self.cls) if one.name == self.series]
        if self.alone:
            found.append({"enum": [*self.alone]})
        return found[0] if len(found) == 1 else {"anyOf": found}

    def _fill(
        self, given: dict[Any, Any], at: Path, report: Report, places: dict[str, Path]
    ) -> Any:
        before = report.wrong
        admit(self.cls, given, at, report)
        value: Any = object.__new__(self.cls)
        for one in fields(self.cls):
            place = places.get(one.name, (*at, one.name))
            if one.name in given:
                found = kind(one).read(given[one.name], place, report)
            elif one.default is MISSING:
                report.add(at, f'lacks "{one.name}", which is {kind(one).says}')
                continue
            else:
                found = one.default
            object.__setattr__(value, one.name, found)
        if report.wrong > before:
            return None
        if hasattr(value, "check"):
            value.check(report, at)
        return value


def admit(cls: Any, given: Iterable[Any], at: Path, report: Report) -> None:
    """Refuse all names that are none of the fields of a class."""
    known = [one.name for one in fields(cls)]
    for name in given:
        if name not in known and not report.full:
            # How the class says what others say in that word.
            foreign = getattr(cls, "foreign", {}).get(name, "")
            hint = f"; write {foreign}" if foreign else closest(name, known)
            rest = f"; there {'is' if len(known) == 1 else 'are'} {', '.join(known)}"
            report.stray((*at, str(name)), f"there is no such field{hint or rest}")


def closed(cls: type) -> Schema:
    """The fields of a class as an object that has no others, under the name of the class."""
    properties: Schema = {}
    for one in fields(cls):
        found = kind(one).schema()
        properties[one.name] = {
            "description": one.metadata["says"],
            **({"allOf": [found]} if "title" in found else found),
        }
    required = [one.name for one in fields(cls) if one.default is MISSING]
    return {
        "title": cls.__name__,
        "description": (cls.__doc__ or "").partition("\n")[0],
        "type": "object",
        "properties": properties,
        **({"required": required} if required else {}),
        "additionalProperties": False,
    }
