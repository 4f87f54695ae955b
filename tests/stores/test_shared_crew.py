"""Many processes on one shared limiter: together they are admitted what one would be."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import headgate
from headgate import TokenBucket
from headgate.stores.shared.store import SharedStore
from tests.stores.crew import Crew

SECOND = 1_000_000
BEGIN = 1_800_000_000 * SECOND
HANDS = 8
TAKES = 2_000
COLD = 10_000


def history(folder: Path) -> Counter[str]:
    """How often each key was admitted, from what the processes wrote down themselves."""
    lines = [line for path in folder.glob("*.history") for line in path.read_text().splitlines()]
    return Counter(line.partition(" ")[2] for line in lines)


def files(folder: Path) -> list[dict[str, str]]:
    return [{"history": str(folder / f"{number}.history")} for number in range(HANDS)]


def test_eight_processes_on_one_hot_key_are_admitted_what_one_would_be(
    tmp_path: Path, scale: int
) -> None:
    takes = TAKES * scale
    limit = TokenBucket(f"{takes}/s", burst=3 * takes)
    alone = SharedStore("alone", 10, str(tmp_path)).open((limit,), "api")
    expected = 0
    with Crew(HANDS) as crew:
        crew.ask("open", folder=str(tmp_path), limits=[repr(limit)])
        for now in range(BEGIN, BEGIN + 4 * SECOND, SECOND):
            crew.ask("take", *files(tmp_path), keys=["hot"] * (takes // 4), now=now)
            expected += sum(bool(alone.take("hot", 1, now, 0)) for _ in range(HANDS * (takes // 4)))

    # All of the burst, and what three seconds bring.
    assert history(tmp_path) == {"hot": expected} == {"hot": 6 * takes}


def test_eight_processes_on_ten_thousand_keys_are_admitted_what_one_would_be(
    tmp_path: Path, scale: int
) -> None:
    count = COLD if headgate.COMPILED else COLD // 4
    keys = [f"cold:{number}" for number in range(count)]
    with Crew(HANDS) as crew:
        crew.ask("open", folder=str(tmp_path), limits=['TokenBucket("5/h")'], capacity=2 * count)
        # Each begins at another place, so that they meet at all of them.
        turned = [
            {**file, "keys": keys[number * 997 % count :] + keys[: number * 997 % count]}
            for number, file in enumerate(files(tmp_path))
        ]
        for _ in range(scale):
            crew.ask("take", *turned, now=BEGIN)
        tally = crew.ask("tally")[0]

    assert history(tmp_path) == dict.fromkeys(keys, 5)
    assert tally == {"anomalies": 0, "evicted": 0, "crowded": 0, "recovered": 0}


def test_processes_that_begin_at_once_make_one_file(tmp_path: Path) -> None:
    with Crew(HANDS) as crew:
        opened = crew.ask("open", folder=str(tmp_path), limits=['TokenBucket("100/h")'])
        crew.ask("take", *files(tmp_path), keys=["hot"] * 50, now=BEGIN)

    assert opened == ["open"] * HANDS
    assert history(tmp_path) == {"hot": 100}
    assert len(list(tmp_path.rglob("*.rows"))) == 1


def test_what_was_spent_outlives_all_processes(tmp_path: Path) -> None:
    with Crew(1) as crew:
        crew.ask("open", folder=str(tmp_path), limits=['TokenBucket("10/h")'])
        crew.ask("take", keys=["a"] * 3, now=BEGIN, history=str(tmp_path / "0.history"))
    with Crew(1) as crew:
        crew.ask("open", folder=str(tmp_path), limits=['TokenBucket("10/h")'])
        left = crew.ask("left", key="a", now=BEGIN)

    assert left == [7]


def test_whoever_changes_the_limits_first_carries_the_state_over(tmp_path: Path) -> None:
    with Crew(3) as crew:
        crew.ask("open", folder=str(tmp_path), limits=['TokenBucket("10/h")'])
        first, second, third = crew.hands
        crew.tell(first, "take", keys=["a"] * 4, now=BEGIN, history=str(tmp_path / "0.history"))
        crew.hear(first)
        for hand in (first, second):
            crew.tell(hand, "change", limits=['TokenBucket("100/h")'], now=BEGIN)
            crew.hear(hand)
            # 60 of 100 are left, and the second one to change does not carry them over again.
            crew.tell(hand, "take", keys=["a"] * 5, now=BEGIN, history=str(tmp_path / "0.history"))
            crew.hear(hand)
        left = crew.ask("left", key="a", now=BEGIN)

    # The third goes by the old limits until it changes as well.
    assert left == [50, 50, 6]


def test_a_program_of_another_capacity_is_refused_while_others_are_inside(tmp_path: Path) -> None:
    with Crew(2) as crew:
        task = {"folder": str(tmp_path), "limits": ['TokenBucket("10/h")']}
        first, second = crew.hands
        crew.tell(first, "open", capacity=100, **task)
        crew.hear(first)
        crew.tell(second, "open", capacity=200, **task)
        refusal = crew.hear(second)
        crew.dismiss(crew.hands.pop(0))
        crew.tell(second, "open", capacity=200, **task)
        alone = crew.hear(second)
    path = next(tmp_path.rglob("*.rows"))

    assert refusal == (
        f"StoreMismatch: {path}: it has capacity 100, this program wants capacity 200, and others "
        "are using it: start all of them anew with the same settings, or give this one a store of "
        "another name"
    )
    assert alone == "open"
