"""The loop of a crew's worker process, and the server that forks such processes.

Importing headgate takes a fifth of a second. A program that calls `serve` imports it once, and each
process that is forked from it begins at once.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import sys
import traceback
from collections.abc import Callable

import headgate

# A request is this long, so that one read takes one request.
REQUEST_BYTES = 64


def serve(make: Callable[[], object]) -> None:
    """Fork a process for each request on standard input, a socket, and reap those that are named.

    When the other end of the socket is gone, all processes that were forked here are killed.
    """
    os.setpgid(0, 0)
    # A collection in a child would write to every object, and so copy all memory.
    gc.freeze()
    with socket.socket(fileno=os.dup(0)) as requests:
        while True:
            request, streams, _, _ = socket.recv_fds(requests, REQUEST_BYTES, 2)
            if not request:
                break
            verb, _, pid = request.decode().partition(" ")
            if verb == "fork":
                child = fork_worker(make, requests, streams)
                requests.sendall(str(child).ljust(REQUEST_BYTES).encode())
                continue
            # An awaited process stays a zombie until it is reaped.
            os.waitid(os.P_PID, int(pid), os.WEXITED | (os.WNOWAIT if verb == "await" else 0))
            requests.sendall(verb.ljust(REQUEST_BYTES).encode())
    os.killpg(0, signal.SIGKILL)


def fork_worker(make: Callable[[], object], requests: socket.socket, streams: list[int]) -> int:
    """Fork a process that obeys on these two streams; returns its process id."""
    child = os.fork()
    if child == 0:
        try:
            requests.close()
            for number, stream in enumerate(streams):
                os.dup2(stream, number)
                os.close(stream)
            obey(make())
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(0)
    for stream in streams:
        os.close(stream)
    return child


def obey(hand: object) -> None:
    """Do what each line says, by the method it names; answer with what came of it, in one line."""
    for line in sys.stdin:
        task = json.loads(line)
        try:
            answer = getattr(hand, task.pop("do"))(**task)
        except headgate.HeadgateError as problem:
            answer = f"{type(problem).__name__}: {problem}"
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
