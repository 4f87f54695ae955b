"""Quotas are said in each dialect as it has them, and in all of them the same."""

from __future__ import annotations

import copy
import pickle
from math import ceil, inf, nan
from typing import Any

import http_sfv
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.adapters.http.dialects import Headers, Policy, Standing, partition

BURST = Policy("burst", 100, 60.0)
SECOND = Policy("sec", 10, 1.0)
DAY = Policy("day", 5000, 86400.0)
INFLIGHT = Policy("inflight", 8, 0.0, "concurrent-requests")
BYTES = Policy("upload", 1_000_000, 60.0, "content-bytes")
MOST = 999_999_999_999_999
NOW = 1_800_000_000.25


def said(headers: Headers, *standings: Standing, now: float = NOW) -> dict[str, str]:
    """The fields for these standings, as text; each is there once."""
    fields = headers.render([standing.policy for standing in standings], standings, now)
    found = {name.decode("ascii"): text.decode("ascii") for name, text in fields}

    assert len(found) == len(fields)
    return found


@pytest.mark.parametrize(
    ("policies", "text"),
    [
        ([BURST], '"burst";q=100;w=60'),
        ([SECOND, DAY], '"sec";q=10;w=1, "day";q=5000;w=86400'),
        ([Policy("half", 5, 0.5)], '"half";q=5'),
        ([Policy("odd", 5, 90.4)], '"odd";q=5;w=91'),
        ([Policy("none", 0, 1.0)], '"none";q=0;w=1'),
        ([Policy("vast", 2**60, 1.0)], f'"vast";q={MOST};w=1'),
        ([Policy('a"b\\c', 1, 1.0)], r'"a\"b\\c";q=1;w=1'),
        ([INFLIGHT], '"inflight";q=8;qu="concurrent-requests"'),
        ([Policy("held", 8, 60.0, "concurrent-requests")], '"held";q=8;qu="concurrent-requests"'),
        ([BYTES], '"upload";q=1000000;w=60;qu="content-bytes"'),
    ],
)
def test_draft_11_names_each_policy(policies: list[Policy], text: str) -> None:
    assert Headers().render(policies, (), NOW) == [(b"ratelimit-policy", text.encode("ascii"))]


@pytest.mark.parametrize(
    ("standings", "text"),
    [
        ([Standing(BURST, 50, 30.0)], '"burst";r=50;t=30'),
        ([Standing(BURST, 0, 4.2)], '"burst";r=0;t=5'),
        ([Standing(BURST, -3, 0.0)], '"burst";r=0;t=0'),
        ([Standing(BURST, 2**60, 1.0)], f'"burst";r={MOST};t=1'),
        ([Standing(BURST, 1, 1e14)], '"burst";r=1;t=100000000000000'),
        ([Standing(BURST, 1, inf)], '"burst";r=1'),
        ([Standing(BURST, 1, nan)], '"burst";r=1'),
        ([Standing(BURST, 1, -0.5)], '"burst";r=1;t=0'),
        ([Standing(INFLIGHT, 5, None)], '"inflight";r=5'),
        ([Standing(Policy("100%d", 9, 1.0), 5, 1.0)], '"100%d";r=5;t=1'),
        ([Standing(Policy("%s%%", 9, 1.0), 5, None)], '"%s%%";r=5'),
        ([Standing(SECOND, 3, 0.1), Standing(DAY, 9, 7200.0)], '"sec";r=3;t=1, "day";r=9;t=7200'),
    ],
)
def test_draft_11_says_what_is_left_and_until_when(standings: list[Standing], text: str) -> None:
    assert said(Headers(), *standings)["ratelimit"] == text


def test_who_the_quota_belongs_to_is_said_only_where_it_was_given() -> None:
    mark = partition("user:42", b"secret")
    field = said(Headers(), Standing(BURST, 50, 30.0, mark), Standing(DAY, 9, 7200.0))["ratelimit"]

    assert field == '"burst";r=50;t=30;pk=:SqdVGOxU47NBnmXa:, "day";r=9;t=7200'


