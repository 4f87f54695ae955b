"""Rules in front of real servers of grpcio, in threads and in an event loop."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest
import trustme
from google.rpc.error_details_pb2 import RetryInfo
from grpc_status import rpc_status

from headgate import ManualClock
from headgate.adapters.grpc import Bridge, HeadgateInterceptor
from headgate.adapters.grpc.call import place
from headgate.rules.live.gatekeeper import AsyncGatekeeper, Gatekeeper
from headgate.rules.matching.request import Request
from headgate.rules.model.rule import Rule
from headgate.rules.model.rules import Rules
from tests.adapters.grpc.service import COLOURS, NAME, Orders, Stub, handlers, served
from tests.servers.launch import Server
from tests.servers.waiting import until

GET = {"path": f"/{NAME}/Get"}
REQUESTS = {"Get": b"7", "Page": b"2", "Put": [b"a", b"b"], "Chat": [b"a", b"b"]}
ANSWERS = {"Get": [b"7"], "Page": [b"x" * 100] * 2, "Put": [b"ab"], "Chat": [b"a", b"b"]}


@pytest.fixture(params=COLOURS)
def colour(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def asked(name: str) -> Any:
    request = REQUESTS[name]
    return request if isinstance(request, bytes) else iter(request)


@pytest.mark.parametrize("name", REQUESTS)
def test_a_call_of_any_shape_is_let_in_told_of_and_refused(
    colour: str, name: str, clock: ManualClock
) -> None:
    rule = Rule("api", match={"method": "POST", "path": f"/{NAME}/{name}"}, limit="1/min")

    with served(colour, Rules([rule]), clock) as stub:
        first, second = stub.ask(name, asked(name)), stub.ask(name, asked(name))

    assert (first.code, first.messages) == ("OK", ANSWERS[name])
    if (colour, name) != ("lent", "Get"):
        assert first.metadata["ratelimit"] == '"api";r=0;t=60'
    assert second.messages == []
    assert second.code == "RESOURCE_EXHAUSTED"
    assert second.details == 'Policy "api" is exceeded. Retry in 60 s.'
    assert second.metadata["grpc-retry-pushback-ms"] == "60000"
    assert second.metadata["ratelimit-policy"] == '"api";q=1;w=60'
    assert second.metadata["ratelimit"] == '"api";r=0;t=60'


def test_a_refusal_is_read_by_the_status_library(colour: str, clock: ManualClock) -> None:
    with served(colour, Rules([Rule("api", limit="1/min")]), clock) as stub:
        stub.ask("Get")
        call = stub.begin("Get")
        call.exception()
        status = rpc_status.from_call(call)

    retry = RetryInfo()
    assert status.code == grpc.StatusCode.RESOURCE_EXHAUSTED.value[0]
    assert status.details[0].Unpack(retry)
    assert retry.retry_delay.seconds == 60


@pytest.mark.parametrize(
    ("rule", "code"),
    [
        (Rule("banned", match={"client.ip": "127.0.0.0/8"}, deny=True), "PERMISSION_DENIED"),
        (Rule("keyed", key="header.x-user", limit="1/s"), "PERMISSION_DENIED"),
        (Rule("large", limit="1/s", cost=5), "RESOURCE_EXHAUSTED"),
        (Rule("elsewhere", limit="1/s", cost=5, over="redirect /busy"), "RESOURCE_EXHAUSTED"),
    ],
)
def test_what_never_fits_is_not_to_be_tried_again(
    colour: str, rule: Rule, code: str, clock: ManualClock
) -> None:
    with served(colour, Rules([rule]), clock) as stub:
        ended = stub.ask("Get")

    assert (ended.code, ended.metadata["grpc-retry-pushback-ms"]) == (code, "-1")


def test_what_an_application_says_in_trailing_metadata_stays(
    colour: str, clock: ManualClock
) -> None:
    with served(colour, Rules([Rule("api", limit="5/s")]), clock) as stub:
        ended = stub.ask("Get")

    assert ended.metadata["x-tokens"] == "70"


def test_metadata_is_what_headers_are(colour: str, clock: ManualClock) -> None:
    rule = Rule("api", key="header.x-user", limit="1/min")

    with served(colour, Rules([rule]), clock) as stub:
        codes = [stub.ask("Get", x_user=user).code for user in ("ann", "bob", "ann")]

    assert codes == ["OK", "OK", "RESOURCE_EXHAUSTED"]


def test_a_proxy_that_is_trusted_says_who_calls(colour: str, clock: ManualClock) -> None:
    rules = Rules(
        [Rule("api", key="client.ip", limit="1/min")], client={"trusted_proxies": ["127.0.0.1"]}
    )

    with served(colour, rules, clock) as stub:
        addresses = ["192.0.2.1", "192.0.2.2", "192.0.2.1"]
        codes = [stub.ask("Get", x_forwarded_for=address).code for address in addresses]

    assert codes == ["OK", "OK", "RESOURCE_EXHAUSTED"]


def test_user_and_plan_are_functions_of_the_context(colour: str, clock: ManualClock) -> None:
    def user(context: Any) -> object:
        return dict(context.invocation_metadata()).get("x-name")

    def plan(context: Any) -> object:
        return dict(context.invocation_metadata()).get("x-plan")

    rules = Rules([Rule("api", key="user", limit="1/min")], plans={"vip": "unlimited"})
    with served(colour, rules, clock, user=user, plan=plan) as stub:
        codes = [
            stub.ask("Get").code,
            stub.ask("Get", x_name="ann").code,
            stub.ask("Get", x_name="ann").code,
            stub.ask("Get", x_name="ann", x_plan="vip").code,
        ]

    assert codes == ["PERMISSION_DENIED", "OK", "RESOURCE_EXHAUSTED", "OK"]


def test_a_method_that_there_is_not_is_none_of_ours(colour: str, clock: ManualClock) -> None:
    with served(colour, Rules([Rule("closed", deny=True)]), clock) as stub:
        assert stub.ask("Nothing").code == "UNIMPLEMENTED"


def test_a_call_waits_where_a_rule_says_so(colour: str, clock: ManualClock) -> None:
    with served(colour, Rules([Rule("api", limit="1/s", over="wait 5s")]), clock) as stub:
        codes = [stub.ask("Get").code for _ in range(3)]

    assert codes == ["OK"] * 3
    assert clock.now() == 2_000_000


@pytest.mark.parametrize("name", ["Get", "Page", "Chat"])
def test_messages_flow_as_the_rules_say(colour: str, name: str, clock: ManualClock) -> None:
    rule = Rule("flow", bandwidth="1000B/s burst 256")
    request = {"Get": b"x" * 1024, "Page": b"11", "Chat": iter([b"x" * 512] * 2)}[name]

    with served(colour, Rules([rule]), clock) as stub:
        ended = stub.ask(name, request)

    size = sum(map(len, ended.messages))
    assert size in {1024, 1100}
    assert clock.now() == (size - 256) * 1000


# The context of a lent thread tells neither what was said nor the code.
@pytest.mark.parametrize("colour", ["threads", "loop"])
@pytest.mark.parametrize(
    ("by", "name", "message"),
    [("response.body", "Page", b"1"), ("response.header.x-tokens", "Get", b"7")],
)
def test_a_cost_in_the_answer_is_charged_when_it_is_known(
    colour: str, by: str, name: str, message: bytes, clock: ManualClock
) -> None:
    rule = Rule("units", limit={"rate": "120/min", "by": "fixed_window"}, cost={"by": by})

    with served(colour, Rules([rule]), clock) as stub:
        codes = [stub.ask(name, message).code for _ in range(3)]

    assert codes == ["OK", "OK", "RESOURCE_EXHAUSTED"]


@pytest.mark.parametrize("colour", ["threads", "loop"])
@pytest.mark.parametrize(
    ("name", "code", "opens"),
    [("Miss", "UNAVAILABLE", True), ("Fail", "UNKNOWN", True), ("Get", "OK", False)],
)
def test_a_breaker_learns_from_codes(
    colour: str, name: str, code: str, opens: bool, clock: ManualClock
) -> None:
    rule = Rule("backend", breaker={"calls": 2, "failures": 1.0, "pause": "5s"})

    with served(colour, Rules([rule]), clock) as stub:
        codes = [stub.ask(name).code for _ in range(2)]
        ended = stub.ask("Get")

    assert codes == [code, code]
    assert (ended.details == '"backend" has no room for it now.') == opens


def test_a_call_over_tls_is_https(clock: ManualClock) -> None:
    authority = trustme.CA()
    pair = authority.issue_cert("127.0.0.1")
    key, chain = pair.private_key_pem.bytes(), pair.cert_chain_pems[0].bytes()
    rules = Rules([Rule("secured", match={"scheme": "https"}, deny=True)])

    with ThreadPoolExecutor(2) as pool:
        guard = HeadgateInterceptor(rules, clock=clock)
        server = grpc.server(pool, handlers=[handlers(Orders())], interceptors=[guard])
        port = server.add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials([(key, chain)]))
        server.start()
        trust = grpc.ssl_channel_credentials(authority.cert_pem.bytes())
        with grpc.secure_channel(f"127.0.0.1:{port}", trust) as channel:
            secured = Stub(channel, Orders()).ask("Get").code
        server.stop(0).wait()
    with served("threads", rules, clock) as stub:
        plain = stub.ask("Get").code

    assert (secured, plain) == ("PERMISSION_DENIED", "OK")


def test_a_place_is_given_back_when_a_call_fails(colour: str, clock: ManualClock) -> None:
    with served(colour, Rules([Rule("alone", concurrent=1)]), clock) as stub:
        codes = [stub.ask("Fail").code for _ in range(3)]

    assert codes == ["UNKNOWN"] * 3


# In a thread that a loop has lent, grpcio does not end a stream that is cancelled, and neither its
# server nor the interpreter ends then.
@pytest.mark.parametrize("colour", ["threads", "loop"])
def test_a_place_is_held_for_the_life_of_a_stream_and_free_when_its_client_leaves(
    colour: str,
) -> None:
    rules = Rules([Rule("alone", key="client.ip", match={"path": f"/{NAME}/Watch"}, concurrent=1)])

    def free() -> bool:
        call = stub.begin("Watch")
        try:
            return bool(next(call))
        except grpc.RpcError:
            return False
        finally:
            call.cancel()

    with served(colour, rules) as stub:
        stream = stub.begin("Watch")
        next(stream)
        refused = stub.ask("Watch")
        stream.cancel()
        assert stub.orders.ended.acquire(timeout=20)
        until(free, "a free place")
        until(free, "a free place")

    assert refused.code == "RESOURCE_EXHAUSTED"
    assert refused.details == 'Policy "alone" is exceeded. Retry in 1 s.'


@pytest.mark.parametrize(("streams", "held"), [(True, False), (False, True)])
def test_what_a_lent_thread_holds_for_a_stream_is_given_back_when_its_call_is_over(
    streams: bool, held: bool, clock: ManualClock
) -> None:
    keeper = AsyncGatekeeper(Rules([Rule("alone", concurrent=1)]), clock=clock)

    async def hold() -> tuple[bool, bool]:
        task = asyncio.ensure_future(asyncio.Event().wait())
        bridge = Bridge(keeper, task, streams)
        first = await asyncio.to_thread(bridge.enter, Request("POST", "/"))
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        for _ in range(5):
            await asyncio.sleep(0)
        second = await keeper.enter(Request("POST", "/"))
        await asyncio.to_thread(bridge.leave, first, 200)
        await keeper.leave(second, 200)
        return not second, bool(await keeper.enter(Request("POST", "/")))

    assert asyncio.run(hold()) == (held, True)


def test_a_stream_in_a_lent_thread_holds_a_place(clock: ManualClock) -> None:
    with served("lent", Rules([Rule("alone", concurrent=1)]), clock) as stub:
        codes = [stub.ask("Page", b"3").code for _ in range(3)]

    assert codes == ["OK"] * 3


def test_a_client_that_retries_comes_back_when_it_is_told_to() -> None:
    policy = {"maxAttempts": 3, "initialBackoff": "60s", "maxBackoff": "60s",
              "backoffMultiplier": 1, "retryableStatusCodes": ["RESOURCE_EXHAUSTED"]}  # fmt: skip
    config = {"methodConfig": [{"name": [{"service": NAME}], "retryPolicy": policy}]}
    options = [("grpc.service_config", json.dumps(config))]

    with served("threads", Rules([Rule("api", limit="20/s burst 1")]), channel=options) as stub:
        ended = [stub.ask("Get").code for _ in range(3)]

    assert ended == ["OK"] * 3


def test_a_client_behind_a_unix_socket_is_local(colour: str, tmp_path: Path) -> None:
    rules = Rules([Rule("api", key="client.ip", limit="1/h")])

    with served(colour, rules, place=f"unix:{tmp_path}/s") as stub:
        codes = [stub.ask("Get").code for _ in range(2)]

    assert codes == ["OK", "RESOURCE_EXHAUSTED"]


def test_servers_share_what_they_count_through_a_store(colour: str, valkey: Server) -> None:
    url = f"redis://127.0.0.1:{valkey.port}?budget=20"
    rules = Rules([Rule("api", key="client.ip", limit="2/h", concurrent=5)], store=url)

    codes = []
    for _ in range(3):
        with served(colour, rules) as stub:
            codes.append(stub.ask("Get").code)

    assert codes == ["OK", "OK", "RESOURCE_EXHAUSTED"]


def test_interceptors_may_share_a_gatekeeper(clock: ManualClock) -> None:
    keeper = Gatekeeper(Rules([Rule("api", limit="1/min")]), clock=clock)
    codes = []
    for _ in range(2):
        with served("threads", keeper) as stub:
            codes.append(stub.ask("Get").code)

    assert codes == ["OK", "RESOURCE_EXHAUSTED"]
    assert HeadgateInterceptor(keeper).keeper is keeper


@pytest.mark.parametrize(
    ("peer", "address"),
    [
        ("ipv4:192.0.2.1:5000", "192.0.2.1"),
        ("ipv6:[2001:db8::1]:5000", "2001:db8::1"),
        ("ipv6:%5B2001:db8::1%5D:5000", "2001:db8::1"),
        ("ipv6:%5Bfe80::1%25eth0%5D:5000", "fe80::1%eth0"),
        ("unix:/run/headgate", "unix:/run/headgate"),
        ("unix:", "unix:"),
        ("vsock:3:5000", "vsock:3:5000"),
    ],
)
def test_the_address_of_a_peer_has_neither_family_nor_port(peer: str, address: str) -> None:
    assert place(peer) == address
