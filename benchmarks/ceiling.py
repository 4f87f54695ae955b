"""Ceiling: what the server itself can do with our script, asked by a client written in C.

`redis-benchmark` sends the very question that Headgate sends, about the very same keys, 32 at a
time on each of its connections. Nobody who asks one question a decision can get more out of the
server, so our own rate is also given as a share of this one.
"""

from __future__ import annotations

import csv
import shutil
import subprocess
from resource import RUSAGE_CHILDREN, getrusage
from typing import TYPE_CHECKING

from redis_contestants import rule
from servers import HOST
from slices import AMPLE, Field, Sample

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slices import Turn

CEILING = "ceiling: redis-benchmark -P 32"
PIPELINE = 32
# More connections are not always better: the best of these counts.
CONNECTIONS = (16, 50)
FIRST = 10_000
PATIENCE = 60


def ceilings(field: Field, seconds: float) -> Iterator[tuple[str, Turn]]:
    """Turns of the C client, for each number of connections; none where it is not installed."""
    tool = shutil.which("redis-benchmark") or shutil.which("valkey-benchmark")
    for connections in CONNECTIONS if tool else ():
        yield f"{CEILING} -c {connections}", turns(str(tool), field, connections, seconds)


def turns(tool: str, field: Field, connections: int, seconds: float) -> Turn:
    """Turns of about so many seconds, as far as the last one tells how many questions that is."""
    question = asked(field)
    count = FIRST

    def turn() -> Sample:
        nonlocal count
        command = [tool, "-h", HOST, "-p", str(field.server.port), "-c", str(connections)]
        command += ["-P", str(PIPELINE), "-n", str(count), "-r", str(len(field.keys)), "--csv"]
        sample = measured([*command, *question], field, count)
        count = max(FIRST, round(sample.rate * seconds))
        return sample

    return turn


def asked(field: Field) -> list[str]:
    """The question that Headgate puts to the server, as words."""
    from headgate.stores.redis.names import prefix
    from headgate.stores.redis.script import take

    limits = (rule(AMPLE),)
    script = take(limits)
    if script is None:
        raise RuntimeError(f"{limits[0]!r} has no short script")
    sha = field.server.client.script_load(script.text)
    return ["EVALSHA", sha, "1", prefix(limits, "").decode() + "{__rand_int__}", "abcdefgh", "1"]


def measured(command: list[str], field: Field, count: int) -> Sample:
    """One run of the tool, by its own account of rate and latency."""
    before, spent = field.server.read(), getrusage(RUSAGE_CHILDREN)
    ran = subprocess.run(command, capture_output=True, check=True, text=True, timeout=PATIENCE)
    now = getrusage(RUSAGE_CHILDREN)
    cpu, calls = field.server.read().since(before, "evalsha")
    rows = list(csv.reader(ran.stdout.splitlines()))
    said = dict(zip(rows[-2], rows[-1], strict=True))
    return Sample(
        decisions=count,
        seconds=count / float(said["rps"]),
        client=now.ru_utime + now.ru_stime - spent.ru_utime - spent.ru_stime,
        server=cpu,
        calls=calls,
        p50=float(said["p50_latency_ms"]),
        p99=float(said["p99_latency_ms"]),
    )
