"""An agent in an event loop of its own thread, and the HAProxy of `deploy/` in front of it."""

from __future__ import annotations

from contextlib import ExitStack
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple

from headgate import ManualClock
from headgate.rules.model.port import Port as Terms
from headgate.service.listening import Listener
from headgate.wire.berth import bind
from headgate.wire.wheel import Wheel
from tests.loop_thread import LoopThread
from tests.servers.haproxy import Haproxy
from tests.servers.proxy import Proxy
from tests.servers.waiting import until
from tests.service.spop.speaking import hall

DEPLOY = Path(__file__).parents[3] / "deploy" / "haproxy"
# A server behind it, by the same process, that tells what it was asked.
INNER = """
frontend inner
    bind unix@FOLDER/app.sock
    http-request return status 200 content-type text/plain lf-string "%[pathq]"
"""
CLOSED = "# http-request return status 503"
# Every rule's clock stands still, so that nothing is let in because a test took long.
RULES = """\
version: 1
client: {trusted_proxies: [127.0.0.1], header: x-forwarded-for}
rules:
  - {name: api, match: {path: /api/**}, limit: 3/min, by: fixed_window}
  - {name: clients, match: {path: /clients}, key: client.ip, limit: 1/min, by: fixed_window}
  - {name: keys, match: {path: /keys}, key: header.x-key, limit: 1/min, by: fixed_window}
  - {name: cookies, match: {path: /cookies}, key: cookie.id, limit: 1/min, by: fixed_window}
  - {name: queries, match: {path: /queries}, key: query.a, limit: 1/min, by: fixed_window}
  - {name: hosts, match: {host: a.example}, limit: 1/min, by: fixed_window}
  - {name: banned, match: {path: /banned}, deny: {}}
  - {name: none, match: {path: /none}, limit: 1/min, cost: 2, by: fixed_window}
  - {name: busy, match: {path: /busy}, limit: 1/min, by: fixed_window, over: reject 503}
  - {name: crowd, match: {path: /crowd}, limit: 20/min, by: fixed_window}
  - {name: login, match: {path: /nowhere}, key: client.ip, limit: 1/min, by: fixed_window}
"""


class Serving(LoopThread):
    """An agent by these rules, until it is closed."""

    def __init__(self, rules: str = RULES, tls: dict[str, str] | None = None) -> None:
        super().__init__("agent")
        self.call(self.begin(rules, tls))

    async def begin(self, rules: str, tls: dict[str, str] | None) -> None:
        terms = Terms("spop://127.0.0.1:0", tls=tls)
        self.hall = hall(rules, ManualClock())
        self.wheel = Wheel(self.loop)
        self.listener = Listener(terms, bind(terms.place), self.hall, self.wheel)
        self.listener.open(self.loop)
        self.port = int(self.listener.address.rpartition(":")[2])

    def retire(self) -> None:
        """Take leave, as a service does that is told to end."""
        self.run(self.listener.close)
        self.run(self.hall.retire)

    async def shut_down(self) -> None:
        self.listener.close()
        self.hall.close()
        self.wheel.close()


class Answer(NamedTuple):
    """What a client is answered."""

    status: int
    headers: dict[str, str]
    body: str


class Front:
    """HAProxy in front of an agent, with a proxy between them that does what networks do.

    `changes` are made to the files of `deploy/`, from what stands there to what shall.
    """

    def __init__(self, changes: dict[str, str], tls: dict[str, str] | None = None) -> None:
        self.stack = ExitStack()
        self.serving = self.stack.enter_context(Serving(tls=tls))
        self.proxy = self.stack.enter_context(Proxy(self.serving.port))
        usual = {
            "bind :80": "bind 127.0.0.1:PORT",
            "/etc/haproxy/": "FOLDER/",
            "127.0.0.1:9000": "unix@FOLDER/app.sock",
            "127.0.0.1:8084": f"127.0.0.1:{self.proxy.port}",
            # The machine may be late, and its clients are patient.
            "inter 2s": "inter 10s downinter 50ms",
            "connect 500ms": "connect 20s",
            "processing 100ms": "processing 20s",
            "hello 500ms": "hello 20s",
        }
        self.files = {
            name: changed((DEPLOY / name).read_text(), {**usual, **changes})
            for name in ("haproxy.cfg", "headgate-spoe.cfg")
        }
        self.files["haproxy.cfg"] += INNER

    def __enter__(self) -> Front:
        self.haproxy = self.stack.enter_context(Haproxy(self.files))
        self.settled()
        return self

    def __exit__(self, *said: Any) -> None:
        self.stack.__exit__(*said)

    def settled(self) -> None:
        """Come back when HAProxy knows that the agent is there."""
        until(lambda: self.haproxy.up("headgate/headgate"), "HAProxy to find the agent")

    def missed(self) -> None:
        """Come back when HAProxy knows that it is not."""
        until(lambda: not self.haproxy.up("headgate/headgate"), "HAProxy to miss the agent")

    def renew(self) -> None:
        """Have another agent in the place of the one that was."""
        self.serving = self.stack.enter_context(Serving())
        self.proxy.target = self.serving.port

    def ask(self, path: str = "/api/", method: str = "GET", **headers: str) -> Answer:
        """The answer to one request."""
        line = HTTPConnection("127.0.0.1", self.haproxy.port, timeout=30)
        try:
            said = {name.replace("_", "-"): value for name, value in headers.items()}
            line.request(method, path, headers=said)
            answer = line.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, found, answer.read().decode())
        finally:
            line.close()

    def statuses(self, path: str, times: int, **headers: str) -> list[int]:
        """The statuses of the answers to so many requests, one after the other."""
        return [self.ask(path, **headers).status for _ in range(times)]


def changed(text: str, changes: dict[str, str]) -> str:
    for before, after in changes.items():
        text = text.replace(before, after)
    return text
