"""A real browser loads a page through the gateway, with a script, a picture and a WebSocket."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import nullcontext

import pytest
from websockets.asyncio.server import ServerConnection, serve
from websockets.datastructures import Headers
from websockets.http11 import Request, Response

from headgate.rules.model.rules import Rules
from tests.gateway.running import Running
from tests.servers.browser import Browser
from tests.servers.fixtures import running

PAGE = b"""<!doctype html><title>shop</title>
<p id=script>no</p><p id=socket>no</p><p id=limit>no</p>
<script src=/script.js></script>"""
SCRIPT = b"""
const say = (id, text) => { document.getElementById(id).textContent = text };
say("script", "loaded");
fetch("/data").then(async answer =>
  say("limit", answer.headers.get("ratelimit") + " of " + (await answer.text()).length));
const socket = new WebSocket("ws://" + location.host + "/socket");
socket.onopen = () => socket.send("hello");
socket.onmessage = event => say("socket", event.data);
"""
ANSWERS = {
    "/": (PAGE, "text/html"),
    "/script.js": (SCRIPT, "text/javascript"),
    "/data": (b"x" * 200_000, "text/plain"),
}


@pytest.fixture
def shop() -> Iterator[int]:
    """A server with a page, and a WebSocket that says everything twice; its port."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    server = asyncio.run_coroutine_threadsafe(opened(), loop).result(10)
    yield server.sockets[0].getsockname()[1]
    asyncio.run_coroutine_threadsafe(closed(server), loop).result(10)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser."""
    yield from running(lambda: nullcontext(Browser()))


def test_a_browser_sees_the_page_behind_the_gateway(shop: int, browser: Browser) -> None:
    with Running(
        Rules.read(f"""
        version: 1
        rules: [{{name: all, key: client.ip, limit: 1000/min}}]
        gateway:
          listen: 127.0.0.1:0
          routes: [{{upstream: "http://127.0.0.1:{shop}"}}]
    """)
    ) as gateway:
        seen = browser.load(f"http://127.0.0.1:{gateway.port}/")
        # A browser's own time may be over before a busy machine's server has said a word.
        if "hellohello" not in seen:
            seen = browser.load(f"http://127.0.0.1:{gateway.port}/")

    assert '<p id="script">loaded</p>' in seen
    assert '<p id="socket">hellohello</p>' in seen
    # The page, its script, and perhaps its icon and the socket came first.
    assert '<p id="limit">"all";r=9' in seen
    assert "of 200000</p>" in seen


async def opened() -> object:
    return await serve(echo, "127.0.0.1", 0, process_request=page)


async def closed(server: object) -> None:
    server.close()  # type: ignore[attr-defined]
    await server.wait_closed()  # type: ignore[attr-defined]


async def echo(socket: ServerConnection) -> None:
    async for message in socket:
        await socket.send(message * 2)


def page(socket: ServerConnection, request: Request) -> Response | None:
    if request.path == "/socket":
        return None
    body, kind = ANSWERS.get(request.path, (b"", "text/plain"))
    headers = Headers([("content-type", kind), ("content-length", str(len(body)))])
    return Response(200 if body else 404, "", headers, body)
