"""Orders: what the command line has to say beside the rules, as all processes are told it."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from typing import Any

from headgate.rules.model.rules import Rules
from headgate.rules.model.service import Service
from headgate.rules.watch.sources import reach
from headgate.workers.origin import Amended


@dataclass(frozen=True)
class Orders:
    """What a gateway goes by, or a service: `serves` is which, as the rules call it.

    `source` is where its rules stand. Instead of what they say it listens on the addresses in
    `listen`, counts in `store` and drains for `drain` seconds, where those are given. It counts in
    `spare` if nobody says where. It looks for new rules every `watch` seconds, or never if 0. A
    token that is made is written to `token_file`. `log` is how lines look: console, or json.
    """

    source: str
    listen: tuple[str, ...] = ()
    store: str = ""
    spare: str = ""
    watch: float = 0.0
    drain: float | None = None
    quiet: bool = False
    token_file: str = ""
    serves: str = "gateway"
    log: str = "console"

    @property
    def origin(self) -> Amended:
        """The rules, with what is said here put into them."""
        return Amended(reach(self.source), self.serves, self.listen, self.spare)

    def sharing(self) -> Orders:
        """The same for several workers: they count together, unless somebody says where."""
        if self.store or not sys.platform.startswith("linux"):
            return self
        name = self.source if "://" in self.source else os.path.abspath(self.source)
        digest = blake2b(os.fsencode(name), digest_size=6).hexdigest()
        return replace(self, spare=f"shared://{self.serves}-{digest}")

    def terms(self, rules: Rules) -> Any:
        """What rules say of what is served."""
        found = getattr(rules, self.serves)
        # A service may be as usual in everything.
        return Service() if found is None else found

    def grace(self, rules: Rules) -> float:
        """For how many seconds to drain, by these rules."""
        return float(self.terms(rules).timeouts.drain if self.drain is None else self.drain)

    def told(self) -> str:
        """As one process tells it to another."""
        return json.dumps(asdict(self))

    @classmethod
    def heard(cls, text: str) -> Orders:
        """As the other hears it."""
        said = json.loads(text)
        return cls(**{**said, "listen": tuple(said["listen"])})
