"""Checks: what `manage.py check` has to say about `settings.HEADGATE`, before a request comes.

Files are read, modules imported, and no server is asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register
from django.core.exceptions import ImproperlyConfigured

from headgate.adapters.django.desk import named, said
from headgate.errors import HeadgateError
from headgate.rules.live.gatekeeper import AsyncGatekeeper, Gatekeeper
from headgate.rules.live.shelf import sound
from headgate.rules.live.switch import switched
from headgate.rules.model.rules import Rules
from headgate.rules.watch.sources import FileRules, reach

MIDDLEWARE = "headgate.adapters.django.middleware.HeadgateMiddleware"
WRONG = (HeadgateError, OSError, TypeError, ValueError)
RULELESS = (
    "HeadgateMiddleware: HEADGATE has no RULES; name a file, as in "
    'HEADGATE = {"RULES": BASE_DIR / "rules.yaml"}'
)


@register("headgate")  # type: ignore[untyped-decorator]
def examine(app_configs: Any = None, **_: Any) -> list[CheckMessage]:
    """All that is wrong with the settings."""
    try:
        found = said()
    except ImproperlyConfigured as problem:
        return [Error(str(problem), id="headgate.E001")]
    return [*rules(found), *store(found), *finders(found), *switch()]


def rules(found: Mapping[str, Any]) -> Iterator[Error]:
    """Rules that are missing or bad, or say a bad store; those on a server are not asked for."""
    if "RULES" not in found:
        if MIDDLEWARE in settings.MIDDLEWARE:
            yield Error(RULELESS, id="headgate.E002")
        return
    given = found["RULES"]
    if isinstance(given, (Rules, Gatekeeper, AsyncGatekeeper)):
        return
    try:
        place = reach(given)
        if isinstance(place, FileRules):
            loaded = place.load()
            if not found.get("STORE"):
                sound(loaded.store)
    except WRONG as problem:
        yield Error(f'HEADGATE["RULES"]: {problem}', id="headgate.E002")


def store(found: Mapping[str, Any]) -> Iterator[Error]:
    """A store that cannot be."""
    try:
        if found.get("STORE"):
            sound(found["STORE"])
    except WRONG as problem:
        yield Error(f'HEADGATE["STORE"]: {problem}', id="headgate.E003")


def finders(found: Mapping[str, Any]) -> Iterator[Error]:
    """A user or plan that is no function."""
    for word in ("USER", "PLAN"):
        try:
            find = named(found[word]) if word in found else bool
        except ImportError as problem:
            yield Error(f'HEADGATE["{word}"]: {problem}', id="headgate.E004")
            continue
        if not callable(find):
            yield Error(
                f'HEADGATE["{word}"] is a function of the request, or its dotted name, '
                f"not {found[word]!r}",
                id="headgate.E004",
            )


def switch() -> Iterator[Error]:
    """A word in the environment that is neither on nor off."""
    try:
        switched()
    except ValueError as problem:
        yield Error(str(problem), id="headgate.E005")
