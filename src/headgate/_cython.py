"""Stands in for the `cython` module where Headgate runs interpreted, and for type checkers.

Cython's own stand-in is never relied on: its `critical_section` locks nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

T = TypeVar("T")

compiled: Final[bool] = False


def final(kind: T) -> T:
    """Only compiled classes can be closed to heirs."""
    return kind


def cclass(kind: T) -> T:
    """Only compiled classes live in C."""
    return kind


def no_gc(kind: T) -> T:
    """Only compiled classes can do without garbage collection."""
    return kind


def freelist(size: int) -> Callable[[T], T]:
    """Only compiled classes keep their dead for reuse."""
    return final


def address(thing: Any) -> Any:
    """Only compiled code takes addresses."""
    raise NotImplementedError("only compiled code takes addresses")


def declare(kind: Any) -> Any:
    """Only compiled code declares C variables."""
    raise NotImplementedError("only compiled code declares C variables")


def critical_section(thing: Any) -> Any:
    """Only compiled code enters critical sections; interpreted code takes a lock."""
    raise NotImplementedError("interpreted code takes a lock")


class timespec:  # noqa: N801 - the C name
    """What `clock_gettime` fills in."""

    tv_sec: int
    tv_nsec: int
