"""Segment: the file in which several processes keep one limiter's rows.

First a page of facts, then the blocks of rows, one for each drawer of the cabinet. All of it is
taken from the machine when it is made: to find no room for a page later would end the process.

A file that does not fit is made anew by whoever finds it and is alone with it. With others inside,
two programs disagree, and that is an error that says about what.
"""

from __future__ import annotations

import errno
import mmap
import os
from collections.abc import Mapping
from typing import NamedTuple

from headgate.clock import COMPILED
from headgate.errors import StoreMismatch, StoreUnavailable
from headgate.stores.shared.deed import GATES, Bolt, Deed
from headgate.stores.shared.facts import PAGE, page, read

# These follow from the others, and are named only where no other fact differs.
DERIVED = ("stride", "groups", "drawers", "size")


class Plot(NamedTuple):
    """Where the rows of one drawer stand: a block of cells, and what its gate needs."""

    block: memoryview
    path: str
    place: int
    alone: bool
    bolt: Bolt | None
    deed: Deed


class Segment:
    """The file at `path` with `count` blocks of `cells` cells each, if its facts are these.

    Nobody else comes in before `admit`; `made` says whether it was made just now.
    """

    def __init__(self, path: str, facts: Mapping[str, str], count: int, cells: int) -> None:
        self._size = PAGE + count * cells * 8
        self._facts = {**facts, "size": str(self._size)}
        self.deed = Deed(path)
        with self.deed:
            found = self._read()
            self.made = found != self._facts
            if self.made:
                self._make(found)
            self.plots = self._divide(count, cells)

    def _read(self) -> dict[str, str]:
        file = self.deed.file
        found = read(os.pread(file, PAGE, 0))
        whole = found.get("size") == str(os.fstat(file).st_size)
        return found if whole else {}

    def _make(self, found: Mapping[str, str]) -> None:
        if not self.deed.alone:
            raise StoreMismatch(differ(self.deed.path, found, self._facts))
        file = self.deed.file
        try:
            os.ftruncate(file, 0)
            spare(file, self._size)
            os.posix_fallocate(file, 0, self._size)
        except OSError as problem:
            os.ftruncate(file, 0)
            reason = str(problem.strerror)
            if problem.errno == errno.ENOSPC:
                reason = "there is no room for it; choose a smaller capacity or another folder"
            raise StoreUnavailable(
                f"{self.deed.path}: {reason} ({self._size:,} bytes)"
            ) from problem

    def _divide(self, count: int, cells: int) -> list[Plot]:
        deed = self.deed
        # A mapping keeps the file open: locks that come and go need one opened for them alone.
        bolt = None if COMPILED else Bolt(deed)
        view = memoryview(mmap.mmap(deed.file, self._size, flags=mmap.MAP_SHARED))
        length = cells * 8
        starts = [PAGE + number * length for number in range(count)]
        return [
            Plot(
                view[start : start + length].cast("q"),
                deed.path, GATES + number, deed.alone, bolt, deed,
            )
            for number, start in enumerate(starts)
        ]  # fmt: skip

    def admit(self) -> None:
        """Let others in: the rows are laid out, and everything in them is true."""
        if self.made:
            os.pwrite(self.deed.file, page(self._facts), 0)
        self.deed.admit()


def spare(file: int, size: int) -> None:
    """Fail where there is not as much room: to try would take all there is from everybody."""
    found = os.fstatvfs(file)
    if found.f_blocks and found.f_bavail * found.f_frsize < size:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def differ(path: str, found: Mapping[str, str], wanted: Mapping[str, str]) -> str:
    """What a program and the others that use a file do not agree on, and what to do."""
    advice = (
        "others are using it: start all of them anew with the same settings, or give this one a "
        "store of another name"
    )
    if not found:
        return f"{path}: it is damaged, or no file of rows at all, and {advice}"
    names = [name for name in {**wanted, **found} if found.get(name) != wanted.get(name)]
    names = [name for name in names if name not in DERIVED] or names
    has = ", ".join(f"{name} {found.get(name, 'unknown')}" for name in names)
    wants = ", ".join(f"{name} {wanted.get(name, 'unknown')}" for name in names)
    return f"{path}: it has {has}, this program wants {wants}, and {advice}"
