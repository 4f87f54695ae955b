"""An index finds what asking one by one finds, and asks as little of many rules as of few."""

from __future__ import annotations

import copy
import pickle
import threading
from fnmatch import fnmatchcase
from ipaddress import ip_address, ip_network

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.rules.matching.expression import Expression
from headgate.rules.matching.facts import Fact
from headgate.rules.matching.index import Clause, Condition, Index
from headgate.rules.matching.request import Request
from tests.conftest import SCALE

# Building an index of 10,000 rules takes half a second.
MANY = 10_000 if SCALE > 1 else 2_000


def test_all_conditions_that_hold_are_found_in_order() -> None:
    index = Index(
        [
            Condition(),
            Condition.of({"path": ["/v1/**"]}),
            Condition.of({"path": ["/v1/a", "/v1/**"], "method": ["post"]}),
            Condition.of({"host": ["Example.com", "*.example.com"]}),
            Condition.of({"client.ip": ["10.0.0.0/8", "10.1.0.0/16", "2001:db8::/32"]}),
            Condition.of({"header.x-tenant": ["t1", "t2"]}, {"path": ["/v1/b/**"]}),
            Condition.of({}, when=Expression("size > 10")),
            Condition.of({"method": ["GET"]}),
        ]
    )

    def found(*arguments: object, **facts: object) -> tuple[int, ...]:
        return index.find(Request(*arguments, **facts))  # type: ignore[arg-type]

    assert found("DELETE", "/") == (0,)
    assert found("POST", "/v1/a") == (0, 1, 2)
    assert found("GET", "/", host="example.com") == (0, 3, 7)
    assert found("HEAD", "/", host="shop.EXAMPLE.com:80") == (0, 3, 7)
    assert found("PUT", "/", client="10.1.2.3") == (0, 4)
    assert found("PUT", "/", client="10.1.0.0/16", address="2001:db8::1") == (0, 4)
    assert found("PUT", "/", {"x-tenant": "t2"}) == (0, 5)
    assert found("PUT", "/v1/b/c", {"x-tenant": "t2"}) == (0, 1)
    assert found("PUT", "/", {"content-length": "11"}) == (0, 6)


def test_an_index_of_nothing_finds_nothing() -> None:
    assert Index([]).find(Request()) == ()


def test_a_condition_says_by_itself_whether_a_request_meets_it() -> None:
    test = Condition.of({"path": ["/v1/**"], "header.a": ["1"]}).build()

    assert test(Request("GET", "/v1/x", {"a": "1"}))
    assert not test(Request("GET", "/v1/x", {"a": "2"}))
    assert Condition().build()(Request())


def test_a_parameter_of_the_path_is_a_fact_of_its_own_rule() -> None:
    index = Index(
        [
            Condition.of({"path": ["/users/{id}"], "path.id": ["1"]}),
            Condition.of({"path": ["/{id}/users"], "path.id": ["1"]}),
            Condition.of({"path": ["/users/{id}"]}, when=Expression("path.id > 1")),
        ]
    )

    assert index.find(Request("GET", "/users/1")) == (0,)
    assert index.find(Request("GET", "/1/users")) == (1,)
    assert index.find(Request("GET", "/users/users")) == ()
    assert index.find(Request("GET", "/users/2")) == (2,)


def test_any_path_is_nothing_to_ask() -> None:
    assert Condition(("/a", "/**")).all == ()
    assert Condition(("/a",)).all == (Clause(Fact("path"), ("/a",)),)


def test_a_condition_is_a_value() -> None:
    condition = Condition.of(
        {"path": ["/a"], "host": ["b"]}, {"user": ["c"]}, Expression("size > 1")
    )

    assert condition == Condition(
        ("/a",),
        (Clause(Fact("host"), ("b",)), Clause(Fact("user"), ("c",), inverse=True)),
        Expression("size > 1"),
    )
    assert len({condition, copy.deepcopy(condition)}) == 1
    assert pickle.loads(pickle.dumps(condition)) == condition


@pytest.mark.parametrize(
    ("word", "value", "message"),
    [
        ("path", "login", 'path "login": begins with /; try /login'),
        ("client.ip", "10.0.0.1/8", '"10.0.0.1/8" has bits set beyond its prefix; try 10.0.0.0/8'),
        ("header.a", "*" * 1001, "a pattern has at most 1,000 characters, not 1,001"),
        ("ip", "10.0.0.1", 'unknown fact "ip"; try client.ip'),
    ],
)
def test_a_condition_that_is_wrong_is_refused_when_it_is_made(
    word: str, value: str, message: str
) -> None:
    for match, exceptions in (({word: [value]}, {}), ({}, {word: [value]})):
        with pytest.raises(ValueError) as refused:
            Condition.of(match, exceptions)

        assert str(refused.value) == message


