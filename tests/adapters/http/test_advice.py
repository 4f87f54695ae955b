"""What a server says is heard in each of its dialects, and never believed beyond reason."""

from __future__ import annotations

from email.message import Message
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.adapters.http.advice import Advice, Heard, read
from headgate.adapters.http.dialects import DIALECTS, Headers, Policy, Standing

NOW = 1_800_000_000.0
BURST = '"burst";r=50;t=30'


@pytest.mark.parametrize(
    ("text", "standings"),
    [
        ('"a";r=1', (Heard("a", 1, None),)),
        ('"a";r=0;t=5, "b";r=7', (Heard("a", 0, 5.0), Heard("b", 7, None))),
        ('"a";r=1;t=601', (Heard("a", 1, 600.0),)),
        ('"a";r=1;t=999999999999999', (Heard("a", 1, 600.0),)),
        ('"a";r=1;acme="x";pk=:cGs=:', (Heard("a", 1, None),)),
        ("a;r=1", ()),
        ('"a";r=-1', ()),
        ('"a" ;r=1', ()),
        ('"a";R=1', ()),
        ('"a";r=1.5', ()),
        ('"a";r=1000000000000000', ()),
        ('"a"', ()),
        ('"a";r', ()),
        ('"a";r="1"', ()),
        ('"a";r=1;t=-1', ()),
        ('"a";r=1;t=x', ()),
        ('"a";r=1, b', ()),
        ('"a";r=1, "b"', ()),
        ('("a");r=1', ()),
        ("", ()),
    ],
)
def test_a_field_of_draft_11_is_heard_whole_or_not_at_all(
    text: str, standings: tuple[Heard, ...]
) -> None:
    assert read({"RateLimit": text}, NOW) == Advice(None, standings)


@pytest.mark.parametrize(
    ("text", "quota", "window"),
    [
        ('"burst";q=100;w=60', 100, 60),
        ('"burst";q=0;w=1', 0, 1),
        ('"other";q=5, "burst";q=100;qu="content-bytes"', 100, 0),
        ('"other";q=100;w=60', 0, 0),
        ('"burst";q=100;w=0', 0, 0),
        ('"burst";q=-1', 0, 0),
        ('"burst";w=60', 0, 0),
        ('"burst";q=100;w=60, 7', 0, 0),
        ("100;w=60", 0, 0),
    ],
)
def test_a_policy_is_known_by_its_name(text: str, quota: int, window: int) -> None:
    advice = read({"RateLimit": BURST, "RateLimit-Policy": text}, NOW)

    assert advice.standings == (Heard("burst", 50, 30.0, quota, window),)


@pytest.mark.parametrize(
    ("headers", "standings"),
    [
        ({"RateLimit": "limit=100, remaining=50, reset=5"}, (Heard("", 50, 5.0, 100),)),
        ({"RateLimit": "limit=100, remaining=50"}, (Heard("", 50, None, 100),)),
        ({"RateLimit": "limit=100, reset=5"}, ()),
        ({"RateLimit": "limit=100, remaining=-1, reset=5"}, ()),
        ({"RateLimit": "limit=100, remaining=50, reset=5,"}, ()),
        (
            {"RateLimit-Limit": "100", "RateLimit-Remaining": "50", "RateLimit-Reset": "30"},
            (Heard("", 50, 30.0, 100),),
        ),
        (
            {"RateLimit-Limit": "100, 100;w=60", "RateLimit-Remaining": "0"},
            (Heard("", 0, None, 100),),
        ),
        ({"RateLimit-Remaining": "0", "RateLimit-Reset": "86400"}, (Heard("", 0, 600.0),)),
        (
            {"RateLimit-Limit": "1", "RateLimit-Remaining": "1", "RateLimit-Reset": "0"},
            (Heard("", 1, 0.0, 1),),
        ),
        ({"X-RateLimit-Remaining": "7"}, (Heard("", 7, None, 0),)),
        ({"RateLimit-Remaining": "0.5", "RateLimit-Reset": "30"}, ()),
        ({"RateLimit-Limit": "100", "RateLimit-Reset": "30"}, ()),
        ({"RateLimit": BURST, "X-RateLimit-Remaining": "7"}, (Heard("burst", 50, 30.0),)),
        ({"RateLimit": "burst", "RateLimit-Remaining": "7"}, (Heard("", 7, None),)),
    ],
)
def test_older_drafts_are_heard(headers: dict[str, str], standings: tuple[Heard, ...]) -> None:
    assert read(headers, NOW).standings == standings


