"""Clients that others have written are served: grpcio in both colours, and h2, which judges."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import grpc
import h2.config
import h2.connection
import h2.events
import pytest
import uvloop

from headgate.service.grpc.terms import LAG
from tests.servers.secure import certificates
from tests.servers.waiting import until
from tests.service.grpc.hosting import (
    BREAK,
    CHAT,
    ECHO,
    GROW,
    NEVER,
    REFUSE,
    SLOW,
    Caller,
    Callers,
    Host,
    Place,
)
from tests.service.grpc.talking import message

CHECK, WATCH = "/grpc.health.v1.Health/Check", "/grpc.health.v1.Health/Watch"
# A net for what should never take so long.
LONG = 20
MUCH = bytes(range(256)) * 255


@pytest.fixture(scope="module", params=["pipe", "transport", "uvloop"])
def host(request: pytest.FixtureRequest) -> Iterator[Host]:
    """A service, over each kind of connection."""
    made = uvloop.new_event_loop() if request.param == "uvloop" else None
    with Host(piped=request.param == "pipe", loop=made) as host:
        yield host


@pytest.fixture
def channel(host: Host) -> Iterator[grpc.Channel]:
    """A client's connection."""
    with grpc.insecure_channel(host.address) as channel:
        yield channel


def ask(channel: grpc.Channel, path: str, said: bytes = b"hello", **more: Any) -> Any:
    return channel.unary_unary(path)(said, timeout=LONG, **more)


def refused(channel: grpc.Channel, path: str, said: bytes = b"", **more: Any) -> tuple[Any, str]:
    with pytest.raises(grpc.RpcError) as caught:
        ask(channel, path, said, **more)
    return caught.value.code(), caught.value.details()


def test_calls_are_answered(channel: grpc.Channel) -> None:
    assert ask(channel, ECHO) == b"hello"
    assert ask(channel, ECHO, b"") == b""
    assert ask(channel, ECHO, MUCH) == MUCH
    assert ask(channel, SLOW) == b"hello"
    assert ask(channel, GROW, b"1000000") == bytes(1_000_000)


@pytest.mark.parametrize("how", [grpc.Compression.Gzip, grpc.Compression.Deflate])
def test_compressed_calls_are_answered(host: Host, how: grpc.Compression) -> None:
    with grpc.insecure_channel(host.address, compression=how) as channel:
        assert ask(channel, ECHO, MUCH) == MUCH


def test_refusals_arrive_as_they_are(channel: grpc.Channel) -> None:
    wanted = grpc.StatusCode.FAILED_PRECONDITION, "grüße, 100 %\n"
    assert refused(channel, REFUSE, wanted[1].encode()) == wanted
    assert refused(channel, SLOW, b"bad") == (wanted[0], "not like that")
    assert refused(channel, BREAK) == (grpc.StatusCode.INTERNAL, "the method failed")
    code, _ = refused(channel, "/tests.Echo/Nothing")
    assert code is grpc.StatusCode.UNIMPLEMENTED
    code, words = refused(channel, ECHO, bytes(65_537))
    assert (code, words) == (
        grpc.StatusCode.RESOURCE_EXHAUSTED,
        "a message has at most 65536 bytes",
    )


def test_a_thousand_calls_at_once(host: Host, channel: grpc.Channel) -> None:
    waiting = host.place.chatter.waiting
    waiting.clear()
    calls = [channel.unary_unary(NEVER).future(b"", timeout=LONG) for _ in range(1000)]
    until(lambda: len(waiting) == 1000, "a thousand calls", LONG)
    assert ask(channel_of(host), ECHO) == b"hello"

    def answer() -> None:
        for place, one in enumerate(waiting):
            one.set_result(b"%d" % place)

    host.run(answer)
    assert sorted(int(one.result()) for one in calls) == [*range(1000)]


def channel_of(host: Host) -> grpc.Channel:
    """Another connection, whoever has used up the first."""
    return grpc.insecure_channel(host.address, [("grpc.use_local_subchannel_pool", 1)])


def test_a_call_that_is_cancelled_is_not_worked_on(host: Host, channel: grpc.Channel) -> None:
    waiting = host.place.chatter.waiting
    waiting.clear()
    call = channel.unary_unary(NEVER).future(b"", timeout=LONG)
    until(lambda: waiting, "the call", LONG)
    call.cancel()
    until(waiting[0].cancelled, "the end of it", LONG)


