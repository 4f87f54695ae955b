"""Phases: what a client's connection is doing. Each has a deadline of its own."""

from __future__ import annotations

# Between requests; reading a head; reading a body.
IDLE = 0
HEAD = 1
BODY = 2
# A request is whole: nothing of the answer is sent; some of it is.
WAITING = 3
ANSWERING = 4
# Bytes are passed on as they are; what comes is not listened to any more.
TUNNEL = 5
LINGERING = 6
