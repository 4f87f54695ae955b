"""The page opens from a disk, draws, and takes no name of a stranger for anything but text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("plotly")

from headgate.replay.page import page
from tests.replay.truth import run, traffic, written
from tests.servers.browser import Browser
from tests.servers.fixtures import running

HOSTILE = '</script><img src=x onerror="document.title=1">'
OLD = "rules: [{name: one, key: client.ip, limit: 2/s}]"
NEW = "rules: [{name: one, key: client.ip, limit: 1/s}, {name: all, limit: 2/s, mode: shadow}]"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser."""
    yield from running(lambda: nullcontext(Browser()))


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A report in which strangers wrote what they liked."""
    log = written(tmp_path_factory.mktemp("logs") / "a.log", traffic(800))
    with log.open("a") as opened:
        opened.write(f"{HOSTILE}\n")
    found = run([log], OLD, NEW)
    found["rules"]["rules"][0]["top"][0]["key"] = HOSTILE
    found["rules"]["rules"][0]["heat"]["rows"][0]["key"] = HOSTILE
    found["diff"]["keys"][0]["key"] = HOSTILE
    found["rules"]["file"] = HOSTILE
    return found


def test_names_of_strangers_are_text(report: dict[str, Any]) -> None:
    made = page(report)
    # Plotly's own script is none of theirs.
    ours = re.sub(r"<script>.*?</script>", "", made, flags=re.DOTALL)

    assert "<img" not in ours
    assert ours.count("&lt;/script&gt;&lt;img src=x onerror=&quot;document.title=1&quot;&gt;") >= 4
    assert made.count("\\u003c/script>\\u003cimg src=x") >= 3


def test_nothing_is_fetched(report: dict[str, Any]) -> None:
    ours = re.sub(r"<script>.*?</script>", "", page(report), flags=re.DOTALL)

    assert re.findall(r"""(?:src|href)\s*=\s*["']?(?!data:|x on)[^"'\s>]+""", ours) == []
    assert "default-src 'none'" in ours


def test_a_browser_draws_it_from_a_disk(
    report: dict[str, Any], browser: Browser, tmp_path: Path
) -> None:
    file = tmp_path / "page.html"
    file.write_text(page(report), encoding="utf-8")

    seen = browser.load(file.as_uri())

    body = seen.partition("<body")[2]
    assert 'data-drawn="yes"' in body
    charts = re.findall(r'data-chart="([\w.]+)"', body)
    assert charts == [
        "diff.timeline", "diff.keys", "rules.timeline", "rules.0.timeline", "rules.0.top",
        "rules.0.heat", "against.timeline", "against.0.timeline", "against.0.top",
        "against.0.heat", "against.1.timeline", "against.1.top", "against.1.heat",
    ]  # fmt: skip
    assert body.count('class="main-svg"') >= 2 * len(charts)
    assert "<title>1</title>" not in seen
    # The script of the page is data and not a part of it.
    assert "<img src=x" not in re.sub(r"<script.*?</script>", "", body, flags=re.DOTALL)
