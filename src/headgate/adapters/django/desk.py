"""Desk: what `settings.HEADGATE` says, made ready. One for threads, and one for the event loop.

    HEADGATE = {"RULES": BASE_DIR / "rules.yaml", "STORE": "shared://web"}

`RULES` are a file, a URL, a `Rules` value or a gatekeeper, and `STORE` is where what was counted is
kept. With `WATCH`, new rules come into force within so many seconds.
`USER` and `PLAN` are functions of the request, or their dotted names, that say who it is from and
what they have booked; they may be async. `SCOPES` are rules for `HeadgateThrottle`, by name.
`CLOCK` is for tests.

Without `USER` it is the key of `request.user`, looked up when a rule asks for it. So that it is
there for the rules of the middleware, `AuthenticationMiddleware` comes before that; if it comes
later, the request fails with an error that says so. Without `PLAN` it is `request.plan`, if
something has put one there.

With `headgate.adapters.django` among `INSTALLED_APPS`, `manage.py check` reports what is wrong with
all that: `headgate.E001` a word that means nothing, `E002` rules that are missing or bad, `E003` a
store that cannot be, `E004` a user or plan that is no function, `E005` a bad `HEADGATE_ENABLED`.

The gatekeepers are `desk(Gatekeeper).keeper`, and `desk(AsyncGatekeeper).keeper` under ASGI.
`change`, `reset` and `enable` are for both of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, Generic, TypeVar

from asgiref.sync import async_to_sync, iscoroutinefunction, sync_to_async
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.signals import setting_changed
from django.utils.module_loading import import_string

from headgate.adapters.annex import Annex, Terms
from headgate.adapters.arrivals import Arrival, Finder, Manners, Reception, text
from headgate.rules.live.gatekeeper import AsyncGatekeeper, Gatekeeper
from headgate.rules.live.lodge import Source, read
from headgate.rules.model.rules import Rules

K = TypeVar("K", Gatekeeper, AsyncGatekeeper)

WORDS = ("RULES", "STORE", "WATCH", "USER", "PLAN", "SCOPES", "CLOCK")
NOBODY = (
    "a rule asks for the user, and the request has none yet; in MIDDLEWARE, put "
    'AuthenticationMiddleware before HeadgateMiddleware, or say HEADGATE["USER"]'
)


def desk(kind: type[K]) -> Desk[K]:
    """The desk for gatekeepers of this kind, as the settings have it now."""
    found: Desk[K] = DESKS.get(kind) or DESKS.setdefault(kind, Desk(kind, said()))
    return found


def change(rules: Source) -> Rules:
    """Go by other rules from now on; raises, and changes nothing, if they are bad."""
    found = read(rules)
    desk(Gatekeeper).keeper.change(found)
    desk(AsyncGatekeeper).keeper.change(found)
    return found


def reset() -> None:
    """Forget what was counted in memory, at views too, so that a test begins with full quotas."""
    desk(Gatekeeper).keeper.lodge.reset()
    desk(AsyncGatekeeper).keeper.lodge.reset()


def enable(wanted: bool) -> None:
    """Ask rules from now on, or let everybody in."""
    desk(Gatekeeper).keeper.enabled = wanted
    desk(AsyncGatekeeper).keeper.enabled = wanted


def said() -> Mapping[str, Any]:
    """The settings, if there is no word among them that means nothing."""
    found: Mapping[str, Any] = getattr(settings, "HEADGATE", {})
    if not isinstance(found, Mapping):
        raise ImproperlyConfigured(f"HEADGATE is a dict, not {found!r}")
    for word in found:
        if word not in WORDS:
            close = get_close_matches(str(word).upper(), WORDS, 1) or [", ".join(WORDS)]
            raise ImproperlyConfigured(f'HEADGATE: there is no "{word}"; try {close[0]}')
    return found


class Desk(Generic[K]):
    """The gatekeepers of a project in one colour, and how requests are read for them."""

    def __init__(self, kind: type[K], said: Mapping[str, Any]) -> None:
        store, clock, rules = said.get("STORE", ""), said.get("CLOCK"), said.get("RULES", Rules())
        if isinstance(rules, (Gatekeeper, AsyncGatekeeper)) and not isinstance(rules, kind):
            rules = rules.rules
        self.awaited = kind is AsyncGatekeeper
        watch = said.get("WATCH", 0.0)
        self.keeper: K = rules if isinstance(rules, kind) else kind(rules, store, clock, watch)
        self.annex: Annex[K] = Annex(kind, self.keeper, store, clock)
        # What was read of views that say their rules themselves, by where they are.
        self.noted: dict[str, list[Terms]] = {}
        self._finders = {
            "user": named(said.get("USER", signed)),
            "plan": named(said.get("PLAN", booked)),
        }
        self.reception = Reception(self.keeper, self._asking("user"), self._asking("plan"))

    async def find(self, word: str, request: Any) -> object:
        """Who it is, or what they have booked, found out without holding up the event loop."""
        find = self._finders[word]
        if find is signed and hasattr(request, "auser"):
            return identity(await request.auser())
        return await (find if iscoroutinefunction(find) else sync_to_async(find))(request)

    def _asking(self, word: str) -> Finder:
        find = self._finders[word]
        if not self.awaited:
            return async_to_sync(find) if iscoroutinefunction(find) else find

        def ask(request: Any) -> object:
            raise Question(word)

        return ask


class Question(Exception):
    """A rule asks for something that takes time to find out; one finds it out and asks again."""

    def __init__(self, word: str) -> None:
        super().__init__(word)
        self.word = word


class Visitor(Arrival):
    """A request as Django has it."""

    __slots__ = ()

    def __init__(self, request: Any, manners: Manners) -> None:
        self.environ = request.META
        self.source = request
        self.manners = manners
        self.method = request.method
        self.path = request.path

    @property
    def scheme(self) -> str:  # type: ignore[override]
        """The scheme, such as https."""
        return str(self.source.scheme)

    def answer(self, word: str, found: object) -> None:
        """Have an answer ready for when it is asked for."""
        setattr(self, f"_{word}", text(found, word))


def named(find: Any) -> Finder:
    """A function, or that of a dotted name."""
    return import_string(find) if isinstance(find, str) else find  # type: ignore[no-any-return]


def signed(request: Any) -> object:
    """Who is signed in, as Django's own authentication has it."""
    if not hasattr(request, "user"):
        raise ImproperlyConfigured(NOBODY)
    return identity(request.user)


def identity(user: Any) -> object:
    """What tells users apart; nothing if nobody is signed in."""
    return user.pk if getattr(user, "is_authenticated", False) else None


def booked(request: Any) -> object:
    """The plan, where another middleware has put it."""
    return getattr(request, "plan", None)


def forget(*, setting: str, **_: Any) -> None:
    """Begin anew when a test has other settings."""
    if setting == "HEADGATE":
        for found in DESKS.values():
            if found.keeper.watcher is not None:
                found.keeper.watcher.close()
        DESKS.clear()


DESKS: dict[type, Any] = {}
setting_changed.connect(forget)
