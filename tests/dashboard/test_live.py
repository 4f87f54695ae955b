"""A real browser opens the live page of a real gateway under traffic, and nobody touches a mouse.

The story is told in one go, because a browser and a gateway take seconds to start.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from tests.dashboard.traffic import HOSTILE, Traffic
from tests.servers.browser import Browser
from tests.servers.devtools import Tab
from tests.servers.fixtures import running
from tests.servers.ports import Port
from tests.workers.process import TOKEN, Process
from tests.workers.service import Service

pytest.importorskip("plotly")

RULES = """\
version: 1
rules:
  - {{name: api, match: {{path: "/v1/**"}}, key: header.x-api-key, limit: [5/min, 1000/day]}}
  - {{name: rest, limit: 100000/s}}
gateway:
  listen: "127.0.0.1:0"
  workers: 2
  admin: {{listen: "127.0.0.1:{admin}", token: {token}}}
  audit: {{file: FOLDER/audit}}
  routes: [{{upstream: "{url}"}}]
"""
# What the chart of all decisions was last drawn of.
DRAWN = "document.getElementById('chart-flow').dataset.last"
TRIAL = "key: header.x-api-key\nmatch: {path: /**}\nlimit: 1/h\n"
# As the page has it in its tables.
LEVEL = "(document.querySelector('#standing .level')?.textContent ?? '')"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser."""
    yield from running(lambda: nullcontext(Browser()))


def test_the_live_page_shows_what_happens_and_does_what_it_is_told(
    browser: Browser, tmp_path: Path
) -> None:
    port = Port()
    with Service() as service, Tab(browser) as tab:
        rules = RULES.format(token=TOKEN, url=service.url, admin=port.number)
        with Process(rules) as gateway, Traffic(gateway.port):
            enter_by_keyboard(tab, gateway.admin)
            charts_move_within_two_seconds(tab)
            hostile_names_are_inert(tab)
            a_trial_shows_what_it_would_have_cut(tab)
            a_key_is_lifted(tab)
            algorithms_are_played(tab)
            it_fits_by_day_and_by_night_and_on_a_narrow_screen(tab, tmp_path)
            # No answer was a surprise, but the one to a rule that is none.
            assert [one for one in tab.troubles if "422" not in one] == []
            first = tab.ask("document.getElementById('reload').textContent")
        tab.wait("document.body.dataset.state === 'lost'", "the page to see that nobody is there")
        assert "The connection is lost." in tab.ask("document.getElementById('lost').textContent")
        with Process(rules) as gateway, Traffic(gateway.port):
            # The cookie still holds: the token is the same.
            tab.wait("document.body.dataset.state === 'live'", "the page to come back")
            assert tab.ask("document.getElementById('lost').hidden")
            charts_move_within_two_seconds(tab)
            assert tab.ask("document.getElementById('reload').textContent") != first
        tab.listen()
    assert tab.complaints == []
    own = f"http://localhost:{port.number}/"
    assert [url for url in tab.asked if not url.startswith((own, "data:", "about:"))] == []


