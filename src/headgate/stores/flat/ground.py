"""Ground: the memory that rows stand on, how much of it they need, and where it comes from."""

from __future__ import annotations

import mmap

from headgate.algorithms.limit import Limit
from headgate.stores.flat.desk import length


def shape(limits: tuple[Limit, ...], capacity: int) -> tuple[int, int, int]:
    """How many groups there are, how long a row is, and how many cells come before a desk."""
    # Three quarters more rows than keys: in fuller groups, live rows would have to be given up.
    groups = max(2, -(-capacity * 7 // 32))
    stride = 2 + sum(limit.width for limit in limits)
    # Behind the groups stand the row that newcomers share and a row just to look at.
    cells = (groups * 8 + 2) * stride
    return groups, stride, -(-cells // 8) * 8


def extent(limits: tuple[Limit, ...], capacity: int) -> int:
    """How many cells a block has to have."""
    _, stride, cells = shape(limits, capacity)
    return cells + length(stride)


def private(cells: int) -> memoryview:
    """Memory of this process; what is not touched costs nothing."""
    memory = mmap.mmap(-1, cells * 8, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return memoryview(memory).cast("q")