def test_a_deadline_is_heard_of_and_kept(host: Host, channel: grpc.Channel) -> None:
    now = host.place.house.now
    # The client rounds up what it says, by a tenth of a second.
    assert channel.unary_unary(ECHO)(b"hello", timeout=LONG - 1) == b"hello"
    (told,) = host.place.chatter.calls
    # The clock may have been looked at in between.
    then = host.place.house.now
    assert now + (LONG - 5) * 1_000_000 < told.deadline <= then + LONG * 1_000_000 + LAG
    waiting = host.place.chatter.waiting
    waiting.clear()
    with pytest.raises(grpc.RpcError) as caught:
        channel.unary_unary(NEVER)(b"", timeout=0.1)
    assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    until(lambda: all(one.cancelled() for one in waiting), "the end of it", LONG)


def test_talks_go_to_and_fro(host: Host, channel: grpc.Channel) -> None:
    host.place.chatter.told.clear()
    talk = channel.stream_stream(CHAT)
    said = [b"one", b"two", MUCH, b""]
    assert [*talk(iter(said), timeout=LONG)] == [*said, b"4"]
    assert [*talk(iter([]), timeout=LONG)] == [b"0"]
    with pytest.raises(grpc.RpcError) as caught:
        [*talk(iter([b"one", b"enough"]), timeout=LONG)]
    assert caught.value.details() == "that was enough"
    # Each waits for the other.
    heard: list[bytes] = []
    turns = iter([b"a", b"b", b"c"])

    def speak() -> Iterator[bytes]:
        for place, one in enumerate(turns):
            until(lambda place=place: len(heard) == place, "the answer", LONG)  # type: ignore[misc]
            yield one

    for answer in talk(speak(), timeout=LONG):
        heard += [answer]
    assert heard == [b"a", b"b", b"c", b"3"]
    assert host.place.chatter.told == ["open", "end", "open", "end", "open", "open", "end"]


def test_much_is_said_in_a_talk(channel: grpc.Channel) -> None:
    said = [bytes((one % 256,)) * 60_000 for one in range(100)]
    assert [*channel.stream_stream(CHAT)(iter(said), timeout=LONG)] == [*said, b"100"]


def test_a_talk_that_is_cancelled_is_over(host: Host, channel: grpc.Channel) -> None:
    host.place.chatter.told.clear()
    talk = channel.stream_stream(CHAT)(iter([b"one"]), timeout=LONG)
    assert next(talk) == b"one"
    talk.cancel()
    # The client may have said all before it took it back.
    until(lambda: host.place.chatter.told[1:] in (["end"], ["cancel"]), "the end", LONG)


def test_health_is_told_and_watched(host: Host, channel: grpc.Channel) -> None:
    assert ask(channel, CHECK, b"\n\tratelimit") == b"\x08\x01"
    watching = channel.unary_stream(WATCH)(b"", timeout=LONG)
    assert next(watching) == b"\x08\x01"
    host.place.ready = False
    host.run(host.place.health.look)
    assert next(watching) == b"\x08\x02"
    host.place.ready = True
    watching.cancel()
    until(lambda: not host.place.health._watching, "the end of it", LONG)


def aio(errand: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(errand, LONG))


def test_clients_of_the_other_colour_are_served(host: Host) -> None:
    async def main() -> None:
        async with grpc.aio.insecure_channel(host.address) as channel:
            echo, slow = channel.unary_unary(ECHO), channel.unary_unary(SLOW)
            said = [b"%d" % one for one in range(300)]
            answers = await asyncio.gather(*(echo(one) for one in said), *map(slow, said))
            assert answers == said * 2
            talk = channel.stream_stream(CHAT)()
            for one in (b"one", b"two"):
                await talk.write(one)
                assert await talk.read() == one
            await talk.done_writing()
            assert await talk.read() == b"2"
            assert await talk.code() is grpc.StatusCode.OK
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await channel.unary_unary(BREAK)(b"")
            assert caught.value.code() is grpc.StatusCode.INTERNAL

    aio(main())


