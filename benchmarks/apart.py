"""Apart: what has to be measured in a process of its own.

Memory is measured there because a process gives little back, a million keys because not everybody
fits at once, and the interpreted build because a process can import a package in one form only.
"""

from __future__ import annotations

import gc
import json
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import measure
from contestants import OURS, Contestant, contestants

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

COMPILED_FILES = ("*.so", "*.pyd", "*.c", "*.pxd", "__pycache__")
PATIENCE = 240
ROUNDS = 50
CHUNK = 2_000


def footprint(entrant: Contestant, keys: int) -> dict[str, Any]:
    """Resident bytes for each of `keys`, and the time of a decision among them."""
    return _ask({"task": "footprint", "name": entrant.name, "keys": keys})


def interpreted(rounds: int) -> dict[str, dict[str, Any]]:
    """The hot key with our sources as they are, in turn with `limits`, in one process."""
    package = Path(str(import_module("headgate").__file__)).parent
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(
            package, Path(folder, "headgate"), ignore=shutil.ignore_patterns(*COMPILED_FILES)
        )
        answer = _ask({"task": "interpreted", "rounds": rounds}, {"PYTHONPATH": folder})
    return {OURS: answer} if "failed" in answer else answer


def _ask(question: dict[str, Any], environment: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Run this file on the question; a child that fails says so in its answer."""
    command = [sys.executable, str(Path(__file__)), json.dumps(question)]
    try:
        child = subprocess.run(
            command,
            capture_output=True,
            check=False,
            env={**os.environ, **(environment or {})},
            text=True,
            timeout=PATIENCE,
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"took more than {PATIENCE} s"}
    if child.returncode:
        return {"failed": (child.stderr.strip().splitlines() or ["no message"])[-1]}
    answer: dict[str, Any] = json.loads(child.stdout.splitlines()[-1])
    return answer


def _answer(question: dict[str, Any]) -> dict[str, Any]:
    """What the child does: the measurement itself."""
    if question["task"] == "interpreted":
        return _hot_uncompiled(question["rounds"])
    entrant = next(each for each in contestants() if each.name == question["name"])
    return _grow(entrant, question["keys"])


def _grow(entrant: Contestant, count: int) -> dict[str, Any]:
    # The key strings are there before the first reading: they are the caller's.
    keys = measure.scattered(count)
    measure.loop(entrant, entrant.build(*measure.AMPLE, 10))(keys[:10])
    measure.await_timers()
    gc.collect()
    before = _resident()
    run = measure.loop(entrant, entrant.build(*measure.AMPLE, count))
    run(measure.otherwise(keys))
    measure.await_timers()
    gc.collect()
    grown = (_resident() - before) / count
    samples, idle = [], []
    for start in range(0, min(count, ROUNDS * CHUNK), CHUNK):
        chunk = keys[start : start + CHUNK]
        samples.append(measure.timed(run, chunk, CHUNK))
        measure.await_timers()
        idle.append(measure.timed(_pass, chunk, CHUNK))
    timing = measure.reduced(samples).less(measure.reduced(idle))
    return {"bytes": grown, **asdict(timing)}


def _pass(keys: Iterable[str]) -> None:
    for _key in keys:
        pass


def _resident() -> int:
    """Bytes of this process that are in memory, as the kernel counts them."""
    with suppress(OSError):
        for line in Path("/proc/self/smaps_rollup").read_text().splitlines():
            if line.startswith("Rss:"):
                return int(line.split()[1]) * 1024
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _hot_uncompiled(rounds: int) -> dict[str, Any]:
    import headgate

    if headgate.COMPILED:
        raise SystemExit("the copy without extensions still says it is compiled")
    entrants = [each for each in contestants() if each.name in (OURS, "limits fixed window")]
    return measure.allowed(entrants, rounds)


if __name__ == "__main__":
    print(json.dumps(_answer(json.loads(sys.argv[1]))), flush=True)
    os._exit(0)  # peers leave threads behind that would hold the process for seconds
