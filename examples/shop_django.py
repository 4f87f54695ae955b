"""A shop on Django, in one file: `gunicorn --workers 4 --threads 8 examples.shop_django:app`.

Its limits are those of `shop.yaml`; the workers of one machine share the store.
"""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import django
from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.http import HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.urls import path

settings.configure(
    ALLOWED_HOSTS=["*"],
    ROOT_URLCONF=__name__,
    SECRET_KEY="not in production",
    MIDDLEWARE=["headgate.adapters.django.middleware.HeadgateMiddleware"],
    HEADGATE={
        "RULES": Path(__file__).with_name("shop.yaml"),
        "STORE": os.environ.get("HEADGATE_STORE", ""),
    },
)
django.setup()


def hello(request: HttpRequest) -> JsonResponse:
    """Say hello."""
    return JsonResponse({"hello": "world"})


def login(request: HttpRequest) -> HttpResponse:
    """Let in who knows the word."""
    known = request.GET.get("word") == "sesame"
    return HttpResponse("welcome") if known else HttpResponse("wrong", status=401)


def send(request: HttpRequest) -> HttpResponse:
    """Send one more."""
    return HttpResponse("sent")


def report(request: HttpRequest) -> StreamingHttpResponse:
    """Make a report, line by line, for as long as somebody reads it."""

    def lines() -> Iterator[str]:
        for number in range(600):
            yield f"line {number}\n"
            time.sleep(0.1)

    return StreamingHttpResponse(lines(), content_type="text/plain")


def download(request: HttpRequest, size: int) -> HttpResponse:
    """So many bytes."""
    return HttpResponse(bytes(size), content_type="application/octet-stream")


urlpatterns = [
    path("api/hello", hello),
    path("login", login),
    path("send", send),
    path("reports", report),
    path("files/<int:size>", download),
]
app = get_wsgi_application()
