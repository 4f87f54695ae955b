"""A worker as its master sees it: who does not answer is waited for once, and then left alone."""

from __future__ import annotations

import asyncio
import json
import socket
from typing import Any, cast

from headgate.workers.channel import Channel
from headgate.workers.hand import Hand


def test_who_has_not_said_how_it_was_is_not_asked_again_until_it_did() -> None:
    async def converse() -> tuple[list[Any], list[str]]:
        mine, theirs = socket.socketpair()
        hand = Hand(cast("Any", None), await Channel.open(mine), cast("Any", None))
        reader, writer = await asyncio.open_unix_connection(sock=theirs)
        hand.up = True
        hearing = asyncio.create_task(hand.serve())
        said = [await hand.ask("reading", 0.01), await hand.ask("reading", 60.0)]
        # What has to be done is asked for all the same.
        said.append(await hand.ask("reset", 0.01))
        first = json.loads(await reader.readline())
        writer.write(json.dumps({"id": first["id"], "answer": {"late": 1}}).encode() + b"\n")
        while hand._late and "reading" in hand._late.values():
            await asyncio.sleep(0)
        again = asyncio.create_task(hand.ask("reading", 60.0))
        orders = [first["order"], *[json.loads(await reader.readline()) for _ in range(2)]]
        writer.write(json.dumps({"id": orders[2]["id"], "answer": {"fine": 1}}).encode() + b"\n")
        said.append(await again)
        hearing.cancel()
        writer.close()
        await hand._channel.close()
        return said, [orders[0], *[one["order"] for one in orders[1:]]]

    said, orders = asyncio.run(converse())

    assert said == [{}, {}, {}, {"fine": 1}]
    assert orders == ["reading", "reset", "reading"]