@pytest.mark.parametrize(
    ("conditions", "exceptions", "when"),
    [
        ({"path": ["/a/{id}", "/b"], "path.id": ["1"]}, {}, None),
        ({"path": ["/b"]}, {"path.id": ["1"]}, None),
        ({"path": ["/b"]}, {}, Expression("path.id > 1")),
    ],
)
def test_a_parameter_that_stands_in_no_path_is_refused_when_the_condition_is_made(
    conditions: dict[str, list[str]], exceptions: dict[str, list[str]], when: Expression | None
) -> None:
    with pytest.raises(ValueError) as refused:
        Condition.of(conditions, exceptions, when)

    assert str(refused.value) == 'path "/b": no {id} stands there; try /b/{id}'


VALUES = {
    "path": ["/a", "/a/b", "/a/**", "/*", "/**", "/**/b", "/a*/{id}"],
    "method": ["GET", "HEAD", "POST"],
    "host": ["a", "b", "a.b", "*.b", "A"],
    "header.x": ["1", "2", "", "?", "1*"],
    "header.y": ["1", "2"],
    "query.q": ["1", "2"],
    "client.ip": ["10.0.0.0/8", "10.1.0.0/16", "10.1.2.3", "::/0", "2001:db8::/32"],
}
WHENS = ['header.x == "1"', 'method == "GET" or host == "a"', "query.q > 1"]


def matches() -> st.SearchStrategy[dict[str, list[str]]]:
    """Facts with one value or several each."""
    each = {
        word: st.lists(st.sampled_from(values), min_size=1, max_size=3)
        for word, values in VALUES.items()
    }
    return st.fixed_dictionaries({}, optional=each)


conditions = st.tuples(
    matches(),
    st.one_of(st.just({}), matches()),
    st.one_of(st.none(), st.sampled_from(WHENS)),
)
requests = st.builds(
    lambda method, path, host, x, y, q, client: Request(
        method, path, {"x": x, "y": y}, f"q={q}", host, client=client
    ),
    st.sampled_from(["GET", "HEAD", "POST"]),
    st.sampled_from(["/", "/a", "//a/", "/a/b", "/ab/a", "/a/b/c", "/c"]),
    st.sampled_from(["", "a", "b", "a.b"]),
    st.sampled_from(["", "1", "2", "12"]),
    st.sampled_from(["", "1", "2"]),
    st.sampled_from(["", "1", "2"]),
    st.sampled_from(["", "10.0.0.1", "10.1.0.1", "10.1.2.3", "::ffff:10.1.2.3", "2001:db8::1"]),
)
Written = tuple[dict[str, list[str]], dict[str, list[str]], str | None]


