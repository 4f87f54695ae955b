"""Opinion: what one rule says of one request, with the numbers it says so by."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import inf
from typing import Any

from headgate.decision import ENDLESS
from headgate.explain.hops import Way
from headgate.rules.live.entry import Cause
from headgate.rules.live.ruling import Lane, Ruling
from headgate.rules.model.rule import Rule
from headgate.rules.model.table import spelled
from headgate.rules.model.terms import TERMS, UNLIMITED

# What becomes of a request at a rule.
UNMET, GROUPED, UNASKED = "unmet", "grouped", "unasked"
FREE, ALLOWED, DELAYED = "free", "allowed", "delayed"
REFUSED, SHADOWED = "refused", "shadowed"
# What a rule says of how much there is.
TERMED = ("limit", "concurrent", "bandwidth", "adaptive", "breaker", "deny")


@dataclass
class Opinion:
    """What a rule says: `outcome` in a word, `why` in a sentence, and the numbers.

    `source` is what the key is made of, fact by fact, `terms` what is in force, as a rule file
    says it, and `chosen` whose terms those are if not the rule's own. `before` and `after` are what
    is left of `limit`, the tightest, called `policy`. `cause` is what had no room. A number that
    does not apply is None.
    """

    rule: str
    outcome: str
    why: str = ""
    source: tuple[tuple[str, str], ...] = ()
    key: str = ""
    terms: tuple[str, ...] = ()
    chosen: str = ""
    cost: int | None = None
    policy: str = ""
    limit: int | None = None
    before: int | None = None
    after: int | None = None
    wait: float | None = None
    reset: float | None = None
    inside: int | None = None
    cause: Cause | None = None
    degraded: bool = False
    enforced: bool = True


@dataclass(frozen=True)
class Explanation:
    """What becomes of a request, and why: `allowed`, `delayed` or `refused`, and by which rule.

    `opinions` are those of all rules in their order. `spent` says whether it was counted, as a
    request is, or only looked at. `status`, `headers` and `body` are what the client gets from the
    rules; of a request that goes in, only the headers of its limits, if it was counted.
    """

    method: str
    path: str
    version: str
    store: str
    outcome: str
    rule: str
    wait: float
    status: int
    headers: tuple[tuple[str, str], ...]
    body: str
    spent: bool
    client: Way | None
    opinions: tuple[Opinion, ...]

    def plain(self) -> dict[str, Any]:
        """As plain data, for JSON."""
        return finite(asdict(self))  # type: ignore[no-any-return]


def finite(data: Any) -> Any:
    """The same data without what JSON has no word for."""
    if hasattr(data, "_asdict"):
        data = data._asdict()
    if isinstance(data, dict):
        return {name: finite(value) for name, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [finite(one) for one in data]
    return None if data in (inf, ENDLESS) else data


def force(ruling: Ruling, lane: Lane | None, plan: str, key: str) -> tuple[tuple[str, ...], str]:
    """The terms in force for a key, as a rule file says them, and whose they are."""
    terms, name = ruling.terms(plan, key)
    chosen = f"plan {plan}" if name.startswith("@plan:") else "override" if name else ""
    if terms == UNLIMITED:
        return (UNLIMITED,), chosen
    own = said(ruling.rule)
    if terms is not None:
        plain = TERMS.spell(terms)
        own |= plain if isinstance(plain, dict) else {"limit": plain}
    return (*worded(own, ruling.rule.by),), chosen


def said(rule: Rule) -> dict[str, Any]:
    """What a rule says of how much there is, in plain data."""
    plain = spelled(rule)
    return {word: plain[word] for word in TERMED if word in plain}


def worded(plain: dict[str, Any], by: str) -> list[str]:
    """Terms as lines: limits each by itself, and by which algorithm; all else with its name."""
    spare = "" if by == Rule.by else f" by {by}"
    lines = []
    for word, value in plain.items():
        if word != "limit":
            lines.append(f"{word} {flowing(value)}")
        else:
            several = value if isinstance(value, list) else [value]
            lines += [
                flowing(one) + ("" if isinstance(one, dict) and "by" in one else spare)
                for one in several
            ]
    return lines


def flowing(value: Any) -> str:
    """Plain data on one line, as YAML has it."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{word}: {flowing(one)}' for word, one in value.items())}}}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(flowing, value))}]"
    return str(value).lower() if isinstance(value, bool) else str(value)
