"""The examples, served by four workers of a real server: one limit for all of them."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.examples.workers import ask, crowd, workers


@pytest.mark.parametrize("app", ["flask_app", "django_app"])
def test_a_hundred_a_minute_are_a_hundred_a_minute(app: str) -> None:
    with workers(f"examples.{app}:app", "gunicorn", f"test-{app}") as port:
        counts = Counter(crowd(port, "/api/hello", 130))
        status, headers = ask(port, "GET", "/api/hello")
        logins = [ask(port, "POST", "/login")[0] for _ in range(7)]

    assert counts == {200: 100, 429: 30}
    assert (status, headers["content-type"]) == (429, "application/problem+json")
    assert headers["ratelimit-policy"] == '"api";q=100;w=60'
    assert 1 <= int(headers["retry-after"]) <= 60
    assert logins == [401] * 5 + [429] * 2
