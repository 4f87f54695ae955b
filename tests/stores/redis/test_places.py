"""Places: what URLs and clients say about the way to a server, and what they must not say aloud."""

from __future__ import annotations

import pickle
import ssl
import traceback
from typing import Any

import pytest
import redis
import redis.asyncio

from headgate import AsyncLimiter, Limiter
from headgate.stores.redis.async_store import AsyncRedisStore
from headgate.stores.redis.place import Place, adopted, route
from headgate.stores.redis.store import RedisStore

SCHEMES = (
    "redis://, rediss://, redis+cluster://, rediss+cluster://, redis+sentinel://, "
    "rediss+sentinel://, unix://"
)
SECRET = "hush-hush"


@pytest.mark.parametrize(
    ("url", "kind", "seeds", "entry"),
    [
        ("redis://", "single", ["localhost:6379"], Place()),
        ("redis://box", "single", ["box:6379"], Place("box")),
        ("redis://box:7000/3", "single", ["box:7000"], Place("box", 7000, db=3)),
        ("redis://box?db=4", "single", ["box:6379"], Place("box", db=4)),
        ("redis://[::1]:7000", "single", ["::1:7000"], Place("::1", 7000)),
        ("redis://[::1]", "single", ["::1:6379"], Place("::1")),
        ("redis://:pw@box", "single", ["box:6379"], Place("box", password="pw")),
        ("redis://me:pw@box", "single", ["box:6379"], Place("box", username="me", password="pw")),
        (
            "redis://m%40e:p%2F%3F%23%40w@box",
            "single",
            ["box:6379"],
            Place("box", username="m@e", password="p/?#@w"),
        ),
        ("unix:///run/redis.sock", "single", ["/run/redis.sock"], Place(path="/run/redis.sock")),
        (
            "unix://:pw@/run/a%20b.sock?db=2",
            "single",
            ["/run/a b.sock"],
            Place(path="/run/a b.sock", db=2, password="pw"),
        ),
        ("redis+cluster://a:1,b:2,c", "cluster", ["a:1", "b:2", "c:6379"], Place()),
        ("redis+cluster://:pw@a,b", "cluster", ["a:6379", "b:6379"], Place(password="pw")),
        ("redis+sentinel://a,b:9/main", "sentinel", ["a:26379", "b:9"], Place()),
        (
            "redis+sentinel://me:pw@a/main/5?sentinel_password=other",
            "sentinel",
            ["a:26379"],
            Place(username="me", password="pw", db=5),
        ),
    ],
)
@pytest.mark.parametrize("word", ["redis", "valkey"])
def test_a_url_says_the_way(url: str, kind: str, seeds: list[str], entry: Place, word: str) -> None:
    way = route(url.replace("redis", word, 1) if url.startswith("redis") else url)

    assert (way.kind, list(map(str, way.seeds)), way.entry) == (kind, seeds, entry)


@pytest.mark.parametrize(
    "url",
    [
        "rediss://box",
        "valkeys://box",
        "rediss+cluster://box",
        "valkeys+cluster://box",
        "rediss+sentinel://box/main",
        "valkeys+sentinel://box/main",
    ],
)
def test_a_scheme_with_an_s_more_is_tls(url: str) -> None:
    way = route(url)

    assert way.entry.tls.verify_mode is ssl.CERT_REQUIRED
    assert way.entry.tls.check_hostname is True
    assert all(seed.tls is way.entry.tls for seed in way.seeds)


@pytest.mark.parametrize(
    ("options", "mode", "named"),
    [
        ("ssl_cert_reqs=none", ssl.CERT_NONE, False),
        ("ssl_cert_reqs=required", ssl.CERT_REQUIRED, True),
        ("ssl_check_hostname=false", ssl.CERT_REQUIRED, False),
        ("ssl_check_hostname=true", ssl.CERT_REQUIRED, True),
    ],
)
def test_options_say_whom_to_trust(options: str, mode: ssl.VerifyMode, named: bool) -> None:
    context = route(f"rediss://box?{options}").entry.tls

    assert (context.verify_mode, context.check_hostname) == (mode, named)


