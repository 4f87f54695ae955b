"""What rules can ask of a request, read from an environ."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.adapters.arrivals import Arrival, Reception
from headgate.rules.clients.client import Client
from headgate.rules.live.gatekeeper import Gatekeeper
from headgate.rules.model.rules import Rules
from tests.adapters.wire import environment


def arrived(environ: dict[str, Any], client: Client | None = None) -> Arrival:
    keeper = Gatekeeper(Rules(client=client or Client()))
    manners = Reception(keeper, lambda source: source.get("who"), lambda source: None).manners
    return Arrival(environ, manners, environ)


@pytest.mark.parametrize(
    ("script", "info", "path"),
    [
        ("", "/login", "/login"),
        ("/shop", "/login", "/shop/login"),
        ("/shop", "", "/shop"),
        ("", "", "/"),
        ("", "/caf\xc3\xa9", "/café"),
        ("/caf\xc3\xa9", "/x", "/café/x"),
        ("", "/\xff", "/\ufffd"),
        ("", "//login/", "//login/"),
    ],
)
def test_a_path_is_whole_and_decoded(script: str, info: str, path: str) -> None:
    environ = environment("GET", "/", {}) | {"SCRIPT_NAME": script, "PATH_INFO": info}

    assert arrived(environ).path == path


@given(st.text(st.characters(max_codepoint=255)))
def test_no_path_is_too_strange(info: str) -> None:
    assert arrived({"REQUEST_METHOD": "GET", "PATH_INFO": info}).path


def test_a_path_that_a_server_has_left_as_it_was_is_read_all_the_same() -> None:
    assert arrived({"REQUEST_METHOD": "GET", "PATH_INFO": "/\u20ac"}).path == "/?"


def test_a_method_is_in_capitals_as_frameworks_take_it() -> None:
    assert arrived({"REQUEST_METHOD": "post"}).method == "POST"


def test_headers_stand_where_cgi_has_them() -> None:
    environ = environment("GET", "/", {"x-user": "42", "host": "Example.com:8000"})
    environ |= {"CONTENT_TYPE": "text/plain", "CONTENT_LENGTH": "12"}
    request = arrived(environ)

    assert [request.header(name) for name in ("x-user", "content-type", "x-other")] == [
        "42", "text/plain", "",
    ]  # fmt: skip
    assert (request.size, request.host, request.scheme) == (12, "example.com", "http")


def test_the_query_and_the_cookies_are_taken_apart() -> None:
    request = arrived(environment("GET", "/?a=1&b=%20", {"cookie": "c=2; d=3"}))

    assert (request.query("b"), request.cookie("d"), request.query("c")) == (" ", "3", "")


def test_an_environ_with_the_least_there_can_be_is_enough() -> None:
    request = arrived({"REQUEST_METHOD": "GET"})

    assert (request.path, request.query("a"), request.host, request.scheme, request.client) == (
        "/", "", "", "http", "local",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("peer", "line", "address"),
    [
        ("10.0.0.1", "1.1.1.1, 203.0.113.9", "203.0.113.9"),
        ("10.0.0.1", "203.0.113.9,10.0.0.2", "203.0.113.9"),
        ("10.0.0.1", None, "10.0.0.1"),
        ("198.51.100.1", "203.0.113.9", "198.51.100.1"),
    ],
)
def test_a_proxy_is_believed_if_it_is_trusted(peer: str, line: str | None, address: str) -> None:
    headers = {} if line is None else {"x-forwarded-for": line}
    client = Client(trusted_proxies=["10.0.0.0/8"])

    assert arrived(environment("GET", "/", headers, peer), client).address == address


def test_nobody_can_say_which_view_they_are_at() -> None:
    request = arrived(environment("GET", "/", {"headgate-view": "login"}))

    assert request.header("headgate-view") == ""


def test_who_it_is_is_asked_once() -> None:
    asked: list[str] = []
    keeper = Gatekeeper(Rules())
    manners = Reception(keeper, lambda source: asked.append("user"), asked.append).manners
    request = Arrival(environment("GET", "/", {}), manners, "source")

    found = [request.user, request.user, request.plan, request.plan]

    assert (found, asked) == (["", "", "", ""], ["user", "source"])
