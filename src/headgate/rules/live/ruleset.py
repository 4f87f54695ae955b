"""Ruleset: rules made ready as a whole. Which of them a request meets, in their order."""

from __future__ import annotations

from collections.abc import Callable

from headgate.rules.live.ferry import Ferry
from headgate.rules.live.ruling import Ruling
from headgate.rules.live.shelf import Shelf
from headgate.rules.live.trial import Trial
from headgate.rules.live.turnstile import Turnstile
from headgate.rules.matching.facts import Fact
from headgate.rules.matching.index import Condition, Index
from headgate.rules.matching.request import Request
from headgate.rules.model.rule import Rule
from headgate.rules.model.rules import Rules

# So many sets of rules that are met together are kept at hand.
REMEMBERED = 10_000
# What a client writes as it likes, unless a proxy writes it anew.
WRITTEN = ("header", "cookie", "query")
# A longer path is not worth remembering.
LONGEST = 256


class Ruleset:
    """Rules, ready to be asked. `era` tells newer ones from older.

    A rule that is on `trial` is met after all others, and is none of `rules` and `rulings`.
    """

    def __init__(
        self, rules: Rules, shelf: Shelf, era: int = 0, trial: Trial | None = None
    ) -> None:
        self.rules = rules
        self.era = era
        self.version = rules.digest
        self.rulings = [Ruling(rule, rules.plans, shelf, era) for rule in rules.rules]
        self.trial = None if trial is None else trial.ruling(rules, shelf, era)
        self.every = [*self.rulings, *([] if self.trial is None else [self.trial])]
        # Where the plan of a request stands, if it is not the app that says it.
        self._booked = booked(rules)
        self.plan: Callable[[Request], str] = planned
        for ruling in self.rulings:
            if ruling.simple and shelf.far:
                ruling.ferry = Ferry(ruling, self.version, self.plan)
            elif ruling.simple:
                ruling.turnstile = Turnstile(ruling, self.version, self.plan)
        self._index = Index(
            Condition.of(rule.match.conditions, rule.match.exceptions, rule.when)
            for rule in (ruling.rule for ruling in self.every)
        )
        self._met: dict[tuple[int, ...], tuple[Ruling, ...]] = {}
        # Where only method and path matter, what they meet is remembered as it is found.
        asked = {fact for ruling in self.every for fact in facts(ruling.rule)}
        self._plain = asked <= {"method", "path"}
        self._known: dict[tuple[str, str], tuple[Ruling, ...]] = {}

    def find(self, request: Request) -> tuple[Ruling, ...]:
        """The rulings that a request meets; of a group only the first."""
        if self._booked is not None:
            request.book(self._booked)
        if not self._plain:
            positions = self._index.find(request)
            return self._met.get(positions) or self._meet(positions)
        known = self._known
        place = (request.method, request.path)
        found = known.get(place)
        if found is None:
            if len(known) >= REMEMBERED:
                known.clear()
            found = self._meet(self._index.find(request))
            if len(request.path) <= LONGEST:
                known[place] = found
        return found

    def meant(self, method: str, path: str) -> tuple[Ruling, ...] | None:
        """The rulings that all requests with this method and path meet; None if others matter."""
        if not self._plain or self._booked is not None or "find" in vars(self):
            return None
        return self.find(Request(method, path))

    def _meet(self, positions: tuple[int, ...]) -> tuple[Ruling, ...]:
        seen: set[str] = set()
        met: list[Ruling] = []
        for position in positions:
            ruling = self.every[position]
            if ruling.rule.group not in seen:
                met.append(ruling)
                seen |= {ruling.rule.group} - {""}
        if len(self._met) < REMEMBERED:
            self._met[positions] = tuple(met)
        return tuple(met)

    def __repr__(self) -> str:
        return f"{len(self.rulings)} rules, {self.version}"


def facts(rule: Rule) -> set[str]:
    """What has to be known of a request to say whether it meets a rule."""
    said = {*rule.match.conditions, *rule.match.exceptions}
    return said if rule.when is None else said | {str(fact) for fact in rule.when.facts}


def booked(rules: Rules) -> Callable[[Request], str] | None:
    """What reads the plan off a request, where the rules say where it stands.

    Where there are proxies that are believed, what the client itself could write is not.
    """
    if rules.plan in ("", "plan"):
        return None
    fact = Fact.parse(rules.plan)
    read = fact.reader()
    if fact.family not in WRITTEN or not rules.client.trusted_proxies:
        return read
    return lambda request: read(request) if request.vouched else ""


def planned(request: Request) -> str:
    """The plan, as the app says it or the rules say where it stands."""
    return request.plan


def void(book: Ruleset, shelf: Shelf) -> Ruleset:
    """A ruleset that no request meets; it tells the same of its rules."""
    found = Ruleset(Rules(), shelf, book.era)
    found.rules, found.version, found.trial = book.rules, book.version, book.trial
    return found
