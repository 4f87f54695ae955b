"""Addresses of services, as programs and rule files write them."""

from __future__ import annotations

from typing import Any

import pytest

from headgate import AsyncLimiter, Limiter
from headgate.rules import Rules
from headgate.rules.model.store import flaw
from headgate.stores.remote.address import way


@pytest.mark.parametrize(
    ("url", "place", "secret"),
    [
        ("headgate://host", "host:8083", ("", "")),
        ("headgate://host:99/", "host:99", ("", "")),
        ("headgate://:token@host", "host:8083", ("", "token")),
        ("headgate://shop:to%2Fken@host:1", "host:1", ("shop", "to/ken")),
        ("headgate://[::1]", "::1:8083", ("", "")),
        ("headgate://[::1]:99", "::1:99", ("", "")),
        ("headgate://", "localhost:8083", ("", "")),
        ("headgate://:token@unix:/run/limits.sock", "/run/limits.sock", ("", "token")),
    ],
)
def test_an_address_says_where_and_who(url: str, place: str, secret: tuple[str, str]) -> None:
    found = way(url)

    assert str(found.entry) == place
    assert (found.entry.username, found.entry.password) == secret
    assert found.entry.tls is None
    assert flaw(url) == flaw(f"leased+{url}") == ""


def test_an_address_may_ask_for_tls_and_for_more_time() -> None:
    found = way("headgates://host?budget=0.2&ssl_cert_reqs=none")

    assert found.entry.tls is not None
    assert found.budget == 0.2


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("headgate://host/3", "there is one of everything on a service; leave /3 out"),
        ("headgate://a,b", "a service has one address"),
        ("headgate://host:0", "0 is no port; they go from 1 to 65535"),
        ("headgate://host:x", "'x' is not a number; ports and databases are"),
        ("headgate://host?db=1", "unknown option 'db'; known are budget, ssl_ca_certs, "
                                 "ssl_cert_reqs, ssl_certfile, ssl_check_hostname, ssl_keyfile"),
        ("headgate://host?budget=0", "budget is a number of seconds above 0 such as 0.2, not '0'"),
        ("headgate://a@b@host", "in a password, / ? # and @ are written %2F %3F %23 and %40"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_an_address_is_said_without_its_secrets(url: str, problem: str) -> None:
    with pytest.raises(ValueError) as caught:
        way(url)

    assert str(caught.value).endswith(f"': {problem}")
    assert flaw(url) == problem


@pytest.mark.parametrize("url", ["headgate://:hush@host:0", "headgates://:hush@unix:/run/a"])
def test_no_message_tells_a_token(url: str) -> None:
    with pytest.raises(ValueError) as caught:
        way(url)

    assert "hush" not in str(caught.value)


@pytest.mark.parametrize("kind", [Limiter, AsyncLimiter])
def test_a_limiter_takes_an_address_for_a_store(kind: Any) -> None:
    assert repr(kind("5/s", store="headgate://:hush@host")._limiter.store
                if kind is AsyncLimiter else kind("5/s", store="headgate://:hush@host").store
                ).startswith("RemoteStore('headgate://host:8083'")  # fmt: skip


def test_rules_keep_their_state_on_a_service() -> None:
    rules = Rules.read("{version: 1, store: 'leased+headgate://:hush@host', rules: []}")

    assert rules.store == "leased+headgate://:hush@host"
    assert "hush" not in repr(rules)
