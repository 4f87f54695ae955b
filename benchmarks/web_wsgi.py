"""Sites on Flask and Django: bare, behind Headgate, and behind each of the peers."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from typing import Any

from contestants import _quota
from web_contestants import BARE, HEADERS, OURS, PATH, Site, address, rules

DAY = 86_400
CALL = "serve(app, {**next(requests)}, start)"

Build = Callable[[int], Any]


def flask_sites() -> list[Site]:
    """Those of Flask."""
    return [
        Site(BARE, "flask", lambda _: _flask(), False),
        Site(OURS, "headgate", _headgate_flask("draft-11"), True),
        Site(f"{OURS}, no headers", "headgate", _headgate_flask("none"), False),
        Site(f"{OURS} for any WSGI", "headgate", _headgate, True),
        Site("flask-limiter", "flask-limiter", _flask_limiter(False), False),
        Site("flask-limiter, headers", "flask-limiter", _flask_limiter(True), True),
        Site("throttled-py, headers", "throttled-py", _throttled, True),
    ]


def django_sites() -> list[Site]:
    """Those of Django."""
    return [
        Site(BARE, "django", lambda _: _django(), False),
        Site(OURS, "headgate", _headgate_django, True),
        Site(f"{OURS} decorator", "headgate", _headgate_decorator, True),
        Site("django-ratelimit", "django-ratelimit", _django_ratelimit, False, 403),
    ]


def request(client: int) -> dict[str, Any]:
    """An environ."""
    return {
        "REQUEST_METHOD": "GET",
        "SCRIPT_NAME": "",
        "PATH_INFO": PATH,
        "QUERY_STRING": "",
        "REMOTE_ADDR": address(client),
        "REMOTE_PORT": "50000",
        "SERVER_NAME": "127.0.0.1",
        "SERVER_PORT": "8000",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
        **{f"HTTP_{name.upper().replace('-', '_')}": value for name, value in HEADERS.items()},
    }


def start(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> None:
    """Whatever is answered goes nowhere."""


def serve(app: Any, environ: dict[str, Any], start: Any) -> None:
    """Have a request answered to the end, as a server does."""
    body = app(environ, start)
    try:
        for _ in body:
            pass
    finally:
        if hasattr(body, "close"):
            body.close()


def answer(app: Any, client: int) -> tuple[int, list[str]]:
    """The status and the names of the headers, as one client sees them."""
    begun: list[tuple[int, list[str]]] = []

    def keep(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> None:
        begun.append((int(status[:3]), [name.lower() for name, _ in headers]))

    serve(app, request(client), keep)
    return begun[0]


def _flask(decorate: Any = lambda view: view) -> Any:
    from flask import Flask

    app = Flask("web")

    @app.get(PATH)
    @decorate
    def hello() -> str:
        return "hello"

    return app


def _headgate_flask(*dialects: str) -> Build:
    def build(limit: int) -> Any:
        from headgate.adapters.flask import Headgate

        app = _flask()
        Headgate(app, rules(limit, *dialects))
        return app

    return build


def _headgate(limit: int) -> Any:
    from headgate.adapters.wsgi import HeadgateMiddleware

    app = _flask()
    app.wsgi_app = HeadgateMiddleware(app.wsgi_app, rules(limit, "draft-11"))
    return app


def _flask_limiter(headers: bool) -> Build:
    def build(limit: int) -> Any:
        from flask_limiter import Limiter
        from flask_limiter.util import get_remote_address

        app = _flask()
        Limiter(
            get_remote_address,
            app=app,
            default_limits=[f"{limit}/day"],
            storage_uri="memory://",
            headers_enabled=headers,
        )
        return app

    return build


def _throttled(limit: int) -> Any:
    from throttled.contrib.flask import Limiter, get_remote_address

    limiter = Limiter(_quota(limit, DAY), key_func=get_remote_address)
    app = _flask(limiter.limit())
    limiter.init_app(app)
    return app


def _django(decorate: Any = lambda view: view, middleware: tuple[str, ...] = ()) -> Any:
    """A project of its own, as far as there can be several in one process."""
    _settle()
    from django.conf import settings
    from django.core.handlers.wsgi import WSGIHandler, WSGIRequest
    from django.http import HttpResponse
    from django.urls import path

    @decorate
    def hello(request: Any) -> Any:
        return HttpResponse("hello")

    settings.MIDDLEWARE = list(middleware)
    app = WSGIHandler()
    routes = type("Routes", (), {"urlpatterns": [path(PATH[1:], hello)]})
    app.request_class = type("Visit", (WSGIRequest,), {"urlconf": routes})
    return app


def _settle() -> None:
    from django.conf import settings

    if not settings.configured:
        import django

        settings.configure(SECRET_KEY="a benchmark's", ROOT_URLCONF="", USE_TZ=True)
        django.setup()


def _headgate_django(limit: int) -> Any:
    _rule(limit)
    return _django(middleware=("headgate.adapters.django.middleware.HeadgateMiddleware",))


def _headgate_decorator(limit: int) -> Any:
    _rule(limit)
    from headgate.adapters.django.decorator import limit as limited

    return _django(limited(f"{limit}/day", key="client.ip"))


def _rule(limit: int) -> None:
    """Give the project this limit; if it has it, nothing that was counted is forgotten."""
    _settle()
    from django.conf import settings
    from django.core.signals import setting_changed

    wanted = {"RULES": rules(limit, "draft-11")}
    if getattr(settings, "HEADGATE", None) != wanted:
        settings.HEADGATE = wanted
        setting_changed.send(sender=None, setting="HEADGATE", value=wanted, enter=True)


def _django_ratelimit(limit: int) -> Any:
    from django_ratelimit.decorators import ratelimit

    return _django(ratelimit(key="ip", rate=f"{limit}/d"))
