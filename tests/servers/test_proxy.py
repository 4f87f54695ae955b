"""What the proxy does to the connections of a real Valkey."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from tests.servers.launch import Server
from tests.servers.proxy import Proxy
from tests.servers.resp import encode
from tests.servers.waiting import until
from tests.servers.wire import Wire

PING = encode("PING")
PONG = b"+PONG\r\n"


def gathered(wire: Wire, size: int) -> bytes:
    """The next bytes on a wire, as many as come until there are `size`."""
    data = b""
    while len(data) < size and (more := wire.socket.recv(size - len(data))):
        data += more
    return data


def test_without_a_fault_the_proxy_is_not_noticed(proxy: Proxy) -> None:
    text = "x" * 3_000_000

    with Wire(proxy.port) as wire:
        wire.ask("SET", "key", text)
        answered = wire.ask("GET", "key")

    assert answered == text


def test_connections_and_bytes_are_counted(proxy: Proxy) -> None:
    wires = [Wire(proxy.port) for _ in range(5)]
    for wire in wires:
        wire.ask("PING")
    opened = proxy.open
    for wire in wires[:3]:
        wire.close()
    until(lambda: proxy.open == 2, "three to hang up")
    for wire in wires:
        wire.close()

    assert (opened, proxy.total) == (5, 5)
    assert (proxy.asked, proxy.answered) == (5 * len(PING), 5 * len(PONG))


def test_late_replies_come_in_order_and_at_once_when_the_proxy_heals(proxy: Proxy) -> None:
    with Wire(proxy.port, timeout=0.1) as wire:
        proxy.latency(600, jitter=60)
        for _ in range(3):
            wire.send(encode("INCR", "count"))
            with pytest.raises(TimeoutError):
                wire.read()
        proxy.heal()
        wire.socket.settimeout(5)
        answers = [wire.read() for _ in range(3)]

    assert answers == [1, 2, 3]


def test_replies_are_late_and_come(proxy: Proxy, valkey: Server) -> None:
    proxy.latency(0.05)

    with Wire(proxy.port) as wire:
        wire.send(encode("SET", "key", "value"))
        until(lambda: valkey.ask("EXISTS", "key"), "the command to arrive")
        before = proxy.answered
        answer = wire.read()

    assert (before, answer) == (0, "OK")


def test_in_a_blackhole_nobody_answers_and_the_server_hears_nothing(
    proxy: Proxy, valkey: Server
) -> None:
    with Wire(proxy.port, timeout=0.1) as wire:
        wire.ask("PING")
        proxy.blackhole()

        with pytest.raises(TimeoutError):
            wire.ask("SET", "key", "value")
    with Wire(proxy.port, timeout=0.1) as newcomer, pytest.raises(TimeoutError):
        newcomer.ask("SET", "key", "value")
    assert (valkey.ask("EXISTS", "key"), proxy.asked) == (0, len(PING))


def test_after_a_blackhole_those_who_lost_bytes_are_reset_and_the_others_go_on(
    proxy: Proxy,
) -> None:
    with Wire(proxy.port) as lost, Wire(proxy.port) as silent:
        proxy.blackhole()
        lost.send(PING)
        until(lambda: any(line.lossy for line in proxy.lines), "the loss")
        proxy.heal()

        with pytest.raises(ConnectionResetError):
            lost.read()
        assert silent.ask("PING") == "PONG"


def test_a_reset_is_for_those_who_are_connected(proxy: Proxy) -> None:
    with Wire(proxy.port) as wire:
        proxy.reset()

        with pytest.raises(ConnectionResetError):
            wire.read()
    with Wire(proxy.port) as newcomer:
        assert newcomer.ask("PING") == "PONG"


def test_who_is_rejected_is_reset_whether_he_is_connected_or_comes(proxy: Proxy) -> None:
    with Wire(proxy.port) as wire:
        proxy.reject()
        with pytest.raises(ConnectionResetError):
            wire.read()
    # Whether it is noticed in making the connection or later is the kernel's affair.
    with pytest.raises(ConnectionResetError), Wire(proxy.port) as newcomer:
        newcomer.read()
    proxy.heal()
    with Wire(proxy.port) as healed:
        assert healed.ask("PING") == "PONG"


def test_who_is_refused_meets_nobody_and_who_is_connected_goes_on(proxy: Proxy) -> None:
    with Wire(proxy.port) as wire:
        proxy.refuse()

        with pytest.raises(ConnectionRefusedError):
            Wire(proxy.port)
        assert wire.ask("PING") == "PONG"
    proxy.heal()
    with Wire(proxy.port) as healed:
        assert healed.ask("PING") == "PONG"


@pytest.mark.parametrize("size", [0, 1, 6, 7, 10])
def test_a_connection_is_cut_after_so_many_bytes(proxy: Proxy, size: int) -> None:
    with Wire(proxy.port) as wire:
        wire.ask("PING")
        proxy.cut(size)
        wire.send(PING * 2)
        passed = gathered(wire, size)

        with pytest.raises(ConnectionResetError):
            wire.socket.recv(1)
    assert passed == (PONG * 2)[:size]


def test_all_that_comes_before_a_cut_arrives(proxy: Proxy) -> None:
    with Wire(proxy.port) as wire:
        wire.ask("SET", "key", "x" * 2_000_000)
        proxy.cut(1_000_000)
        wire.send(encode("GET", "key"))
        passed = gathered(wire, 1_000_000)

    assert passed == b"$2000000\r\n" + b"x" * 999_990


def test_replies_come_in_slices(proxy: Proxy) -> None:
    with Wire(proxy.port, timeout=0.1) as wire:
        proxy.slices(3, pause=600)
        wire.send(PING)
        first = gathered(wire, 3)
        with pytest.raises(TimeoutError):
            wire.socket.recv(1)
        proxy.heal()
        rest = gathered(wire, 4)

    assert (first, rest) == (b"+PO", b"NG\r\n")


def test_replies_in_slices_are_whole_in_the_end(proxy: Proxy) -> None:
    proxy.slices(1)

    with Wire(proxy.port) as wire:
        answers = [wire.ask("ECHO", number) for number in range(3)]

    assert answers == ["0", "1", "2"]


def test_replies_come_twice(proxy: Proxy) -> None:
    proxy.duplicate()

    with Wire(proxy.port) as wire:
        wire.send(encode("INCR", "count"))
        answers = [wire.read(), wire.read()]

    assert answers == [1, 1]


def test_replies_are_exchanged_in_pairs_and_the_last_comes_when_the_proxy_heals(
    proxy: Proxy,
) -> None:
    with Wire(proxy.port) as wire:
        proxy.swap()
        wire.send(b"".join(encode("ECHO", word) for word in "abcde"))
        answers = [wire.read() for _ in range(4)]
        proxy.heal()
        last = wire.read()

    assert (answers, last) == (["b", "a", "d", "c"], "e")


def test_replies_are_corrupt_in_one_byte(proxy: Proxy) -> None:
    proxy.corrupt()

    with Wire(proxy.port) as wire:
        wire.send(PING)
        data = gathered(wire, 7)

    assert sum(map(int.__ne__, data, PONG)) == 1


VERBS: dict[str, Callable[[Proxy], None]] = {
    "latency": lambda proxy: proxy.latency(600),
    "blackhole": Proxy.blackhole,
    "cut": lambda proxy: proxy.cut(1),
    "slices": lambda proxy: proxy.slices(1, 600),
    "duplicate": Proxy.duplicate,
    "swap": Proxy.swap,
    "corrupt": Proxy.corrupt,
    "reset": Proxy.reset,
    "reject": Proxy.reject,
    "refuse": Proxy.refuse,
}


@pytest.mark.parametrize("verb", VERBS)
def test_every_fault_is_over_when_the_proxy_heals(proxy: Proxy, verb: str) -> None:
    VERBS[verb](proxy)
    proxy.heal()

    with Wire(proxy.port) as wire:
        answers = [wire.ask("ECHO", word) for word in "abc"]

    assert answers == ["a", "b", "c"]


def test_a_server_that_hangs_up_is_heard_to_the_end(proxy: Proxy) -> None:
    with Wire(proxy.port) as wire:
        wire.send(PING + encode("QUIT") + PING)
        data = gathered(wire, 100)

    assert data == PONG + b"+OK\r\n"


def test_what_a_server_said_before_it_hung_up_may_be_late_but_is_not_lost(
    proxy: Proxy, valkey: Server
) -> None:
    with Wire(proxy.port) as wire:
        number = wire.ask("CLIENT", "ID")
        proxy.latency(600)
        wire.send(PING + encode("QUIT"))
        until(lambda: not valkey.ask("CLIENT", "LIST", "ID", number), "the server to hang up")
        proxy.heal()
        data = gathered(wire, 100)

    assert data == PONG + b"+OK\r\n"


def test_a_dead_server_resets_its_clients_and_another_takes_over(
    proxy: Proxy, valkey: Server, redis_server: Server
) -> None:
    valkey.kill()
    with pytest.raises(ConnectionResetError), Wire(proxy.port) as wire:
        wire.read()

    proxy.target = redis_server.port

    with Wire(proxy.port) as wire:
        assert wire.ask("PING") == "PONG"


def test_an_event_loop_may_use_the_proxy_it_gives_orders_to(proxy: Proxy) -> None:
    async def main() -> tuple[bytes, bytes]:
        reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
        writer.write(PING)
        before = await reader.readexactly(7)
        proxy.duplicate()
        writer.write(PING)
        after = await reader.readexactly(14)
        writer.close()
        await writer.wait_closed()
        return before, after

    assert asyncio.run(main()) == (PONG, PONG * 2)


def test_a_closed_proxy_hangs_up_on_everybody(valkey: Server) -> None:
    with Proxy(valkey.port) as proxy, Wire(proxy.port) as wire:
        wire.ask("PING")
        proxy.close()

        with pytest.raises(ConnectionResetError):
            wire.read()
        with pytest.raises(ConnectionRefusedError):
            Wire(proxy.port)
        assert not proxy.thread.is_alive()
