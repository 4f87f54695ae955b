"""Paths: patterns for paths, and an index that finds all that fit in one walk over the segments.

    /login          this path             /files/*.png     a glob within one segment
    /v1/**          /v1 and all below     /users/{id}      one segment, known as path.id
    /v1/*/items     any one segment       /**/export       ** is any number of segments, also none

A path is compared segment by segment, so `/v1/**` does not meet `/v10`. Empty segments are dropped
on both sides: `//login/` meets `/login`. Dots are left alone, for frameworks route them as they
are; percent signs are decoded before, by whoever made the request. Capitals matter.

The index is a tree of all patterns, and a request may stand at several of its nodes at once. Each
such set of nodes becomes a state when it is first met, and from then on a step costs one look into
a dict. A segment is remembered only where a pattern names it: what requests make up leaves nothing
behind. What is remembered is bounded by the size of the rules; past that bound steps are worked out
each time, which costs what the nodes cost. So neither rules nor paths can make it slow or large.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

from headgate.rules.matching.glob import Glob, wild

LONGEST = 1000
# Of a path that is deeper only so many segments are looked at; of a pattern all.
DEEPEST = 256
MOST_SEGMENTS = 32
# What may be remembered beyond the patterns themselves: nodes, hits and moves of states.
ROOM = 100_000
SHARED = 1000
KNOWN = "paths have {id}, * and **"
# What other routers write, and regular expressions: <int:id>, :id, [id], [0-9]+, \d+, (a|b), x$.
# A segment of .* is one only after a plain one, for /.* and /**/.* are files that begin with a dot.
FOREIGN = re.compile(
    r"<[^<>/]+>|/:[A-Za-z_]|\[[^\]]+\]|\\[A-Za-z]|\([^()]*[|?*+\\][^()]*\)"
    r"|/\.\+(?:/|$)|[^/*]/\.\*(?:/|$)|[^/]\$$"
)
NAMED = re.compile(r"(?:<(?:\w+:)?|:|\[)([A-Za-z_]\w*)(?:>|\]|[?*+]|\(.*\))?", re.ASCII)
WITHIN = re.compile(r"\(?\[\^/\][*+]\)?")
GROUP = re.compile(r"\(\?P(<\w+>)[^()]*\)")
DEEP = re.compile(r"\(?\.[*+]\)?|<path:\w+>|\[\.\.\.\w+\]")


class PathIndex:
    """Patterns and their numbers: `PathIndex([("/v1/**", 0), ("/login", 1)]).find("/v1/x")`."""

    def __init__(self, patterns: Iterable[tuple[str, int]]) -> None:
        root = Node()
        segments = 0
        self.ends: dict[Node, list[int]] = {}
        for pattern, number in patterns:
            node = root
            for segment in parse(pattern):
                node = node.follow(segment)
                segments += 1
            self.ends.setdefault(node, []).append(number)
        self.room = ROOM + 16 * segments
        self.states: dict[frozenset[Node], State] = {}
        self.start = self._state({root})

    def find(self, path: str) -> tuple[int, ...]:
        """The numbers of the patterns that fit, each once, in order.

        Of a path with more than 256 segments that many are looked at. It meets the patterns that
        these meet whatever follows, such as `/**` and `/v1/**`.
        """
        return self.reach(path).hits

    def reach(self, path: str) -> State:
        """The state that the path ends in; equal hits may come from different states."""
        if len(path) > DEEPEST and path.count("/") > DEEPEST:
            return self._far(split(path))
        state = self.start
        for segment in path.split("/"):
            if segment:
                state = state[segment]
        return state

    def move(self, state: State, segment: str) -> State:
        """The state after one more segment, remembered where that is bounded."""
        named = [names[segment] for names in state.names if segment in names]
        met = tuple([node for glob, node in state.globs if glob.matches(segment)])
        if not named and met in state.others:
            return state.others[met]
        following = self._state({*state.always, *named, *met})
        if self.room <= 0:
            return following
        self.room -= 1
        if named:
            state[segment] = following
        elif state.globs:
            state.others[met] = following
        else:
            state.rest = following
        return following

    def _far(self, segments: list[str]) -> State:
        state = self.start
        for segment in segments[:DEEPEST]:
            state = state[segment]
        if len(segments) <= DEEPEST:
            return state
        return self._state({node for node in state.nodes if node.loops})

    def _state(self, reached: set[Node]) -> State:
        nodes = frozenset(reached.union([node.deep for node in reached if node.deep is not None]))
        known = self.states.get(nodes)
        if known is not None:
            return known
        state = State(self, nodes)
        cells = 1 + len(nodes) + len(state.hits)
        if self.room >= cells:
            self.room -= cells
            self.states[nodes] = state
        return state


class State(dict[str, "State"]):
    """Where a path has come to: the nodes it stands at. As a dict, the moves by named segments."""

    __slots__ = ("always", "globs", "hits", "index", "names", "nodes", "note", "others", "rest")

    def __init__(self, index: PathIndex, nodes: frozenset[Node]) -> None:
        ends = index.ends
        loops = [node for node in nodes if node.loops]
        self.index = index
        self.nodes = nodes
        self.hits = tuple(sorted({hit for node in nodes if node in ends for hit in ends[node]}))
        self.names = tuple([node.exact for node in nodes if node.exact])
        self.globs = tuple([each for node in nodes for each in node.globs.values()])
        # Where any segment leads; and, of those that no pattern names, where one does that meets
        # the globs of these nodes, or none where there are no globs.
        self.always = tuple(loops + [node.one for node in nodes if node.one is not None])
        self.others: dict[tuple[Node, ...], State] = {} if self.globs else NONE
        self.rest: State | None = None
        # Whoever asked for the state may keep something here.
        self.note: Any = None

    def __missing__(self, segment: str) -> State:
        if self.rest is None:
            return self.index.move(self, segment)
        for names in self.names:
            if segment in names:
                return self.index.move(self, segment)
        return self.rest


# Shared by all states that need none of their own.
NONE: dict[tuple[Node, ...], State] = {}


class Node:
    """A place in the tree of patterns, and what may follow there."""

    __slots__ = ("deep", "exact", "globs", "loops", "one")

    def __init__(self, loops: bool = False) -> None:
        self.exact: dict[str, Node] = {}
        self.globs: dict[str, tuple[Glob, Node]] = {}
        self.one: Node | None = None
        self.deep: Node | None = None
        self.loops = loops

    def follow(self, segment: str) -> Node:
        """The node after this segment of a pattern, made if need be."""
        if segment == "**":
            if self.loops:
                return self
            self.deep = self.deep or Node(loops=True)
            return self.deep
        if segment == "*" or segment[0] == "{":
            self.one = self.one or Node()
            return self.one
        if wild(segment):
            return self.globs.setdefault(segment, (Glob(segment), Node()))[1]
        return self.exact.setdefault(segment, Node())


@lru_cache(SHARED)
def fits(patterns: tuple[str, ...]) -> Callable[[str], bool]:
    """What says whether a path meets one of these patterns; rules with the same paths share it."""
    index = PathIndex((pattern, 0) for pattern in patterns)
    # Most rules are about what is below one path, and most paths are spelled as rules spell them.
    below = patterns[0].removesuffix("**")
    if len(patterns) > 1 or below == patterns[0]:
        return lambda path: bool(index.reach(path).hits)
    return lambda path: path.startswith(below) or bool(index.reach(path).hits)


def split(path: str) -> list[str]:
    """The segments of a path."""
    return [segment for segment in path.split("/") if segment]


def parameters(pattern: str) -> tuple[str, ...]:
    """The names of the parameters that stand in a pattern."""
    return tuple(segment[1:-1] for segment in parse(pattern) if segment[0] == "{")


def place(pattern: str, name: str) -> int:
    """Which segment of a path the parameter is; from the end, below 0, where `**` comes before."""
    segments = parse(pattern)
    if f"{{{name}}}" not in segments:
        others = [f"path.{segment[1:-1]}" for segment in segments if segment[0] == "{"]
        hint = " or ".join(others) or f"{'/'.join(['', *segments])}/{{{name}}}"
        raise ValueError(f"path {shown(pattern)}: no {{{name}}} stands there; try {hint}")
    found = segments.index(f"{{{name}}}")
    if "**" not in segments[:found]:
        return found
    if "**" in segments[found:]:
        raise wrong(pattern, f"{{{name}}} stands between two **", "nobody knows where it is")
    return found - len(segments)


def parse(pattern: str) -> tuple[str, ...]:
    """The segments of a pattern; a ValueError says what is wrong with it."""
    if len(pattern) > LONGEST:
        raise wrong(pattern, f"{len(pattern):,} characters", f"at most {LONGEST:,}")
    if not pattern.startswith("/"):
        rest = pattern.partition("://")[2].partition("/")[2] if "://" in pattern else pattern
        foreign = rest.startswith("^") or FOREIGN.search(f"/{rest}")
        hint = f"{KNOWN}; try {respelled(rest)}" if foreign else f"try /{rest}"
        raise wrong(pattern, "begins with /", hint)
    segments = split(pattern)
    if len(segments) > MOST_SEGMENTS:
        raise wrong(pattern, f"{len(segments)} segments", f"at most {MOST_SEGMENTS}")
    for segment in segments:
        if not segment.isalnum():
            _check(pattern, segment)
    for name in [segment for segment in segments if segment[0] == "{"]:
        if segments.count(name) > 1:
            raise wrong(pattern, f"{name} is there twice", "give one of them another name")
    return tuple(segments)


def _check(pattern: str, segment: str) -> None:
    if "{" in segment or "}" in segment:
        return _check_parameter(pattern, segment)
    if "**" in segment and segment != "**":
        raise wrong(pattern, "** stands alone between slashes", "try /**")
    name, asked, _ = segment.partition("?")[2].partition("=")
    if asked:
        raise wrong(pattern, "a path has no query", f"match query.{name or 'NAME'} instead")
    if "%" in segment and unquote(segment) != segment:
        raise wrong(pattern, "paths are compared decoded", f"try {unquote(pattern)}")


def _check_parameter(pattern: str, segment: str) -> None:
    inside = segment.strip("{}").partition(":")[0]
    name = inside if inside.isidentifier() and inside.isascii() else "id"
    if "{" not in segment or "}" not in segment:
        raise wrong(pattern, f'"{segment}" has one brace without the other', f"try {{{name}}}")
    if segment[0] != "{" or segment.index("}") != len(segment) - 1:
        raise wrong(pattern, "a parameter is a whole segment", "try /{id}")
    if segment != f"{{{name}}}":
        hint = "try **" if segment.endswith(":path}") else f"try {{{name}}}"
        raise wrong(pattern, f"{segment} is no name of a parameter", hint)


def respelled(pattern: str) -> str:
    """A pattern of another router, or a regular expression, as it is spelled here."""
    known: list[str] = []
    for segment in split(WITHIN.sub("*", GROUP.sub(r"\1", pattern)).strip("^$")):
        named = NAMED.fullmatch(segment)
        if DEEP.fullmatch(segment):
            known.append("**")
        elif named is not None and f"{{{named[1]}}}" not in known:
            known.append(f"{{{named[1]}}}")
        else:
            known.append("*" if FOREIGN.search(f"/{segment}") else segment)
    try:
        return "/" + "/".join(parse("/" + "/".join(known)))
    except ValueError:
        return "/**"


def wrong(pattern: str, problem: str, hint: str) -> ValueError:
    """The error for a pattern."""
    return ValueError(f"path {shown(pattern)}: {problem}; {hint}")


def shown(pattern: str) -> str:
    """A pattern for people, however long it is."""
    return f'"{pattern}"' if len(pattern) <= 100 else f'"{pattern[:40]}..."'