def enter_by_keyboard(tab: Tab, admin: int) -> None:
    tab.go(f"http://localhost:{admin}/")
    tab.wait("document.getElementById('entry')?.hidden === false", "the page to ask who is there")
    assert tab.ask("document.activeElement.id") == "token"
    tab.write(TOKEN)
    tab.press("Enter", 13, "\r")
    tab.wait("document.body.dataset.state === 'live'", "the page to be live")
    tab.wait("window.Plotly && document.querySelector('#chart-flow .main-svg')", "a chart")
    # The token is kept nowhere where a script could find it.
    assert tab.ask("document.cookie + JSON.stringify(localStorage)") == "{}"
    tab.ask("document.querySelector('.skip').focus()")
    tab.press("Enter", 13, "\r")
    tab.wait("document.activeElement.id === 'main'", "the keyboard to skip to the main part")
    reached = []
    for _ in range(7):
        tab.press("Tab", 9)
        reached.append(tab.ask("document.activeElement.id || document.activeElement.dataset.at"))
    assert reached == [
        "flow-rule",
        "flow-span",
        "reread",
        None,
        "rule api",
        "rule rest",
        "top-rule",
    ]
    assert tab.ask("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def charts_move_within_two_seconds(tab: Tab) -> None:
    tab.wait(DRAWN, "something to be drawn")
    # What the machine takes beside that is not the page's: one of three times is enough.
    assert any(moved(tab) < 2.0 for _ in range(3))
    assert tab.ask("document.querySelectorAll('#chart-flow .scatterlayer path').length") > 0


def moved(tab: Tab) -> float:
    """How long it takes until the chart is another one, in seconds."""
    before, began = tab.ask(DRAWN), time.monotonic()
    tab.wait(f"{DRAWN} !== {json.dumps(before)}", "the chart to move")
    return time.monotonic() - began


def hostile_names_are_inert(tab: Tab) -> None:
    look(tab, HOSTILE)
    text = tab.wait(f"document.querySelector('#standing .who') && {LEVEL}", "how it stands")
    assert re.fullmatch(r"api:1, 5/min\d of 5 left, .*", text)
    # A key that could be anything but a name is known by its digest.
    assert tab.ask("document.querySelector('#standing .who code').textContent").startswith("#")
    tab.ask("document.getElementById('trial-text').value = 'name: <img src=x onerror=alert(1)>'")
    tab.ask("document.getElementById('trial-form').requestSubmit()")
    problems = tab.wait("document.getElementById('trial-problems').textContent", "problems")
    assert "<img src=x onerror=alert(1)>" in problems
    assert "lacks" in problems or "does nothing" in problems or "name of letters" in problems
    rows = "document.getElementById('refusal-rows').textContent"
    tab.wait(f"{rows}.includes('/v1/<img src=x onerror=hit=1>')", "a refusal with a bad path")
    assert tab.ask("document.querySelectorAll('main img, main script, main style').length") == 0
    assert tab.ask("window.hit === undefined")


def a_trial_shows_what_it_would_have_cut(tab: Tab) -> None:
    tab.ask("document.getElementById('trial-text').focus()")
    tab.ask(f"document.getElementById('trial-text').value = {json.dumps(TRIAL)}")
    tab.ask("document.getElementById('trial-form').requestSubmit()")
    cut = "Number(document.getElementById('trial-cut')?.textContent ?? 0)"
    tab.wait(f"{cut} > 0", "the trial to have cut something")
    assert tab.ask("document.getElementById('trial-problems').hidden")
    names = tab.ask("document.getElementById('trial-result').textContent")
    assert "would have been refused" in names
    assert tab.wait("document.querySelector('#trial-result tbody tr')?.textContent", "whom")
    tab.ask("document.getElementById('trial-end').click()")
    tab.wait("document.getElementById('trial-end').disabled", "the end of the trial")


def a_key_is_lifted(tab: Tab) -> None:
    look(tab, "worn-out")
    tab.wait(f"{LEVEL}.includes('0 of 5 left')", "a key that has nothing left")
    tab.ask("document.getElementById('lift').focus()")
    tab.press("Enter", 13, "\r")
    tab.wait(f"/[1-5] of 5 left/.test({LEVEL})", "it to be lifted")
    said = tab.ask("document.getElementById('said').textContent")
    assert said == "worn-out is lifted at api: as if it had never been seen."


def algorithms_are_played(tab: Tab) -> None:
    tab.ask("document.getElementById('sim-rate').focus()")
    tab.press("Enter", 13, "\r")
    rows = "document.querySelectorAll('#sim-rows tr').length"
    tab.wait(f"{rows} === 6", "all algorithms")
    tab.wait("document.querySelectorAll('#sim-chart .barlayer .points').length === 12", "pictures")


def it_fits_by_day_and_by_night_and_on_a_narrow_screen(tab: Tab, folder: Path) -> None:
    paper = "getComputedStyle(document.body).backgroundColor"
    seen = []
    for scheme, width in (("light", 1440), ("dark", 1440), ("light", 400)):
        tab.dress(scheme, width)
        tab.wait(f"innerWidth === {width}", "the window to be so wide")
        assert tab.ask("document.documentElement.scrollWidth") == width
        tab.picture(folder / f"{scheme}-{width}.png")
        seen.append(tab.ask(paper))
    assert seen[0] == seen[2] != seen[1]
    tab.ask("document.getElementById('theme').click()")
    tab.ask("document.getElementById('theme').click()")
    assert tab.ask(paper) == seen[1]
    tab.dress()


def look(tab: Tab, key: str) -> None:
    """Look at a key at the rule."""
    tab.ask("document.getElementById('look-rule').value = 'api'")
    tab.ask("document.getElementById('look-key').focus()")
    tab.ask("document.getElementById('look-key').select()")
    tab.write(key)
    tab.press("Enter", 13, "\r")
