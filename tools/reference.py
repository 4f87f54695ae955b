"""Write the references of rules, metrics and the command line from the model and the commands.

    python tools/reference.py            refresh the pages
    python tools/reference.py --check    fail if a page says something else than what there is

A page asks for a table with a pair of comments; what stands between them is replaced:

    <!-- fields: Rule -->
    <!-- end of fields -->

and for the commands as tools/commands.py says.
"""

from __future__ import annotations

import re
import sys
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any

import commands
from headgate.rules.model.alerts import Alerts, Notify, Webhook
from headgate.rules.model.allowance import Allowance
from headgate.rules.model.bounds import Bounds, Patience, Timeouts
from headgate.rules.model.budget import Budget
from headgate.rules.model.callers import CallerTerms
from headgate.rules.model.charge import Cost, Counts
from headgate.rules.model.condition import Condition
from headgate.rules.model.gates import Adaptive, Break, Deny
from headgate.rules.model.gateway import Audit, Gateway
from headgate.rules.model.listen import Admin, Listen, Tls
from headgate.rules.model.over import Degrade, Redirect, Reject, Wait
from headgate.rules.model.port import Port
from headgate.rules.model.route import Rewrite, Route
from headgate.rules.model.rule import Rule
from headgate.rules.model.rules import Rules
from headgate.rules.model.service import Capacity, RateLimit, Service, Waits
from headgate.rules.model.table import kind
from headgate.rules.model.terms import Terms
from headgate.rules.model.trust import Trust
from headgate.rules.model.upstream import Assurance, Health, Retries, Upstream
from headgate.telemetry.names import FAMILIES, Family

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reference" / "rules.md"
COMMANDS = ROOT / "docs" / "reference" / "command-line.md"
METRICS = ROOT / "docs" / "reference" / "metrics.md"
LISTED = re.compile(r"<!-- metrics -->\n.*?<!-- end of metrics -->", re.DOTALL)
ASKED = re.compile(r"<!-- fields: (\w+) -->\n.*?<!-- end of fields -->", re.DOTALL)
TABLES: dict[str, type] = {
    cls.__name__: cls
    for cls in (
        Rules, Trust, Rule, Allowance, Cost, Counts, Reject, Wait, Degrade, Redirect, Deny,
        Adaptive, Break, Terms, Budget, Gateway, Listen, Tls, Admin, Bounds, Timeouts, Patience,
        Upstream, Health, Retries, Assurance, Route, Rewrite, Audit, Service, Port, Capacity, Waits,
        RateLimit, CallerTerms, Alerts, Condition, Notify, Webhook,
    )
}  # fmt: skip
HEAD = "| field | is | means | unless said |\n| --- | --- | --- | --- |\n"


def main(arguments: list[str]) -> int:
    """Refresh the pages, or say which are stale."""
    stale = 0
    for page, fresh, nouns in (
        (PAGE, refreshed, "fields"),
        (COMMANDS, commands.refreshed, "commands"),
        (METRICS, measured, "metrics"),
    ):
        text = page.read_text()
        if text == fresh(text):
            continue
        if arguments == ["--check"]:
            print(f"{page.relative_to(ROOT)} tells of other {nouns}: run tools/reference.py")
            stale = 1
        else:
            page.write_text(fresh(text))
    return stale


def refreshed(page: str) -> str:
    """The page with today's fields in it."""
    return ASKED.sub(lambda match: included(match[1]), page)


def measured(page: str) -> str:
    """The page with all metrics in it."""
    return LISTED.sub(lambda _: listed(), page)


def listed() -> str:
    """All metrics, between their comments."""
    rows = [f"| `{one.title}` | {labelled(one)} | {one.says} |" for one in FAMILIES]
    head = "| metric | is a | tells |\n| --- | --- | --- |\n"
    return "<!-- metrics -->\n" + head + "\n".join(rows) + "\n<!-- end of metrics -->"


def labelled(family: Family) -> str:
    """What kind of metric it is, and by which labels there are several of it."""
    labels = ", ".join(f"`{label}`" for label in family.labels)
    return f"{family.kind} by {labels}" if labels else family.kind


def included(name: str) -> str:
    """The fields of one table, between the comments that ask for them."""
    rows = "".join(row(one) for one in fields(TABLES[name]))
    return f"<!-- fields: {name} -->\n{HEAD}{rows}<!-- end of fields -->"


def row(one: Field[Any]) -> str:
    """One field: its name, what it may be, what it means, and what it is unless said."""
    cells = [f"`{one.name}`", kind(one).says, one.metadata["says"], usual(one)]
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |\n"


def usual(one: Field[Any]) -> str:
    """What holds where nothing is said."""
    if one.default is MISSING:
        return "has to be said"
    if isinstance(one.default, (bool, str)) or one.default:
        plain = kind(one).spell(one.default) if one.default != "" else ""
        said = str(plain).lower() if isinstance(plain, bool) else str(plain or "")
        return f"`{said}`" if said else ""
    return ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
