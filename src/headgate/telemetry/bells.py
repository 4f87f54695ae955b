"""Bells: alerts told to whoever wants to know, in a log and over HTTP.

Nobody waits for them: a webhook has a thread of its own, which tells one alert after another, and
tries again for about two minutes where nobody answers. As many as `MOST` wait for their turn; where
there are more, the oldest are left out, and the log says how many.

What is sent is JSON, and the fields below stay what they are:

    {"version": 1, "id": "6f0c...", "event": "raised", "name": "many-refused", "kind": "refused",
     "rule": "api", "severity": "warning", "value": 0.34, "threshold": 0.2,
     "since": "2026-11-19T04:00:00+00:00", "at": "2026-11-19T04:00:00+00:00",
     "source": {"host": "web-1", "serves": "gateway", "rules": "6e1f..."}, "runbook": "...",
     "text": "many-refused (api): 34% of the requests are refused (raised at 20%)"}

An alert that is raised and cleared has one `id`. Where there is a secret, the header
`Headgate-Signature: t=SECONDS,v1=HEX` has the HMAC-SHA256 of `SECONDS.BODY` under it.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import socket
import threading
from collections import deque
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from headgate.clock import Clock, SystemClock
from headgate.fork import follow
from headgate.measures import MILLION
from headgate.rules.model.alerts import Alerts, Webhook, masked
from headgate.telemetry.alerts import RAISED, Alert
from headgate.telemetry.letter import Unsent, post

logger = logging.getLogger("headgate.alerts")

LEVELS = {"info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
# How many wait for their turn, and after how many seconds one is tried again.
MOST = 100
PAUSES = (1.0, 3.0, 10.0, 30.0, 60.0)
PAGE = "runbooks.md"


class Source:
    """Whose alerts they are: on which machine, what it serves, and by which rules."""

    def __init__(self, serves: str = "library", rules: str = "", host: str = "") -> None:
        self.serves = serves
        self.rules = rules
        self.host = host or socket.gethostname()


class Bells:
    """Tells of alerts as the rules have it."""

    def __init__(
        self, terms: Alerts, source: Source | None = None, clock: Clock | None = None,
        pauses: Sequence[float] = PAUSES,
    ) -> None:  # fmt: skip
        self.source = Source() if source is None else source
        self._clock: Clock = SystemClock() if clock is None else clock
        self._pauses = pauses
        self._hooks: list[Bell] = []
        self.change(terms)

    def change(self, terms: Alerts) -> None:
        """Tell others from now on; what waits for its turn is still told to whom it was for."""
        self.terms = terms
        wanted = terms.notify.webhook
        for bell in self._hooks:
            if bell.hook not in wanted:
                bell.close(0.0)
        kept = {bell.hook: bell for bell in self._hooks if bell.hook in wanted}
        self._hooks = [kept.get(hook) or self._bell(hook) for hook in dict.fromkeys(wanted)]

    def ring(self, alerts: Iterable[Alert]) -> None:
        """Tell of these, and do not wait for it."""
        for alert in alerts:
            letter = told(alert, self.source, self.terms.runbooks, self._clock.now() / MILLION)
            self._log(alert, letter)
            for bell in self._hooks:
                bell.ring(letter)

    def close(self, seconds: float = 2.0) -> None:
        """Tell nobody any more; what waits for its turn has so many seconds."""
        for bell in self._hooks:
            bell.close(0.0)
        # All of them at once, not one after another.
        end = self._clock.now() + round(seconds * MILLION)
        for bell in self._hooks:
            bell.close(min(seconds, max(0.0, (end - self._clock.now()) / MILLION)))

    def _bell(self, hook: Webhook) -> Bell:
        return Bell(hook, self._clock, self._pauses)

    def _log(self, alert: Alert, letter: dict[str, Any]) -> None:
        if self.terms.notify.log != "none":
            level = LEVELS[self.terms.notify.log] if alert.level == RAISED else logging.INFO
            words = ("name", "kind", "rule", "severity", "value", "threshold", "runbook")
            fields = {"event": f"alert_{alert.level}", **{word: letter[word] for word in words}}
            logger.log(level, "alert %s: %s", alert.level, alert, extra={"fields": fields})


def told(alert: Alert, source: Source, runbooks: str, now: float) -> dict[str, Any]:
    """An alert as it is sent."""
    name = f"{source.host}\n{alert.name}\n{alert.rule}\n{alert.since!r}"
    return {
        "version": 1,
        "id": hashlib.blake2b(name.encode(), digest_size=8).hexdigest(),
        "event": alert.level,
        "name": alert.name,
        "kind": alert.kind,
        "rule": alert.rule,
        "severity": alert.severity,
        "value": round(alert.value, 6),
        "threshold": alert.threshold,
        "since": moment(alert.since),
        "at": moment(now),
        "source": {"host": source.host, "serves": source.serves, "rules": source.rules},
        "runbook": runbook(alert.kind, runbooks),
        "text": str(alert),
    }


def moment(seconds: float) -> str:
    """A time as RFC 3339 has it."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def runbook(kind: str, base: str) -> str:
    """Where it stands what to do."""
    return f"{base or PAGE}#{kind}"


