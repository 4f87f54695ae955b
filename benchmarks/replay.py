"""How many lines of a log a second are played to rules, on one core.

    python benchmarks/replay.py [LINES]

Each run is a process of its own, of which CPU and wall time are told, beside two floors: reading
the file line by line in Python, and splitting each line at its blanks.
"""

from __future__ import annotations

import gzip
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

START = 1_760_000_000
AGENT = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0"
PATHS = ("/", "/v1/books", "/v1/books/7", "/login", "/static/app.js", "/v1/search?q=water")

BOOKS = {
    "one rule": "rules: [{name: all, key: client.ip, limit: 10/s}]",
    "three rules": (
        "rules: [{name: login, match: {path: /login}, key: client.ip, limit: 5/min}, "
        "{name: api, match: {path: /v1/**}, key: client.ip, limit: 10/s}, "
        "{name: search, match: {path: /v1/search}, key: client.ip, limit: 1/s}]"
    ),
    "one of 100 rules": "rules: [{name: all, key: client.ip, limit: 10/s}"
    + "".join(
        f", {{name: r{n}, match: {{path: /never/{n}/**}}, key: client.ip, limit: 1/s}}"
        for n in range(99)
    )
    + "]",
    "waiting": "rules: [{name: all, key: client.ip, limit: 10/s, over: wait 1s}]",
}


def main() -> None:
    lines = int(sys.argv[1]) if len(sys.argv) > 1 else 500_000
    with tempfile.TemporaryDirectory() as folder:
        logs = written(Path(folder), lines)
        print(f"{'':34}{'CPU lines/s':>14}{'wall lines/s':>14}")
        for name, source in FLOORS.items():
            tell(name, [source, str(logs["combined"])], lines)
        for name, rules in BOOKS.items():
            tell(f"combined, {name}", [PLAY, str(logs["combined"]), rules], lines)
        for log in ("json", "gzip"):
            tell(f"{log}, one rule", [PLAY, str(logs[log]), BOOKS["one rule"]], lines)
        two = [PLAY, str(logs["combined"]), BOOKS["one rule"], BOOKS["three rules"]]
        tell("combined, two files compared", two, lines)


def written(folder: Path, lines: int) -> dict[str, Path]:
    """The same requests in several formats: a thousand a second, from some thousand clients."""
    chance = random.Random(1)
    at = float(START)
    logs = {name: folder / f"{name}.log" for name in ("combined", "json", "gzip")}
    with logs["combined"].open("w") as combined, logs["json"].open("w") as json:
        for _ in range(lines):
            at += chance.expovariate(1000)
            client = f"10.0.{chance.randrange(20)}.{int(chance.paretovariate(0.5)) % 250}"
            path, size = chance.choice(PATHS), chance.randrange(100, 9000)
            stamp = time.strftime("%d/%b/%Y:%H:%M:%S +0000", time.gmtime(at))
            combined.write(
                f'{client} - - [{stamp}] "GET {path} HTTP/1.1" 200 {size} "-" "{AGENT}"\n'
            )
            json.write(
                f'{{"time":"{stamp}","remote_addr":"{client}","request":"GET {path} HTTP/1.1",'
                f'"status":200,"body_bytes_sent":{size},"http_user_agent":"{AGENT}"}}\n'
            )
    logs["gzip"].write_bytes(gzip.compress(logs["combined"].read_bytes(), 6))
    return logs


FLOORS = {
    "floor: for line in file": "import sys\nfor line in open(sys.argv[1], 'rb'): pass",
    "floor: line.split()": "import sys\nfor line in open(sys.argv[1], 'rb'): line.split()",
}
PLAY = """
import sys
from headgate.replay.run import Terms, opened, replay
from headgate.rules import Rules
books = [(str(n), Rules.read("version: 1\\n" + text)) for n, text in enumerate(sys.argv[2:])]
replay(opened(sys.argv[1:2], ""), books, Terms(), lambda *_: None)
"""
# What a process does before its first line does not count.
TIMED = """
import resource, sys, time
{imports}
wall, cpu = time.perf_counter(), time.process_time()
{source}
print(time.process_time() - cpu, time.perf_counter() - wall)
"""


def tell(name: str, command: list[str], lines: int) -> None:
    """The best of three runs."""
    source, *arguments = command
    imports = "import headgate.replay.run, headgate.rules" if source is PLAY else ""
    text = TIMED.format(imports=imports, source=source)
    times = []
    for _ in range(3):
        done = subprocess.run(
            [sys.executable, "-c", text, *arguments], capture_output=True, check=True, text=True
        )
        times.append(tuple(map(float, done.stdout.split())))
    cpu, wall = (min(column) for column in zip(*times, strict=True))
    print(f"{name:34}{lines / cpu:14,.0f}{lines / wall:14,.0f}")


if __name__ == "__main__":
    main()
