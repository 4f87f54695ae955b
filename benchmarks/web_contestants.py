"""What every web contestant is: the same small application behind a limit, by address, in memory.

A site is an application as the users of its framework write it. Whoever can tell of the limit in
headers takes part with them and, where that is how it comes, without. Before a site is timed each
of a hundred clients must get what is theirs and no more, with headers where they were promised.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from headgate.rules.model.rules import Rules

    # The status of an answer to this client, and the names of its headers.
    Ask = Callable[[int], tuple[int, list[str]]]

BARE = "bare"
OURS = "headgate"
# So many a day: a limit that nobody reaches, and one that everybody has reached.
AMPLE, SPENT = 1_000_000_000, 1
CLIENTS = 100
PATH = "/api/items"
HEADERS = {
    "host": "example.com",
    "user-agent": "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0",
    "accept": "*/*",
    "accept-language": "en-GB,en;q=0.5",
    "accept-encoding": "gzip, deflate, br",
    "connection": "keep-alive",
}


class Site(NamedTuple):
    """An application behind a limit of so many a day, and how it answers.

    `package` is what must be installed besides the framework; `tells` is whether answers have
    headers about the limit, and `refusal` the status for those who are over it.
    """

    name: str
    package: str
    build: Callable[[int], Any]
    tells: bool
    refusal: int = 429


def check(site: Site, ask: Ask, limit: int) -> None:
    """Refuse to time a site that does not answer as it should. Every client has then been there."""
    for client in range(CLIENTS):
        status, names = ask(client)
        if status != 200:
            raise RuntimeError(f"a client's first request is answered with {status}")
        if any("ratelimit" in name for name in names) is not site.tells:
            raise RuntimeError(f"it answers with the headers {', '.join(names)}")
    if limit != SPENT or site.name == BARE:
        return
    for client in range(CLIENTS):
        status, _ = ask(client)
        if status != site.refusal:
            raise RuntimeError(f"a client's second request is answered with {status}")


def address(client: int) -> str:
    """Where a client is; among addresses that anybody could have."""
    return f"93.184.215.{client}"


def rules(limit: int, *dialects: str, unit: str = "day") -> Rules:
    """The limit as Headgate's rules, told in these dialects."""
    from headgate.rules.model.rule import Rule
    from headgate.rules.model.rules import Rules

    rule = Rule("api", match={"path": "/api/**"}, key="client.ip", limit=f"{limit}/{unit}")
    return Rules([rule], headers=dialects)
