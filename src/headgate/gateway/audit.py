"""Audit: a line for every request that was refused, so that one can tell afterwards why.

Whoever floods a gateway shall not flood its log as well: there are only so many lines a second, and
the next one says how many were left out.
"""

from __future__ import annotations

import itertools
import json
import logging
import secrets
import sys
from contextlib import suppress
from datetime import UTC, datetime
from typing import IO, Any

from headgate.clock import Clock
from headgate.explain.record import record
from headgate.limiter import Limiter
from headgate.rules.live.entry import Entry
from headgate.telemetry.docket import Docket

logger = logging.getLogger("headgate.audit")


class Audit:
    """Writes a line of JSON for a refusal, to a file or the logger."""

    def __init__(self, terms: Any, clock: Clock, docket: Docket | None = None) -> None:
        self.terms = terms
        self._docket = docket
        self._clock = clock
        self._limiter = None if terms.rate.unlimited else Limiter(terms.rate, clock=clock)
        self._numbers = itertools.count(1)
        # No other process, and none after a restart, gives the same names.
        self._prefix = secrets.token_hex(5)
        self._suppressed = 0
        self._file = opened(terms.file)

    def name(self) -> str:
        """A name for a decision, which no other has."""
        return f"{self._prefix}{next(self._numbers):06x}"

    def write(self, name: str, request: Any, entry: Entry, status: int, store: str) -> None:
        """Write the line of a decision; `store` is the URL of where it was counted."""
        if self._docket is not None:
            self._docket.enter(request, entry, name, status)
        if self._limiter is not None and not self._limiter.take(""):
            self._suppressed += 1
            return
        said = {
            "time": datetime.fromtimestamp(self._clock.now() / 1e6, UTC).isoformat(),
            "decision": name,
            **record(request, entry, status, store, self.terms.keys == "plain"),
        }
        if self._suppressed:
            said["suppressed"] = self._suppressed
            self._suppressed = 0
        self._put(said)

    def reopen(self) -> None:
        """Write to what the file's name stands for now, as after somebody has renamed the file."""
        try:
            file = opened(self.terms.file)
        except OSError as problem:
            logger.warning("the audit file cannot be opened again: %s", problem)
            return
        self.close()
        self._file = file

    def close(self) -> None:
        """Close the file."""
        if self._file is not None and self._file is not sys.stdout:
            # What could not be written before cannot be now.
            with suppress(OSError):
                self._file.close()

    def _put(self, said: dict[str, Any]) -> None:
        line = json.dumps(said)
        if self._file is None:
            # Where lines are JSON anyway, there is no other in it.
            short = f"refused by {said['rule']}: {said['kind']}"
            fields = {"event": "refused", **said}
            logger.info("%s", line, extra={"fields": fields, "said": short})
            return
        try:
            self._file.write(line + "\n")
            self._file.flush()
        except (OSError, ValueError) as problem:
            logger.warning("the audit file cannot be written: %s", problem)


def opened(name: str) -> IO[str] | None:
    """What lines are written to; nothing if the logger is to have them."""
    if name == "-":
        return sys.stdout
    return open(name, "a", encoding="utf-8", buffering=1) if name else None
