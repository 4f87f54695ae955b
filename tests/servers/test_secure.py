"""The restricted login of `password_server` reaches nothing but Headgate's keys.

Tests of the Redis store log in as `GUEST` to prove which permissions Headgate needs. A login
with more permissions would let them pass without proving it.
"""

from __future__ import annotations

import pytest

from tests.servers.launch import Server
from tests.servers.secure import GUEST
from tests.servers.wire import Refusal, Wire

FORBIDDEN = [("CONFIG", "GET", "*"), ("GET", "other"), ("FLUSHALL",)]


@pytest.mark.parametrize("command", FORBIDDEN, ids=" ".join)
def test_guest_is_denied_other_keys_and_dangerous_commands(
    password_server: Server, command: tuple[str, ...]
) -> None:
    with Wire(password_server.port, GUEST) as wire, pytest.raises(Refusal, match=r"^NOPERM "):
        wire.ask(*command)
