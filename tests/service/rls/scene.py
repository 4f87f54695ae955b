"""A service in a thread, a real Envoy that asks it, and a real server behind that.

One Envoy has a door for each way of asking: a service that answers, one that is dead, one that says
nothing, and the quota service.
"""

from __future__ import annotations

import socket
from contextlib import ExitStack, closing
from http.client import HTTPConnection
from pathlib import Path
from typing import NamedTuple

from headgate import ManualClock
from headgate.rules.model.port import Port as Terms
from headgate.rules.model.rules import Rules
from headgate.service.service import Service
from tests.loop_thread import LoopThread
from tests.servers.asgi import Uvicorn
from tests.servers.envoy import Door, Envoy, header, limits, quota
from tests.servers.ports import Port
from tests.service.rls.calls import NOON

DAY = 86_400_000_000

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
            self.thread = stack.enter_context(LoopThread("service"))
            self.service = self.thread.call(self.begin())
            stack.callback(lambda: self.thread.call(self.service.close()))
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
        self.thread.run(self.service.change, self.rules())

    def sleep(self) -> None:
        """Go on at the beginning of the next day."""

        def errand() -> None:
            self.clock.set((self.clock.now() // DAY + 1) * DAY / 1e6)
            # What was there before is a day old at once, and not in the middle of what comes.
            self.service._tick()

        self.thread.run(errand)

    def get(self, path: str, door: str = "main", **headers: str) -> Reply:
        """Ask the upstream by way of Envoy."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        with closing(HTTPConnection("127.0.0.1", self.envoy.port_of(door), timeout=20)) as line:
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
