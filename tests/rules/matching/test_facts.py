"""A fact is read off a request; a key tells apart whoever differs in one of its facts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.rules.matching.facts import EVERY, LONGEST_KEY, Fact, composer, holes, template
from headgate.rules.matching.request import Request

REQUEST = Request(
    "POST",
    "/users/42/posts/7",
    {"x-user": "ann", "cookie": "session=s1", "content-length": "12"},
    query="page=3",
    host="example.com",
    scheme="https",
    client="2001:db8::/64",
    address="2001:db8::1",
    user="u1",
    plan="vip",
)


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("method", "POST"),
        ("path", "/users/42/posts/7"),
        ("host", "example.com"),
        ("scheme", "https"),
        ("size", "12"),
        ("client.ip", "2001:db8::/64"),
        ("user", "u1"),
        ("plan", "vip"),
        ("header.x-user", "ann"),
        ("query.page", "3"),
        ("cookie.session", "s1"),
        ("header.absent", ""),
    ],
)
def test_a_fact_is_read_off_a_request(word: str, value: str) -> None:
    fact = Fact.parse(word)

    assert fact.reader()(REQUEST) == value
    assert str(fact) == word


def test_a_fact_is_a_value_and_a_header_has_no_capitals() -> None:
    assert Fact.parse("header.X-User") == Fact.parse("header.x-user") == Fact("header", "x-user")
    assert Fact.parse("query.Page") != Fact.parse("query.page")
    assert {Fact("user"), Fact("user")} == {Fact("user")}


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("header", 'unknown fact "header"; try header.NAME'),
        ("header.", 'unknown fact "header."; try header.NAME'),
        ("headers", 'unknown fact "headers"; try header.NAME'),
        ("heder.x-user", 'unknown fact "heder.x-user"; try header.x-user'),
        ("cookies.a", 'unknown fact "cookies.a"; try cookie.a'),
        ("ip", 'unknown fact "ip"; try client.ip'),
        ("client", 'unknown fact "client"; try client.ip'),
        ("client.address", 'unknown fact "client.address"; try client.ip'),
        ("methods", 'unknown fact "methods"; try method'),
        ("", f'unknown fact ""; try {EVERY}'),
        ("weather", f'unknown fact "weather"; try {EVERY}'),
        ("x" * 500, f'unknown fact "{"x" * 100}"; try {EVERY}'),
        ("header.x_user", "header names have no underscore here; try header.x-user"),
        ("header.x user", 'header names have letters, digits, - . and _, not " "'),
        ("query.a[b]", 'query names have letters, digits, - . and _, not "["'),
        ("cookie." + "x" * 101, "cookie names have at most 100 characters, not 101"),
        ("path.1", "path.1: a parameter is a word; try path.id where {id} stands"),
    ],
)
def test_a_word_that_is_no_fact_is_explained(word: str, message: str) -> None:
    with pytest.raises(ValueError) as refused:
        Fact.parse(word)

    assert str(refused.value) == message


def test_all_facts_are_named_where_none_is_near() -> None:
    assert EVERY == (
        "method, path, host, scheme, client.ip, user, plan, size, "
        "header.NAME, query.NAME, cookie.NAME or path.NAME"
    )


def test_what_is_no_word_is_no_fact() -> None:
    with pytest.raises(TypeError) as refused:
        Fact.parse(3)  # type: ignore[arg-type]

    assert str(refused.value) == "a fact is a word such as client.ip, not 3"


@pytest.mark.parametrize(
    ("paths", "path", "value"),
    [
        (["/users/{id}"], "/users/42", "42"),
        (["/users/{id}/**"], "//users/42/posts/7", "42"),
        (["/**/{id}"], "/a/b/42", "42"),
        (["/**/{id}/edit"], "/a/42/edit", "42"),
        (["/users/{id}", "/people/{id}"], "/people/42", "42"),
        (["/users/{id}", "/v2/users/{id}"], "/v2/users/42", "42"),
        (["/users/{id}", "/v2/users/{id}"], "/users/42", "42"),
        (["/users/{id}", "/v2/users/{id}"], "/elsewhere", ""),
        (["/users/{id}"], "/", ""),
        (["/**/{id}"], "/", ""),
    ],
)
def test_a_parameter_is_read_from_where_it_stands(paths: list[str], path: str, value: str) -> None:
    assert Fact.parse("path.id").reader(paths)(Request("GET", path)) == value


@pytest.mark.parametrize(
    ("paths", "message"),
    [
        ([], "path.id: no path is matched; try path: /users/{id}"),
        (["/users"], 'path "/users": no {id} stands there; try /users/{id}'),
        (["/users/{uid}"], 'path "/users/{uid}": no {id} stands there; try path.uid'),
        (["/{a}/{b}"], 'path "/{a}/{b}": no {id} stands there; try path.a or path.b'),
        (["/{id}", "/x"], 'path "/x": no {id} stands there; try /x/{id}'),
        (
            ["/**/{id}/**"],
            'path "/**/{id}/**": {id} stands between two **; nobody knows where it is',
        ),
    ],
)
def test_a_parameter_that_stands_nowhere_is_explained(paths: list[str], message: str) -> None:
    with pytest.raises(ValueError) as refused:
        Fact.parse("path.id").reader(paths)

    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("word", "value", "alike"),
    [
        ("method", "get", ("GET", "HEAD")),
        ("method", "Post", ("POST",)),
        ("host", "Example.COM", ("example.com",)),
        ("scheme", "HTTPS", ("https",)),
        ("header.x", "Ann", ("Ann",)),
    ],
)
def test_a_value_is_spelled_as_requests_spell_it(
    word: str, value: str, alike: tuple[str, ...]
) -> None:
    assert Fact.parse(word).alike(value) == alike


@pytest.mark.parametrize(
    ("parts", "key"),
    [
        (["header.x-user"], "ann"),
        (["user", "plan"], "u1:vip"),
        (["user:{header.x-user}"], "user:ann"),
        (["{header.x-user}@{host}"], "3:ann@11:example.com"),
        (["user:{user}:{plan}", "query.page"], "user:u1:vip:3"),
        (["client.ip"], "2001:db8::/64"),
        (["user", "client.ip"], "2:u1:13:2001:db8::/64"),
        (["{user}{plan}"], "2:u13:vip"),
        (["100%s:{user}"], "#119572d1787b1e3dca1a9a0ec89d011b"),
    ],
)
def test_a_key_is_made_of_its_parts(parts: list[str], key: str) -> None:
    assert composer(parts)(REQUEST) == key


def test_a_parameter_of_the_path_may_be_in_a_key() -> None:
    assert composer(["u:{path.id}"], ["/users/{id}/**"])(REQUEST) == "u:42"


@pytest.mark.parametrize("parts", [["header.none"], ["user", "header.none"], ["a:{header.none}"]])
def test_a_key_is_empty_if_one_of_its_facts_is(parts: list[str]) -> None:
    assert composer(parts)(REQUEST) == ""


texts = st.text(st.sampled_from("a:1%\u00e9\ud800"), min_size=1, max_size=6)


@pytest.mark.parametrize(
    "parts",
    [
        ["header.a"],
        ["header.a", "header.b"],
        ["{header.a}{header.b}"],
        ["{header.a}-{header.b}"],
        ["x:{header.a}1:{header.b}:1"],
        ["%s{header.a}:%s{header.b}"],
        ["header.a", "{header.b}:{header.c}"],
    ],
)
@given(st.data())
def test_who_differs_in_one_fact_has_another_key(parts: list[str], data: st.DataObject) -> None:
    compose = composer(parts)
    asked = [name for part in parts for name in (holes(part) or [part])]
    values = st.fixed_dictionaries({name.removeprefix("header."): texts for name in asked})
    one, other = data.draw(values), data.draw(values)

    keys = [compose(Request(headers=each)) for each in (one, other)]

    assert (keys[0] == keys[1]) is (one == other)


@given(st.text())
def test_a_key_is_short_harmless_and_never_fails(value: str) -> None:
    key = composer(["user"])(Request(user=value))

    assert len(key) <= LONGEST_KEY
    assert key.isascii()
    assert key.isprintable()
    assert (key == "") is (value == "")


@pytest.mark.parametrize(
    ("value", "whole"),
    [
        ("a" * 128, True),
        ("a" * 129, False),
        ("user@example.com", True),
        ("a/b:c-d_e.f", True),
        ("a b", False),
        ("a\r\nb", False),
        ("a\0", False),
        ("{tag}", False),
        ("\u00fc", False),
        ("\ud800", False),
        ("#0123", False),
    ],
)
def test_a_key_that_is_long_or_strange_becomes_a_digest(value: str, whole: bool) -> None:
    key = composer(["user"])(Request(user=value))

    assert (key == value) is whole
    assert whole or (key[0] == "#" and len(key) == 33)


def test_texts_that_cannot_be_encoded_are_told_apart() -> None:
    compose = composer(["user"])
    strange = ["\ud800", "\ud801", "\udc00", "?", "\U00010000", "\ud800\udc00"]

    assert len({compose(Request(user=each)) for each in strange}) == len(strange)


def test_a_digest_is_the_same_on_every_machine() -> None:
    assert composer(["user"])(Request(user="a b")) == "#acc9227cc02e5f5c13e74125bce89499"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("user:{user", 'key "user:{user": a brace without the other; try user:{header.x-user}'),
        ("user}", 'key "user}": a brace without the other; try user:{header.x-user}'),
        ("{{user}}", 'key "{{user}}": a brace without the other; try user:{header.x-user}'),
        ("a:{}", 'key "a:{}": no fact in the braces; try {client.ip}'),
        ("a:{ip}", 'unknown fact "ip"; try client.ip'),
    ],
)
def test_a_template_that_is_wrong_is_explained(text: str, message: str) -> None:
    with pytest.raises(ValueError) as refused:
        template(text)

    assert str(refused.value) == message


def test_a_template_is_its_facts_and_the_words_between() -> None:
    assert template("user:{user}:{plan}") == ("user:", Fact("user"), ":", Fact("plan"))
    assert template("client.ip") == (Fact("client.ip"),)
    assert template("{user}{user}") == (Fact("user"), Fact("user"))


def test_a_key_has_at_least_one_fact() -> None:
    with pytest.raises(ValueError) as refused:
        composer([])

    assert str(refused.value) == "a key has at least one fact; try client.ip"
