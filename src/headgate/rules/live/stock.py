"""Stock: good answers are laid in as requests leave, and handed out to those who are refused."""

from __future__ import annotations

from collections.abc import Sequence

from headgate.rules.live.entry import Entry
from headgate.rules.live.larder import Header, keepable
from headgate.rules.live.ruling import Ruling


def prepare(entry: Entry, rulings: Sequence[Ruling]) -> None:
    """Find what a refused request can have instead; or take note of what the others get."""
    stocked = [ruling for ruling in rulings if ruling.larder is not None]
    if not stocked:
        return
    rule, request = None if entry.refusal is None else entry.refusal.rule, entry.request
    if rule is None:
        entry.body = bytearray()
        entry.stocked = stocked
    elif not any(barred(ruling, entry) for ruling in rulings):
        for ruling in stocked:
            if ruling.rule is rule and ruling.larder is not None:
                entry.spare = ruling.larder.find(request, known(ruling, entry), rule.over.stale)


def lay(entry: Entry, status: int, header: Header) -> None:
    """Keep an answer, for every rule that would have it again."""
    if entry.body is None:
        return
    body, entry.body = bytes(entry.body), None
    stocked, entry.stocked = entry.stocked, ()
    if not entry.complete or not keepable(entry.request, status, header, body):
        return
    for ruling in stocked:
        key = known(ruling, entry)
        if ruling.larder is not None and ruling.counts(key):
            ruling.larder.keep(entry.request, key, header, body)


def barred(ruling: Ruling, entry: Entry) -> bool:
    """Whether a rule refuses a request whatever has been counted, also one that was not reached."""
    key = known(ruling, entry)
    return ruling.bar(key) is not None and ruling.enforced(key)


def known(ruling: Ruling, entry: Entry) -> str:
    """The key under which a rule counts the request."""
    return "" if ruling.key is None else ruling.key(entry.request)
