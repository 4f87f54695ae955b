"""The gateway's section: what may be said in which ways, and what is kept to oneself."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import pytest

from headgate import Rate
from headgate.errors import RulesError
from headgate.rules.model.bounds import Bounds, Patience, Timeouts
from headgate.rules.model.gates import Break
from headgate.rules.model.gateway import Audit, Gateway
from headgate.rules.model.listen import Admin, Listen, Tls
from headgate.rules.model.place import Place
from headgate.rules.model.route import Rewrite, Route
from headgate.rules.model.rules import Rules
from headgate.rules.model.table import spelled
from headgate.rules.model.upstream import Assurance, Health, Retries, Upstream

TOKEN = "hunter2-hunter2-hunter2"
PEM = {"certificate": "a.pem", "key": "a.key"}
UNFIT = (502, 503, 504)


def upstream(**fields: Any) -> Upstream:
    """One that says this and no more than it must."""
    return Upstream("http://a", **fields)


def route(**fields: Any) -> Route:
    """One that says this and no more than it must."""
    return Route("http://a", **fields)


def wrong(make: Any) -> str:
    """All that is said of what cannot be made."""
    with pytest.raises(RulesError) as caught:
        make()
    return str(caught.value)


SAID: list[tuple[Any, str, Any, Any]] = [
    (Gateway, "listen", ":80", (Listen(":80"),)),
    (Gateway, "listen", [":80"], (Listen(":80"),)),
    (Gateway, "listen", {"address": ":80"}, (Listen(":80"),)),
    (Gateway, "listen", [":80", {"address": ":81", "tls": PEM}],
     (Listen(":80"), Listen(":81", Tls("a.pem", "a.key")))),
    (Gateway, "admin", "127.0.0.1:1", Admin("127.0.0.1:1")),
    (Gateway, "admin", {"listen": "localhost:1", "token": ""}, Admin("localhost:1")),
    (Gateway, "limits", {}, Bounds(64_000, 100, 0, 10_000, 0, 0)),
    (Gateway, "limits", {"head": "64KiB", "body": "1.5MB"}, Bounds(head=65_536, body=1_500_000)),
    (Gateway, "timeouts", {}, Timeouts(10, 30, 60, 60, 5, 60, 60, 300, 30)),
    (Gateway, "timeouts", {"total": 0, "idle": "1.5s"}, Timeouts(total=0.0, idle=1.5)),
    (Gateway, "audit", {"rate": "1/min"}, Audit(Rate("1/min"))),
    (Gateway, "upstreams", {"a": "http://a"}, {"a": Upstream("http://a")}),
    (Gateway, "upstreams", {"a": {"servers": ["http://a"]}}, {"a": Upstream("http://a")}),
    (Gateway, "routes", [{"upstream": "http://a"}], (Route("http://a"),)),
    (upstream, "health", "/up", Health("/up", 5, 1, 2, 3, ["2xx"])),
    (upstream, "health", {"path": "/up", "status": 204}, Health("/up", status=204)),
    (upstream, "breaker", True, Break(status=UNFIT)),
    (upstream, "breaker", {}, Break(status=UNFIT)),
    (upstream, "breaker", {"pause": "1s"}, Break(pause=1, status=UNFIT)),
    (upstream, "breaker", {"status": "5xx"}, Break()),
    (upstream, "breaker", False, None),
    (upstream, "retries", 0, Retries(0)),
    (upstream, "retries", {"budget": "5%"}, Retries(1, 5)),
    (upstream, "idle", "500ms", 0.5),
    (route, "match", {"path": "/a"}, Route("http://a", {"path": "/a"}).match),
    (route, "host", "Keep", "keep"),
    (route, "path", {"strip": "/a"}, Rewrite("/a", "")),
    (route, "path", {"add": "/%C3%A4/b"}, Rewrite(add="/%C3%A4/b")),
    (route, "timeouts", {"answer": 5}, Patience(answer="5s")),
    (route, "retries", 2, Retries(2, 20)),
]  # fmt: skip


@pytest.mark.parametrize(("make", "field", "said", "value"), SAID)
def test_a_field_may_be_said_in_several_ways(make: Any, field: str, said: Any, value: Any) -> None:
    made = make(**{field: said})

    assert getattr(made, field) == value
    assert made == make(**{field: value})
    assert pickle.loads(pickle.dumps(made)) == made
    assert replace(made) == made
    assert eval(repr(made), {type(made).__name__: type(made)}) == made


def test_what_is_not_said_is_as_usual() -> None:
    gateway = Gateway()

    assert gateway.listen == (Listen("127.0.0.1:8080"),)
    assert (gateway.workers, gateway.admin, gateway.routes) == (1, None, ())
    assert gateway.audit == Audit("10/s", "")
    assert repr(gateway) == "Gateway()"
    assert upstream().breaker == Break(status=UNFIT)
    assert upstream().retries == Retries(1, 20)
    assert upstream().tls == Assurance("", True, "")
    assert (route().timeouts, route().retries, route().path) == (None, None, None)
    assert Rules().gateway is None


def test_places_are_read_from_addresses() -> None:
    secure = Listen("[::1]:443", tls=PEM)
    servers = Upstream(["https://A.example", "unix:/run/a.sock"])

    assert Listen(":80").place == Place("http", "", 80)
    assert secure.place == Place("https", "::1", 443)
    assert Listen("unix:/run/b.sock", tls=PEM).place == Place("unix", path="/run/b.sock")
    assert Admin("127.0.0.1:0").place == Place("http", "127.0.0.1", 0)
    assert servers.places == (Place("https", "a.example", 443), Place("unix", path="/run/a.sock"))


def test_groups_are_all_upstreams_by_what_routes_call_them() -> None:
    gateway = Gateway(
        upstreams={"a": {"servers": "http://a", "idle": 9}, "b": "http://b"},
        routes=[{"upstream": "a"}, {"upstream": "http://c"}, {"upstream": "http://c"}],
    )

    assert gateway.groups == {
        "a": Upstream("http://a", idle=9),
        "b": Upstream("http://b"),
        "http://c": Upstream("http://c"),
    }


def test_a_route_is_patient_as_everywhere_but_for_what_it_says() -> None:
    everywhere = Timeouts(connect=1, answer=2, stall=3, total=4, idle=9)

    assert Patience(answer=7, total=0).over(everywhere) == Timeouts(
        connect=1, answer=7, stall=3, total=0, idle=9
    )
    assert Patience().over(everywhere) == everywhere


@pytest.mark.parametrize(
    ("servers", "spelling"),
    [
        ("http://a", "http://a"),
        (["http://a"], "http://a"),
        (["http://a", "http://b"], {"servers": ["http://a", "http://b"]}),
    ],
)
def test_an_upstream_is_spelled_as_it_can_be_read(servers: Any, spelling: Any) -> None:
    plain = spelled(Gateway(upstreams={"x": {"servers": servers}}))

    assert plain == {"upstreams": {"x": spelling}}
    assert Gateway(**plain).upstreams["x"] == Upstream(servers)


@pytest.mark.parametrize(
    ("size", "spelling"),
    [(64_000, "64KB"), (65_536, "64KiB"), (10**9, "1GB"), (1234, 1234), (1 << 20, "1MiB")],
)
def test_sizes_are_spelled_in_the_unit_they_are_whole_in(size: int, spelling: Any) -> None:
    bounds = Bounds(body=size)

    assert spelled(bounds) == {"body": spelling}
    assert Bounds(body=spelling) == bounds


def test_a_token_is_printed_nowhere() -> None:
    rules = Rules(gateway={"admin": {"listen": "127.0.0.1:1", "token": TOKEN}})
    gateway = rules.gateway

    assert gateway.admin.token == TOKEN
    assert repr(gateway.admin) == "Admin(listen='127.0.0.1:1', token='***')"
    assert repr(gateway) == "Gateway(admin={'listen': '127.0.0.1:1', 'token': '***'})"
    assert repr(rules) == f"Rules([], gateway={gateway.hushed()!r})"
    assert gateway.hushed() == {"admin": {"listen": "127.0.0.1:1", "token": "***"}}
    assert rules.spelled()["gateway"]["admin"]["token"] == TOKEN
    assert pickle.loads(pickle.dumps(rules)) == rules


def test_a_token_does_not_show_in_the_digest_and_all_else_does() -> None:
    plain = {"listen": "127.0.0.1:1", "token": TOKEN}
    digest = Rules(gateway={"admin": plain}).digest

    assert Rules(gateway={"admin": {**plain, "token": f"another-{TOKEN}"}}).digest == digest
    assert Rules(gateway={"admin": {**plain, "listen": "127.0.0.1:2"}}).digest != digest


SECRET = "token: is a secret of 16 to 1,000 letters, digits and signs"


@pytest.mark.parametrize(
    ("token", "said"),
    [
        ("hunter2", "not of 7; leave it out and one is made"),
        ("hunter2" * 200, "not of 1,400; leave it out and one is made"),
        (1234567890123456, "not a number; write it in quotes"),
        (None, "not nothing"),
        (True, "not true"),
        (["hunter2"], "not a list"),
    ],
)
def test_a_token_that_is_none_is_not_told(token: Any, said: str) -> None:
    assert wrong(lambda: Admin("127.0.0.1:1", token)) == f"{SECRET}, {said}"


@pytest.mark.parametrize("token", ["hunter2 hunter2 hunter2", f"{TOKEN}\n", f"{TOKEN}ä"])
def test_a_token_is_such_as_a_header_can_carry(token: str) -> None:
    said = f"{SECRET} of ASCII, not one with blanks or others"

    assert wrong(lambda: Admin("127.0.0.1:1", token)) == said


def test_what_a_variable_holds_is_filled_in_and_not_told() -> None:
    text = """\
