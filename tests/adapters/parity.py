"""One table for all adapters: requests, and what becomes of each under rules such as people write.

Every framework plays the same scenes in virtual time. To add one, write a driver: a context manager
that puts rules in front of an application of that framework and yields something with `send`. The
application answers with `behave`, from a thread in which it may block: it may send a request while
it answers one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from headgate import ManualClock
from headgate.rules.model.rules import Rules

SOMEBODY = "198.51.100.7"


class Heard(NamedTuple):
    """An answer; the names of headers are in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes


class Driver(Protocol):
    """Sends requests to an application with rules in front of it."""

    def send(self, method: str, path: str, headers: Mapping[str, str], client: str) -> Heard:
        """The answer to a request, all of its body read. The path is quoted, with its query."""


Maker = Callable[[Rules, ManualClock], AbstractContextManager[Driver]]


class Failure(Exception):
    """What the application raises if it is told to; to its client that is a 500."""


def behave(driver: Driver, method: str, path: str, headers: Mapping[str, str]) -> Heard:
    """What the application answers: as the request tells it to.

    `x-answer` is the status, `x-size` how large the body is, `x-units` a header to be sent back.
    With `x-fail` it fails. With `x-within: 2` it sends the same request again, to be answered with
    `x-within: 1` in the meantime, and so on, and answers with the statuses of these.
    """
    if "x-fail" in headers:
        raise Failure
    status = int(headers.get("x-answer", "200"))
    more = {"content-type": "text/plain", "x-units": headers.get("x-units", "1")}
    within = int(headers.get("x-within", "0"))
    if not within:
        return Heard(status, more, b"x" * int(headers.get("x-size", "2")))
    kept = {name: value for name, value in headers.items() if name.startswith("x-")}
    inner = driver.send(method, path, {**kept, "x-within": str(within - 1)}, SOMEBODY)
    return Heard(status, more, b"%d %b" % (inner.status, inner.body if within > 1 else b""))


class Step(NamedTuple):
    """A request and what becomes of it. What is None is not looked at.

    `rule` is the one that the answer speaks of, `remaining` what it says is left of it. The step
    comes `after` so many seconds and takes `took`.
    """

    path: str
    status: int = 200
    rule: str | None = None
    remaining: int | None = None
    retry_after: int | None = None
    method: str = "GET"
    headers: Mapping[str, str] = {}
    client: str = SOMEBODY
    after: float = 0.0
    took: float = 0.0
    body: str | None = None
    told: Mapping[str, str] = {}


class Scene(NamedTuple):
    """Rules, and the requests that meet them, in order."""

    rules: str
    steps: list[Step]


def play(scene: Scene, make: Maker) -> None:
    """Send the requests of a scene, and hold what becomes of them against what was expected."""
    clock = ManualClock()
    with make(Rules.read(f"version: 1\n{scene.rules}"), clock) as driver:
        for number, step in enumerate(scene.steps, 1):
            clock.advance(step.after)
            start = clock.now()
            heard = driver.send(step.method, step.path, step.headers, step.client)
            assert seen(heard, step, (clock.now() - start) / 1e6) == wanted(step), (number, step)


def wanted(step: Step) -> dict[str, object]:
    """What was expected of a step."""
    found = {word: value for word in LOOKED if (value := getattr(step, word)) is not None}
    return {**found, "retry_after": step.retry_after, "took": step.took, **step.told}


def seen(heard: Heard, step: Step, took: float) -> dict[str, object]:
    """The same of the answer."""
    rule = spoken(heard)
    left = re.search(rf'"{re.escape(rule)}";r=(\d+)', heard.headers.get("ratelimit", ""))
    wait = heard.headers.get("retry-after")
    found = {
        "status": heard.status,
        "rule": rule,
        "remaining": int(left[1]) if left else None,
        "body": heard.body.decode(),
    }
    kept = {word: found[word] for word in LOOKED if getattr(step, word) is not None}
    told = {name: heard.headers.get(name) for name in step.told}
    return {**kept, "retry_after": int(wait) if wait else None, "took": took, **told}


LOOKED = ("status", "rule", "remaining", "body")


def spoken(heard: Heard) -> str:
    """The rule that an answer speaks of: that which refused, or the first that headers name."""
    if heard.headers.get("content-type") == "application/problem+json" and heard.body:
        return str(json.loads(heard.body).get("violated-policies", [""])[0])
    found = re.match(r'"([^"]+)"', heard.headers.get("ratelimit-policy", ""))
    return found[1] if found else ""


