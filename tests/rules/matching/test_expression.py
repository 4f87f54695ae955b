"""An expression says what is true of a request, can do nothing else, and explains its mistakes."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError
from decimal import Decimal
from fnmatch import fnmatchcase
from ipaddress import ip_address, ip_network
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.rules.matching.expression import Expression
from headgate.rules.matching.facts import Fact
from headgate.rules.matching.request import Request

REQUEST = Request(
    "HEAD",
    "//v1/items/",
    {"x-beta": "1", "x-user": 'an"n', "x-size": "1.50", "content-length": "1000"},
    query="kind=a&page=07",
    host="shop.example.com",
    client="2001:db8::/64",
    address="2001:db8::1",
    plan="vip",
)


@pytest.mark.parametrize(
    ("text", "true"),
    [
        ('header.x-beta == "1"', True),
        ("header.x-beta == 1", True),
        ("header.x-beta == 1.0", True),
        ('header.x-beta == "1.0"', False),
        ('header.x-beta != "1"', False),
        ('header.absent == ""', True),
        ("header.absent != 1", True),
        ("header.absent == 0", False),
        ("""header.x-user == 'an"n'""", True),
        (r'header.x-user == "an\"n"', True),
        ("query.page == 7", True),
        ('query.page == "7"', False),
        ('query.page in ["7", 7]', True),
        ('query.kind in ["a", "b"]', True),
        ('query.kind not in ["a", "b"]', False),
        ('query.kind in ["b"]', False),
        ('not query.kind in ["b"]', True),
        ("header.x-size > 1.4", True),
        ("header.x-size >= 1.5", True),
        ("header.x-size < 1.5", False),
        ("header.x-size <= 1.5", True),
        ("header.x-size > -1", True),
        ("header.x-user > 0", False),
        ("header.x-user <= 0", False),
        ("not header.x-user > 0", True),
        ("size > 999", True),
        ("size > 1000", False),
        ('host like "*.Example.com"', True),
        ('host == "SHOP.example.com"', True),
        ('host not like "*.com"', False),
        ('path like "/v1/*"', True),
        ('path like "/v1"', False),
        ('path == "/v1/items"', True),
        ('path != "/v1/items"', False),
        ('path in ["/a", "/v1/items"]', True),
        ('client.ip in ["2001:db8::/32"]', True),
        ('client.ip == "2001:db8::1"', True),
        ('client.ip == "2001:DB8:0::1"', True),
        ('client.ip != "2001:db8::2"', True),
        ('client.ip in ["10.0.0.0/8", "::1"]', False),
        ('method == "GET"', True),
        ('method == "head"', True),
        ('method like "G*"', False),
        ('plan == "vip" and size > 1 or size > 10000', True),
        ('plan == "vip" or size > 1 and size > 10000', True),
        ('(plan == "vip" or size > 1) and size > 10000', False),
        ('not (plan == "vip" and size > 1)', False),
        ('not plan == "vip" or size > 1', True),
        ("not not size > 1", True),
    ],
)
def test_an_expression_is_true_or_false(text: str, true: bool) -> None:
    assert Expression(text).compile()(REQUEST) is true


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ("size>1000", "size > 1000"),
        ("size > 1.50", "size > 1.5"),
        ("size > 2.0", "size > 2"),
        ("size > 007", "size > 7"),
        ("size > -0.00000001", "size > -0.00000001"),
        ("user == 'a'", 'user == "a"'),
        (r"""user == 'a"\'\\'""", r'''user == "a\"'\\"'''),
        ('user not in ["a",\n1]', 'not user in ["a", 1]'),
        ('user not like "a*"', 'not user like "a*"'),
        ("((size > 1))", "size > 1"),
        ("(size > 1 or size > 2) or size > 3", "size > 1 or size > 2 or size > 3"),
        ("(size > 1 and size > 2) or size > 3", "size > 1 and size > 2 or size > 3"),
        ("size > 1 and (size > 2 or size > 3)", "size > 1 and (size > 2 or size > 3)"),
        ("not (size > 1)", "not size > 1"),
        ("not (size > 1 or size > 2)", "not (size > 1 or size > 2)"),
        ('header.X-User == "1"', 'header.x-user == "1"'),
    ],
)
def test_an_expression_is_spelled_in_one_way(text: str, spelled: str) -> None:
    expression = Expression(text)

    assert str(expression) == spelled
    assert expression == Expression(spelled)
    assert str(Expression(spelled)) == spelled


def test_an_expression_is_a_value_and_knows_what_it_reads() -> None:
    expression = Expression('user == "a" or size > 1 and not user == "b"')

    assert expression.facts == (Fact("user"), Fact("size"))
    assert hash(expression) == hash(Expression('user=="a" or size>1 and not user=="b"'))
    assert expression != Expression('user == "a"')
    assert pickle.loads(pickle.dumps(expression)) == copy.deepcopy(expression) == expression
    assert repr(Expression("size > 1")) == "Expression('size > 1')"
    with pytest.raises(FrozenInstanceError):
        expression.text = ""  # type: ignore[misc]


def test_a_parameter_of_the_path_is_compared_like_any_fact() -> None:
    test = Expression("path.id > 10").compile(("/users/{id}",))

    assert test(Request("GET", "/users/42"))
    assert not test(Request("GET", "/users/9"))


EXAMPLE = 'try header.x-beta == "1"'
QUOTES = "a text stands in quotes"
BEGINS = "a comparison begins with one such as header.x-user"
BETWEEN = "two comparisons have a word between them"
BACKSLASH = "it stands before a quote or another one"
LIST = 'try ["a", "b"]'
SIGNS = "==, !=, in, like, <, <=, > or >="


@pytest.mark.parametrize(
    ("text", "problem", "column", "hint"),
    [
        ("header.x = 1", "expected ==", 10, "= means nothing here"),
        ("size > 1 & size < 2", "expected and", 10, "& means nothing here"),
        ("!user", "expected not", 1, "! means nothing here"),
        ("", "nothing is said", 1, EXAMPLE),
        ("  ", "nothing is said", 3, EXAMPLE),
        ("header.x", f"expected {SIGNS} but found the end", 9, 'try header.x == "1"'),
        ("user not == 1", 'expected in or like but found "=="', 10, 'try user == "1"'),
        ("usr == 1", 'unknown fact "usr"', 1, "try user"),
        ("header.x_y == 1", "header names have no underscore here", 1, "try header.x-y"),
        ("header.\u00e9 == 1", 'unexpected "\u00e9"', 8, QUOTES),
        ('"a" == user', 'expected a fact but found ""a""', 1, BEGINS),
        ("not", "expected a fact but found the end", 4, BEGINS),
        ("user == ", "expected a text or a number but found the end", 9, QUOTES),
        ("user == ann", 'expected a text or a number but found "ann"', 9, QUOTES),
        ('user in "a"', 'expected [ but found ""a""', 9, LIST),
        ("user in []", 'expected a text or a number but found "]"', 10, QUOTES),
        ('user in ["a"', "expected , or ] but found the end", 13, LIST),
        ("(size > 1", "expected ) but found the end", 10, "a parenthesis was opened"),
        ("size > 1)", 'expected and, or or the end but found ")"', 9, BETWEEN),
        ("size > 1 AND size < 2", 'expected and, or or the end but found "AND"', 10, BETWEEN),
        ('size > "a"', "> compares with a number", 6, "try size > 10"),
        ("user like 1", "user like compares with a text", 6, 'try "1"'),
        ("client.ip == 1", "client.ip == compares with a text", 11, 'try "1"'),
        (
            'client.ip in ["10.0.0.1/8"]',
            '"10.0.0.1/8" has bits set beyond its prefix',
            11,
            "try 10.0.0.0/8",
        ),
        (
            'client.ip like "10.*"',
            "client.ip is in networks",
            11,
            'try client.ip in ["10.0.0.0/8"]',
        ),
        ('path like "v1"', 'path "v1": begins with /', 6, "try /v1"),
        ('path == "/v1/**"', "path is compared as it is", 6, 'try path like "/v1/**"'),
        ("size > 1-2", '"1-2" is no number', 8, "try 1000 or 0.5"),
        ("size > -", '"-" is no number', 8, "try 1000 or 0.5"),
        ('user == "a', "a text that does not end", 9, 'close it with "'),
        (r'user == "a\n"', "a backslash alone", 11, BACKSLASH),
        ("user == 'a\\", "a backslash alone", 11, BACKSLASH),
        ("(" * 34, "nested too deep", 34, "at most 32 levels"),
    ],
)
def test_a_mistake_is_explained_with_its_place(
    text: str, problem: str, column: int, hint: str
) -> None:
    with pytest.raises(ValueError) as refused:
        Expression(text)

    assert str(refused.value) == f'when: "{text}": {problem} at column {column}; {hint}'


@pytest.mark.parametrize(
    ("text", "shown", "problem"),
    [
        ("user\n\x1b", r"user\n\x1b", r'unexpected "\x1b" at column 6; a text stands in quotes'),
        ("not " * 34, "not " * 10 + "...", "nested too deep at column 133; at most 32 levels"),
        ("x" * 1001, "x" * 40 + "...", "1,001 characters, too many at column 1001; at most 1,000"),
    ],
)
def test_what_is_long_or_unprintable_is_shown_so_that_it_can_be_read(
    text: str, shown: str, problem: str
) -> None:
    with pytest.raises(ValueError) as refused:
        Expression(text)

    assert str(refused.value) == f'when: "{shown}": {problem}'


def test_what_is_no_text_is_no_expression() -> None:
    with pytest.raises(TypeError) as refused:
        Expression(1)  # type: ignore[arg-type]

    assert str(refused.value) == "when is a text such as 'size > 1000', not 1"


def test_nesting_up_to_the_bound_is_understood() -> None:
    assert str(Expression("(" * 32 + "size > 1" + ")" * 32)) == "size > 1"


pieces = st.sampled_from(
    [
        "user",
        "size",
        "header.x",
        "path",
        "client.ip",
        "==",
        "!=",
        "in",
        "like",
        "<",
        ">=",
        "and",
        "or",
        "not",
        "(",
        ")",
        "[",
        "]",
        ",",
        "=",
        "1",
        "-0.5",
        '"a"',
        "'/a'",
        "'10.0.0.0/8'",
    ]
)


@given(st.one_of(st.text(), st.lists(pieces, max_size=20).map(" ".join)))
def test_any_text_is_an_expression_or_explained(text: str) -> None:
    try:
        expression = Expression(text)
    except ValueError as problem:
        assert str(problem).startswith('when: "')  # noqa: PT017
        assert str(problem).isprintable()  # noqa: PT017
    else:
        assert Expression(str(expression)) == expression
        assert isinstance(expression.compile()(REQUEST), bool)


Tree = tuple[Any, ...]
words = st.text(st.sampled_from("ab\"'\\ \n"), max_size=3)
numbers = st.sampled_from(["0", "1", "1.5", "-2", "10"])
comparisons = st.one_of(
    st.tuples(st.just("=="), st.sampled_from(["a", "b"]), words),
    st.tuples(st.just("!="), st.sampled_from(["a", "b"]), words),
    st.tuples(st.just("in"), st.sampled_from(["a", "b"]), st.lists(words, min_size=1, max_size=3)),
    st.tuples(st.just("like"), st.sampled_from(["a", "b"]), st.text("ab*?", max_size=4)),
    st.tuples(st.sampled_from(["<", "<=", ">", ">="]), st.sampled_from(["a", "b"]), numbers),
    st.tuples(st.just("held"), st.just(""), st.sampled_from(["10.0.0.0/8", "10.1.0.0/16", "::/0"])),
)
trees: st.SearchStrategy[Tree] = st.recursive(
    comparisons,
    lambda inner: st.one_of(
        st.tuples(st.just("not"), inner),
        st.tuples(st.sampled_from(["and", "or"]), inner, inner),
    ),
    max_leaves=8,
)
carried = st.one_of(words, numbers)


@given(trees, carried, carried, st.sampled_from(["10.1.2.3", "10.2.0.1", "192.0.2.1", "::1", ""]))
def test_an_expression_agrees_with_working_it_out(tree: Tree, a: str, b: str, client: str) -> None:
    request = Request(headers={"a": a, "b": b}, client=client)
    expression = Expression(written(tree))

    assert expression.compile()(request) is worked(tree, {"a": a, "b": b}, client)
    assert Expression(str(expression)) == expression


def written(tree: Tree) -> str:
    kind, *rest = tree
    if kind == "not":
        return f"not ({written(rest[0])})"
    if kind in {"and", "or"}:
        return f"({written(rest[0])}) {kind} ({written(rest[1])})"
    if kind == "held":
        return f'client.ip in ["{rest[1]}"]'
    if kind == "in":
        return f"header.{rest[0]} in [{', '.join(map(quoted, rest[1]))}]"
    return f"header.{rest[0]} {kind} {quoted(rest[1]) if kind in {'==', '!=', 'like'} else rest[1]}"


def quoted(word: str) -> str:
    return '"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"'


def worked(tree: Tree, values: dict[str, str], client: str) -> bool:
    kind, *rest = tree
    if kind == "not":
        return not worked(rest[0], values, client)
    if kind == "and":
        return worked(rest[0], values, client) and worked(rest[1], values, client)
    if kind == "or":
        return worked(rest[0], values, client) or worked(rest[1], values, client)
    if kind == "held":
        return bool(client) and ip_address(client) in ip_network(rest[1])
    value = values[rest[0]]
    if kind == "==":
        return bool(value == rest[1])
    if kind == "!=":
        return bool(value != rest[1])
    if kind == "in":
        return bool(value in rest[1])
    if kind == "like":
        return fnmatchcase(value, rest[1])
    if value not in {"0", "1", "1.5", "-2", "10"}:
        return False
    left, right = Decimal(value), Decimal(rest[1])
    return {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}[kind]


@pytest.mark.parametrize(
    "value",
    ["", "-", ".", "1.", ".5", "1e3", "inf", "nan", "0x10", "1_0", "+1", " 1", "\u0661", "9" * 33],
)
def test_what_is_no_number_is_neither_less_nor_more(value: str) -> None:
    request = Request(headers={"a": value})

    assert not Expression("header.a > 5 or header.a <= 5").compile()(request)


def test_numbers_are_exact() -> None:
    request = Request(headers={"a": "9007199254740993", "b": "0.1000000000000000000000001"})

    assert Expression("header.a > 9007199254740992 and header.b > 0.1").compile()(request)
