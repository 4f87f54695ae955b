"""Rules in front of a WSGI application."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from wsgiref.util import FileWrapper
from wsgiref.validate import validator

import pytest

from headgate import ManualClock
from headgate.adapters.wsgi import HeadgateMiddleware
from headgate.rules.live.gatekeeper import Gatekeeper
from headgate.rules.matching.request import Request
from headgate.rules.model.rule import Rule
from headgate.rules.model.rules import Rules
from tests.adapters.wire import called, environment

PLAIN = [("Content-Type", "text/plain")]
ONCE = Rules([Rule("once", key="client.ip", limit="1/min")])
ALONE = Rules([Rule("alone", concurrent=1)])
SLOW = Rules([Rule("slow", bandwidth="10KB/s")])
SOMEBODY = Request("GET", "/", client="203.0.113.1")


def hello(environ: Any, start: Any) -> list[bytes]:
    start("200 OK", [*PLAIN])
    return [b"hello"]


def quiet(status: str, headers: Any, exc_info: Any = None) -> Any:
    return lambda data: None


def free(middleware: HeadgateMiddleware) -> bool:
    """Whether there is a place for one more."""
    entry = middleware.keeper.enter(SOMEBODY)
    middleware.keeper.leave(entry)
    return bool(entry)


def test_a_refusal_is_answered_before_the_application_hears_of_it(clock: ManualClock) -> None:
    heard: list[str] = []

    def app(environ: Any, start: Any) -> list[bytes]:
        heard.append(environ["PATH_INFO"])
        return hello(environ, start)

    middleware = HeadgateMiddleware(app, ONCE, clock=clock)
    answers = [called(middleware, environment("GET", "/a", {})) for _ in range(2)]

    assert ([answer.status for answer in answers], heard) == ([200, 429], ["/a"])
    assert answers[1].headers == {
        "content-type": "application/problem+json",
        "content-length": str(len(answers[1].body)),
        "cache-control": "no-store",
        "retry-after": "60",
        "ratelimit-policy": '"once";q=1;w=60',
        "ratelimit": '"once";r=0;t=60',
    }


def test_headers_are_added_to_the_applications_own(clock: ManualClock) -> None:
    middleware = HeadgateMiddleware(hello, ONCE, clock=clock)

    assert called(middleware, environment("GET", "/", {})).headers == {
        "content-type": "text/plain",
        "ratelimit-policy": '"once";q=1;w=60',
        "ratelimit": '"once";r=0;t=60',
    }
    assert PLAIN == [("Content-Type", "text/plain")]


def test_the_entry_is_in_the_environ(clock: ManualClock) -> None:
    environ = environment("GET", "/", {})
    middleware = HeadgateMiddleware(hello, ONCE, clock=clock)
    called(middleware, environ)

    entry = environ["headgate.entry"]

    assert (bool(entry), entry.version, [*entry.decisions]) == (
        True, middleware.keeper.version, ["once"],
    )  # fmt: skip


def test_who_is_met_by_no_rule_gets_the_applications_answer_as_it_is() -> None:
    body = [b"hello"]
    rules = Rules([Rule("other", match={"path": "/other"}, limit="1/min")])
    middleware = HeadgateMiddleware(lambda environ, start: body, rules)

    assert middleware(environment("GET", "/", {}), quiet) is body


def test_a_head_is_refused_without_a_body(clock: ManualClock) -> None:
    middleware = HeadgateMiddleware(hello, ONCE, clock=clock)
    called(middleware, environment("HEAD", "/", {}))

    answer = called(middleware, environment("HEAD", "/", {}))

    assert (answer.status, answer.body) == (429, b"")
    assert int(answer.headers["content-length"]) > 0


@pytest.mark.parametrize(
    ("status", "line"),
    [(429, "429 Too Many Requests"), (503, "503 Service Unavailable"), (599, "599 Refused")],
)
def test_a_status_has_a_phrase(clock: ManualClock, status: int, line: str) -> None:
    rules = Rules([Rule("once", limit="1/min", over={"reject": status})])
    middleware = HeadgateMiddleware(hello, rules, clock=clock)
    called(middleware, environment("GET", "/", {}))
    lines: list[str] = []

    middleware(environment("GET", "/", {}), lambda status, headers: lines.append(status))

    assert lines == [line]


@pytest.mark.parametrize("rules", [ONCE, ALONE, SLOW, Rules()], ids=["limit", "held", "slow", "no"])
def test_the_rules_of_wsgi_are_kept_on_both_sides(clock: ManualClock, rules: Rules) -> None:
    def app(environ: Any, start: Any) -> Iterator[bytes]:
        start("200 OK", [*PLAIN])
        yield b"x" * 3000
        yield b""
        yield b"y"

    middleware = validator(HeadgateMiddleware(validator(app), rules, clock=clock))
    sent = [called(middleware, environment("GET", "/", {})) for _ in range(2)]

    assert sent[0].body == b"x" * 3000 + b"y"
    assert sent[1].status == (429 if rules is ONCE else 200)


def test_an_error_after_the_beginning_takes_the_place_of_the_answer(clock: ManualClock) -> None:
    seen: list[Any] = []

    def app(environ: Any, start: Any) -> list[bytes]:
        start("200 OK", [*PLAIN])
        try:
            raise KeyError("x")
        except KeyError:
            start("500 Oh", [*PLAIN], sys.exc_info())
        return [b"oh"]

    def start(status: str, headers: Any, exc_info: Any = None) -> Any:
        seen.append((status, exc_info and exc_info[0], [name for name, _ in headers]))

    for rules in (ONCE, Rules([Rule("failed", limit="5/min", counts={"status": 500})])):
        middleware = HeadgateMiddleware(app, rules, clock=clock)
        assert b"".join(middleware(environment("GET", "/", {}), start)) == b"oh"

    names = ["Content-Type", "ratelimit-policy", "ratelimit"]
    assert seen == [("200 OK", None, names), ("500 Oh", KeyError, names)] * 2


def test_what_a_server_raises_at_an_error_too_late_reaches_the_application() -> None:
    def app(environ: Any, start: Any) -> Iterator[bytes]:
        start("200 OK", [*PLAIN])
        yield b"x"
        try:
            raise KeyError("x")
        except KeyError:
            start("500 Oh", [*PLAIN], sys.exc_info())

    def start(status: str, headers: Any, exc_info: Any = None) -> Any:
        if exc_info:
            raise exc_info[1]

    middleware = HeadgateMiddleware(app, ALONE)
    body = iter(middleware(environment("GET", "/", {}), start))

    assert next(body) == b"x"
    with pytest.raises(KeyError):
        next(body)
    assert free(middleware)


@pytest.mark.parametrize(("rules", "took"), [(ONCE, 0.0), (ALONE, 0.0), (SLOW, 1.0)])
def test_an_application_may_write(clock: ManualClock, rules: Rules, took: float) -> None:
    written: list[bytes] = []

    def app(environ: Any, start: Any) -> list[bytes]:
        write = start("200 OK", [*PLAIN])
        write(b"x" * 20_000)
        return [b"end"] if not took else []

    middleware = HeadgateMiddleware(app, rules, clock=clock)
    rest = middleware(environment("GET", "/", {}), lambda *said: written.append)
    sent = b"".join([*written, *rest])

    assert (len(sent) >= 20_000, clock.now() / 1e6) == (True, took)


def ends() -> dict[str, Callable[[Any], object]]:
    return {
        "to its end": lambda body: [*body],
        "to its end, and closed": lambda body: ([*body], body.close()),
        "closed at once": lambda body: body.close(),
        "closed after a part": lambda body: (next(iter(body)), body.close()),
        "closed twice": lambda body: (body.close(), body.close()),
    }


@pytest.mark.parametrize("end", ends())
def test_a_place_is_given_back_when_the_answer_ends(end: str) -> None:
    def app(environ: Any, start: Any) -> Iterator[bytes]:
        start("200 OK", [*PLAIN])
        yield b"one"
        yield b"two"

    middleware = HeadgateMiddleware(app, ALONE)
    body = middleware(environment("GET", "/", {}), quiet)
    assert not free(middleware)

    ends()[end](body)

    assert free(middleware)


def test_a_place_is_given_back_once() -> None:
    middleware = HeadgateMiddleware(hello, ALONE)
    first: Any = middleware(environment("GET", "/", {}), quiet)
    assert [*first] == [b"hello"]
    second: Any = middleware(environment("GET", "/", {}), quiet)

    first.close()

    assert not free(middleware)
    second.close()
    assert free(middleware)


class Trouble:
    """A body that fails where it is told to."""

    def __init__(self, place: str) -> None:
        self.place = place

    def __iter__(self) -> Iterator[bytes]:
        self.fail("iter")
        yield b"x"
        self.fail("next")

    def close(self) -> None:
        self.fail("close")

    def fail(self, place: str) -> None:
        if place == self.place:
            raise OSError(place)


@pytest.mark.parametrize("place", ["call", "start", "iter", "next", "close"])
@pytest.mark.parametrize("rules", [ALONE, SLOW], ids=["held", "slow"])
def test_a_place_is_given_back_when_the_application_fails(
    clock: ManualClock, rules: Rules, place: str
) -> None:
    def app(environ: Any, start: Any) -> Trouble:
        body = Trouble(place)
        body.fail("call")
        start("200 OK", [*PLAIN])
        body.fail("start")
        return body

    middleware = HeadgateMiddleware(app, rules, clock=clock)
    with pytest.raises(OSError, match=place):
        called(middleware, environment("GET", "/", {}))

    assert free(middleware)


def test_a_failure_is_no_answer_and_does_not_count(clock: ManualClock) -> None:
    def app(environ: Any, start: Any) -> Iterator[bytes]:
        start("200 OK", [*PLAIN])
        yield b"x"
        raise OSError

    rules = Rules([Rule("good", limit="1/min", counts={"status": "2xx"})])
    middleware = HeadgateMiddleware(app, rules, clock=clock)
    for _ in range(3):
        with pytest.raises(OSError):
            called(middleware, environment("GET", "/", {}))

    assert free(middleware)


def test_what_an_answer_costs_is_read_from_its_headers_and_its_body(clock: ManualClock) -> None:
    def app(environ: Any, start: Any) -> Iterator[bytes]:
        start("200 OK", [("X-Units", "30")])
        yield b"x" * 60
        yield b"x" * 10

    rules = Rules(
        [
            Rule(
                "told", limit="100/min", by="fixed_window", cost={"by": "response.header.x-units"}
            ),
            Rule("sent", limit="100/min", by="fixed_window", cost={"by": "response.body"}),
        ]
    )
    middleware = HeadgateMiddleware(app, rules, clock=clock)
    called(middleware, environment("GET", "/", {}))

    entry = middleware.keeper.enter(SOMEBODY)

    assert {name: one.remaining for name, one in entry.decisions.items()} == {
        "told": 70, "sent": 30,
    }  # fmt: skip


@pytest.mark.parametrize("rules", [ONCE, ALONE, SLOW], ids=["limit", "held", "slow"])
def test_what_is_streamed_stays_so(clock: ManualClock, rules: Rules) -> None:
    made: list[int] = []

    def app(environ: Any, start: Any) -> Iterator[bytes]:
        start("200 OK", [*PLAIN])
        for number in range(3):
            made.append(number)
            yield b"%d" % number

    middleware = HeadgateMiddleware(app, rules, clock=clock)
    body = iter(middleware(environment("GET", "/", {}), quiet))

    assert [(next(body), [*made]) for _ in range(3)] == [
        (b"0", [0]), (b"1", [0, 1]), (b"2", [0, 1, 2]),
    ]  # fmt: skip


def test_an_answer_flows_evenly(clock: ManualClock) -> None:
    middleware = HeadgateMiddleware(lambda environ, start: [b"x" * 15_000], SLOW, clock=clock)
    moments = [
        (len(piece), clock.now()) for piece in middleware(environment("GET", "/", {}), quiet)
    ]

    # What the limit holds is sent at once, and from then on as much as flows in 50 ms.
    assert moments == [
        *[(500, 0)] * 20,
        *[(500, 50_000 * number) for number in range(1, 11)],
    ]


class Lent(FileWrapper):
    """A file that a server sends by itself."""


class Sealed:
    """One that is made in C, and takes no other attributes."""

    __slots__ = ("_file",)

    def __init__(self, file: Any, size: int = 8192) -> None:
        self._file = file

    def __iter__(self) -> Iterator[bytes]:
        yield self._file.read()


@pytest.mark.parametrize(
    ("rules", "wrapper", "lent"),
    [
        (ONCE, Lent, True),
        (ALONE, Lent, True),
        (ALONE, Sealed, False),
        (ALONE, partial(Lent), False),
        (SLOW, Lent, False),
        (Rules([Rule("sent", limit="50/min", cost={"by": "response.body"})]), Lent, False),
    ],
    ids=["limit", "held", "sealed", "function", "slow", "measured"],
)
def test_a_file_is_sent_by_the_server_unless_its_bytes_count(
    clock: ManualClock, rules: Rules, wrapper: Any, lent: bool
) -> None:
    made: list[Any] = []

    def app(environ: Any, start: Any) -> Any:
        start("200 OK", [*PLAIN])
        made.append(environ["wsgi.file_wrapper"](io.BytesIO(b"content")))
        return made[0]

    middleware = HeadgateMiddleware(app, rules, clock=clock)
    environ = environment("GET", "/", {}) | {"wsgi.file_wrapper": wrapper}
    body: Any = middleware(environ, quiet)

    assert (body is made[0]) is lent
    assert b"".join(body) == b"content"
    if rules is ALONE and lent:
        assert not free(middleware)
    body.close()
    if rules is not ONCE:
        assert free(middleware)
    assert wrapper is Sealed or made[0].filelike.closed


def test_user_and_plan_are_found_in_the_environ_or_as_one_says(clock: ManualClock) -> None:
    rules = Rules([Rule("quote", key="user", limit="1/min")], plans={"paid": {"quote": "2/min"}})
    said = environment("GET", "/", {}) | {"REMOTE_USER": "ann", "headgate.plan": "paid"}
    usual = HeadgateMiddleware(hello, rules, clock=clock)
    other = HeadgateMiddleware(
        hello, rules, user=lambda environ: 7, plan=lambda environ: None, clock=clock
    )

    assert [called(usual, {**said}).status for _ in range(3)] == [200, 200, 429]
    assert [called(other, {**said}).status for _ in range(2)] == [200, 429]
    assert called(usual, environment("GET", "/", {})).status == 403


def test_nobody_is_asked_who_it_is_unless_a_rule_asks(clock: ManualClock) -> None:
    def user(environ: Any) -> str:
        raise AssertionError("asked")

    rules = Rules(
        [
            Rule("all", key="client.ip", limit="5/min"),
            Rule("own", match={"path": "/own"}, key="user", limit="1/min"),
        ]
    )
    middleware = HeadgateMiddleware(hello, rules, user=user, clock=clock)

    assert called(middleware, environment("GET", "/", {})).status == 200
    with pytest.raises(AssertionError, match="asked"):
        called(middleware, environment("GET", "/own", {}))


def test_new_rules_count_from_the_next_request_on(clock: ManualClock) -> None:
    keeper = Gatekeeper(ONCE, clock=clock)
    middleware = HeadgateMiddleware(hello, keeper)
    peer = {"x-forwarded-for": "203.0.113.1"}
    called(middleware, environment("GET", "/", peer))

    keeper.change(
        Rules(
            [Rule("once", key="client.ip", limit="1/min")],
            headers="x-delta",
            client={"trusted_hops": 1},
        )
    )

    assert [called(middleware, environment("GET", "/", peer)).status for _ in range(2)] == [
        200, 429,
    ]  # fmt: skip
    assert called(middleware, environment("GET", "/", peer)).headers["x-ratelimit-reset"] == "60"


def test_rules_may_be_in_a_file(tmp_path: Any, clock: ManualClock) -> None:
    file = tmp_path / "rules.json"
    file.write_text('{"version": 1, "rules": [{"name": "once", "limit": "1/min"}]}')
    middleware = HeadgateMiddleware(hello, file, store="memory://", clock=clock)

    assert [called(middleware, environment("GET", "/", {})).status for _ in range(2)] == [200, 429]
