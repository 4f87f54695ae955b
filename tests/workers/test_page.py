"""The page at the admin: its files, who is let in, and what no other page can make it do."""

from __future__ import annotations

import asyncio
import json
import re

import pytest

from headgate.clock import ManualClock
from headgate.dashboard import charts, shelf
from headgate.workers.porter import Porter
from headgate.workers.question import Question
from tests.workers.test_admin import BEARER, NEAR, TOKEN, Office, request, talk

OWN = "Origin: http://localhost:9901"
PAGE = "Headgate-Page: 1"
COOKIE = f"Cookie: other=1; {Porter(TOKEN).cookie().partition(';')[0]}"


@pytest.mark.parametrize(
    ("line", "headers", "status", "deeds"),
    [
        # The page has a cookie, its own origin, and says that it is the page.
        ("GET /status", (NEAR, COOKIE), 200, []),
        ("GET /status", (NEAR, COOKIE, "Sec-Fetch-Site: same-origin"), 200, []),
        ("POST /drain", (NEAR, COOKIE, OWN, PAGE), 202, ["drain"]),
        ("POST /drain", (NEAR, COOKIE, OWN.upper(), PAGE), 202, ["drain"]),
        # Another page makes its browser send the cookie.
        ("POST /drain", (NEAR, COOKIE, "Origin: https://evil.example", PAGE), 403, []),
        ("POST /drain", (NEAR, COOKIE, "Origin: http://localhost:8080", PAGE), 403, []),
        ("POST /drain", (NEAR, COOKIE, "Origin: null", PAGE), 403, []),
        ("POST /drain", (NEAR, COOKIE, OWN), 403, []),
        ("POST /drain", (NEAR, COOKIE, OWN, "Headgate-Page: 0"), 403, []),
        ("POST /drain", (NEAR, COOKIE, PAGE), 403, []),
        ("POST /drain", (NEAR, COOKIE), 403, []),
        ("GET /status", (NEAR, COOKIE, "Sec-Fetch-Site: same-site"), 403, []),
        ("GET /events", (NEAR, COOKIE, "Sec-Fetch-Site: cross-site"), 403, []),
        ("GET /status", ("Host: evil.example", COOKIE), 403, []),
        # A cookie that is none, and a page that does not have one yet.
        ("GET /status", (NEAR, COOKIE[:-1]), 401, []),
        ("GET /status", (NEAR, re.sub(r"=(\d)", r"=9\1", COOKIE)), 401, []),
        ("GET /status", (NEAR, f"Cookie: {Porter(TOKEN).name}=."), 401, []),
        ("GET /events", (NEAR,), 401, []),
        ("POST /trial", (NEAR, OWN, PAGE), 401, []),
        # A wrong token is not made good by a cookie.
        ("GET /status", (NEAR, COOKIE, BEARER + "x"), 401, []),
        # What anybody here may have.
        ("GET /", (NEAR,), 200, []),
        ("GET /page.js", (NEAR,), 200, []),
        ("GET /favicon.ico", (NEAR,), 200, []),
        ("GET /session", (NEAR,), 200, []),
        ("POST /login", (NEAR, "Origin: https://evil.example"), 403, []),
        ("POST /logout", (NEAR, "Origin: https://evil.example"), 403, []),
        ("GET /", ("Host: evil.example",), 403, []),
        ("PUT /", (NEAR,), 405, []),
        ("GET /?x", (NEAR,), 401, []),
    ],
)
def test_only_the_page_that_stands_here_may_change_anything(
    line: str, headers: tuple[str, ...], status: int, deeds: list[str]
) -> None:
    office = Office()

    said = talk(office, request(line, *headers))

    assert (int(said.split()[1]), office.deeds) == (status, deeds)


