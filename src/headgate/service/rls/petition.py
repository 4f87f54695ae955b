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

ADDRESSES = ("remote_address", "masked_remote_address")
PATHS = ("path", ":path")
METHODS = ("method", ":method")
HOSTS = ("host", ":authority")


class Petition(Request):
    """The descriptor of a domain; who the client is, is said as the rules have it."""

    __slots__ = ()

    def __init__(self, domain: str, entries: Sequence[Entry], client: Client) -> None:
        address = first(entries, ADDRESSES)
        # A network that was masked already is no address, and a client all the same.
        found = client.find(address, ())
        key = found.key if found.address else address
        path, _, query = first(entries, PATHS).partition("?")
        super().__init__(
            first(entries, METHODS) or "GET",
            unquote(path) or "/",
            [(named(name), value) for name, value in entries],
            query,
            first(entries, HOSTS) or domain,
            client=key,
            address=address,
            user=first(entries, ("user",)),
            plan=first(entries, ("plan",)),
        )


def first(entries: Sequence[Entry], keys: tuple[str, ...]) -> str:
    """The value of the first entry with one of these keys, or nothing."""
    return next((value for key, value in entries if key in keys and value), "")


def named(key: str) -> str:
    """The header that an entry is."""
    return key.lower().replace("_", "-")
