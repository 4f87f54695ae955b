"""A path is compared segment by segment, in one walk, whatever the rules and whatever the path."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.rules.matching import paths
from headgate.rules.matching.glob import Glob
from headgate.rules.matching.paths import (
    DEEPEST,
    FOREIGN,
    ROOM,
    PathIndex,
    fits,
    parameters,
    parse,
    place,
    respelled,
    split,
)

KNOWN = "paths have {id}, * and **"


@pytest.mark.parametrize(
    ("pattern", "fitting", "other"),
    [
        ("/login", ["/login", "/login/", "//login"], ["/", "/logins", "/Login", "/a/login"]),
        ("/", ["/", "", "//"], ["/a"]),
        ("/v1/**", ["/v1", "/v1/", "/v1/a", "/v1/a/b"], ["/v10", "/v1-secret", "/v", "/", "/a/v1"]),
        ("/**", ["/", "", "*", "/a", "/a/b/c"], []),
        ("/*", ["/a", "a"], ["/", "/a/b"]),
        ("/v1/*/items", ["/v1/a/items", "/v1//a/items"], ["/v1/items", "/v1/a/b/items"]),
        ("/files/*.png", ["/files/a.png", "/files/.png"], ["/files/a.jpg", "/files/a/b.png"]),
        ("/v?/a*", ["/v1/a", "/v2/abc"], ["/v/a", "/v12/a", "/v1/b"]),
        ("/users/{id}", ["/users/42", "/users/a b"], ["/users", "/users/42/posts"]),
        ("/**/export", ["/export", "/a/export", "/a/b/export"], ["/export/a", "/exports"]),
        ("/a/**/b/**/c", ["/a/b/c", "/a/x/b/y/z/c", "/a/b/b/c/c"], ["/a/c/b", "/a/b"]),
        ("/**/a/*", ["/a/b", "/a/a/b", "/a/a"], ["/a", "/b/b"]),
        ("/a/../b", ["/a/../b"], ["/b", "/a/b"]),
        ("/caf\u00e9", ["/caf\u00e9"], ["/cafe\u0301", "/caf%C3%A9"]),
    ],
)  # fmt: skip
def test_a_pattern_fits_these_paths_and_not_those(
    pattern: str, fitting: list[str], other: list[str]
) -> None:
    fit = fits((pattern,))

    assert [path for path in fitting + other if fit(path)] == fitting


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("login", 'path "login": begins with /; try /login'),
        ("", 'path "": begins with /; try /'),
        ("https://a.b/login", 'path "https://a.b/login": begins with /; try /login'),
        ("^/users/.*$", f'path "^/users/.*$": begins with /; {KNOWN}; try /users/**'),
        ("^/login", f'path "^/login": begins with /; {KNOWN}; try /login'),
        ("^", f'path "^": begins with /; {KNOWN}; try /'),
        ("^/a{", f'path "^/a{{": begins with /; {KNOWN}; try /**'),
        ("users/<int:id>", f'path "users/<int:id>": begins with /; {KNOWN}; try /users/{{id}}'),
        ("/v1**", 'path "/v1**": ** stands alone between slashes; try /**'),
        ("/***", 'path "/***": ** stands alone between slashes; try /**'),
        ("/users/{id", 'path "/users/{id": "{id" has one brace without the other; try {id}'),
        ("/users/id}", 'path "/users/id}": "id}" has one brace without the other; try {id}'),
        ("/users/x{id}", 'path "/users/x{id}": a parameter is a whole segment; try /{id}'),
        ("/{a}{b}", 'path "/{a}{b}": a parameter is a whole segment; try /{id}'),
        ("/{}", 'path "/{}": {} is no name of a parameter; try {id}'),
        ("/{{id}", 'path "/{{id}": {{id} is no name of a parameter; try {id}'),
        ("/{id:int}", 'path "/{id:int}": {id:int} is no name of a parameter; try {id}'),
        ("/{user:int}", 'path "/{user:int}": {user:int} is no name of a parameter; try {user}'),
        ("/{rest:path}", 'path "/{rest:path}": {rest:path} is no name of a parameter; try **'),
        ("/{id}/{id}", 'path "/{id}/{id}": {id} is there twice; give one of them another name'),
        ("/a?b=1", 'path "/a?b=1": a path has no query; match query.b instead'),
        ("/a%20b", 'path "/a%20b": paths are compared decoded; try /a b'),
        ("/a" * 33, f'path "{"/a" * 33}": 33 segments; at most 32'),
        ("/" + "a" * 1000, f'path "/{"a" * 39}...": 1,001 characters; at most 1,000'),
    ],
)
def test_a_pattern_that_is_wrong_is_explained(pattern: str, message: str) -> None:
    with pytest.raises(ValueError) as refused:
        PathIndex([(pattern, 0)])

    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("foreign", "pattern"),
    [
        ("/users/<int:id>", "/users/{id}"),
        ("/users/<id>/x", "/users/{id}/x"),
        ("/files/<path:rest>", "/files/**"),
        ("/users/:id", "/users/{id}"),
        ("/users/:id?", "/users/{id}"),
        (r"/users/:id(\d+)", "/users/{id}"),
        ("/:a/:a", "/{a}/*"),
        ("/blog/[slug]", "/blog/{slug}"),
        ("/blog/[...slug]", "/blog/**"),
        ("/users/[0-9]+/x", "/users/*/x"),
        ("/users/[^/]+/x", "/users/*/x"),
        ("/users/(?P<id>[^/]+)/x", "/users/{id}/x"),
        (r"/users/\d+", "/users/*"),
        ("/(foo|bar)/x", "/*/x"),
        ("/user-<id>/x", "/*/x"),
        ("/users/.*", "/users/**"),
        ("/users/.+", "/users/**"),
        ("/(.*)", "/**"),
        ("/login$", "/login"),
        ("/:a/{a}", "/**"),
    ],
)
def test_a_pattern_of_another_router_is_spelled_as_here(foreign: str, pattern: str) -> None:
    assert FOREIGN.search(foreign)
    assert respelled(foreign) == pattern


@pytest.mark.parametrize(
    "pattern",
    [
        "/",
        "/users/{id}",
        "/.*",
        "/**/.*",
        "/files/app.*",
        "/$batch",
        "/v1/x:cancel",
        "/c++",
        "/a(b)",
    ],
)
def test_what_may_be_meant_as_it_is_looks_like_no_other_router(pattern: str) -> None:
    assert FOREIGN.search(pattern) is None


@given(st.text("/a<>:[]()\\d+*.?|^${}", max_size=30))
def test_whatever_is_spelled_anew_can_be_read(pattern: str) -> None:
    parse(respelled(pattern))


def test_a_pattern_has_segments_and_parameters_that_stand_somewhere() -> None:
    assert parse("//users/{id}/") == ("users", "{id}")
    assert parameters("/users/{id}/posts/{post}") == ("id", "post")
    assert place("/users/{id}/**", "id") == 1
    assert place("/**/{id}/edit", "id") == -2


def test_all_that_fit_are_found_once_and_in_order() -> None:
    index = PathIndex([("/**", 7), ("/v1/*", 3), ("/v1/a", 5), ("/v1/{id}", 3), ("/v2", 1)])

    assert index.find("/v1/a") == (3, 5, 7)
    assert index.find("/v2") == (1, 7)
    assert index.find("/") == (7,)
    assert PathIndex([("/**", 1_000), ("/*", 7), ("/a", 500)]).find("/a") == (7, 500, 1_000)


def test_a_segment_that_is_named_is_not_taken_for_another_that_meets_the_same_globs() -> None:
    index = PathIndex([("/a*", 0), ("/ab", 1)])

    assert [index.find(path) for path in ("/ac", "/ab", "/ac", "/ab")] == [(0,), (0, 1)] * 2


segments = st.sampled_from(["a", "b", "ab", "*", "**", "{id}", "a*", "*b", "?"])
patterns = st.lists(segments, max_size=5).filter(lambda each: each.count("{id}") < 2)
walks = st.lists(st.sampled_from(["a", "b", "ab", "c", "", "a/"]), max_size=7)


@pytest.mark.parametrize("room", [0, 20, ROOM])
@given(given_patterns=st.lists(patterns, max_size=8), given_walks=st.lists(walks, max_size=8))
def test_an_index_agrees_with_asking_one_by_one_however_little_it_remembers(
    room: int, given_patterns: list[list[str]], given_walks: list[list[str]]
) -> None:
    index = PathIndex(("/" + "/".join(each), number) for number, each in enumerate(given_patterns))
    index.room = min(index.room, room)

    # Twice, because the second time it is remembered.
    for walk in given_walks * 2:
        path = "/" + "/".join(walk)
        expected = [n for n, each in enumerate(given_patterns) if tried(each, split(path))]
        assert index.find(path) == tuple(expected)


@given(st.lists(patterns, max_size=5), st.text())
def test_any_path_is_judged(given_patterns: list[list[str]], path: str) -> None:
    index = PathIndex(("/" + "/".join(each), number) for number, each in enumerate(given_patterns))

    found = index.find(path)

    assert found == tuple(n for n, each in enumerate(given_patterns) if tried(each, split(path)))


@given(st.text(max_size=40))
def test_any_text_is_a_pattern_or_explained(text: str) -> None:
    try:
        segments = parse(text)
    except ValueError as problem:
        assert str(problem).startswith('path "')  # noqa: PT017
    else:
        assert PathIndex([(text, 0)]).find("/" + "/".join(segments)) == (0,)


def test_what_requests_make_up_leaves_nothing_behind() -> None:
    index = PathIndex([("/v1/*/a", 0), ("/v1/**/b", 1), ("/v1/x*/*.png", 2), ("/v1/named", 3)])
    for path in ("/v1/named", "/v1/q/a", "/v1/q/q/b", "/v1/xq/q.png", "/q/q", "/v1/xq/b"):
        index.find(path)
    before = remembered(index)

    for number in range(10_000):
        index.find(f"/v1/{number}/a")
        index.find(f"/v1/x{number}/{number}.png")
        index.find(f"/v1/{number}/{number}/{number}")
        index.find(f"/{number}")
    index.find("/" + "/".join(map(str, range(10_000))))

    assert remembered(index) - before < 50


def test_rules_that_would_need_millions_of_states_stay_within_their_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(paths, "ROOM", 2_000)
    rules = ["/**/a" + "/*" * 20, "/**/b" + "/*" * 20, "/**/a*/**/b" + "/*" * 15, "/**/*b*/a/**"]
    index = PathIndex((rule, number) for number, rule in enumerate(rules))
    room = index.room
    chance = random.Random(1)

    for _ in range(200):
        walk = [chance.choice(["a", "b", "ab", "c"]) for _ in range(chance.randint(0, 60))]
        expected = [n for n, rule in enumerate(rules) if stepped(split(rule), walk)]
        assert index.find("/" + "/".join(walk)) == tuple(expected)

    assert remembered(index) <= room
    assert index.room < 40


def test_no_step_costs_more_than_the_nodes_there_are() -> None:
    rules = ["/**" + f"/{letter}/*" * 8 for letter in "abcdefgh"]
    index = PathIndex((rule, number) for number, rule in enumerate(rules))
    index.room = 0
    chance = random.Random(2)

    state = index.start
    for _ in range(2_000):
        state = state[chance.choice("abcdefgh")]
        assert len(state.nodes) <= 17 * len(rules) + 1


@pytest.mark.parametrize("extra", [0, 1, 2, 5_000])
def test_a_path_that_is_too_deep_meets_what_it_meets_whatever_follows(extra: int) -> None:
    index = PathIndex([("/**", 0), ("/v1/**", 1), ("/v1/**/end", 2), ("/v1/*", 3), ("/v2/**", 4)])
    deep = "/v1" + "/a" * (DEEPEST - 2 + extra) + "/end"

    assert index.find(deep) == ((0, 1, 2) if extra == 0 else (0, 1))


def test_a_path_that_is_too_deep_does_not_end_where_it_is_looked_at_no_more() -> None:
    index = PathIndex([("/**/end", 0), ("/**", 1)])

    assert index.find("/a" * (DEEPEST - 1) + "/end") == (0, 1)
    assert index.find("/a" * (DEEPEST - 1) + "/end/a") == (1,)


def test_empty_segments_make_no_path_deep() -> None:
    index = PathIndex([("/login", 0)])

    assert index.find("/" * 100_000 + "login" + "/" * 100_000) == (0,)


def test_a_long_segment_is_compared_in_full() -> None:
    index = PathIndex([("/*.png", 0)])

    assert index.find("/" + "a" * 100_000 + ".png") == (0,)
    assert index.find("/" + "a" * 100_000 + ".pnx") == ()


def remembered(index: PathIndex) -> int:
    """Nodes, hits and moves of all states."""
    return sum(
        1 + len(state.nodes) + len(state.hits) + len(state) + len(state.others)
        for state in index.states.values()
    )


def tried(pattern: list[str], path: list[str]) -> bool:
    """Whether the path fits, by trying every way."""
    if not pattern:
        return not path
    if pattern[0] == "**":
        return any(tried(pattern[1:], path[start:]) for start in range(len(path) + 1))
    return bool(path) and alike(pattern[0], path[0]) and tried(pattern[1:], path[1:])


def stepped(pattern: list[str], path: list[str]) -> bool:
    """The same for long ones: how many segments of the pattern may be behind, after each step."""

    def beyond(places: set[int]) -> set[int]:
        for at, segment in enumerate(pattern):
            if at in places and segment == "**":
                places.add(at + 1)
        return places

    places = beyond({0})
    for each in path:
        kept = {at for at in places if pattern[at : at + 1] == ["**"]}
        gone = {at + 1 for at in places - kept if at < len(pattern) and alike(pattern[at], each)}
        places = beyond(kept | gone)
    return len(pattern) in places


def alike(segment: str, given_segment: str) -> bool:
    if segment == "*" or segment.startswith("{"):
        return True
    return Glob(segment).matches(given_segment)
