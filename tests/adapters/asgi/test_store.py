"""Applications that share a store on a server count together, and leave no connection behind."""

from __future__ import annotations

import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from headgate.adapters.asgi import HeadgateMiddleware
from headgate.rules.rule import Rule
from headgate.rules.rules import Rules
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


def test_connections_are_closed_when_the_application_shuts_down(valkey: Server) -> None:
    before = connections(valkey)
    url = f"redis://127.0.0.1:{valkey.port}"

    with serving(HeadgateMiddleware(APP, Rules([Rule("api", limit="3/h")]), url)) as site:
        site.ask("/")
        assert connections(valkey) > before

    until(lambda: connections(valkey) == before, "connections to be closed")
