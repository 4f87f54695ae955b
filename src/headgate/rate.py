"""How much per how long, and its spelling.

    rate     = "unlimited" | amount ( "/" | "per" ) duration [ "burst" amount ] ;
    amount   = number [ size ] ;
    duration = [ number ] unit ;
    number   = digits [ "." digits ] ;
    digits   = digit { [ "_" ] digit } ;
    size     = "B" | "KB" | "KiB" | "MB" | "MiB" | "GB" | "GiB" ;
    unit     = "us" | "ms" | "s" | "min" | "h" | "day" | "week" | a longer name in UNITS ;
    digit    = "0" | "1" | "2" | "3" | "4" | "5" | "6" | "7" | "8" | "9" ;

Blanks may stand between any two of these. Capitals matter: `KB` is a size and `kb` is a mistake.
A size is a number: `100KB/s` is a hundred thousand a second, and remembers only for printing that
it was spelled in bytes. Decimals are welcome where they come out whole, as in `1.5MB/s` (bytes) and
`100 per 1.5h` (microseconds); `0.5/s` does not, and the error spells it `1 per 2s`.

A rate is exact: integers, and microseconds. Month and year are no units, for they have no length.
"""

from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from fractions import Fraction
from math import gcd
from string import ascii_letters
from typing import NamedTuple

from headgate.errors import RateError

MOST = 2**50
LONGEST_TEXT = 100
# A comma is in no number; it is read with one so that 1,000 is refused as a whole.
NUMERIC = "0123456789_.,"
DAY = 86_400_000_000
CENTURY = 36_525 * DAY

