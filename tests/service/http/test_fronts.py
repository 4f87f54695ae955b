"""The real nginx and Caddy, with the configurations that are shipped, in front of a real app."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing
from typing import Any

import pytest

from headgate.rules.model.rules import Rules
from tests.gateway.answering import Answering
from tests.gateway.staging import answered
from tests.gateway.talking import Answer, Talk
from tests.servers.caddy import caddy
from tests.servers.fixtures import running
from tests.servers.process import ServerProcess
from tests.service.http.fronts import front
from tests.service.http.staging import HttpServiceHost as Stage
from tests.service.http.staging import asked, plan, told

KINDS = ("nginx", "caddy")
# Who connects from another address of this machine is no proxy that is believed.
RULES: dict[str, Any] = {
    "client": {"trusted_proxies": ["127.0.0.1"]},
    "service": {"callers": {}},
}
LIMIT = {"name": "api", "key": "client.ip", "limit": "2/min", "match": {"path": "/api/*"}}
LESS = {"name": "less", "key": "client.ip", "limit": "1/min", "match": {"path": "/less"},
        "over": {"degrade": {"body": "less"}}}  # fmt: skip
HOST = {"name": "host", "key": "host", "match": {"path": "/host"}, "limit": "5/min"}
BAN = {"name": "ban", "match": {"path": "/no"}, "deny": {}}
FULL = {"name": "full", "match": {"path": "/full"}, "concurrent": 1, "key": "client.ip",
        "over": {"reject": {"status": 503}}}  # fmt: skip
SEEN = {"name": "seen", "key": "{method} {path} {query.b} {host} {scheme} {header.x-user}",
        "match": {"path": "/seen/*"}, "limit": "5/min"}  # fmt: skip


class Scene:
    """A client, a proxy of a kind, the service that it asks, and the app behind."""

    def __init__(self, kind: str, closed: bool = False) -> None:
        self.kind = kind
        self.stack = ExitStack()
        self.stage = self.stack.enter_context(Stage(ruled(LIMIT)))
        self.app = self.stack.enter_context(Answering())
        self.front: ServerProcess = self.stack.enter_context(
            front(kind, self.stage.port, self.app.port, closed)
        )
        self.gone = False

    def __enter__(self) -> Scene:
        return self

    def __exit__(self, *problem: Any) -> None:
        self.stack.__exit__(*problem)

    def get(self, target: str, method: str = "GET", body: bytes = b"", **headers: str) -> Answer:
        """What a client is answered who comes from another address than proxies do."""
        length = {"content_length": str(len(body))} if body else {}
        with Talk(self.front.port, source="127.0.0.9") as talk:
            talk.send(asked(method, target, **length, **headers) + body)
            return answered(talk, method)

    def reach(self) -> int:
        """How many requests have come to the app."""
        return len(self.app.heads)

    def heavy(self, rule: str) -> list[str]:
        """The keys that were counted by a rule."""
        return [one["key"] for one in told(self.stage.get(f"/v1/top?rule={rule}"))["keys"]]

    def change(self, limit: dict[str, Any]) -> None:
        """Have the service go by another limit."""
        self.stage.change(ruled(limit))

    def die(self) -> None:
        """Have the service refuse connections from now on."""
        self.stage.run(self.hang_up)

    def hang_up(self) -> None:
        self.stage.listener.close()
        self.stage.line.close()
        self.stage.hall.close()


def ruled(limit: dict[str, Any]) -> Rules:
    """The rules, with this limit among them."""
    return plan(limit, LESS, BAN, SEEN, HOST, client=RULES["client"])


@pytest.fixture(scope="module", params=KINDS)
def kind(request: pytest.FixtureRequest) -> Iterator[str]:
    """A kind of proxy that can be had here."""
    yield from running(lambda: Known(request.param))


class Known:
    """A kind whose program is there; raises `Missing` if it is not."""

    def __init__(self, kind: str) -> None:
        front(kind, 1, 2).close()
        self.kind = kind

    def __enter__(self) -> str:
        return self.kind

    def __exit__(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def opened(kind: str) -> Iterator[Scene]:
    """A proxy that lets in while nobody can be asked."""
    with Scene(kind) as scene:
        yield scene


@pytest.fixture
def scene(opened: Scene) -> Scene:
    """The same, before anybody has asked anything."""
    opened.stage.hall.keeper.lodge.reset()
    opened.stage.clock.advance(700.0)
    opened.stage.tick()
    return opened


def test_who_is_let_in_sees_how_the_limit_stands(scene: Scene) -> None:
    before = scene.reach()
    answer = scene.get("/api/a")

    assert (answer.status, answer.body, scene.reach() - before) == (200, b"fine", 1)
    assert answer.all("ratelimit-policy") == ['"api";q=2;w=60']
    assert answer.all("ratelimit") == ['"api";r=1;t=30']


def test_who_is_refused_is_told_when_to_come_back(scene: Scene) -> None:
    before = scene.reach()
    answers = [scene.get("/api/a") for _ in range(3)]

    assert [answer.status for answer in answers] == [200, 200, 429]
    assert scene.reach() - before == 2
    assert answers[2].all("retry-after") == ["30"]
    assert answers[2].all("ratelimit") == ['"api";r=0;t=30']
    assert answers[2].all("content-type") == ["application/problem+json"]
    assert told(answers[2])["status"] == 429


def test_who_is_to_be_answered_with_less_is_not_let_in(scene: Scene) -> None:
    before = scene.reach()
    statuses = [scene.get("/less").status for _ in range(3)]

    assert statuses[0] == 200
    assert {*statuses[1:]} == {429 if scene.kind == "caddy" else 403}
    assert scene.reach() - before == 1


def test_who_is_banned_is_forbidden(scene: Scene) -> None:
    before = scene.reach()
    answer = scene.get("/no")

    assert (answer.status, answer.all("retry-after"), scene.reach() - before) == (403, [], 0)
    assert told(answer)["status"] == 403


def test_what_no_rule_is_about_goes_through_without_a_word(scene: Scene) -> None:
    answer = scene.get("/else")

    assert (answer.status, answer.all("ratelimit")) == (200, [])


def test_rules_see_the_request_as_it_came(scene: Scene) -> None:
    answer = scene.get("/seen/x%20y?a=1&b=2", "PUT", b"hello", host="shop.test:80", x_user="42")

    assert answer.status == 200
    keys = scene.stage.hall.keeper.lodge.book.rulings
    seen = next(one for one in keys if one.name == "seen")
    (key,) = scene.heavy("seen")
    assert key == seen.key(Described())
    assert scene.app.heads[-1].startswith(b"PUT /seen/x%20y?a=1&b=2 HTTP/1.")


HOSTS = [("/host", "SHOP.test:80"), ("http://shop.test/host", "other.test")]


@pytest.mark.parametrize(("target", "host"), HOSTS)
def test_the_host_is_the_one_that_the_proxy_goes_by(scene: Scene, target: str, host: str) -> None:
    assert scene.get(target, host=host).status == 200
    assert scene.heavy("host") == ["shop.test"]


class Described:
    """What that request is, as rules ask."""

    method, path, host, scheme = "PUT", "/seen/x y", "shop.test", "http"

    def query(self, name: str) -> str:
        return {"a": "1", "b": "2"}[name]

    def header(self, name: str) -> str:
        return {"x-user": "42"}[name]


def test_a_body_is_not_sent_to_the_service(scene: Scene) -> None:
    answer = scene.get("/api/a", "POST", b"x" * 200_000)

    assert answer.status == 200
    assert b"200000" in scene.app.heads[-1]


def test_other_rules_hold_from_the_next_request_on(scene: Scene) -> None:
    before = scene.get("/api/a")
    scene.change({**LIMIT, "limit": "5/min"})
    after = scene.get("/api/a")
    scene.change(LIMIT)

    assert (before.status, before.all("ratelimit-policy")) == (200, ['"api";q=2;w=60'])
    assert (after.status, after.all("ratelimit-policy")) == (200, ['"api";q=5;w=60'])


FORGED = [
    {"x_forwarded_for": "9.9.9.9"},
    {"x_real_ip": "9.9.9.9"},
    {"forwarded": "for=9.9.9.9"},
    {"x_forwarded_uri": "/else", "x_forwarded_method": "GET"},
    {"x_original_uri": "/else", "x_original_method": "GET"},
    {"x_forwarded_uri": "/else", "x_original_uri": "/else"},
    {"connection": "x-original-uri, x-forwarded-uri, x-real-ip, x-forwarded-for"},
    {"x_headgate_token": "abc"},
]


@pytest.mark.parametrize("headers", FORGED, ids="+".join)
def test_nobody_talks_their_way_past(scene: Scene, headers: dict[str, str]) -> None:
    answers = [scene.get("/api/a", **headers).status for _ in range(3)]

    assert answers == [200, 200, 429]
    assert scene.heavy("api") == ["127.0.0.9"]


@pytest.mark.parametrize("query", ["deny=599", "rule=ban", "status=500", "x", "%ff", "a=b&a=b"])
def test_a_clients_query_is_its_own(scene: Scene, query: str) -> None:
    answers = [scene.get(f"/api/a?{query}").status for _ in range(3)]

    assert answers == [200, 200, 429]


CLIMBING = ["/api/../api/a", "/x/%2e%2e/api/a", "/api/a/.%2e/a"]


@pytest.mark.parametrize("target", CLIMBING)
def test_a_path_that_servers_read_differently_is_no_way_past(scene: Scene, target: str) -> None:
    before = scene.reach()
    statuses = {scene.get(target).status for _ in range(3)}

    assert statuses <= {400, 403}
    assert scene.reach() == before


def test_more_than_the_service_takes_is_no_way_past(scene: Scene) -> None:
    before = scene.reach()
    data = asked("GET", "/api/a")[:-2] + b"".join(b"a%d: b\r\n" % n for n in range(300)) + b"\r\n"
    with Talk(scene.front.port, source="127.0.0.9") as talk:
        talk.send(data)
        answer = answered(talk)

    assert answer.status in (403, 431)
    assert scene.reach() == before


PLAIN = """
:PORT {{
	bind 127.0.0.1
	forward_auth 127.0.0.1:{guard} {{
		uri /v1/auth
	}}
	reverse_proxy 127.0.0.1:{app}
}}
"""


@pytest.mark.parametrize("query", ["deny=599", "rule=ban", "status=500", "x"])
def test_what_caddys_own_directive_passes_on_is_the_clients(query: str) -> None:
    with ExitStack() as stack:
        stage = stack.enter_context(Stage(plan(LIMIT, BAN, client=RULES["client"])))
        app = stack.enter_context(Answering())
        place = {"guard": stage.port, "app": app.port}
        opened = running(lambda: caddy(PLAIN.format(**place)))
        proxy = next(opened)
        answers = []
        for body in (b"", b"x" * 200_000, b""):
            with Talk(proxy.port, source="127.0.0.9") as talk:
                head = asked("POST", f"/api/a?{query}", content_length=str(len(body)))
                talk.send(head + body)
                answers.append(answered(talk).status)
        opened.close()

    assert answers == [200, 200, 429]


def test_who_is_not_trusted_may_not_ask(kind: str) -> None:
    with ExitStack() as stack:
        rules = plan(LIMIT, client={"trusted_proxies": ["10.0.0.0/8"]})
        stage = stack.enter_context(Stage(rules))
        app = stack.enter_context(Answering())
        proxy = stack.enter_context(front(kind, stage.port, app.port))
        with Talk(proxy.port) as talk:
            talk.send(asked("GET", "/api/a"))
            answer = answered(talk)

    assert (answer.status, app.heads) == (403, [])


@pytest.mark.parametrize("closed", [False, True], ids=["open", "closed"])
def test_while_the_service_is_away_the_proxy_does_as_it_is_told(kind: str, closed: bool) -> None:
    with Scene(kind, closed) as scene:
        assert scene.get("/api/a").status == 200
        scene.die()
        answers = [scene.get("/api/a") for _ in range(4)]

        if closed:
            assert {answer.status for answer in answers} <= {500, 502}
            assert scene.reach() == 1
        else:
            assert [answer.body for answer in answers] == [b"fine"] * 4
            assert scene.reach() == 5


@pytest.mark.parametrize("closed", [False, True], ids=["open", "closed"])
def test_a_service_that_says_nothing_is_not_waited_for(kind: str, closed: bool) -> None:
    with ExitStack() as stack:
        mute = stack.enter_context(closing(socket.create_server(("127.0.0.1", 0))))
        app = stack.enter_context(Answering())
        proxy = stack.enter_context(front(kind, mute.getsockname()[1], app.port, closed))
        talk = stack.enter_context(Talk(proxy.port))
        talk.send(asked("GET", "/api/a"))
        answer = answered(talk)

    if closed:
        assert (answer.status in (500, 504), app.heads) == (True, [])
    else:
        assert (answer.body, len(app.heads)) == (b"fine", 1)
