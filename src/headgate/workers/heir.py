"""Heir: a new master that takes over from this one, with all sockets and nobody turned away.

It is started as this one was, so that it is what is installed now, and is told in its environment
which sockets are open. When its workers are up it says so, and this one may drain. If it ends
before that, or takes too long, nothing has changed.
"""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from dataclasses import replace

from headgate.workers.channel import Channel
from headgate.workers.heritage import VARIABLE, Heritage, bequest

# How long it may take to be up.
PATIENCE = 60.0


async def beget(heritage: Heritage, token: str, secret: str) -> int:
    """Start one, and come back when it serves or never will; its number, or 0 if it does not.

    The token of the admin, and what signs the ids of callers, which it may have no other way to
    know, are told where nobody hears it.
    """
    mine, theirs = socket.socketpair()
    process = spawn(replace(heritage, line=theirs))
    theirs.close()
    channel = await Channel.open(mine)
    channel.send(token=token, secret=secret)
    up = False
    try:
        async with asyncio.timeout(PATIENCE):
            up = "up" in await channel.receive()
    except TimeoutError:
        return 0
    finally:
        if not up:
            process.kill()
            process.wait()
        await channel.close()
    return process.pid if up else 0


def spawn(heritage: Heritage) -> subprocess.Popen[bytes]:
    """A process that was started as this one, with what it inherits."""
    said, numbers = bequest(heritage)
    # Not a process of asyncio's, which would be killed when this one ends.
    return subprocess.Popen(  # noqa: S603 - as it was started itself
        [sys.executable, *sys.orig_argv[1:]],
        env={**os.environ, VARIABLE: said},
        pass_fds=numbers,
    )