@pytest.mark.parametrize(
    ("reset", "seconds"),
    [
        ("30", 30.0),
        ("30.5", 30.5),
        ("999999999", 600.0),
        ("1800000030", 30.0),
        ("1800000030.25", 30.25),
        ("1800000030500", 30.5),
        ("1799999990", 0.0),
        ("1800009999", 600.0),
        ("2027-01-15T08:00:30Z", None),
        ("-5", None),
        ("", None),
    ],
)
@pytest.mark.parametrize("name", ["X-RateLimit", "X-Rate-Limit"])
def test_a_reset_too_large_to_be_a_wait_is_a_moment(
    name: str, reset: str, seconds: float | None
) -> None:
    headers = {f"{name}-Limit": "60", f"{name}-Remaining": "0", f"{name}-Reset": reset}

    assert read(headers, NOW).standings == (Heard("", 0, seconds, 60),)


def test_a_moment_is_told_by_the_clock_of_the_server() -> None:
    headers = {
        "X-RateLimit-Remaining": "0",
        "X-RateLimit-Reset": "1800000030",
        "Date": "Fri, 15 Jan 2027 07:59:50 GMT",
    }

    assert read(headers, NOW).wait == 40.0


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("5", 5.0),
        (" 5 ", 5.0),
        ("0", 0.0),
        ("1.5", 1.5),
        ("86400", 86400.0),
        ("9" * 40, float("9" * 40)),
        ("Fri, 15 Jan 2027 08:00:30 GMT", 30.0),
        ("Friday, 15-Jan-27 08:00:30 GMT", 30.0),
        ("Fri Jan 15 08:00:30 2027", 30.0),
        ("Fri, 15 Jan 2027 07:59:00 GMT", 0.0),
        ("-5", None),
        ("soon", None),
        ("5, 10", None),
        ("9" * 100, None),
        ("Fri, 99 Jan 2027 08:00:30 GMT", None),
        ("", None),
    ],
)
def test_a_wait_is_in_seconds_or_a_date(text: str, seconds: float | None) -> None:
    assert read({"Retry-After": text}, NOW) == Advice(seconds)


def test_a_date_is_told_by_the_clock_of_the_server() -> None:
    headers = {
        "Retry-After": "Fri, 15 Jan 2027 08:00:30 GMT",
        "Date": "Fri, 15 Jan 2027 08:00:00 GMT",
    }

    assert read(headers, NOW + 3600.0).wait == 30.0


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({}, 0.0),
        ({"RateLimit": BURST}, 0.0),
        ({"RateLimit": '"a";r=0;t=5'}, 5.0),
        ({"RateLimit": '"a";r=0'}, 0.0),
        ({"RateLimit": '"a";r=0;t=5, "b";r=0;t=7, "c";r=1;t=9'}, 7.0),
        ({"RateLimit": '"a";r=0;t=5', "Retry-After": "2"}, 2.0),
        ({"RateLimit": '"a";r=0;t=5', "Retry-After": "0"}, 0.0),
        ({"RateLimit": '"a";r=0;t=5', "Retry-After": "soon"}, 5.0),
    ],
)
def test_who_has_nothing_left_waits_and_retry_after_has_the_last_word(
    headers: dict[str, str], wait: float
) -> None:
    assert read(headers, NOW).wait == wait


