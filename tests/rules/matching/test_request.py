"""A request tells what rules ask of it, and finds out nothing that none of them asks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.rules.matching.request import LONGEST, MOST, Request, hostname


def test_a_request_is_what_it_was_made_of() -> None:
    request = Request(
        "post",
        "/login",
        {"X-User": "42"},
        query="a=1",
        host="Example.com:8080",
        scheme="https",
        client="2001:db8::/64",
        address="2001:db8::1",
        user="ann",
        plan="vip",
    )

    assert (request.method, request.path, request.scheme) == ("POST", "/login", "https")
    assert (request.header("x-user"), request.query("a")) == ("42", "1")
    assert request.host == "example.com"
    assert (request.client, request.address) == ("2001:db8::/64", "2001:db8::1")
    assert (request.user, request.plan) == ("ann", "vip")
    assert repr(request) == "Request('POST', '/login')"


def test_what_is_absent_is_an_empty_text() -> None:
    request = Request()

    assert (request.method, request.path, request.size) == ("GET", "/", 0)
    assert [request.host, request.client, request.address, request.user, request.plan] == [""] * 5
    assert [request.header("x"), request.query("x"), request.cookie("x")] == [""] * 3


def test_who_has_no_whole_address_has_that_of_the_key() -> None:
    assert Request(client="203.0.113.7").address == "203.0.113.7"


def test_a_request_without_a_host_has_that_of_its_header() -> None:
    assert Request(headers={"Host": "Example.com:80"}).host == "example.com"


@pytest.mark.parametrize("fact", ["host", "client", "address", "user", "plan"])
def test_what_nobody_asks_for_is_not_found_out_and_what_is_asked_twice_is_found_once(
    fact: str,
) -> None:
    asked: list[Request] = []

    def find(request: Request) -> str:
        asked.append(request)
        return "found"

    request = Request(**{fact: find})  # type: ignore[arg-type]

    assert asked == []
    assert getattr(request, fact) == "found"
    assert getattr(request, fact) == "found"
    assert asked == [request]


@pytest.mark.parametrize(("answer", "user"), [(None, ""), (42, "42"), ("ann", "ann"), ("", "")])
def test_a_function_may_find_anything(answer: object, user: str) -> None:
    assert Request(user=lambda request: answer).user == user


def test_several_lines_of_a_header_are_one_value() -> None:
    lines = [("Accept", "a"), ("accept", "b"), ("Cookie", "x=1"), ("cookie", "y=2")]
    request = Request(headers=lines)

    assert request.header("accept") == "a, b"
    assert (request.cookie("x"), request.cookie("y")) == ("1", "2")


@pytest.mark.parametrize(
    ("said", "host"),
    [
        ("example.com", "example.com"),
        ("EXAMPLE.com:443", "example.com"),
        ("example.com.", "example.com"),
        ("example.com.:80", "example.com"),
        ("[2001:DB8::1]:80", "2001:db8::1"),
        ("[::1]", "::1"),
        ("::1", "::1"),
        ("127.0.0.1:80", "127.0.0.1"),
        ("", ""),
        ("[", ""),
        (" a ", "a"),
    ],
)
def test_a_host_has_no_capitals_no_port_and_no_brackets(said: str, host: str) -> None:
    assert hostname(said) == host


@pytest.mark.parametrize(
    ("query", "name", "value"),
    [
        ("a=1&b=2", "b", "2"),
        (b"a=1&b=2", "b", "2"),
        ("a=1&a=2", "a", "1"),
        ("a", "a", ""),
        ("a=", "a", ""),
        ("=1", "", "1"),
        ("a=b=c", "a", "b=c"),
        ("a=b+c%20d", "a", "b c d"),
        ("%61=1", "a", "1"),
        ("a=%ff", "a", "\ufffd"),
        ("a=%zz", "a", "%zz"),
        ("&&a=1", "a", "1"),
        ("a=1;b=2", "b", ""),
        ("", "a", ""),
    ],
)
def test_an_argument_is_the_first_of_its_name_decoded(
    query: str | bytes, name: str, value: str
) -> None:
    assert Request(query=query).query(name) == value


@pytest.mark.parametrize(
    ("said", "name", "value"),
    [
        ("a=1; b=2", "b", "2"),
        ("a=1;b=2", "b", "2"),
        ("a=1; a=2", "a", "1"),
        ("a = 1 ", "a", "1"),
        ("a", "a", ""),
        ("a=b=c", "a", "b=c"),
        ('a="1"', "a", "1"),
        (r'a="\061"', "a", "1"),
        (r'a="x\"y\\z"', "a", r"x\"y\z".replace('\\"', '"')),
        (r'a="\\061"', "a", r"\061"),
        (r'a="\477"', "a", "477"),
        (r'a="\06"', "a", "06"),
        ('a="', "a", '"'),
        ("", "a", ""),
    ],
)
def test_a_cookie_is_the_first_of_its_name_however_it_is_quoted(
    said: str, name: str, value: str
) -> None:
    assert Request(headers={"cookie": said}).cookie(name) == value


def test_of_many_arguments_only_the_first_are_looked_at() -> None:
    request = Request(query="&".join(f"a{number}={number}" for number in range(MOST + 1)))

    assert request.query(f"a{MOST - 1}") == str(MOST - 1)
    assert request.query(f"a{MOST}") == ""


def test_an_argument_that_reaches_beyond_what_is_looked_at_is_not_there() -> None:
    padding = "x" * (LONGEST - 6)
    within, beyond = Request(query=f"{padding}&a=123"), Request(query=f"{padding}&a=1234")

    assert len(f"{padding}&a=123") == LONGEST
    assert within.query("a") == "123"
    assert beyond.query("a") == ""


def test_of_many_cookies_only_the_first_are_looked_at() -> None:
    said = "; ".join(f"a{number}={number}" for number in range(MOST + 1))
    request = Request(headers={"cookie": said})

    assert request.cookie(f"a{MOST - 1}") == str(MOST - 1)
    assert request.cookie(f"a{MOST}") == ""


@pytest.mark.parametrize(
    ("said", "size"),
    [
        ("0", 0),
        ("1000", 1000),
        ("007", 7),
        ("", 0),
        ("-1", 0),
        ("+1", 0),
        ("1_0", 0),
        ("1, 1", 0),
        ("1e3", 0),
        ("\u0661", 0),
        ("\u00b2", 0),
        ("9" * 19, 10**19 - 1),
        ("9" * 20, 0),
    ],
)
def test_the_size_is_what_is_said_if_it_is_a_number(said: str, size: int) -> None:
    assert Request(headers={"content-length": said}).size == size


@given(st.text(), st.text(), st.text(), st.text(), st.text())
def test_nothing_that_is_sent_makes_a_question_fail(
    path: str, query: str, cookie: str, host: str, length: str
) -> None:
    headers = {"cookie": cookie, "host": host, "content-length": length}
    request = Request("GET", path, headers, query)

    answers = [request.query("a"), request.cookie("a"), request.host, request.address]
    assert all(isinstance(answer, str) for answer in answers)
    assert request.size >= 0


@given(st.binary())
def test_no_bytes_of_a_query_make_a_question_fail(query: bytes) -> None:
    assert isinstance(Request(query=query).query("a"), str)


def test_an_adapter_overrides_where_headers_come_from() -> None:
    class Scoped(Request):
        __slots__ = ("lines",)

        def __init__(self, lines: dict[str, str]) -> None:
            super().__init__("GET", "/")
            self.lines = lines

        def header(self, name: str) -> str:
            return self.lines.get(name, "")

    request = Scoped({"cookie": "a=1", "host": "example.com", "content-length": "5"})

    assert (request.cookie("a"), request.host, request.size) == ("1", "example.com", 5)
