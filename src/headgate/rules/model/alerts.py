"""Alerts: of what somebody is told, and how they are told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from headgate.rules.model.condition import Condition, Conditions, aimed
from headgate.rules.model.kinds import Listing, Misfit, Path, Plain, Report, Schema, shown
from headgate.rules.model.scalars import choice
from headgate.rules.model.secret import HIDDEN, Secret
from headgate.rules.model.table import Table, spelled, strict, told

LONGEST = 2000
# What everybody wants to know of.
USUAL = (
    Condition("many-refused", "refused"),
    Condition("near-limit", "near"),
    Condition("decided-without-store", "failed"),
    Condition("long-queue", "queue"),
    Condition("breaker-open", "breaker"),
    Condition("store-degraded", "degraded", after="10s", severity="critical"),
    Condition("slow-store", "checks"),
    Condition("funds-exhausted", "funds"),
    Condition("bad-rules", "reload"),
    Condition("worker-restarted", "restarts"),
)


class Hook:
    """The kind of a webhook's address. What follows its host may be a secret: nobody is told it."""

    says = "an address such as https://hooks.example/alerts"

    def read(self, given: Any, at: Path, report: Report) -> Any:
        """The address as it is."""
        if not isinstance(given, str):
            report.add(at, f"is {self.says}, not {shown(given)}")
        elif problem := flaw(given):
            report.add(at, f"is {self.says}; {problem}")
        return given

    def spell(self, value: Any) -> Any:
        """The address."""
        return value

    def schema(self) -> Schema:
        """In JSON Schema."""
        return {"type": "string", "pattern": r"^https?://[^\s]+$", "maxLength": LONGEST}


def flaw(url: str) -> str:
    """What is wrong with the address of a webhook, without a word of it; nothing if all is well."""
    if len(url) > LONGEST:
        return f"at most {LONGEST:,} characters"
    if not url.isascii() or not url.isprintable() or " " in url:
        return "write it in ASCII and without blanks"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return "write a host and a port as in hooks.example:8443"
    if parts.scheme not in ("http", "https"):
        return "write https:// before it"
    if not parts.hostname or port == 0:
        return "write a host, as in https://hooks.example"
    if "@" in parts.netloc:
        return "say token instead of a login"
    return "leave out what follows #" if parts.fragment else ""


def masked(url: str) -> str:
    """The address as far as its host, and a mark for the rest."""
    parts = urlsplit(url)
    bare = parts.path in ("", "/") and not parts.query
    return f"{parts.scheme}://{parts.netloc}{'' if bare else '/' + HIDDEN}"


@strict
@dataclass(frozen=True, repr=False)
class Webhook:
    """Where alerts are sent, in JSON."""

    url: Any = told(Hook(), "Where to.")
    secret: Any = told(Secret(), "Signs what is sent; it is not signed unless said here.", "")
    token: Any = told(
        Secret(), "What is shown there, as a bearer token; nothing unless said here.", ""
    )

    def hushed(self) -> Any:
        """As a rule file says it, in plain data, without its secrets."""
        said = {"secret": HIDDEN} if self.secret else {}
        said |= {"token": HIDDEN} if self.token else {}
        return {"url": masked(self.url), **said} if said else masked(self.url)

    def __repr__(self) -> str:
        found = self.hushed()
        plain = found if isinstance(found, dict) else {"url": found}
        return f"Webhook({', '.join(f'{name}={given!r}' for name, given in plain.items())})"


WEBHOOK = Table(Webhook, f"{Hook.says}, or a mapping with it", "url")


@strict
@dataclass(frozen=True, repr=False)
class Notify:
    """Who is told of alerts."""

    webhook: Any = told(Listing(WEBHOOK), "Where they are sent; nowhere unless said here.", ())
    log: Any = told(
        choice("none", "info", "warning", "error"), "As what they are logged.", "warning"
    )

    def hushed(self) -> dict[str, Any]:
        """As a rule file says it, in plain data, without its secrets."""
        plain = spelled(self)
        if self.webhook:
            found = [one.hushed() for one in self.webhook]
            plain["webhook"] = found[0] if len(found) == 1 else found
        return plain

    def __repr__(self) -> str:
        said = [f"{name}={given!r}" for name, given in self.hushed().items()]
        return f"Notify({', '.join(said)})"


NOTIFY = Table(Notify, "a mapping such as {webhook: https://hooks.example/alerts, log: warning}")


def _base(given: Any) -> str:
    problem = flaw(given) if isinstance(given, str) else ""
    if not isinstance(given, str) or problem:
        raise Misfit(f"; {problem}" if problem else "")
    return given


RUNBOOKS = Plain(
    "an address such as https://wiki.example/runbooks", _base,
    {"type": "string", "pattern": r"^https?://[^\s]+$", "maxLength": LONGEST},
)  # fmt: skip


@strict
@dataclass(frozen=True, repr=False)
class Alerts:
    """Of what somebody is told, and how. A list is its conditions, which are logged."""

    conditions: Any = told(
        Conditions(), "When somebody is told; of what is usual unless said here.", None
    )
    notify: Any = told(NOTIFY, "Who is told.", Notify())
    runbooks: Any = told(
        RUNBOOKS, "Where the page is that says what to do; alerts lead to its headings.", ""
    )

    @property
    def watched(self) -> tuple[Condition, ...]:
        """The conditions, whether they are said or usual."""
        found: tuple[Condition, ...] = USUAL if self.conditions is None else self.conditions
        return found

    @property
    def listed(self) -> bool:
        """Whether a list of conditions says all of it."""
        return self.notify == Notify() and not self.runbooks

    def hushed(self) -> Any:
        """As a rule file says it, in plain data, without its secrets."""
        plain = spelled(self)
        return {**plain, "notify": self.notify.hushed()} if "notify" in plain else plain

    def __repr__(self) -> str:
        said = [f"{name}={given!r}" for name, given in self.hushed().items()]
        return f"Alerts({', '.join(said)})"

    def aim(self, rules: Any, report: Report, at: Path) -> None:
        """Whether the rules are there that it is about."""
        aimed(self.watched, rules, report, at if self.listed else (*at, "conditions"))


ALERTS = Table(
    Alerts, "a list of conditions, or a mapping such as {notify: {log: error}}", series="conditions"
)
