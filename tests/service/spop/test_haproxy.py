"""The real HAProxy, configured as in `deploy/haproxy/`, asks and does as it is told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from headgate.rules import Rules
from tests.servers.fixtures import running
from tests.servers.locked import Notary
from tests.servers.waiting import until
from tests.service.spop.serving import CLOSED, Front

HASTY = {"processing 100ms": "processing 500ms", "hello 500ms": "hello 500ms"}
# It looks often, and gives each look some time.
WATCHFUL = {"inter 2s": "inter 1s fastinter 50ms downinter 50ms"}
SHUT = {CLOSED: CLOSED.removeprefix("# ")}
NAMED = {
    "messages    check-request": "messages    check-request take-login",
    "# spoe-message take-login": "spoe-message take-login",
    "#     args rule": "    args rule",
    "#     event on-frontend-http-request if": "    event on-frontend-http-request if",
}
Stand = Callable[..., Front]


@pytest.fixture
def stand() -> Iterator[Stand]:
    """Stands an HAProxy in front of an agent, with these changes to its configuration."""
    ends: list[Iterator[Front]] = []

    def begin(changes: dict[str, str], tls: dict[str, str] | None = None) -> Front:
        ends.append(running(lambda: Front(changes, tls)))
        return next(ends[-1])

    yield begin
    for end in ends:
        next(end, None)


@pytest.fixture
def front(stand: Stand) -> Front:
    """An HAProxy with the configuration as it is."""
    return stand({})


def test_a_request_goes_in_and_is_told_how_the_limit_stands(front: Front) -> None:
    answer = front.ask("/api/a?b=c")

    assert (answer.status, answer.body) == (200, "/api/a?b=c")
    assert answer.headers["ratelimit"] == '"api";r=2;t=60'


def test_at_the_limit_it_is_told_when_to_come_back(front: Front) -> None:
    assert front.statuses("/api/", 3) == [200] * 3
    answer = front.ask("/api/")

    assert (answer.status, answer.body) == (429, "Try again in 60 s.\n")
    assert answer.headers["retry-after"] == "60"
    assert answer.headers["ratelimit"] == '"api";r=0;t=60'


def test_what_no_rule_is_about_goes_in_untold(front: Front) -> None:
    answer = front.ask("/other")

    assert answer.status == 200
    assert "ratelimit" not in answer.headers


@pytest.mark.parametrize("path", ["/api/../banned", "/%2e%2e/api", "/a/..;/b"])
def test_what_servers_read_differently_does_not_go_in(front: Front, path: str) -> None:
    assert front.ask(path).status == 400


def test_a_no_has_the_status_of_its_rule(front: Front) -> None:
    assert front.ask("/banned").status == 403
    # Nobody to count.
    assert front.ask("/keys").status == 403
    assert front.statuses("/busy", 1) == [200]
    busy = front.ask("/busy")
    assert (busy.status, busy.headers["retry-after"]) == (503, "60")
    # What never goes in has no time to come back at.
    never = front.ask("/none")
    assert never.status == 429
    assert "retry-after" not in never.headers


def test_headers_cookies_arguments_and_hosts_are_seen(front: Front) -> None:
    assert front.statuses("/keys", 2, X_Key="a") == [200, 429]
    assert front.statuses("/keys", 2, x_key="b") == [200, 429]
    assert front.statuses("/cookies", 2, Cookie="x=y; id=1") == [200, 429]
    assert front.statuses("/queries?a=1&b=2", 2) == [200, 429]
    assert front.statuses("/", 2, Host="A.example:80") == [200, 429]
    # An escaped path is the same path.
    assert front.statuses("/%61pi/x", 4) == [200] * 3 + [429]


def test_a_client_behind_a_proxy_is_who_that_says(front: Front) -> None:
    assert front.statuses("/clients", 2, X_Forwarded_For="192.0.2.7, 198.51.100.1") == [200, 429]
    assert front.statuses("/clients", 1, X_Forwarded_For="192.0.2.7") == [200]


def test_a_rule_is_asked_by_its_name_besides(stand: Stand) -> None:
    front = stand(NAMED)

    assert front.ask("/login").status == 200
    assert front.ask("/login", "POST").status == 200
    assert front.ask("/login", "POST").status == 429
    assert front.ask("/login").status == 200


def test_what_is_too_large_to_be_asked_about_does_not_go_in_unasked(front: Front) -> None:
    # The host goes to the agent twice, and HAProxy's frames have 16 KB.
    assert front.ask("/api/", Host="a" * 8500).status == 431
    assert front.ask("/api/", x="a" * 12000).status == 200


def test_many_at_once_are_counted_one_by_one(front: Front) -> None:
    with ThreadPoolExecutor(16) as pool:
        found = Counter(pool.map(lambda _: front.ask("/crowd").status, range(100)))

    assert found == {200: 20, 429: 80}
    # One after the other over few connections, which stay.
    assert front.serving.hall.asked == 100
    assert front.proxy.open <= 20


def test_it_asks_over_tls(stand: Stand, notary: Notary) -> None:
    secure = f"inter 10s ssl verify required ca-file {notary.ca}"
    front = stand({"inter 2s": secure}, notary.tls)

    assert front.statuses("/api/", 4) == [200] * 3 + [429]
    front.serving.retire()
    until(lambda: not front.serving.hall.guests, "HAProxy to leave")


def test_while_the_agent_is_gone_everybody_goes_in(stand: Stand) -> None:
    front = stand(WATCHFUL)
    assert front.statuses("/api/", 4) == [200] * 3 + [429]
    front.serving.close()
    front.missed()

    assert front.statuses("/api/", 2) == [200] * 2

    front.renew()
    front.settled()
    assert front.statuses("/api/", 4) == [200] * 3 + [429]


def test_where_that_is_wanted_nobody_goes_in_while_the_agent_is_gone(stand: Stand) -> None:
    front = stand({**SHUT, **WATCHFUL})
    assert front.statuses("/api/", 4) == [200] * 3 + [429]
    assert front.ask("/other").status == 200
    front.serving.close()
    front.missed()

    answer = front.ask("/other")

    assert (answer.status, answer.body) == (503, "Not now.")
    assert answer.headers["retry-after"] == "1"
    front.renew()
    front.settled()
    assert front.ask("/other").status == 200


def test_an_agent_that_dies_unnoticed_is_not_waited_for(stand: Stand) -> None:
    front = stand({**HASTY, **SHUT})
    until(lambda: front.ask("/other").status == 200, "the agent to be asked")
    front.proxy.reject()

    assert front.ask("/other").status == 503


@pytest.mark.parametrize(("changes", "status"), [(HASTY, 200), ({**HASTY, **SHUT}, 503)])
def test_an_agent_that_hangs_is_not_waited_for(
    stand: Stand, changes: dict[str, str], status: int
) -> None:
    front = stand(changes)
    front.ask("/other")
    front.proxy.blackhole()

    assert front.statuses("/banned", 2) == [status] * 2

    front.proxy.heal()
    front.settled()
    until(lambda: front.ask("/banned").status == 403, "the agent to be asked again")


def test_an_answer_that_comes_late_is_nobody_elses(stand: Stand) -> None:
    front = stand({**HASTY, **SHUT})
    front.ask("/other")
    front.proxy.latency(0.9)

    assert front.statuses("/banned", 2) == [503] * 2

    front.proxy.heal()
    # Whatever comes now is about requests that are over.
    found = {path: {*front.statuses(path, 5)} for path in ("/other", "/banned")}
    assert found["/other"] <= {200, 503}
    assert found["/banned"] <= {403, 503}
    until(lambda: front.ask("/other").status == 200, "the agent to be asked again")
    until(lambda: front.ask("/banned").status == 403, "the agent to be asked again")


def test_an_agent_that_takes_leave_is_followed_by_the_next(stand: Stand) -> None:
    front = stand(SHUT)
    assert front.statuses("/api/", 4) == [200] * 3 + [429]
    last = front.serving

    front.renew()
    last.retire()
    until(lambda: not last.hall.guests, "HAProxy to leave")
    # The proxy between them may pass the end of the last connection on a moment later.
    until(lambda: front.ask("/other").status == 200, "HAProxy to turn to the next agent")

    assert front.statuses("/api/", 4) == [200] * 3 + [429]
    last.close()
    assert front.ask("/api/").status == 429


def test_other_rules_hold_from_the_next_request_on(front: Front) -> None:
    assert front.ask("/other").status == 200

    rules = Rules.read("version: 1\nrules: [{name: shut, deny: {status: 403}}]")
    front.serving.run(lambda: front.serving.hall.keeper.change(rules))

    assert front.ask("/other").status == 403
