"""Single: a program that is told what to do in JSON and keeps to one core, for overload.py."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import resource
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine


def run(main: Callable[[dict[str, Any]], Coroutine[Any, Any, None]]) -> None:
    """Run `main` with what the only argument says, on the core it names; by uvloop, if it is in."""
    told = json.loads(sys.argv[1])
    os.sched_setaffinity(0, {told["core"]})
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    gc.freeze()
    try:
        from uvloop import new_event_loop
    except ImportError:
        new_event_loop = asyncio.new_event_loop
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(main(told))
