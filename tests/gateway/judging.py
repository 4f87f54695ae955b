"""Plays a case to a gateway, and says whether what came of it is one of the things that may.

After each case a bystander asks through the same gateway. If some bytes of the case were left on a
connection to the upstream, they would now become a request, or the bystander would be given the
answer to it: so whatever is hidden comes to light in the case that hid it.
"""

from __future__ import annotations

import itertools
import json
from typing import Any

from tests.gateway.cases import Case, Cut, Left, Outcome, Passed
from tests.gateway.talking import Answer, Talk
from tests.servers.visits import Visit

# What is between the gateway and its client goes no further.
HOPS = ("te", "expect", "keep-alive", "proxy-connection", "http2-settings")
SERIAL = itertools.count()
# The event loop of the gateway itself sends more pieces than this: each of them is small.
FEW = 2


def judge(case: Case, pieces: list[bytes], running: Any, upstream: Any) -> None:
    """Raise AssertionError unless sending the case in these pieces has one of its outcomes."""
    late = [visit for visit in upstream.visits() if visit.whole]
    try:
        left = play(case, pieces, running)
    finally:
        # The next case begins with an empty book, however this one ends.
        visits = stand(running.port, upstream)
        troubles = list(running.errors)
        running.errors.clear()
    assert not late, f"an earlier case was not over: {late}"
    assert not troubles, "\n".join(["the gateway stumbled:", *troubles])
    wrongs = [wrong(outcome, visits) for outcome in left]
    assert "" in wrongs, "\n".join([*wrongs, f"the upstream saw {visits}"])


def play(case: Case, pieces: list[bytes], running: Any) -> list[Outcome]:
    """Send it, and find the outcomes of which the client's half is what was heard."""
    with Talk(running.port, running.turn) as talk:
        if len(pieces) > FEW:
            running.deliver(talk.socket, pieces)
        else:
            talk.send(*pieces)
        heard: list[Answer] = []
        left = list(case.expected)
        while any(len(outcome.statuses) > len(heard) for outcome in left):
            answer = talk.hear(method(left, len(heard)), [case.later])
            if answer is None:
                break
            heard.append(answer)
            left = [outcome for outcome in left if begun(outcome, heard)]
            assert left, f"heard {heard}, with which none of {case.expected} begins"
        left = [outcome for outcome in left if len(outcome.statuses) == len(heard)]
        assert left, f"heard {heard} and then the end, which is none of {case.expected}"
        rest = talk.rest() if left[0].statuses[-1:] > (200,) else talk.finish()
        assert not rest or left == [Left()], f"after {heard} came {rest!r}"
        assert not rest.startswith(b"HTTP/1.1 2"), f"half a request was answered with {rest!r}"
    for answer, wanted in zip(heard, left[0].visits, strict=False):
        assert wanted.method == "HEAD" or told(answer) == wanted.target, answer
    return left


def method(left: list[Outcome], place: int) -> str:
    """The method of the request whose answer comes next: it tells whether a body follows."""
    found = [outcome.visits[place].method for outcome in left if len(outcome.visits) > place]
    return found[0] if found else "GET"


def begun(outcome: Outcome, heard: list[Answer]) -> bool:
    """Whether these are the first answers of an outcome."""
    return outcome.statuses[: len(heard)] == tuple(answer.status for answer in heard)


def told(answer: Answer) -> str:
    """The target that the upstream says it was asked for: uvicorn in JSON, nginx in plain text."""
    if ("content-type", "application/json") in answer.headers:
        return str(json.loads(answer.body)["target"])
    return answer.body.decode("latin-1").partition(" ")[2]


def stand(port: int, upstream: Any) -> list[Visit]:
    """Be a bystander; all visits but one's own."""
    target = f"/bystander/{next(SERIAL)}"
    with Talk(port) as talk:
        talk.send(f"GET {target} HTTP/1.1\r\nHost: a.test\r\n\r\n".encode())
        answer = talk.hear()
        assert answer is not None, "a bystander was hung up on"
        assert (answer.status, told(answer)) == (200, target), f"a bystander was given {answer}"
    found: list[Visit] = upstream.visits()
    own = [visit for visit in found if visit.target == target]
    assert [visit.whole for visit in own] == [True], f"a bystander was seen as {own}"
    return [visit for visit in found if visit.target != target]


def wrong(outcome: Outcome, visits: list[Visit]) -> str:
    """What is wrong with the visits, if this is what should have come of it; or nothing."""
    if isinstance(outcome, Cut | Left):
        fine = len(visits) < 2 and not any(visit.whole for visit in visits)
        return "" if fine else f"{outcome}, but seen whole or twice"
    if len(visits) != len(outcome.visits):
        return f"{outcome}, but {len(visits)} visits"
    found = [differs(wanted, visit) for wanted, visit in zip(outcome.visits, visits, strict=True)]
    return "; ".join(text for text in found if text)


def differs(wanted: Passed, visit: Visit) -> str:
    """How the upstream's view of a request differs from its meaning; or nothing."""
    meant = (wanted.method, wanted.target, wanted.body, True)
    if meant != (visit.method, visit.target, visit.body, visit.whole):
        return f"not {meant}"
    # It was the gateway that wrote this head, and all of it: nobody else would say so.
    once = {
        "host": wanted.host,
        "x-forwarded-for": "127.0.0.1",
        "x-forwarded-proto": "http",
        "x-forwarded-host": wanted.host,
        **dict(wanted.has),
    }
    for name, value in once.items():
        if visit.all(name) != [value]:
            return f"{name} is {visit.all(name)} and not {value!r}"
    for name in (*HOPS, *wanted.lacks):
        if visit.all(name):
            return f"{name} is {visit.all(name)}, which should not be there"
    if visit.all("content-length") and visit.all("transfer-encoding"):
        return "both a length and an encoding"
    return ""
