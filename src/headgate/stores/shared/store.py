"""SharedStore: one exact limit for all processes of a machine, in files that they all map."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from contextlib import suppress
from hashlib import blake2b

from headgate.algorithms.limit import Limit
from headgate.clock import Clock, SystemClock
from headgate.errors import StoreUnavailable
from headgate.stores.flat.gate import form
from headgate.stores.flat.ground import extent, shape
from headgate.stores.flat.seal import Seal
from headgate.stores.flat.table import Table
from headgate.stores.shared.cabinet import Cabinet, divide
from headgate.stores.shared.charter import Charter
from headgate.stores.shared.deed import discard, furnish
from headgate.stores.shared.facts import shorten
from headgate.stores.shared.segment import Segment

VERSION = "1"
MEMORY = "/dev/shm"  # noqa: S108 - what stands in it is in a folder that only its user can enter
PLAIN = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}")
CHARTER = "charter"


class SharedStore:
    """Keeps each limiter's keys in a file that all processes of this user share.

    Stores of the same `name` are one, in whatever process. Memory for `capacity` keys is taken
    from the machine when a limiter is first made, among its memory files or in `folder`. What a
    key has spent outlives the processes, but not the machine's next start.
    """

    def __init__(self, name: str, capacity: int = 100_000, folder: str | None = None) -> None:
        self.name = named(name)
        self.capacity = sized(capacity)
        self.folder = folder
        self._ledgers: dict[str, Cabinet] = {}
        self._charter: Charter | None = None
        self._agree()

    def open(
        self, limits: tuple[Limit, ...], name: str, clock: Clock | None = None,
        when_unavailable: str = "local",
    ) -> Cabinet:  # fmt: skip
        """The cabinet of `limits`; the same one for the same `name` and limits.

        Limiters without a name have that of their limits.
        """
        title = name or spelled(limits)
        ledger = self._ledgers.get(title)
        if ledger is None or (not name and ledger.limits != limits):
            cabinet = Cabinet(limits, Site(self, name))
            # Whoever comes second gets the first one's: setting a default is atomic.
            ledger = self._ledgers.setdefault(title, cabinet) if name else cabinet
            self._ledgers[title] = ledger
        if ledger.limits != limits:
            raise ValueError(
                f"limiter {name!r} is in this store already, with {list(ledger.limits)!r}; give "
                "one of them another name, or use change() on it"
            )
        return ledger

    def clock(self) -> SystemClock:
        """The clock that all processes of this store read alike."""
        return SystemClock(offset=self._agree().offset)

    def release(self, name: str) -> None:
        """Let go of a limiter; its file is deleted if nobody has it open any more."""
        ledger = self._ledgers.pop(name, None)
        if ledger is not None:
            path = Site(self, name).path(ledger.limits)
            del ledger
            discard(path)

    def remove(self) -> None:
        """Delete the files of the store; limiters that have them open go on among themselves."""
        self._ledgers.clear()
        self._charter = None
        folder = self._place()
        for file in os.listdir(folder):
            with suppress(FileNotFoundError):
                os.unlink(os.path.join(folder, file))
        with suppress(OSError):
            os.rmdir(folder)

    def _agree(self) -> Charter:
        if self._charter is None or self._charter.deed.removed:
            self._charter = Charter(os.path.join(self._place(), CHARTER))
        return self._charter

    def _place(self) -> str:
        return home(self.name, self.folder)

    def __repr__(self) -> str:
        more = "" if self.folder is None else f", folder={self.folder!r}"
        return f"SharedStore({self.name!r}, capacity={self.capacity}{more})"

    def __reduce__(self) -> tuple[type[SharedStore], tuple[str, int, str | None]]:
        return SharedStore, (self.name, self.capacity, self.folder)


class Site:
    """Where a limiter has its files, one for every set of limits it ever had."""

    def __init__(self, store: SharedStore, name: str) -> None:
        self.charter = store._agree()
        self.seal = Seal(self.charter.seed)
        self.capacity = store.capacity
        self.folder = store._place()
        self.name = name

    def renew(self, limits: tuple[Limit, ...]) -> tuple[Segment, tuple[Table, ...]]:
        """`lay`, but what nobody has open is left over from earlier, and not to be found again."""
        discard(self.path(limits))
        return self.lay(limits)

    def path(self, limits: tuple[Limit, ...]) -> str:
        """Where the file of `limits` is."""
        return os.path.join(self.folder, self._file(limits))

    def lay(self, limits: tuple[Limit, ...]) -> tuple[Segment, tuple[Table, ...]]:
        """The file of `limits`, which nobody else can enter yet, and the tables in it."""
        furnish(self.folder)
        self._sweep(limits)
        drawers, capacity = divide(self.capacity)
        segment = Segment(
            self.path(limits),
            self._facts(limits, drawers, capacity),
            drawers,
            extent(limits, capacity),
        )
        with segment.deed:
            plots = segment.plots
            return segment, tuple(Table(limits, capacity, plot, self.seal) for plot in plots)

    def _sweep(self, limits: tuple[Limit, ...]) -> None:
        # Remove what the limiter had under other limits, unless somebody still has it open.
        ours = re.compile(re.escape(plain(self.name)) + r"\.[0-9a-f]{16}\.rows")
        kept = self._file(limits)
        for file in os.listdir(self.folder):
            if self.name and file != kept and ours.fullmatch(file):
                discard(os.path.join(self.folder, file))

    def _file(self, limits: tuple[Limit, ...]) -> str:
        name = plain(self.name) if self.name else "="
        return f"{name}.{spelled(limits)}.rows"

    def _facts(self, limits: tuple[Limit, ...], drawers: int, capacity: int) -> dict[str, str]:
        groups, stride, _ = shape(limits, capacity)
        return {
            "version": VERSION,
            "lock": form(),
            "capacity": str(self.capacity),
            "boot": self.charter.boot,
            "seed": self.charter.sign,
            "limits": shorten(repr(list(limits))),
            "drawers": str(drawers),
            "groups": str(groups),
            "stride": str(stride),
        }


def spelled(limits: tuple[Limit, ...]) -> str:
    """The limits as a name for a file: other limits, another file."""
    text = "\n".join(repr(limit) for limit in limits)
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def plain(name: str) -> str:
    """A name for a file: itself where it can be one, else a digest, which no plain one is."""
    if PLAIN.fullmatch(name):
        return name
    return "~" + blake2b(name.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def home(name: str, folder: str | None) -> str:
    """The folder of the store of that name, which only this user can enter."""
    root = folder or (MEMORY if os.access(MEMORY, os.W_OK) else tempfile.gettempdir())
    user = furnish(os.path.join(root, f"headgate-{os.geteuid()}"))
    return furnish(os.path.join(user, plain(name)))


def named(name: object, who: str = "SharedStore") -> str:
    """The name of a store, if it is one and the system can share memory."""
    if not sys.platform.startswith("linux"):
        raise StoreUnavailable(f"{who}: shared memory needs Linux; use memory:// here")
    if not isinstance(name, str):
        raise TypeError(f"{who}: name is a str, not {name!r}")
    if not name:
        raise ValueError(f"{who}: name is not empty; it is what processes find each other by")
    return name


def sized(capacity: object) -> int:
    """How many keys, if it is a number of them."""
    if isinstance(capacity, bool) or not isinstance(capacity, int):
        raise TypeError(f"SharedStore: capacity is a whole number of keys, not {capacity!r}")
    if not 1 <= capacity <= 1 << 30:
        raise ValueError(f"SharedStore: capacity is from 1 to {1 << 30:,} keys, not {capacity}")
    return capacity
