"""Without its package, the adapter says what to install."""

from __future__ import annotations

import importlib
import sys

import pytest

from headgate import MissingExtra


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "headgate.adapters.grpc", raising=False)
    monkeypatch.setitem(sys.modules, "grpc", None)

    with pytest.raises(MissingExtra) as caught:
        importlib.import_module("headgate.adapters.grpc")
    assert str(caught.value) == (
        'the extra "grpc" is not installed; try pip install "headgate[grpc]"'
    )
