"""Logs as they come: packed, cut off, out of order, several at once."""

from __future__ import annotations

import bz2
import gzip
import lzma
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.replay.contrast import Contrast
from headgate.replay.hits import Hit
from headgate.replay.run import spread
from headgate.rules import Rules
from tests.replay.truth import START, Ask, hit, judged, line, run, traffic, written

ONE = "rules: [{name: one, key: client.ip, limit: 4/s burst 8}]"


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_packed_logs_are_unpacked(pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    asks = [*traffic(300)]
    log = tmp_path / "a.log.packed"
    half = "".join(map(line, asks[:150])).encode(), "".join(map(line, asks[150:])).encode()
    # As `cat a.gz b.gz` makes them.
    log.write_bytes(pack(half[0]) + pack(half[1]))

    report = run([log], ONE)

    assert (report["requests"], report["files"][0]["flaw"]) == (300, "")


def test_of_a_packed_log_that_is_cut_off_the_beginning_is_read(tmp_path: Path) -> None:
    chance = random.Random(0)
    asks = [ask._replace(size=chance.randrange(10**6)) for ask in traffic(5000)]
    log = written(tmp_path / "a.log.gz", asks)
    log.write_bytes(log.read_bytes()[:-20_000])

    (read,) = run([log], ONE)["files"]

    assert 2000 < read["lines"] < 5000
    assert read["flaw"] == "ends in the middle of what was packed; what came before was read"


def test_of_a_packed_log_that_is_damaged_the_beginning_is_read(tmp_path: Path) -> None:
    log = written(tmp_path / "a.log.gz", traffic(5000))
    data = bytearray(log.read_bytes())
    # What was unpacked is not what was packed.
    data[-8:-4] = b"\xff" * 4
    log.write_bytes(data)

    (read,) = run([log], ONE)["files"]

    assert read["flaw"] == (
        "cannot be unpacked (Error -3 while decompressing data: incorrect data check); what came "
        "before was read"
    )
    assert 2000 < read["lines"] < 5000


def test_lines_out_of_order_are_put_in_order(tmp_path: Path) -> None:
    asks = [*traffic(3000)]
    chance = random.Random(1)
    shuffled = sorted(asks, key=lambda ask: ask.at + chance.randrange(20_000_000))
    log = written(tmp_path / "a.log", shuffled)

    report = run([log], ONE, slack=20.0)

    (read,) = report["files"]
    assert (read["disordered"], read["late"]) == (True, 0)
    assert (report["rules"]["refused"], hit(report)) == judged(asks, "4/s burst 8")


def test_what_is_too_late_counts_when_it_is_found(tmp_path: Path) -> None:
    # So many that the first are played before the late one is read.
    asks = [Ask(START + at * 1000, "::1") for at in range(20_000)]
    log = written(tmp_path / "a.log", [*asks, Ask(START, "::2")])

    report = run([log], ONE, slack=1.0)

    (read,) = report["files"]
    assert (read["late"], report["requests"], report["until"]) == (
        1, 20_001, "2025-10-09T08:53:39.999000Z"
    )  # fmt: skip


def test_several_logs_are_woven_into_one(tmp_path: Path) -> None:
    asks = [*traffic(3000)]
    logs = [written(tmp_path / f"{part}.log", asks[part::3]) for part in range(3)]

    report = run(logs, ONE)

    assert (report["rules"]["refused"], hit(report)) == judged(asks, "4/s burst 8")


def test_lines_of_one_stamp_can_be_spread_over_their_second(tmp_path: Path) -> None:
    log = written(
        tmp_path / "a.log", [Ask(START, "::1")] * 10 + [Ask(START + 1_000_000, "::1")] * 10
    )
    text = "rules: [{name: one, key: client.ip, limit: 10/s burst 1}]"

    as_it_is, apart = run([log], text), run([log], text, spread=True)

    assert (as_it_is["rules"]["refused"], apart["rules"]["refused"]) == (18, 0)
    assert (len(as_it_is["notes"]), apart["notes"]) == (1, [])


def test_stamps_of_the_end_in_whole_seconds_are_spread_as_well(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text(
        "".join(
            f'::1 [09/Oct/2025:08:53:{at // 10:02} +0000] "GET / HTTP/1.1" 200 0.{at % 7:03}\n'
            for at in range(100)
        )
    )
    form = '$remote_addr [$time_local] "$request" $status $request_time'
    text = "rules: [{name: one, key: client.ip, limit: 10/s burst 1}]"

    as_it_is, apart = run([log], text, form=form), run([log], text, form=form, spread=True)

    assert as_it_is["rules"]["refused"] > 50
    assert apart["rules"]["refused"] == 0
    assert (len(as_it_is["notes"]), apart["notes"]) == (1, [])


@given(st.lists(st.tuples(st.integers(0, 3_000), st.booleans(), st.integers(-1, 1_500))), st.data())
def test_whoever_is_spread_keeps_to_the_order_of_time(
    rows: list[tuple[int, bool, int]], data: st.DataObject
) -> None:
    hits = []
    for moment, whole, took in rows:
        hit = Hit()
        hit.took = took * 1000
        hit.at = moment * 1000
        if whole:
            # Its end is what was stamped.
            hit.at = max(0, moment // 1000 * 1_000_000 - max(0, hit.took))
        hits.append(hit)
    hits.sort(key=lambda hit: hit.at)
    before = {id(hit): hit.at for hit in hits}
    cut = data.draw(st.integers(0, len(hits)))

    found = [hit for batch in spread(iter([hits[:cut], hits[cut:]])) for hit in batch]

    assert sorted(map(id, found)) == sorted(before)
    assert [hit.at for hit in found] == sorted(hit.at for hit in found)
    assert all(before[id(hit)] <= hit.at < before[id(hit)] + 2_000_000 for hit in found)


def test_who_the_client_is_follows_from_what_the_rules_believe(tmp_path: Path) -> None:
    form = '$msec $remote_addr "$request" $status "$http_x_forwarded_for"'
    (tmp_path / "a.log").write_text(
        '1760000000.000 10.0.0.1 "GET / HTTP/1.1" 200 "203.0.113.9, 10.0.0.2"\n'
        '1760000000.001 10.0.0.1 "GET / HTTP/1.1" 200 "-"\n'
        '1760000000.002 198.51.100.1 "GET / HTTP/1.1" 200 "203.0.113.9"\n'
    )
    rule = "rules: [{name: one, key: client.ip, limit: 1/day, by: sliding_log}]\n"

    plain = run([tmp_path / "a.log"], rule, form=form)
    behind = run(
        [tmp_path / "a.log"], f"{rule}client: {{trusted_proxies: [10.0.0.0/8]}}", form=form
    )

    assert (plain["rules"]["refused"], behind["rules"]["refused"]) == (1, 0)
    assert behind["notes"] == [
        "rules0.yaml: 1 requests came by a proxy that the rules trust, and the log does not have "
        "what it said of the client: the proxy itself was counted"
    ]


BEHIND = """client: {trusted_proxies: [10.0.0.0/8]}
plan: header.x-plan
plans: {vip: unlimited}
rules: [RULE]
"""


@pytest.mark.parametrize(
    ("rule", "refused"),
    [
        ("{name: one, match: {client.ip: 203.0.113.0/24}, deny: true}", 2),
        ("{name: one, match: {client.ip: 10.0.0.0/8}, deny: true}", 1),
        # Only of those who came by the proxy it is known what they have booked.
        ("{name: one, limit: 1/day, by: sliding_log}", 2),
    ],
)
def test_behind_a_proxy_rules_ask_about_the_client(rule: str, refused: int, tmp_path: Path) -> None:
    form = '$msec $remote_addr "$request" $status "$http_x_forwarded_for" "$http_x_plan"'
    (tmp_path / "a.log").write_text(
        '1760000000.000 10.0.0.1 "GET / HTTP/1.1" 200 "203.0.113.9" "vip"\n'
        '1760000000.001 10.0.0.1 "GET / HTTP/1.1" 200 "203.0.113.8" "vip"\n'
        '1760000000.002 10.0.0.1 "GET / HTTP/1.1" 200 "-" "-"\n'
        '1760000000.003 198.51.100.1 "GET / HTTP/1.1" 200 "203.0.113.9" "vip"\n'
        '1760000000.004 198.51.100.1 "GET / HTTP/1.1" 200 "203.0.113.9" "vip"\n'
    )

    report = run([tmp_path / "a.log"], BEHIND.replace("RULE", rule), form=form)

    assert report["rules"]["refused"] == refused
    # Once each, however many rules ask who it was.
    assert report["rules"]["unseen"] == 1


def test_a_rule_that_the_log_cannot_tell_of_is_left_out_and_said(tmp_path: Path) -> None:
    log = written(tmp_path / "a.log", traffic(10))

    told = run(
        [log],
        """rules:
          - {name: session, key: cookie.sid, limit: 1/s}
          - {name: site, match: {host: shop.example}, key: client.ip, limit: 1/s}
          - {name: many, key: client.ip, concurrent: 5}
          - {name: both, key: client.ip, limit: 100/s, concurrent: 5}
          - {name: slow, key: client.ip, bandwidth: 1MB/s}
          - {name: busy, adaptive: vegas}
          - {name: tokens, key: client.ip, limit: 9/s, cost: {by: response.header.x-tokens}}
          - {name: named, key: header.x-key, limit: 1/s, empty_key: allow}
        """,
    )["rules"]

    assert [(note["rule"], note["text"]) for note in told["notes"]] == [
        ("session", "left out: the log does not have cookie.sid"),
        ("site", "left out: the log does not have host"),
        ("many", "concurrent is left out: the log does not say how long requests took"),
        ("both", "concurrent is left out: the log does not say how long requests took"),
        ("slow", "bandwidth slows answers down and refuses nobody: not replayed"),
        ("busy", "what an adaptive limit would have found cannot be replayed"),
        (
            "tokens",
            "left out: its cost stands in response.header.x-tokens, which logs do not have",
        ),
    ]
    assert [rule["rule"] for rule in told["rules"]] == ["both", "named"]


def test_the_rules_that_are_reported_are_those_of_the_file(tmp_path: Path) -> None:
    log = written(tmp_path / "a.log", traffic(10))
    text = "rules: [{name: busy, adaptive: vegas}]"

    assert run([log], text)["rules"]["version"] == Rules.read(f"version: 1\n{text}").digest


def test_two_rule_files_are_held_against_each_other(tmp_path: Path) -> None:
    asks = [Ask(START + at * 1000, f"10.0.0.{at % 2 + 1}") for at in range(10)]
    log = written(tmp_path / "a.log", asks)

    report = run(
        [log],
        "rules: [{name: old, key: client.ip, limit: 3/day, by: sliding_log}]",
        """rules:
          - {name: banned, match: {client.ip: 10.0.0.2}, deny: true}
          - {name: new, key: client.ip, limit: 4/day, by: sliding_log}
        """,
    )

    # Of five each, the old rules refuse the last two; the new ones one, and all others.
    assert report["diff"] == {
        "neither": 3, "both": 3, "only_old": 1, "only_new": 3,
        "rules": [
            {"old": "", "new": "banned", "requests": 3},
            {"old": "old", "new": "banned", "requests": 2},
            {"old": "old", "new": "", "requests": 1},
            {"old": "old", "new": "new", "requests": 1},
        ],
        "keys": [
            {"refused_by": "new", "rule": "banned", "key": "10.0.0.2", "requests": 3},
            {"refused_by": "old", "rule": "old", "key": "10.0.0.1", "requests": 1},
        ],
        "keys_concerned": 2, "width": 1, "timeline": [[1_760_000_000, 3, 1, 3]],
    }  # fmt: skip


def test_who_is_refused_by_one_now_and_by_the_other_later_is_one() -> None:
    contrast = Contrast()
    for old, new in (("a", ""), ("", "b"), ("a", "")):
        hit = Hit()
        hit.at = START
        contrast.old(hit, old, "ada")
        contrast.new(hit, new, "ada")

    told = contrast.told(10, 0)

    assert (told["only_old"], told["only_new"], told["keys_concerned"]) == (2, 1, 1)


def test_verdicts_that_come_late_are_held_against_each_other_as_well(tmp_path: Path) -> None:
    asks = [*traffic(500)]
    log = written(tmp_path / "a.log", asks)

    diff = run(
        [log],
        "rules: [{name: old, key: client.ip, limit: 4/s}]",
        "rules: [{name: new, key: client.ip, limit: 4/s, over: wait 5s}]",
    )["diff"]

    assert diff["neither"] + diff["both"] + diff["only_old"] + diff["only_new"] == len(asks)
    assert diff["only_old"] > 0 == diff["only_new"]
