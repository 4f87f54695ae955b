"""Every case of the conformance tables, asked over the API of one service."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest

from headgate.testing import Case, cases, verify
from tests.gateway.talking import Talk
from tests.service.http.ledger import Asked, rule
from tests.service.http.staging import HttpServiceHost as Stage
from tests.service.http.staging import plan


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    """A service whose clock is set by whoever asks."""
    with Stage(plan()) as stage:
        yield stage


@pytest.fixture(scope="module")
def talk(stage: Stage) -> Iterator[Talk]:
    """One connection, for all that is asked."""
    with Talk(stage.port) as talk:
        yield talk


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.place)
def test_the_table_is_true_over_http(stage: Stage, talk: Talk, case: Case) -> None:
    # A rule of another name has counted nobody yet.
    name = case.place.replace(".txt:", "-")
    stage.change(plan(rule(name, case.limits)))

    verify(case, partial(Asked, stage, talk, name))
