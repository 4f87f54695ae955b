"""The service over HTTP on a clock that stands still, in a loop of its own thread."""

from __future__ import annotations

import json
from typing import Any

from headgate.rules.model.rules import Rules
from tests.gateway.talking import Answer, Talk
from tests.service.host import ServiceHost, read_rules

API = {"name": "api", "key": "header.x-user", "limit": "100/min"}
TRUST = {"trusted_proxies": ["127.0.0.0/8"]}


def plan(*rules: dict[str, Any], **said: Any) -> Rules:
    """Rules, as a file would say them; one that counts users unless others are given."""
    return read_rules(*(rules or (API,)), **said)


class HttpServiceHost(ServiceHost):
    """A service that speaks HTTP; its `clock` moves when it is told to.

    with HttpServiceHost(plan()) as host:
        assert host.post("/v1/take", {"rule": "api", "key": "a"}).status == 200
    """

    protocol = "http"

    def talk(self) -> Talk:
        """Somebody who is connected."""
        return Talk(self.port, self.turn)

    def send(self, data: bytes, method: str = "GET") -> Answer:
        """The answer to these bytes."""
        with self.talk() as talk:
            talk.send(data)
            answer = talk.hear(method)
            assert answer is not None
            return answer

    def get(self, target: str, **headers: str) -> Answer:
        """The answer to a question without a body."""
        return self.ask("GET", target, **headers)

    def ask(self, method: str, target: str, **headers: str) -> Answer:
        """The answer to a method, with headers whose hyphens are written as underscores."""
        return self.send(asked(method, target, **headers), method)

    def post(self, target: str, said: Any, **headers: str) -> Answer:
        """The answer to JSON."""
        return self.send(posted(target, said, **headers))


def asked(method: str, target: str, **headers: str) -> bytes:
    """A request without a body."""
    lines = {"host": "here", **{name.replace("_", "-"): value for name, value in headers.items()}}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"{method} {target} HTTP/1.1\r\n{head}\r\n".encode("latin-1")


def posted(target: str, said: Any, **headers: str) -> bytes:
    """A request with JSON, or with bytes that may be none."""
    body = said if isinstance(said, bytes) else json.dumps(said).encode()
    kept = {"content_type": "application/json", "content_length": str(len(body)), **headers}
    return asked("POST", target, **kept) + body


def told(answer: Answer) -> Any:
    """What an answer says in JSON."""
    return json.loads(answer.body)


def problem(status: int, title: str, detail: str, **more: Any) -> dict[str, Any]:
    """What is said of what is wrong."""
    said = {"type": "about:blank", "title": title, "status": status, "detail": detail}
    return {**said, **more}
