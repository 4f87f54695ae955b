"""Problem: how a no is said over HTTP, to programs (RFC 9457) and to people.

| kind | status | type of the problem |
| --- | --- | --- |
| `quota` | 429: you did too much | `...http-problem-types#quota-exceeded` |
| `abnormal` | 429: and you make a habit of it | `...http-problem-types#abnormal-usage-detected` |
| `funds` | 429: too much, with part of it done | `urn:headgate:problem:funds-exhausted` |
| `capacity` | 503: we cannot now | `...http-problem-types#temporary-reduced-capacity` |
| `unavailable` | 503: nobody knows | `urn:headgate:problem:limiter-unavailable` |
| `denied` | 403: never | `urn:headgate:problem:denied` |

What is no URN is of draft-ietf-httpapi-ratelimit-headers. A quota that a request can never fit is a
429 without `Retry-After`, and `"permanent": true`; if it is the body that is too large, a 413. What
was exhausted midway has no `Retry-After` either, though its body says when there is more: programs
that see one begin again by themselves, and part of it is done. None of it is to be stored by a
cache, and no key is in any of it.
"""

from __future__ import annotations

from functools import lru_cache
from html import escape
from json.encoder import encode_basestring_ascii as quoted
from math import ceil, inf
from typing import NamedTuple

Answer = tuple[int, list[tuple[bytes, bytes]], bytes]

DRAFT = "https://iana.org/assignments/http-problem-types#"
OWN = "urn:headgate:problem:"


class Kind(NamedTuple):
    """What refusals of a kind have in common."""

    status: int
    type: str
    title: str


KINDS = {
    "quota": Kind(429, DRAFT + "quota-exceeded", "Quota Exceeded"),
    "abnormal": Kind(429, DRAFT + "abnormal-usage-detected", "Abnormal Usage Detected"),
    "funds": Kind(429, OWN + "funds-exhausted", "Funds Exhausted Midway"),
    "capacity": Kind(503, DRAFT + "temporary-reduced-capacity", "Temporary Reduced Capacity"),
    "unavailable": Kind(503, OWN + "limiter-unavailable", "Limiter Unavailable"),
    "denied": Kind(403, OWN + "denied", "Denied"),
}


def status(kind: str, retry_after: float = 0.0, unit: str = "requests") -> int:
    """The status that fits a refusal, where no rule says another."""
    if kind == "quota" and retry_after == inf and unit == "content-bytes":
        return 413
    return known(kind).status


class Refusal(NamedTuple):
    """A no and what may be known about it.

    `policies` are the names of those that were violated. `retry_after` is in seconds, 0 where it is
    not known and infinite where waiting does not help. `instance` is the URI of this very refusal.
    """

    status: int
    kind: str
    policies: tuple[str, ...] = ()
    retry_after: float = 0.0
    detail: str = ""
    instance: str = ""

    def answer(self, accept: str = "", jitter: float = 0.0, luck: float = 0.0) -> Answer:
        """Status, headers and body, in the form that the `Accept` header asks for.

        So that those who were refused at once do not come back at once, the wait is longer by the
        share `jitter` times `luck`, a random number from 0 to 1.
        """
        wait = self.retry_after
        if jitter:
            wait *= 1.0 + jitter * luck
        kind = form(accept)
        if kind is JSON:
            body = self._json(wait)
        else:
            body = self._html(wait) if kind is HTML else self._text(wait)
        headers = [kind, (b"content-length", b"%d" % len(body)), UNSTORED]
        # Who is denied, and not until some moment, is not to come back.
        soon = self.kind != "funds" and (wait > 0.0 or self.kind != "denied")
        if wait < inf and soon:
            headers.append((b"retry-after", b"%d" % seconds(wait)))
        return self.status, headers, body

    def _json(self, wait: float) -> bytes:
        said = f"{OPENINGS.get(self.kind) or opening(self.kind)}{self.status}"
        if self.detail:
            said += f',"detail":{quoted(self.detail)}'
        if self.instance:
            said += f',"instance":{quoted(self.instance)}'
        if self.policies:
            said += f',"violated-policies":[{",".join(map(quoted, self.policies))}]'
        if wait == inf:
            said += ',"permanent":true' if self.kind == "quota" else ""
        elif wait > 0.0:
            said += f',"retry_after":{float(wait)!r}'
        return f"{said}}}".encode("ascii")

    def _text(self, wait: float) -> bytes:
        return f"{' '.join(self._sentences(wait))}\n".encode("utf-8", "replace")

    def _html(self, wait: float) -> bytes:
        title, *rest = map(escape, self._sentences(wait))
        return (
            f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
            f"<h1>{title}</h1><p>{' '.join(rest)}</p></html>\n"
        ).encode("utf-8", "replace")

    def _sentences(self, wait: float) -> list[str]:
        said = [f"{known(self.kind).title}."]
        said += [self.detail] if self.detail else []
        if 0.0 < wait < inf and not self.detail:
            said.append(f"Try again in {seconds(wait)} s.")
        return said


