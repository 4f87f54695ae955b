"""Stages: what a connection has come to."""

from __future__ import annotations

# Nobody is there yet; the client's first words are waited for, then its settings, and then calls.
NEW = 0
GREETING = 1
SETTLING = 2
OPEN = 3
# Whether it is to end: not yet; the client was asked to; what it calls now is not heard any more.
STAYING = 0
ASKED = 1
FINAL = 2