def test_sentinels_have_a_password_of_their_own() -> None:
    way = route("redis+sentinel://me:pw@a,b/main?sentinel_password=other")

    assert [(seed.username, seed.password) for seed in way.seeds] == [("", "other")] * 2


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("", f"store '': unknown scheme; try one of {SCHEMES}"),
        ("redis", f"store 'redis': unknown scheme; try one of {SCHEMES}"),
        ("localhost:6379", f"store 'localhost:6379': unknown scheme; try one of {SCHEMES}"),
        ("http://box", f"store 'http://box': unknown scheme; try one of {SCHEMES}"),
        ("redis+ring://box", f"store 'redis+ring://box': unknown scheme; try one of {SCHEMES}"),
        (
            "redis://box:abc",
            "store 'redis://box:abc': 'abc' is not a number; ports and databases are",
        ),
        ("redis://box:", "store 'redis://box:': '' is not a number; ports and databases are"),
        ("redis://box:-1", "store 'redis://box:-1': '-1' is not a number; ports and databases are"),
        ("redis://box:0", "store 'redis://box:0': 0 is no port; they go from 1 to 65535"),
        (
            "redis://box:70000",
            "store 'redis://box:70000': 70000 is no port; they go from 1 to 65535",
        ),
        ("redis://box/x", "store 'redis://box/x': 'x' is not a number; ports and databases are"),
        (
            "redis://box/\u0661",
            "store 'redis://box/\u0661': '\u0661' is not a number; ports and databases are",
        ),
        (
            "unix:///run/a.sock?db=x",
            "store 'unix:///run/a.sock': 'x' is not a number; ports and databases are",
        ),
        (
            "redis+sentinel://box:26379",
            "store 'redis+sentinel://box:26379': which primary? try "
            "redis+sentinel://host:26379/name",
        ),
        (
            "redis+sentinel://box/main/x",
            "store 'redis+sentinel://box/main/x': 'x' is not a number; ports and databases are",
        ),
        (
            "redis://[::1",
            "store 'redis://[::1': '[::1' is no address; an IPv6 one is written [::1]:6379",
        ),
        ("redis://box#x", "store 'redis://box#x': there is nothing to say after a #"),
        (
            "redis://a,b",
            "store 'redis://a,b': several hosts are a redis+cluster:// or redis+sentinel://",
        ),
        (
            "redis+cluster://box/3",
            "store 'redis+cluster://box/3': a cluster has one database; leave the number out",
        ),
        (
            "redis://box?sockettimeout=3",
            "store 'redis://box': unknown option 'sockettimeout'; known are budget, db, "
            "sentinel_password, "
            "ssl_ca_certs, ssl_cert_reqs, ssl_certfile, ssl_check_hostname, ssl_keyfile",
        ),
        (
            "rediss://box?ssl_cert_reqs=maybe",
            "store 'rediss://box': ssl_cert_reqs is one of required, optional, none, not 'maybe'",
        ),
        (
            "rediss://box?ssl_ca_certs=/no/such.pem",
            "store 'rediss://box': cannot read /no/such.pem: [Errno 2] No such file or directory",
        ),
    ],
)
@pytest.mark.parametrize("store", [RedisStore, AsyncRedisStore])
def test_a_wrong_url_is_named_with_what_would_be_right(
    store: type[Any], url: str, message: str
) -> None:
    with pytest.raises(ValueError) as wrong:
        store(url)

    assert str(wrong.value) == message


@pytest.mark.parametrize(
    ("thing", "shown"), [(5, "5"), (None, "None"), (b"redis://box", "b'redis://box'")]
)
@pytest.mark.parametrize("store", [RedisStore, AsyncRedisStore])
def test_what_is_neither_url_nor_client_is_named(
    store: type[Any], thing: object, shown: str
) -> None:
    with pytest.raises(TypeError) as wrong:
        store(thing)

    assert str(wrong.value) == f"a store is a URL or a redis-py client, not {shown}"


@pytest.mark.parametrize("budget", [0, -1, True, None, "1", float("nan"), float("inf"), 3600])
@pytest.mark.parametrize("store", [RedisStore, AsyncRedisStore])
def test_a_budget_is_a_number_of_seconds(store: type[Any], budget: object) -> None:
    with pytest.raises(ValueError) as wrong:
        store("redis://box", budget=budget)

    assert str(wrong.value) == f"budget is a number of seconds above 0, not {budget!r}"


