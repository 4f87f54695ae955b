"""What a replay says is what the simulator says, for every kind of limit."""

from __future__ import annotations

import heapq
from pathlib import Path

import pytest

from headgate import Limiter, ManualClock
from headgate.replay import bench
from headgate.rules.model.allowance import ALGORITHMS
from tests.replay.truth import Ask, hit, judged, run, traffic, written

RATES = {"warm_up": "4/s", "fixed_window": "30/10s", "sliding_log": "30/10s"}


@pytest.mark.parametrize("kind", ALGORITHMS)
def test_every_kind_of_limit_refuses_whom_the_simulator_refuses(kind: str, tmp_path: Path) -> None:
    asks = [*traffic(2500, seed=1)]
    rate = RATES.get(kind, "4/s burst 8" if kind != "sliding_window" else "30/10s")
    log = written(tmp_path / "a.log", asks)

    report = run([log], f"rules: [{{name: one, key: client.ip, limit: {rate}, by: {kind}}}]")

    refused, clients = judged(asks, ALGORITHMS[kind](rate))
    assert refused > 200
    assert (report["rules"]["refused"], hit(report)) == (refused, clients)


def test_a_long_log_is_judged_to_the_last_request(tmp_path: Path) -> None:
    asks = [*traffic(20_000, seed=2, clients=2000)]
    paths = ("/login", "/v1/x")
    log = written(tmp_path / "a.log.gz", asks)

    report = run(
        [log],
        """rules:
          - {name: login, match: {path: /login}, key: client.ip, limit: 5/min}
          - {name: api, match: {path: /v1/**}, key: client.ip, limit: [3/s burst 5, 100/min]}
        """,
    )

    told = report["rules"]
    parts = [[ask for ask in asks if ask.path == path] for path in paths]
    truths = [judged(parts[0], "5/min"), judged(parts[1], "3/s burst 5", "100/min")]
    assert [
        (rule["asked"], rule["refused"], hit(report, at)) for at, rule in enumerate(told["rules"])
    ] == [(len(part), *truth) for part, truth in zip(parts, truths, strict=True)]
    assert told["unruled"] == len(asks) - sum(map(len, parts))
    for rule in told["rules"]:
        assert sum(row[1] for row in rule["timeline"]) == rule["asked"]
        assert sum(row[2] for row in rule["timeline"]) == rule["refused"]
        drawn = sum(count for row in rule["heat"]["rows"] for _, count in row["cells"])
        assert drawn == sum(one["refused"] for one in rule["top"][:25])


def test_no_key_is_given_up_however_many_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench, "KEYS", 64)
    asks = [*traffic(3000, seed=3, clients=60_000)]
    asks = [
        ask._replace(client=f"10.{at % 1200 // 250}.0.{at % 250}") for at, ask in enumerate(asks)
    ]
    log = written(tmp_path / "a.log", asks)

    report = run([log], "rules: [{name: one, key: client.ip, limit: 2/min}]")

    refused, clients = judged(asks, "2/min")
    assert (report["rules"]["refused"], hit(report)) == (refused, clients)
    assert report["rules"]["rules"][0]["keys"] == len({ask.client for ask in asks}) > 64


def test_who_may_wait_is_let_in_when_the_limiter_says(tmp_path: Path) -> None:
    asks = [*traffic(1200, seed=4)]
    log = written(tmp_path / "a.log", asks)

    report = run([log], "rules: [{name: one, key: client.ip, limit: 4/s, over: wait 1s}]")

    limiter = Limiter("4/s", clock=ManualClock())
    waits = []
    for ask in asks:
        limiter.clock.set(ask.at / 1e6)  # type: ignore[attr-defined]
        booking = limiter.reserve(ask.client, timeout=1.0)
        waits.append(booking.decision.retry_after if booking.decision else -1.0)
    told = report["rules"]["rules"][0]
    assert (told["refused"], told["delayed"]) == (
        sum(wait < 0 for wait in waits), sum(wait > 0 for wait in waits)
    )  # fmt: skip
    assert told["waited"] == pytest.approx(sum(wait for wait in waits if wait > 0))


