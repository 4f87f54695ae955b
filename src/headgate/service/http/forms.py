"""Forms: what the bodies of requests may say, each field with its kind and a sentence.

Reading, and the schemas of the OpenAPI document, are made of them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headgate.errors import spelled
from headgate.measures import real
from headgate.rules.model.kinds import Kind, Misfit, Named, Names, Path, Plain, Report, Series
from headgate.rules.model.scalars import STATUS, choice, seconds
from headgate.rules.model.table import Table, strict, told
from headgate.service.http.saying import Trouble

# Longer keys are told apart as well, but nobody has those.
LONGEST = 4096
# As much as a limiter takes at once.
HEAVIEST = 1_000_000_000
# Seconds that a place is lent for.
SHORTEST, LONGEST_LENT = 0.1, 3600.0
# So many are asked about in one request.
BATCH = 1000


def words(says: str, longest: int = LONGEST, least: int = 0) -> Kind:
    """A kind of texts, which may be empty unless they have a least length."""

    def make(given: Any) -> str:
        if not isinstance(given, str) or len(given) < least:
            raise Misfit
        if len(given) > longest:
            raise Misfit(f"; at most {longest:,} characters")
        return given

    return Plain(
        says, make, {"type": "string", **({"minLength": least} if least else {}),
                     "maxLength": longest},
    )  # fmt: skip


def _cost(given: Any) -> int | None:
    if isinstance(given, bool) or not isinstance(given, int) or not 0 <= given <= HEAVIEST:
        raise Misfit
    return given


def _lent(given: Any) -> float:
    if not real(given) or not SHORTEST <= given <= LONGEST_LENT:
        raise Misfit
    return float(given)


def _lines(given: Any) -> str:
    found = given if isinstance(given, list) else [given]
    if not all(isinstance(one, str) for one in found):
        raise Misfit
    return ", ".join(found)


RULE = words("the name of a rule, a text such as api", 64, 1)
KEY = words("a text such as user:42")
PLAN = words("the name of a plan, a text such as vip", 64)
COST = Plain(
    "a whole number from 0 to 1,000,000,000", _cost,
    {"type": "integer", "minimum": 0, "maximum": HEAVIEST},
)  # fmt: skip
LINES = Plain(
    "a text, or a list of texts", _lines,
    {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
)  # fmt: skip
LENT = Plain(
    "a number of seconds from 0.1 to 3,600", _lent,
    {"type": "number", "minimum": SHORTEST, "maximum": LONGEST_LENT},
)  # fmt: skip
ID = words("an id that was given here, which is a text", LONGEST, 1)
# What is answered about a key whose cost nobody says.
SAYS_COST = "How much; what the rule says of it, or 1, unless said here."
SAYS_KEY = "Who is counted; an empty text where all are counted together."
SAYS_PLAN = "What they have booked, if the rules have plans."


@strict
@dataclass(frozen=True, repr=False)
class Take:
    """Whom to count, by which rule, and how much."""

    rule: Any = told(RULE, "The rule whose limit is asked.")
    key: Any = told(KEY, SAYS_KEY)
    cost: Any = told(COST, SAYS_COST, None)
    plan: Any = told(PLAN, SAYS_PLAN, "")


@strict
@dataclass(frozen=True, repr=False)
class Many:
    """Several questions at once, answered in their order."""

    many: Any = told(Series(Table(Take, "an object such as {rule: api, key: user:42}"),
                            "a list of objects"), "The questions, at most 1,000.")  # fmt: skip

    def check(self, report: Report, at: Path) -> None:
        """Whether there are some, and not too many."""
        if not 1 <= len(self.many) <= BATCH:
            report.add((*at, "many"), f"has 1 to {BATCH:,} questions, not {len(self.many):,}")


@strict
@dataclass(frozen=True, repr=False)
class Reset:
    """Whom to forget, and by which rule."""

    rule: Any = told(RULE, "The rule whose limit forgets.")
    key: Any = told(KEY, "Who is forgotten.")
    plan: Any = told(PLAN, SAYS_PLAN, "")


@strict
@dataclass(frozen=True, repr=False)
class Described:
    """A request, as whoever took it in saw it."""

    method: Any = told(words("a method such as GET", 32, 1), "Its method.", "GET")
    path: Any = told(
        words("a path such as /login, as it stands in the request", 8192, 1), "Its path.", "/"
    )
    query: Any = told(words("a query such as page=2"), "Its query, without the ?.", "")
    headers: Any = told(
        Names("an object of headers", LINES), "Its headers, by their names.", Named()
    )
    host: Any = told(words("a host"), "Its host; that of its headers unless said here.", "")
    scheme: Any = told(choice("http", "https"), "How it came.", "http")
    client: Any = told(
        words("an address such as 203.0.113.7", 100),
        "Who has connected; if that is a trusted proxy, its headers say who the client is.",
        "",
    )
    user: Any = told(words("a text"), "Who it is from, as you know them.", "")
    plan: Any = told(PLAN, SAYS_PLAN, "")


@strict
@dataclass(frozen=True, repr=False)
class Check:
    """A request that the rules are asked about."""

    request: Any = told(
        Table(Described, "an object such as {method: GET, path: /login}"), "The request."
    )
    status: Any = told(STATUS, "With which status it is taken to end, for rules that mind.", 200)


@strict
@dataclass(frozen=True, repr=False)
class Reserve:
    """Whom to book for, for the first moment it fits."""

    rule: Any = told(RULE, "The rule whose limit is asked.")
    key: Any = told(KEY, SAYS_KEY)
    cost: Any = told(COST, SAYS_COST, None)
    timeout: Any = told(seconds("the longest wait"), "How long they would wait.", 0.0)
    plan: Any = told(PLAN, SAYS_PLAN, "")


@strict
@dataclass(frozen=True, repr=False)
class Ticket:
    """Something that was given out before."""

    id: Any = told(ID, "Its id.")


@strict
@dataclass(frozen=True, repr=False)
class Commit:
    """A booking that is done with."""

    id: Any = told(ID, "Its id.")
    cost: Any = told(COST, "What it really cost; what was booked unless said here.", None)


@strict
@dataclass(frozen=True, repr=False)
class Hold:
    """Who wants a place, by which rule, and for how long."""

    rule: Any = told(RULE, "The rule whose places they are.")
    key: Any = told(KEY, SAYS_KEY)
    ttl: Any = told(LENT, "For how long, unless it is renewed or given back.", 30.0)
    plan: Any = told(PLAN, SAYS_PLAN, "")


@strict
@dataclass(frozen=True, repr=False)
class Renew:
    """Which place is held on to, and for how long from now."""

    id: Any = told(ID, "Its id.")
    ttl: Any = told(LENT, "For how long from now; as long as before unless said here.", 0.0)


FORMS: tuple[type, ...] = (
    Take, Many, Reset, Described, Check, Reserve, Ticket, Commit, Hold, Renew,
)  # fmt: skip
LIKE = {cls: Table(cls, "an object") for cls in FORMS}


def parse(content: bytes) -> Any:
    """What a body says in JSON, none of it twice; Trouble if it is none."""
    try:
        return DECODER.decode(content.decode("utf-8"))
    except UnicodeDecodeError as problem:
        raise Trouble(400, f"The body is no UTF-8, from byte {problem.start} on.") from None
    except Twice as twice:
        raise Trouble(400, f'The body says "{twice}" twice in one object.') from None
    except json.JSONDecodeError as problem:
        place = f"line {problem.lineno}, column {problem.colno}"
        raise Trouble(400, f"The body is no JSON: {problem.msg}, {place}.") from None
    except RecursionError:
        raise Trouble(400, "The body is nested too deeply.") from None
    except ValueError:
        raise Trouble(400, "The body has a number that none can be.") from None


def fill(cls: type, said: Any) -> Any:
    """A form with what was said; Trouble tells of all that is wrong with it."""
    report = Report()
    form = LIKE[cls].read(said, (), report)
    if not report.wrong:
        return form
    problems = [(spelled(one.path), one.message) for one in report.errors]
    lines = [f"{at}: {says}" if at else f"the body {says}" for at, says in problems]
    raise Trouble(400, "; ".join(lines[:SHOWN]), (), problems)


# So many mistakes are told in one sentence.
SHOWN = 5


class Twice(Exception):
    """A name that stands twice in one object."""


def unique(pairs: list[tuple[str, Any]]) -> Mapping[str, Any]:
    """An object, whose names are all different."""
    found = dict(pairs)
    if len(found) < len(pairs):
        counts = Counter(name for name, _ in pairs)
        raise Twice(next(name for name, count in counts.items() if count > 1)[:SHOWN_NAME])
    return found


def finite(word: str) -> Any:
    """NaN and the infinities are no JSON."""
    raise ValueError(word)


SHOWN_NAME = 60
DECODER = json.JSONDecoder(object_pairs_hook=unique, parse_constant=finite)