@pytest.mark.parametrize("lines", [0, -1, True, None, "1", 1.5])
def test_lines_are_a_number_of_connections(lines: Any) -> None:
    with pytest.raises(ValueError) as wrong:
        RedisStore("redis://box", lines=lines)

    assert str(wrong.value) == (f"lines is a whole number of connections from 1 on, not {lines!r}")


@pytest.mark.parametrize("name", [None, 5, b"api"])
@pytest.mark.parametrize("kind", [Limiter, AsyncLimiter])
def test_a_name_is_a_text(kind: type[Any], name: Any) -> None:
    with pytest.raises(TypeError) as wrong:
        kind("1/s", store="redis://box", name=name)

    assert str(wrong.value) == f"name is a str, not {name!r}"


@pytest.mark.parametrize(
    "url",
    [
        f"redis://me:{SECRET}@box:abc",
        f"redis://me:{SECRET}@box?unknown=1",
        f"redis://me:{SECRET}@[::1",
        f"redis://:{SECRET}/1@box:6379",
        f"redis://me:{SECRET}?@box",
        f"redis://me:{SECRET}#@box",
        f"redis://me:{SECRET}@{SECRET}@box",
        f"redis://me:{SECRET}\u2100@box:abc",
        f"me:{SECRET}@box",
        f"redis:/me:{SECRET}@box",
        f"ftp://me:{SECRET}@box",
        f"redis+sentinel://me:{SECRET}@box",
        f"redis+sentinel://box?sentinel_password={SECRET}",
        f"redis+sentinel://box/main/x?sentinel_password={SECRET}",
        f"rediss://me:{SECRET}@box?ssl_ca_certs=/no/such.pem",
    ],
)
@pytest.mark.parametrize("kind", [Limiter, AsyncLimiter])
def test_the_message_about_a_wrong_url_has_no_secret_in_it(kind: type[Any], url: str) -> None:
    with pytest.raises(ValueError) as wrong:
        kind("1/s", store=url)

    # As a log would show it, with everything that led to it.
    told = traceback.TracebackException.from_exception(wrong.value)
    assert not any(SECRET in str(line) for line in [told, told.__cause__, told.__context__])


@pytest.mark.parametrize(
    "url",
    [
        f"redis://me:{SECRET}@box:7000/3",
        f"unix://me:{SECRET}@/run/a.sock",
        f"redis+cluster://me:{SECRET}@a,b",
        f"redis+sentinel://me:{SECRET}@a/main?sentinel_password={SECRET}",
    ],
)
@pytest.mark.parametrize("store", [RedisStore, AsyncRedisStore])
def test_no_secret_is_shown_of_a_store_and_its_parts(store: type[Any], url: str) -> None:
    made = store(url)
    shown = [made, made.route, made.route.entry, made.route.seeds, made.fleet, made.watch.title]

    assert SECRET not in " ".join(f"{thing!r} {thing}" for thing in shown)


def test_a_store_shows_where_it_is() -> None:
    urls = ["redis://box:7000", "redis+cluster://a:1,b:2", "redis+sentinel://a:3/main"]

    assert [repr(RedisStore(url)) for url in urls] == [f"RedisStore({url!r})" for url in urls]
    assert repr(AsyncRedisStore("redis://box")) == "AsyncRedisStore('redis://box:6379')"


CLIENTS = pytest.mark.parametrize("client", [redis, redis.asyncio], ids=["sync", "async"])


@CLIENTS
@pytest.mark.parametrize(
    ("url", "entry"),
    [
        ("redis://me:pw@box:7000/3", Place("box", 7000, db=3, username="me", password="pw")),
        ("redis://", Place()),
        ("unix:///run/a.sock?db=2", Place(path="/run/a.sock", db=2)),
    ],
)
def test_a_client_says_the_way_that_its_url_did(client: Any, url: str, entry: Place) -> None:
    assert adopted(client.Redis.from_url(url)).entry == entry


@CLIENTS
def test_a_client_with_a_pool_of_its_own_says_the_way(client: Any) -> None:
    pool = client.BlockingConnectionPool(host="box", port=7000, password="pw", db=2)

    assert adopted(client.Redis(connection_pool=pool)).entry == Place(
        "box", 7000, db=2, password="pw"
    )


