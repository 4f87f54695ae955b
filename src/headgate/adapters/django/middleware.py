"""Middleware: the rules in front of every view of a project, under WSGI and ASGI.

    MIDDLEWARE = [
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
        "headgate.adapters.django.middleware.HeadgateMiddleware",
        ...
    ]

It stands first in the list, unless a rule asks who is signed in: then after authentication. With
`headgate.adapters.django` among `INSTALLED_APPS`, `manage.py check` looks after the settings.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.core.exceptions import ImproperlyConfigured

from headgate.adapters.django.checks import RULELESS
from headgate.adapters.django.desk import DESKS, desk, said
from headgate.adapters.django.gate import passed
from headgate.rules.live.gatekeeper import AsyncGatekeeper, Gatekeeper


class HeadgateMiddleware:
    """Asks the rules of `settings.HEADGATE` about every request, see `headgate.adapters.django`.

    What was decided is in `request.META` as `headgate.entry`. Under ASGI nothing of it holds up
    the event loop.
    """

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: Callable[[Any], Any]) -> None:
        if "RULES" not in said():
            raise ImproperlyConfigured(RULELESS)
        self.get_response = get_response
        self._kind: Any = Gatekeeper
        if iscoroutinefunction(get_response):
            self._kind = AsyncGatekeeper
            markcoroutinefunction(self)
        desk(self._kind)

    def __call__(self, request: Any) -> Any:
        found = DESKS.get(self._kind) or desk(self._kind)
        return passed(found, found.keeper, request, self.get_response)
