"""Complaints: what a gateway answers in its own name, where nobody else can."""

from __future__ import annotations

from functools import cache
from http import HTTPStatus

from headgate.adapters.http import problem

# What each status means here, to whoever reads it.
DETAILS = {
    400: "The request is malformed, or servers could understand it in different ways.",
    404: "No route leads there.",
    405: "This method is not passed on.",
    408: "The request took too long to arrive.",
    413: "The body is longer than is taken here.",
    414: "The target is longer than is taken here.",
    417: "Nothing but 100-continue can be expected here.",
    431: "There are more headers, or longer ones, than are taken here.",
    501: "This method is not known here.",
    502: "The server behind the gateway did not give an answer.",
    503: "No server behind the gateway can take the request now.",
    504: "The server behind the gateway took too long.",
}


@cache
def complaint(status: int) -> tuple[list[tuple[bytes, bytes]], bytes]:
    """The headers and the body of the gateway's own answer with this status."""
    title = HTTPStatus(status).phrase
    detail = DETAILS[status]
    body = f'{{"type":"about:blank","title":"{title}","status":{status},"detail":"{detail}"}}'
    content = body.encode("ascii")
    return [
        (b"content-type", b"application/problem+json"),
        (b"content-length", b"%d" % len(content)),
        problem.UNSTORED,
    ], content
