"""Flask: the rules in front of an application, and limits at its views.

    headgate = Headgate(app, "rules.yaml", user=lambda: current_user.get_id())

    @app.post("/login")
    @limit("5/min", key="client.ip")
    def login(): ...

The rules are asked when the request is known to Flask and before any view, so that `user` and
`plan` are functions without arguments that may use `request`, `session` and the like. A refusal is
answered at once. What is held is held until the answer is sent.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from headgate.adapters.annex import Annex, Terms
from headgate.adapters.arrivals import Arrival, Reception, plain
from headgate.adapters.http.dialects import Fields
from headgate.adapters.stay import Stay, lines, together
from headgate.adapters.wsgi import App, Environ, Reply, Start
from headgate.clock import Clock
from headgate.errors import MissingExtra
from headgate.rules.live.gatekeeper import Gatekeeper
from headgate.rules.live.lodge import Source
from headgate.rules.model.rules import Rules

try:
    from flask import Blueprint, Flask, Response, current_app, request
    from werkzeug.exceptions import default_exceptions
except ImportError:
    raise MissingExtra("flask") from None

Teller = Callable[[], object]
T = TypeVar("T", bound=Callable[..., Any] | Blueprint)

NAME = "headgate"
STAY = "headgate.stay"
EXEMPT = "headgate_exempt"
WAYS = ("answer", "raise")


class Headgate:
    """Puts rules in front of a Flask application: `Headgate(app, "rules.yaml")`, or `init_app`.

    `rules` are a file, a `Rules` value, or a `Gatekeeper` that others use as well; without them
    `HEADGATE_RULES` of the configuration counts, and without that only the limits at views. `user`
    says who a request is from, and `plan` what they have booked; both are asked if a rule asks.
    With `refusals="raise"` a refusal with the status of an error is raised as such, and goes
    through the application's error handlers; it has the usual answer as its `response`. What was
    decided is in `request.environ` as `headgate.entry`, and the gatekeeper is
    `app.extensions["headgate"].keeper`.
    """

    def __init__(
        self,
        app: Flask | None = None,
        rules: Source | Gatekeeper | None = None,
        store: str = "",
        user: Teller | None = None,
        plan: Teller | None = None,
        clock: Clock | None = None,
        refusals: str = "answer",
    ) -> None:
        if refusals not in WAYS:
            raise ValueError(f'Headgate: refusals is "answer" or "raise", not {refusals!r}')
        for word, ask in (("user", user), ("plan", plan)):
            if ask is not None:
                plain(word, ask)
        self._rules = rules
        self._store = store
        self._user = lambda _: user() if user else request.remote_user
        self._plan = lambda _: plan() if plan else None
        self._clock = clock
        self._refusals = refusals
        if app is not None:
            self.init_app(app)

    def init_app(self, app: Flask) -> None:
        """Put the rules in front of this application too."""
        if NAME in app.extensions:
            raise ValueError(f'Headgate: "{app.name}" has one already')
        store = self._store or app.config.get("HEADGATE_STORE", "")
        rules = app.config.get("HEADGATE_RULES", Rules()) if self._rules is None else self._rules
        keeper = rules if isinstance(rules, Gatekeeper) else Gatekeeper(rules, store, self._clock)
        annex = Annex(Gatekeeper, keeper, store, self._clock)
        reception = Reception(keeper, self._user, self._plan)
        post = app.extensions[NAME] = Post(app, keeper, annex, reception, self._refusals)
        app.before_request(post.front)
        app.wsgi_app = Porch(app.wsgi_app, reception)  # type: ignore[method-assign]


def limit(rate: Any = (), /, **fields: Any) -> Limit:
    """A limit at one view: `@limit("5/min", key="client.ip")`, with any field of a `Rule`.

    Stands below `@app.route`. The rule is called after the endpoint, unless it is given a name;
    `limit(...)(blueprint)` is one for all views of a blueprint, called after that.
    """
    return Limit(Terms(rate, fields))


def exempt(target: T) -> T:
    """A view, or all those of a blueprint, that the rules of the file are not asked about."""
    setattr(target, EXEMPT, True)
    return target


class Limit:
    """A limit, to be put at a view or a blueprint."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms

    def __call__(self, target: T) -> T:
        """The view, limited; or the blueprint, which is."""
        if isinstance(target, Blueprint):
            target.before_request(functools.partial(self._ask, target.name))
            return target

        @functools.wraps(target)
        def limited(*args: Any, **kwargs: Any) -> Any:
            answer = self._ask(request.endpoint or target.__name__)
            return current_app.ensure_sync(target)(*args, **kwargs) if answer is None else answer

        return limited  # type: ignore[return-value]

    def _ask(self, place: str) -> Response | None:
        post = current_app.extensions.get(NAME)
        if post is None:
            raise RuntimeError(f'limit: "{current_app.name}" has no Headgate; call Headgate(app)')
        return post.view(self._terms, place)  # type: ignore[no-any-return]