def test_a_form_with_the_token_gets_a_cookie_that_holds_for_whoever_has_the_token_later() -> None:
    said = talk(Office(), request("POST /login", NEAR, OWN, body=f"token={TOKEN}"))

    found = re.search(r"set-cookie: ((headgate-[0-9a-f]{12})=\S+); (.*)\r\n", said)
    assert said.startswith("HTTP/1.1 303 ")
    assert found is not None
    assert found[3] == "Max-Age=43200; Path=/; HttpOnly; SameSite=Strict"
    # An admin that was started anew, with the same token and with another.
    assert talk(Office(), request("GET /status", NEAR, f"Cookie: {found[1]}")).startswith(
        "HTTP/1.1 200 "
    )
    assert TOKEN not in said
    assert found[2] != Porter(TOKEN + "x").name


def test_a_cookie_holds_for_half_a_day() -> None:
    clock = ManualClock(1_000.0)
    porter = Porter(TOKEN, clock)
    value = porter.cookie().partition(";")[0].partition("=")[2]

    held = porter.valid(value)
    clock.advance(12 * 3600)

    assert (held, porter.valid(value)) == (True, False)


def test_who_logs_out_has_no_cookie_any_more() -> None:
    said = talk(Office(), request("POST /logout", NEAR, COOKIE, OWN))

    name = Porter(TOKEN).name
    assert f"set-cookie: {name}=; Max-Age=0; Path=/; HttpOnly; SameSite=Strict\r\n" in said


def test_who_guesses_at_the_token_has_to_wait_and_a_right_guess_is_none_then() -> None:
    clock = ManualClock(1_000.0)
    porter = Porter(TOKEN, clock)

    waits = [porter.login("guess") for _ in range(20)]
    locked = porter.login(TOKEN)
    clock.advance(6.0)

    assert waits == [*[1.0] * 19, 6.0]
    assert locked == 6.0
    assert porter.login(TOKEN) == 0.0


def test_programs_with_a_wrong_token_are_told_so_ever_more_slowly() -> None:
    porter = Porter(TOKEN, ManualClock(1_000.0))

    assert [porter.stray() for _ in range(31)] == [*[0.0] * 30, 1.0]


def test_a_file_of_the_page_may_load_nothing_from_elsewhere_and_stands_in_no_other_page() -> None:
    head, _, body = talk(Office(), request("GET /", NEAR)).partition("\r\n\r\n")

    leaf = shelf.find("/")
    assert leaf is not None
    assert head.splitlines() == [
        "HTTP/1.1 200 OK",
        "content-type: text/html; charset=utf-8",
        f"content-length: {len(leaf.body)}",
        "cache-control: no-cache",
        f"etag: {leaf.tag}",
        "content-security-policy: default-src 'self'; base-uri 'none'; form-action 'self'; "
        "frame-ancestors 'none'; object-src 'none'",
        "referrer-policy: no-referrer",
        "x-frame-options: DENY",
        "cross-origin-opener-policy: same-origin",
        "x-content-type-options: nosniff",
        "cross-origin-resource-policy: same-origin",
        "connection: close",
    ]
    assert body.startswith("<!doctype html>")


def test_a_browser_that_has_a_file_is_not_sent_it_again() -> None:
    leaf = shelf.find("/page.css")
    assert leaf is not None

    said = talk(Office(), request("GET /page.css", NEAR, f"If-None-Match: {leaf.tag}"))

    assert said.startswith("HTTP/1.1 304 Not Modified\r\ncache-control: no-cache\r\n")
    assert said.endswith("\r\n\r\n")


def test_no_file_of_the_page_has_what_its_policy_forbids_or_goes_anywhere_else() -> None:
    for path in sorted(shelf.FOLDER.iterdir()):
        text = path.read_text("utf-8")
        for pattern in (
            r"https?://(?!www\.w3\.org/2000/svg)", r"innerHTML|outerHTML|insertAdjacentHTML",
            r"document\.write|eval\(|new Function", r"<[^>]+ on[a-z]+=", r"<[^>]+ style=|<style",
            r"<script(?! (?:type=\"module\" )?src=)", r"@import|url\(",
        ):  # fmt: skip
            assert not re.search(pattern, text), (path.name, pattern)


