"""Visitors of both colours."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from headgate.rules.model.rule import Rule
from tests.rules.live.visitor import COLOURS, Visit, Visitor, rules


@pytest.fixture(params=COLOURS)
def visit(request: pytest.FixtureRequest) -> Iterator[Visit]:
    """Begins a visit to a gatekeeper with some rules."""
    visitors: list[Visitor] = []

    def begin(*some: Rule, store: str = "", **settings: Any) -> Visitor:
        visitors.append(Visitor(request.param, rules(*some, **settings), store))
        return visitors[-1]

    yield begin
    for visitor in visitors:
        visitor.close()
