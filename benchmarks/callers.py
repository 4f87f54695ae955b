"""Benchmark of Envoy's calls by many callers: what one costs to decide, without the connection.

A call that came before is known by its bytes. `h2load` sends one again and again, so what
`serving.py` measures is that; here the same is measured with more callers than are known. Prints
microseconds of CPU a call, by limits of a file and by a rule.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from statistics import median

from headgate.rules.live.gatekeeper import AsyncGatekeeper
from headgate.rules.model.rules import Rules
from headgate.service.rls.domains import parse
from headgate.service.rls.messages import Request
from headgate.service.rls.ratelimit import RateLimit

CALLS, ROUNDS = 100_000, 5
CALLERS = (1, 4_000, 100_000)
FILE = """
domain: edge
descriptors:
  - {key: remote_address, rate_limit: {unit: minute, requests_per_unit: 100}}
"""
RULES = """
version: 1
rules:
  - {name: address, key: client.ip, limit: 100/min}
"""


def main() -> int:
    """Print a table."""
    calls = [call(number) for number in range(CALLS)]
    print(f"{'callers':>10}{'by a file':>12}{'by a rule':>12}")
    for callers in CALLERS:
        asked = calls[:callers] * (CALLS // callers)
        turns = [(spent(by_file(), asked), spent(by_rule(), asked)) for _ in range(ROUNDS)]
        file, rule = (median(turn[column] for turn in turns) for column in (0, 1))
        print(f"{callers:10,}{file:12.1f}{rule:12.1f}")
    return 0


def call(number: int) -> bytes:
    """The call of a caller."""
    request = Request(domain="edge")
    address = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
    request.descriptors.add().entries.add(key="remote_address", value=address)
    raw: bytes = request.SerializeToString()
    return raw


def by_file() -> RateLimit:
    """One that goes by a file."""
    limit = RateLimit(AsyncGatekeeper(Rules(), "memory://"), None)
    limit.change([parse(FILE)[0]])
    return limit


def by_rule() -> RateLimit:
    """One that goes by a rule."""
    return RateLimit(AsyncGatekeeper(Rules.read(RULES), "memory://"), None)


def spent(limit: RateLimit, calls: Sequence[bytes]) -> float:
    """Microseconds of CPU a call."""
    begun = time.process_time()
    for one in calls:
        limit.answer(one)
    return 1e6 * (time.process_time() - begun) / len(calls)


if __name__ == "__main__":
    sys.exit(main())
