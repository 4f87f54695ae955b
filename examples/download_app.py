"""Downloads at 100 KB/s for each user, whatever they open at once; as fast as it goes for a vip.

    pip install "headgate[yaml]" starlette uvicorn
    python examples/download_app.py
    curl -H 'x-user: ann' -o /dev/null localhost:8000/files/300000
    curl -H 'x-user: ann' -H 'x-plan: vip' -o /dev/null localhost:8000/files/300000000

The generator below is not run ahead of its client: what is not sent yet is not made yet. When the
client goes away it ends, and its place is free.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

from headgate.adapters.asgi import HeadgateMiddleware

BLOCK = 64 * 1024


async def parts(size: int) -> AsyncIterator[bytes]:
    for start in range(0, size, BLOCK):
        yield bytes(min(BLOCK, size - start))


async def file(request: Request) -> StreamingResponse:
    return StreamingResponse(parts(request.path_params["size"]))


app = HeadgateMiddleware(
    Starlette(routes=[Route("/files/{size:int}", file)]), Path(__file__).with_name("rules.yaml")
)


if __name__ == "__main__":
    uvicorn.run(app)
