"""Settings: what is well with a rule file, and what is not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from headgate.doctor.finding import BAD, DOUBT, GOOD, Finding
from headgate.errors import HeadgateError, Problem, RulesError
from headgate.rules.clients.client import Client
from headgate.rules.documents.document import Document, format_of, read
from headgate.rules.model.listen import Listen
from headgate.rules.model.rules import Rules
from headgate.rules.review.lint import warnings

# A secret with fewer different signs is a pattern, and so is one with such a word in it.
FEWEST = 8
WORDS = ("password", "secret", "changeme", "change-me", "token", "admin", "example", "letmein")
ROWS = ("abcdefghijklmnopqrstuvwxyz", "qwertyuiopasdfghjklzxcvbnm", "01234567890123456789")
# So long a piece of a row is typed by habit.
TYPED = 8


class Sheet(NamedTuple):
    """A rule file: its name, its text, what it says and where; no rules if they are broken."""

    file: str
    text: str
    written: Document | None
    rules: Rules | None
    problems: tuple[Problem, ...]

    def at(self, *path: str | int) -> str:
        """Where that stands."""
        if self.written is None:
            return self.file
        return f"{self.file}:{self.written.key(path)[0]}"


def sheet(file: str) -> Sheet:
    """A rule file as it is."""
    try:
        rules = Rules.load(file)
        if rules.service is not None and rules.service.ratelimit.files:
            from headgate.service.rls.domains import load  # noqa: PLC0415 - it brings protobuf along

            load(rules.service.ratelimit.files)
        with open(file, "rb") as opened:
            text = opened.read()
        return Sheet(
            file, text.decode("utf-8", "replace"), read(text, format_of(file), file), rules, ()
        )
    except RulesError as error:
        return Sheet(file, "", None, None, error.problems)
    except (HeadgateError, OSError) as error:
        return Sheet(file, "", None, None, (Problem(str(error), file=file),))


def legible(page: Sheet) -> Iterator[Finding]:
    """Whether it can be read, and what in it is odd."""
    for problem in page.problems:
        place = f"{problem.file or page.file}:{problem.line}" if problem.line else page.file
        plain = problem._replace(file="", line=0)
        yield Finding("rules.read", BAD, place, str(plain))
    if page.rules is None:
        return
    yield Finding("rules.read", GOOD, page.file, f"is version {page.rules.digest}")
    found = [one for one in warnings(page.rules) if one.path[:1] != ("client",)]
    for problem in found:
        yield Finding("rules.lint", DOUBT, page.at(*problem.path), str(problem))
    if not found:
        yield Finding("rules.lint", GOOD, page.file, "says nothing odd")


def trusting(page: Sheet, rules: Rules) -> Iterator[Finding]:
    """Whether anybody can say that they are somebody else."""
    wide = [one for one in warnings(rules) if one.path == ("client", "trusted_proxies")]
    for problem in wide:
        yield Finding("client.trust", BAD, page.at(*problem.path), problem.message)
    if not wide:
        names = ", ".join(rules.client.trusted_proxies) or "nobody"
        yield Finding("client.trust", GOOD, page.file, f"{names} is believed")
    client = rules.client
    if client.trusted_hops and not client.trusted_proxies:
        near = all(one.place.near for one in listeners(rules))
        what = f"{client.trusted_hops} proxies are counted, and whoever connects is taken for one"
        verdict = DOUBT if near else BAD
        yield Finding("client.hops", verdict, page.at("client", "trusted_hops"), what)
    fronted = bool(client.trusted_proxies or client.trusted_hops)
    if client.header != Client().header and not fronted:
        found = f"{client.header} is named, and nobody is believed"
        yield Finding("client.header", DOUBT, page.at("client", "header"), found)
    if hidden(rules) and not fronted:
        what = "it listens on this machine alone, believes no proxy, and counts by client.ip"
        yield Finding("client.near", DOUBT, page.at("gateway"), what)


def hidden(rules: Rules) -> bool:
    """Whether all clients would look like one: a proxy of this machine."""
    counts = any("client.ip" in part for rule in rules.rules for part in rule.key)
    gateway = rules.gateway is not None and all(one.place.near for one in rules.gateway.listen)
    spoken = any(one.proxy_protocol for one in listeners(rules))
    return counts and gateway and not spoken


def listeners(rules: Rules) -> tuple[Listen, ...]:
    """Where the gateway listens; nowhere if there is none."""
    return () if rules.gateway is None else tuple(rules.gateway.listen)


def counting(page: Sheet, rules: Rules) -> Iterator[Finding]:
    """Whether workers count together."""
    said: Any = page.written.data if page.written is not None else {}
    for name in ("gateway", "service"):
        terms = getattr(rules, name)
        if terms is None or terms.workers == 1:
            continue
        if rules.store == "memory://" and "store" in said:
            found = f"each of {terms.workers} workers counts by itself in memory://"
            yield Finding("rules.alone", BAD, page.at("store"), found)
        else:
            found = f"{terms.workers} workers count together"
            yield Finding("rules.alone", GOOD, page.at(name, "workers"), found)


def exposed(page: Sheet, rules: Rules) -> Iterator[Finding]:
    """What others reach: listeners in plain text, and an admin whose token is guessed."""
    for number, one in enumerate(listeners(rules)):
        place = one.place
        if place.near or one.tls is not None:
            continue
        at = page.at("gateway", "listen", number)
        if rules.client.trusted_proxies:
            found = f"{place} is plain text, behind {', '.join(rules.client.trusted_proxies)}"
            yield Finding("gateway.plain", GOOD, at, found)
        else:
            found = f"{place} is reached from other machines, in plain text"
            yield Finding("gateway.plain", DOUBT, at, found)
    for name in ("gateway", "service"):
        admin = getattr(getattr(rules, name), "admin", None)
        if admin is None:
            continue
        at = page.at(name, "admin")
        why = guessed(admin.token)
        verdict = BAD if why else GOOD
        yield Finding("gateway.admin", verdict, at, why or "its token is not guessed")


def guessed(token: str) -> str:
    """Why somebody may guess a token; nothing if there is none, or nobody does."""
    plain = token.lower()
    if not plain:
        return ""
    word = next((one for one in WORDS if one in plain), "")
    if word:
        return f'its token has the word "{word}" in it'
    if len(set(plain)) < FEWEST:
        return f"its token is made of {len(set(plain))} signs"
    for row in ROWS:
        for start in range(len(row) - TYPED + 1):
            if row[start : start + TYPED] in plain:
                return "its token has letters or digits in it as they stand on the keys"
    return ""
