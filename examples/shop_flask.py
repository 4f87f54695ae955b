"""A shop on Flask: `gunicorn --workers 4 --threads 8 examples.shop_flask:app`.

Its limits are those of `shop.yaml`; the workers of one machine share the store.
"""

import os
import time
from collections.abc import Iterator
from pathlib import Path

from flask import Flask, Response, request

from headgate.adapters.flask import Headgate

app = Flask(__name__)
Headgate(app, Path(__file__).with_name("shop.yaml"), store=os.environ.get("HEADGATE_STORE", ""))


@app.get("/api/hello")
def hello() -> dict[str, str]:
    """Say hello."""
    return {"hello": "world"}


@app.post("/login")
def login() -> tuple[str, int]:
    """Let in who knows the word."""
    return ("welcome", 200) if request.args.get("word") == "sesame" else ("wrong", 401)


@app.post("/send")
def send() -> str:
    """Send one more."""
    return "sent"


@app.get("/reports")
def report() -> Response:
    """Make a report, line by line, for as long as somebody reads it."""

    def lines() -> Iterator[str]:
        for number in range(600):
            yield f"line {number}\n"
            time.sleep(0.1)

    return Response(lines(), mimetype="text/plain")


@app.get("/files/<int:size>")
def download(size: int) -> Response:
    """So many bytes."""
    return Response(bytes(size), mimetype="application/octet-stream")
