"""Auth: what a proxy asks before it lets a request in, and how it is told yes or no.

What a rule would have answered is what the proxy is told: 429 with a body, or another status, or a
place to go to; but a lesser answer with 200 is told with 429, since it would be a yes. With
`?deny=403` it is that status, and nothing but how long to stay away; what it would have been stands
in `headgate-status`. Who is let in is told with 200 and how the limits stand. Nobody says later how
a request ended, so that is taken for known: 200, or `?status=`. Places of `concurrent` rules are
given back at once.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable
from typing import Any

from headgate.adapters.http import problem
from headgate.adapters.http.herald import KINDS
from headgate.rules.live.entry import Entry
from headgate.rules.matching.request import Request
from headgate.service.http import proxied
from headgate.service.http.asking import ALL, Asking, then
from headgate.service.http.saying import Answer, Fields, Trouble, sentence
from headgate.service.teller import unheard

# What of a rule's answer is left where a proxy has its own.
KEPT = (b"retry-after", b"cache-control")
STATUS = b"headgate-status"
TOO_MANY = 429
# Below these are the statuses by which a proxy lets in.
REDIRECTS = 300
EMPTY = (b"content-length", b"0")
UNSTORED = (b"cache-control", b"no-store")
DENY = re.compile(rb"(?:^|&)deny=([45][0-9][0-9])(?:&|$)")


def auth(asking: Asking) -> Answer | Awaitable[Answer]:
    """Whether a proxy is to let a request in."""
    options = {} if foreign(asking) else asking.options("deny", "rule", "status")
    deny = number(options, "deny", 0, 400)
    status = number(options, "status", 200, 200)
    rule = options.get("rule", "")
    admit(asking, rule or ALL, deny)
    manners = asking.manners
    try:
        request = proxied.describe(asking, manners)
    except proxied.Muddled as muddled:
        # Whose proxy lets pass what went wrong is not to be led past the rules by a client.
        raise Trouble(deny or muddled.status, muddled.detail) from None
    found = narrowed(asking, rule, request) if rule else asking.hall.keeper.glance(request)
    return then(found, lambda entry: verdict(asking, request, entry, deny, status))


def admit(asking: Asking, rule: str, deny: int) -> None:
    """See that the proxy may ask, and has not asked too much: that is a no to its client."""
    try:
        asking.admit(rule)
    except Trouble as trouble:
        if not deny or trouble.status != TOO_MANY:
            raise
        # It is clients who make a proxy ask, and so many of them are not to be let in for that.
        fields = [*trouble.fields, (STATUS, b"%d" % TOO_MANY)]
        raise Trouble(deny, trouble.detail, fields) from None


def foreign(asking: Asking) -> bool:
    """Whether the query is the client's: Envoy passes it on, and a Caddy told `/v1/auth` does."""
    if asking.exchange.target.startswith(proxied.PREFIX + b"/"):
        return True
    if any(asking.exchange.header(name) for name in proxied.ORIGINAL):
        # An nginx passes none on, whatever else its client sends.
        return False
    uris = asking.exchange.header(proxied.FORWARDED[1])
    return any(uri.partition(b"?")[2] == asking.query for uri in uris)


def number(options: dict[str, str], word: str, usual: int, least: int) -> int:
    """A status among the parameters."""
    said = options.get(word)
    if said is None:
        return usual
    if not (said.isascii() and said.isdigit() and len(said) == 3 and least <= int(said) <= 599):
        raise Trouble(400, f'{word} is a status from {least} to 599, not "{said[:60]}".')
    return int(said)


def narrowed(asking: Asking, name: str, request: Request) -> Any:
    """What one rule says; it says nothing of requests that it is not about."""
    keeper = asking.hall.keeper
    book = keeper.lodge.book
    names = [rule.name for rule in book.rules.rules]
    if name not in names:
        raise Trouble(404, sentence(unheard(name, names)))
    rulings = tuple(one for one in book.find(request) if one.name == name)
    return keeper._visit(book, rulings, request) if rulings else Entry(book.version)


def verdict(asking: Asking, request: Any, entry: Entry, deny: int, status: int) -> Answer:
    """What a proxy is told of an entry."""
    answer = said(request, entry, deny)
    settle(asking, entry, status)
    return answer


def said(request: Any, entry: Entry, deny: int) -> Answer:
    """The answer: the rule's own, or what a proxy can pass on."""
    herald = request.manners.herald
    if entry.refusal is None:
        return 200, [*herald.fields(entry), UNSTORED, EMPTY], b""
    status, fields, body = herald.answer(entry, request.header("accept"))
    if not deny and status >= REDIRECTS:
        return status, fields, body
    if not deny:
        # To a proxy that would be a yes.
        usual = problem.status(KINDS[entry.refusal.kind], entry.refusal.retry_after)
        return usual, [(STATUS, b"%d" % status), *fields], body
    told: Fields = [(STATUS, b"%d" % status), *herald.fields(entry), EMPTY]
    return deny, [*told, *(one for one in fields if one[0] in KEPT)], b""


def settle(asking: Asking, entry: Entry, status: int) -> None:
    """Say how the request ended, as far as anybody here will know."""
    if entry.refusal is not None:
        asking.hall.refused += 1
    if not entry.idle:
        asking.clerk.begin(asking.hall.keeper.leave(entry, status))


def refused(target: bytes) -> int:
    """With which status a proxy passes on a no, if this asks about a request and says so; else 0.

    What a client has sent may be more than is taken in here. Where the proxy lets pass what went
    wrong, that must not be a way past the rules.
    """
    path, _, query = target.partition(b"?")
    found = DENY.search(query) if path == proxied.PREFIX else None
    return int(found[1]) if found else 0
