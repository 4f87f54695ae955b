"""Stamps: the moments that logs write, as microseconds since 1970.

    10/Oct/2025:13:55:36 -0700        as nginx, Apache and the Common Log Format have it
    2025-10-10T13:55:36.120Z          ISO 8601, with or without a fraction and a zone
    1760129736.120                    seconds since 1970; 13 digits are milliseconds, and so on

Without a zone it is UTC. Lines of one second mostly have one stamp, so the latest is remembered.
"""

from __future__ import annotations

# What is no moment.
NEVER = -1
MILLION = 1_000_000
DIGITS = 6
ZERO = 48
MONTHS = {
    b"Jan": 1, b"Feb": 2, b"Mar": 3, b"Apr": 4, b"May": 5, b"Jun": 6,
    b"Jul": 7, b"Aug": 8, b"Sep": 9, b"Oct": 10, b"Nov": 11, b"Dec": 12,
}  # fmt: skip


class Stamps:
    """Reads stamps, and remembers the latest."""

    __slots__ = ("moment", "text")

    text: bytes
    moment: int

    def __init__(self) -> None:
        self.text = b""
        self.moment = NEVER

    def read(self, text: bytes) -> int:
        """The moment in microseconds; `NEVER` if it is none."""
        if text != self.text:
            self.text = text
            self.moment = moment(text)
        return self.moment


def moment(text: bytes) -> int:
    """What any of the forms says."""
    size = len(text)
    if size > 40 or size == 0:
        return NEVER
    if size >= 20 and text[2] == 47 and text[6] == 47:
        return common(text, size)
    if size >= 19 and text[4] == 45 and text[7] == 45:
        return standard(text, size)
    return counted(text, size)


def common(text: bytes, size: int) -> int:
    """`10/Oct/2025:13:55:36 -0700`, perhaps with a fraction of the second."""
    month = MONTHS.get(text[3:6], 0)
    day = number(text, 0, 2)
    year = number(text, 7, 11)
    return placed(text, size, 12, year, month, day)


def standard(text: bytes, size: int) -> int:
    """`2025-10-10T13:55:36.120+02:00`; a blank does for the T."""
    return placed(text, size, 11, number(text, 0, 4), number(text, 5, 7), number(text, 8, 10))


def placed(text: bytes, size: int, at: int, year: int, month: int, day: int) -> int:
    """The moment of that day, from the hour at `at` on."""
    hour = number(text, at, at + 2)
    minute = number(text, at + 3, at + 5)
    second = number(text, at + 6, at + 8)
    if year < 1970 or not 1 <= month <= 12 or not 1 <= day <= 31:
        return NEVER
    if not 0 <= hour <= 23 or not 0 <= minute <= 59 or not 0 <= second <= 60:
        return NEVER
    at += 8
    micros = 0
    if at < size and (text[at] == 46 or text[at] == 44):
        begin = at + 1
        at = begin
        while at < size and 0 <= text[at] - ZERO <= 9:
            at += 1
        micros = fraction(text, begin, at)
    offset = zone(text, at, size)
    if offset == MILLION:
        return NEVER
    seconds = days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - offset
    return seconds * MILLION + micros if seconds >= 0 else NEVER


def zone(text: bytes, at: int, size: int) -> int:
    """How many seconds a zone is ahead of UTC; a million if it is none."""
    while at < size and text[at] == 32:
        at += 1
    if at == size or (at + 1 == size and (text[at] == 90 or text[at] == 122)):
        return 0
    sign = text[at]
    if sign not in (43, 45):
        return MILLION
    colon = 1 if at + 3 < size and text[at + 3] == 58 else 0
    if at + 5 + colon != size:
        return MILLION
    hours = number(text, at + 1, at + 3)
    minutes = number(text, at + 3 + colon, at + 5 + colon)
    if hours < 0 or minutes < 0 or hours > 15 or minutes > 59:
        return MILLION
    ahead = hours * 3600 + minutes * 60
    return ahead if sign == 43 else -ahead


def counted(text: bytes, size: int) -> int:
    """Seconds since 1970, or thousandths and so on of them, by how many digits there are."""
    at = 0
    while at < size and 0 <= text[at] - ZERO <= 9:
        at += 1
    if at < 9 or at > 19:
        return NEVER
    whole = number(text, 0, at)
    if at < size:
        if text[at] != 46 or at > 11:
            return NEVER
        begin = at + 1
        at = begin
        while at < size and 0 <= text[at] - ZERO <= 9:
            at += 1
        return whole * MILLION + fraction(text, begin, at) if at == size else NEVER
    if at <= 11:
        return whole * MILLION
    if at <= 13:
        return whole * 1000
    return whole if at <= 16 else whole // 1000


def number(text: bytes, begin: int, end: int) -> int:
    """The number that these digits spell; -1 if they are none."""
    found = 0
    while begin < end:
        digit = text[begin] - ZERO
        if digit < 0 or digit > 9:
            return NEVER
        found = found * 10 + digit
        begin += 1
    return found


def fraction(text: bytes, begin: int, end: int) -> int:
    """The microseconds that the digits behind a point spell; what is finer is left out."""
    found = 0
    read = 0
    while read < DIGITS:
        found *= 10
        if begin + read < end:
            found += text[begin + read] - ZERO
        read += 1
    return found


def millionths(text: bytes) -> int:
    """The millionths that the digits behind a point spell; -1 if they are none."""
    return fraction(text, 0, len(text)) if text.isdigit() else NEVER


def days(year: int, month: int, day: int) -> int:
    """How many days that day is after the first of 1970; years begin in March, as months add up."""
    if month <= 2:
        year -= 1
        month += 12
    era = year // 400
    of_era = year - era * 400
    of_year = (153 * (month - 3) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468