def signature(secret: str, body: bytes, now: int) -> str:
    """What proves that it was sent by whoever has the secret, and when."""
    sealed = f"{now}.".encode() + body
    found = hmac.new(secret.encode(), sealed, hashlib.sha256).hexdigest()
    return f"t={now},v1={found}"


class Bell:
    """One webhook, and the thread that tells it."""

    _thread: threading.Thread | None

    def __init__(self, hook: Webhook, clock: Clock, pauses: Sequence[float] = PAUSES) -> None:
        self.hook = hook
        self._clock = clock
        self._pauses = pauses
        self._closing = False
        self._begin()
        follow(self, Bell._begin)

    def ring(self, letter: dict[str, Any]) -> None:
        """Have it told; what waits already is not told twice."""
        with self._turn:
            known = [(one["id"], one["event"]) for one in self._waiting]
            if self._closing or (letter["id"], letter["event"]) in known:
                return
            if len(self._waiting) >= MOST:
                self._waiting.popleft()
                self._lost += 1
            self._waiting.append(letter)
            self._turn.notify()
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="headgate-bell", daemon=True)
                self._thread.start()

    def close(self, seconds: float) -> None:
        """Tell what waits for its turn, once and for so many seconds, and then nothing more."""
        with self._turn:
            self._closing = True
            self._turn.notify()
        if self._thread is not None and seconds:
            self._thread.join(seconds)

    def _begin(self) -> None:
        # In a forked child there is no thread, and what waited is told by the parent.
        self._turn = threading.Condition()
        self._waiting: deque[dict[str, Any]] = deque()
        self._lost = 0
        self._thread = None

    def _run(self) -> None:
        while True:
            with self._turn:
                while not self._waiting and not self._closing:
                    self._turn.wait()
                if not self._waiting:
                    return
                letter, lost = self._waiting.popleft(), self._lost
                self._lost = 0
            if lost:
                logger.error("%d alerts were not told to %s", lost, masked(self.hook.url))
            self._tell(letter)

    def _tell(self, letter: dict[str, Any]) -> None:
        for pause in (*self._pauses, None):
            again = self._try(letter, None if self._closing else pause)
            if not again:
                return
            with self._turn:
                self._turn.wait_for(lambda: self._closing, pause)

    def _try(self, letter: dict[str, Any], pause: float | None) -> bool:
        # Tell it; whether to do so again, after such a pause.
        where, name = masked(self.hook.url), letter["name"]
        try:
            post(self.hook.url, *self._sealed(letter))
        except Unsent as problem:
            if pause is not None and problem.passing:
                logger.info("%s: alert %s is told again in %g s: %s", where, name, pause, problem)
                return True
            logger.warning("%s: alert %s was not told: %s", where, name, problem)
        except Exception:
            logger.exception("%s: alert %s was not told", where, name)
        return False

    def _sealed(self, letter: dict[str, Any]) -> tuple[bytes, dict[str, str]]:
        body = json.dumps(letter).encode()
        headers = {"Content-Type": "application/json", "User-Agent": "headgate"}
        if self.hook.secret:
            now = self._clock.now() // MILLION
            headers["Headgate-Signature"] = signature(self.hook.secret, body, now)
        if self.hook.token:
            headers["Authorization"] = f"Bearer {self.hook.token}"
        return body, headers
