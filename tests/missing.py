"""Packages that are not there: for tests of what is said without them."""

from __future__ import annotations

import sys
from typing import Any

import pytest


class Gap:
    """Where a package would be found."""

    def __init__(self, name: str) -> None:
        self._name = name

    def find_spec(self, name: str, *_: Any) -> None:
        """Nothing for others, and an error for this one."""
        if name == self._name:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def lose(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Have a package missing. A mere None among the modules is not enough for compiled code."""
    monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr(sys, "meta_path", [Gap(name), *sys.meta_path])
