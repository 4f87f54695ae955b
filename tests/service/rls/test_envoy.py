"""The service behind a real Envoy, in front of a real server.

One Envoy has a door for each way of asking: a service that answers, one that is dead, one that says
nothing, and the quota service.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing
from http.client import HTTPConnection
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple

import pytest

pytest.importorskip("hpack")
pytest.importorskip("httptools")

from headgate import ManualClock
from headgate.rules.model.port import Port as Terms
from headgate.rules.model.rules import Rules
from headgate.service.service import Service
from tests.servers.asgi import Uvicorn
from tests.servers.envoy import Door, Envoy, header, limits, quota
from tests.servers.fixtures import running
from tests.servers.ports import Port
from tests.servers.waiting import until
from tests.service.rls.calls import NOON

FILE = """
domain: edge
descriptors:
  - {key: path, value: /few, rate_limit: {unit: minute, requests_per_unit: 2}}
  - {key: user, rate_limit: {unit: hour, requests_per_unit: 4, name: users}}
  - {key: model, rate_limit: {unit: hour, requests_per_unit: 10}}
  - {key: few, rate_limit: {unit: minute, requests_per_unit: 3}}
"""
RULES = """
version: 1
rules:
  - {name: login, match: {host: ours, path: /login}, key: client.ip, limit: 1/min}
service:
  ratelimit: {files: FILE, headers: HEADERS, metadata: true}