class Notice:
    """A refusal that is said again and again: what stays the same of it is worked out once.

    It is that of a quota under one policy, in JSON, to somebody who can come back: `answer(wait)`
    is what `Refusal.answer` gives for it, in a third of the time.
    """

    __slots__ = ("_head", "_status", "_tail")

    def __init__(self, status: int, policy: str) -> None:
        head, tail = quoted(exceeded(policy, "\0")).split("\\u0000")
        self._status = status
        self._head = f'{OPENINGS["quota"]}{status},"detail":{head}'
        self._tail = f'{tail},"violated-policies":[{quoted(policy)}],"retry_after":'

    def answer(self, wait: float) -> Answer:
        """Status, headers and body for whoever has to wait so long."""
        whole = max(1, ceil(wait))
        body = f"{self._head}{whole}{self._tail}{wait!r}}}".encode("ascii")
        length = (b"content-length", b"%d" % len(body))
        return self._status, [JSON, length, UNSTORED, (b"retry-after", b"%d" % whole)], body


def exceeded(policy: str, wait: object) -> str:
    """One sentence about a quota, and when to come back."""
    return f'Policy "{policy}" is exceeded. Retry in {wait} s.'


def seconds(wait: float) -> int:
    """A finite wait as `Retry-After` has it: whole seconds, and never none at all."""
    return max(1, ceil(wait))


def known(kind: str) -> Kind:
    if kind not in KINDS:
        raise ValueError(f"a refusal is one of {', '.join(KINDS)}, not {kind!r}")
    return KINDS[kind]


def opening(kind: str) -> str:
    """The members that are the same for every refusal of a kind, up to its status."""
    said = known(kind)
    return f'{{"type":{quoted(said.type)},"title":{quoted(said.title)},"status":'


OPENINGS = {kind: opening(kind) for kind in KINDS}
UNSTORED = (b"cache-control", b"no-store")
JSON = (b"content-type", b"application/problem+json")
TEXT = (b"content-type", b"text/plain; charset=utf-8")
HTML = (b"content-type", b"text/html; charset=utf-8")
# Of those that are equally welcome, the first is chosen. JSON is what a problem is written in, so
# who takes one takes the other.
FORMS = {
    JSON: ("application/problem+json", "application/json"),
    TEXT: ("text/plain",),
    HTML: ("text/html",),
}
# What nobody sends in earnest is not looked at, and not remembered.
LONGEST = 1000


def form(accept: str) -> tuple[bytes, bytes]:
    """The form that an `Accept` header likes best; one that is too long to look at gets JSON."""
    return preferred(accept) if len(accept) <= LONGEST else JSON


@lru_cache(maxsize=256)
def preferred(accept: str) -> tuple[bytes, bytes]:
    """The form that an `Accept` header likes best; JSON if it says nothing, text if none of them.

    A form named counts for more than one that is covered by a range such as `*/*`, so a browser
    gets HTML and curl gets JSON.
    """
    if not accept.strip():
        return JSON
    ranges = dict(filter(None, map(weighed, accept.split(","))))
    liked = {form: max(welcome(name, ranges) for name in FORMS[form]) for form in FORMS}
    best = max(FORMS, key=liked.__getitem__)
    return best if liked[best][0] > 0.0 else TEXT


def weighed(part: str) -> tuple[str, float] | None:
    """A range and its weight; None if it is none."""
    name, *parameters = part.lower().replace(" ", "").replace("\t", "").split(";")
    weight = next((text[2:] for text in parameters if text.startswith("q=")), "1")
    try:
        found = float(weight)
    except ValueError:
        return None
    return (name, found) if 0.0 <= found <= 1.0 else None


def welcome(name: str, ranges: dict[str, float]) -> tuple[float, int]:
    """The weight of a form by the closest range that covers it, and how close that is."""
    for distance, covering in enumerate((name, f"{name.partition('/')[0]}/*", "*/*")):
        if covering in ranges:
            return ranges[covering], -distance
    return 0.0, -3
