"""What a message is answered with: the rules' decision, as variables."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from headgate import ManualClock
from headgate.service.spop import frames
from headgate.service.spop.desk import BUSY, WRONG
from tests.service.spop.speaking import SECOND, Talk, awaited, hall, message, notify, turns

NAMES = ("limited", "status", "retry_after", "remaining", "limit", "reset", "rule", "reason")
NOTHING = {**dict.fromkeys(NAMES), "limited": False, "degraded": False}
SOURCE = "192.0.2.7"
PROXIED = """\
version: 1
client: {trusted_proxies: [10.0.0.0/8], header: HEADER}
plan: header.x-plan
plans: {pro: {all: 100/min}}
rules:
  - {name: secure, match: {scheme: https}, limit: 50/min, by: fixed_window}
  - {name: all, key: client.ip, limit: 10/min, by: fixed_window}
"""
PLANS = """\
version: 1
plans: {pro: {all: 100/min}, vip: unlimited}
rules:
  - {name: all, key: user, limit: 10/min, by: fixed_window}
"""
ENDS = """\
version: 1
rules:
  - {name: places, match: {path: /places}, concurrent: 1}
  - {name: errors, match: {path: /errors}, counts: {status: 5xx}, limit: 1/min, by: fixed_window}
  - {name: fine, match: {path: /fine}, counts: {status: 2xx}, limit: 1/min, by: fixed_window}
  - {name: breaker, match: {path: /breaker}, breaker: {failures: 0.5, calls: 2, pause: 5s}}
"""
CALLERS = """\
version: 1
rules:
  - {name: mail, match: {path: /nowhere}, key: user, limit: 10/min, by: fixed_window}
  - {name: users, limit: 2/min, by: fixed_window}
service:
  callers:
    edge: {token: "a-secret-of-edge-0123456789", rules: [mail], limit: 2/min}
    shop: {token: "a-secret-of-shop-0123456789"}