@pytest.mark.parametrize("make", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_tokens_are_read_over_tls(
    tmp_path: Path, make: Callable[[], asyncio.AbstractEventLoop]
) -> None:
    authority, certificate, key = certificates(tmp_path)
    trust = grpc.ssl_channel_credentials(authority.read_bytes())
    token = grpc.access_token_call_credentials("secret")
    place = Place(Callers(True, secret=Caller("envoy")))
    with Host(place, context=secured(certificate, key), loop=make()) as host:
        with grpc.secure_channel(host.address, trust) as channel:
            code, _ = refused(channel, ECHO)
            assert code is grpc.StatusCode.UNAUTHENTICATED
        both = grpc.composite_channel_credentials(trust, token)
        with grpc.secure_channel(host.address, both) as channel:
            assert ask(channel, ECHO, MUCH) == MUCH
            assert ask(channel, GROW, b"3000000") == bytes(3_000_000)
            said = [MUCH] * 20
            assert [*channel.stream_stream(CHAT)(iter(said), timeout=LONG)] == [*said, b"20"]
            assert place.chatter.calls[0].caller.name == "envoy"


def secured(certificate: Path, key: Path) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    context.set_alpn_protocols(["h2"])
    return context


def test_a_service_that_leaves_takes_no_answer_with_it() -> None:
    with Host() as host, grpc.insecure_channel(host.address) as channel:
        waiting = host.place.chatter.waiting
        call = channel.unary_unary(NEVER).future(b"", timeout=LONG)
        until(lambda: waiting, "the call", LONG)
        (made,) = host.channels
        host.run(made.retire)
        host.run(lambda: waiting[0].set_result(b"done"))
        assert call.result() == b"done"
        until(lambda: made.lost, "the client to leave", LONG)
        # Whoever calls again comes again.
        assert ask(channel, ECHO) == b"hello"
        assert len(host.channels) == 2


class Judge:
    """A client that holds us to the rules: h2 raises at whatever breaks one."""

    def __init__(self, host: Host) -> None:
        self.line = socket.create_connection(("127.0.0.1", host.number), LONG)
        self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(True, None))
        self.h2.initiate_connection()
        self.events: list[h2.events.Event] = []

    def call(self, path: str, body: bytes) -> int:
        stream: int = self.h2.get_next_available_stream_id()
        head = {":method": "POST", ":scheme": "http", ":authority": "a", ":path": path}
        head |= {"content-type": "application/grpc", "te": "trailers"}
        self.h2.send_headers(stream, [*head.items()])
        self.h2.send_data(stream, message(body), True)
        return stream

    def hear(self, count: int) -> None:
        """Come back when so many calls have ended."""
        while sum(type(one) is h2.events.StreamEnded for one in self.events) < count:
            self.line.sendall(self.h2.data_to_send())
            said = self.line.recv(1 << 16)
            assert said
            for event in self.h2.receive_data(said):
                self.events.append(event)
                if isinstance(event, h2.events.DataReceived):
                    self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)


def test_a_judge_finds_no_fault(host: Host) -> None:
    judge = Judge(host)
    judge.h2.update_settings({1: 0, 4: 1000, 5: 20_000})
    paths = [ECHO, SLOW, BREAK, "/none", REFUSE, GROW]
    streams = {judge.call(path, b"5000"): path for path in paths * 15}
    judge.hear(len(streams))

    heard: dict[int, bytes] = dict.fromkeys(streams, b"")
    told: dict[int, bytes] = {}
    for event in judge.events:
        if isinstance(event, h2.events.DataReceived):
            heard[event.stream_id] += event.data
        if isinstance(event, (h2.events.TrailersReceived, h2.events.ResponseReceived)):
            told[event.stream_id] = dict(event.headers).get(b"grpc-status", b"")
    wanted = {
        ECHO: (message(b"5000"), b"0"),
        SLOW: (message(b"5000"), b"0"),
        BREAK: (b"", b"13"),
        "/none": (b"", b"12"),
        REFUSE: (b"", b"9"),
        GROW: (message(bytes(5000)), b"0"),
    }
    assert {one: (heard[one], told[one]) for one in streams} == {
        one: wanted[path] for one, path in streams.items()
    }
    judge.line.close()


def test_who_hangs_up_in_the_middle_leaves_nothing(host: Host) -> None:
    judge = Judge(host)
    host.place.chatter.waiting.clear()
    for _ in range(20):
        judge.call(NEVER, b"")
    judge.line.sendall(judge.h2.data_to_send())
    waiting = host.place.chatter.waiting
    until(lambda: len(waiting) == 20, "the calls", LONG)
    judge.line.close()
    until(lambda: all(one.cancelled() for one in waiting), "the end of them", LONG)
