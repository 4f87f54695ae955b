"""Charter: what all processes that use a store agree on.

- the seed of their fingerprints, so that a key has the same row for everybody
- the offset of their clock: the monotonic clock is one for the whole machine, and shows the time
  of day as the first process saw it; somebody who sets the date between the starts of two workers
  does not make them disagree
- which start of the machine it is: the monotonic clock begins again with every one
"""

from __future__ import annotations

import os
from hashlib import blake2b

from headgate.clock import SystemClock
from headgate.errors import StoreMismatch
from headgate.stores.shared.deed import Deed
from headgate.stores.shared.facts import PAGE, boot, page, read

VERSION = "1"
# How far the time of day may have moved before the next one who is alone sets the clock by it.
STEP = 1_000_000


class Charter:
    """The charter in the file at `path`, written by whoever comes first."""

    def __init__(self, path: str) -> None:
        self.deed = Deed(path)
        with self.deed:
            facts = self._agree(path)
            self.deed.admit()
        self.seed = bytes.fromhex(facts["seed"])
        self.offset = int(facts["offset"])
        self.boot = facts["boot"]

    def _agree(self, path: str) -> dict[str, str]:
        alone = self.deed.alone
        found = read(os.pread(self.deed.file, PAGE, 0))
        valid = found.get("version") == VERSION and found.get("boot") == boot()
        if not valid and not alone:
            raise StoreMismatch(
                f"{path}: it is damaged, or from another version of Headgate, and others are "
                "using it: start all of them anew with the same one, or give this one a store "
                "of another name"
            )
        facts = found if valid else fresh()
        offset = SystemClock().offset
        if alone and abs(offset - int(facts["offset"])) > STEP:
            facts = {**facts, "offset": str(offset)}
        if facts != found:
            os.pwrite(self.deed.file, page(facts), 0)
        return facts

    @property
    def sign(self) -> str:
        """By which files show that they belong to it; says nothing about the seed."""
        return blake2b(self.seed, digest_size=8).hexdigest()


def fresh() -> dict[str, str]:
    """A charter for a store that has none."""
    return {
        "version": VERSION,
        "boot": boot(),
        "seed": os.urandom(16).hex(),
        "offset": str(SystemClock().offset),
    }
