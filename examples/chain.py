"""Three services that one request passes through, and a budget that travels with it.

    pip install "headgate[httpx]" starlette uvicorn
    python examples/chain.py                    # all three, some visitors, and what became of them
    python examples/chain.py shop --port 8001   # one of them: shop, price or stock

A visitor of the shop asks for some items. The shop asks for their price, and that service whether
they are in stock; each item costs 2 there and 3 there, and the visit itself 1. A request is granted
20 out of its user's 60 a minute. Three items cost 16 in all, and nobody asks for more on the way;
ten cost 51, and whoever goes short applies once for another grant. Who has spent the 60 is refused
at the entrance, or midway, which is told apart. The important (`X-Plan: vip`) never ask.

They count in shared memory. `HEADGATE_STORE=redis://localhost` has them count on a server.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import secrets
import subprocess
import sys
from contextlib import ExitStack

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Scope

from headgate import AsyncLimiter, Budget, Decision
from headgate.adapters.budget.asgi import BudgetMiddleware
from headgate.adapters.budget.fare import Fare
from headgate.adapters.budget.httpx import Transport

HOST = "127.0.0.1"
PORTS = {"shop": 8001, "price": 8002, "stock": 8003}
# What an item costs at each of them, and a visit as such, and whom they ask in turn.
PRICES = {"shop": (0, 1), "price": (2, 0), "stock": (3, 0)}
ASKED = {"shop": "price", "price": "stock", "stock": ""}
# Who comes, with which plan, and for how many items.
VISITS = (
    ("ann", "", 3), ("ann", "", 3), ("bob", "", 5), ("bob", "", 10), ("bob", "", 1),
    ("eve", "vip", 100),
)  # fmt: skip
# So long a service has to begin.
PATIENCE = 30.0


def made(name: str) -> Starlette:
    """The application of a service."""
    budget, asked = opened()
    per_item, per_visit = PRICES[name]
    other = ASKED[name]

    async def serve(request: Request) -> Response:
        left = f"{request.state.purse.left:g} left here"
        if not other:
            return JSONResponse({name: left})
        async with called() as client:
            answer = await client.get(f"{place(other)}/?{request.url.query}")
        if answer.status_code != 200:
            # What went wrong there is passed on as it is, with its own reason.
            return Response(answer.content, answer.status_code, media_type=kind(answer))
        return JSONResponse({name: left, **answer.json()})

    async def tell(request: Request) -> Response:
        return JSONResponse({**budget.counts._asdict(), "asked": len(asked)})

    def price(scope: Scope) -> int:
        return per_visit + per_item * int(Request(scope).query_params.get("items", "1"))

    inner = BudgetMiddleware(
        Starlette(routes=[Route("/", serve)]),
        budget,
        price=price,
        account=lambda scope: Request(scope).headers.get("x-user", ""),
        plan=lambda scope: Request(scope).headers.get("x-plan", ""),
    )
    # Nobody pays for being told how it is.
    return Starlette(routes=[Route("/counts", tell), Route("/", inner)])


def opened() -> tuple[Budget, list[Decision]]:
    """The budget, the same in every service, and what its limit was asked here."""
    limiter = AsyncLimiter(
        os.environ.get("BUDGET_LIMIT", "60/min"),
        store=os.environ.get("HEADGATE_STORE", "shared://chain"),
        name="chain",
    )
    asked: list[Decision] = []
    limiter.listen(lambda key, decision: asked.append(decision))
    keys = os.environ["BUDGET_KEYS"].split()
    return Budget(limiter, grant=20, plans={"vip": "unlimited"}, keys=keys), asked


def called() -> httpx.AsyncClient:
    """A client that pays for what it asks of services of ours, and of nobody else."""
    return httpx.AsyncClient(transport=Transport(httpx.AsyncHTTPTransport(), Fare(HOST)))


def place(name: str) -> str:
    """Where a service is."""
    port = os.environ.get(f"{name.upper()}_PORT", str(PORTS[name]))
    return f"http://{HOST}:{port}"


def kind(answer: httpx.Response) -> str:
    """What an answer is written in."""
    return str(answer.headers.get("content-type", "text/plain"))


async def visit() -> None:
    """Some visitors, and what became of them."""
    async with httpx.AsyncClient() as client:
        await asyncio.gather(*[ready(client, f"{place(name)}/counts") for name in PORTS])
        for user, plan, items in VISITS:
            headers = {"x-user": user, "x-plan": plan}
            answer = await client.get(f"{place('shop')}/?items={items}", headers=headers)
            word = answer.json().get("title", "Here you are")
            print(f"{user}, {items} items: {answer.status_code} {word}")
        for name in PORTS:
            counts = (await client.get(f"{place(name)}/counts")).json()
            told = ", ".join(f"{word} {number}" for word, number in counts.items() if number)
            print(f"{name}: {told}")


async def ready(client: httpx.AsyncClient, url: str) -> None:
    """Come back when there is an answer, whatever it is."""
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                await client.get(url)
            except httpx.TransportError:
                await asyncio.sleep(0.05)
            else:
                return


def main() -> None:
    """One service, or all of them and some visitors."""
    parser = argparse.ArgumentParser(description="Three services and a budget.")
    parser.add_argument("service", nargs="?", choices=[*PORTS])
    parser.add_argument("--port", type=int, default=0)
    said = parser.parse_args()
    if said.service:
        port = said.port or PORTS[said.service]
        uvicorn.run(made(said.service), host=HOST, port=port, log_level="warning")
        return
    os.environ.setdefault("BUDGET_KEYS", secrets.token_hex(32))
    with ExitStack() as stack:
        for name in PORTS:
            process = subprocess.Popen([sys.executable, __file__, name])  # noqa: S603 - ourselves
            stack.callback(process.wait)
            stack.callback(process.terminate)
        asyncio.run(visit())


if __name__ == "__main__":
    main()
