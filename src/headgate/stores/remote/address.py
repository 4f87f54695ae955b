"""Addresses: where a service is, as a URL.

    headgate://host:8083
    headgate://:token@host         whoever has that token; headgate://name:token@host is the same
    headgates://host               with TLS
    headgate://unix:/run/limits.sock

Options stand after a `?`, as for a server of Redis: `budget`, and those that begin with `ssl_`.
"""

from __future__ import annotations

import re
from urllib.parse import parse_qsl

from headgate.stores.redis.place import OPTIONS as ALL
from headgate.stores.redis.place import Route, route, wrong

SECURE = {"headgate": "", "headgates": "s"}
SCHEMES = tuple(SECURE)
# What may stand after the question mark.
OPTIONS = tuple(word for word in ALL if word == "budget" or word.startswith("ssl_"))
# Where a service speaks the protocol of Redis, unless its rules say otherwise.
PORT = 8083


def way(url: str) -> Route:
    """The way that a URL describes, or an error that says how one is written."""
    scheme, mark, rest = url.partition("://")
    if not mark or scheme not in SCHEMES:
        known = " or ".join(f"{scheme}://host" for scheme in SCHEMES)
        raise wrong(url, f"unknown scheme; try {known}")
    login, at, place = rest.rpartition("@")
    where, _, query = place.partition("?")
    for word in dict(parse_qsl(query)):
        if word not in OPTIONS:
            raise wrong(url, f"unknown option {word!r}; known are {', '.join(OPTIONS)}")
    try:
        found = route(f"{plain(scheme, where, f'{login}{at}', url)}?{query}")
    except ValueError as problem:
        raise wrong(url, str(problem).partition("': ")[2] or str(problem)) from None
    return found._replace(scheme="headgate")


def plain(scheme: str, where: str, login: str, url: str) -> str:
    """The URL, but for its options, as that of a Redis."""
    if where.startswith("unix:"):
        if SECURE[scheme]:
            raise wrong(url, "a socket of this machine needs no TLS; write headgate://unix:/path")
        return f"unix://{login}{where.removeprefix('unix:')}"
    host, _, path = where.partition("/")
    if path:
        raise wrong(url, f"there is one of everything on a service; leave /{path} out")
    if "," in host:
        raise wrong(url, "a service has one address")
    port = "" if re.search(r":[^\]]*$", host) else f":{PORT}"
    return f"redis{SECURE[scheme]}://{login}{host}{port}"
