"""What lies on no board does not go back either: whoever ends or is silent, it is not forgotten."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.telemetry.reading import Reading
from headgate.telemetry.union import union
from headgate.workers.legacy import Legacy
from tests.telemetry.readings import WORKER, reading

URL = "redis://127.0.0.1/0"


def seen(at: float, errors: int, requests: int, **said: Any) -> Reading:
    """What a worker says."""
    server = {"requests": requests, "failures": 0, "busy": 0, "well": True}
    return reading(
        at=at,
        store={"url": URL, "kind": "redis", "errors": {"timeout": errors} if errors else {}},
        upstreams={"shop": {"a": server}},
        **said,
    )


class Office:
    """A legacy, and what is told by it."""

    def __init__(self) -> None:
        self.legacy = Legacy()

    def hear(self, *said: tuple[int, int, Reading | None]) -> Reading:
        """What is told when these answer, each with slot and pid; or do not."""
        told = [one for _, _, one in said if one is not None]
        found = union(told or [reading()])
        for slot, pid, one in said:
            if one is not None:
                card: Any = {**WORKER, "slot": slot, "pid": pid}
                self.legacy.note(card, one, ())
        self.legacy.tell(found)
        return found


def test_what_a_worker_has_counted_stays_when_another_takes_its_place() -> None:
    office = Office()
    office.hear((0, 7, seen(1.0, 3, 100)), (1, 8, seen(1.0, 2, 50)))
    found = office.hear((0, 9, seen(2.0, 0, 4)), (1, 8, seen(2.0, 2, 51)))

    assert found["upstreams"]["shop"]["a"]["requests"] == 155
    assert found["store"]["errors"] == {"timeout": 5}


def test_who_does_not_answer_for_once_is_not_missed() -> None:
    office = Office()
    office.hear((0, 7, seen(1.0, 0, 100)), (1, 8, seen(1.0, 0, 50)))

    assert office.hear((0, 7, None), (1, 8, seen(2.0, 0, 51)))["upstreams"]["shop"]["a"] == {
        "requests": 151, "failures": 0, "busy": 0, "well": True,
    }  # fmt: skip
    found = office.hear((0, 7, seen(3.0, 0, 103)), (1, 8, seen(3.0, 0, 51)))
    assert found["upstreams"]["shop"]["a"]["requests"] == 154


def test_an_answer_that_is_older_than_the_last_one_says_nothing() -> None:
    office = Office()
    office.hear((0, 7, seen(2.0, 0, 100)))

    assert office.hear((0, 7, seen(1.0, 0, 90)))["upstreams"]["shop"]["a"]["requests"] == 100


def test_rules_that_all_have_read_are_counted_once() -> None:
    office = Office()
    office.hear(*[(slot, 7, seen(1.0, 0, 0, reload={"loads": 3})) for slot in (0, 1)])
    found = office.hear((0, 8, seen(2.0, 0, 0)), (1, 9, seen(2.0, 0, 0, reload={"loads": 1})))

    assert found["reload"]["loads"] == 4


def test_a_server_that_is_named_no_more_is_forgotten() -> None:
    office = Office()
    office.hear((0, 7, seen(1.0, 0, 100)))
    office.hear((0, 7, {**seen(2.0, 0, 0), "upstreams": {}}))

    assert office.hear((0, 7, seen(3.0, 0, 1)))["upstreams"]["shop"]["a"]["requests"] == 1


# Who answers: a worker that counted so many more, one that took its place, or nobody.
Step = tuple[tuple[str, int], tuple[str, int]]
WHO = st.tuples(st.sampled_from(("same", "other", "silent")), st.integers(0, 9))


@settings(max_examples=40)
@given(st.lists(st.tuples(WHO, WHO), max_size=20))
def test_nothing_goes_back_and_nothing_is_counted_twice(steps: list[Step]) -> None:
    office = Office()
    pids, counts, total, before = [1, 2], [0, 0], 0, 0
    for number, step in enumerate(steps):
        said: list[tuple[int, int, Reading | None]] = []
        for slot, (who, more) in enumerate(step):
            if who == "other":
                pids[slot], counts[slot] = pids[slot] + 2, 0
            counts[slot] += more if who != "silent" else 0
            total += more if who != "silent" else 0
            one = seen(float(number), counts[slot], counts[slot]) if who != "silent" else None
            said.append((slot, pids[slot], one))
        if all(one is None for _, _, one in said):
            continue
        found = office.hear(*said)["upstreams"]["shop"]["a"]["requests"]
        assert found == total >= before
        before = total
