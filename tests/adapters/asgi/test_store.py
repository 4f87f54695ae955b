"""Applications that share a store on a server count together, and leave no connection behind."""

from __future__ import annotations

import asyncio

import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from headgate.adapters.asgi import HeadgateMiddleware
from headgate.rules.live.gatekeeper import AsyncGatekeeper
from headgate.rules.model.rule import Rule
from headgate.rules.model.rules import Rules
from tests.adapters.asgi.calls import Caller, shut
from tests.adapters.asgi.serving import Site, connections, serving
from tests.servers.launch import Server
from tests.servers.waiting import until

APP = Starlette(routes=[Route("/", lambda request: PlainTextResponse("welcome"))])


@pytest.mark.parametrize("scheme", ["redis", "leased+redis"])
def test_applications_on_one_store_count_together(valkey: Server, scheme: str) -> None:
    rules = Rules([Rule("api", key="client.ip", limit="3/h", concurrent=5)])
    # However late the machine is, it is the server that decides.
    url = f"{scheme}://127.0.0.1:{valkey.port}?budget=20"

    def ask(site: Site) -> int:
        return site.ask("/").status

    with serving(HeadgateMiddleware(APP, rules, url)) as one:
        with serving(HeadgateMiddleware(APP, rules, url)) as two:
            first = [ask(one), ask(one), ask(two)]
        second = [ask(one)]

    assert [*first, *second] == [200, 200, 200, 429]


@pytest.mark.parametrize("own", [True, False])
def test_connections_are_closed_when_the_application_shuts_down(valkey: Server, own: bool) -> None:
    before = connections(valkey)
    url = f"redis://127.0.0.1:{valkey.port}"
    rules = Rules([Rule("api", limit="3/h")], store=url)
    keeper = AsyncGatekeeper(rules)

    async def live() -> tuple[bool, bool]:
        # In one loop: at its end all connections would be closed anyway.
        app = HeadgateMiddleware(APP, rules if own else keeper)
        await Caller(app)()
        ours = connections(valkey) - before
        await shut(app)
        closed = await asyncio.to_thread(gone, ours) if own else False
        left = bool(ours & connections(valkey))
        await app.keeper.close()
        return bool(ours), closed or left

    def gone(ours: set[str]) -> bool:
        return until(lambda: not ours & connections(valkey), "connections to be closed")

    assert asyncio.run(live()) == (True, True)