@CLIENTS
@pytest.mark.parametrize(
    ("options", "mode", "named"),
    [
        ({}, ssl.CERT_REQUIRED, True),
        ({"ssl_check_hostname": False}, ssl.CERT_REQUIRED, False),
        ({"ssl_cert_reqs": "none"}, ssl.CERT_NONE, False),
        ({"ssl_cert_reqs": ssl.CERT_NONE}, ssl.CERT_NONE, False),
        ({"ssl_cert_reqs": None}, ssl.CERT_NONE, False),
    ],
    ids=str,
)
def test_a_client_says_whom_to_trust(
    client: Any, options: dict[str, Any], mode: ssl.VerifyMode, named: bool
) -> None:
    context = adopted(client.Redis(ssl=True, **options)).entry.tls

    assert (context.verify_mode, context.check_hostname) == (mode, named)


def test_a_cluster_client_with_tls_is_not_adopted_without() -> None:
    client = redis.asyncio.RedisCluster(host="box", port=7000, password="pw", ssl=True)
    way = adopted(client)

    assert all(place.tls is not None for place in (way.entry, *way.seeds))


@CLIENTS
def test_a_client_of_sentinels_says_whom_to_ask_and_for_whom(client: Any) -> None:
    sentinel = client.sentinel.Sentinel(
        [("a", 1), ("b", 2)], sentinel_kwargs={"password": "other"}, password="pw", db=3
    )
    way = adopted(sentinel.master_for("main"))

    assert (way.kind, way.name, list(map(str, way.seeds))) == ("sentinel", "main", ["a:1", "b:2"])
    assert [seed.password for seed in way.seeds] == ["other", "other"]
    assert (way.entry.password, way.entry.db) == ("pw", 3)


@CLIENTS
def test_sentinels_with_tls_are_not_asked_without(client: Any) -> None:
    sentinel = client.sentinel.Sentinel([("a", 1)], sentinel_kwargs={"ssl": True})
    way = adopted(sentinel.master_for("main"))

    assert all(seed.tls is not None for seed in way.seeds)


def test_a_client_that_asks_for_its_credentials_is_asked_at_every_greeting() -> None:
    class Vault(redis.CredentialProvider):
        turn = 0

        def get_credentials(self) -> tuple[str, str]:
            self.turn += 1
            return "me", f"pw{self.turn}"

    entry = adopted(redis.Redis(credential_provider=Vault())).entry

    assert [entry.greeting(), entry.greeting()] == [
        [("AUTH", "me", "pw1")],
        [("AUTH", "me", "pw2")],
    ]


def test_a_place_greets_with_who_it_is_and_which_database_it_wants() -> None:
    places = [Place(), Place(password="pw"), Place(username="me", password="pw", db=3), Place(db=1)]

    assert [place.greeting() for place in places] == [
        [],
        [("AUTH", "pw")],
        [("AUTH", "me", "pw"), ("SELECT", 3)],
        [("SELECT", 1)],
    ]


def test_an_error_of_a_store_survives_pickling() -> None:
    with pytest.raises(Exception) as raised:
        Limiter("1/s", store=RedisStore("redis://127.0.0.1:1"), when_unavailable="raise").take("k")
    copy = pickle.loads(pickle.dumps(raised.value))

    assert (type(copy), str(copy), copy.kind) == (
        type(raised.value),
        "127.0.0.1:1 cannot be reached: [Errno 111] Connection refused",
        "connection",
    )


@pytest.mark.parametrize(
    ("url", "budget"),
    [
        ("redis://box?budget=0.2", 0.2),
        ("redis+cluster://a,b?budget=5", 5.0),
        ("unix:///tmp/box?db=2&budget=1", 1.0),
        ("redis://box", 0.0),
    ],
)
def test_a_url_says_how_long_a_call_may_take(url: str, budget: float) -> None:
    assert route(url).budget == budget
    assert RedisStore(url).budget == AsyncRedisStore(url).budget == (budget or 0.05)


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "soon"])
def test_a_budget_that_is_none_is_said_to_be(text: str) -> None:
    with pytest.raises(ValueError) as caught:
        route(f"redis://box?budget={text}&db=1")

    said = f"budget is a number of seconds above 0 such as 0.2, not {text!r}"
    assert str(caught.value) == f"store 'redis://box': {said}"
