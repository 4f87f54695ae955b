"""fallback(breaker(limiter(bulkhead(timeout(function))))), told by who counted, held and spent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from itertools import combinations
from typing import Any

import pytest

from headgate.window import Totals
from tests.guard.scenes import COLOURS, ENDS, LAYERS, RESCUED, TROUBLES, Stage
from tests.servers.waiting import until

WAYS = [("", 0.0), ("user:{user}", 0.0), ("user:{user}", 1.0)]


def subsets(words: list[str]) -> Iterator[tuple[str, ...]]:
    for size in range(len(words) + 1):
        yield from combinations(words, size)


def guards() -> Iterator[Any]:
    """Every subset of layers in every colour, where there is such a guard."""
    for colour in COLOURS:
        for layers in subsets(LAYERS):
            if "Async" in colour and "limiter" not in layers:
                continue
            # A def has a timeout only in a pool.
            if colour == "def" and "timeout" in layers and "bulkhead" not in layers:
                continue
            if layers:
                yield pytest.param(layers, colour, id=f"{colour}: {'+'.join(layers)}")


def scenes(layers: tuple[str, ...]) -> list[tuple[tuple[str, ...], str]]:
    """Every subset of the layers in trouble, and every end of a call that is made."""
    troubles = [each for each in subsets([*TROUBLES]) if {*each} <= {*layers}]
    ends = ["bad", "late"] if "timeout" in layers else ["bad"]
    return [(each, "good") for each in troubles] + [((), end) for end in ends]


@pytest.mark.parametrize(("key", "patience"), WAYS)
@pytest.mark.parametrize(("layers", "colour"), [*guards()])
def test_the_outermost_layer_that_says_no_is_the_one_that_is_heard(
    layers: tuple[str, ...], colour: str, key: str, patience: float
) -> None:
    played, expected = {}, {}
    for troubles, end in scenes(layers):
        if end == "late" and colour == "def" and key:
            # It takes a second of real time; once for each subset is enough.
            continue
        heard = next((layer for layer in TROUBLES if layer in troubles), end)
        scene = "+".join((*troubles, end))
        expected[scene] = (
            answered(layers, heard), spent(layers, heard), counted(layers, heard),
            called(layers, heard),
        )  # fmt: skip
        played[scene] = play(Stage({*layers}, colour, key, patience, end), troubles)

    assert played == expected


def play(stage: Stage, troubles: tuple[str, ...]) -> tuple[object, ...]:
    """What a call answers, what it spends, how it is counted, and whether it was made.

    However it ends, every place comes back.
    """
    with ExitStack() as stack:
        stack.callback(stage.release.set)
        for layer in troubles:
            stage.trouble(layer, stack)
        before = stage.spent()
        answer = stage.call()
        seen = (stage.spent() - before, stage.breaker.totals(stage.key))
    # A late call in a thread keeps its place until it is let go.
    until(lambda: stage.places() == 0, "every place to come back")
    return answer, *seen, (stage.calls, stage.inside)


def answered(layers: tuple[str, ...], heard: str) -> object:
    problem = {**TROUBLES, **ENDS}.get(heard)
    if problem is not None:
        return RESCUED if "fallback" in layers else problem
    return "ann"


def spent(layers: tuple[str, ...], heard: str) -> int:
    """A token is spent by whoever came past the limiter."""
    return 1 if "limiter" in layers and heard not in {"breaker", "limiter"} else 0


def counted(layers: tuple[str, ...], heard: str) -> Totals:
    """A call is counted by what came of it, a refusal further in as nothing."""
    outcomes = {"good": 0, "bad": 1, "late": 2, "breaker": 3}
    totals = [0] * 5
    if "breaker" in layers and heard in outcomes:
        totals[outcomes[heard]] = 1
    return Totals(*totals)


def called(layers: tuple[str, ...], heard: str) -> tuple[int, int]:
    """Whether it was called, and how many places were held then."""
    made = 0 if heard in TROUBLES else 1
    return made, made if "bulkhead" in layers else 0
