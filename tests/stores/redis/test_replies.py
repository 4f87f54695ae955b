"""Replies: one that does not belong to its question is not believed, nor is its line any more."""

from __future__ import annotations

import asyncio
import threading
from itertools import count

import pytest

from headgate import StoreUnavailable
from tests.stores.redis.callers import COLOURS, Caller
from tests.stores.redis.pretender import Pretender, bulk, right

colours = pytest.mark.parametrize("colour", COLOURS)

WRONG = {
    "another nonce": lambda nonce: right(bytes(8)),
    "a nonce too late by one": lambda nonce: right((number(nonce) - 1).to_bytes(8, "little")),
    "no nonce": lambda nonce: bulk(b""),
    "half a nonce": lambda nonce: bulk(nonce[:4]),
    "an integer": lambda nonce: b":1\r\n",
    "a status": lambda nonce: b"+OK\r\n",
    "nothing": lambda nonce: b"$-1\r\n",
    "a list": lambda nonce: b"*1\r\n" + right(nonce),
    "no protocol": lambda nonce: b"HTTP/1.1 400 Bad Request\r\n\r\n",
}
# These belong to their question, and say too little.
SHORT = {
    "nothing but the nonce": bulk,
    "a decision cut short": lambda nonce: bulk(nonce + b"\0" * 24),
}


@colours
def test_a_reply_that_answers_its_question_is_believed(colour: str) -> None:
    with Pretender(right) as server, Caller(server.url, colour) as caller:
        assert caller.limiter("9/s").take("k").remaining == 3


@colours
@pytest.mark.parametrize("reply", WRONG)
def test_a_reply_that_does_not_answer_its_question_is_not_believed(colour: str, reply: str) -> None:
    with Pretender(WRONG[reply]) as server, Caller(server.url, colour) as caller:
        with pytest.raises(StoreUnavailable) as refused:
            caller.limiter("9/s").take("k")

        assert (refused.value.kind, str(refused.value)) == (
            "protocol",
            f"127.0.0.1:{server.port} sent a reply that answers another question",
        )


@colours
@pytest.mark.parametrize("reply", SHORT)
def test_a_reply_that_says_too_little_is_not_believed(colour: str, reply: str) -> None:
    with Pretender(SHORT[reply]) as server, Caller(server.url, colour) as caller:
        limiter = caller.limiter("9/s")
        with pytest.raises(StoreUnavailable) as refused:
            limiter.take("k")
        server.reply = right

        assert (refused.value.kind, limiter.take("k").remaining) == ("protocol", 3)


@colours
@pytest.mark.parametrize("reply", WRONG)
def test_the_line_that_a_wrong_reply_came_on_is_given_up(colour: str, reply: str) -> None:
    with Pretender(WRONG[reply]) as server, Caller(server.url, colour) as caller:
        limiter = caller.limiter("9/s")
        with pytest.raises(StoreUnavailable):
            limiter.take("k")
        server.reply = right

        assert limiter.take("k").remaining == 3
        assert server.connections == 2


@colours
def test_a_reply_too_many_is_not_taken_for_the_next_one(colour: str) -> None:
    def twice(nonce: bytes) -> bytes:
        left = 9 - len(decisions)
        return right(nonce, left) + right(nonce, left)

    decisions: list[object] = []
    with Pretender(twice) as server, Caller(server.url, colour) as caller:
        limiter = caller.limiter("9/s")
        for _ in range(4):
            try:
                decisions.append(limiter.take("k").remaining)
            except StoreUnavailable as refused:
                decisions.append(refused.kind)

    # It is noticed before the next question, or with it; in no case is it believed.
    assert decisions[0] == 9
    assert [9 - n for n in range(4) if decisions[n] not in ("protocol", "connection")] == [
        left for left in decisions if isinstance(left, int)
    ]
    assert server.connections >= 2


@colours
def test_one_wrong_reply_among_many_spoils_them_all(colour: str) -> None:
    turns = count()

    def sixth(nonce: bytes) -> bytes:
        return right(bytes(8) if next(turns) == 5 else nonce)

    with Pretender(sixth) as server, Caller(server.url, colour) as caller:
        limiter = caller.limiter("9/s")
        with pytest.raises(StoreUnavailable) as refused:
            limiter.take_many([f"key:{n}" for n in range(10)])

    assert refused.value.kind == "protocol"


def test_tasks_whose_replies_are_exchanged_are_told_so() -> None:
    held: list[bytes] = []

    def exchanged(nonce: bytes) -> bytes:
        held.append(nonce)
        return b"".join(map(right, reversed(held))) if len(held) == 2 else b""

    with Pretender(exchanged) as server, Caller(server.url, "async") as caller:
        limiter = caller.limiter("9/s").thing

        async def both() -> list[object]:
            asked = [limiter.take("a"), limiter.take("b")]
            return await asyncio.gather(*asked, return_exceptions=True)

        answers = caller.run(both)

    assert [getattr(answer, "kind", answer) for answer in answers] == ["protocol", "protocol"]


def test_a_reply_that_comes_too_late_meets_nobody() -> None:
    late = threading.Event()

    def slow(nonce: bytes) -> bytes:
        late.wait(30)
        return right(nonce)

    with Pretender(slow) as server, Caller(server.url, budget=0.5) as caller:
        limiter = caller.limiter("9/s")
        with pytest.raises(StoreUnavailable) as refused:
            limiter.take("k")
        late.set()
        server.reply = lambda nonce: right(nonce, 2)

        assert (refused.value.kind, limiter.take("k").remaining) == ("timeout", 2)


def number(nonce: bytes) -> int:
    return int.from_bytes(nonce, "little")