def test_a_partition_depends_on_key_and_secret_and_shows_neither() -> None:
    marks = {partition(key, secret) for key in ("a", "b", "\udc80") for secret in (b"x", b"y")}

    assert {len(mark) for mark in marks} == {12}
    assert len(marks) == 6


def test_a_partition_has_a_secret() -> None:
    with pytest.raises(ValueError) as refusal:
        partition("user:42", b"")
    assert str(refusal.value) == "partition: a secret has at least one byte"


@pytest.mark.parametrize(
    ("dialects", "fields"),
    [
        (
            ("draft-06",),
            {
                "ratelimit-limit": "100",
                "ratelimit-remaining": "7",
                "ratelimit-reset": "30",
                "ratelimit-policy": "100;w=60, 5000;w=86400",
            },
        ),
        (
            ("x-delta",),
            {
                "x-ratelimit-limit": "100",
                "x-ratelimit-remaining": "7",
                "x-ratelimit-reset": "30",
            },
        ),
        (
            ("x-epoch",),
            {
                "x-ratelimit-limit": "100",
                "x-ratelimit-remaining": "7",
                "x-ratelimit-reset": "1800000030",
            },
        ),
        (("none",), {}),
        (
            ("draft-06", "draft-11"),
            {
                "ratelimit-limit": "100",
                "ratelimit-remaining": "7",
                "ratelimit-reset": "30",
                "ratelimit-policy": '"burst";q=100;w=60, "day";q=5000;w=86400, '
                '"inflight";q=8;qu="concurrent-requests"',
                "ratelimit": '"burst";r=7;t=30, "day";r=900;t=7200, "inflight";r=2',
            },
        ),
    ],
)
def test_each_dialect_has_fields_of_its_own(
    dialects: tuple[str, ...], fields: dict[str, str]
) -> None:
    standings = (Standing(BURST, 7, 29.5), Standing(DAY, 900, 7200.0), Standing(INFLIGHT, 2, None))

    assert said(Headers(dialects), *standings) == fields


@pytest.mark.parametrize("dialect", ["draft-06", "x-delta", "x-epoch"])
def test_what_has_no_time_is_said_by_draft_11_alone(dialect: str) -> None:
    assert said(Headers((dialect,)), Standing(INFLIGHT, 2, None), Standing(SECOND, 1, inf)) == (
        {"ratelimit-policy": "10;w=1"} if dialect == "draft-06" else {}
    )


def test_of_two_policies_with_as_much_left_the_one_that_takes_longer_is_said() -> None:
    fields = said(Headers(("x-delta",)), Standing(SECOND, 0, 0.5), Standing(DAY, 0, 70.0))

    assert fields["x-ratelimit-reset"] == "70"


def test_draft_06_has_no_quota_twice() -> None:
    hour, day = Policy("hour", 100, 3600.0), Policy("day", 100, 86400.0)
    fields = Headers(("draft-06",)).render((hour, BURST, day), (), NOW)

    assert fields == [(b"ratelimit-policy", b"100;w=86400")]


@pytest.mark.parametrize(
    ("standing", "said_to_last"),
    [
        # 10 a second, and 10,000 of them left for the next 10 seconds.
        (Standing(Policy("api", 10_000, 1000.0), 10_000, 10.0), 100),
        (Standing(Policy("api", 10_000, 1000.0), 10_000, 1000.0), 1000),
        (Standing(Policy("api", 10_000, 1000.0), 10_000, 99.5), 100),
        (Standing(DAY, 4000, 30.0), 6912),
        (Standing(DAY, 1, 1.0), 1),
        (Standing(DAY, 0, 1.0), 1),
        (Standing(DAY, 5000, 0.0), 0),
        # More than there ever is does not last longer than the window.
        (Standing(DAY, 10**9, 30.0), 86_400),
        (Standing(Policy("minute", 6000, 60.0), 6000, 1.0), 1),
        (Standing(Policy("longer", 6100, 61.0), 6100, 1.0), 7),
        (Standing(Policy("nothing", 0, 100.0), 5, 1.0), 1),
    ],
)
def test_what_is_left_of_a_long_window_has_to_last_at_ten_times_its_pace(
    standing: Standing, said_to_last: int
) -> None:
    fields = said(Headers(), standing)["ratelimit"].split(";")

    assert fields[1:] == [f"r={standing.remaining}", f"t={said_to_last}"]


