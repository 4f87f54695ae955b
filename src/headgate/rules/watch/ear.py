"""Ear: hears signals, for one who is rung, and for those who were listening already."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from typing import Any


class Ear:
    """Calls `ring` for every signal it heeds, and after it whoever heard that signal before.

    Python calls it in the main thread at any moment, so `ring` must wait for no lock.
    """

    def __init__(self, ring: Callable[[], object]) -> None:
        self._ring = ring
        # What each signal did before.
        self._earlier: dict[int, Any] = {}

    def heed(self, number: int) -> None:
        """Hear this signal from now on."""
        title = signal.Signals(number).name
        if threading.current_thread() is not threading.main_thread():
            raise RuntimeError(f"obey: {title} can only be heard if the main thread asks for it")
        earlier = signal.getsignal(number)
        if earlier is None:
            raise RuntimeError(f"obey: {title} is handled outside of Python already")
        if number not in self._earlier:
            self._earlier[number] = earlier
            signal.signal(number, self._hear)

    def close(self) -> None:
        """Hear no more; in another thread than the main one, which cannot say so, it goes on."""
        if threading.current_thread() is not threading.main_thread():
            return
        for number in [*self._earlier]:
            # Somebody who came after us calls us and, through us, who was there before.
            if signal.getsignal(number) == self._hear:
                signal.signal(number, self._earlier.pop(number))

    def _hear(self, number: int, frame: Any) -> None:
        self._ring()
        earlier = self._earlier.get(number)
        if callable(earlier):
            earlier(number, frame)
