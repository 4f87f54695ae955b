"""Fork: a child has its parent's memory, but none of its threads. What leaned on them begins anew.

A lock that one of those threads held would never be free again, and what they were about to do is
the parent's to do.
"""

from __future__ import annotations

import itertools
import os
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


def follow(owner: T, renew: Callable[[T], object]) -> None:
    """Call `renew(owner)` in every forked child, for as long as there is an owner.

    Those who came first are renewed first: whoever is built upon stands already.
    """
    number = next(NUMBERS)
    OWNERS[number] = weakref.ref(owner, lambda _: OWNERS.pop(number, None)), renew


def begin() -> None:
    """In a child: renew whatever there is."""
    for found, renew in list(OWNERS.values()):
        owner = found()
        if owner is not None:
            renew(owner)


NUMBERS = itertools.count()
OWNERS: dict[int, tuple[weakref.ref[Any], Callable[[Any], object]]] = {}
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=begin)
