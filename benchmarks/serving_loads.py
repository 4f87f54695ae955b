"""Loads on the service and its peers: one program for each protocol, and what it has seen."""

from __future__ import annotations

import csv
import re
import struct
import subprocess
from dataclasses import dataclass
from functools import partial
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from gateway_slices import ASKING, work
from serving_peers import METHOD

if TYPE_CHECKING:
    from collections.abc import Sequence

HOST = "127.0.0.1"
# h2load: connections and streams on each; wrk and redis-benchmark: connections.
LINES, STREAMS, CONNECTIONS, CLIENTS = 4, 32, 64, 50
ASKED = '{"rule": "api", "key": "user:42"}'
WRK = """\
wrk.method = "POST"
wrk.headers["content-type"] = "application/json"
wrk.body = '@asked'
done = function(summary, latency)
  local errors = summary.errors
  local broken = errors.connect + errors.read + errors.write + errors.timeout + errors.status
  print(string.format("%d %d %d", summary.requests, summary.duration, broken))
end
"""
# One decision of GCRA as Redis would make it: one key, its arrival time, the server's clock.
SCRIPT = """\
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local tat = tonumber(redis.call('GET', KEYS[1]) or now)
if tat < now then tat = now end
local due = tat + ARGV[2]
if due - ARGV[1] > now then return {1, due - ARGV[1] - now} end
redis.call('SET', KEYS[1], string.format('%.0f', due), 'PX', math.ceil((due - now) / 1000))
return {0, math.floor((ARGV[1] - (due - now)) / ARGV[2])}
"""


@dataclass(frozen=True)
class Seen:
    """What a load has come to: answers, and in how many seconds."""

    answers: int
    seconds: float

    @property
    def rate(self) -> float:
        """Answers a second."""
        return self.answers / self.seconds


def streams(port: int, seconds: int, folder: Path) -> Seen:
    """Calls of ShouldRateLimit over four connections with 32 streams each."""
    body = folder / "call.bin"
    if not body.exists():
        body.write_bytes(call())
    said = _run(
        ["h2load", "-D", str(seconds), "--warm-up-time", "0", "-c", str(LINES), "-m", str(STREAMS),
         "-t", "1", "-d", str(body), "-H", "content-type: application/grpc", "-H", "te: trailers",
         f"http://{HOST}:{port}{METHOD}"]
    )  # fmt: skip
    done = re.search(r"requests: \d+ total, \d+ started, (\d+) done, (\d+) succeeded, (\d+) failed",
                     said)  # fmt: skip
    if done is None or int(done[3]) or not int(done[2]):
        raise RuntimeError(f"h2load: {said[-300:]}")
    return Seen(int(done[2]), float(seconds))


def posts(port: int, seconds: int, folder: Path) -> Seen:
    """POST /v1/take over 64 connections."""
    script = folder / "take.lua"
    if not script.exists():
        script.write_text(WRK.replace("@asked", ASKED))
    words = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "-s", str(script)]
    return _wrk([*words, f"http://{HOST}:{port}/v1/take"])


def visits(port: int, seconds: int, folder: Path) -> Seen:
    """Requests for a small file through Envoy, over 64 connections."""
    script = folder / "visit.lua"
    if not script.exists():
        script.write_text(WRK[WRK.index("done") :])
    words = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "-s", str(script)]
    return _wrk([*words, f"http://{HOST}:{port}/1024"])


def commands(port: int, requests: int, words: Sequence[str]) -> Seen:
    """A command of Redis over fifty connections, one at a time on each."""
    said = _run(
        ["redis-benchmark", "-h", HOST, "-p", str(port), "-c", str(CLIENTS), "-n", str(requests),
         "--csv", *words]
    )  # fmt: skip
    (row,) = csv.DictReader(StringIO(said[said.index('"test"') :]))
    return Seen(requests, requests / float(row["rps"]))


def call() -> bytes:
    """A call of one descriptor, framed as gRPC has it."""
    from headgate.service.rls.messages import Request

    request = Request(domain="web")
    entry = request.descriptors.add().entries.add()
    entry.key, entry.value = "user", "42"
    message = request.SerializeToString()
    return struct.pack(">BI", 0, len(message)) + message


def _wrk(words: list[str]) -> Seen:
    *_, last = _run(words).splitlines()
    requests, span, broken = map(int, last.split())
    if broken or not requests:
        raise RuntimeError(f"{broken:,} of {requests:,} requests were not answered well")
    return Seen(requests, span / 1e6)


def _run(words: list[str]) -> str:
    said = subprocess.run(
        words, capture_output=True, text=True, check=False, preexec_fn=partial(work, ASKING)
    )
    if said.returncode:
        raise RuntimeError(f"{words[0]} ended with {said.returncode}: {said.stderr.strip()[-300:]}")
    return said.stdout