@pytest.mark.parametrize(
    ("age", "advice"),
    [
        ("10", Advice(20.0)),
        ("1", Advice(29.0)),
        ("100", Advice(0.0)),
        ("0", Advice(30.0, (Heard("burst", 50, 30.0),))),
        ("old", Advice(30.0, (Heard("burst", 50, 30.0),))),
    ],
)
def test_what_a_cache_had_stored_is_not_heard_and_a_wait_is_shorter(
    age: str, advice: Advice
) -> None:
    assert read({"RateLimit": BURST, "Retry-After": "30", "Age": age}, NOW) == advice


def several(verb: str) -> Any:
    """Headers of which one has two lines, as their libraries hand them out."""
    lines = {"ratelimit": ['"a";r=1', '"b";r=2']}

    class Many(dict[str, str]):
        def found(self, name: str, *default: Any) -> Any:
            # Those that take a default raise without one.
            if name.lower() in lines or verb in {"get_list", "getlist"}:
                return lines.get(name.lower(), [])
            return default[0]

    setattr(Many, verb, Many.found)
    return Many(ratelimit='"a";r=1')


@pytest.mark.parametrize("verb", ["get_list", "getlist", "getall", "get_all"])
def test_a_field_may_have_several_lines(verb: str) -> None:
    assert read(several(verb), NOW).standings == (Heard("a", 1, None), Heard("b", 2, None))


def message(headers: dict[str, str]) -> Message:
    """Headers as urllib has them."""
    found = Message()
    for name, text in headers.items():
        found[name] = text
    return found


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("builtins", "dict"),
        ("httpx", "Headers"),
        ("requests.structures", "CaseInsensitiveDict"),
        ("multidict", "CIMultiDict"),
        ("urllib3", "HTTPHeaderDict"),
        (__name__, "message"),
    ],
)
def test_headers_are_those_of_any_library(module: str, name: str) -> None:
    make = message if module == __name__ else getattr(pytest.importorskip(module), name)
    headers: Any = make({"ratelimit": '"a";r=0;t=9', "retry-after": "3"})

    assert read(headers, NOW) == Advice(3.0, (Heard("a", 0, 9.0),))


FIELDS = (
    "RateLimit",
    "RateLimit-Policy",
    "RateLimit-Limit",
    "RateLimit-Remaining",
    "RateLimit-Reset",
    "X-RateLimit-Limit",
    "X-RateLimit-Remaining",
    "X-RateLimit-Reset",
    "X-Rate-Limit-Remaining",
    "Retry-After",
    "Age",
    "Date",
)
TEXTS = (
    st.text()
    | st.text("0123456789.-", max_size=30)
    | st.text('"ab;r=t0123456789, =', max_size=30)
    | st.from_regex(r"\A[A-Z][a-z]{2}, [0-9]{1,3} [A-Z][a-z]{2} [0-9]{1,5} [0-9:]{1,9} .{0,6}\Z")
    | st.text("MonTueJan 0123456789:+-", max_size=40)
)


@given(st.dictionaries(st.sampled_from(FIELDS), TEXTS | st.none() | st.binary()))
def test_no_headers_raise_and_no_wait_is_negative(headers: dict[str, Any]) -> None:
    advice = read(headers, NOW)

    assert advice.wait >= 0.0
    assert 0.0 <= advice.spent <= 600.0
    assert all(heard.remaining >= 0 for heard in advice.standings)


@given(
    st.sampled_from([dialect for dialect in DIALECTS if dialect != "none"]),
    st.integers(0, 10**12),
    st.integers(0, 590_000_000),
)
def test_what_headgate_says_is_heard_as_it_was_meant(
    dialect: str, remaining: int, microseconds: int
) -> None:
    reset = microseconds / 1e6
    policy = Policy("burst", 10**12, 60.0)
    fields = Headers((dialect,)).render((policy,), (Standing(policy, remaining, reset),), NOW)
    (heard,) = read({name.decode(): text.decode() for name, text in fields}, NOW).standings

    assert (heard.remaining, heard.quota) == (remaining, 10**12)
    assert heard.reset is not None
    assert 0.0 <= heard.reset - reset < 1.0
