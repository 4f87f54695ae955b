"""Answers that take their time: bytes flow as the rules say, and places are held as long."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from headgate import ManualClock
from headgate.adapters.asgi import HeadgateMiddleware
from headgate.rules.model.rule import Rule
from headgate.rules.model.rules import Rules
from tests.adapters.asgi.calls import HUNG_UP, REQUEST, Caller, call

# 1,000 bytes a second flow in pieces of 256, which is the least.
SLOW = Rule("downloads", bandwidth="1000B/s burst 256")
ALONE = Rule("alone", concurrent=1)
PIECE = 256


def answering(make: Callable[[], Response]) -> Starlette:
    async def answer(request: Any) -> Response:
        return make()

    return Starlette(routes=[Route("/", answer)])


def guarded(app: Any, clock: ManualClock, *rules: Rule) -> HeadgateMiddleware:
    return HeadgateMiddleware(app, Rules(rules), clock=clock)


def test_a_body_is_cut_into_pieces_that_flow_evenly(clock: ManualClock) -> None:
    body = bytes(range(256)) * 4
    moments: list[tuple[int, int]] = []
    app = guarded(answering(lambda: Response(body)), clock, SLOW)

    def tell(message: dict[str, Any]) -> None:
        if message.get("body"):
            moments.append((clock.now(), len(message["body"])))

    answer = call(app, tell=tell)

    assert answer.body == body
    assert moments == [(0, PIECE), (256_000, PIECE), (512_000, PIECE), (768_000, PIECE)]
    assert [message["more_body"] for message in answer.sent[1:]] == [True, True, True, False]


def test_what_is_left_over_is_a_piece_too(clock: ManualClock) -> None:
    answer = call(guarded(answering(lambda: Response(b"x" * 300)), clock, SLOW))

    assert [len(message["body"]) for message in answer.sent[1:]] == [256, 44]
    assert clock.now() == 44_000


def test_an_application_is_not_ahead_of_its_client_by_more_than_a_piece(
    clock: ManualClock,
) -> None:
    made: list[int] = []
    ahead: list[int] = []

    async def parts() -> AsyncIterator[bytes]:
        for _ in range(10):
            made.append(PIECE)
            yield b"x" * PIECE

    app = guarded(answering(lambda: StreamingResponse(parts())), clock, SLOW)
    caller = Caller(app, tell=lambda message: ahead.append(sum(made) - len(caller.body)))
    asyncio.run(caller())

    assert len(caller.body) == 10 * PIECE
    assert max(ahead) <= PIECE
    assert clock.now() == 9 * 256_000


def test_two_answers_to_one_key_share_what_flows(clock: ManualClock) -> None:
    app = guarded(answering(lambda: Response(b"x" * 1024)), clock, SLOW)

    async def both() -> None:
        await asyncio.gather(Caller(app)(), Caller(app)())

    asyncio.run(both())

    assert clock.now() == 7 * 256_000


def test_a_head_does_not_wait_for_bytes_that_nobody_sends(clock: ManualClock) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"x" * 5000})

    answer = call(guarded(app, clock, SLOW), method="HEAD")

    assert (len(answer.sent), clock.now()) == (2, 0)


def test_files_are_not_sent_past_who_counts_their_bytes(clock: ManualClock) -> None:
    offered: dict[str, Any] = {"http.response.pathsend": {}, "http.response.trailers": {}}
    rules = [SLOW, Rule("bytes", limit="1MB/s", cost={"by": "response.body"}), ALONE]

    seen = []
    for rule in rules:
        answer = call(guarded(answering(Response), clock, rule), extensions=dict(offered))
        seen.append(answer.scope["extensions"])

    assert seen == [{"http.response.trailers": {}}, {"http.response.trailers": {}}, offered]


def test_bytes_are_charged_when_they_are_sent(clock: ManualClock) -> None:
    rule = Rule("bytes", limit="1000B/min", cost={"by": "response.body"})
    app = guarded(answering(lambda: Response(b"x" * 900)), clock, rule)

    assert [call(app).status for _ in range(3)] == [200, 200, 429]


def test_a_place_is_held_until_the_last_byte_is_sent(clock: ManualClock) -> None:
    statuses: list[int] = []

    async def parts() -> AsyncIterator[bytes]:
        for _ in range(3):
            statuses.append((await Caller(app)()).status)
            yield b"x"

    app = guarded(answering(lambda: StreamingResponse(parts())), clock, ALONE)
    asyncio.run(Caller(app)())

    assert statuses == [503, 503, 503]
    assert inside(app) == 0


def test_what_is_done_after_the_answer_holds_no_place(clock: ManualClock) -> None:
    held: list[int] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        held.append(inside(guard))
        await send({"type": "http.response.body", "body": b"x", "more_body": True})
        held.append(inside(guard))
        await send({"type": "http.response.body", "body": b"y"})
        held.append(inside(guard))

    guard = guarded(app, clock, ALONE)
    call(guard)

    assert held == [1, 1, 0]


@pytest.mark.parametrize("early", [True, False])
def test_a_place_is_given_back_when_the_application_raises(early: bool, clock: ManualClock) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        if not early:
            await send({"type": "http.response.start", "status": 200, "headers": []})
        raise LookupError("lost")

    guard = guarded(app, clock, ALONE)

    with pytest.raises(LookupError, match="lost"):
        call(guard)
    assert inside(guard) == 0


@pytest.mark.parametrize("rules", [(ALONE,), (ALONE, SLOW)])
def test_a_place_is_given_back_when_the_task_is_cancelled(
    rules: tuple[Rule, ...], clock: ManualClock
) -> None:
    async def parts() -> AsyncIterator[bytes]:
        while True:
            yield b"x" * PIECE
            await asyncio.sleep(0)

    app = guarded(answering(lambda: StreamingResponse(parts())), clock, *rules)

    async def cancel() -> None:
        caller = Caller(app)
        task = asyncio.ensure_future(caller())
        while len(caller.body) < 3 * PIECE:
            await asyncio.sleep(0)
        assert inside(app) == 1
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel())

    assert inside(app) == 0


def test_a_stream_ends_when_its_client_goes_away(clock: ManualClock) -> None:
    async def parts() -> AsyncIterator[bytes]:
        while True:
            yield b"x" * PIECE

    app = guarded(answering(lambda: StreamingResponse(parts())), clock, ALONE, SLOW)

    caller = call(app, enough=lambda: clock.now() > 10_000_000)

    assert clock.now() < 11_000_000
    assert len(caller.body) < 11_000 + 2 * PIECE
    assert inside(app) == 0


@pytest.mark.parametrize("says", [(REQUEST,), ()])
def test_a_large_body_ends_when_its_client_goes_away(
    says: tuple[dict[str, Any], ...], clock: ManualClock
) -> None:
    app = guarded(answering(lambda: Response(b"x" * 10_000_000)), clock, ALONE, SLOW)

    caller = call(app, says=says, enough=lambda: clock.now() > 10_000_000)

    assert clock.now() < 11_000_000
    assert len(caller.body) < 11_000 + 2 * PIECE
    assert inside(app) == 0


def test_an_application_hears_all_that_was_said_while_it_sent(clock: ManualClock) -> None:
    heard: list[dict[str, Any]] = []
    said = (
        {"type": "http.request", "body": b"a", "more_body": True},
        {"type": "http.request", "body": b"b", "more_body": True},
        {"type": "http.request", "body": b"c", "more_body": False},
        HUNG_UP,
    )

    async def app(scope: Any, receive: Any, send: Any) -> None:
        heard.append(await receive())
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"x" * 1000, "more_body": True})
        heard.append(await receive())
        await send({"type": "http.response.body", "body": b"x" * 1000, "more_body": True})
        heard.append(await receive())
        heard.append(await receive())
        await send({"type": "http.response.body", "body": b"x" * 1000})

    call(guarded(app, clock, SLOW), says=said)

    assert heard == [*said]


def test_an_upload_that_nobody_reads_is_not_read_ahead(clock: ManualClock) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"x" * 5000})

    taken = 0

    async def upload() -> Any:
        nonlocal taken
        taken += 1
        return {"type": "http.request", "body": b"x" * 65536, "more_body": True}

    async def send(message: Any) -> None: ...

    asyncio.run(guarded(app, clock, SLOW)(Caller(app).scope, upload, send))

    assert taken == 1


def test_nobody_listens_beside_an_application_that_does(clock: ManualClock) -> None:
    listening: list[int] = [0]

    async def app(scope: Any, receive: Any, send: Any) -> None:
        listener = asyncio.ensure_future(receive())
        await asyncio.sleep(0)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"x" * 5000})
        listener.cancel()

    async def receive() -> Any:
        listening.append(listening[-1] + 1)
        await asyncio.Event().wait()

    async def send(message: Any) -> None: ...

    asyncio.run(guarded(app, clock, SLOW)(Caller(app).scope, receive, send))

    assert max(listening) == 1


def test_what_an_application_is_told_wrong_it_is_told_by_receive(clock: ManualClock) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"x" * 1000})
        with pytest.raises(ConnectionError, match="reset"):
            await receive()

    async def broken() -> Any:
        raise ConnectionError("reset")

    async def send(message: Any) -> None:
        sent.append(message)

    sent: list[Any] = []
    guard = guarded(app, clock, SLOW)
    asyncio.run(guard(Caller(app).scope, broken, send))

    assert sum(len(message.get("body", b"")) for message in sent) == 1000


def test_an_adaptive_limit_and_a_breaker_learn_from_answers(clock: ManualClock) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 500, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    rule = Rule("backend", breaker={"failures": 0.5, "calls": 3, "pause": "5s"})
    guard = guarded(app, clock, rule)

    answers = [call(guard) for _ in range(4)]

    assert [answer.status for answer in answers] == [500, 500, 500, 503]
    assert answers[3].headers[b"retry-after"] in {b"5", b"6"}


def inside(guard: HeadgateMiddleware) -> int:
    """How many places of the rule "alone" are held."""
    (ruling,) = [one for one in guard.keeper.lodge.book.rulings if one.name == "alone"]
    lane = ruling.lane("", "")
    assert lane is not None
    return int(lane.bulkhead.inside(""))
