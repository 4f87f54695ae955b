"""What a place is told when a request leaves, so that a limit may learn from it."""

from __future__ import annotations

import pytest

from headgate.rules.live.visit import settle


class Slot:
    """A place that remembers what it was told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def success(self) -> None:
        self.told.append("success")

    def dropped(self) -> None:
        self.told.append("dropped")

    def ignore(self) -> None:
        self.told.append("ignore")


@pytest.mark.parametrize(
    ("status", "told"),
    [
        (200, "success"), (404, "success"), (500, "success"), (503, "dropped"), (504, "dropped"),
        (0, "ignore"), (499, "ignore"), (101, "ignore"),
    ],
)  # fmt: skip
def test_only_answers_say_how_long_an_answer_takes(status: int, told: str) -> None:
    slot = Slot()

    settle(slot, status)

    assert slot.told == [told]
