"""`curl` where there is none: as much of it as the README uses, on the standard library.

    python stand_in.py [-i] [-s] [-Z] [-o FILE] [-w FORM] [-H LINE] [-X METHOD] URL

A URL may have a range as in `?[1-8]`; with `-Z` those are asked for at the same time.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import partial
from http.client import HTTPConnection

RANGE = re.compile(r"\[(\d+)-(\d+)\]")


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("-i", "-s", "-Z", "--parallel-immediate"):
        parser.add_argument(name, action="store_true")
    parser.add_argument("-o", default="")
    parser.add_argument("-w", default="")
    parser.add_argument("-H", action="append", default=[])
    parser.add_argument("-X", default="GET")
    parser.add_argument("url")
    said = parser.parse_args()
    calls = [partial(ask, said, url) for url in urls(said.url)]
    for text in together(calls) if said.Z else (call() for call in calls):
        sys.stdout.write(text)


def together(calls: list[Callable[[], str]]) -> Iterator[str]:
    """What comes of calls that are made at once, as it comes."""
    with ThreadPoolExecutor(len(calls)) as pool:
        yield from (done.result() for done in as_completed([pool.submit(call) for call in calls]))


def urls(pattern: str) -> list[str]:
    """The URLs that a range stands for."""
    found = RANGE.search(pattern)
    if found is None:
        return [pattern]
    numbers = range(int(found[1]), int(found[2]) + 1)
    return [pattern.replace(found[0], str(number)) for number in numbers]


def ask(said: argparse.Namespace, url: str) -> str:
    """What curl would print."""
    host, _, path = url.removeprefix("http://").partition("/")
    begun = time.monotonic()
    line = HTTPConnection(host.replace("localhost", "127.0.0.1"), timeout=60)
    headers = dict(one.split(": ", 1) for one in said.H)
    line.request(said.X, f"/{path}", headers=headers)
    answer = line.getresponse()
    body = answer.read()
    line.close()
    told = {
        "http_code": str(answer.status),
        "size_download": str(len(body)),
        "time_total": f"{time.monotonic() - begun:.6f}",
    }
    head = [f"HTTP/1.1 {answer.status} {answer.reason}"]
    head += [f"{name}: {value}" for name, value in answer.getheaders()]
    shown = "\r\n".join([*head, "", ""]) if said.i else ""
    shown += "" if said.o else body.decode()
    return shown + re.sub(r"%\{(\w+)\}", lambda found: told[found[1]], said.w)


if __name__ == "__main__":
    main()