"""
DRAFT = {"enable_x_ratelimit_headers": "DRAFT_VERSION_03"}
LIMITED = [
    header(":path", "path"),
    header("x-user", "user"),
    header("x-model", "model", hits_addend={"number": 0}),
    header("x-model", "model", hits_addend={"number": 12}, apply_on_stream_done=True),
]
OURS = [
    {
        "actions": [
            {"remote_address": {}},
            {"request_headers": {"header_name": ":path", "descriptor_key": "path"}},
        ]
    }
]


class Reply(NamedTuple):
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes


class Scene:
    """A service in a thread, its Envoy and their upstream."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "edge.yaml"
        self.clock = ManualClock(NOON)
        self.line = socket.create_server(("127.0.0.1", 0))
        self.line.setblocking(False)
        self.loop = asyncio.new_event_loop()
        self.stack = ExitStack()
        self.write(FILE)

    def __enter__(self) -> Scene:
        with ExitStack() as stack:
            upstream = stack.enter_context(Uvicorn("httptools"))
            dead = stack.enter_context(closing(Port()))
            mute = stack.enter_context(closing(socket.create_server(("127.0.0.1", 0))))
            services = {
                "service": self.line.getsockname()[1],
                "dead": dead.number,
                "mute": mute.getsockname()[1],
            }
            thread = Thread(target=self.loop.run_forever, daemon=True)
            thread.start()
            stack.callback(self.loop.close)
            stack.callback(thread.join)
            stack.callback(self.loop.call_soon_threadsafe, self.loop.stop)
            self.service = self.call(self.begin())
            stack.callback(lambda: self.call(self.service.close()))
            self.envoy = Envoy(doors(), {"upstream": upstream.port}, services)
            stack.enter_context(self.envoy)
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self.stack.close()

    async def begin(self) -> Service:
        sockets = [(Terms("grpc://127.0.0.1:0"), self.line)]
        service = Service(self.rules(), clock=self.clock, sockets=sockets)
        await service.start()
        return service

    def write(self, file: str, headers: str = "false") -> None:
        """Have other files."""
        self.file.write_text(file)
        self.headers = headers

    def rules(self) -> Rules:
        """The rules as they are written now."""
        said = RULES.replace("FILE", str(self.file)).replace("HEADERS", self.headers)
        return Rules.read(said)

    def change(self) -> None:
        """Have the service go by what is written now."""

        async def errand() -> None:
            self.service.change(self.rules())

        self.call(errand())

    def call(self, errand: Any) -> Any:
        """Do something where the service lives."""
        return asyncio.run_coroutine_threadsafe(errand, self.loop).result(20)

    def get(self, path: str, door: str = "main", **headers: str) -> Reply:
        """Ask the upstream by way of Envoy."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        with closing(HTTPConnection("127.0.0.1", self.envoy.port(door), timeout=20)) as line:
            line.request("GET", path, headers=named)
            answer = line.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Reply(answer.status, found, answer.read())


def doors() -> dict[str, Door]:
    """A door for each way of asking."""
    return {
        "main": Door([limits("edge", "service", **DRAFT)], LIMITED),
        "ours": Door([limits("ours", "service", **DRAFT)], OURS),
        "dead-open": Door([limits("edge", "dead", stat_prefix="dead_open")], LIMITED),
        "dead-shut": Door([limits("edge", "dead", failure_mode_deny=True)], LIMITED),
        "mute-open": Door([limits("edge", "mute", timeout="0.02s")], LIMITED),
        "mute-shut": Door(
            [limits("edge", "mute", timeout="0.02s", failure_mode_deny=True)], LIMITED
        ),
        "quota": Door([quota("edge", "service", "few", "x-few")]),
    }


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """One Envoy for all that is asked here; each test has windows of its own."""
    yield from running(lambda: Scene(tmp_path_factory.mktemp("files")))


@pytest.fixture(autouse=True)
def later(scene: Scene) -> None:
    """The next day begins."""
    scene.write(FILE)
    scene.change()
    scene.clock.set(scene.clock.now() // 86_400_000_000 * 86_400.0 + 86_400.0)


def test_a_request_goes_in_until_the_limit_is_reached(scene: Scene) -> None:
    found = [scene.get("/few") for _ in range(3)]

    assert [reply.status for reply in found] == [200, 200, 429]
    assert [told(reply) for reply in found] == [
        ("2, 2;w=60", "1", "60"),
        ("2, 2;w=60", "0", "60"),
        ("2, 2;w=60", "0", "60"),
    ]
    assert found[2].headers["x-envoy-ratelimited"] == "true"
    assert "x-envoy-ratelimited" not in found[1].headers


def test_each_descriptor_has_a_status(scene: Scene) -> None:
    reply = scene.get("/few", x_user="ann")

    assert told(reply) == ('2, 2;w=60, 4;w=3600;name="users"', "1", "60")


def test_what_one_descriptor_refuses_is_not_spent_elsewhere(scene: Scene) -> None:
    for _ in range(5):
        scene.get("/few", x_user="ann")

    found = [scene.get("/many", x_user="ann").status for _ in range(3)]

    assert found == [200, 200, 429]


def test_a_descriptor_that_no_file_has_goes_in(scene: Scene) -> None:
    reply = scene.get("/other")

    assert (reply.status, "x-ratelimit-limit" in reply.headers) == (200, False)


def test_headers_of_ours_reach_the_client(scene: Scene) -> None:
    scene.write(FILE, headers="true")
    scene.change()

    found = [scene.get("/few") for _ in range(3)]

    names = ("ratelimit-limit", "ratelimit-remaining", "ratelimit-reset", "retry-after")
    assert [tuple(reply.headers.get(name) for name in names) for reply in found] == [
        ("2", "1", "60", None),
        ("2", "0", "60", None),
        ("2", "0", "60", "60"),
    ]


def test_the_call_is_in_the_log_of_envoy(scene: Scene) -> None:
    for _ in range(3):
        scene.get("/few", x_user="bob")

    mine = lambda: [one for one in scene.envoy.log("main") if "user=bob" in str(one)]  # noqa: E731
    rows = until(lambda: mine() if len(mine()) > 2 else [], "Envoy to write its log")
    assert [(one["status"], one["flags"]) for one in rows] == [(200, "-"), (200, "-"), (429, "RL")]
    assert rows[0]["metadata"] == {
        "domain": "edge",
        "descriptors": [{"entries": ["path=/few"]}, {"entries": ["user=bob"]}],
    }


def test_new_files_hold_for_the_next_request(scene: Scene) -> None:
    before = [scene.get("/few").status for _ in range(3)]
    scene.write(FILE.replace("requests_per_unit: 2", "requests_per_unit: 1"))
    scene.change()
    after = [scene.get("/few") for _ in range(2)]

    assert before == [200, 200, 429]
    assert [reply.status for reply in after] == [200, 429]
    assert told(after[0]) == ("1, 1;w=60", "0", "60")


def test_rules_decide_where_no_file_does(scene: Scene) -> None:
    found = [scene.get("/login", "ours") for _ in range(2)]

    assert [reply.status for reply in found] == [200, 429]
    assert told(found[1]) == ('1, 1;w=60;name="login"', "0", "60")


def test_what_is_told_at_the_end_of_a_request_is_owed(scene: Scene) -> None:
    first = scene.get("/other", x_model="large")
    key = scene.service.hall.things["ratelimit"].find("edge", [("model", "large")])
    limiter = scene.service.hall.things["ratelimit"].limiter(key[0])
    until(lambda: not limiter.peek(key[1], 0), "Envoy to tell what it cost")

    assert (first.status, scene.get("/other", x_model="large").status) == (200, 429)
    assert scene.get("/other", x_model="small").status == 200


@pytest.mark.parametrize(
    ("door", "status"),
    [("dead-open", 200), ("dead-shut", 500), ("mute-open", 200), ("mute-shut", 500)],
)
def test_envoy_does_as_it_is_told_where_nobody_answers(
    scene: Scene, door: str, status: int
) -> None:
    assert [scene.get("/few", door).status for _ in range(3)] == [status] * 3


def test_a_quota_is_enforced_by_envoy(scene: Scene) -> None:
    quotas = scene.service._staff._quotas
    first = scene.get("/", "quota", x_few="q")
    until(lambda: quotas.shares, "Envoy to report")
    ask = lambda: scene.get("/", "quota", x_few="q").status  # noqa: E731
    until(lambda: ask() == 429, "Envoy to have heard of its quota, and spent it")

    assert first.status == 200
    assert scene.get("/", "quota", x_few="other").status == 200
    assert quotas.status()["usage"]["edge.few"]["allowed"] >= 1


def told(reply: Reply) -> tuple[str, ...]:
    """What Envoy tells of the limits."""
    return tuple(
        reply.headers.get(f"x-ratelimit-{word}", "") for word in ("limit", "remaining", "reset")
    )