version: 1
gateway:
  listen: "${WHERE}"
  admin: {listen: "127.0.0.1:1", token: "${TOKEN}"}
  upstreams: {a: "http://${HOST}"}
"""
    good = {"WHERE": ":80", "TOKEN": TOKEN, "HOST": "a:81"}
    bad = {"WHERE": "hunter2", "TOKEN": "hunter2", "HOST": "me:hunter2@a"}

    gateway = Rules.read(text, environment=good).gateway
    said = wrong(lambda: Rules.read(text, environment=bad))

    assert gateway == Gateway(
        listen=":80",
        admin={"listen": "127.0.0.1:1", "token": TOKEN},
        upstreams={"a": "http://a:81"},
    )
    assert [line.split(": ")[0] for line in said.splitlines()] == [
        "rules:3:11", "rules:4:41", "rules:5:18",
    ]  # fmt: skip
    assert "hunter2" not in said


ADDRESS = "is an address such as 127.0.0.1:8080, [::1]:8080, :8080 or unix:/run/web.sock"
NEAR = "is an address of this machine such as 127.0.0.1:9901 or unix:/run/admin.sock"


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Listen(":80", tls={"key": "a"}),
         'tls: lacks "certificate", which is a file of certificates in PEM'),
        (lambda: Listen("x"),
         f'address: {ADDRESS}, not "x"; write a port after it, as in 127.0.0.1:8080'),
        (lambda: Listen(80),
         f"address: {ADDRESS}, not 80; write 127.0.0.1:80, or :80 for all interfaces"),
        (lambda: Listen(True), f"address: {ADDRESS}, not true"),
        (lambda: Tls("a\0b", "k"), 'certificate: is a file of certificates in PEM, not "a\\x00b"; '
         "at most 4,000 characters that can be printed"),
        (lambda: Admin(":1"), f'listen: {NEAR}, not ":1"; others reach it there, so write '
         "127.0.0.1"),
        (lambda: Gateway(listen=[":80", ":80"]),
         "listen[1]: :80 is taken by listen[0]; choose another"),
        (lambda: Gateway(listen=["0.0.0.0:80", "[::]:80", ":80"]),
         "listen[2]: :80 is taken by listen[0]; choose another"),
        (lambda: Gateway(listen=["unix:/a", "unix:/a"]),
         "listen[1]: unix:/a is taken by listen[0]; choose another"),
        (lambda: Gateway(admin="127.0.0.1:8080"),
         "admin: 127.0.0.1:8080 is taken by listen; choose another"),
        (lambda: Gateway(workers=0),
         "workers: is how many, a whole number from 1 to 1,000, not 0"),
        (lambda: Gateway(routes=[{"upstream": "shop"}]),
         'routes[0].upstream: there is no upstream "shop"; write an address such as '
         "http://127.0.0.1:9000"),
        (lambda: Gateway(routes=[{"upstream": "a b"}]),
         "routes[0].upstream: is the name of an upstream, or an address such as "
         'http://127.0.0.1:9000, not "a b"; a name is letters, digits and _ . -'),
        (lambda: Gateway(upstreams={"a:b": "http://a"}),
         "upstreams.a:b: a name is letters, digits and _ . -, at most 64 of them, not "
         '"a:b"'),
        (lambda: Gateway(upstreams={"a": ["http://a"]}),
         "upstreams.a: is an address such as http://10.0.0.1:9000, or a mapping with servers, "
         "not a list"),
        (lambda: upstream(health="up"), "health: is a path such as /healthz, not \"up\""),
        (lambda: upstream(health="/a b"), 'health: is a path such as /healthz, not "/a b"; at '
         "most 1,000 characters of ASCII, without blanks and #"),
        (lambda: upstream(balance="hash", key="path.id"),
         "key: path.id is known where a path is matched, and that is on a route; write path, or "
         "another fact"),
        (lambda: upstream(tls={"name": "a b"}), "tls.name: is the name of a host such as "
         'a.example, not "a b"; a host is letters, digits and - . _, as in a.example'),
        (lambda: upstream(tls={"name": "a"}),
         "tls: is about https, and there is no such server; leave it out"),
        (lambda: Retries(11), "most: is how often, a whole number from 0 to 10, not 11"),
        (lambda: route(host="a:b"), "host: is keep, upstream, or a host such as a.example, not "
         '"a:b"; a port is a number up to 65535'),
        (lambda: route(host=":80"),
         'host: is keep, upstream, or a host such as a.example, not ":80"'),
        (lambda: Rewrite("/"), 'strip: is the beginning of a path such as /api, not "/"; write '
         "one such as /api"),
        (lambda: Rewrite("/a/../b"),
         'strip: is the beginning of a path such as /api, not "/a/../b"; write /a/b'),
        (lambda: Rewrite(add="/a?b"), 'add: is the beginning of a path such as /api, not "/a?b"; '
         "at most 1,000 characters, and what is no letter is escaped as %20"),
        (lambda: Bounds(head="17MiB"),
         'head: is how much, a size such as 64KB or 1MiB, not "17MiB"; at most 16MiB'),
        (lambda: Bounds(body="0.5B"), "body: is how much, a size such as 64KB or 1MiB, not "
         '"0.5B"; at least 0, and whole'),
    ],
)  # fmt: skip
def test_what_cannot_be_is_told_in_code_too(make: Any, said: str) -> None:
    assert wrong(make) == said


@pytest.mark.parametrize(
    "fields",
    [
        {"listen": ["127.0.0.1:0", "127.0.0.1:0"]},
        {"listen": ["0.0.0.0:80", "[::]:80", "127.0.0.1:81"]},
        {"listen": ":80", "admin": "127.0.0.1:80"},
        {"upstreams": {"a": {"servers": ["http://a", "https://a", "http://a:81"]}}},
        {"upstreams": {"a": {"servers": "https://a", "tls": {"verify": False, "name": "b"}}}},
        {"routes": [{"upstream": "http://a"}, {"upstream": "http://a"}]},
        {"routes": [{"upstream": "http://a", "match": {"path": "/{id}", "path.id": "5"}}]},
    ],
)
def test_what_looks_odd_and_can_be(fields: dict[str, Any]) -> None:
    assert Gateway(**fields)


def test_of_very_many_routes_to_nowhere_enough_are_told_soon() -> None:
    names = {f"name-{number}": "http://a" for number in range(2000)}
    routes = [{"upstream": f"nam-{number}"} for number in range(2000)]

    assert len(wrong(lambda: Gateway(upstreams=names, routes=routes)).splitlines()) == 100
