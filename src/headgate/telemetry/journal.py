"""Journal: log lines that a machine can read, and a listener that writes down who was refused.

    handler.setFormatter(Lines())
    keeper.listen(Journal())

Each line of `Lines` is one object of JSON, whatever strangers put into it: `ts`, `level`, `logger`,
`pid` and `message` always, and whatever else goes with it; `event` names what it is about. A
`Journal` writes the first refusals of each rule in a minute, and then how many more there were:
whoever floods a service shall not flood its log as well.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import secrets
from datetime import UTC, datetime
from math import inf, isfinite
from typing import Any

from headgate.clock import Clock, SystemClock
from headgate.latch import Latch
from headgate.measures import seconds as span
from headgate.measures import whole
from headgate.rules.live.entry import Entry

logger = logging.getLogger("headgate.refusals")

# What every record has; all else was put there by whoever wrote it.
USUAL = frozenset(vars(logging.makeLogRecord({}))) | {
    "message", "asctime", "taskName", "fields", "said",
}  # fmt: skip
# Of a key or a path, this much is written.
LONGEST = 200
KEYS = ("hashed", "plain", "none")


class Lines(logging.Formatter):
    """Each record as one line of JSON.

    What stands in `extra={"fields": {...}}` of a record is told, and any other extra that it has.
    `extra={"said": ...}` is the message, for a record whose own is JSON already.
    """

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        fixed = {
            "ts": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "pid": record.process or os.getpid(),
            "message": getattr(record, "said", None) or record.getMessage(),
        }
        told = {word: one for word, one in vars(record).items() if word not in USUAL}
        told |= getattr(record, "fields", {})
        if record.exc_info:
            told["exception"] = self.formatException(record.exc_info)
        if record.stack_info:
            told["stack"] = self.formatStack(record.stack_info)
        # What everything has is what it always is.
        more = {word: plain(one) for word, one in told.items() if word not in fixed}
        return json.dumps({**fixed, **more})


def plain(value: Any) -> Any:
    """The value as JSON can say it."""
    if isinstance(value, float):
        return value if isfinite(value) else None
    if value is None or isinstance(value, (str, int)):
        return value
    if isinstance(value, dict):
        return {str(word): plain(one) for word, one in value.items()}
    return [plain(one) for one in value] if isinstance(value, (list, tuple)) else str(value)


def escaped(text: str) -> str:
    """The text with nothing in it that begins a line or moves a cursor; its own lines are indented,
    so that none of them looks like another entry.
    """
    lines = text.split("\n")
    return "\n    ".join(
        "".join(one if one.isprintable() or one == "\t" else ascii(one)[1:-1] for one in line)
        for line in lines
    )


class Journal:
    """Writes down who was refused: `keeper.listen(Journal())`.

    Of each rule the first `most` refusals in `window` seconds are written, and with the next one
    after that how many were left out. Keys are `hashed`, with a salt that is made at the start
    unless it is said, so that lines about one key can be told from others and nobody can be found
    by them; or they are `plain`, or `none`.
    """

    def __init__(
        self,
        most: int = 10,
        window: float = 60.0,
        keys: str = "hashed",
        salt: str = "",
        level: int = logging.INFO,
        clock: Clock | None = None,
    ) -> None:
        if keys not in KEYS:
            raise ValueError(f"Journal: keys is {', '.join(KEYS[:-1])} or {KEYS[-1]}, not {keys!r}")
        self._most = whole("Journal", "most", most, 1)
        self._span = span("Journal", "window", window, 0.001)
        self._keys = keys
        self._salt = salt.encode() or secrets.token_bytes(16)
        self._level = level
        self._clock: Clock = SystemClock() if clock is None else clock
        # Of each rule, when its window began, how many were refused since, and how many left out.
        self._counts: dict[str, list[int]] = {}
        self._lock = Latch()

    def __call__(self, entry: Entry) -> None:
        if entry.refusal is None:
            return
        rule = entry.rule
        with self._lock:
            written, missed = self._turn(rule, self._clock.now())
        if missed:
            self._sum(rule, missed)
        if written:
            fields = self._told(entry)
            logger.log(self._level, "refused by %s: %s", rule, fields["kind"],
                       extra={"fields": fields})  # fmt: skip

    def close(self) -> None:
        """Write how many were left out so far."""
        with self._lock:
            missed = {rule: count[2] for rule, count in self._counts.items() if count[2]}
            self._counts.clear()
        for rule, count in missed.items():
            self._sum(rule, count)

    def _turn(self, rule: str, now: int) -> tuple[bool, int]:
        # Whether this one is written, and how many of the window before were not.
        count = self._counts.setdefault(rule, [now, 0, 0])
        missed = 0
        if not 0 <= now - count[0] < self._span:
            missed = count[2]
            count[:] = [now, 0, 0]
        count[1] += 1
        if count[1] > self._most:
            count[2] += 1
            return False, 0
        return True, missed

    def _sum(self, rule: str, missed: int) -> None:
        fields = {"event": "refusals_left_out", "rule": rule, "count": missed}
        logger.log(self._level, "refused by %s: %d more were not written", rule, missed,
                   extra={"fields": fields})  # fmt: skip

    def _told(self, entry: Entry) -> dict[str, Any]:
        refusal: Any = entry.refusal
        found = {
            "event": "refused",
            "rule": entry.rule,
            "outcome": "refused",
            "kind": refusal.kind,
            "status": refusal.status,
            "retry_after": round(refusal.retry_after, 3) if refusal.retry_after < inf else None,
            "config_version": entry.version,
        }
        key = next((one.key for one in entry.passes if one.ruling.rule is refusal.rule), None)
        if key is not None and self._keys == "plain":
            found["key"] = key[:LONGEST]
        elif key is not None and self._keys == "hashed":
            digest = hashlib.blake2b(key.encode(), digest_size=8, key=self._salt[:64])
            found["key_hash"] = digest.hexdigest()
        request = entry.request
        if request is not None:
            found["method"], found["path"] = request.method[:LONGEST], request.path[:LONGEST]
        return found