def test_without_its_library_the_page_is_told_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(charts, "script", lambda: None)

    assert charts.told() == {
        "charts": False,
        "install": 'pip install "headgate[dashboard]"',
        "styles": [],
    }


def test_the_library_comes_from_the_package_that_is_installed() -> None:
    pytest.importorskip("plotly")
    script, leaf = charts.script(), shelf.find("/plotly.js")

    assert script is not None
    assert leaf is not None
    assert leaf.body == script.read_bytes()
    assert leaf.kind == "text/javascript; charset=utf-8"
    assert charts.told()["styles"][-1] == "plotly.js-style-global"


@pytest.mark.parametrize(
    ("line", "body", "status", "deeds", "said"),
    [
        ("POST /peek", {"rule": "api", "key": "ada"}, 200, ["peek ada at api"], {"key": "ada"}),
        ("POST /reset", {"rule": "api", "key": "ada"}, 200, ["reset ada at api"], {"key": "ada"}),
        (
            "POST /reset", {"rule": "none", "key": "ada"}, 404, ["reset ada at none"],
            {"status": "not found", "problems": ["no rule"]},
        ),
        ("POST /peek", {"rule": 7}, 400, [], {"status": "bad request"}),
        ("POST /peek", [1], 400, [], {"status": "bad request"}),
        ("POST /trial", {"rule": None}, 200, ["try {'rule': None}"], {"status": "ok"}),
        (
            "POST /simulate", {"kind": "no"}, 422, [],
            {"status": "bad question", "problems": [
                "kind: is steady, visitors, bursts, edges, surge, not no"
            ]},
        ),
        (
            "POST /simulate", {"mean": 10**400}, 422, [],
            {"status": "bad question", "problems": [f"mean: is a number, not 1{'0' * 59}"]},
        ),
        ("GET /rules", None, 200, [], {"rules": [{"name": "api", "rule": {}}]}),
        ("GET /session", None, 200, [], {"known": True}),
    ],
)  # fmt: skip
def test_what_the_page_asks_for_is_done(
    line: str, body: object, status: int, deeds: list[str], said: object
) -> None:
    office = Office()
    text = "" if body is None else json.dumps(body)

    answer = talk(office, request(line, NEAR, BEARER, body=text))

    assert int(answer.split()[1]) == status
    assert json.loads(answer.partition("\r\n\r\n")[2]) == said
    assert office.deeds == deeds


def test_what_is_wrong_with_a_rule_to_be_tried_is_told() -> None:
    office = Office()
    office.problems = ("limit: no", "key: no")

    said = talk(office, request("POST /trial", NEAR, BEARER, body='{"text": "x"}'))

    assert said.startswith("HTTP/1.1 422 ")
    assert json.loads(said.partition("\r\n\r\n")[2]) == {
        "status": "bad rule",
        "problems": ["limit: no", "key: no"],
    }


def test_a_body_that_is_no_json_is_not_understood() -> None:
    assert talk(Office(), request("POST /peek", NEAR, BEARER, body="{")).startswith("HTTP/1.1 400 ")


def test_cookies_are_read_as_browsers_send_them() -> None:
    question = Question()
    question.feed(
        b"GET /events?since=a-1&since=b-2 HTTP/1.1\r\nCookie: a=1;b=2\r\nCookie: b=3\r\n\r\n"
    )

    assert question.cookies == {"a": "1", "b": "2"}
    assert (question.path, question.options) == ("/events", {"since": "b-2"})


def test_a_body_may_come_in_parts() -> None:
    async def converse() -> Question:
        reader = asyncio.StreamReader()
        reader.feed_data(b"POST /login HTTP/1.1\r\nContent-Length: 7\r\n\r\ntok")
        reader.feed_data(b"en=")
        reader.feed_data(b"x")
        return await Question.read(reader)

    assert asyncio.run(converse()).form() == {"token": "x"}
