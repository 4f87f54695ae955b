"""What a hand of a crew does all its life: hear a task, do it, answer."""

from __future__ import annotations

import json
import sys

import headgate


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
