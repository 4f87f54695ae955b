"""Signals are obeyed under load: who is not under way where something is killed does not notice.

To read many rules takes a while, in which others may be written that take no time at all; what was
written last is in force in the end.
"""

from __future__ import annotations

import os
import signal
import time
from typing import NamedTuple

import pytest

from headgate.rules.model.rules import Rules
from tests.realtime.conftest import Figures
from tests.realtime.origin import Origin, plan
from tests.servers.waiting import until
from tests.workers.load import Load
from tests.workers.process import Process, gone

MANY = 300
NOWHERE = "http://127.0.0.1:9"
# For each unit of scale; and where there is little time.
PAIRS, ROUNDS, BRIEF = 8, 2, 3
# Clients of each kind, and how many answers they wait for after each signal.
CLIENTS, ENOUGH = 4, 50


class Tale(NamedTuple):
    """What clients saw of all but the last signal, and of the last; and how many were answered."""

    troubles: list[str]
    last: list[str]
    answers: int


@pytest.mark.serial
def test_of_two_signals_the_later_one_counts() -> None:
    assert overtaken(BRIEF) == []


@pytest.mark.realtime
def test_of_two_signals_the_later_one_counts_however_long_the_earlier_takes(scale: int) -> None:
    assert overtaken(PAIRS * scale) == []


def test_signals_are_obeyed_under_load() -> None:
    hold(signalled(1), 1)


@pytest.mark.realtime
def test_signals_are_obeyed_again_and_again(scale: int, figures: Figures) -> None:
    rounds = ROUNDS * scale
    tale = signalled(rounds)
    figures(rounds=rounds, answers=tale.answers, cut_by_kill=len(tale.troubles))

    hold(tale, rounds)


def hold(tale: Tale, rounds: int) -> None:
    """Only who asked a worker when it was killed was not answered, and nobody got half of it."""
    assert len(tale.troubles) <= 2 * CLIENTS * rounds
    assert [said for said in tale.troubles + tale.last if half(said)] == []


def half(said: str) -> bool:
    """Whether it is a trouble that nobody may have, whatever happens."""
    return "Incomplete" in said or "Assertion" in said or "Timeout" in said


def signalled(rounds: int) -> Tale:
    """All signals in turn, so many times, and the last one."""
    with (
        Origin(work=0.005) as origin,
        Process(text(0, url=origin.url), "--workers", "2", "--watch", "0") as process,
        Load(process.port, CLIENTS, CLIENTS) as load,
    ):
        troubles: list[str] = []
        for number in range(1, rounds + 1):
            write(process, text(number, url=origin.url))
            until(lambda: obeyed(process), "the rules to be in force")
            served(load)
            process.succeed()
            served(load)
            # Up to here nobody has noticed anything.
            assert load.troubles == troubles
            fell(process, number % 2)
            served(load)
            troubles = list(load.troubles)
        process.signal(signal.SIGTERM)
        until(lambda: gone(process.pid), "the end")
    return Tale(troubles, load.troubles[len(troubles) :], load.answers)


def served(load: Load) -> None:
    """Wait for some answers more."""
    answers = load.answers
    until(lambda: load.answers > answers + ENOUGH, "answers")


def fell(process: Process, slot: int) -> None:
    """Kill a worker, and wait until another stands there."""
    fallen = process.workers[slot]["pid"]
    os.kill(fallen, signal.SIGKILL)
    until(lambda: process.workers[slot].get("pid", fallen) != fallen, "another worker")
    until(lambda: process.workers[slot]["up"], "it to serve")


def overtaken(pairs: int) -> list[str]:
    """When the later of two signals did not count, of so many."""
    wrong = []
    with Process(text(0), "--workers", "1", "--watch", "0") as process:
        begin = time.monotonic()
        write(process, text(0, MANY))
        until(lambda: "rules were read again" in process.log, "rules to be read again")
        took = time.monotonic() - begin
        for number in range(1, pairs + 1):
            # Up to the half of it the master reads, and then its worker.
            share = 0.4 + 0.6 * number / (pairs + 1)
            write(process, text(number, MANY))
            time.sleep(share * took)
            write(process, text(number))
            until(lambda: obeyed(process), "the later one to count")
            settle(process, 2 * took)
            if not obeyed(process):
                wrong.append(f"after {share:.0%} of the time that it takes")
    return wrong


def text(number: int, many: int = 0, url: str = NOWHERE) -> str:
    """Rules like no others, and so many more."""
    more = ({"name": f"r-{one}", "match": {"path": f"/{one}"}, "deny": True} for one in range(many))
    return plan(
        {"name": "mark", "limit": f"{1_000_000 + number}/s"},
        *more,
        upstreams={"one": url},
        routes=[{"upstream": "one"}],
    )


def write(process: Process, said: str) -> None:
    """Exchange the rules, and say so."""
    beside = process.rules.with_suffix(".new")
    beside.write_text(said)
    os.replace(beside, process.rules)
    process.signal(signal.SIGHUP)


def obeyed(process: Process) -> bool:
    """Whether the rules that stand there are in force everywhere."""
    return bool(process.ask("GET /status").body["version"] == Rules.load(process.rules).digest)


def settle(process: Process, seconds: float) -> None:
    """Wait until it has had nothing to say for a while."""
    said, since = "", time.monotonic()
    while time.monotonic() - since < seconds:
        time.sleep(0.02)
        if process.log != said:
            said, since = process.log, time.monotonic()
