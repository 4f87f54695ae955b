"""A crew: several hands, each a process of its own, told what to do and heard out."""

from __future__ import annotations

import atexit
import json
import os
import select
import socket
import subprocess
import sys
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any

import headgate
from tests.stores.obey import REQUEST_BYTES

SCRIPT = Path(__file__).with_name("hand.py")
PACKAGE = Path(str(headgate.__file__)).parents[1]
ROOT = Path(__file__).parents[2]


class ForkServer:
    """A program that has imported what its processes need, and forks them on request."""

    def __init__(self, script: Path) -> None:
        paths = os.pathsep.join((str(PACKAGE), str(ROOT)))
        self.requests, theirs = socket.socketpair()
        with theirs:
            self.program = subprocess.Popen(
                [sys.executable, "-W", "error", str(script)],
                env={**os.environ, "PYTHONPATH": paths},
                stdin=theirs,
            )

    def request(self, what: str, *streams: int) -> str:
        """Send a request, with the streams of a new process, and return the response."""
        message = what.ljust(REQUEST_BYTES).encode()
        socket.send_fds(self.requests, [message], streams)
        response = self.requests.recv(REQUEST_BYTES, socket.MSG_WAITALL)
        if not response:
            raise ConnectionError(f"the fork server {self.program.args!r} has ended")
        return response.decode().strip()

    def close(self) -> None:
        """End the program and every process forked from it."""
        self.requests.close()
        self.program.wait()


@cache
def fork_server(script: Path) -> ForkServer:
    """The one fork server of a script in this test process, started at the first use."""
    server = ForkServer(script)
    atexit.register(server.close)
    return server


class ForkedProcess:
    """A process of a fork server, with the part of Popen's interface that a crew uses."""

    def __init__(self, server: ForkServer) -> None:
        self.server = server
        reading, stdin = os.pipe()
        stdout, writing = os.pipe()
        try:
            self.pid = int(server.request("fork", reading, writing))
        finally:
            os.close(reading)
            os.close(writing)
        self.stdin = os.fdopen(stdin, "w", buffering=1)
        self.stdout = os.fdopen(stdout)

    def kill(self) -> None:
        """Send it SIGKILL."""
        os.kill(self.pid, 9)

    def await_end(self) -> None:
        """Wait until it has ended, and leave it a zombie."""
        self.server.request(f"await {self.pid}")

    def wait(self) -> None:
        """Wait until it has ended, and have it reaped."""
        self.server.request(f"wait {self.pid}")


class Crew:
    """So many hands, each forked from `script`; at the end of the `with` they are all gone."""

    def __init__(self, size: int, script: Path = SCRIPT) -> None:
        self.server = fork_server(script)
        self.hands = [self.hire() for _ in range(size)]

    def hire(self) -> ForkedProcess:
        """One hand more, which the caller has to put among the others."""
        return ForkedProcess(self.server)

    def ask(self, do: str, *each: dict[str, Any], **task: Any) -> list[Any]:
        """Let all do the same at once, or each its own; the answers, in their order."""
        for number, hand in enumerate(self.hands):
            self.tell(hand, do, **task, **(each[number] if each else {}))
        return [self.hear(hand) for hand in self.hands]

    def tell(self, hand: ForkedProcess, do: str, **task: Any) -> None:
        """Give a task without waiting for the answer."""
        hand.stdin.write(json.dumps({"do": do, **task}) + "\n")
        hand.stdin.flush()

    def hear(self, hand: ForkedProcess) -> Any:
        """The answer to the task that was given last."""
        return json.loads(hand.stdout.readline())

    def busy(self, hand: ForkedProcess) -> bool:
        """Whether a hand is still at its task: it has neither answered nor ended."""
        answered, _, _ = select.select([hand.stdout], [], [], 0)
        return not answered

    def replace(self, place: int) -> ForkedProcess:
        """Kill the hand in that place, and put a new one among the others."""
        self.dismiss(self.hands.pop(place))
        self.hands.append(self.hire())
        return self.hands[-1]

    def dismiss(self, hand: ForkedProcess) -> None:
        """Kill a hand, in whatever it is doing."""
        hand.kill()
        hand.wait()
        hand.stdin.close()
        hand.stdout.close()

    def __enter__(self) -> Crew:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: object, trace: TracebackType | None
    ) -> None:
        for hand in self.hands:
            self.dismiss(hand)
