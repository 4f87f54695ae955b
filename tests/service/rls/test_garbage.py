"""Whatever is sent, it is answered, or refused in words."""

from __future__ import annotations

from contextlib import suppress

from hypothesis import example, given
from hypothesis import strategies as st

from headgate.service.grpc.status import Status
from headgate.service.rls.messages import Response
from headgate.service.rls.quotas import Quotas
from tests.service.rls.calls import Desk, call, priced
from tests.service.rls.test_quotas import Line

DESK = Desk("domain: d\ndescriptors: [{key: k, rate_limit: {unit: day, requests_per_unit: 9}}]\n")
WHOLE = call("d", {"k": "v"}, priced(2, k="w"), hits=3)


@st.composite
def mangled(draw: st.DrawFn) -> bytes:
    """A call with some bytes of it gone, or others."""
    raw = bytearray(WHOLE)
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, len(raw) - 1))
        raw[place : place + draw(st.integers(0, 3))] = draw(st.binary(max_size=3))
        if not raw:
            break
    return bytes(raw)


@given(st.one_of(st.binary(max_size=200), mangled()))
@example(b"\x0a\xff\xff\xff\xff\x0f")
def test_bytes_are_a_call_or_a_status(message: bytes) -> None:
    with suppress(Status):
        answer = DESK.limit.answer(message)
        assert isinstance(answer, bytes)
        assert Response.FromString(answer).overall_code in {1, 2}


@given(st.lists(st.one_of(st.binary(max_size=200), mangled()), max_size=3))
def test_bytes_are_reports_or_a_status(messages: list[bytes]) -> None:
    line = Line()
    quotas = Quotas(DESK.limit, DESK)
    stream = quotas.open(line)
    with suppress(Status):
        for message in messages:
            stream.receive(message)
    stream.cancel()

    assert quotas.status()["streams"] == quotas.status()["buckets"] == 0


@given(st.one_of(st.binary(max_size=200), st.text(max_size=100).map(str.encode)))
def test_bytes_are_json_or_a_bad_request(body: bytes) -> None:
    reply = DESK.limit.json(body)

    assert isinstance(reply, tuple)
    assert reply[0] in {200, 400, 429}
