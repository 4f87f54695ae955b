"""`headgate top`: what a gateway does, as its readings tell, and nothing that strangers wrote."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("click")
pytest.importorskip("rich")

from click.testing import CliRunner, Result
from rich.console import Console

from headgate.cli.program import program
from headgate.cli.top.line import Line, Unreachable
from headgate.cli.top.picture import picture
from headgate.cli.top.screen import watch
from headgate.cli.top.track import Pace, Track, told
from headgate.cli.top.words import PLAIN, headline, heavies, refusals, short, spark, troubles
from headgate.rules.model.rules import Rules
from headgate.telemetry.survey import blank
from tests.servers.waiting import until
from tests.workers.process import TOKEN, Process

RULES = f"""\
version: 1
rules: [{{name: shut, deny: true}}]
gateway:
  listen: ["127.0.0.1:0", "unix:FOLDER/web.sock"]
  admin: {{listen: "127.0.0.1:0", token: {TOKEN}}}
  routes: [{{upstream: "http://127.0.0.1:9000"}}]
"""
RULE = {
    "mode": "enforce", "rollout": 100.0, "key": "client.ip", "terms": ["5/min"], "allowed": 0,
    "delayed": 0, "refused": 0, "failed_open": 0, "failed_closed": 0, "shadowed": 0, "near": 0,
    "units_allowed": 0, "units_refused": 0, "waited": 0.0, "sampled": 0, "wrong": 0, "limit": None,
    "inside": 0, "waiting": 0, "queue": 0, "breaker": "",
}  # fmt: skip
WORKER = {
    "slot": 0, "pid": 7, "up": True, "start": 0.0, "restarts": 0, "connections": 3, "requests": 0,
}  # fmt: skip
REFUSAL = {
    "time": "2026-11-19T04:26:55.366749+00:00", "decision": "73a0", "rule": "login",
    "kind": "limit", "status": 429, "client": "192.0.2.4", "method": "POST", "host": "a.example",
    "path": "/login", "key": "ada", "reason": "", "remaining": 0, "retry_after": 1.0,
    "shadow": False,
}  # fmt: skip
HOSTILE = "\x1b[2J\x1b]0;mine\x07[red]\u202eevil"


def reading(at: float = 0.0, /, **rules: Any) -> Any:
    """A reading of a gateway with these rules, each as it differs from one that did nothing."""
    found: Any = blank(Rules([]), "gateway", round(at * 1e6))
    found |= {"version": "6e1f0000aaaabbbb", "workers": [dict(WORKER)]}
    found["rules"] = {name: {**RULE, **one} for name, one in rules.items()}
    return found


def full() -> Any:
    """A reading with more of everything than fits."""
    found = reading(1.0, **{f"rule{n}": {"refused": n, "allowed": 5 * n} for n in range(30)})
    heavy = [{"key": f"key{n}", "asked": 90 + n, "refused": n, "error": 0} for n in range(20)]
    found["top"] = {"rule1": {"span": 9.0, "total": 99, "asked": heavy, "refused": heavy}}
    found["refusals"] = [dict(REFUSAL)] * 50
    return found


def drawn(one: Any, before: Any = None, width: int = 80, height: int = 24) -> list[str]:
    """The picture as lines."""
    track = Track()
    if before is not None:
        track.note(before)
    console = Console(file=io.StringIO(), width=width, height=height, color_system=None)
    with console.capture() as captured:
        console.print(picture(console, track.note(one), height=height))
    return captured.get().splitlines()


@pytest.mark.parametrize(
    ("before", "after", "pace"),
    [
        ({}, {}, Pace(0.0, 0.0, 0.0)),
        ({"allowed": 5, "refused": 1}, {"allowed": 9, "refused": 4}, Pace(2.0, 1.5, 0.0)),
        ({}, {"delayed": 2, "failed_open": 2, "failed_closed": 4}, Pace(2.0, 2.0, 0.0)),
        ({"shadowed": 1}, {"shadowed": 2}, Pace(0.0, 0.0, 0.5)),
        # It has begun anew, and counts from nought.
        ({"allowed": 50}, {"allowed": 4}, Pace(0.0, 0.0, 0.0)),
    ],
)
def test_a_pace_is_the_difference_of_two_readings(
    before: dict[str, int], after: dict[str, int], pace: Pace
) -> None:
    track = Track()
    track.note(reading(10.0, api=before))

    glance = track.note(reading(12.0, api=after))

    assert (glance.seconds, glance.paces, glance.total) == (2.0, {"api": pace}, pace)


def test_rules_that_come_and_go_are_no_jumps() -> None:
    track = Track()
    track.note(reading(0.0, old={"allowed": 9}))

    glance = track.note(reading(1.0, new={"allowed": 900}))

    assert (glance.paces, [*glance.trends]) == ({"new": Pace()}, ["new"])


def test_two_readings_of_one_moment_say_nothing_of_a_pace() -> None:
    track = Track()
    track.note(reading(1.0, api={}))

    glance = track.note(reading(1.0, api={"allowed": 5}))

    assert (glance.seconds, glance.past) == (0.0, ())
    assert told(glance)["rates"] == {}


@pytest.mark.parametrize(
    ("numbers", "steps", "line"),
    [
        ((), "", "    "),
        ((0.0, 0.0), "", "    "),
        ((0.0, 1.0, 4.0, 8.0), "", " ▁▄█"),
        ((9.0, 0.01, 4.0, 8.0, 4.0), "", "▁▄█▄"),
        ((0.0, 4.0, 8.0), PLAIN, "  =@"),
    ],
)
def test_a_spark_is_as_high_as_its_numbers(
    numbers: tuple[float, ...], steps: str, line: str
) -> None:
    assert spark(numbers, 4, *([steps] if steps else [])) == line


@pytest.mark.parametrize(
    ("number", "words"),
    [(0, "0"), (9_999, "9999"), (12_345, "12.3k"), (123_456, "123k"), (1_234_567, "1.2M"),
     (5e9, "5.0G")],
)  # fmt: skip
def test_a_number_has_at_most_six_signs(number: float, words: str) -> None:
    assert short(number) == words


def test_the_head_says_who_is_asked_and_how_it_does() -> None:
    one = reading()
    one["store"] |= {"url": "shared://web", "keys": 25, "capacity": 100}
    one["workers"].append({**WORKER, "up": False, "restarts": 2, "connections": 0})

    assert headline(one) == [
        "headgate gateway", "rules 6e1f0000aaaa", "1 of 2 workers", "shared://web 25% full",
        "2 restarts", "3 connections",
    ]  # fmt: skip


def test_what_is_wrong_is_said_the_worst_first() -> None:
    one = reading(api={"breaker": "open"})
    one["store"] |= {"degraded": True, "degraded_seconds": 12.4}
    alert = {"name": "many", "kind": "refused", "rule": "api", "level": "raised", "since": 1.0,
             "value": 0.3, "threshold": 0.2}  # fmt: skip
    one["alerts"] = [alert, {**alert, "level": "ok"}]
    one["reload"]["problems"] = ["rules.yaml:2: what?", "more"]

    assert [*troubles(one)] == [
        "the store cannot be asked, for 12 s in all",
        "many: refused by api, 0.3 above 0.2",
        "new rules are bad, the old ones go on: rules.yaml:2: what?",
        "the breaker of api is open",
    ]


def test_the_latest_refusals_are_a_line_each() -> None:
    one = reading()
    one["refusals"] = [
        REFUSAL,
        {**REFUSAL, "key": "192.0.2.4", "shadow": True},
        {**REFUSAL, "method": "", "host": "", "path": "", "client": ""},
    ]

    assert refusals(one, 9) == [
        "04:26:55 429    login POST a.example/login from 192.0.2.4 (ada)",
        "04:26:55 shadow login POST a.example/login from 192.0.2.4",
        "04:26:55 429    login (ada)",
    ]


def test_keys_that_were_refused_come_before_those_that_only_asked() -> None:
    one = reading()
    ada, grace = ({"key": key, "asked": 9, "refused": 0, "error": 0} for key in ("ada", "grace"))
    ada["refused"] = 3
    one["top"] = {"api": {"span": 1.0, "total": 18, "asked": [grace, ada], "refused": [ada]}}

    assert heavies(one, 5) == [("api", "ada", 9, 3), ("api", "grace", 9, 0)]
    assert heavies(one, 1) == [("api", "ada", 9, 3)]


@pytest.mark.parametrize(("width", "height"), [(80, 24), (80, 12), (40, 24), (200, 60)])
def test_the_picture_fits_into_the_terminal(width: int, height: int) -> None:
    lines = drawn(full(), width=width, height=height)

    assert len(lines) <= height
    assert max(map(len, lines)) <= width
    assert lines[-1] == "q ends it"


def test_in_a_small_terminal_there_is_something_of_everything_and_the_busiest_rules() -> None:
    before, after = full(), full()
    after["at"] += 1.0
    after["rules"]["rule7"]["refused"] += 50

    said = "\n".join(drawn(after, before))

    assert "refused      50.0/s" in said
    assert re.search(r"^rule7 +5/min +0\.0 +50\.0 +35 +57$", said, re.MULTILINE)
    assert re.search(r"^and \d+ more", said, re.MULTILINE)
    assert re.search(r"^key19 +rule1 +109 +19$", said, re.MULTILINE)
    assert "04:26:55 429    login POST a.example/login from 192.0.2.4 (ada)" in said


def test_what_strangers_wrote_moves_no_cursor_and_is_no_markup() -> None:
    one = reading(0.0, **{HOSTILE: {"terms": [HOSTILE]}})
    one["store"]["url"] = HOSTILE
    one["reload"]["problems"] = [HOSTILE]
    one["top"] = {
        HOSTILE: {"span": 1.0, "total": 1, "refused": [],
                  "asked": [{"key": HOSTILE, "asked": 1, "refused": 1, "error": 0}]}
    }  # fmt: skip
    one["refusals"] = [{**REFUSAL, **dict.fromkeys(("path", "host", "client", "method"), HOSTILE)}]

    said = "".join(drawn(one, width=300))

    assert said.count("?[2J?]0;mine?[red]?evil") >= 8
    assert said.isprintable()


def test_who_goes_away_is_asked_again_until_it_is_back() -> None:
    answers: list[Any] = [Unreachable("it does not answer"), reading(3.0, api={"allowed": 6})]

    class Gone(Line):
        def read(self) -> Any:
            answer = answers.pop(0)
            if isinstance(answer, Unreachable):
                raise answer
            return answer

    console = Console(
        file=io.StringIO(), force_terminal=True, width=80, height=24, color_system=None
    )
    watch(console, Gone("127.0.0.1:1", ""), reading(0.0, api={}), lambda: not answers)

    assert isinstance(console.file, io.StringIO)
    frames = console.file.getvalue().split("headgate gateway")[1:]
    assert [("it does not answer; trying again" in one, "2.0/s" in one) for one in frames] == [
        (False, False), (True, False), (False, True),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"HTTP/1.1 401 Unauthorized\r\n\r\n", "ADDRESS does not know this token; write the "
         "admin's into a file, and say --token-file FILE"),
        (b"HTTP/1.1 404 Not Found\r\n\r\n", "ADDRESS has no readings; is it the admin of a gateway "
         "or a service of this version?"),
        (b"HTTP/1.1 500 Oh\r\n\r\n", "ADDRESS does not answer: it says 500"),
        (b"HTTP/1.1 200 OK\r\n\r\n[]", "ADDRESS does not answer: what it says is no reading"),
        (b"", "ADDRESS does not answer: Remote end closed connection without response"),
    ],
)  # fmt: skip
def test_an_answer_that_is_no_reading_is_said(answer: bytes, said: str) -> None:
    with answering(answer) as address:
        result = top(address)
        plain = top(address, "--json")

    message = said.replace("ADDRESS", address)
    assert (result.exit_code, result.stderr) == (1, f"headgate: {message}\n")
    assert (plain.exit_code, json.loads(plain.stdout)) == (1, {"problem": message})


@pytest.mark.parametrize(
    "address", ["127.0.0.1", "https://127.0.0.1:9901", "127.0.0.1:0", ":9901", "http://a:1/x"]
)
def test_an_address_that_is_none_is_refused(address: str) -> None:
    result = top(address)

    assert (result.exit_code, result.stderr.splitlines()[-1]) == (
        2,
        f"Error: Invalid value for '[ADDRESS]': \"{address}\" is no address of an admin; write one "
        "such as http://127.0.0.1:9901 or unix:/run/headgate/admin.sock",
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "No such file or directory"),
        (b"", "there is no token in it"),
        (b"a\nb", "there is no token in it"),
        (b"\xff", "is no text"),
    ],
)
def test_a_token_that_is_none_is_refused_and_not_shown(
    text: bytes | None, said: str, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    if text is not None:
        file.write_bytes(text)

    result = top("127.0.0.1:1", "--token-file", str(file))

    assert (result.exit_code, result.stderr.splitlines()[-1]) == (
        2,
        f"Error: Invalid value for '--token-file' (env var: 'HEADGATE_TOKEN_FILE'): {file}: {said}",
    )


def test_a_gateway_is_watched_in_a_pipe_in_json_and_live(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text(f"{TOKEN}\n")
    with Process(RULES) as process:
        refuse(process)
        words = [f"127.0.0.1:{process.admin}", "--token-file", str(token), "--every", "0.1"]
        piped, plain = top(*words), top(*words, "--json", "--once")
        with terminal(*words) as (screen, ended):
            until(lambda: re.search(r"shut.*deny.* 1\b", screen()), "the rule and its refusal")
            assert ended(b"xq") == 0
            # It is told NO_COLOR.
            assert re.search(r"\x1b\[[0-9;]*m", screen()) is None

    assert (piped.exit_code, plain.exit_code) == (0, 0)
    assert re.search(r"^shut +deny +0\.0 +0\.0 +0 +1$", piped.stdout, re.MULTILINE)
    said = json.loads(plain.stdout)
    assert said["rates"] == {"shut": {"allowed": 0.0, "refused": 0.0, "shadowed": 0.0}}
    assert said["reading"]["rules"]["shut"]["refused"] == 1


def top(*words: str) -> Result:
    return CliRunner().invoke(program, ["top", *words])


def refuse(process: Process) -> None:
    """Have a request refused."""
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(process.folder / "web.sock"))
        client.sendall(b"GET / HTTP/1.1\r\nhost: a.example\r\nconnection: close\r\n\r\n")
        assert b"403" in client.recv(65_536)


@contextmanager
def answering(answer: bytes) -> Iterator[str]:
    """An address where whoever asks gets this answer."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    client, _ = server.accept()
                    with closing(client):
                        client.recv(65_536)
                        client.sendall(answer)

        threading.Thread(target=serve, daemon=True).start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)


@contextmanager
def terminal(*words: str) -> Iterator[Any]:
    """`headgate top` in a terminal: what it has shown, and how it ends when keys are pressed."""
    mine, theirs = pty.openpty()
    shown = bytearray()
    process = subprocess.Popen(
        [sys.executable, "-m", "headgate.cli", "top", *words],
        stdin=theirs, stdout=theirs, stderr=theirs,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "80", "LINES": "24", "NO_COLOR": "1"},
    )  # fmt: skip
    os.close(theirs)

    def read() -> None:
        with suppress(OSError):
            while data := os.read(mine, 65_536):
                shown.extend(data)

    def end(keys: bytes) -> int:
        os.write(mine, keys)
        return process.wait(20)

    threading.Thread(target=read, daemon=True).start()
    try:
        yield lambda: deepcopy(shown).decode(errors="replace"), end
    finally:
        process.kill()
        process.wait(20)
        os.close(mine)
