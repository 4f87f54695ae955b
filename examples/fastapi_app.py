"""A FastAPI application: rules from a file in front of it, and limits at single routes.

pip install "headgate[fastapi,yaml]" uvicorn
python examples/fastapi_app.py
for i in 1 2 3 4 5 6; do curl -i -X POST localhost:8000/login; done
curl -i -H 'x-api-key: k1' localhost:8000/v1/search
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import uvicorn
from fastapi import Depends, FastAPI

from headgate.adapters.fastapi import configure, limit, limited
from headgate.rules.live.entry import Entry

app = FastAPI()
configure(app, Path(__file__).with_name("rules.yaml"))


# The rule "login" of the file is about this.
@app.post("/login")
def login() -> str:
    return "welcome"


@app.get("/v1/search")
async def search() -> list[str]:
    return ["canal", "weir"]


# A limit of its own, in one line.
@app.get("/quote", dependencies=[Depends(limit("3/min", key="client.ip"))])
async def quote() -> str:
    return "All water has a perfect memory."


# Two that must both agree, as a decorator; `def` or `async def`.
@app.post("/reports")
@limited(["2/min", "20/day"], key="client.ip", name="reports")
def report() -> str:
    return "made"


# And one that the route wants to know about.
@app.get("/left")
async def left(entry: Annotated[Entry, Depends(limit("100/h", key="client.ip"))]) -> dict[str, int]:
    return {name: decision.remaining for name, decision in entry.decisions.items()}


if __name__ == "__main__":
    uvicorn.run(app)
