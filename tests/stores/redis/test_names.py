"""Names: no key, however it is made, meets the state of another, and all know where theirs is."""

from __future__ import annotations

import random
import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate import GCRA, FixedWindow, Limit, LimitError, SlidingLog, TokenBucket
from headgate.stores.redis.names import prefix, slot, tag
from tests.servers.cluster import Cluster
from tests.servers.launch import Server
from tests.stores.redis.callers import COLOURS, Caller, url

LIMIT = TokenBucket("9 per 3650day")
# Whatever a str may hold, lone surrogates too.
TEXT = st.text(st.characters(exclude_categories=()))
HOSTILE = [
    "",
    " ",
    "\0",
    "a\0b",
    "a\r\nb",
    "\r\n$3\r\nfoo\r\n",
    "{}",
    "}{",
    "a{b}c",
    "{user:42}",
    "*",
    "a*",
    "?",
    "~",
    "~" + "0" * 32,
    "a:b",
    "a",
    "A",
    "k" * 128,
    "k" * 129,
    "k" * 1_000_000,
    "é",
    "e\u0301",
    "\u202eright to left\u202c",
    "שלום",
    "\ud800",
    "\udfff",
    "\U0001f680",
    "\u2028",
]


@pytest.mark.parametrize("colour", COLOURS)
def test_every_key_has_a_state_of_its_own(server: Server, colour: str) -> None:
    with Caller(server.url, colour) as caller:
        limiter = caller.limiter(LIMIT)
        spent = [limiter.take(key, number % 9 + 1) for number, key in enumerate(HOSTILE)]

        left = [limiter.peek(key).remaining for key in HOSTILE]

    assert all(spent)
    assert left == [8 - number % 9 for number in range(len(HOSTILE))]
    assert server.ask("DBSIZE") == len(HOSTILE)


@pytest.mark.parametrize("colour", COLOURS)
def test_every_name_has_a_state_of_its_own(server: Server, colour: str) -> None:
    with Caller(server.url, colour) as caller:
        limiters = [caller.limiter(LIMIT, name=name) for name in HOSTILE]
        spent = [limiter.take("k", n % 9 + 1) for n, limiter in enumerate(limiters)]

        left = [limiter.peek("k").remaining for limiter in limiters]

    assert all(spent)
    assert left == [8 - number % 9 for number in range(len(HOSTILE))]


@pytest.mark.parametrize("key", HOSTILE, ids=lambda key: ascii(key)[:20])
def test_what_a_server_sees_of_a_key_is_plain_and_short(key: str) -> None:
    shown = (prefix((LIMIT,), key) + tag(key)).decode("ascii")

    assert set(shown) <= set(string.ascii_letters + string.digits + ".:_@/+={}~-")
    assert shown.count("{") == shown.count("}") == 1
    assert len(shown) < 250


@pytest.mark.parametrize(
    ("name", "key", "kept"),
    [
        ("api", "user:42", True),
        ("A.b_c@d-9", "a/b+c=d@e.f_g-h:9", True),
        ("n" * 64, "k" * 128, True),
        ("n" * 65, "k" * 129, False),
        ("a:b", "a b", False),
        ("~", "~", False),
        ("a/b", "{a}", False),
        ("é", "é", False),
    ],
)
def test_plain_names_and_keys_stay_as_they_are_and_others_are_digested(
    name: str, key: str, kept: bool
) -> None:
    shown = (prefix((LIMIT,), name) + tag(key)).decode()
    word, spelled = re.fullmatch(r"headgate:1:(.*):[0-9a-f]{16}:\{(.*)\}", shown).groups()

    assert (word == name, spelled == key) == (kept, kept)
    assert kept or all(re.fullmatch("~[0-9a-f]{32}", one) for one in (word, spelled))


@given(st.lists(st.tuples(TEXT, TEXT.filter(bool)), min_size=2, max_size=6, unique=True))
def test_no_two_pairs_of_key_and_name_share_a_place(pairs: list[tuple[str, str]]) -> None:
    places = {prefix((LIMIT,), name) + tag(key) for key, name in pairs}

    assert len(places) == len(pairs)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("c", "a:b"), ("b:c", "a")),
        (("b", "a"), ("a", "b")),
        (("", "a"), ("a", "b")),
        (("a", "b"), ("a", "b ")),
    ],
)
def test_no_boundary_between_name_and_key_is_mistaken(
    server: Server, one: tuple[str, str], other: tuple[str, str]
) -> None:
    with Caller(server.url) as caller:
        caller.limiter(LIMIT, name=one[1]).take(one[0], 5)

        assert caller.limiter(LIMIT, name=other[1]).peek(other[0]).remaining == 9


