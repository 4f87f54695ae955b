"""Getting in: every way to a real server, by URL and by a client that somebody has already."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import redis
import redis.asyncio

from headgate import AsyncLimiter, Limiter, StoreUnavailable
from headgate.stores.redis.async_store import AsyncRedisStore
from headgate.stores.redis.store import RedisStore
from tests.servers.cluster import Cluster
from tests.servers.launch import Server
from tests.servers.ports import Port
from tests.servers.secure import GUEST, OWNER
from tests.servers.sentinels import Sentinels
from tests.servers.waiting import until
from tests.servers.wire import Login
from tests.stores.redis.callers import BUDGET, COLOURS, Caller, lines, url

colours = pytest.mark.parametrize("colour", COLOURS)


@colours
def test_a_server_is_entered_by_its_url(server: Server, colour: str) -> None:
    assert takes(server.url, colour) == [8, 7]


@colours
@pytest.mark.parametrize("word", ["valkey", "redis"])
def test_a_server_is_called_by_either_name(server: Server, colour: str, word: str) -> None:
    assert takes(server.url.replace("redis", word, 1), colour) == [8, 7]


def test_a_limiter_is_given_a_url(server: Server) -> None:
    async def awaited(key: str) -> int:
        limiter = AsyncLimiter("9 per 3650day", store=server.url, when_unavailable="raise")
        return (await limiter.take(key)).remaining

    limiter = Limiter("9 per 3650day", store=server.url, when_unavailable="raise")
    keys = map(str, count())

    def answered() -> list[int]:
        # The budget is the usual one, and on a busy machine too short at times.
        with suppress(StoreUnavailable):
            key = next(keys)
            return [limiter.take(key).remaining, asyncio.run(awaited(key))]
        return []

    assert until(answered, "both colours to be answered") == [8, 7]


@colours
@pytest.mark.parametrize("spelled", ["/3", "?db=3"])
def test_a_database_is_chosen_by_its_number(server: Server, colour: str, spelled: str) -> None:
    takes(server.url + spelled, colour)
    with server.wire() as wire:
        sizes = [wire.ask("DBSIZE")]
        wire.ask("SELECT", 3)
        sizes.append(wire.ask("DBSIZE"))

    assert sizes == [0, 1]


@colours
def test_a_database_that_is_not_there_is_refused(server: Server, colour: str) -> None:
    assert refusal(f"{server.url}/99", colour) == (
        "err",
        f"127.0.0.1:{server.port} refuses: ERR DB index is out of range",
    )


@colours
@pytest.mark.parametrize(
    ("way", "place"),
    [
        ("redis://127.0.0.1:1", "127.0.0.1:1"),
        ("redis://two..dots", "two..dots:6379"),
        ("redis://" + "long" * 20, "long" * 20 + ":6379"),
        ("unix:///no/such.sock", "/no/such.sock"),
        ("unix:///a%00b", "/a\0b"),
    ],
    ids=["a closed port", "no name", "too long a name", "no file", "no path"],
)
def test_a_place_where_nobody_is_is_named_once(colour: str, way: str, place: str) -> None:
    kind, message = refusal(way, colour)

    assert kind == "connection"
    assert message.startswith(f"{place} cannot be reached: ")
    assert message.count("cannot be reached") == 1


@pytest.fixture(params=["valkey", "redis"])
def socket(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """The path of a server that listens on a socket of the file system too."""
    path = tmp_path / "a b.sock"
    with Server(request.param, "--unixsocket", str(path)):
        yield path


@colours
def test_a_server_is_entered_by_a_path(socket: Path, colour: str) -> None:
    assert takes(f"unix://{str(socket).replace(' ', '%20')}?db=1", colour) == [8, 7]


@colours
@pytest.mark.parametrize("login", [OWNER, GUEST, Login("", OWNER.password)], ids=lambda one: one[0])
def test_a_server_with_passwords_is_entered_with_one(
    password_server: Server, colour: str, login: Login
) -> None:
    # A guest may do nothing that is dangerous, and touch no keys but ours.
    assert takes(password_server.address(login), colour) == [8, 7]


@colours
@pytest.mark.parametrize(
    ("login", "kind", "words"),
    [
        (None, "noauth", "NOAUTH Authentication required."),
        (
            Login("guest", "wrong"),
            "wrongpass",
            "WRONGPASS invalid username-password pair or user is disabled.",
        ),
        (
            Login("nobody", "swordfish"),
            "wrongpass",
            "WRONGPASS invalid username-password pair or user is disabled.",
        ),
    ],
    ids=["none", "wrong", "unknown"],
)
def test_who_has_no_right_password_is_told_so(
    password_server: Server, colour: str, login: Login | None, kind: str, words: str
) -> None:
    assert refusal(password_server.address(login), colour) == (
        kind,
        f"127.0.0.1:{password_server.port} refuses: {words}",
    )


@colours
def test_a_password_is_never_told(password_server: Server, colour: str) -> None:
    told = refusal(password_server.address(Login("guest", "hush-hush")), colour)

    assert "hush-hush" not in str(told)


@colours
def test_who_may_not_run_scripts_is_told_so(colour: str) -> None:
    user = ("clerk", "on", ">pw", "~*", "+@all", "-@scripting")
    with Server("valkey", "--user", *user) as server:
        kind, message = refusal(server.address(Login("clerk", "pw")), colour)

    assert kind == "noperm"
    assert message.startswith(f"127.0.0.1:{server.port} refuses: NOPERM ")


@colours
def test_a_right_password_after_a_wrong_one_is_let_in(password_server: Server, colour: str) -> None:
    guest = password_server.address(GUEST)
    password_server.ask("ACL", "SETUSER", "guest", "off")
    try:
        with Caller(guest, colour) as caller:
            limiter = caller.limiter("9 per 3650day")
            with pytest.raises(StoreUnavailable):
                limiter.take("k")
            password_server.ask("ACL", "SETUSER", "guest", "on")

            assert limiter.take("k").remaining == 8
    finally:
        password_server.ask("ACL", "SETUSER", "guest", "on")


@colours
def test_a_server_with_tls_is_entered_by_those_who_trust_it(
    tls_server: Server, colour: str
) -> None:
    assert takes(f"{tls_server.url}?ssl_ca_certs={tls_server.authority}", colour) == [8, 7]


@colours
def test_a_server_with_tls_is_entered_by_those_who_do_not_ask(
    tls_server: Server, colour: str
) -> None:
    assert takes(f"{tls_server.url}?ssl_cert_reqs=none", colour) == [8, 7]


@colours
def test_a_certificate_that_nobody_vouches_for_is_refused(tls_server: Server, colour: str) -> None:
    kind, message = refusal(tls_server.url, colour)

    assert kind == "connection"
    assert "certificate verify failed" in message


@colours
def test_who_speaks_plainly_to_a_server_with_tls_is_told_so(
    tls_server: Server, colour: str
) -> None:
    kind, message = refusal(f"redis://127.0.0.1:{tls_server.port}", colour)

    assert kind in {"connection", "protocol"}
    assert message.startswith(("the connection to 127.0.0.1:", "127.0.0.1:"))


@colours
def test_many_questions_are_asked_over_tls_at_once(tls_server: Server, colour: str) -> None:
    way = f"{tls_server.url}?ssl_ca_certs={tls_server.authority}"
    with Caller(way, colour) as caller:
        limiter = caller.limiter("9 per 3650day")
        # More than one record of TLS holds.
        left = [one.remaining for one in limiter.take_many([f"key:{n % 500}" for n in range(1500)])]

    assert left == [8] * 500 + [7] * 500 + [6] * 500


@colours
@pytest.mark.parametrize("seeds", [1, 6])
def test_a_cluster_is_entered_by_any_of_its_nodes(
    cluster: Cluster, colour: str, seeds: int
) -> None:
    hosts = ",".join(f"127.0.0.1:{port}" for port in cluster.ports[-seeds:])
    with Caller(f"redis+cluster://{hosts}", colour) as caller:
        limiter = caller.limiter("9 per 3650day")
        keys = [f"user:{number}" for number in range(30)]
        left = [limiter.take(key).remaining for key in keys * 2]

    assert left == [8] * 30 + [7] * 30


@colours
def test_a_cluster_is_entered_though_a_seed_is_dead(cluster: Cluster, colour: str) -> None:
    way = f"redis+cluster://127.0.0.1:1,127.0.0.1:{cluster.ports[0]}"

    assert takes(way, colour) == [8, 7]


@pytest.fixture(scope="module")
def tls_cluster(tls_process: Server) -> Iterator[Server]:
    """A node that is a whole cluster, and speaks TLS with the certificate of another server."""
    bus = Port()
    options = ("--cluster-enabled", "yes", "--tls-cluster", "yes", "--cluster-port", bus.number)
    same = (tls_process.kind, *tls_process.options, *map(str, options))
    with Server(*same, authority=tls_process.authority) as server:
        server.ask("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
        until(lambda: "cluster_state:ok" in server.ask("CLUSTER", "INFO"), "the cluster to serve")
        yield server
    bus.close()


@colours
def test_a_cluster_with_tls_is_entered_by_those_who_trust_it(
    tls_cluster: Server, colour: str
) -> None:
    way = f"rediss+cluster://localhost:{tls_cluster.port}?ssl_ca_certs={tls_cluster.authority}"

    assert takes(way, colour, name=f"url {colour}") == [8, 7]


@colours
def test_a_client_of_a_cluster_lends_its_trust(tls_cluster: Server, colour: str) -> None:
    options: dict[str, Any] = {"ssl": True, "ssl_ca_certs": str(tls_cluster.authority)}
    client = redis.RedisCluster(host="127.0.0.1", port=tls_cluster.port, **options)
    other = redis.asyncio.RedisCluster(host="127.0.0.1", port=tls_cluster.port, **options)
    try:
        left = [takes(one, colour, name=f"client {colour}") for one in (client, other)]
    finally:
        client.close()

    assert left == [[8, 7], [6, 5]]


@colours
def test_the_primary_is_found_by_its_sentinels(sentinels: Sentinels, colour: str) -> None:
    assert takes(url(sentinels), colour) == [8, 7]
    assert sentinels.primary().ask("DBSIZE") == 1


@colours
def test_a_primary_that_no_sentinel_knows_is_named(sentinels: Sentinels, colour: str) -> None:
    port = sentinels.ports[0]

    assert refusal(f"redis+sentinel://127.0.0.1:{port}/other", colour) == (
        "connection",
        f"sentinel 127.0.0.1:{port} cannot be reached: 127.0.0.1:{port} knows no primary 'other'",
    )


@colours
def test_a_client_lends_its_way(server: Server, colour: str) -> None:
    for client in (redis.Redis, redis.asyncio.Redis):
        borrowed = client(host="127.0.0.1", port=server.port, db=2, decode_responses=True)

        assert takes(borrowed, colour, name=client.__module__) == [8, 7]


@colours
def test_a_client_lends_its_password(password_server: Server, colour: str) -> None:
    client = redis.Redis.from_url(password_server.address(GUEST))

    assert takes(client, colour) == [8, 7]


@colours
def test_a_client_lends_its_trust(tls_server: Server, colour: str) -> None:
    client = redis.Redis.from_url(tls_server.url, ssl_ca_certs=str(tls_server.authority))

    assert takes(client, colour) == [8, 7]


@colours
def test_a_client_lends_its_socket(socket: Path, colour: str) -> None:
    assert takes(redis.Redis(unix_socket_path=str(socket)), colour) == [8, 7]


@colours
def test_a_client_of_a_cluster_lends_its_way(cluster: Cluster, colour: str) -> None:
    client = redis.RedisCluster(host="127.0.0.1", port=cluster.ports[0])
    try:
        assert takes(client, colour) == [8, 7]
    finally:
        client.close()


@colours
def test_an_async_client_of_a_cluster_lends_its_way(cluster: Cluster, colour: str) -> None:
    # Whether it has been used before or not.
    client = redis.asyncio.RedisCluster(host="127.0.0.1", port=cluster.ports[0])

    assert takes(client, colour) == [8, 7]


@colours
@pytest.mark.parametrize("module", [redis.sentinel, redis.asyncio.sentinel], ids=["sync", "async"])
def test_a_client_of_sentinels_lends_its_way(
    sentinels: Sentinels, colour: str, module: Any
) -> None:
    watch = module.Sentinel([("127.0.0.1", port) for port in sentinels.ports])

    assert takes(watch.master_for(sentinels.service), colour) == [8, 7]


def test_a_client_goes_on_with_its_own_connections(server: Server) -> None:
    client = redis.Redis(host="127.0.0.1", port=server.port)
    client.set("mine", "1")
    store = RedisStore(client, budget=10)
    Limiter("9/s", store=store, when_unavailable="raise").take("k")
    store.close()

    assert client.get("mine") == b"1"
    client.close()


@colours
def test_a_store_that_was_closed_dials_again(server: Server, colour: str) -> None:
    with Caller(server.url, colour) as caller:
        limiter = caller.limiter("9 per 3650day")
        left = [limiter.take("k").remaining]
        caller.run(caller.store.close)
        left.append(limiter.take("k").remaining)

    assert left == [8, 7]


@colours
def test_closing_hangs_up(server: Server, colour: str) -> None:
    with Caller(server.url, colour) as caller:
        others = lines(server)
        caller.limiter("9/s").take("k")
        ours = lines(server) - others
        caller.run(caller.store.close)

        assert len(ours) == 1
        until(lambda: not ours & lines(server), "the server to notice")


def test_an_event_loop_hangs_up_when_it_ends(server: Server) -> None:
    store = AsyncRedisStore(server.url, BUDGET)
    limiter = AsyncLimiter("9 per 3650day", store=store, when_unavailable="raise")

    async def take() -> tuple[int, set[str]]:
        return (await limiter.take("k")).remaining, lines(server)

    others = lines(server)
    told = [asyncio.run(take()) for _ in range(5)]
    ours = set.union(*(found for _, found in told)) - others

    assert [left for left, _ in told] == [8, 7, 6, 5, 4]
    assert len(ours) == 5
    until(lambda: not ours & lines(server), "the server to notice")


def test_a_store_of_the_other_colour_is_refused(server: Server) -> None:
    with pytest.raises(TypeError) as wrong:
        AsyncLimiter("9/s", store=RedisStore(server.url))

    assert str(wrong.value) == (
        f"AsyncLimiter needs AsyncRedisStore, not RedisStore('redis://127.0.0.1:{server.port}')"
    )


def takes(way: Any, colour: str, name: str = "entry") -> list[int]:
    """What is left after each of two takes of somebody who comes that way."""
    with Caller(way, colour) as caller:
        limiter = caller.limiter("9 per 3650day", name=name)
        return [limiter.take("k").remaining for _ in range(2)]


def refusal(way: Any, colour: str) -> tuple[str, str]:
    """Kind and words of what somebody meets who comes that way."""
    with Caller(way, colour) as caller, pytest.raises(StoreUnavailable) as refused:
        caller.limiter("9 per 3650day").take("k")
    return refused.value.kind, str(refused.value)
