"""Trial: a rule that is tried in shadow, beside those in force, without being one of them.

It is asked after all others, about those requests that they let in: what it would have cut is what
enforcing it would cut in addition. It refuses nobody, no header tells of it, and it survives a
change of the rules.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headgate.errors import RulesError
from headgate.rules.live.entry import Entry
from headgate.rules.live.ruling import Ruling
from headgate.rules.live.shelf import Shelf
from headgate.rules.live.tally import Tally, known
from headgate.rules.model.kinds import Report
from headgate.rules.model.rule import Rule
from headgate.rules.model.rules import Rules
from headgate.rules.model.table import Table

# What it is called, and what it has counted is kept by: no rule in a file can have this name.
NAME = "~trial"
# What stands before the moment it began, in the name by which others find what it has counted.
TITLE = f"{NAME}@"
USUAL = "trial"
# What makes it a trial, whatever is said of these.
SHADOW = {"mode": "shadow", "headers": False}
# What a rule does that has said no is not done by one that is tried, nor is anybody kept waiting;
# and it is tried with all keys.
MOOT = ("over", "group", "rollout")
# So many of those whom it would have refused are known by their keys.
KEYS = 200

RULE = Table(Rule, "a rule, which is a mapping")


class Trial:
    """One rule on trial, as it was `said`, since that many microseconds.

    `tally` counts what it let in and what it would have cut, and `keys` whom.
    """

    def __init__(self, said: Mapping[str, Any], since: int = 0) -> None:
        self.said = dict(said)
        self.since = since
        self.rule = sound(said)
        self.tally = Tally()
        self.keys: dict[str, int] = {}
        self.title = f"{TITLE}{since}"

    def ruling(self, rules: Rules, shelf: Shelf, era: int) -> Ruling:
        """Ready to be asked, beside these rules."""
        found = Ruling(self.rule, rules.plans, shelf, era)
        found.tally, found.trial = self.tally, self
        return found

    def note(self, key: str) -> None:
        """This key would have been refused."""
        keys = self.keys
        if key not in keys and len(keys) >= KEYS:
            # Whoever was cut least makes room, and that count is inherited: none is told too few.
            least = min(keys, key=keys.__getitem__)
            keys[key] = keys.pop(least)
        keys[key] = keys.get(key, 0) + 1

    def told(self) -> dict[str, Any]:
        """What came of it so far, for JSON."""
        most = sorted(self.keys.items(), key=lambda one: (-one[1], one[0]))
        return {
            "rule": self.said,
            "name": self.rule.name,
            "since": self.since / 1e6,
            "allowed": self.tally.passed - self.tally.shadowed,
            "shadowed": self.tally.shadowed,
            "keys": [{"key": key, "shadowed": count} for key, count in most],
        }


def heard(entry: Entry, rulings: Sequence[Ruling]) -> Sequence[Ruling]:
    """Those whose say about a request counts.

    One on trial, which is the last, has none where others refuse; else it is told whom it would.
    """
    last = rulings[-1] if rulings else None
    if last is None or last.trial is None:
        return rulings
    if entry.refusal is not None:
        return rulings[:-1]
    if last.rule in entry.shadowed:
        last.trial.note(known(last, entry))
    return rulings


def sound(said: Mapping[str, Any]) -> Rule:
    """The rule that somebody wants to try; raises `RulesError` with all that is wrong with it."""
    report = Report()
    # As it was said, so that nothing that is wrong with it is passed over.
    RULE.read({"name": USUAL, **said}, (), report)
    given = {word: value for word, value in said.items() if word not in (*MOOT, *SHADOW)}
    found: Any = None
    if not report.wrong:
        found = RULE.read({**given, **SHADOW, "name": USUAL}, (), report)
    if found is None:
        raise RulesError(report.errors)
    object.__setattr__(found, "name", NAME)
    rule: Rule = found
    return rule