def countdown(step: Step, most: int) -> list[Step]:
    """A step as often as it is allowed, with ever less remaining."""
    return [step._replace(remaining=left) for left in reversed(range(most))]


REPORTS = Step("/reports", rule="reports")
LOGIN = Step("/login", rule="login", method="POST", client="203.0.113.7")
MESSAGE = Step("/messages", rule="marketing", method="POST", headers={"x-to": "ann"})
DOWNLOAD = Step("/files/film", headers={"x-user": "ann", "x-size": "300000"}, rule="")
EXPORT = Step("/export", headers={"x-user": "ann"}, rule="export")
QUOTE = Step("/quote", rule="quote")

SCENES = {
    "an interface at most 100 requests per minute": Scene(
        "rules: [{name: reports, match: {path: /reports}, limit: 100/min, by: fixed_window}]",
        [
            *countdown(REPORTS, 100),
            REPORTS._replace(status=429, remaining=0, retry_after=60),
            REPORTS._replace(status=429, remaining=0, retry_after=1, after=59.5),
            Step("/others", rule=""),
            REPORTS._replace(remaining=99, after=0.5),
        ],
    ),
    "a user downloads at most 100 KB/s, and members more": Scene(
        """
plan: header.x-plan
plans: {member: {downloads: 1MB/s}, vip: unlimited}
rules: [{name: downloads, match: {path: /files/**}, key: header.x-user, bandwidth: 100KB/s}]
""",
        [
            DOWNLOAD._replace(took=2.0),
            DOWNLOAD._replace(headers={"x-user": "bob", "x-size": "100000"}),
            DOWNLOAD._replace(headers={**DOWNLOAD.headers, "x-plan": "member"}),
            DOWNLOAD._replace(headers={"x-user": "eve", "x-size": "9000000", "x-plan": "vip"}),
            DOWNLOAD._replace(took=3.0),
            DOWNLOAD._replace(headers={"x-user": "ann", "x-size": "1000"}, took=0.01),
        ],
    ),
    "a user may have at most 5 concurrent requests on one interface": Scene(
        "rules: [{name: export, match: {path: /export}, key: header.x-user, concurrent: 5}]",
        [
            EXPORT._replace(remaining=4),
            EXPORT._replace(
                headers={"x-user": "ann", "x-within": "4"}, body="200 200 200 200 ", remaining=None
            ),
            EXPORT._replace(
                headers={"x-user": "ann", "x-within": "5"}, body="200 200 200 200 429 "
            ),
            EXPORT._replace(headers={"x-user": "bob"}, remaining=4),
            EXPORT._replace(remaining=4),
        ],
    ),
    "what an application holds when it fails is given back": Scene(
        "rules: [{name: export, match: {path: /export}, key: header.x-user, concurrent: 1}]",
        [
            *[Step("/export", 500, headers={"x-user": "ann", "x-fail": "1"})] * 3,
            EXPORT._replace(remaining=0),
        ],
    ),
    "an IP source is banned from everything": Scene(
        """
client: {trusted_proxies: [10.0.0.0/8]}
rules: [{name: banned, match: {client.ip: [203.0.113.0/24, "2001:db8::/32"]}, deny: true}]
""",
        [
            Step("/", 403, rule="", client="203.0.113.9"),
            Step("/any/thing", 403, method="POST", client="203.0.113.255"),
            Step("/", 403, client="2001:db8:1::1"),
            Step("/", client="203.0.112.9"),
            Step("/", client="198.51.100.1", headers={"x-forwarded-for": "203.0.113.9"}),
            Step("/", 403, client="10.0.0.1", headers={"x-forwarded-for": "203.0.113.9"}),
            Step("/", 403, client="10.0.0.1", headers={"x-forwarded-for": "1.1.1.1, 203.0.113.9"}),
            Step("/", client="10.0.0.1", headers={"x-forwarded-for": "203.0.113.9, 1.1.1.1"}),
        ],
    ),
    "5 marketing messages a day": Scene(
        """
rules:
  - name: marketing
    match: {method: POST, path: /messages}
    key: header.x-to
    limit: 5/day
    by: sliding_log
""",
        [
            *countdown(MESSAGE, 5),
            MESSAGE._replace(status=429, remaining=0, retry_after=86400),
            MESSAGE._replace(remaining=4, headers={"x-to": "bob"}),
            MESSAGE._replace(method="GET", rule=""),
            MESSAGE._replace(status=429, remaining=0, retry_after=1, after=86399.0),
            MESSAGE._replace(remaining=4, after=1.0),
        ],
    ),
    "5 logins a minute": Scene(
        """
rules: [{name: login, match: {method: POST, path: /login}, key: client.ip, limit: 5/min}]
""",
        [
            *countdown(LOGIN, 5),
            LOGIN._replace(status=429, remaining=0, retry_after=12),
            LOGIN._replace(remaining=4, client="203.0.113.8"),
            LOGIN._replace(remaining=0, after=12.0),
            LOGIN._replace(status=429, remaining=0, retry_after=12),
        ],
    ),
    "only failed logins count": Scene(
        """
rules:
  - name: login
    match: {method: POST, path: /login}
    key: client.ip
    limit: 2/min
    by: sliding_log
    counts: {status: [401, 403]}
""",
        [
            *[LOGIN._replace(remaining=1)] * 3,
            LOGIN._replace(status=401, headers={"x-answer": "401"}, remaining=1),
            LOGIN._replace(remaining=0),
            LOGIN._replace(status=500, headers={"x-fail": "1"}, rule=None),
            LOGIN._replace(status=403, headers={"x-answer": "403"}, remaining=0),
            LOGIN._replace(status=429, remaining=0, retry_after=60),
        ],
    ),
    "one waits a little rather than be refused": Scene(
        """
rules: [{name: quote, match: {path: /quote}, limit: 2/s burst 1, over: wait 1s}]
""",
        [QUOTE, QUOTE._replace(took=0.5), QUOTE._replace(took=0.5), QUOTE._replace(after=0.5)],
    ),
    "one waits no longer than is said": Scene(
        """
rules: [{name: quote, match: {path: /quote}, limit: 1/min, over: wait 10s}]
""",
        [QUOTE, QUOTE._replace(status=429, retry_after=60), QUOTE._replace(took=10.0, after=50.0)],
    ),
    "an answer that is kept ready": Scene(
        """
rules:
  - name: stock
    match: {path: /stock}
    limit: 1/min
    over: {degrade: {status: 200, headers: {x-kept: "yes"}, body: "in stock"}}
""",
        [
            Step("/stock", body="xx", rule="stock"),
            Step("/stock", body="in stock", told={"x-kept": "yes", "cache-control": "no-store"}),
        ],
    ),
    "the last good answer": Scene(
        """
rules:
  - name: stock
    match: {path: /stock}
    limit: 1/min
    over: {degrade: {stale: 30s, status: 503, body: "sold out"}}
""",
        [
            Step("/stock?of=1", body="xx"),
            Step("/stock?of=1", body="xx", after=5, told={"age": "5", "content-length": "2"}),
            Step("/stock?of=2", 503, body="sold out"),
            Step("/stock?of=1", 503, body="sold out", after=25.5),
        ],
    ),
    "a page that explains": Scene(
        "rules: [{name: sale, match: {path: /sale}, limit: 1/min, over: redirect /busy}]",
        [Step("/sale"), Step("/sale", 302, told={"location": "/busy"}), Step("/busy")],
    ),
    "a status of one's own": Scene(
        "rules: [{name: sale, match: {path: /sale}, limit: 1/min, over: reject 503}]",
        [Step("/sale"), Step("/sale", 503, rule="sale", retry_after=60)],
    ),
    "those with a plan may do more, or as they like": Scene(
        """
plan: header.x-plan
plans: {vip: unlimited, paid: {quote: 3/min}}
rules: [{name: quote, match: {path: /quote}, key: header.x-user, limit: 1/min}]
""",
        [
            QUOTE._replace(headers={"x-user": "ann"}, remaining=0),
            QUOTE._replace(headers={"x-user": "ann"}, status=429, remaining=0, retry_after=60),
            *countdown(QUOTE._replace(headers={"x-user": "bob", "x-plan": "paid"}), 3),
            QUOTE._replace(headers={"x-user": "bob", "x-plan": "paid"}, status=429, retry_after=20),
            *[QUOTE._replace(headers={"x-user": "ann", "x-plan": "vip"}, rule="")] * 5,
        ],
    ),
    "a single key has terms of its own": Scene(
        """
rules:
  - name: quote
    match: {path: /quote}
    key: header.x-user
    limit: 1/min
    overrides: {partner: 3/min, owner: unlimited}
""",
        [
            QUOTE._replace(headers={"x-user": "ann"}, remaining=0),
            QUOTE._replace(headers={"x-user": "ann"}, status=429, retry_after=60),
            *countdown(QUOTE._replace(headers={"x-user": "partner"}), 3),
            *[QUOTE._replace(headers={"x-user": "owner"}, rule="")] * 3,
        ],
    ),
    "who does not say who they are": Scene(
        """
rules:
  - {name: strict, match: {path: /strict}, key: header.x-user, limit: 1/min}
  - {name: own, match: {path: /own}, key: header.x-user, limit: 1/min, empty_key_status: 401}
  - {name: lax, match: {path: /lax}, key: header.x-user, limit: 1/min, empty_key: allow}
  - {name: crowd, match: {path: /crowd}, key: header.x-user, limit: 1/min, empty_key: share}
""",
        [
            Step("/strict", 403, rule=""),
            Step("/own", 401, rule=""),
            *[Step("/lax", rule="")] * 3,
            Step("/crowd", rule="crowd", remaining=0),
            Step("/crowd", 429, rule="crowd", remaining=0, retry_after=60),
        ],
    ),
    "a rule that is only tried refuses nobody": Scene(
        "rules: [{name: quote, match: {path: /quote}, limit: 1/min, mode: shadow}]",
        [QUOTE._replace(rule=None)] * 3,
    ),
    "who is refused by one rule has spent nothing of another": Scene(
        """
rules:
  - {name: wide, match: {path: /quote}, limit: 3/min, by: fixed_window}
  - {name: tight, match: {path: /quote}, key: header.x-user, limit: 1/min, by: fixed_window}
""",
        [
            Step("/quote", rule="wide", remaining=2, headers={"x-user": "ann"}),
            *[Step("/quote", 429, rule="tight", headers={"x-user": "ann"}, retry_after=60)] * 3,
            Step("/quote", rule="wide", remaining=1, headers={"x-user": "bob"}),
        ],
    ),
    "what a request costs": Scene(
        """
rules:
  - name: quote
    match: {path: [/quote, /search]}
    limit: 10/min
    by: fixed_window
    cost: {path: /search, units: 4}
  - name: exact
    match: {path: /exact}
    limit: 10/min
    by: fixed_window
    cost: {by: response.header.x-units}
  - {name: bytes, match: {path: /bytes}, limit: 10/min, by: fixed_window, cost: {by: response.body}}
""",
        [
            QUOTE._replace(remaining=9),
            QUOTE._replace(path="/search", remaining=5),
            QUOTE._replace(path="/search", remaining=1),
            QUOTE._replace(path="/search", status=429, remaining=1, retry_after=60),
            Step("/exact", rule="exact", headers={"x-units": "7"}),
            Step("/exact", rule="exact", headers={"x-units": "7"}),
            Step("/exact", 429, rule="exact", remaining=0, retry_after=60),
            Step("/bytes", rule="bytes", headers={"x-size": "10"}),
            Step("/bytes", 429, rule="bytes", remaining=0, retry_after=60),
        ],
    ),
    "what a request is known by": Scene(
        """
rules:
  - {name: token, match: {path: /token}, key: query.token, limit: 1/min}
  - {name: cookie, match: {path: /cookie}, key: cookie.session, limit: 1/min}
  - {name: item, match: {path: "/items/{id}"}, key: path.id, limit: 1/min}
  - {name: cafe, match: {path: /café}, limit: 1/min, headers: false}
""",
        [
            Step("/token?token=a%20b", rule="token", remaining=0),
            Step("/token?x=1&token=a+b", 429, rule="token", retry_after=60),
            Step("/cookie", rule="cookie", headers={"cookie": "a=1; session=s"}),
            Step("/cookie", 429, headers={"cookie": "session=s"}, retry_after=60),
            Step("/items/7", rule="item"),
            Step("/items/7", 429, rule="item", retry_after=60),
            Step("/items/8", rule="item"),
            Step("/caf%C3%A9", rule=""),
            Step("/caf%C3%A9", 429, rule="cafe", retry_after=60),
        ],
    ),
    "a HEAD is a GET without its body": Scene(
        "rules: [{name: quote, match: {method: GET, path: /quote}, limit: 1/min}]",
        [
            QUOTE._replace(method="HEAD", remaining=0),
            QUOTE._replace(method="HEAD", status=429, retry_after=60, remaining=0, body=""),
        ],
    ),
    "headers in another dialect": Scene(
        """
headers: [x-delta]
rules: [{name: quote, match: {path: /quote}, limit: 2/min, by: fixed_window}]
""",
        [
            Step("/quote", told={"x-ratelimit-remaining": "1", "x-ratelimit-reset": "60"}),
            Step("/quote", told={"x-ratelimit-remaining": "0", "x-ratelimit-limit": "2"}),
            Step("/quote", 429, told={"x-ratelimit-remaining": "0"}, retry_after=60),
        ],
    ),
}