def test_who_is_inside_leaves_when_the_log_says(tmp_path: Path) -> None:
    form = '$msec $remote_addr "$request" $status $request_time'
    asks = [*traffic(2000, seed=5, clients=5)]
    took = [(at * 37 % 900) * 1000 for at in range(len(asks))]
    lines = sorted(
        f'{(ask.at + time) / 1e6:.6f} {ask.client} "GET / HTTP/1.1" 200 {time / 1e6:.3f}\n'
        for ask, time in zip(asks, took, strict=True)
    )
    (tmp_path / "a.log").write_text("".join(lines))

    report = run(
        [tmp_path / "a.log"], "rules: [{name: one, key: client.ip, concurrent: 9}]", form=form
    )

    inside: dict[str, list[int]] = {}
    refused = 0
    for ask, time in zip(asks, took, strict=True):
        mine = inside.setdefault(ask.client, [])
        while mine and mine[0] <= ask.at:
            heapq.heappop(mine)
        if len(mine) < 9:
            # Who took no time at all has left already.
            heapq.heappush(mine, ask.at + time)
        else:
            refused += 1
    assert (report["rules"]["refused"], refused > 100) == (refused, True)


def test_a_line_for_places_goes_by_the_time_of_the_log(tmp_path: Path) -> None:
    form = '$msec $remote_addr "$request" $status $request_time'
    begun = [(0.0, 2.0), (0.1, 2.0), (0.2, 2.0), (3.0, 0.5)]
    (tmp_path / "a.log").write_text(
        "".join(
            f'{1_760_000_000 + at + took:.3f} ::1 "GET / HTTP/1.1" 200 {took:.3f}\n'
            for at, took in sorted(begun, key=sum)
        )
    )

    report = run(
        [tmp_path / "a.log"], "rules: [{name: one, concurrent: 1, over: wait 2s}]", form=form
    )

    # The second waits 1.9 s for the first, the third gives up after 2, the last waits until 4.0.
    told = report["rules"]["rules"][0]
    assert (told["allowed"], told["delayed"], told["refused"]) == (1, 2, 1)
    assert told["waited"] == pytest.approx(1.9 + 1.0)
    assert told["kinds"] == {"capacity": 1}


def test_only_answers_that_count_are_kept(tmp_path: Path) -> None:
    asks = [
        Ask(1_760_000_000_000_000 + at * 1000, "::1", status=401 if at % 2 else 200)
        for at in range(20)
    ]
    log = written(tmp_path / "a.log", asks)

    report = run(
        [log], "rules: [{name: one, key: client.ip, limit: 5/min, counts: {status: [401]}}]"
    )

    # The fifth 401 is the tenth request.
    assert report["rules"]["refused"] == 10


def test_shadow_and_rollout_are_told_apart_from_refusals(tmp_path: Path) -> None:
    asks = [*traffic(1200, seed=6)]
    log = written(tmp_path / "a.log", asks)
    text = "rules: [{{name: one, key: client.ip, limit: 2/s, {}}}]"

    full, shadow, half, forced = (
        run([log], text.format(how), enforce=force)["rules"]
        for how, force in (
            ("mode: enforce", False), ("mode: shadow", False), ("rollout: 50%", False),
            ("mode: shadow", True),
        )
    )  # fmt: skip

    refused, _ = judged(asks, "2/s")
    assert (full["refused"], full["shadowed"]) == (refused, 0)
    assert (shadow["refused"], shadow["shadowed"], shadow["allowed"]) == (0, refused, len(asks))
    assert half["refused"] + half["shadowed"] == refused
    assert half["refused"] > 0
    assert half["shadowed"] > 0
    assert (forced["refused"], forced["shadowed"]) == (refused, 0)


@pytest.mark.soak
def test_half_a_million_lines_are_judged_to_the_last_request(tmp_path: Path) -> None:
    asks = [*traffic(500_000, seed=7, rate=2000.0, clients=5000)]
    log = written(tmp_path / "a.log.gz", asks)

    report = run([log], "rules: [{name: one, key: client.ip, limit: 5/s burst 20}]")

    refused, clients = judged(asks, "5/s burst 20")
    told = report["rules"]["rules"][0]
    assert (told["asked"], told["refused"], told["keys_refused"]) == (
        500_000,
        refused,
        len(clients),
    )
    assert hit(report) == dict(sorted(clients.items(), key=lambda one: (-one[1][1], one[0]))[:1000])