# For every length the first name is the one printed.
UNITS = {
    **dict.fromkeys(("us", "microsecond", "microseconds"), 1),
    **dict.fromkeys(("ms", "millisecond", "milliseconds"), 1000),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1_000_000),
    **dict.fromkeys(("min", "m", "mins", "minute", "minutes"), 60_000_000),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), 3_600_000_000),
    **dict.fromkeys(("day", "d", "days"), DAY),
    **dict.fromkeys(("week", "w", "weeks"), 7 * DAY),
}
SIZES = {
    "B": 1,
    "KB": 1000,
    "KiB": 1024,
    "MB": 1000**2,
    "MiB": 1024**2,
    "GB": 1000**3,
    "GiB": 1024**3,
}
CALENDAR = {
    **dict.fromkeys(("month", "months"), 'try 30day, or FixedWindow(..., calendar="month")'),
    **dict.fromkeys(("year", "years", "yr", "y"), "try 365day"),
}


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Rate:
    """So much per so long: `Rate("100/min")`, `Rate("10/s burst 50")`, `Rate("100KB/s")`.

    `count` units per `period` microseconds, and up to `burst` of them at once (as many as `count`
    unless spelled). Rates are equal when they allow the same. `0/s` lets nothing in; `unlimited`
    lets everything in, and shows the largest numbers there are to whoever does not ask.
    """

    count: int
    period: int
    burst: int
    unlimited: bool
    in_bytes: bool = field(compare=False)

    def __init__(self, spelling: str) -> None:
        if not isinstance(spelling, str):
            raise TypeError(f'a rate is a str such as "100/min", not {spelling!r}')
        for slot, value in zip(fields(self), _read(spelling), strict=True):
            object.__setattr__(self, slot.name, value)

    @classmethod
    def of(cls, count: int, period_us: int, burst: int | None = None) -> "Rate":
        """Make the rate from its numbers: `Rate.of(5, 90_000_000)` is `Rate("5 per 90s")`."""
        burst = count if burst is None else burst
        for name, value in (("count", count), ("period_us", period_us), ("burst", burst)):
            if type(value) is not int:
                raise TypeError(f"the {name} of a rate is an int, not {value!r}")
        return cls(f"{count} per {period_us}us burst {burst}")

    @property
    def reduced(self) -> tuple[int, int]:
        """Gain and scale: `count` and `period` in lowest terms; nothing is `(0, 1)`."""
        divisor = gcd(self.count, self.period)
        return (self.count // divisor, self.period // divisor) if self.count else (0, 1)

    @property
    def seconds(self) -> float:
        """The period in seconds."""
        return self.period / 1_000_000

    def __str__(self) -> str:
        if self.unlimited:
            return "unlimited"
        sizes = SIZES if self.in_bytes else {"": 1}
        spelled = _spell(self.count, sizes) + _spell_period(self.period)
        if self.burst == self.count:
            return spelled
        return f"{spelled} burst {_spell(self.burst, sizes)}"

    def __repr__(self) -> str:
        return f'Rate("{self}")'

    def __reduce__(self) -> tuple[type["Rate"], tuple[str]]:
        return Rate, (str(self),)


def _spell_period(period: int) -> str:
    spelled = _spell(period, UNITS)
    return "/" + spelled[1:] if period in UNITS.values() else " per " + spelled


def _spell(value: int, units: dict[str, int]) -> str:
    """Spell `value` in the largest of `units` that divides it, by its first name: 120 s is 2min."""
    fitting = [name for name in units if value >= units[name] and value % units[name] == 0]
    name = max(fitting, key=units.__getitem__, default=next(iter(units)))
    return f"{value // units[name]}{name}"


# count, period, burst, unlimited and in_bytes, as Rate has them.
_Values = tuple[int, int, int, bool, bool]


class _Part(NamedTuple):
    """A number with its unit, as read and not yet judged."""

    value: Fraction
    spelled: str
    place: int
    in_bytes: bool = False


def _read(text: str) -> _Values:
    _admit(text)
    scanner = _Scanner(text)
    if scanner.word("unlimited"):
        scanner.end("nothing follows unlimited")
        return MOST, 1, MOST, True, False
    count = scanner.amount("a count", "try 100/min or unlimited")
    scanner.per(count)
    duration = scanner.duration()
    burst = scanner.amount("a burst", "try burst 50") if scanner.word("burst") else count
    scanner.end('only "burst" and a number may follow')
    return _judge(text, count, duration, burst)


def _admit(text: str) -> None:
    """Refuse at once what no rate looks like."""
    if len(text) > LONGEST_TEXT:
        hint = f"a rate has at most {LONGEST_TEXT}"
        raise RateError(text, LONGEST_TEXT, f"{len(text)} characters, too many", hint)
    for place, character in enumerate(text):
        if not character.isascii():
            micro = character in "\u00b5\u03bc"
            hint = "try us" if micro else "a rate is spelled with 0-9, a-z, A-Z, / . and _"
            raise RateError(text, place, f'"{character}" is not ASCII', hint)


class _Scanner:
    """Reads a spelling once, from left to right; each verb takes a piece or raises `RateError`."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.place = 0
        self._take("")

    def word(self, expected: str) -> bool:
        """Take `expected` if it comes next."""
        if self._ahead(ascii_letters) != expected:
            return False
        self._take(ascii_letters)
        return True

    def amount(self, noun: str, hint: str) -> _Part:
        """Take a number and its size; `noun` is what it is called when it is missing."""
        place = self.place
        number = self._number()
        if number is None:
            raise self._missing(noun, hint)
        size = self._ahead(ascii_letters)
        if size in SIZES:
            self._take(ascii_letters)
        elif size and size not in ("per", "burst"):
            known = "no size, or B, KB, KiB, MB, MiB, GB or GiB"
            raise self._wrong(f'unknown size "{size}"', _closest(size, [*SIZES, "per"], known))
        return _Part(number * SIZES.get(size, 1), self._since(place), place, size in SIZES)

    def per(self, count: _Part) -> None:
        """Take what stands between the amount and the duration."""
        if not self.word("per") and not self._take("/", most=1):
            hint = f"try {count.spelled}/s or {count.spelled}/min"
            raise self._missing('"/" or "per"', hint)

    def duration(self) -> _Part:
        """Take a number, or nothing for one, and a unit; the value is in microseconds."""
        place = self.place
        number = self._number()
        unit = self._ahead(ascii_letters)
        if unit in CALENDAR:
            raise self._wrong(f'unit "{unit}" has no fixed length', CALENDAR[unit])
        if not unit:
            raise self._missing("a period" if number is None else "a unit", "try s, min, h or day")
        if unit not in UNITS:
            hint = _closest(unit, list(UNITS), "s, min, h or day")
            raise self._wrong(f'unknown unit "{unit}"', hint)
        self._take(ascii_letters)
        value = (1 if number is None else number) * Fraction(UNITS[unit])
        return _Part(value, self._since(place), place)

    def end(self, hint: str) -> None:
        """Insist that nothing is left."""
        if self.place < len(self.text):
            raise self._wrong(f"unexpected {self._found()}", hint)

    def _number(self) -> Fraction | None:
        digits = self._ahead(NUMERIC)
        if not digits:
            return None
        if not all(group.isdigit() for group in digits.replace(".", "_", 1).split("_")):
            raise self._wrong(f'"{digits}" is not a number', "try 1000, 1_000 or 0.5")
        self._take(NUMERIC)
        return Fraction(digits.replace("_", ""))

    def _take(self, alphabet: str, most: int = LONGEST_TEXT) -> str:
        """Take the run of these characters, then pass over blanks."""
        taken = self._ahead(alphabet)[:most]
        self.place += len(taken)
        self.place += len(self._ahead(" \t\r\n"))
        return taken

    def _ahead(self, alphabet: str) -> str:
        rest = self.text[self.place :]
        return rest[: len(rest) - len(rest.lstrip(alphabet))]

    def _since(self, place: int) -> str:
        return self.text[place : self.place].strip()

    def _found(self) -> str:
        found = self.text[self.place :].partition(" ")[0]
        return f'"{found}"' if found else "the end"

    def _missing(self, noun: str, hint: str) -> RateError:
        return self._wrong(f"expected {noun} but found {self._found()}", hint)

    def _wrong(self, problem: str, hint: str) -> RateError:
        return RateError(self.text, self.place, problem, hint)


def _closest(word: str, names: list[str], otherwise: str) -> str:
    lowered = {name.lower(): name for name in names}
    close = get_close_matches(word.lower(), lowered, 1, 0.7)
    return f"try {lowered[close[0]] if close else otherwise}"


def _judge(text: str, count: _Part, duration: _Part, burst: _Part) -> _Values:
    """Refuse what is well spelled and still no rate."""
    period = _whole(text, duration, "a period is whole microseconds", "the shortest is 1us")
    if not 1 <= period <= CENTURY:
        problem = f'period "{duration.spelled}" is out of range'
        raise RateError(text, duration.place, problem, "a period is 1us to 36525day")
    units = _whole(text, count, "a count is a whole number", _rephrase(count, period, burst))
    at_once = _whole(text, burst, "a burst is a whole number", f"try {int(burst.value) + 1}")
    for noun, part in (("count", count), ("burst", burst)):
        if part.value > MOST:
            problem = f'{noun} "{part.spelled}" is too large'
            raise RateError(text, part.place, problem, f"the most is {MOST}, which is 2**50")
    if units and not at_once:
        raise RateError(text, burst.place, "a burst of 0 lets nothing in", "try 1 or more, or 0/s")
    if at_once and not units:
        problem = f'burst "{burst.spelled}" would never come back'
        raise RateError(text, burst.place, problem, "a rate of 0 has no burst")
    return units, period, at_once, False, count.in_bytes or burst.in_bytes


def _whole(text: str, part: _Part, law: str, hint: str) -> int:
    if part.value.denominator != 1:
        raise RateError(text, part.place, law, hint)
    return part.value.numerator


def _rephrase(count: _Part, period: int, burst: _Part) -> str:
    """Spell a broken count whole by stretching the period: 0.5/s is 1 per 2s."""
    units, stretch = count.value.as_integer_ratio()
    if units > MOST or period * stretch > CENTURY:
        return "try a whole number"
    sizes = SIZES if count.in_bytes else {"": 1}
    tail = "" if burst is count else f" burst {burst.spelled}"
    return f"try {_spell(units, sizes)}{_spell_period(period * stretch)}{tail}"
