"""Every case of the conformance tables, asked in Envoy's protocol of one service."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headgate.testing import Case, cases
from tests.service.rls.ledger import Edge, carried, differences


@pytest.fixture(scope="module")
def edge() -> Iterator[Edge]:
    """A service whose clock is set by whoever asks, and one connection to it."""
    with Edge() as edge:
        yield edge


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.place)
def test_the_table_is_true_over_rls(edge: Edge, case: Case) -> None:
    # Keys of another name have spent nothing yet.
    problems = differences(case, edge, case.place)

    assert not problems, "\n".join([f"{case.place}: {case.title}", *problems])


def test_only_what_has_no_words_is_done_behind_the_protocol() -> None:
    rows = [row for case in cases() for row in case.rows]
    behind = [row for row in rows if not carried(row)]

    assert {row.do for row in behind} == {"reserve", "cancel", "reset", "peek"}
    assert all(row.answer is None or not row.answer.allowed for row in behind if row.do == "peek")
