"""What a gateway is told that is probably not meant is told back, and nothing else is."""

from __future__ import annotations

from typing import Any

import pytest

from headgate.rules.model.rule import Rule
from headgate.rules.model.rules import Rules
from headgate.rules.review import forwarding
from headgate.rules.review.lint import warnings

APP = "http://127.0.0.1:9000"


def told(**gateway: Any) -> list[str]:
    found = warnings(Rules([Rule("a", limit="5/s")], gateway=gateway))
    assert all(warning.warning for warning in found)
    return [str(warning) for warning in found]


def route(path: Any = "", /, **fields: Any) -> dict[str, Any]:
    return {"upstream": APP, **({"match": {"path": path}} if path else {}), **fields}


def test_a_gateway_that_forwards_everything_is_fine() -> None:
    assert told(listen="0.0.0.0:80", routes=[route()]) == []


def test_no_routes() -> None:
    assert told() == [
        "gateway.routes: there is none, so every request is answered 404; write one such as "
        "{upstream: http://127.0.0.1:9000}"
    ]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (route(), route("/v1/**")),
        (route("/v1/**"), route("/v1/users", match={"path": "/v1/users", "method": "GET"})),
        (route(["/a", "/b/**"]), route("/b/*")),
        (route("/a"), route("/a", match={"path": "/a", "not": {"host": "a.example"}})),
    ],
)
def test_a_route_that_is_never_reached(first: Any, second: Any) -> None:
    said = "meets all it would; put it before that one"

    assert told(routes=[first, second]) == [
        f"gateway.routes[1]: is never reached: routes[0] {said}"
    ]
    assert told(routes=[{**first, "name": "x"}, second]) == [
        f'gateway.routes[1]: is never reached: "x" {said}'
    ]
    assert told(routes=[second, first]) == []


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (route("/v1/**"), route("/v2/**")),
        (route("/v1/*"), route("/v1/**")),
        (route(match={"header.x": "1"}), route()),
        (route(match={"not": {"host": "a.example"}}), route()),
    ],
)
def test_a_route_that_gets_what_is_left(first: Any, second: Any) -> None:
    assert told(routes=[first, second]) == []


def test_an_upstream_that_no_route_leads_to() -> None:
    upstreams = {"a": APP, "b": APP}

    assert told(upstreams=upstreams, routes=[route(upstream="b")]) == [
        "gateway.upstreams.a: no route leads to it; leave it out, or name it in one"
    ]


def test_a_server_that_may_be_anybody() -> None:
    upstreams = {"a": {"servers": "https://a.example", "tls": {"verify": False}}}

    assert told(upstreams=upstreams, routes=[route(upstream="a")]) == [
        "gateway.upstreams.a.tls.verify: whoever stands between may pose as the server, and reads "
        "what is sent; say with ca whom to believe"
    ]


@pytest.mark.parametrize(
    ("listen", "server", "place"),
    [
        ("127.0.0.1:9000", APP, "127.0.0.1:9000"),
        ("localhost:9000", "http://[::1]:9000", "[::1]:9000"),
        (":9000", "http://127.0.0.7:9000", "127.0.0.7:9000"),
        ([":1", "0.0.0.0:80"], "http://localhost", "localhost:80"),
        ("10.0.0.1:9000", "http://10.0.0.1:9000", "10.0.0.1:9000"),
        ("unix:/run/a.sock", "unix:/run/a.sock", "unix:/run/a.sock"),
    ],
)
def test_a_server_that_is_the_gateway_itself(listen: Any, server: str, place: str) -> None:
    said = f"the gateway itself listens on {place}, so requests go in circles; write where the app "
    first = route("/a", upstream="http://10.9.9.9")

    assert told(listen=listen, routes=[first, route(upstream=server)]) == [
        f"gateway.routes[1].upstream: {said}is"
    ]
    assert told(listen=listen, upstreams={"a": server}, routes=[route(upstream="a")]) == [
        f"gateway.upstreams.a: {said}is"
    ]


@pytest.mark.parametrize(
    ("listen", "server"),
    [
        ("127.0.0.1:9000", "http://127.0.0.1:9001"),
        ("127.0.0.1:9000", "http://10.0.0.1:9000"),
        (":9000", "http://10.0.0.1:9000"),
        ("unix:/run/a.sock", "unix:/run/b.sock"),
        ("127.0.0.1:0", "unix:/run/a.sock"),
        (":0", "unix:/run/a.sock"),
    ],
)
def test_a_server_that_is_another(listen: str, server: str) -> None:
    assert told(listen=listen, routes=[route(upstream=server)]) == []


@pytest.mark.parametrize("path", ["/v1/**", "/ap/**", "/", ["/apis", "/v1/api"], "/*/x"])
def test_nothing_to_take_away_from_a_path(path: Any) -> None:
    strip = "/v1/api" if path == "/*/x" else "/api"

    assert told(routes=[route(path, path={"strip": strip})]) == [
        f"gateway.routes[0].path.strip: no path it meets begins with {strip}, so nothing is taken "
        "away; match such paths, or leave it out"
    ]


@pytest.mark.parametrize(
    "path", ["", "/api/**", "/api", "/**", "/**/x", "/{any}/x", "/a*/x", ["/x", "/api/x"]]
)
def test_something_to_take_away_from_a_path(path: Any) -> None:
    assert told(routes=[route(path, path={"strip": "/api", "add": "/v2"})]) == []


def test_a_path_that_is_spelled_for_another_router() -> None:
    assert told(routes=[route("/users/<int:id>")]) == [
        'gateway.routes[0].match.path: "/users/<int:id>" is taken literally; paths have {id}, * '
        "and **, as in /users/{id}"
    ]


def test_of_very_many_routes_the_first_are_held_against_one_another(
    monkeypatch: pytest.MonkeyPatch, scale: int
) -> None:
    # Each route is compared with all before it.
    most = 1000 if scale > 1 else 200
    monkeypatch.setattr(forwarding, "MOST", most)
    routes = [route(f"/{number}") for number in range(most)]

    assert told(routes=[*routes, route(f"/{most - 1}"), route("/5")]) == []
    assert len(told(routes=[*routes[1:], route("/5")])) == 1
