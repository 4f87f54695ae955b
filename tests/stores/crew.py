"""A crew: several hands, each a process of its own, told what to do and heard out."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any

import headgate

SCRIPT = Path(__file__).with_name("hand.py")
PACKAGE = Path(str(headgate.__file__)).parents[1]
ROOT = Path(__file__).parents[2]


class Crew:
    """So many hands, each running `script`; at the end of the `with` they are all gone.

    Those in reserve begin with the others: where these never rest, a beginner would take long.
    """

    def __init__(self, size: int, script: Path = SCRIPT, reserve: int = 0) -> None:
        paths = os.pathsep.join((str(PACKAGE), str(ROOT)))
        self.environment = {**os.environ, "PYTHONPATH": paths}
        self.command = [sys.executable, "-W", "error", str(script)]
        self.hands = [self.hire() for _ in range(size)]
        self.reserve = [self.hire() for _ in range(reserve)]

    def hire(self) -> subprocess.Popen[str]:
        """One hand more, which the caller has to put among the others."""
        return subprocess.Popen(
            self.command,
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )

    def ask(self, do: str, *each: dict[str, Any], **task: Any) -> list[Any]:
        """Let all do the same at once, or each its own; the answers, in their order."""
        for number, hand in enumerate(self.hands):
            self.tell(hand, do, **task, **(each[number] if each else {}))
        return [self.hear(hand) for hand in self.hands]

    def tell(self, hand: subprocess.Popen[str], do: str, **task: Any) -> None:
        """Give a task without waiting for the answer."""
        assert hand.stdin is not None
        hand.stdin.write(json.dumps({"do": do, **task}) + "\n")
        hand.stdin.flush()

    def hear(self, hand: subprocess.Popen[str]) -> Any:
        """The answer to the task that was given last."""
        assert hand.stdout is not None
        return json.loads(hand.stdout.readline())

    def busy(self, hand: subprocess.Popen[str]) -> bool:
        """Whether a hand is still at its task: it has neither answered nor ended."""
        assert hand.stdout is not None
        answered, _, _ = select.select([hand.stdout], [], [], 0)
        return not answered

    def replace(self, place: int) -> subprocess.Popen[str]:
        """Kill the hand in that place, and have one from the reserve among the others."""
        self.dismiss(self.hands.pop(place))
        self.hands.append(self.reserve.pop() if self.reserve else self.hire())
        return self.hands[-1]

    def dismiss(self, hand: subprocess.Popen[str]) -> None:
        """Kill a hand, in whatever it is doing."""
        hand.kill()
        hand.wait()
        for stream in (hand.stdin, hand.stdout):
            assert stream is not None
            stream.close()

    def __enter__(self) -> Crew:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: object, trace: TracebackType | None
    ) -> None:
        for hand in self.hands + self.reserve:
            self.dismiss(hand)
