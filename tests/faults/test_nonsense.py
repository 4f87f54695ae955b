"""Servers that answer nonsense: checks end in time, with an error that is ours or none at all."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable

import pytest

from headgate import FixedWindow, ManualClock, StoreUnavailable, TokenBucket
from tests.faults.caller import COLOURS, Call, Caller
from tests.faults.impostor import Answer, Impostor, bulk, nonce
from tests.pairs import pairs

LIMIT = TokenBucket("10 per 1000day")
YES = struct.pack("<Bqqq", 0, 0, 9, 0)


def script(body: bytes) -> Answer:
    """An answer that begins with the nonce and goes on as `body`."""
    return lambda words: bulk(nonce(words) + body)


def plain(reply: bytes | None) -> Answer:
    """The same to everybody."""
    return lambda words: reply


NONSENSE: dict[str, Answer] = {
    "nothing but the nonce": script(b""),
    "half an answer": script(YES[:12]),
    "an answer about the fifteenth limit": script(b"\x0f" + YES[1:]),
    "an answer about a limit and a verdict that do not exist": script(b"\xff" + YES[1:]),
    "a verdict that does not exist": script(b"\x40" + YES[1:]),
    "the last verdict there can be": script(b"\xf0" + YES[1:]),
    "a wait that is over before it begins": script(b"\x10" + b"\xff" * 8 + YES[9:]),
    "numbers so large that nothing can be added": script(YES[:1] + (b"\xff" * 7 + b"\x7f") * 4),
    "too long an answer": script(YES * 100),
    "an answer to another question": lambda words: bulk(b"someone's" + YES),
    "an empty text": plain(b"$0\r\n\r\n"),
    "nil": plain(b"$-1\r\n"),
    "null": plain(b"_\r\n"),
    "a number": plain(b":42\r\n"),
    "a large number": plain(b"(123456789012345678901234567890\r\n"),
    "a float": plain(b",1.5\r\n"),
    "true": plain(b"#t\r\n"),
    "false": plain(b"#f\r\n"),
    "OK": plain(b"+OK\r\n"),
    "a list": plain(b"*2\r\n:1\r\n:2\r\n"),
    "an empty list": plain(b"*0\r\n"),
    "a map": plain(b"%1\r\n:1\r\n:2\r\n"),
    "a push": plain(b">2\r\n+message\r\n:1\r\n"),
    "an error without words": plain(b"-\r\n"),
    "an error nobody knows": plain(b"-OUCH that hurt\r\n"),
    "a list that never ends": plain(b"*1000000\r\n"),
    "a text that never ends": plain(b"$1000000\r\nabc"),
    "a length that is no number": plain(b"$abc\r\n"),
    "a web page": plain(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"),
    "a server that wants TLS": plain(b"\x15\x03\x01\x00\x02\x02\x46"),
    "two answers to one question": lambda words: 2 * bulk(nonce(words) + YES),
    "a goodbye": plain(None),
    "MOVED to nowhere": plain(b"-MOVED\r\n"),
    "MOVED to no port": plain(b"-MOVED 1 127.0.0.1\r\n"),
    "MOVED to a slot that does not exist": plain(b"-MOVED 99999 127.0.0.1:1\r\n"),
    "ASK of nobody": plain(b"-ASK 1\r\n"),
    "NOSCRIPT for ever": plain(b"-NOSCRIPT No matching script.\r\n"),
    "READONLY for ever": plain(b"-READONLY You can't write against a read only replica.\r\n"),
    "TRYAGAIN": plain(b"-TRYAGAIN Multiple keys request during rehashing of slot\r\n"),
    "CLUSTERDOWN": plain(b"-CLUSTERDOWN Hash slot not served\r\n"),
}
# Those that have the length of an answer, and say what no script of ours does.
UNHEARD = [
    "an answer about the fifteenth limit",
    "an answer about a limit and a verdict that do not exist",
    "a verdict that does not exist",
    "the last verdict there can be",
    "a wait that is over before it begins",
    "numbers so large that nothing can be added",
]
LARGEST = 2**63 - 1
LEASES = {
    "a lease of nothing": (0, 0, 9, 0, 5),
    "a lease of less than nothing": (0, -5, 9, 0, 5),
    "a lease of everything": (0, LARGEST, 9, 0, 5),
    "a lease beside which more is left than there can be": (0, 5, LARGEST, 0, 5),
    "a lease that can never be had": (0x20, 0, 9, 0, 5),
    "a lease that is refused for ever": (0x10, LARGEST, 9, LARGEST, 5),
}
PAGES = {
    "nothing but the nonce": b"",
    "half a page": b"\xff" + b"\0" * 30,
    "a page of a time that never comes": struct.pack("<Bqqqq", 255, 0, 0, 0, 2**62),
    "a page of a time before all times": struct.pack("<Bqqqq", 255, 0, 0, 0, -(2**62)),
    "a page that turns and turns": struct.pack("<Bqqqq", 255, 0, 0, 0, 2**50),
}
ROUTES = {
    "single": "redis://127.0.0.1:{port}",
    "cluster": "redis+cluster://127.0.0.1:{port}",
    "sentinel": "redis+sentinel://127.0.0.1:{port}/headgate",
}
VERBS = ("take", "peek", "debit", "reserve", "reset")
# What it costs to wait for nonsense is not the question here.
SHORT = 0.02
AMPLE = 5.0


def honest(answer: Answer, impostors: list[Impostor]) -> Answer:
    """Nonsense, but the truth about who is who."""

    def answered(words: list[bytes]) -> bytes | None:
        here = bulk(b"127.0.0.1"), impostors[0].port
        if words[0] == b"CLUSTER":
            return b"*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n%b:%d\r\n" % here
        if words[0] == b"SENTINEL":
            return b"*2\r\n%b%b" % (here[0], bulk(str(here[1]).encode()))
        return answer(words)

    return answered


@pytest.mark.parametrize(("answer", "route", "colour"), pairs(NONSENSE, ROUTES, COLOURS))
def test_nonsense_ends_in_an_error_of_ours(
    answer: str, route: str, colour: str, hire: Callable[..., Caller]
) -> None:
    with Impostor(NONSENSE[answer]) as impostor:
        url = ROUTES[route].format(port=impostor.port)
        caller = hire(colour, LIMIT, url=url, mode="raise", budget=SHORT, clock=ManualClock())
        calls = [caller.ask(verb) for verb in VERBS]

    assert foreign(calls) == []


@pytest.mark.parametrize(
    ("answer", "route", "colour"), pairs(NONSENSE, ["cluster", "sentinel"], COLOURS)
)
def test_nonsense_of_known_servers_ends_in_an_error_of_ours(
    answer: str, route: str, colour: str, hire: Callable[..., Caller]
) -> None:
    impostors: list[Impostor] = []
    with Impostor(honest(NONSENSE[answer], impostors)) as impostor:
        impostors.append(impostor)
        url = ROUTES[route].format(port=impostor.port)
        caller = hire(colour, LIMIT, url=url, mode="raise", budget=SHORT, clock=ManualClock())
        calls = [caller.ask(verb) for verb in VERBS]

    assert foreign(calls) == []


@pytest.mark.parametrize("colour", COLOURS)
@pytest.mark.parametrize("answer", NONSENSE)
def test_who_falls_back_does_not_notice_nonsense(
    answer: str, colour: str, hire: Callable[..., Caller]
) -> None:
    with Impostor(NONSENSE[answer]) as impostor:
        url = ROUTES["single"].format(port=impostor.port)
        caller = hire(colour, LIMIT, url=url, mode="deny", budget=SHORT, clock=ManualClock())
        calls = [caller.ask("peek"), *caller.together(3)]

    assert [call.problem for call in calls] == [None] * 4


@pytest.mark.parametrize("colour", COLOURS)
@pytest.mark.parametrize("answer", UNHEARD)
def test_what_no_script_answers_is_not_believed(
    answer: str, colour: str, hire: Callable[..., Caller]
) -> None:
    with Impostor(NONSENSE[answer]) as impostor:
        url = ROUTES["single"].format(port=impostor.port)
        caller = hire(colour, LIMIT, url=url, mode="raise", budget=AMPLE, clock=ManualClock())
        calls = [caller.ask(verb) for verb in ("take", "peek", "debit", "reserve")]

    assert [type(call.problem) for call in calls] == [StoreUnavailable] * 4


@pytest.mark.parametrize("colour", COLOURS)
@pytest.mark.parametrize("lease", LEASES)
def test_what_no_script_leases_is_not_held(
    lease: str, colour: str, hire: Callable[..., Caller]
) -> None:
    said = {"budget": AMPLE, "clock": ManualClock(), "lease": 1.0}
    with Impostor(script(struct.pack("<Bqqqq", *LEASES[lease]))) as impostor:
        url = ROUTES["single"].format(port=impostor.port)
        told = hire(colour, LIMIT, url=url, mode="raise", **said).take()
        denied = [hire(colour, LIMIT, url=url, mode="deny", **said).take() for _ in range(2)]

    assert isinstance(told.problem, StoreUnavailable)
    assert [call.decision.degraded for call in denied] == [True, True]


@pytest.mark.parametrize("colour", COLOURS)
@pytest.mark.parametrize("page", PAGES)
def test_a_calendar_that_makes_no_sense_is_an_outage(
    page: str, colour: str, hire: Callable[..., Caller]
) -> None:
    monthly = FixedWindow("80 per 30day", calendar="month")
    with Impostor(script(PAGES[page])) as impostor:
        url = ROUTES["single"].format(port=impostor.port)
        caller = hire(colour, monthly, url=url, mode="deny", clock=ManualClock())
        calls = [caller.take(), caller.many(["a", "b"])]

    assert [call.problem for call in calls] == [None, None]
    assert calls[0].decision.degraded


@pytest.mark.parametrize("colour", COLOURS)
def test_an_answer_to_another_question_is_never_taken_for_this_one(
    colour: str, hire: Callable[..., Caller]
) -> None:
    with Impostor(lambda words: bulk(b"8 bytes." + YES)) as impostor:
        url = ROUTES["single"].format(port=impostor.port)
        caller = hire(colour, LIMIT, url=url, mode="raise", clock=ManualClock())
        call = caller.take()

    assert isinstance(call.problem, StoreUnavailable)
    assert call.problem.kind == "protocol"


@pytest.mark.parametrize("colour", COLOURS)
def test_a_refusal_that_comes_twice_makes_nobody_ask_again(
    colour: str, hire: Callable[..., Caller]
) -> None:
    # Refusals carry no nonce: the second of two is met by a question that has been executed, and
    # whose own answer is still on its way until somebody says something else.
    executed: Counter[bytes] = Counter()
    refusals, late = [2 * b"-NOSCRIPT No matching script.\r\n"], [b""]

    def answer(words: list[bytes]) -> bytes:
        if refusals:
            return refusals.pop()
        if words[0] not in {b"EVAL", b"EVALSHA"}:
            late.append(bulk(words[-1]))
            return b"".join(late.pop(0) for _ in range(len(late)))
        executed[words[3]] += 1
        late.append(bulk(nonce(words) + YES))
        return b""

    with Impostor(answer) as impostor:
        url = ROUTES["single"].format(port=impostor.port)
        caller = hire(colour, LIMIT, url=url, mode="raise", clock=ManualClock())
        caller.many(["a", "b", "c"])

    assert max(executed.values()) == 1


def foreign(calls: list[Call]) -> list[BaseException]:
    """The problems that Headgate does not speak of."""
    found = [call.problem for call in calls if call.problem is not None]
    return [problem for problem in found if not isinstance(problem, StoreUnavailable)]
