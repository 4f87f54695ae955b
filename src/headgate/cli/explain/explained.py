"""Explained: what `headgate explain` has to say, for people or in JSON."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import Any

from headgate.cli.explain.asked import asked
from headgate.cli.page import Page
from headgate.cli.trouble import hushed
from headgate.cli.trouble import text as source
from headgate.clock import ManualClock, SystemClock
from headgate.explain.foresight import explain
from headgate.explain.hindsight import Account, account, lines
from headgate.explain.opinion import ALLOWED, REFUSED, SHADOWED, UNMET, Explanation, Opinion
from headgate.rules.documents.document import format_of
from headgate.rules.documents.document import read as document
from headgate.rules.live.gatekeeper import Gatekeeper
from headgate.rules.model.rules import Rules

# What each outcome is called, and looks like.
STYLES = {REFUSED: "bold red", SHADOWED: "yellow", "delayed": "yellow", ALLOWED: "green"}
# So many lines of a rule are shown.
MOST = 30
MARKS = {UNMET: "-", "grouped": "-", "unasked": "-"}


def would(said: dict[str, Any]) -> int:
    """Explain what a request would be answered; 1 if it would be refused."""
    rules = Rules.load(said["file"])
    store = said["store"] or rules.store
    own = store == "memory://"
    clock = moment(said["at"], own)
    if said["times"] > 1 and not (own or said["spend"]):
        raise ValueError(f"--times counts requests, and others count in {store}; say --spend too")
    request, way = asked(said, rules)
    keeper = Gatekeeper(rules, store, clock)
    try:
        for _ in range(said["times"]):
            found = explain(keeper, request, way, spend=own or said["spend"])
    finally:
        keeper.close()
    if said["plain"]:
        print(json.dumps(found.plain(), indent=2))  # noqa: T201 - this is what was asked for
    else:
        show(found, said["file"], own)
    return 1 if found.outcome == REFUSED else 0


def moment(text: str, own: bool) -> ManualClock | None:
    """A clock that begins at that time, or now, and whose time nobody waits for; none elsewhere."""
    if not text:
        return ManualClock(SystemClock().now() / 1e6) if own else None
    if not own:
        raise ValueError("--at is for what is counted in memory://; elsewhere it is now")
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f'--at is a time such as 2026-11-18T12:00:00Z, not "{text}"') from None
    return ManualClock((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp())


def show(found: Explanation, file: str, own: bool) -> None:
    """An explanation for people."""
    page = Page()
    page.line(f"{found.method} {found.path}: {verdict(found)}", STYLES[found.outcome])
    page.line(f"{file}, version {found.version}, counted in {found.store}{caveat(found, own)}")
    if found.client is not None:
        page.head("client")
        for hop in found.client.hops:
            page.item(f"{hop.address or '-'} ({hop.said})", hop.why)
        page.item(found.client.key or "nobody", "is what counts together as one client")
    page.head("rules")
    for one in found.opinions:
        told(page, one)
    if found.status or found.headers:
        page.head("answer")
        page.line(f"  status {found.status}" if found.status else "  that of the app, and with it")
        for name, value in found.headers:
            page.line(f"  {name}: {value}")
        if found.body:
            page.line("")
            page.line(f"  {found.body.strip()}")
    page.end()


def verdict(found: Explanation) -> str:
    """What becomes of it, in a few words."""
    if found.outcome == REFUSED:
        return f'refused with {found.status} by the rule "{found.rule}"'
    if found.outcome == ALLOWED:
        return "goes in"
    return f"goes in after {found.wait:g} s" if found.wait else "goes in when a place is free"


def caveat(found: Explanation, own: bool) -> str:
    """What these numbers are."""
    if own:
        return " of this command's own, where nobody has asked before"
    return ", and counted" if found.spent else ", and only looked at"


def told(page: Page, one: Opinion) -> None:
    """What one rule says."""
    word = MARKS.get(one.outcome, one.outcome)
    page.item(one.rule, one.why if word == "-" else f"{word}: {one.why}", STYLES.get(word, ""))
    if word == "-":
        return
    if one.source:
        made = ", ".join(f"{fact} = {value or 'absent'}" for fact, value in one.source)
        page.more(f"key {one.key or 'none'}, of {made}")
    elif one.cost is not None or one.inside is not None:
        page.more("all requests are counted together")
    if one.terms:
        whose = f" ({one.chosen})" if one.chosen else ""
        page.more(f"terms {'; '.join(one.terms)}{whose}")
    if one.policy and one.limit is not None:
        page.more(f"cost {one.cost}; {one.policy}: {one.before} before, {one.after} after")


def were(said: dict[str, Any]) -> int:
    """Explain refusals of a log; 1 if there are none."""
    rules = Rules.load(said["file"]) if said["file"] else None
    found = [
        account(line, rules)
        for line in read(said["audit"])
        if said["every"] or line["decision"] == said["decision"]
    ]
    if said["plain"]:
        print(json.dumps([one.plain() for one in found], indent=2))  # noqa: T201 - as above
    else:
        recount(found, said)
    return 0 if found else 1


def read(name: str) -> Iterator[Any]:
    """The refusals of a log."""
    with ExitStack() as stack:
        if name == "-":
            yield from lines(sys.stdin)
        else:
            yield from lines(stack.enter_context(open(name, encoding="utf-8", errors="replace")))


def recount(found: list[Account], said: dict[str, Any]) -> None:
    """Refusals for people."""
    page = Page()
    if not found:
        what = f'no decision "{said["decision"]}"' if said["decision"] else "no refusal"
        page.line(f"{said['audit']} has {what}; nothing can be told of lines that were left out")
    source = Source(said["file"]) if said["file"] else None
    for one in found:
        page.head(f"{one.time} {one.decision}".strip())
        for sentence in one.sentences:
            page.line(f"  {sentence}")
        if source is not None and one.place >= 0:
            for line in source.rule(one.place):
                page.line(f"  {line}")
    page.end()


class Source:
    """The text of a rule file."""

    def __init__(self, file: str) -> None:
        self._file = file
        with open(file, "rb") as opened:
            self._written = document(opened.read(), format_of(file), file)

    def rule(self, number: int) -> Iterator[str]:
        """Where a rule stands, and what it says there, without what nobody else may know."""
        first = self._written.place(("rules", number))[0]
        rules = self._written.data["rules"]
        after = self._written.place(("rules", number + 1))[0] if number + 1 < len(rules) else 0
        yield f"It stands in {self._file}:{first}:"
        found = source(self._file)
        last = after - 1 if after else ended(found, first)
        told = "\n".join(found[first - 1 : max(first, last)][:MOST])
        for line in textwrap.dedent(told).rstrip().splitlines():
            yield f"  {hushed(line).rstrip()}"


def ended(found: list[str], first: int) -> int:
    """The last line of what begins on a line: what follows is indented, or empty."""
    indent = len(found[first - 1]) - len(found[first - 1].lstrip())
    last = first
    for number, line in enumerate(found[first:], first + 1):
        if line.strip() and len(line) - len(line.lstrip()) <= indent:
            break
        last = number if line.strip() else last
    return last