# Making such conditions takes 20 ms for each example.
@settings(max_examples=settings().max_examples * 2 // 5)
@given(st.lists(conditions, max_size=12), st.lists(requests, min_size=1, max_size=6))
def test_an_index_agrees_with_asking_one_by_one(
    written: list[Written], asked: list[Request]
) -> None:
    made = [
        Condition.of(match, exceptions, Expression(when) if when else None)
        for match, exceptions, when in written
    ]
    index = Index(made)

    for request in asked:
        expected = tuple(n for n, each in enumerate(written) if holds(each, request))
        assert index.find(request) == expected
        assert tuple(n for n, each in enumerate(made) if each.build()(request)) == expected


class Asked(Request):
    """A request that counts what it is asked."""

    __slots__ = ("count",)

    def __init__(self, path: str, lines: dict[str, str], host: str) -> None:
        super().__init__("GET", path, lines, host=host)
        self.count = 0

    def header(self, name: str) -> str:
        """Count, and answer."""
        self.count += 1
        return super().header(name)

    @property
    def host(self) -> str:
        """Count, and answer."""
        self.count += 1
        return super().host


@pytest.mark.parametrize("count", [10, MANY], ids=["few", "many"])
@pytest.mark.parametrize(
    ("match", "questions"),
    [
        ({"header.x": ["t{}"]}, 1),
        ({"header.x": ["t{}"], "path": ["/v1/**"]}, 1),
        ({"host": ["t{}"]}, 1),
        ({"host": ["t{}"], "header.y": ["1"]}, 2),
        ({"path": ["/v1/{}"], "host": ["t7"]}, 1),
        ({"path": ["/v1/{}"]}, 0),
        ({"path": ["/**"], "header.x": ["t{}"]}, 1),
    ],
)
def test_many_rules_are_asked_no_more_than_few(
    count: int, match: dict[str, list[str]], questions: int
) -> None:
    index = Index(
        Condition.of({word: [value.format(n) for value in each] for word, each in match.items()})
        for n in range(count)
    )
    request = Asked("/v1/7", {"x": "t7", "y": "1"}, host="t7")

    assert index.find(request) == (7,)
    assert request.count == questions


def test_rules_are_looked_up_by_what_is_rarest_about_them() -> None:
    index = Index(Condition.of({"header.y": ["1"], "host": [f"t{n}"]}) for n in range(100))
    request = Asked("/", {"y": "1"}, host="elsewhere")

    assert index.find(request) == ()
    assert request.count == 1


def test_rules_that_differ_in_different_facts_are_asked_once_for_each_fact() -> None:
    index = Index(
        Condition.of([{"header.x": [f"t{n}"]}, {"host": [f"t{n}"]}, {"path": [f"/{n}"]}][n % 3])
        for n in range(3_000)
    )
    request = Asked("/1001", {"x": "t999"}, host="t1000")

    assert index.find(request) == (999, 1000, 1001)
    assert request.count == 2


def test_rules_of_one_header_that_also_differ_by_path_are_told_apart_twice() -> None:
    index = Index(
        Condition.of({"header.x": [f"t{n % 100}"], "path": [f"/v1/{n // 100}/**"]})
        for n in range(MANY)
    )
    request = Asked("/v1/12/a", {"x": "t7"}, host="")

    assert index.find(request) == (1_207,)
    assert request.count <= 2


def test_a_fact_that_no_rule_asks_for_is_not_found_out() -> None:
    def fail(request: Request) -> str:
        raise AssertionError("nobody asked")

    index = Index([Condition.of({"path": ["/a"]}), Condition.of({"method": ["POST"]})])

    assert index.find(Request("POST", "/a", host=fail, client=fail, user=fail)) == (0, 1)


def test_threads_that_ask_at_once_are_answered_alike() -> None:
    index = Index(
        Condition.of({"header.x": [f"t{n % 50}"], "path": [f"/{n}/**", "/b"]}) for n in range(2_000)
    )
    gate = threading.Barrier(4)
    answers: list[list[tuple[int, ...]]] = []

    def ask() -> None:
        gate.wait()
        requests = [Request("GET", f"/{n}/a", {"x": f"t{n % 50}"}) for n in range(2_000)]
        answers.append([index.find(request) for request in requests])

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert answers == [[(n,) for n in range(2_000)]] * 4


def holds(written: Written, request: Request) -> bool:
    """Whether a request meets a condition, by asking one after another."""
    match, exceptions, when = written
    return (
        all(met(word, values, request) for word, values in match.items())
        and not any(met(word, values, request) for word, values in exceptions.items())
        and (when is None or said(when, request))
    )


def met(word: str, values: list[str], request: Request) -> bool:
    return any(alike(word, value, request) for value in values)


def alike(word: str, value: str, request: Request) -> bool:
    if word == "path":
        path = [segment for segment in request.path.split("/") if segment]
        return fits([segment for segment in value.split("/") if segment], path)
    if word == "method":
        return value == request.method or (value, request.method) == ("GET", "HEAD")
    if word == "client.ip":
        address = request.address.removeprefix("::ffff:")
        return bool(address) and ip_address(address) in ip_network(value)
    if word == "host":
        return fnmatchcase(request.host, value.lower())
    if word == "query.q":
        return request.query("q") == value
    return fnmatchcase(request.header(word.removeprefix("header.")), value)


def fits(pattern: list[str], path: list[str]) -> bool:
    if not pattern:
        return not path
    if pattern[0] == "**":
        return any(fits(pattern[1:], path[start:]) for start in range(len(path) + 1))
    if not path:
        return False
    one = pattern[0].startswith("{") or fnmatchcase(path[0], pattern[0])
    return one and fits(pattern[1:], path[1:])


def said(when: str, request: Request) -> bool:
    return {
        WHENS[0]: request.header("x") == "1",
        WHENS[1]: request.method in {"GET", "HEAD"} or request.host == "a",
        WHENS[2]: request.query("q") == "2",
    }[when]
