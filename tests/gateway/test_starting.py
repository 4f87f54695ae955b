"""A gateway that cannot start: nothing of it is left."""

from __future__ import annotations

import asyncio
import socket

import pytest

from headgate.gateway.gateway import Gateway
from headgate.rules.model.place import Place
from headgate.rules.model.rules import Rules
from headgate.wire.berth import bind

RULES = """
version: 1
rules: []
gateway:
  listen:
    - 127.0.0.1:0
    - {address: "127.0.0.1:0", tls: {certificate: /none.pem, key: /none.key}}
  routes: [{upstream: "http://127.0.0.1:1"}]
"""


def test_where_one_port_cannot_be_opened_none_is() -> None:
    rules = Rules.read(RULES)
    lines = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    places = [line.getsockname() for line in lines]

    async def main() -> None:
        with pytest.raises(OSError, match=r"none\.pem"):
            async with Gateway(rules, sockets=[*zip(rules.gateway.listen, lines, strict=True)]):
                pass

    asyncio.run(main())

    assert [line.fileno() for line in lines] == [-1, -1]
    for place in places:
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(place, 5)


def test_a_port_that_is_taken_leaves_no_socket_open() -> None:
    # That one is left open is a warning, and warnings are errors.
    with (
        socket.create_server(("127.0.0.1", 0)) as other,
        pytest.raises(OSError, match="in use"),
    ):
        bind(Place("http", "127.0.0.1", other.getsockname()[1]))
