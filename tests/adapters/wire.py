"""Requests as servers hand them to applications, and what these answer."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote, unquote_to_bytes

from tests.adapters.parity import Heard


def environment(
    method: str, path: str, headers: Mapping[str, str], client: str = "198.51.100.7"
) -> dict[str, Any]:
    """A request as a WSGI server has it."""
    target, _, query = path.partition("?")
    said = {f"HTTP_{name.upper().replace('-', '_')}": value for name, value in headers.items()}
    return {
        "REQUEST_METHOD": method,
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote_to_bytes(target).decode("latin-1"),
        "QUERY_STRING": query,
        "SERVER_NAME": "testserver",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "REMOTE_ADDR": client,
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(),
        "wsgi.errors": io.StringIO(),
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
        **said,
    }


def called(app: Any, environ: dict[str, Any]) -> Heard:
    """What a server would send that calls the application, and minds the rules of WSGI."""
    begun: list[Any] = []

    def start(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Any:
        begun[:] = [int(status[:3]), {name.lower(): value for name, value in headers}]
        return lambda data: None

    body = app(environ, start)
    try:
        sent = b"".join(body)
    finally:
        if hasattr(body, "close"):
            body.close()
    return Heard(begun[0], begun[1], sent)


def scope(
    method: str, path: str, headers: Mapping[str, str], client: str = "198.51.100.7"
) -> dict[str, Any]:
    """A request as an ASGI server has it."""
    target, _, query = path.partition("?")
    return {
        "type": "http",
        "method": method,
        "path": unquote(target),
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "client": (client, 1),
        "server": ("testserver", 80),
    }


async def talk(app: Any, scope: dict[str, Any]) -> Heard:
    """What a server would send that calls an ASGI application, for a client that stays."""
    asked = [{"type": "http.request"}]
    said: list[Any] = []

    async def receive() -> Any:
        return asked.pop() if asked else await asyncio.get_running_loop().create_future()

    async def send(message: Any) -> None:
        said.append(message)

    await app(scope, receive, send)
    headers = {name.decode().lower(): value.decode() for name, value in said[0]["headers"]}
    body = b"".join(message.get("body", b"") for message in said[1:])
    return Heard(said[0]["status"], headers, b"" if scope["method"] == "HEAD" else body)
