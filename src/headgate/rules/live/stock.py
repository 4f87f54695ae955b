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
    if entry.refusal is None:
        entry.body = bytearray()
        return
    rule, request = entry.refusal.rule, entry.request
    for ruling in stocked:
        if ruling.rule is rule and ruling.larder is not None:
            entry.spare = ruling.larder.find(request, known(ruling, entry), rule.over.stale)


def lay(entry: Entry, status: int, header: Header) -> None:
    """Keep an answer, for every rule that would have it again."""
    if entry.body is None:
        return
    body, entry.body = bytes(entry.body), None
    if not entry.complete or not keepable(entry.request, status, header, body):
        return
    met = [one.ruling for one in entry.passes] + [ruling for ruling, _, _ in entry.places]
    for ruling in met:
        if ruling.larder is not None:
            ruling.larder.keep(entry.request, known(ruling, entry), header, body)


def known(ruling: Ruling, entry: Entry) -> str:
    """The key under which a rule counts the request."""
    return "" if ruling.key is None else ruling.key(entry.request)
