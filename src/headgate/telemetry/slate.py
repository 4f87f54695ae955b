"""Slate: counters of one process, where nobody else can see them."""

from __future__ import annotations

from array import array
from typing import Any


class Slate:
    """What a `Board` is, for one process alone; a counter that was there is found again."""

    def __init__(self) -> None:
        self._rows: dict[str, array[int]] = {}

    def row(self, name: str, length: int) -> Any:
        """The cells of a counter."""
        found = self._rows.setdefault(name, array("q", bytes(8 * length)))
        return memoryview(found)

    def read(self) -> dict[str, list[int]]:
        """All counters."""
        return {name: row.tolist() for name, row in self._rows.items()}