@pytest.mark.parametrize("name", ["api", ""], ids=["named", "unnamed"])
def test_the_same_limits_and_name_share_in_every_store_and_colour(
    server: Server, name: str
) -> None:
    left = []
    for colour in ["sync", "async", "sync", "async"]:
        with Caller(server.url, colour) as caller:
            left.append(caller.limiter(LIMIT, name=name).take("k").remaining)

    assert left == [8, 7, 6, 5]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (TokenBucket("9/day burst 5"), TokenBucket("9/day", burst=5)),
        (TokenBucket("9 per 24h"), TokenBucket("9/day", initial=9)),
        (FixedWindow("9/day", penalty=0), FixedWindow("9 per 86400s")),
    ],
    ids=repr,
)
def test_limits_that_are_equal_share_however_they_are_spelled(
    server: Server, one: Limit, other: Limit
) -> None:
    with Caller(server.url) as caller:
        caller.limiter(one, name="api").take("k", 3)

        assert one == other
        assert caller.limiter(other, name="api").peek("k").remaining == other.limit - 3


@pytest.mark.parametrize("colour", COLOURS)
def test_the_same_limits_under_two_names_do_not_share(server: Server, colour: str) -> None:
    with Caller(server.url, colour) as caller:
        left = [caller.limiter(LIMIT, name=name).take("k").remaining for name in ("a", "b", "")]

    assert left == [8, 8, 8]


@pytest.mark.parametrize(
    "others",
    [
        (TokenBucket("10 per 3650day"),),
        (TokenBucket("9 per 3649day"),),
        (TokenBucket("9 per 3650day", burst=10),),
        (TokenBucket("9 per 3650day", penalty=1),),
        (TokenBucket("9 per 3650day", name="other"),),
        (GCRA("9 per 3650day"),),
        (LIMIT, LIMIT),
        (LIMIT, FixedWindow("100/s")),
        (FixedWindow("100/s"), LIMIT),
    ],
    ids=repr,
)
@pytest.mark.parametrize("name", ["api", ""], ids=["named", "unnamed"])
def test_other_limits_do_not_share(server: Server, others: tuple[Limit, ...], name: str) -> None:
    with Caller(server.url) as caller:
        alone = caller.limiter(LIMIT, name=name)
        alone.take("k", 5)
        caller.limiter(*others, name=name).take("k", 3)

        assert alone.peek("k").remaining == 4


def test_reset_forgets_one_key_of_one_limiter(server: Server) -> None:
    with Caller(server.url) as caller:
        limiters = [caller.limiter(LIMIT, name=name) for name in ("a", "b")]
        for limiter in limiters:
            limiter.take_many(["k", "l"], 4)

        limiters[0].reset("k")

        assert [one.peek(key).remaining for one in limiters for key in "kl"] == [9, 5, 5, 5]


def test_a_key_and_what_is_kept_for_it_have_the_slot_that_a_cluster_says(cluster: Cluster) -> None:
    chance = random.Random(4)
    keys = [*HOSTILE, *(f"user:{chance.randrange(10**9)}" for _ in range(200))]
    for key in keys:
        place = prefix((LIMIT,), "api") + tag(key)
        said = [keyslot(cluster, place), keyslot(cluster, tag(key))]

        assert [slot(place), slot(tag(key))] == said, key


@given(TEXT)
def test_a_slot_does_not_depend_on_limiter_or_limits(key: str) -> None:
    places = [
        prefix(limits, name) + tag(key)
        for limits in [(LIMIT,), (LIMIT, GCRA("1/s")), (SlidingLog("1000/s"),)]
        for name in ["", "api", "{other}"]
    ]

    assert {slot(place) for place in places} == {slot(tag(key))}


@pytest.mark.parametrize("colour", COLOURS)
def test_keys_of_a_cluster_are_kept_where_their_slots_are(cluster: Cluster, colour: str) -> None:
    keys = [f"user:{number}" for number in range(60)]
    with Caller(url(cluster), colour) as caller:
        limiter = caller.limiter(LIMIT, name="api")
        limiter.take_many(keys)

    expected = [prefix((LIMIT,), "api") + tag(key) for key in keys]
    kept = {node.port: set(node.ask("KEYS", "*")) for node in cluster.primaries()}
    assert min(map(len, kept.values())) > 0
    assert all(place.decode() in kept[cluster.owner(slot(place)).port] for place in expected)


def test_a_log_too_long_for_a_server_is_refused_when_it_is_opened(server: Server) -> None:
    with Caller(server.url) as caller, pytest.raises(LimitError) as refused:
        caller.limiter(SlidingLog("200000/day"))

    assert str(refused.value) == (
        'on Redis a log has at most 100,000 moments a key, and [SlidingLog("200000/day")] has '
        "200,004; use SlidingWindow"
    )


def keyslot(cluster: Cluster, place: bytes) -> int:
    """The slot of a place as a node of the cluster says."""
    return int(cluster.nodes[0].ask("CLUSTER", "KEYSLOT", place))
