"""Four processes lease from one server, on the machine's own clock."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from headgate import Decision
from headgate.testing import Entry, admitted, most_in_any
from tests.servers.launch import Server

pytestmark = pytest.mark.realtime

RATE, BURST, TTL, SECONDS = 2000, 200, 0.2, 3.0
# What a process does: take whatever it can get, and say when it got it.
WORK = """
import json, sys, time
from headgate import Limiter, TokenBucket
from headgate.stores.leases.store import LeasedStore
from headgate.stores.redis.store import RedisStore

url, rate, burst, ttl, seconds = sys.argv[1], *map(float, sys.argv[2:])
store = LeasedStore(RedisStore(url, 5), ttl)
limiter = Limiter(TokenBucket(f"{rate:.0f}/s", burst=int(burst)), store=store)
end, moments = time.monotonic() + seconds, []
while time.monotonic() < end:
    decision = limiter.take("k")
    if decision:
        moments.append(time.monotonic())
    else:
        time.sleep(decision.retry_after)
print(json.dumps(moments))
"""


def test_four_processes_get_what_the_limit_allows_and_no_more(valkey: Server) -> None:
    said = [valkey.url, *map(str, (RATE, BURST, TTL, SECONDS))]
    command = [sys.executable, "-c", WORK, *said]
    workers = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(4)]
    moments = sorted(
        moment for worker in workers for moment in json.loads(worker.communicate(timeout=60)[0])
    )

    passed = moments[-1] - moments[0]
    history = [Entry(moment - moments[0], "k", 1, Decision(True)) for moment in moments]
    assert admitted(history) <= BURST + RATE * (passed + TTL)
    assert most_in_any(history, 1.0) <= BURST + RATE * (1.0 + TTL)
    assert admitted(history) >= 0.9 * RATE * SECONDS
