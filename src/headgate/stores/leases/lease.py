"""Lease: units taken out of a store in bulk, to be spent where they were taken to."""

from __future__ import annotations

from typing import NamedTuple

from headgate.decision import Decision


class Lease(NamedTuple):
    """Units taken to be spent elsewhere, none if refused, and the moment of it by the store."""

    units: int
    decision: Decision
    moment: int
