"""The cases: how a table is read, what is said about one that cannot be, and who may play them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headgate import GCRA, Decision, FixedWindow, MemoryStore, SlidingWindow, TokenBucket
from headgate.testing import Answer, CaseError, Row, cases, check, parse, verify

if TYPE_CHECKING:
    from headgate import Limit
    from headgate.stores.store import Ledger

TABLE = """
# Prose may introduce what follows.

# A refusal changes nothing.
# GCRA("10/s burst 3")
at      cost   allowed  remaining  retry   reset
0ms     2      yes      1          -       200ms
0ms     4      no       1          inf     200ms    # more than there ever is
"""


def test_a_table_is_read_as_it_reads() -> None:
    (case,) = parse(TABLE, "gcra.txt")

    assert (case.place, case.title) == ("gcra.txt:6", "A refusal changes nothing.")
    assert case.limits == (GCRA("10/s burst 3"),)
    assert case.rows == (
        Row("gcra.txt:7", 0, "take", "", 2, -1, -1, Answer(True, 1, 0, 200_000)),
        Row("gcra.txt:8", 0, "take", "", 4, -1, -1, Answer(False, 1, -1, 200_000)),
    )


def test_limits_are_typed_as_in_a_program_several_with_commas() -> None:
    line = 'TokenBucket("5/s", borrow=True, initial=0), SlidingWindow("9/min", parts=6, name="w")'
    (case,) = parse(f"# Both.\n# {line}\nat cost allowed remaining retry reset\n")

    assert case.limits == (
        TokenBucket("5/s", borrow=True, initial=0),
        SlidingWindow("9/min", parts=6, name="w"),
    )


@pytest.mark.parametrize(
    ("word", "moment"),
    [
        ("0ms", 0),
        ("250us", 250),
        ("1.5s", 1_500_000),
        ("1min12s", 72_000_000),
        ("1h0.000001s", 3_600_000_001),
        ("11:00:45", 39_645_000_000),
        ("11:00:59.999999", 39_659_999_999),
        ("1970-01-02T00:00:00", 86_400_000_000),
        ("2026-03-29T01:59:59", 1_774_749_599_000_000),
    ],
)
def test_moments_are_durations_times_and_dates(word: str, moment: int) -> None:
    (case,) = parse(TABLE.replace("0ms     2", f"{word} 2"))

    assert case.rows[0].at == moment


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "remaining ",
            "left ",
            'x.txt:6: unknown column "left"; there are at, do, key, cost, within, due, allowed, '
            "remaining, retry, reset, rule",
        ),
        (
            "0ms     2      yes      1",
            "0ms     2      yes",
            "x.txt:7: 5 words in 6 columns (at cost allowed remaining retry reset)",
        ),
        ("yes", "maybe", 'x.txt:7: cannot read this row (allowed is yes or no, not "maybe")'),
        (
            "-       200ms",
            "-       200",
            'x.txt:7: cannot read this row ("200" is no duration; try 90s, 250ms or 1min12s)',
        ),
        (
            '# GCRA("10/s burst 3")',
            "# ten a second",
            "x.txt:5: 'ten a second' is no limit (invalid syntax (<unknown>, line 1)); type one or "
            "more of TokenBucket, GCRA, LeakyBucket, FixedWindow, SlidingWindow, SlidingLog, "
            "WarmUp",
        ),
        (
            "# A refusal changes nothing.\n",
            "",
            "x.txt:5: say above the table what it shows, then its limits",
        ),
    ],
)
def test_a_table_that_cannot_be_read_says_where_and_why(old: str, new: str, message: str) -> None:
    with pytest.raises(CaseError) as refusal:
        parse(TABLE.replace(old, new, 1), "x.txt")

    assert str(refusal.value) == message


def test_an_act_nobody_knows_is_refused() -> None:
    table = "# A.\n# GCRA('1/s')\nat do cost allowed remaining retry reset\n0s steal 1 yes 0 - -\n"

    with pytest.raises(CaseError) as refusal:
        parse(table, "x.txt")

    assert str(refusal.value) == (
        'x.txt:4: unknown act "steal"; there are take, peek, reserve, cancel, debit, refund, reset'
    )


def test_limits_are_read_and_never_run() -> None:
    with pytest.raises(CaseError):
        parse(TABLE.replace('GCRA("10/s burst 3")', '__import__("os").getpid()'))


def test_every_algorithm_has_its_tables() -> None:
    files = {case.place.partition(":")[0] for case in cases()}

    assert files == {
        "fixed_window.txt",
        "gcra.txt",
        "leaky_bucket.txt",
        "several.txt",
        "sliding_log.txt",
        "sliding_window.txt",
        "token_bucket.txt",
        "warm_up.txt",
    }


def test_the_tables_use_every_option_of_every_limit() -> None:
    spelled = " ".join(repr(limit) for case in cases() for limit in case.limits)
    options = ("initial", "refill", "borrow", "penalty", "anchor", "calendar", "zone", "parts")

    assert [word for word in (*options, "oldest", "period") if f"{word}=" not in spelled] == []


def test_a_store_of_your_own_can_be_checked() -> None:
    check(lambda limits: MemoryStore(capacity=32).open(limits, ""))


class Generous:
    """A store whose keys never run out: what a broken store looks like to the kit."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger

    def take(self, key: str, cost: int, now: int, patience: int) -> Decision:
        self.ledger.take(key, cost, now, patience)
        return Decision(True, limit=3, remaining=3)

    def take_many(self, keys: list[str], cost: int, now: int) -> list[Decision]:
        return [self.take(key, cost, now, 0) for key in keys]

    def peek(self, key: str, cost: int, now: int) -> Decision:
        return self.ledger.peek(key, cost, now)

    def charge(self, key: str, cost: int, now: int, due: int) -> Decision:
        return self.ledger.charge(key, cost, now, due)

    def forget(self, key: str) -> None:
        self.ledger.forget(key)


def generous(limits: tuple[Limit, ...]) -> Generous:
    return Generous(MemoryStore(capacity=32).open(limits, ""))


def test_a_store_that_answers_otherwise_is_told_row_by_row() -> None:
    (case,) = parse(TABLE, "gcra.txt")

    with pytest.raises(AssertionError) as failure:
        verify(case, generous)

    assert str(failure.value) == (
        "gcra.txt:6: A refusal changes nothing.\n"
        "gcra.txt:7: take 2 at 0s: expected yes 1 - 200ms; answered yes 3 - -\n"
        "gcra.txt:8: take 4 at 0s: expected no 1 inf 200ms; answered yes 3 - -"
    )


def test_a_store_that_answers_otherwise_fails_the_check() -> None:
    with pytest.raises(AssertionError):
        check(generous)


def test_the_name_of_the_limit_is_checked_where_a_table_has_it() -> None:
    table = (
        '# The window is tighter.\n# TokenBucket("9/s"), FixedWindow("3/s", name="small_window")\n'
        "at cost allowed remaining retry reset rule\n0s 1 yes 2 - 1s 9/s\n"
    )
    (case,) = parse(table, "x.txt")
    assert case.limits[1] == FixedWindow("3/s", name="small_window")

    with pytest.raises(AssertionError, match="expected yes 2 - 1s '9/s'; answered yes 2 - 1s"):
        verify(case, lambda limits: MemoryStore(capacity=32).open(limits, ""))
