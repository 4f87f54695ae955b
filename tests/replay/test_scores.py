"""Scores: bounded memory, and what is still exact within it."""

from __future__ import annotations

from headgate.replay.contrast import Contrast
from headgate.replay.score import Score, Timeline

REFUSED = 2


def test_time_is_cut_into_few_parts_however_long_a_log_is() -> None:
    line = Timeline()

    for hour in range(24 * 400):
        line.part(hour * 3_600_000_000).asked += 1

    assert len(line.parts) <= 600
    assert sum(part.asked for part in line.parts.values()) == 24 * 400
    assert line.width == 86_400


def test_who_is_refused_is_known_by_part_of_time_when_parts_grow() -> None:
    score = Score("one", 1 << 62)

    for second in range(5000):
        score.add(second * 1_000_000, "ada", REFUSED)

    when = score.keys["ada"].when
    assert when is not None
    assert sum(when.values()) == 5000
    assert score.timeline.width == score.keys["ada"].width == 10


def test_whoever_was_refused_is_forgotten_last() -> None:
    score = Score("one", 1 << 62)
    for number in range(100):
        score.add(0, f"quiet {number}", 0)
        score.add(0, f"quiet {number}", 0)
    for number in range(20):
        score.add(0, f"hit {number}", REFUSED)

    score.prune()

    assert (len(score.keys), score.forgotten) == (60, 60)
    assert sum(key.startswith("hit") for key in score.keys) == 20


def test_a_score_says_when_there_may_be_no_more_room() -> None:
    score = Score("one", 2)

    assert [score.add(0, key, 0) for key in ("a", "a", "b", "c")] == [0, 0, 2, 3]


def test_when_somebody_was_refused_is_kept_of_those_who_were_most() -> None:
    score = Score("one", 1 << 62)
    for number in range(2000):
        for _ in range(1 + 9 * (number < 5)):
            score.add(0, f"{number}", REFUSED)

    charted = [key for key, count in score.keys.items() if count.when is not None]

    assert len(charted) <= 800
    assert {"0", "1", "2", "3", "4"} <= set(charted)


def test_a_contrast_that_nobody_told_anything_is_empty() -> None:
    assert Contrast().told(10, 3)["timeline"] == []