def test_what_is_not_a_matter_of_time_does_not_have_to_last() -> None:
    assert said(Headers(), Standing(DAY, 5000, None))["ratelimit"] == '"day";r=5000'


@pytest.mark.parametrize(("safety", "lasts"), [(1.0, 69_120), (2.5, 27_648), (inf, 60)])
def test_how_much_longer_is_for_the_user_to_say(safety: float, lasts: int) -> None:
    standing = Standing(DAY, 4000, 60.0)

    assert said(Headers(safety=safety), standing)["ratelimit"] == f'"day";r=4000;t={lasts}'


NAMES = st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), min_size=1, max_size=20)
POLICIES = st.builds(
    Policy,
    NAMES,
    st.integers(0, 2**62),
    st.floats(0.0, 1e9),
    st.sampled_from(["requests", "content-bytes", "concurrent-requests"]),
)
STANDINGS = st.lists(
    st.builds(
        Standing,
        POLICIES,
        st.integers(-(2**62), 2**62),
        st.none() | st.floats(allow_nan=True),
        st.binary(max_size=12),
    ),
    max_size=3,
)


@given(STANDINGS)
def test_whatever_is_said_is_well_formed(standings: list[Standing]) -> None:
    fields = said(Headers(("draft-11",)), *standings)
    policies, readings = parsed(fields, "ratelimit-policy"), parsed(fields, "ratelimit")

    assert [item.value for item in policies] == [standing.policy.name for standing in standings]
    assert [item.value for item in readings] == [standing.policy.name for standing in standings]
    assert all(type(item.params["q"]) is int and item.params["q"] >= 0 for item in policies)
    assert all(item.params.get("w", 1) > 0 for item in policies)
    assert all(type(item.params["r"]) is int and item.params["r"] >= 0 for item in readings)
    assert all(item.params.get("t", 0) >= 0 for item in readings)
    assert [item.params.get("pk", b"") for item in readings] == [
        standing.partition for standing in standings
    ]


@given(STANDINGS, st.floats(0.0, 4e9))
def test_the_dialects_never_disagree(standings: list[Standing], now: float) -> None:
    named = parsed(said(Headers(("draft-11",)), *standings), "ratelimit")
    delta = said(Headers(("draft-11", "draft-06", "x-delta")), *standings, now=now)
    epoch = said(Headers(("x-epoch",)), *standings, now=now)
    timed = [item.params for item in named if "t" in item.params]
    nearest = min([(found["r"], -found["t"]) for found in timed], default=None)

    assert ("ratelimit-remaining" in delta) == ("x-ratelimit-remaining" in epoch) == bool(timed)
    for name, fields in (("ratelimit", delta), ("x-ratelimit", delta), ("x-ratelimit", epoch)):
        if nearest is not None:
            assert int(fields[f"{name}-remaining"]) == nearest[0]
    if nearest is not None:
        assert int(delta["ratelimit-reset"]) == int(delta["x-ratelimit-reset"]) == -nearest[1]
        assert abs(int(epoch["x-ratelimit-reset"]) - now + nearest[1]) <= 1.0 + 1e-6


@given(STANDINGS)
def test_nobody_is_invited_to_go_ten_times_as_fast_as_a_long_window_means(
    standings: list[Standing],
) -> None:
    named = parsed(said(Headers(), *standings), "ratelimit")
    for standing, item in zip(standings, named, strict=True):
        left, seconds, policy = item.params["r"], item.params.get("t", 0), standing.policy
        # What is left is no more than there ever is, but where something is very wrong.
        if policy.window > 60.0 and 1 < left <= 10 * policy.quota and seconds > 0:
            assert left <= 10.0 * policy.quota / policy.window * seconds * (1 + 1e-9)


