"""Screen: a picture that is drawn anew at every interval, until somebody has seen enough."""

from __future__ import annotations

import os
import select
import sys
import termios
import threading
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from headgate.cli.top.line import Line, Unreachable
from headgate.cli.top.picture import line as cut
from headgate.cli.top.picture import picture
from headgate.cli.top.track import Glance, Track

ENOUGH = b"qQ\x03\x04\x1b"


def watch(console: Any, line: Line, first: Any, over: Callable[[], bool]) -> None:
    """Draw what there is to see, `first` and then again and again, until it is `over`."""
    from rich.live import Live  # noqa: PLC0415 - only who watches needs it

    track = Track()
    glance, news = track.note(first), ""
    with Live(console=console, screen=True, auto_refresh=False) as live:
        live.update(drawn(console, glance, news), refresh=True)
        while not over():
            try:
                glance, news = track.note(line.read()), ""
            except Unreachable as gone:
                news = f"{gone}; trying again"
            live.update(drawn(console, glance, news), refresh=True)


def drawn(console: Any, glance: Glance, news: str) -> Any:
    """The picture, in the lines that the terminal has by now."""
    if console.height < 5:
        return cut("too few lines")
    return picture(console, glance, news, console.height)


@contextmanager
def keys(every: float) -> Iterator[Callable[[], bool]]:
    """Lets an interval pass each time; whether somebody pressed a key that ends it meanwhile."""
    if not sys.stdin.isatty():
        never = threading.Event()
        yield lambda: never.wait(every)
        return
    file = sys.stdin.fileno()
    before = termios.tcgetattr(file)
    tty.setcbreak(file)
    try:
        yield lambda: pressed(file, every)
    finally:
        termios.tcsetattr(file, termios.TCSADRAIN, before)


def pressed(file: int, seconds: float) -> bool:
    """Whether a key that ends it is pressed within so many seconds; any other one looks at once."""
    ready, _, _ = select.select([file], [], [], seconds)
    return bool(ready) and any(key in ENOUGH for key in os.read(file, 64) or ENOUGH)
