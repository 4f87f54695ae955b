"""A proxy in a process of its own, which takes no time away from those who are asked to be on time.

It is told its verbs line by line, and says after each how its connections are: what `Proxy` says of
when a verb holds, holds here. Run as a module, this is the other end.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from tests.servers.proxy import Proxy

VERBS = ("latency", "blackhole", "cut", "slices", "duplicate", "swap", "corrupt")
VERBS += ("reset", "reject", "refuse", "heal")


class Station:
    """Does what a `Proxy` for the port `target` does, by the same verbs, elsewhere."""

    def __init__(self, target: int) -> None:
        command = [sys.executable, "-m", "tests.servers.station", str(target)]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
        self.port = int(self.read())

    def __enter__(self) -> Station:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.communicate()

    def __getattr__(self, verb: str) -> Any:
        if verb not in VERBS:
            raise AttributeError(verb)
        return lambda *said: self.tell(verb, *said)

    @property
    def open(self) -> int:
        """How many connections are open."""
        return self.tell("open")

    def tell(self, verb: str, *said: float) -> int:
        """Have it done; how many connections are open then."""
        self.process.stdin.write(json.dumps([verb, *said]) + "\n")
        self.process.stdin.flush()
        return int(self.read())

    def read(self) -> str:
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(f"the proxy's process ended with {self.process.wait()}")
        return line


def main(target: int) -> None:
    """Do what is said on standard input, until there is no more."""
    with Proxy(target) as proxy:
        say(proxy.port)
        for line in sys.stdin:
            verb, *said = json.loads(line)
            if verb in VERBS:
                getattr(proxy, verb)(*said)
            say(proxy.open)


def say(number: int) -> None:
    sys.stdout.write(f"{number}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]))