@given(st.lists(POLICIES, max_size=4))
def test_draft_06_is_a_list_of_quotas_with_windows(policies: list[Policy]) -> None:
    fields = dict(Headers(("draft-06",)).render(policies, (), NOW))
    found = parsed({"it": fields.get(b"ratelimit-policy", b"").decode("ascii")}, "it")
    quotas = [item.value for item in found]

    assert len(set(quotas)) == len(quotas)
    assert set(quotas) == {min(policy.quota, MOST) for policy in policies if policy.seconds}
    assert all(
        item.params["w"]
        == max(
            ceil(policy.window)
            for policy in policies
            if policy.seconds and min(policy.quota, MOST) == item.value
        )
        for item in found
    )


def parsed(fields: dict[str, str], name: str) -> Any:
    """A field as another implementation of the RFC reads it."""
    field = http_sfv.List()
    if fields.get(name):
        field.parse(fields[name].encode("ascii"))
    return field


@pytest.mark.parametrize(
    ("dialects", "problem"),
    [
        (("draft-6",), "Headers: unknown dialect 'draft-6'; try draft-06"),
        (
            ("standard",),
            "Headers: unknown dialect 'standard'; try draft-11, draft-06, x-epoch, x-delta, none",
        ),
        (("X-Epoch",), "Headers: unknown dialect 'X-Epoch'; try x-epoch"),
        (("draft-11", "draft-11"), 'Headers: the dialect "draft-11" is named twice'),
        (
            ("x-epoch", "x-delta"),
            'Headers: "x-epoch" and "x-delta" mean two things by X-RateLimit-Reset; choose one',
        ),
        (("none", "x-delta"), 'Headers: "none" stands alone; leave it out or the others'),
    ],
)
def test_dialects_that_do_not_go_together_are_refused(
    dialects: tuple[str, ...], problem: str
) -> None:
    with pytest.raises(ValueError) as refusal:
        Headers(dialects)
    assert str(refusal.value) == problem


@pytest.mark.parametrize("dialects", [(), "draft-11", ["draft-11"], None])
def test_dialects_are_a_tuple_that_is_not_empty(dialects: Any) -> None:
    with pytest.raises(TypeError) as refusal:
        Headers(dialects)
    assert str(refusal.value) == (
        f'Headers: dialects are a tuple such as ("draft-11",), not {dialects!r}'
    )


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: Headers(safety=0.5), "Headers: safety is 1 or more, not 0.5"),
        (lambda: Policy("", 1, 1.0), "Policy: name is a text, not ''"),
        (lambda: Policy(7, 1, 1.0), "Policy: name is a text, not 7"),  # type: ignore[arg-type]
        (
            lambda: Policy("naïve", 1, 1.0),
            "Policy: a name is printable ASCII, as headers are, not 'na\\xefve'",
        ),
        (lambda: Policy("a", -1, 1.0), "Policy: quota is 0 or more, not -1"),
        (lambda: Policy("a", True, 1.0), "Policy: quota is a whole number, not True"),
        (lambda: Policy("a", 1, -1.0), "Policy: window is from 0 to 1e+15, not -1.0"),
        (lambda: Policy("a", 1, inf), "Policy: window is from 0 to 1e+15, not inf"),
        (
            lambda: Policy("a", 1, 1.0, "request"),
            "Policy: unknown unit 'request'; try requests",
        ),
    ],
)
def test_what_cannot_be_said_is_refused_when_it_is_made(make: Any, problem: str) -> None:
    with pytest.raises((TypeError, ValueError)) as refusal:
        make()
    assert str(refusal.value) == problem


def test_policies_and_headers_are_values() -> None:
    assert repr(BURST) == "Policy(name='burst', quota=100, window=60.0, unit='requests')"
    assert repr(Headers()) == "Headers(dialects=('draft-11',), safety=10.0)"
    assert Policy("burst", 100, 60.0) == BURST == copy.deepcopy(BURST)
    assert hash(pickle.loads(pickle.dumps(BURST))) == hash(BURST)
    assert pickle.loads(pickle.dumps(BURST)).item == BURST.item
    with pytest.raises(AttributeError):
        BURST.quota = 7  # type: ignore[misc]
