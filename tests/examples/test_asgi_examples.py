"""The examples do what they say: plain Python, and the applications behind a real server."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from headgate.rules.model.rules import Rules
from tests.adapters.asgi.serving import Site, serving

EXAMPLES = Path(__file__).parents[2] / "examples"


@contextmanager
def example(name: str) -> Iterator[Site]:
    with serving(runpy.run_path(str(EXAMPLES / name))["app"]) as site:
        yield site


def test_the_rules_are_those_that_are_described() -> None:
    rules = Rules.load(EXAMPLES / "rules.yaml")

    assert [rule.name for rule in rules.rules] == [
        "banned", "login", "api", "five-at-once", "downloads", "sockets", "overload",
    ]  # fmt: skip


def test_plain_python_says_yes_and_no() -> None:
    told = subprocess.run(
        [sys.executable, EXAMPLES / "plain.py"], capture_output=True, text=True, check=True
    )

    lines = told.stdout.splitlines()
    assert lines[:2] == ["allowed: True, left: 6", "allowed: False, again in 6 s"]
    assert lines[2].startswith("mail 10: over the limit 10/min; try again in ")
    assert lines[3:] == ["login: come in"] * 5 + ["login: refused by 'login'"]


def test_fastapi_goes_by_the_file_and_by_its_routes() -> None:
    with example("fastapi_app.py") as site:
        logins = [site.ask("/login", "POST") for _ in range(6)]
        quotes = [site.ask("/quote").status for _ in range(4)]
        reports = [site.ask("/reports", "POST") for _ in range(3)]
        searches = [site.ask("/v1/search"), site.ask("/v1/search", headers={"x-api-key": "k1"})]
        left = [json.loads(site.ask("/left").body) for _ in range(2)]

    assert [answer.status for answer in logins] == [200] * 5 + [429]
    assert logins[0].line("ratelimit").startswith('"login";r=4;t=')
    assert json.loads(logins[5].body)["violated-policies"] == ["login"]
    assert quotes == [200, 200, 200, 429]
    assert [answer.status for answer in reports] == [200, 200, 429]
    assert reports[0].line("ratelimit-policy") == '"reports:1";q=2;w=60, "reports:2";q=20;w=86400'
    assert [answer.status for answer in searches] == [403, 200]
    assert searches[1].line("ratelimit").startswith('"api:1";r=35;t=')
    assert left == [{"left": 99}, {"left": 98}]


def test_a_fourth_socket_is_refused_and_who_talks_too_much_is_told() -> None:
    with example("websocket_app.py") as site, ExitStack() as stack:
        talks = [stack.enter_context(site.socket("/chat")) for _ in range(4)]
        refusal = talks[3].refusal()
        for number in range(11):
            talks[0].say(str(number))
        heard = [talks[0].hear() for _ in range(11)]

    assert [talk.status for talk in talks] == [101, 101, 101, 429]
    assert json.loads(refusal.body)["violated-policies"] == ["sockets"]
    assert heard[:10] == [str(number) for number in range(10)]
    assert str(heard[10]).startswith("slowly: again in ")


@pytest.mark.parametrize(("plan", "slow"), [("free", True), ("vip", False)])
def test_a_download_flows_at_its_pace(plan: str, slow: bool) -> None:
    with example("download_app.py") as site:
        start = time.monotonic()
        answer = site.ask("/files/130000", headers={"x-user": "ann", "x-plan": plan})
        took = time.monotonic() - start

    assert (answer.status, len(answer.body)) == (200, 130_000)
    # The first 100 KB are there at once, the rest comes at 100 KB a second.
    assert took > 0.29 or not slow


def test_who_downloads_says_who_they_are() -> None:
    with example("download_app.py") as site:
        assert site.ask("/files/10").status == 403
