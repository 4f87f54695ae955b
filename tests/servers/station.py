"""A proxy in a process of its own, which takes no time away from those who are asked to be on time.

It is told line by line what a test would ask of a `Proxy`, and answers each line; what `Proxy` says
of when a verb holds, holds here. Run as a module, this is the other end.
"""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial
from typing import Any

from tests.servers.proxy import Proxy


class Station:
    """Has what a `Proxy` for the port `target` has, by the same names, elsewhere."""

    def __init__(self, target: int) -> None:
        command = [sys.executable, "-m", "tests.servers.station", str(target)]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)

    def __enter__(self) -> Station:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.communicate()

    def __getattr__(self, name: str) -> Any:
        found = getattr(Proxy, name)
        return self.tell(name) if isinstance(found, property) else partial(self.tell, name)

    def renew(self) -> None:
        """Begin anew with another proxy, on a port of its own."""
        self.tell("renew")

    def tell(self, name: str, *said: float) -> Any:
        """What the other end answers."""
        self.process.stdin.write(json.dumps([name, *said]) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(f"the proxy's process ended with {self.process.wait()}")
        return json.loads(line)


def main(target: int) -> None:
    """Do what is said on standard input, until there is no more."""
    proxy = Proxy(target)
    for line in sys.stdin:
        name, *said = json.loads(line)
        answer = None
        if name == "renew":
            proxy.close()
            proxy = Proxy(target)
        else:
            found = getattr(proxy, name)
            answer = found(*said) if callable(found) else found
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
    proxy.close()


if __name__ == "__main__":
    main(int(sys.argv[1]))
