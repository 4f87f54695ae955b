"""A process that is sent a pickled call and runs it; forked from this program.

The program imports what such calls need, and nothing of pytest: it is small, and so are its forks.
"""

from __future__ import annotations

import base64
import pickle
from collections.abc import Callable
from typing import Any

import hiredis  # noqa: F401 - a store imports it with its first connection

import tests.permits.visits
import tests.stores.redis.visits  # noqa: F401
from tests.stores.obey import serve
from tests.stores.redis.processes import attempt


class Worker:
    """One process, and the call that it has been sent."""

    work: Callable[[], Any]

    def load(self, work: str) -> None:
        self.work = pickle.loads(base64.b64decode(work))

    def run(self) -> str:
        """Whether the call failed, and what it came to."""
        return base64.b64encode(pickle.dumps(attempt(self.work))).decode()


if __name__ == "__main__":
    serve(Worker)
