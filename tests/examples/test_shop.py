"""One rule file in front of three apps, each served by several workers of a real server.

The same requests get the same answers from each, whichever worker it is that answers.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from typing import NamedTuple

import pytest

from tests.examples.workers import SHOPS, ask, asking, crowd, shop
from tests.servers.waiting import until


class Step(NamedTuple):
    """A request, so many times, and the statuses of the answers."""

    method: str
    path: str
    headers: dict[str, str]
    statuses: list[int]
    policy: str = ""


def by(client: str, **headers: str) -> dict[str, str]:
    return {"x_forwarded_for": client, **headers}


LOGIN, MARKETING = '"login";q=5;w=60', '"marketing";q=5;w=86400'
TABLE = [
    # Five wrong passwords, and not even the right one after that; right ones do not count.
    Step("POST", "/login?word=sesame", by("192.0.2.1"), [200] * 7, LOGIN),
    Step("POST", "/login", by("192.0.2.1"), [401] * 5 + [429] * 2, LOGIN),
    Step("POST", "/login?word=sesame", by("192.0.2.1"), [429], LOGIN),
    Step("POST", "/login", by("192.0.2.2"), [401], LOGIN),
    # Who says that others came before it is not believed beyond the first that is not a proxy.
    Step("POST", "/login", by("192.0.2.9, 192.0.2.1"), [429], LOGIN),
    # Five messages a day, for each who sends; nobody is nobody.
    Step("POST", "/send", by("192.0.2.1", x_user="ann"), [200] * 5 + [429], MARKETING),
    Step("POST", "/send", by("192.0.2.1", x_user="bob"), [200], MARKETING),
    Step("POST", "/send", by("192.0.2.1"), [403]),
    # A network that is banned is banned from everything.
    Step("GET", "/api/hello", by("203.0.113.9"), [403]),
    Step("POST", "/login?word=sesame", by("203.0.113.200"), [403]),
    Step("GET", "/nowhere", by("203.0.113.9"), [403]),
    Step("GET", "/nowhere", by("192.0.2.1"), [404]),
]  # fmt: skip


@pytest.fixture(scope="module", params=SHOPS)
def port(request: pytest.FixtureRequest) -> Iterator[int]:
    with shop(request.param, f"test-shop-{request.param}") as port:
        yield port


def test_the_same_requests_get_the_same_answers(port: int) -> None:
    found = []
    for method, path, headers, statuses, _ in TABLE:
        heard = [ask(port, method, path, **headers) for _ in statuses]
        policy = heard[-1].headers.get("ratelimit-policy", "")
        found.append(Step(method, path, headers, [one.status for one in heard], policy))

    assert found == TABLE


def test_a_hundred_a_minute_are_a_hundred_a_minute(port: int) -> None:
    counts = Counter(crowd(port, "/api/hello", 130, **by("192.0.2.3")))
    refused = ask(port, "GET", "/api/hello", **by("192.0.2.3"))

    assert counts == {200: 100, 429: 30}
    assert refused.headers["content-type"] == "application/problem+json"
    assert refused.headers["ratelimit-policy"] == '"api";q=100;w=60'
    assert json.loads(refused.body)["violated-policies"] == ["api"]
    assert 1 <= int(refused.headers["retry-after"]) <= 60


def test_five_reports_at_once_and_the_next_when_one_is_read_no_more(port: int) -> None:
    def more() -> bool:
        with asking(port, "GET", "/reports", x_user="ann") as answer:
            return answer.status == 200

    with ExitStack() as readers:
        inside = [
            readers.enter_context(asking(port, "GET", "/reports", x_user="ann")) for _ in range(5)
        ]
        lines = [answer.readline() for answer in inside]
        sixth = ask(port, "GET", "/reports", x_user="ann").status
        with asking(port, "GET", "/reports", x_user="bob") as answer:
            other = answer.status

    assert lines == [b"line 0\n"] * 5
    assert (sixth, other) == (429, 200)
    # Those who read no more have gone; a server notices with the next line.
    until(more, "a report to be given up")


@pytest.mark.parametrize(("plan", "slow"), [("", True), ("member", False)])
def test_a_download_flows_at_its_pace(port: int, plan: str, slow: bool) -> None:
    start = time.monotonic()
    answer = ask(port, "GET", "/files/130000", x_user=f"ann{plan}", x_plan=plan)
    took = time.monotonic() - start

    assert (answer.status, len(answer.body)) == (200, 130_000)
    # The first 100 KB are there at once, the rest comes at 100 KB a second.
    assert took > 0.29 or not slow