class Post:
    """The gatekeepers of one application, and how they are asked."""

    def __init__(
        self,
        app: Flask,
        keeper: Gatekeeper,
        annex: Annex[Gatekeeper],
        reception: Reception,
        way: str,
    ) -> None:
        self.keeper = keeper
        self.reception = reception
        self._app = app
        self._annex = annex
        self._way = way
        # The views that were met, each with whether it is exempt, by their endpoints.
        self._met: dict[str | None, tuple[Any, bool]] = {}

    def front(self) -> Response | None:
        """Ask the rules of the file about the request at hand."""
        # The request itself: `request` looks for it again with every word.
        here: Any = request
        asked = here._get_current_object()
        view = self._app.view_functions.get(asked.endpoint or "")
        known = self._met.get(asked.endpoint)
        if known is None or known[0] is not view:
            around = [view, *map(self._app.blueprints.get, asked.blueprints)]
            known = self._met[asked.endpoint] = view, any(map(exempted, around))
        return None if known[1] else self._ask(self.keeper, asked.environ)

    def view(self, terms: Terms, place: str) -> Response | None:
        """Ask the rule of a view."""
        environ = request.environ
        environ["headgate.view"] = self._annex.find(terms, place)
        return self._ask(self._annex.keeper, environ)

    def _ask(self, keeper: Gatekeeper, environ: Environ) -> Response | None:
        stay = environ.get(STAY)
        if stay is None:
            # Nobody serves this request: a test has made it up.
            return None
        arrival = stay.arrival
        if arrival is None:
            arrival = stay.arrival = Arrival(environ, self.reception.manners, environ)
        entry = environ["headgate.entry"] = keeper.enter(arrival)
        stay.add(keeper, entry)
        return None if entry.refusal is None else self._refuse(stay, arrival)

    def _refuse(self, stay: Stay, arrival: Arrival) -> Response:
        entry = together(stay.untold)
        # The answer tells of everything, and nobody needs to again.
        stay.untold.clear()
        answer = self.reception.manners.herald.answer(entry, arrival.header("accept"))
        status, fields, body = answer
        response = current_app.response_class(body, status, lines(fields))
        if self._way == "raise" and status in default_exceptions:
            raise default_exceptions[status](response=response)
        return response


class Porch:
    """Around the whole application: tells of limits, and gives back what is held."""

    def __init__(self, app: App, reception: Reception) -> None:
        self.app = app
        self._reception = reception

    def __call__(self, environ: Environ, start_response: Start) -> Any:
        reply = Reply(start_response, functools.partial(self._tell, environ))
        environ[STAY] = reply.stay
        return reply.serve(self.app, environ)

    def _tell(self, environ: Environ) -> Fields:
        untold = environ[STAY].untold
        return self._reception.manners.herald.fields(together(untold)) if untold else []


def exempted(target: Any) -> bool:
    """Whether the rules of the file are not asked about this one."""
    return bool(getattr(target, EXEMPT, False))
