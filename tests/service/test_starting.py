"""A service that cannot start: nothing of it is left."""

from __future__ import annotations

import asyncio
import socket

import pytest

from headgate.rules.model.rules import Rules
from headgate.service.service import Service
from tests.service.http.staging import plan

HERE = "http://127.0.0.1:0"
TLS = {"address": HERE, "tls": {"certificate": "/none.pem", "key": "/none.key"}}


def test_where_one_port_cannot_be_opened_none_is() -> None:
    rules: Rules = plan(service={"listen": [HERE, TLS]})
    lines = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    places = [line.getsockname() for line in lines]

    async def main() -> None:
        with pytest.raises(OSError, match=r"none\.pem"):
            async with Service(rules, sockets=[*zip(rules.service.listen, lines, strict=True)]):
                pass

    asyncio.run(main())

    assert [line.fileno() for line in lines] == [-1, -1]
    for place in places:
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(place, 5)
