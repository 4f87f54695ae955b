"""Petition: a descriptor as a request, for rules that were not written for descriptors.

An entry with a well-known key is the fact of that name, and each entry is a header as well: its key
in lower case, with hyphens where there are underscores. The host is the domain, unless an entry
says which.

    remote_address, masked_remote_address    client.ip
    path, :path                              path (and what follows a ? is the query)
    method, :method                          method
    host, :authority                         host
    user, plan                               user, plan
    generic_key: checkout                    header.generic-key, as every other
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import unquote

from headgate.rules.clients.client import Client
from headgate.rules.matching.request import Request
from headgate.service.rls.tree import Entry

# The facts that well-known keys are.
FACTS = {
    "remote_address": "address", "masked_remote_address": "address",
    "path": "path", ":path": "path",
    "method": "method", ":method": "method",
    "host": "host", ":authority": "host",
    "user": "user", "plan": "plan",
}  # fmt: skip


class Petition(Request):
    """The descriptor of a domain; who the client is, is said as the rules have it."""

    __slots__ = ()

    def __init__(self, domain: str, entries: Sequence[Entry], client: Client) -> None:
        facts = known(entries)
        address = facts.get("address", "")
        # A network that was masked already is no address, and a client all the same.
        found = client.find(address, ())
        key = found.key if found.address else address
        path, _, query = facts.get("path", "").partition("?")
        super().__init__(
            facts.get("method", "GET"),
            unquote(path) or "/",
            [(named(name), value) for name, value in entries],
            query,
            facts.get("host", domain),
            client=key,
            address=address,
            user=facts.get("user", ""),
            plan=facts.get("plan", ""),
        )


def known(entries: Sequence[Entry]) -> dict[str, str]:
    """The facts among entries: of each the first that says anything."""
    found: dict[str, str] = {}
    for key, value in entries:
        fact = FACTS.get(key)
        if fact is not None and value:
            found.setdefault(fact, value)
    return found


def named(key: str) -> str:
    """The header that an entry is."""
    return key.lower().replace("_", "-")
