"""A chat over WebSockets: at most three from one address, and ten messages a minute from each.

    pip install "headgate[yaml]" starlette uvicorn wsproto
    python examples/websocket_app.py

The middleware refuses a handshake with a real answer, 429, and holds a place for as long as a
socket is open. What happens inside it is up to the application: here a limiter of its own.
"""

from __future__ import annotations

from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from headgate import Limiter
from headgate.adapters.asgi import HeadgateMiddleware

messages = Limiter("10/min")


async def chat(socket: WebSocket) -> None:
    await socket.accept()
    name = str(socket.client)
    try:
        while True:
            text = await socket.receive_text()
            decision = messages.take(name)
            wait = f"slowly: again in {decision.retry_after:.0f} s"
            await socket.send_text(text if decision else wait)
    except WebSocketDisconnect:
        return


app = HeadgateMiddleware(
    Starlette(routes=[WebSocketRoute("/chat", chat)]), Path(__file__).with_name("rules.yaml")
)


if __name__ == "__main__":
    uvicorn.run(app)
