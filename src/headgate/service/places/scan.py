"""Scan: who holds a place of a key, as rows in shared memory have it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headgate import _cython as cython
else:
    try:
        import cython
    except ImportError:
        from headgate import _cython as cython

if cython.compiled:
    from cython.cimports.headgate.block import begin


def scan(
    view: Any, row: int, first: int, second: int, name: int, surname: int, now: int
) -> tuple[int, int, int, int]:
    """The row of a name or -1, the first that is free or -1, how many hold a place of the key, and
    the row at the end of the chain, which never had a holder.
    """
    cells: Any
    if cython.compiled:
        cells = begin(view)
    else:
        cells = view
    found = free = -1
    count = 0
    end = cells[row + 4]
    while end != 0:
        if end <= now:
            if free < 0:
                free = row
        elif cells[row] == first and cells[row + 1] == second:
            count += 1
            if cells[row + 2] == name and cells[row + 3] == surname:
                found = row
        # The halves of the key's mark, those of the name, and the end.
        row += 5
        end = cells[row + 4]
    return found, free, count, row
