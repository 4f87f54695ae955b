"""Saying: what is answered, in JSON: decisions, and what was wrong with a request.

A decision is the same object everywhere. `retry_after` is null where no wait will help, for JSON
has no infinity.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from http import HTTPStatus
from json.encoder import encode_basestring_ascii as quoted
from math import inf
from typing import Any

from headgate.adapters.http.problem import JSON as PROBLEM
from headgate.adapters.http.problem import UNSTORED, seconds
from headgate.decision import Decision

Fields = list[tuple[bytes, bytes]]
Answer = tuple[int, Fields, bytes]

# As `Decision.why` has it.
NEVER = 2
JSON = (b"content-type", b"application/json")
TEXT = (b"content-type", b"text/plain; charset=utf-8")
# What each status means here that no route says more about.
DETAILS = {
    400: "The request is malformed, or servers could understand it in different ways.",
    405: "This method is not known here.",
    408: "The request took too long to arrive.",
    413: "The body is longer than is taken here.",
    414: "The target is longer than is taken here.",
    417: "Nothing but 100-continue can be expected here.",
    431: "There are more headers, or longer ones, than are taken here.",
    500: "Something is wrong with the service; its log says what.",
    501: "This method is not known here.",
}


class Trouble(Exception):
    """What was asked cannot be answered: with which status, why, and what would be right.

    `problems` are parts of a body and what is wrong with each.
    """

    def __init__(
        self,
        status: int,
        detail: str,
        fields: Sequence[tuple[bytes, bytes]] = (),
        problems: Sequence[tuple[str, str]] = (),
    ) -> None:
        super().__init__(status, detail)
        self.status = status
        self.detail = detail
        self.fields = fields
        self.problems = problems

    def answer(self) -> Answer:
        """A problem, as RFC 9457 has it."""
        said: dict[str, Any] = {
            "type": "about:blank",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.detail,
        }
        if self.problems:
            said["problems"] = [{"at": at, "says": says} for at, says in self.problems]
        body = encoded(said)
        fields = [PROBLEM, (b"content-length", b"%d" % len(body)), UNSTORED, *self.fields]
        return self.status, fields, body


def told(decision: Decision) -> bytes:
    """A decision in JSON."""
    wait = "null" if decision.why == NEVER else repr(decision.retry / 1e6)
    allowed = "true" if decision.allowed else "false"
    degraded = "true" if decision.degraded else "false"
    return (
        f'{{"allowed":{allowed},"limit":{decision.limit},"remaining":{decision.remaining},'
        f'"retry_after":{wait},"reset_after":{decision.reset / 1e6!r},'
        f'"reason":"{decision.reason}","rule":{quoted(decision.rule)},"degraded":{degraded}}}'
    ).encode("ascii")


def plain(decision: Decision) -> dict[str, Any]:
    """A decision as JSON has it, for those who add to it."""
    return {
        "allowed": decision.allowed,
        "limit": decision.limit,
        "remaining": decision.remaining,
        "retry_after": finite(decision.retry_after),
        "reset_after": decision.reset_after,
        "reason": decision.reason,
        "rule": decision.rule,
        "degraded": decision.degraded,
    }


def finite(wait: float) -> float | None:
    """A wait as JSON has it: null where it never ends."""
    return None if wait == inf else wait


def answer(said: Any, status: int = 200, fields: Sequence[tuple[bytes, bytes]] = ()) -> Answer:
    """An answer in JSON."""
    return written(encoded(said), status, fields)


def written(body: bytes, status: int = 200, fields: Sequence[tuple[bytes, bytes]] = ()) -> Answer:
    """An answer whose JSON is there already."""
    return status, [JSON, (b"content-length", b"%d" % len(body)), UNSTORED, *fields], body


def text(said: str, status: int = 200) -> Answer:
    """An answer in plain text."""
    body = said.encode("utf-8", "replace")
    return status, [TEXT, (b"content-length", b"%d" % len(body)), UNSTORED], body


def encoded(said: Any) -> bytes:
    return json.dumps(said, separators=(",", ":"), allow_nan=False).encode("ascii")


def retry(wait: float) -> Fields:
    """When to come back, as a header; nothing if that is never, or not known."""
    return [(b"retry-after", b"%d" % seconds(wait))] if 0.0 < wait < inf else []


def sentence(said: object) -> str:
    """A message of ours as a whole sentence."""
    text = str(said)
    return text if text.endswith(("?", ".")) else f"{text}."


@cache
def complaint(status: int) -> Answer:
    """The answer to what is no request, or none that can be answered."""
    return Trouble(status, DETAILS[status]).answer()