"""


def told(**said: Any) -> dict[str, Any]:
    """All variables, of which those have a value that are named."""
    return {**NOTHING, **said}


def undecided(status: int) -> dict[str, Any]:
    """All variables where nobody knows: none has a value but the error."""
    return {**dict.fromkeys(NOTHING), "error": 256 + status}


@pytest.fixture
def talk(clock: ManualClock) -> Talk:
    """A conversation that has begun."""
    return Talk(hall(clock=clock)).greet()


def test_a_request_that_meets_no_rule_is_let_in(talk: Talk) -> None:
    assert talk.ask(method="GET", path="/", src=SOURCE) == NOTHING


def test_a_request_is_counted_by_the_rule_it_meets(talk: Talk) -> None:
    found = [talk.ask(method="GET", path="/api/x", src=SOURCE) for _ in range(4)]

    numbers = {"rule": "api", "limit": 3, "reset": 60}
    assert found == [
        told(remaining=2, **numbers),
        told(remaining=1, **numbers),
        told(remaining=0, **numbers),
        told(limited=True, status=429, reason="limit", retry_after=60, remaining=0, **numbers),
    ]
    assert (talk.hall.asked, talk.hall.refused) == (4, 1)


def test_seconds_are_whole_and_never_none(talk: Talk, clock: ManualClock) -> None:
    for _ in range(3):
        talk.ask(path="/api/", src=SOURCE)
    clock.advance(59.8)

    found = talk.ask(path="/api/", src=SOURCE)

    assert (found["retry_after"], found["reset"]) == (1, 1)


@pytest.mark.parametrize("source", ["192.0.2.7", "2001:db8::1", None])
def test_clients_are_counted_apart(talk: Talk, source: str | None) -> None:
    talk.ask(path="/api/", src="192.0.2.8")

    assert talk.ask(path="/api/", src=source)["remaining"] == 2
    assert talk.ask(path="/api/", src=source)["remaining"] == 1


def test_the_first_words_of_an_address_are_a_client(talk: Talk) -> None:
    talk.ask(path="/api/", src="2001:db8::1")

    assert talk.ask(path="/api/", src="2001:db8::2")["remaining"] == 1


def test_a_user_is_who_haproxy_says(talk: Talk) -> None:
    assert talk.ask(path="/users", user="ann")["remaining"] == 1
    assert talk.ask(path="/users", user="ben")["remaining"] == 1
    assert talk.ask(path="/users", user="ann")["remaining"] == 0
    assert talk.ask(path="/users", user="ann")["limited"]


def test_nobody_to_count_is_nobody(talk: Talk) -> None:
    refused = told(limited=True, status=403, reason="key", rule="users")

    assert talk.ask(path="/users") == refused
    assert talk.ask(path="/users", user=None) == refused
    assert talk.ask(path="/users", user="") == refused


def test_who_is_banned_is_not_told_to_come_back(talk: Talk) -> None:
    assert talk.ask(path="/banned") == told(
        limited=True, status=403, reason="denied", rule="banned"
    )


@pytest.mark.parametrize(
    "path", ["/api/../users", "/api/%2e%2e/users", "/a#b", "api", "http://a.example/api", "/\xe9"]
)
def test_what_servers_read_differently_is_refused(talk: Talk, path: str) -> None:
    assert talk.ask(path=path, src=SOURCE) == told(limited=True, status=400, reason="malformed")


@pytest.mark.parametrize("path", ["/api/x", "/%61pi/x", "//api//x", "/api/%78"])
def test_a_path_is_as_servers_read_it(talk: Talk, path: str) -> None:
    assert talk.ask(path=path, src=SOURCE)["rule"] == "api"


@pytest.mark.parametrize(
    "said",
    [
        {"header_x_key": "a"},
        {"headers": "host: a\r\nX-Key: a\r\n\r\n"},
        {"headers": b"\5X-Key\1a\4host\1b\0\0"},
    ],
    ids=["single", "text", "binary"],
)
def test_a_header_is_found_where_haproxy_puts_it(talk: Talk, said: dict[str, Any]) -> None:
    assert talk.ask(path="/keys", **said)["remaining"] == 0
    assert talk.ask(path="/keys", **said)["limited"]


@pytest.mark.parametrize(
    "said", [{}, {"headers": "x-key"}, {"headers": b"\5x-key"}, {"headers": 7}]
)
def test_a_header_that_is_not_there_is_not_found(talk: Talk, said: dict[str, Any]) -> None:
    assert talk.ask(path="/keys", **said)["reason"] == "key"


def test_a_rule_is_asked_by_its_name(talk: Talk) -> None:
    numbers = {"rule": "mail", "limit": 10, "reset": 60}

    assert talk.ask(rule="mail", key="ann") == told(remaining=9, **numbers)
    assert talk.ask(rule="mail", key="ann", cost=4) == told(remaining=5, **numbers)
    assert talk.ask(rule="mail", key="ann", cost="5") == told(remaining=0, **numbers)
    assert talk.ask(rule="mail", key="ben", cost=None) == told(remaining=9, **numbers)
    assert talk.ask(rule="mail", key="ann") == told(
        limited=True, status=429, reason="limit", retry_after=60, remaining=0, **numbers
    )


def test_more_than_ever_fits_is_refused_for_good(talk: Talk) -> None:
    found = talk.ask(rule="mail", key="ann", cost=11)

    assert (found["limited"], found["status"], found["reason"]) == (True, 429, "never")
    assert found["retry_after"] is None


def test_a_key_is_a_text_and_not_its_bytes() -> None:
    # HAProxy passes on bytes; who asks in another way says what they mean.
    talk = Talk(hall()).greet()
    talk.hall.teller.take("mail", "Zoë", 4)

    found = talk.say(notify(message(rule="mail", key="Zoë".encode().decode("latin-1"))))

    assert found[0][2]["remaining"] == 5


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ({"rule": "male"}, 'there is no rule "male"; did you mean mail?'),
        ({"rule": None}, 'there is no rule "";'),
        ({"rule": "banned2"}, 'there is no rule "banned2"'),
        ({"rule": "mail", "cost": -1}, "a message has a cost that is none"),
        ({"rule": "mail", "cost": "1.5"}, "a message has a cost that is none"),
        ({"rule": "mail", "cost": "9" * 5000}, "a message has a cost that is none"),
        ({"rule": "mail", "cost": True}, "a message has a cost that is none"),
    ],
)
def test_what_has_no_answer_is_an_error(
    said: dict[str, Any], line: str, caplog: pytest.LogCaptureFixture
) -> None:
    talk = Talk(hall()).greet()

    found = talk.ask(key="ann", **said)

    assert found == undecided(WRONG)
    assert line in caplog.text


@pytest.mark.parametrize(("plan", "limit"), [("", 10), (None, 10), ("pro", 100), ("vip", None)])
def test_a_plan_is_what_haproxy_says(plan: str | None, limit: int | None) -> None:
    talk = Talk(hall(PLANS)).greet()

    assert talk.ask(path="/", user="ann", plan=plan)["limit"] == limit
    assert talk.ask(rule="all", key="ben", plan=plan)["limit"] in {limit, (1 << 53) - 1}


def test_a_header_is_believed_from_proxies_alone() -> None:
    talk = Talk(hall(PROXIED.replace("HEADER", "x-forwarded-for"))).greet()
    lines = "x-forwarded-for: 203.0.113.9, 10.0.0.2\r\nx-forwarded-proto: https\r\nx-plan: pro\r\n"

    near = talk.ask(path="/", src="10.0.0.1", headers=lines, scheme="http")
    again = talk.ask(path="/", src="203.0.113.9", headers="")
    far = talk.ask(path="/", src="198.51.100.7", headers=lines)

    assert (near["limit"], near["rule"]) == (50, "secure")
    assert (again["limit"], again["remaining"]) == (10, 9)
    assert (far["limit"], far["remaining"]) == (10, 9)


def test_a_proxy_may_speak_as_the_rfc_has_it() -> None:
    talk = Talk(hall(PROXIED.replace("HEADER", "forwarded"))).greet()

    talk.ask(path="/", src="10.0.0.1", header_forwarded="for=203.0.113.9;proto=https")

    assert talk.ask(path="/", src="203.0.113.9")["remaining"] == 8
    assert talk.hall.keeper.tallies()["secure"].passed == 1


def test_a_scheme_is_what_haproxy_says() -> None:
    talk = Talk(hall(PROXIED.replace("HEADER", "x-forwarded-for"))).greet()

    talk.ask(path="/", src=SOURCE, scheme="HTTPS", headers="x-forwarded-proto: http\r\n")

    assert talk.hall.keeper.tallies()["secure"].passed == 1


@pytest.mark.parametrize("said", [{"host": "A.example:8080"}, {"header_host": "a.example"}])
def test_a_host_is_what_haproxy_says(said: dict[str, str]) -> None:
    rules = "version: 1\nrules: [{name: a, match: {host: a.example}, limit: 5/s, by: gcra}]"

    assert Talk(hall(rules)).greet().ask(path="/", **said)["rule"] == "a"


def test_arguments_and_cookies_are_read() -> None:
    rules = (
        "version: 1\nrules: [{name: a, key: [query.a, cookie.b], limit: 2/min, by: fixed_window}]"
    )
    talk = Talk(hall(rules)).greet()

    assert talk.ask(path="/", query="a=1&b=2", header_cookie="b=3")["remaining"] == 1
    assert talk.ask(path="/", query="a=1", headers="Cookie: c=1; b=3\r\n")["remaining"] == 0
    assert talk.ask(path="/", query="a=2", header_cookie="b=3")["remaining"] == 1


def test_of_several_rules_the_tightest_is_told() -> None:
    rules = (
        "version: 1\nrules:\n"
        "  - {name: wide, limit: 100/min, by: fixed_window}\n"
        "  - {name: tight, limit: 5/min, by: fixed_window}\n"
        "  - {name: tried, limit: 1/min, by: fixed_window, mode: shadow}\n"
    )
    talk = Talk(hall(rules)).greet()

    assert talk.ask(path="/")["rule"] == "tried"
    # Once it would refuse, what it says is nobody's business.
    assert talk.ask(path="/")["rule"] == "tight"


def test_messages_of_a_frame_are_answered_as_one(talk: Talk) -> None:
    request = message(path="/api/", src=SOURCE)
    mail = message(rule="mail", key="ann", cost=9)

    first = talk.answer(notify(mail, request))
    second = talk.answer(notify(request, mail, request))

    assert (first["rule"], first["remaining"]) == ("mail", 1)
    assert (second["limited"], second["rule"]) == (True, "mail")
    # What comes after a no is not asked.
    assert talk.ask(path="/api/", src=SOURCE)["remaining"] == 0


def test_an_error_counts_for_more_than_a_yes(talk: Talk) -> None:
    found = talk.answer(notify(message(path="/api/", src=SOURCE), message(rule="nobody")))

    assert found == undecided(WRONG)


def test_a_frame_without_messages_is_answered(talk: Talk) -> None:
    assert talk.say(notify()) == [(frames.ACK, b"\7\1", {})]


def test_an_answer_fits_into_the_smallest_frame() -> None:
    name = "a" * 64
    rules = f"version: 1\nrules: [{{name: {name}, limit: 1/90d, by: fixed_window}}]"
    talk = Talk(hall(rules)).greet()

    talk.agent.data_received(notify(message(), message(), mark=frames.varint((1 << 64) - 1) * 2))

    assert len(talk.line.take()) - 4 <= 256


def test_a_caller_asks_what_it_may_and_no_more(caplog: pytest.LogCaptureFixture) -> None:
    talk = Talk(hall(CALLERS), "edge").greet()
    talk.hall.house.now = 0

    assert talk.ask(rule="mail", key="ann")["remaining"] == 9
    assert talk.ask(rule="users", key="ann") == undecided(WRONG)
    assert talk.ask(path="/") == undecided(WRONG)
    assert talk.ask(rule="mail", key="ann")["remaining"] == 8
    talk.hall.house.now = 2 * SECOND
    assert talk.ask(rule="mail", key="ann") == undecided(BUSY)
    assert caplog.messages == [
        'the caller "edge" at a port of HAProxy\'s has no business with "users"',
        'the caller "edge" at a port of HAProxy\'s asks too much (1 more before)',
    ]


def test_a_caller_who_is_bound_to_nothing_asks_for_all_rules() -> None:
    talk = Talk(hall(CALLERS), "shop").greet()

    assert talk.ask(path="/")["rule"] == "users"
    assert talk.ask(rule="mail", key="ann")["remaining"] == 9


def test_who_is_a_caller_no_more_may_ask_nothing() -> None:
    talk = Talk(hall(CALLERS), "shop").greet()

    talk.hall.callers.change({})

    assert talk.ask(path="/") == undecided(WRONG)


def test_who_asks_most_is_noted() -> None:
    talk = Talk(hall()).greet()
    for _ in range(4):
        talk.ask(path="/api/", src=SOURCE)
    talk.ask(rule="mail", key="ann")

    tallies = talk.hall.keeper.tallies()
    most = {name: tallies[name].tops.most(5, 0)[0] for name in ("api", "mail")}
    assert most == {"api": [(SOURCE, 4, 0, 1)], "mail": [("ann", 1, 0, 0)]}


@awaited
async def test_how_a_request_ends_is_not_known_so_it_ends_well() -> None:
    talk = Talk(hall(ENDS)).greet()

    async def ask(path: str) -> bool | None:
        talk.agent.data_received(notify(message(path=path)))
        await turns()
        [(_, _, found)] = talk.heard()
        return found["limited"]  # type: ignore[no-any-return]

    # A place is given back at once, an error is never seen, and a breaker sees no failures.
    assert [await ask("/places") for _ in range(3)] == [False] * 3
    assert [await ask("/errors") for _ in range(3)] == [False] * 3
    assert [await ask("/breaker") for _ in range(3)] == [False] * 3
    assert [await ask("/fine") for _ in range(2)] == [False, True]


@awaited
async def test_what_goes_wrong_is_an_error(caplog: pytest.LogCaptureFixture) -> None:
    talk = Talk(hall()).greet()
    talk.hall.keeper.glance = lambda _: asyncio.sleep(0, 1 / 0)  # type: ignore[method-assign]

    with caplog.at_level(logging.ERROR):
        found = talk.ask(path="/api/")

    assert found == undecided(frames.FAILED)
    assert "ZeroDivisionError" in caplog.text
