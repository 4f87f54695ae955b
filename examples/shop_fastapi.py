"""A shop on FastAPI: `uvicorn --workers 4 examples.shop_fastapi:app`.

Its limits are those of `shop.yaml`; the workers of one machine share the store.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

from fastapi import FastAPI, Response
from fastapi.responses import PlainTextResponse, StreamingResponse

from headgate.adapters.fastapi import configure

app = FastAPI()
configure(app, Path(__file__).with_name("shop.yaml"), store=os.environ.get("HEADGATE_STORE", ""))


@app.get("/api/hello")
async def hello() -> dict[str, str]:
    """Say hello."""
    return {"hello": "world"}


@app.post("/login")
async def login(word: str = "") -> PlainTextResponse:
    """Let in who knows the word."""
    return PlainTextResponse("welcome") if word == "sesame" else PlainTextResponse("wrong", 401)


@app.post("/send")
async def send() -> PlainTextResponse:
    """Send one more."""
    return PlainTextResponse("sent")


@app.get("/reports")
async def report() -> StreamingResponse:
    """Make a report, line by line, for as long as somebody reads it."""

    async def lines() -> AsyncIterator[str]:
        for number in range(600):
            yield f"line {number}\n"
            await asyncio.sleep(0.1)

    return StreamingResponse(lines(), media_type="text/plain")


@app.get("/files/{size}")
async def download(size: int) -> Response:
    """So many bytes."""
    return Response(bytes(size), media_type="application/octet-stream")
