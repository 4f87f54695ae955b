"""Headers that make a call, those that make something else, and those that make nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.measures import FOREVER
from headgate.service.grpc.head import Head
from tests.service.grpc.talking import (
    CONTINUATION,
    END,
    HEADERS,
    Talk,
    begin,
    block,
    call,
    data,
    fine,
    frame,
    lines,
    literal,
    message,
    settings,
)

USUAL = [(name.encode(), value.encode()) for name, value in lines()]


def with_(*more: tuple[bytes, bytes]) -> list[tuple[bytes, bytes]]:
    return [*USUAL, *more]


def without(name: bytes) -> list[tuple[bytes, bytes]]:
    return [line for line in USUAL if line[0] != name]


def instead(name: bytes, value: bytes) -> list[tuple[bytes, bytes]]:
    return [(word, value if word == name else usual) for word, usual in USUAL]


MALFORMED = {
    "a name with capitals": with_((b"Name", b"")),
    "a name with a space": with_((b"na me", b"")),
    "a name with a colon": with_((b"na:me", b"")),
    "a name of nothing": with_((b"", b"")),
    "a name beyond ASCII": with_(("näme".encode(), b"")),
    "a value with a line": with_((b"name", b"a\r\nb")),
    "a value with a zero": with_((b"name", b"a\0b")),
    "a value after a space": with_((b"name", b" a")),
    "a value before a tab": with_((b"name", b"a\t")),
    "a connection": with_((b"connection", b"close")),
    "a proxy's connection": with_((b"proxy-connection", b"close")),
    "keep-alive": with_((b"keep-alive", b"1")),
    "an encoding of the transfer": with_((b"transfer-encoding", b"chunked")),
    "an upgrade": with_((b"upgrade", b"websocket")),
    "te of something else": instead(b"te", b"gzip"),
    "no method": without(b":method"),
    "no scheme": without(b":scheme"),
    "no path": without(b":path"),
    "an empty path": instead(b":path", b""),
    "a path without a slash": instead(b":path", b"a"),
    "a star of another method": instead(b":path", b"*"),
    "two methods": [(b":method", b"POST"), *USUAL],
    "two paths": [(b":path", b"/"), *USUAL],
    "an unknown one with a colon": [(b":name", b"a"), *USUAL],
    "a status": [(b":status", b"200"), *USUAL],
    "one with a colon after others": [(b"name", b"a"), *USUAL],
    "another host": with_((b"host", b"elsewhere")),
    "two lengths": with_((b"content-length", b"1"), (b"content-length", b"2")),
    "a length below nothing": with_((b"content-length", b"-1")),
    "a length without end": with_((b"content-length", b"1" * 19)),
    "a connection to elsewhere": [(b":method", b"CONNECT"), (b":path", b"/")],
}


@pytest.mark.parametrize("said", MALFORMED.values(), ids=MALFORMED)
def test_what_is_no_request_ends_its_stream(said: list[tuple[bytes, bytes]]) -> None:
    with Talk() as talk:
        head = frame(HEADERS, 4, 1, b"".join(literal(*line) for line in said))

        assert talk.ask(head + data(1, message(b"a"))) == ["reset 1 PROTOCOL_ERROR"]
        assert talk.ask(call(3)) == fine(3)


ACCEPTED = {
    "no te": without(b"te"),
    "te in capitals": instead(b"te", b"Trailers"),
    "no authority": without(b":authority"),
    "a host instead": [*without(b":authority"), (b"host", b"tests")],
    "the same host": with_((b"host", b"tests")),
    "one length twice": with_((b"content-length", b"10"), (b"content-length", b"10")),
    "an empty value": with_((b"name", b"")),
    "a value beyond ASCII": with_((b"name", "grüße".encode())),
    "a type with a format": instead(b"content-type", b"application/grpc+proto"),
    "a type with terms": instead(b"content-type", b"application/grpc; a=b"),
    "a type in capitals": instead(b"content-type", b"Application/GRPC"),
    "a timeout": with_((b"grpc-timeout", b"99999999H")),
}


@pytest.mark.parametrize("said", ACCEPTED.values(), ids=ACCEPTED)
def test_what_is_a_call_is_answered(said: list[tuple[bytes, bytes]]) -> None:
    with Talk() as talk:
        head = frame(HEADERS, 4, 1, b"".join(literal(*line) for line in said))
        assert talk.ask(head + data(1, message(b"hello"))) == fine(1)


OTHERS = {
    "GET": (lines(method="GET", content_type=""), 405),
    "GET of a call": (lines(method="GET"), 405),
    "OPTIONS of everything": (lines("*", method="OPTIONS"), 405),
    "CONNECT": ([(":method", "CONNECT"), (":authority", "elsewhere:443")], 405),
    "no type": (lines(content_type=""), 415),
    "JSON": (lines(content_type="application/json"), 415),
    "JSON of a call": (lines(content_type="application/grpc+json"), 415),
    "a browser's calls": (lines(content_type="application/grpc-web"), 415),
}


@pytest.mark.parametrize(("said", "status"), OTHERS.values(), ids=OTHERS)
def test_what_is_no_call_is_answered_as_http(said: list[tuple[str, str]], status: int) -> None:
    allow = " allow=POST" if status == 405 else ""
    told = f"headers 1 :status={status}{allow} content-length=0 end"
    with Talk() as talk:
        assert talk.ask(frame(HEADERS, 4 | END, 1, block(said))) == [told]
    with Talk() as talk:
        assert talk.ask(frame(HEADERS, 4, 1, block(said))) == [told, "reset 1 NO_ERROR"]


TIMEOUTS = {
    b"1H": 3_600_000_000,
    b"2M": 120_000_000,
    b"3S": 3_000_000,
    b"4m": 4_000,
    b"5u": 5,
    b"6000n": 6,
    b"6n": 0,
    b"99999999H": 99_999_999 * 3_600_000_000,
    b"": FOREVER,
}


@pytest.mark.parametrize(("said", "microseconds"), TIMEOUTS.items())
def test_a_timeout_is_in_microseconds(said: bytes, microseconds: int) -> None:
    head = Head(with_((b"grpc-timeout", said)))

    assert (head.timeout, head.refusal) == (microseconds, b"")


@pytest.mark.parametrize("said", ["1", "S", "123456789S", "1.5S", "-1S", "1 S", "1d"])
def test_what_is_no_timeout_is_said_to_be_none(said: str) -> None:
    with Talk() as talk:
        assert talk.ask(begin(1, flags=END, grpc_timeout=said)) == [
            "headers 1 grpc-status=13 grpc-message=grpc-timeout is up to 8 digits and a unit end"
        ]


def test_a_deadline_that_is_over_is_not_tried() -> None:
    with Talk() as talk:
        assert talk.ask(call(1, grpc_timeout="0S")) == [
            "headers 1 grpc-status=4 grpc-message=the deadline is over end",
            "reset 1 NO_ERROR",
        ]
        assert talk.place.chatter.calls == []


def test_metadata_is_said_by_name() -> None:
    with Talk() as talk:
        more = [("one", "a"), ("two", "b"), ("two", "c")]
        talk.send(begin(1, "/tests.Echo/Echo", *more) + data(1, message(b"")))
        (told,) = talk.place.chatter.calls

        assert told.metadata("one") == "a"
        assert told.metadata("two") == "b,c"
        assert told.metadata("three") == ""
        assert told.metadata(":path") == "/tests.Echo/Echo"
        assert told.peer == "127.0.0.1"
        assert told.deadline == 0


def test_headers_that_change_the_table_are_read_in_turn() -> None:
    with Talk() as talk:
        for stream in range(1, 41, 2):
            # Some of the same, some new ones, now and then another size of the table.
            if stream % 8 == 1:
                talk.encoder.header_table_size = 128 * (stream % 5)
            headers = lines(more=f"value {stream // 6}", other=f"value {stream % 4}")
            said = talk.encoder.encode(headers)
            talk.send(frame(HEADERS, 4, stream, said) + data(stream, message(b"hello")))
            assert talk.said() == fine(stream)
            (told,) = talk.place.chatter.calls
            assert told.metadata("more") == f"value {stream // 6}"
            assert told.metadata("other") == f"value {stream % 4}"


def test_headers_seen_before_are_not_read_again_until_the_table_changes() -> None:
    with Talk() as talk:
        known = talk.channel.blocks.known
        said = talk.encoder.encode(lines(one="a"))
        again = talk.encoder.encode(lines(one="a"))
        talk.send(frame(HEADERS, 5, 1, said))
        assert not known
        talk.send(frame(HEADERS, 5, 3, again), frame(HEADERS, 5, 5, again))
        assert set(known) == {again}
        talk.send(frame(HEADERS, 5, 7, talk.encoder.encode(lines(one="b"))))
        assert not known


def test_only_so_many_heads_are_remembered() -> None:
    with Talk() as talk:
        for stream in range(1, 1001, 2):
            talk.send(call(stream, number=str(stream), padding="x" * (stream % 120)))
            assert talk.said() == fine(stream)
            assert len(talk.channel.blocks.known) <= 64
        talk.send(call(1001, a="x" * 120, b="x" * 120, c="x" * 120, d="x" * 120, e="x" * 120))
        assert max(map(len, talk.channel.blocks.known)) <= 512


@given(st.data())
def test_however_headers_are_packed_they_say_the_same(drawn: st.DataObject) -> None:
    names = st.sampled_from(["one", "two", "three", "four"])
    values = st.text("abc ü", max_size=6).map(str.strip)
    with Talk() as talk:
        for stream in range(1, 2 * drawn.draw(st.integers(1, 12)), 2):
            if drawn.draw(st.integers(0, 4)) == 0:
                talk.encoder.header_table_size = drawn.draw(st.sampled_from([0, 60, 200, 4096]))
            said = drawn.draw(st.dictionaries(names, values, max_size=4))
            packed = talk.encoder.encode(lines(**said), huffman=drawn.draw(st.booleans()))
            cut = drawn.draw(st.integers(0, len(packed)))
            talk.send(
                frame(HEADERS, 0, stream, packed[:cut]),
                frame(CONTINUATION, 4, stream, packed[cut:]),
                data(stream, message(b"hello")),
            )
            assert talk.said() == fine(stream)
            (told,) = talk.place.chatter.calls
            for name in ("one", "two", "three", "four"):
                wanted = said.get(name, "")
                assert told.metadata(name).encode("latin-1").decode() == wanted


def test_settings_of_ours_are_those_we_hold_clients_to() -> None:
    with Talk(greeting=b"") as talk:
        assert talk.frames()[0][3] == settings((3, 1000), (4, 131_072), (6, 65_536))[9:]
