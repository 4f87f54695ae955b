"""Rule: which requests, what they may, and what happens to them when the answer is no."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from headgate.algorithms.limit import Limit
from headgate.rules.matching.facts import Fact, holes
from headgate.rules.model.allowance import BY, LIMITS, OPTIONS
from headgate.rules.model.charge import COST, COUNTS
from headgate.rules.model.gates import ADAPTIVE, BREAKER, DENY
from headgate.rules.model.kinds import Listing, Misfit, Named, Names, Path, Plain, Report
from headgate.rules.model.match import FACTS, MATCH, Match
from headgate.rules.model.over import OVER, Reject
from headgate.rules.model.scalars import BYTE_RATE, PERCENT, RULE_NAME, STATUS, choice, flag, text
from headgate.rules.model.sense import sense
from headgate.rules.model.table import strict, told
from headgate.rules.model.terms import PLACES, TERMS
from headgate.rules.model.when import WHEN

LONGEST = 1000
# What other libraries call it, and people who look for it here, and how a rule says it.
FOREIGN = {
    **dict.fromkeys(("methods", "method"), "match: {method: ...}"),
    **dict.fromkeys(("path", "paths", "route", "endpoint", "url"), "match: {path: ...}"),
    **dict.fromkeys(("key_func", "key_function", "identifier"), "key: client.ip, or another fact"),
    **dict.fromkeys(("limit_value", "rate", "rates"), "limit: 100/min"),
    **dict.fromkeys(("algorithm", "strategy"), "by: sliding_log"),
    **{word: f"limit: {{rate: ..., {word}: ...}}" for word in OPTIONS},
    "per_method": "key: [..., method]",
    "deduct_when": "counts: {status: [...]}",
    "exempt_when": "when: not (...)",
    "dry_run": "mode: shadow",
}


def _key(given: Any) -> str:
    if not isinstance(given, str) or not given:
        raise Misfit
    if len(given) > LONGEST:
        raise Misfit(f"; at most {LONGEST:,} characters")
    for hole in holes(given):
        Fact.parse(hole)
    return given if "{" in given else str(Fact.parse(given))


KEY = Listing(
    Plain(
        "a fact such as client.ip or header.x-user, or a template such as user:{header.x-user}",
        _key,
        {"anyOf": [{"type": "string", "pattern": FACTS},
                   {"type": "string", "pattern": "[{].+[}]", "maxLength": LONGEST}]},
    )
)  # fmt: skip


@strict
@dataclass(frozen=True, repr=False)
class Rule:
    """One rule: `Rule("login", match={"path": "/login"}, key="client.ip", limit="5/min")`.

    Fields take what a rule file would say, or values such as `SlidingLog("5/min")`.
    """

    foreign: ClassVar[dict[str, str]] = FOREIGN

    name: Any = told(RULE_NAME, "What it is called in headers, logs and metrics.")
    description: Any = told(text("a sentence for people", 4000), "A sentence for people.", "")
    match: Any = told(MATCH, "Which requests it is about; all unless said here.", Match())
    when: Any = told(WHEN, "What else must be true of them, as an expression.", None)
    group: Any = told(RULE_NAME, "Of the rules of one group only the first that fits counts.", "")
    key: Any = told(KEY, "Who is counted apart from whom; all together unless said here.", ())
    empty_key: Any = told(
        choice("deny", "allow", "share"), "What becomes of requests without a key.", "deny"
    )
    empty_key_status: Any = told(STATUS, "The status for requests without a key.", 403)
    limit: Any = told(LIMITS, "How often: one limit, or several that must all agree.", ())
    by: Any = told(BY, "Which algorithm counts.", "token_bucket")
    cost: Any = told(COST, "What a request costs; the first that fits counts.", ())
    counts: Any = told(COUNTS, "Which answers count, if not all.", None)
    concurrent: Any = told(PLACES, "How many at once.", 0)
    bandwidth: Any = told(BYTE_RATE, "How many bytes of the answer are sent in how long.", None)
    adaptive: Any = told(ADAPTIVE, "How many at once, found by itself.", None)
    breaker: Any = told(BREAKER, "Let nothing in while too many answers are failures.", None)
    deny: Any = told(DENY, "Let nobody in.", None)
    over: Any = told(OVER, "What happens when the answer is no.", Reject())
    overrides: Any = told(
        Names("a mapping from keys to what they may", TERMS), "What single keys may.", Named()
    )
    when_unavailable: Any = told(
        choice("local", "allow", "deny"), "What to answer when the store cannot be asked.", "local"
    )
    mode: Any = told(
        choice("enforce", "shadow"), "Whether a no is a no, or only counted.", "enforce"
    )
    rollout: Any = told(PERCENT, "For which share of keys it is enforced.", 100.0)
    headers: Any = told(flag("whether headers tell of it"), "Whether headers tell of it.", True)

    def limits(self, allowances: Any = None) -> tuple[Limit, ...]:
        """The limits meant, named as the policies that headers tell of; none if unlimited."""
        chosen = self.limit if allowances is None else allowances
        several = len(chosen) > 1
        return tuple(
            one.limit(self.by, f"{self.name}:{number}" if several else self.name)
            for number, one in enumerate(chosen, 1)
            if not one.unlimited
        )

    def check(self, report: Report, at: Path) -> None:
        """Whether the fields go together."""
        sense(self, report, at)
