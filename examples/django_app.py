"""A Django project in one file, behind rules: `gunicorn --workers 4 examples.django_app:app`.

The same limits as in `flask_app.py`, with the same answers.
"""

import os

import django
from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import path

from headgate.adapters.django.decorator import limit
from headgate.rules import Rule, Rules

settings.configure(
    ALLOWED_HOSTS=["*"],
    ROOT_URLCONF=__name__,
    SECRET_KEY="not in production",
    MIDDLEWARE=["headgate.adapters.django.middleware.HeadgateMiddleware"],
    HEADGATE={
        "RULES": Rules(
            [
                Rule(
                    "api",
                    match={"path": "/api/**"},
                    key="client.ip",
                    limit="100/min",
                    by="sliding_log",
                ),
                Rule("banned", match={"client.ip": "203.0.113.0/24"}, deny=True),
            ],
            store=os.environ.get("HEADGATE_STORE", "shared://django-example"),
        )
    },
)
django.setup()


def hello(request: HttpRequest) -> JsonResponse:
    """Say hello, a hundred times a minute."""
    return JsonResponse({"hello": "world"})


@limit("5/min", key="client.ip", counts={"status": 401})
def login(request: HttpRequest) -> HttpResponse:
    """Let nobody in: five of these a minute."""
    return HttpResponse("wrong password", status=401)


urlpatterns = [path("api/hello", hello), path("login", login)]
app = get_wsgi_application()
