"""Checks: all rules asked about a request that somebody describes."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any
from urllib.parse import quote

from headgate.rules.live.entry import Entry
from headgate.rules.matching.request import Request
from headgate.service.http.asking import ALL, Asking, then
from headgate.service.http.auth import settle
from headgate.service.http.forms import Check, Described
from headgate.service.http.routes import Example
from headgate.service.http.saying import Answer, Trouble, answer, finite
from headgate.wire import spots

# What a path may have in it that need not be escaped: it stands there as it came.
ASIS = "".join(chr(code) for code in range(33, 127))


def check(asking: Asking) -> Answer | Awaitable[Answer]:
    """Ask the rules about a request, and tell what it would be answered."""
    form = asking.read(Check)
    asking.admit(ALL)
    request = made(asking, form.request)
    found = asking.hall.keeper.glance(request)
    return then(found, lambda entry: told(asking, request, entry, form.status))


def made(asking: Asking, said: Described) -> Request:
    """The request that was described; Trouble if there can be no such one."""
    spot = spots.find(
        said.method.upper().encode("ascii", "replace"),
        quote(said.path, ASIS, errors="surrogatepass").encode("ascii"),
        said.host.encode("ascii", "replace"),
    )
    if spot is None or "?" in said.path:
        raise Trouble(
            400, f'request.path is a path such as /login, and its query apart, not "{said.path}".'
        )
    client = asking.manners.client
    headers = {name.lower(): value for name, value in said.headers.items()}
    line = headers.get(client.header)
    found = client.find(said.client or None, () if line is None else (line,))
    if said.client and found.flaw == "garbage" and not found.address:
        raise Trouble(
            400, f'request.client is an address such as 203.0.113.7, not "{said.client}".'
        )
    where = {"client": found.key, "address": found.address} if said.client else {}
    if said.host:
        where["host"] = said.host
    return Request(
        spot.method, spot.path, headers, said.query, scheme=said.scheme, user=said.user,
        plan=said.plan, **where,
    )  # fmt: skip


def told(asking: Asking, request: Request, entry: Entry, status: int) -> Answer:
    """What the rules said, and what to send on."""
    herald = asking.manners.herald
    status_, fields, body = 200, herald.fields(entry), b""
    if entry.refusal is not None:
        status_, fields, body = herald.answer(entry, request.header("accept"))
    settle(asking, entry, status)
    said: dict[str, Any] = {
        "allowed": bool(entry),
        "status": status_,
        "headers": {name.decode("latin-1"): value.decode("latin-1") for name, value in fields},
        "body": body.decode("utf-8", "replace"),
        "rule": entry.rule,
        "reason": "" if entry.refusal is None else entry.refusal.kind,
        "retry_after": 0.0 if entry.refusal is None else finite(entry.refusal.retry_after),
        "shadowed": [rule.name for rule in entry.shadowed],
        "version": entry.version,
    }
    return answer(said)


EXAMPLES = (
    Example(
        "allowed", "A request that is let in",
        {"request": {"method": "GET", "path": "/items", "client": "203.0.113.7",
                     "headers": {"x-user": "42"}}},
        200,
        {"allowed": True, "status": 200,
         "headers": {"ratelimit-policy": '"api";q=100;w=60', "ratelimit": '"api";r=99;t=1'},
         "body": "", "rule": "", "reason": "", "retry_after": 0.0, "shadowed": [],
         "version": "..."},
    ),
)  # fmt: skip
