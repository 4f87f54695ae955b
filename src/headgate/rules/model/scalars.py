"""Scalars: the words and numbers of a rule file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from headgate.errors import RateError
from headgate.measures import real
from headgate.rate import SIZES, UNITS, Rate
from headgate.rules.model.kinds import Kind, Misfit, Plain, closest, truth

NAME = re.compile(r"[A-Za-z0-9_.:-]{1,64}")
SPELLED = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,9})?) ?([A-Za-z]+)")
# What other libraries put between the limits of one text, and the unit that has no length.
BETWEEN = re.compile(r"\s*(?:[;,|&]|\band\b)\s*")
MONTHLY = re.compile(r"\s*([0-9_]+)\s*(?:/|per\s)\s*1?\s*months?\b")
SHARE = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,9})?) ?%")
MOST = 1 << 50
# A file of many rules has few rates.
REMEMBERED = 1000
# Microseconds: nothing is kept longer, and nothing is told apart that is shorter.
CENTURY = 36_525 * 86_400 * 1_000_000


def text(says: str, longest: int = 1000) -> Kind:
    """A kind of words."""

    def make(given: Any) -> str:
        if not isinstance(given, str) or not given:
            raise Misfit
        if len(given) > longest:
            raise Misfit(f"; at most {longest:,} characters")
        return given

    return Plain(says, make, {"type": "string", "minLength": 1, "maxLength": longest})


def flag(says: str) -> Kind:
    """A kind that is true or false."""

    def make(given: Any) -> bool:
        if not isinstance(given, bool):
            raise Misfit(truth(given))
        return given

    return Plain(f"true or false, {says}", make, {"type": "boolean"})


def whole(says: str, least: int, most: int = MOST) -> Kind:
    """A kind of whole numbers."""

    def make(given: Any) -> int:
        if isinstance(given, bool) or not isinstance(given, int) or given < least:
            raise Misfit
        if given > most:
            raise Misfit(f"; at most {most:,}" if most == MOST else "")
        return given

    bounds = f"from {least:,} to {most:,}" if most < MOST else f"of {least:,} or more"
    return Plain(
        f"{says}, a whole number {bounds}", make,
        {"type": "integer", "minimum": least, "maximum": most},
    )  # fmt: skip


def share(says: str) -> Kind:
    """A kind of shares, which are numbers above 0 and up to 1."""

    def make(given: Any) -> float:
        if not real(given) or not 0 < given <= 1:
            raise Misfit
        return float(given)

    return Plain(
        f"{says}, a number above 0 and up to 1", make,
        {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
    )  # fmt: skip


def choice(*words: str, foreign: Mapping[str, str] = MappingProxyType({})) -> Kind:
    """One of these words; `foreign` says which of them is meant by the words of others."""
    listed = ", ".join(words[:-1]) + f" or {words[-1]}"

    def make(given: Any) -> str:
        if not isinstance(given, str):
            raise Misfit
        if given not in words:
            meant = foreign.get(given.lower().replace("-", "_"), given)
            raise Misfit(closest(meant, words))
        return given

    return Plain(listed, make, {"enum": [*words]})


def seconds(says: str, least: float = 0.0) -> Kind:
    """A kind of durations: a number of seconds, or a number with a unit."""

    def make(given: Any) -> float:
        found = given * 1_000_000 if real(given) else measured(given, UNITS)
        if not found >= 0:
            raise Misfit
        if found < round(least * 1e6):
            raise Misfit(f"; at least {lasting(least)}")
        if found > CENTURY:
            raise Misfit("; at most 36525day")
        return round(found) / 1e6

    pattern = rf"^[0-9]{{1,15}}(\.[0-9]{{1,9}})? ?({'|'.join(UNITS)})$"
    return Plain(
        f"{says}, a duration such as 2s, 500ms or 1min", make,
        {"anyOf": [{"type": "number", "minimum": least, "maximum": CENTURY / 1e6},
                   {"type": "string", "pattern": pattern}]},
        lasting,
    )  # fmt: skip


def size(says: str) -> Kind:
    """A kind of sizes: a number, or a number of bytes with a unit."""

    def make(given: Any) -> int:
        found = given if isinstance(given, int) and real(given) else measured(given, SIZES)
        if found != int(found) or found < 1:
            raise Misfit("; at least 1, and whole")
        if found > MOST:
            raise Misfit(f"; at most {MOST:,}")
        return int(found)

    pattern = rf"^[0-9]{{1,15}}(\.[0-9]{{1,9}})? ?({'|'.join(SIZES)})$"
    return Plain(
        f"{says}, a whole number, or a size such as 1KB or 5MiB", make,
        {"anyOf": [{"type": "integer", "minimum": 1, "maximum": MOST},
                   {"type": "string", "pattern": pattern}]},
    )  # fmt: skip


def measured(given: Any, units: dict[str, int]) -> float:
    """A number with a unit, in the smallest of the units."""
    match = SPELLED.fullmatch(given) if isinstance(given, str) else None
    if match is None:
        raise Misfit
    value, unit = match.groups()
    if unit not in units:
        raise Misfit(closest(unit, [*units]))
    return round(float(value) * units[unit], 3)


def lasting(value: float) -> str:
    """A duration as one would type it."""
    span = round(value * 1e6)
    for unit in ("h", "min", "s", "ms"):
        if span >= UNITS[unit] and span % UNITS[unit] == 0:
            return f"{span // UNITS[unit]}{unit}"
    return f"{span}us" if span else "0s"


def _rate(given: Any) -> Rate:
    if isinstance(given, Rate):
        return given
    if not isinstance(given, str):
        raise Misfit
    try:
        return _parsed(given)
    except RateError as error:
        # The words of Python are none of a rule file.
        hint = "try 30day" if "FixedWindow" in error.hint else error.hint
        raise RateError(error.text, error.place, error.problem, hint) from None


@lru_cache(REMEMBERED)
def _parsed(spelling: str) -> Rate:
    return Rate(spelling)


def _limit(given: Any) -> Rate:
    try:
        return _rate(given)
    except RateError as error:
        raise RateError(error.text, error.place, error.problem, _hint(error)) from None


def _hint(error: RateError) -> str:
    """What would be right, in the words of a rule file."""
    monthly = MONTHLY.match(error.text)
    if monthly:
        rate = f"{monthly[1]}/30day"
        return f"try {rate}, or {{rate: {rate}, by: fixed_window, calendar: month}}"
    parts = BETWEEN.split(error.text)
    try:
        several = [part for part in parts if part and Rate(part)]
    except RateError:
        return error.hint
    return f"several are a list: [{', '.join(several)}]" if len(several) > 1 else error.hint


def _byte_rate(given: Any) -> Rate:
    found = _rate(given)
    if found.count == 0:
        raise Misfit("; nothing would ever be sent, so deny instead")
    return found


def _percent(given: Any) -> float:
    match = SHARE.fullmatch(given) if isinstance(given, str) else None
    found = float(match[1]) if match else given
    if not real(found) or not 0 <= found <= 100:
        raise Misfit
    return float(found)


def _share(value: float) -> str | float:
    spelled = f"{value:.9f}".rstrip("0").rstrip(".")
    return f"{spelled}%" if float(spelled) == value else value


def _name(given: Any) -> str:
    if not isinstance(given, str) or NAME.fullmatch(given) is None:
        raise Misfit
    return given


_NUMBER = r"[0-9][0-9_]*(\.[0-9_]+)?"
_AMOUNT = rf"{_NUMBER}\s*({'|'.join(SIZES)})?"
RATE_SCHEMA = {
    "type": "string",
    "pattern": rf"^\s*(unlimited|{_AMOUNT}\s*(/|per\s)\s*({_NUMBER}\s*)?({'|'.join(UNITS)})"
    rf"(\s*burst\s*{_AMOUNT})?)\s*$",
}
RATE = Plain("a rate such as 100/min or 10/s burst 50", _limit, RATE_SCHEMA, str)
BYTE_RATE = Plain("a rate in bytes such as 100KB/s", _byte_rate, RATE_SCHEMA, str)
PERCENT = Plain(
    "a share such as 25%", _percent,
    {"anyOf": [{"type": "number", "minimum": 0, "maximum": 100},
               {"type": "string", "pattern": f"^{SHARE.pattern}$".replace("(?:", "(")}]},
    _share,
)  # fmt: skip
RULE_NAME = Plain(
    "a name of letters, digits and _ . : -, at most 64 of them", _name,
    {"type": "string", "pattern": f"^{NAME.pattern}$"},
)  # fmt: skip
STATUS = whole("an HTTP status", 200, 599)
