"""Four workers under the load of wrk: 100 a minute are 100 a minute."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from tests.examples.workers import SHOPS, shop

pytestmark = pytest.mark.realtime


@pytest.mark.parametrize("kind", SHOPS)
def test_a_hundred_a_minute_are_a_hundred_a_minute_under_load(kind: str) -> None:
    if shutil.which("wrk") is None:
        pytest.skip("there is no wrk here; apt-get install wrk brings it")
    with shop(kind, f"load-{kind}") as port:
        said = subprocess.run(
            ["wrk", "-t2", "-c32", "-d5s", f"http://127.0.0.1:{port}/api/hello"],
            capture_output=True, text=True, check=True, timeout=60,
        ).stdout  # fmt: skip

    asked = int(re.search(r"(\d+) requests in", said)[1])  # type: ignore[index]
    refused = int(re.search(r"Non-2xx or 3xx responses: (\d+)", said)[1])  # type: ignore[index]
    assert asked - refused == 100
    assert asked > 500
